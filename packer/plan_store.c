/* SPDX-License-Identifier: MIT
 *
 * Stores plans; see plan_store.h. */
#include "packer/plan_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "packer/pack_options.h"
#include "packer/pack_output.h"
#include "packer/planner.h"
#include "store/file_system.h"

char *plan_absolute(const char *url)
{
    char *here, *path;

    url = local_path(url);
    if (!store_is_local(url) || url[0] == '/')
        return strdup(url);
    here = getcwd(NULL, 0);
    path = here == NULL ? NULL : store_join(here, url);
    free(here);
    return path;
}

/* Returns whether two names mean one destination. */
static bool is_same_place(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b);
    struct stat a_stat, b_stat;

    while (a_size > 1 && a[a_size - 1] == '/')
        a_size--;
    while (b_size > 1 && b[b_size - 1] == '/')
        b_size--;
    if (a_size == b_size && memcmp(a, b, a_size) == 0)
        return true;
    return store_is_local(a) && store_is_local(b) && stat(a, &a_stat) == 0 &&
           stat(b, &b_stat) == 0 && a_stat.st_dev == b_stat.st_dev &&
           a_stat.st_ino == b_stat.st_ino;
}

int plan_store_refuse_replacing(const char *url, const char *dest, struct sheaf_error *err)
{
    char *absolute = plan_absolute(url);
    struct plan_file there;
    uint64_t bytes;
    bool is_dest;
    int code;

    if (absolute == NULL)
        return err_memory(err, strlen(url));
    is_dest = is_same_place(absolute, dest);
    free(absolute);
    if (is_dest)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is the destination of the data set: store the "
                       "plan under another name", url);
    code = store_size(url, &bytes, err);
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    if (!plan_file_is(url))
        return err_set(err, SHEAF_ERR_EXISTS, "%s: exists, and is no plan: store the plan under "
                       "another name", url);
    code = plan_file_open(url, &there, err);
    if (code != SHEAF_OK)
        return code;
    if (!is_same_place(there.facts.dest, dest))
        code = err_set(err, SHEAF_ERR_EXISTS, "%s: is the plan of %s: remove it, or store this one "
                       "under another name", url, there.facts.dest);
    plan_file_close(&there);
    return code;
}

/* Checks that the destination may be claimed. */
static int plan_store_check(struct output *output, const struct planner *planner,
                            enum output_ask ask, struct sheaf_error *err)
{
    int code = planner == NULL ? SHEAF_OK : store_make_directory(output->dest,
                                                                 &output->journal.made, err);

    if (code == SHEAF_OK && planner != NULL)    /* DEST exists now, so its real path is known */
        code = planner_refuse(planner, output->dest, err);
    return code == SHEAF_OK ? output_check(output, ask, err) : code;
}

/* Writes the plan, and then prepares the destination. In this order, the plan is stored before
 * anything at the destination is removed. A dry run leaves the destination as it is. */
static int plan_store_write(const struct plan_facts *facts, const struct planner *planner,
                            const struct sheaf_pack_options *options, const char *url,
                            struct output *output, struct sheaf_error *err)
{
    const enum output_ask ask = output_ask(options->resume, options->overwrite, false);
    struct store_writer *out = NULL;
    bool finished;
    int code = plan_file_create(url, &out, err);

    if (code == SHEAF_OK && !options->dry_run)
        code = plan_store_check(output, planner, ask, err);
    if (code == SHEAF_OK)
        code = plan_file_write(out, facts, planner == NULL ? NULL : &planner->sections, err);
    else
        store_abort(out);
    return code == SHEAF_OK && !options->dry_run ? output_claim(output, ask, &finished, err)
                                                 : code;
}

int plan_store(const struct plan_facts *facts, const struct planner *planner,
               const struct sheaf_pack_options *options, const char *source, const char *url,
               struct sheaf_error *err)
{
    struct block_setup setup;
    struct output output;
    int code;

    pack_options_setup(options, &setup);
    code = pack_output_open(&output, facts->dest, &setup, options->prefix, &facts->plan, err);
    output.sources = &source;
    output.source_count = source != NULL;
    output.journal.stores_plan = true;
    if (code == SHEAF_OK)
        code = plan_store_write(facts, planner, options, url, &output, err);
    if (code == SHEAF_OK)       /* the parts need the directories, which are still empty */
        made_end(&output.journal.made, false);
    output_close(&output);
    return code;
}
