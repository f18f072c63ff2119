/* SPDX-License-Identifier: MIT
 *
 * Stores plans; see plan_store.h. */
#include "packer/plan_store.h"

#include "packer/pack_options.h"
#include "packer/pack_output.h"
#include "packer/planner.h"

/* Checks that the destination may be claimed. */
static int plan_store_check(struct output *output, const struct planner *planner,
                            enum output_ask ask, struct sheaf_error *err)
{
    int code = planner == NULL ? SHEAF_OK : store_make_directory(output->dest, err);

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
    output_close(&output);
    return code;
}
