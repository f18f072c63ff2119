/* SPDX-License-Identifier: MIT
 *
 * The command "sheaf edit": deletes samples, changes labels, and replaces files of samples. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/options.h"
#include "tools/pack_rows.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/verbosity.h"

#define NAMED 5             /* unknown keys that are named without --verbose */

/* Prints an entry of the user's lists (a key or a file) that matches no sample of the data set.
 * Without --verbose, prints only the first few such entries. */
static void report_unknown(void *context, const char *where, const struct sheaf_error *error)
{
    uint64_t *count = context;

    progress_clear();
    if (++*count <= NAMED || verbosity.verbose)
        say("%s: %s", shown(where), error->message);
    else if (*count == NAMED + 1)
        say("and more: --verbose names them all");
}

static void cmd_edit_print_json(const char *dataset, const struct sheaf_edit_result *r, int dry_run)
{
    printf("{\n  \"dataset\": ");
    print_json_string(stdout, dataset);
    printf(",\n  \"dry_run\": %s,\n  \"done_before\": %s,\n  \"samples\": %" PRIu64
           ",\n  \"deleted\": %" PRIu64 ",\n  \"relabelled\": %" PRIu64
           ",\n  \"replaced\": %" PRIu64 ",\n  \"unknown\": %" PRIu64 ",\n  \"shards\": %" PRIu64
           ",\n  \"shards_written\": %" PRIu64 ",\n  \"shards_kept\": %" PRIu64
           ",\n  \"stored_bytes\": %" PRIu64 ",\n  \"purged\": %" PRIu64 "\n}\n",
           dry_run ? "true" : "false", r->is_done ? "true" : "false", r->samples, r->deleted,
           r->relabelled, r->replaced, r->unknown, r->shards, r->shards_written, r->shards_kept,
           r->stored_bytes, r->purged);
}

/* Prints which replaced shards the option --purge has removed, or would remove. */
static void cmd_edit_print_purged(const struct sheaf_edit_result *r, int dry_run)
{
    if (r->purged == 0)
        printf("no shard that an edit has replaced is left: nothing to remove");
    else
        printf("%sremoved %" PRIu64 " shard%s that edits have replaced",
               dry_run ? "would have " : "", r->purged, plural(r->purged));
}

static void cmd_edit_print_result(const struct sheaf_edit_result *r,
                                  const struct sheaf_edit_options *o)
{
    const char *would = o->dry_run ? "would have " : "";

    if (o->delete_keys == NULL && o->labels == NULL && o->replace == NULL) {
        cmd_edit_print_purged(r, o->dry_run);
        putchar('\n');
        return;
    }
    if (!r->is_done && r->shards_written + r->shards_kept == 0) {
        printf("nothing to change%s; ", o->delete_keys == NULL && r->unknown == 0
                   ? ": the samples have these labels and files already" : "");
        if (o->purge) {
            cmd_edit_print_purged(r, o->dry_run);
            printf("; ");
        }
        printf("%" PRIu64 " sample%s in %" PRIu64 " shard%s\n", r->samples, plural(r->samples),
               r->shards, plural(r->shards));
        return;
    }
    if (r->is_done)
        printf("this edit was made before: ");
    printf("%sdeleted %" PRIu64 " sample%s, relabelled %" PRIu64 ", replaced files of %" PRIu64
           "; %" PRIu64 " of %" PRIu64 " shard%s written again", would, r->deleted,
           plural(r->deleted), r->relabelled, r->replaced, r->shards_written + r->shards_kept,
           r->shards, plural(r->shards));
    if (!r->is_done && !o->dry_run)
        printf(" (%" PRIu64 " byte%s)", r->stored_bytes, plural(r->stored_bytes));
    if (r->shards_kept != 0 && !r->is_done)
        printf(", %" PRIu64 " of them kept", r->shards_kept);
    printf("; %" PRIu64 " sample%s now\n", r->samples, plural(r->samples));
}

