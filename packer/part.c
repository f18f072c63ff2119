/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_pack_part, which packs the shards of one part of a stored plan in the same way
 * as sheaf_pack. The samples are read from the plan shard by shard, so the memory does not depend
 * on the size of the part. */
#include <string.h>

#include "base/error.h"
#include "publish/destination.h"
#include "packer/pack_options.h"
#include "packer/planned.h"
#include "packer/run.h"
#include "store/interrupt.h"
#include "store/scopes.h"

struct part_run {
    struct sheaf_pack_options options;
    struct planned planned;
    struct source source;
    struct problems problems, converted;
    struct watch watch;
    struct pack_run run;             /* the part's shards */
    struct sheaf_pack_result result;
};

/* Opens the source of the planned files, such as a directory or an archive. If the source is an
 * archive in a store, the archive is first copied to a local file, which may take long. */
static int part_open_source(struct part_run *p, struct sheaf_error *err)
{
    const struct plan_facts *facts = &p->planned.file.facts;
    const volatile int *before = interrupt_watch(p->options.interrupt);
    const int code = source_reopen(facts->source, facts->root, facts->is_remote, &p->source, err);

    interrupt_watch(before);
    return code;
}

static int pack_shards(struct part_run *p, struct sheaf_error *err)
{
    int code = part_open_source(p, err);

    for (size_t i = p->run.first; i < p->run.end; i++)
        p->result.files += p->planned.file.sections[i].files;
    if (code == SHEAF_OK)
        code = run_plan(&p->run, &p->result, err);
    p->result.skipped = p->problems.count;
    p->result.converted = p->converted.count;
    return code == SHEAF_OK ? problems_conserve(&p->problems, p->result.files,
                                                p->result.files_packed, err) : code;
}

static int part_pack(struct part_run *p, uint32_t part, uint32_t parts, struct sheaf_error *err)
{
    struct planned *planned = &p->planned;
    bool finished = false;
    int code;

    planned->setup.source = &p->source;         /* opened only if there is something to do */
    p->source.is_remote = planned->file.facts.is_remote;
    p->run = (struct pack_run){
        .options = &p->options, .setup = &planned->setup, .output = &planned->output,
        .problems = &p->problems, .watch = &p->watch, .rows = plan_file_rows(&planned->file),
        .resumes = true,
    };
    code = planned_part(&planned->file.facts.plan, part, parts, &p->run.first, &p->run.end, err);
    if (code == SHEAF_OK && plan_facts_is_column(&planned->file.facts))
        code = err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of a column, "
                                        "expected one of files", planned->file.object->url),
                           SHEAF_REASON_COLUMN_PLAN);
    if (code == SHEAF_OK && planned->file.facts.fingerprint[0] != '\0')
        code = err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of a conversion, "
                                        "expected one of files", planned->file.object->url),
                           SHEAF_REASON_CONVERSION_PLAN);
    if (code == SHEAF_OK)
        code = planned_check_libraries(&planned->file, err);
    if (code == SHEAF_OK)
        code = run_check_memory(&p->run, err);
    if (code == SHEAF_OK)
        code = output_join(&planned->output, parts, &finished, err);
    if (code == SHEAF_OK && finished)
        p->result.shards_kept = p->run.end - p->run.first;
    if (code != SHEAF_OK || finished)
        return code;
    code = pack_shards(p, err);
    /* This run may have failed only because other processes have finished the whole data set and
     * removed its temporary files. In that case its error does not matter. */
    if (code != SHEAF_OK && code != SHEAF_ERR_INTERRUPTED &&
        destination_is_finished(&planned->output, &finished, NULL) == SHEAF_OK && finished)
        code = SHEAF_OK;
    return code;
}

static void part_close_all(struct part_run *p)
{
    source_close(&p->source);
    planned_close(&p->planned);
    problems_free(&p->problems);
    problems_free(&p->converted);
}

int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error)
{
    struct part_run p = { .source.root_fd = -1, .converted.on_error = SHEAF_SKIP };
    struct store_scopes scopes = { .count = 0 };
    struct sheaf_error found;
    int code = pack_options_take(options, &p.options, &found);

    if (code == SHEAF_OK)
        code = planned_open(plan, &p.planned, &found);
    if (code == SHEAF_OK) {
        p.options.on_error = p.planned.file.facts.on_error;
        p.options.on_change = p.planned.file.facts.on_change;
        p.options.max_skipped = p.planned.file.facts.max_skipped;
        pack_options_watch(&p.options, &p.watch, &p.problems);
        p.problems.converted = &p.converted;
        p.planned.setup.interrupt = p.planned.output.interrupt = p.options.interrupt;
        problems_limit(&p.problems, p.planned.file.facts.found);
        code = scopes_open(&scopes, p.planned.output.dest, NULL, p.options.s3, &found);
        if (code == SHEAF_OK)
            code = part_pack(&p, part, parts, &found);
        part_close_all(&p);
    }
    scopes_close(&scopes);
    if (result != NULL)
        *result = p.result;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}
