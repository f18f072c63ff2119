/* SPDX-License-Identifier: MIT
 *
 * The command "sheaf repair": re-creates the damaged or lost files of a data set. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/verbosity.h"

static void report_failed(void *context, const char *file, const struct sheaf_error *error)
{
    (void)context;
    progress_clear();
    complain("%s: %s", shown(file), error->message);
}

static void report_repaired(void *context, const char *file, const struct sheaf_error *note)
{
    (void)context;
    progress_clear();
    say("%s: %s", shown(file), note->message);
}

static void cmd_repair_print_json(const char *dataset, const struct sheaf_repair_result *r,
                                  int dry_run)
{
    printf("{\n  \"dataset\": ");
    print_json_string(stdout, dataset);
    printf(",\n  \"dry_run\": %s,\n  \"from_copy\": %s,\n  \"files\": %" PRIu64
           ",\n  \"damaged\": %" PRIu64 ",\n  \"repaired\": %" PRIu64 "\n}\n",
           dry_run ? "true" : "false", r->is_copy ? "true" : "false", r->files, r->damaged,
           r->repaired);
}

static int cmd_repair_do(const char *dataset, const struct option_texts *from,
                         struct sheaf_repair_options *options, int as_json)
{
    struct sheaf_repair_result result;
    struct sheaf_error error;
    int code;

    options->progress = progress_show;
    options->report = report_failed;
    options->note = report_repaired;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_repair(dataset, from->texts, from->count, options, &result, sizeof(result),
                        &error);
    progress_clear();
    if (code != SHEAF_OK) {
        code = refuse(&error);
        signals_die();
        return code;
    }
    if (as_json)
        cmd_repair_print_json(dataset, &result, options->dry_run);
    else if (!is_quiet())
        printf("%s %" PRIu64 " file%s: %" PRIu64 " damaged, %" PRIu64 " repaired\n",
               options->file_count == 0 ? "checked" : "took", result.files, plural(result.files),
               result.damaged, result.repaired);
    return STATUS_OK;
}

static int cmd_repair(const struct command *command, int argc, char **argv)
{
    struct sheaf_repair_options o;
    struct option_texts from = { .count = 0 }, s3 = { .count = 0 };
    int status, as_json = 0;
    size_t count;

    sheaf_repair_options_init(&o, sizeof(o));
    {
        const struct option table[] = {
            { "from", OPTION_TEXTS, "SRC", .texts = &from, .standard = "",
              .meaning = "the files that were packed, as given to sheaf pack; or a copy of the "
                         "data set; repeatable for several sources" },
            { "root", OPTION_TEXT, "DIR", .text = &o.root,
              .standard = "the list's directory, the whole archive",
              .meaning = "as for sheaf pack: base of the paths in a list" },
            { "dry-run", OPTION_FLAG, .flag = &o.dry_run,
              .meaning = "only check the files and name the damaged ones" },
            { "json", OPTION_FLAG, .flag = &as_json, .meaning = "print the result as JSON" },
            S3_ROW(&s3),
            MEMORY_ROW(&o, "memory limit for buffers"),
            JOBS_ROW(&o, "threads"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (from.count == 0)
        return misuse("repair: --from is missing: give the files that were packed, or a copy of "
                      "the data set");
    o.files = (const char *const *)(argv + 1);
    o.file_count = count - 1;
    o.s3 = s3.texts;
    return cmd_repair_do(argv[0], &from, &o, as_json);
}

const struct command repair_command = {
    .name = "repair",
    .arguments = "DATASET [FILE]... --from SRC [OPTION]...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "make damaged or lost shards again",
    .text = "Checks all files of the data set in DATASET, a directory or s3://BUCKET/PREFIX/, and "
            "makes damaged and lost ones again. With FILE, it makes these files again and checks "
            "no others; sheaf verify prints the names of damaged files.\n\nSRC is the source that "
            "was packed, in any place; give several if samples were appended. The options of the "
            "packing are in the manifest, and only the files of the damaged shards are read. SRC "
            "may also be a copy of the data set with the same fingerprint. Shards that were "
            "converted, the index and reports can only be copied.\n\nA file gets its name "
            "only if its bytes are those that the manifest states. Otherwise the shard is named, "
            "and stays as it is. A repair that was interrupted can be run again.",
    .example = "  sheaf repair shards/ --from photos/\n"
               "  sheaf repair s3://bucket/train/ shard-000017.tar --from s3://backup/train/\n",
    .run = cmd_repair,
};