static int edit(const char *dataset, struct sheaf_edit_options *options, int as_json)
{
    struct sheaf_edit_result result;
    struct sheaf_error error;
    uint64_t unknown = 0;
    int code;

    options->progress = progress_show;
    options->report = report_unknown;
    options->note = report_note;
    options->context = &unknown;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_edit(dataset, options, &result, sizeof(result), &error);
    progress_clear();
    if (code != SHEAF_OK) {
        code = refuse(&error);
        signals_die();
        return code;
    }
    if (result.unknown != 0)
        say("%" PRIu64 " key%s or file%s of no sample %s left out", result.unknown,
            plural(result.unknown), plural(result.unknown), result.unknown == 1 ? "was" : "were");
    if (as_json)
        cmd_edit_print_json(dataset, &result, options->dry_run);
    else if (!is_quiet())
        cmd_edit_print_result(&result, options);
    return STATUS_OK;
}

static int cmd_edit(const struct command *command, int argc, char **argv)
{
    struct sheaf_edit_options o;
    struct option_texts s3 = { .count = 0 };
    int status, as_json = 0;
    size_t count;

    sheaf_edit_options_init(&o, sizeof(o));
    {
        const struct option table[] = {
            { "delete", OPTION_TEXT, "KEYS", .text = &o.delete_keys, .standard = "",
              .meaning = "delete the samples with the keys in this file, one in each line" },
            { "labels", OPTION_TEXT, "LIST", .text = &o.labels, .standard = "",
              .meaning = "give samples the labels in this list of keys or paths: *.csv, *.tsv, "
                         "*.jsonl, *.lst" },
            { "replace", OPTION_TEXT, "SRC", .text = &o.replace, .standard = "",
              .meaning = "put each file of this directory, prefix, list or archive in the place "
                         "of the field with its key and suffix, if the content differs" },
            { "unknown-keys", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN(o.on_unknown),
              .choices = on_error_choices, .needs = "--delete, --labels or --replace",
              .meaning = "at keys and files of no sample: fail before anything is written, or skip "
                         "them with a line on standard error" },
            { "resume", OPTION_FLAG, .flag = &o.resume,
              .meaning = "resume an interrupted edit" },
            { "overwrite", OPTION_FLAG, .flag = &o.overwrite,
              .meaning = "remove what an interrupted run has left, then edit; the data set's own "
                         "samples stay" },
            { "purge", OPTION_FLAG, .flag = &o.purge,
              .meaning = "when the edit is published, remove the shards that this and earlier "
                         "edits have replaced" },
            { "dry-run", OPTION_FLAG, .flag = &o.dry_run,
              .meaning = "find the samples and count the shards, and write nothing" },
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
    if (o.delete_keys == NULL && o.labels == NULL && o.replace == NULL && !o.purge)
        return misuse("edit: nothing to do: give --delete, --labels, --replace or --purge");
    o.s3 = s3.texts;
    return edit(argv[0], &o, as_json);
}

const struct command edit_command = {
    .name = "edit",
    .arguments = "DATASET [OPTION]...",
    .least = 1,
    .most = 1,
    .summary = "delete samples, correct labels, replace files",
    .text = "Changes samples of the data set in DATASET, a directory or s3://BUCKET/PREFIX/. Only "
            "the shards that have such samples are written again, under new names; their other "
            "records are copied byte for byte. The manifest is replaced last, in one step: other "
            "programs see the data set as it was or with all changes. A program that has it open "
            "continues with the earlier samples.\n\nSamples keep their order. After a deletion, "
            "the samples behind it have lower numbers. Positions, states, columns and views of "
            "chosen numbers from before are refused, because the fingerprint of the data set is "
            "another.\n\nThe replaced shards stay until --purge removes them; a bucket with "
            "versions, a cache and copies of the data set may have them even then. An interrupted "
            "edit leaves the data set as it was; --resume continues it.",
    .example = "  sheaf edit shards/ --delete keys.txt --purge\n"
               "  sheaf edit s3://bucket/train/ --labels corrected.csv\n",
    .run = cmd_edit,
};
