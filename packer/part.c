/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_pack_part, which packs the shards of one part of a stored plan in the same way
 * as sheaf_pack. The samples are read from the plan shard by shard, so the memory does not depend
 * on the size of the part. */
#include "base/error.h"
#include "publish/destination.h"
#include "packer/planned.h"
#include "packer/run.h"
#include "store/interrupt.h"

struct part_run {
    struct planned planned;
    uint32_t part, parts;
    struct source source;
    struct pack_run run;             /* the part's shards */
};

/* Opens the source of the planned files, such as a directory or an archive. If the source is an
 * archive in a store, the archive is first copied to a local file, which may take long. */
static int part_open_source(struct part_run *p, struct sheaf_error *err)
{
    const struct plan_facts *facts = &p->planned.file.facts;
    const volatile int *before = interrupt_watch(p->planned.options.interrupt);
    const int code = source_reopen(facts->source, facts->root, facts->is_remote, &p->source, err);

    interrupt_watch(before);
    return code;
}

static int pack_shards(struct part_run *p, struct sheaf_error *err)
{
    struct planned *planned = &p->planned;
    int code = part_open_source(p, err);

    for (size_t i = p->run.first; i < p->run.end; i++)
        planned->result.files += planned->file.sections[i].files;
    if (code == SHEAF_OK)
        code = run_plan(&p->run, &planned->result, err);
    source_close(&p->source);
    planned->result.skipped = planned->problems.count;
    planned->result.converted = planned->converted.count;
    return code == SHEAF_OK ? problems_conserve(&planned->problems, planned->result.files,
                                                planned->result.files_packed, err) : code;
}

/* Returns an error if the samples of the plan do not come from files. */
static int part_check_kind(const struct plan_file *file, struct sheaf_error *err)
{
    if (plan_facts_is_column(&file->facts))
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of a column, "
                                        "expected one of files", file->object->url),
                           SHEAF_REASON_COLUMN_PLAN);
    if (file->facts.fingerprint[0] != '\0')
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of a conversion, "
                                        "expected one of files", file->object->url),
                           SHEAF_REASON_CONVERSION_PLAN);
    return SHEAF_OK;
}

static int part_pack(void *context, struct sheaf_error *err)
{
    struct part_run *p = context;
    struct planned *planned = &p->planned;
    bool finished = false;
    int code;

    planned->setup.source = &p->source;         /* opened only if there is something to do */
    p->source.is_remote = planned->file.facts.is_remote;
    p->run = (struct pack_run){
        .options = &planned->options, .setup = &planned->setup, .output = &planned->output,
        .problems = &planned->problems, .watch = &planned->watch,
        .rows = plan_file_rows(&planned->file), .resumes = true,
    };
    code = planned_part(&planned->file.facts.plan, p->part, p->parts, &p->run.first, &p->run.end,
                        err);
    if (code == SHEAF_OK)
        code = part_check_kind(&planned->file, err);
    if (code == SHEAF_OK)
        code = planned_check_libraries(&planned->file, err);
    if (code == SHEAF_OK)
        code = run_check_memory(&p->run, err);
    if (code == SHEAF_OK)
        code = output_join(&planned->output, p->parts, &finished, err);
    if (code == SHEAF_OK && finished)
        planned->result.shards_kept = p->run.end - p->run.first;
    if (code != SHEAF_OK || finished)
        return code;
    code = pack_shards(p, err);
    return destination_excuses(&planned->output, code) ? SHEAF_OK : code;
}

int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error)
{
    struct part_run p = { .part = part, .parts = parts, .source.root_fd = -1 };

    return planned_run(&p.planned, plan, options, part_pack, &p, result, error);
}
