/* SPDX-License-Identifier: MIT
 *
 * sheaf commit: makes one data set from the shards that several machines have packed with one
 * plan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/details.h"
#include "tools/fields.h"
#include "tools/options.h"
#include "tools/pack_rows.h"
#include "tools/progress.h"
#include "tools/signals.h"

/* Returns the names of the splits in the plan, as in "train,val", or NULL if the plan has no
 * splits. */
static char *splits_of(const struct sheaf_plan *plan, uint64_t shards)
{
    struct sheaf_plan_shard shard;
    struct sheaf_error ignored;
    char *names = NULL, last[256] = "";
    size_t size = 0;
    int done;
    FILE *f = open_memstream(&names, &size);

    for (uint64_t i = 0; f != NULL && i < shards; i++) {
        if (sheaf_plan_shard(plan, i, &shard, &done, &ignored) != SHEAF_OK ||
            strcmp(shard.split, last) == 0)
            continue;
        fprintf(f, "%s%s", last[0] == '\0' ? "" : ",", shard.split);
        snprintf(last, sizeof(last), "%s", shard.split);
    }
    if (f != NULL)
        (void)fclose(f);
    if (size != 0)
        return names;
    free(names);
    return NULL;
}

/* Prints the same summary as sheaf pack: the fields and classes of the packed data set. `url` is
 * the URL of the plan, which contains the URL of the data set. */
static void cmd_commit_say_fields(const char *url)
{
    struct sheaf_plan_info info;
    struct sheaf_plan *plan;
    struct sheaf_error ignored;
    char *splits;

    if (sheaf_plan_open(url, &plan, &ignored) != SHEAF_OK)
        return;
    sheaf_plan_get_info(plan, &info, sizeof(info));
    splits = splits_of(plan, info.shards);
    if (strcmp(info.source, "column") == 0)
        fields_say_column(info.dest);
    else
        fields_say_packed(info.dest, splits);
    free(splits);
    sheaf_plan_free(plan);
}

static int cmd_commit(const struct command *command, int argc, char **argv)
{
    struct option_texts s3 = { .count = 0 };
    const struct option table[] = { S3_ROW(&s3), { .name = NULL } };
    struct sheaf_pack_options o;
    struct sheaf_pack_result result;
    struct sheaf_error error;
    size_t count;
    int code, status = options_parse(command, table, argc, argv, &count);

    if (status >= 0)
        return status;
    sheaf_pack_options_init(&o, sizeof(o));
    o.progress = progress_show;
    o.note = report_note;
    o.interrupt = &signals_caught;
    o.s3 = s3.texts;
    signals_catch();
    code = sheaf_commit(argv[0], &o, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    detail_packing(&result);
    if (result.files != 0)
        say_skipped_if_quiet(result.skipped, result.files);
    /* The result does not state the rule for repeated keys. A conversion in parts leaves out
     * samples only if this rule is "drop". So if no sample was left out, the rule is taken to be
     * "number". */
    say_duplicates(&result, result.skipped != 0 ? SHEAF_DUPLICATE_DROP : SHEAF_DUPLICATE_NUMBER);
    if (is_quiet())
        return STATUS_OK;
    printf("%s %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) in %" PRIu64 " shard%s (%" PRIu64
           " byte%s)", result.shards_kept != 0 ? "was committed already:" : "committed",
           result.samples, plural(result.samples), result.payload_bytes,
           plural(result.payload_bytes), result.shards, plural(result.shards), result.stored_bytes,
           plural(result.stored_bytes));
    if (result.files != 0)
        print_files(&result, "packed");
    putchar('\n');
    cmd_commit_say_fields(argv[0]);
    return STATUS_OK;
}

const struct command commit_command = {
    .name = "commit",
    .arguments = "PLAN [OPTION]...",
    .least = 1,
    .most = 1,
    .summary = "publish the packed parts of a plan as a data set",
    .text = "Checks that every shard of PLAN is there as it was packed, gathers the index and "
            "the report of what was skipped, and writes the manifest last: only then does the "
            "data set exist. If shards are missing or altered, names them and their parts, and "
            "publishes nothing.",
    .example = "  sheaf commit train.plan\n",
    .run = cmd_commit,
};
