/* SPDX-License-Identifier: MIT
 *
 * sheaf index: writes an index for shards that other programs have made (foreign shards), so that
 * they can be used as a data set. The shards are not changed. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/fields.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"

static void cmd_index_print_problem(void *context, const char *where,
                                    const struct sheaf_error *error)
{
    (void)context;
    (void)where;
    complain("%s", error->message);
}

static int cmd_index(const struct command *command, int argc, char **argv)
{
    struct sheaf_verify_options o;
    struct sheaf_verify_result result;
    struct sheaf_error error;
    const char *peers = NULL;
    int overwrite = 0, keys = 0, code, status;
    size_t count;

    sheaf_verify_options_init(&o, sizeof(o));
    {
        const struct option table[] = {
            { "index", OPTION_TEXT, "LIST", .text = &peers,
              .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },
            { "overwrite", OPTION_FLAG, .flag = &overwrite,
              .meaning = "replace an existing index and its manifest, but not those of a data set "
                         "that Sheaf packed" },
            { "join", OPTION_FLAG, .flag = &o.join,
              .meaning = "make one sample of all files with one key in a tar, even if they do not "
                         "lie side by side" },
            { "keys", OPTION_FLAG, .flag = &keys,
              .meaning = "DIR is a data set already: only write its dataset.keys, by which samples "
                         "are found by key" },
            MEMORY_ROW(&o, "memory limit for buffers"),
            THREADS_ROW(&o, "threads"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (keys && (overwrite || o.join || peers != NULL))
        return misuse("index: --keys writes dataset.keys only: --index, --join and --overwrite do "
                      "not belong to it");
    if (o.join && peers != NULL)
        return misuse("index: --index cannot be combined with --join: other readers' index files "
                      "cannot say that a sample's files lie apart");
    o.progress = progress_show;
    o.report = cmd_index_print_problem;
    o.interrupt = &signals_caught;
    signals_catch();
    code = keys ? sheaf_index_keys(argv[0], &o, &result, &error)
                : sheaf_index(argv[0], peers, overwrite, &o, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    say_passed_over(result.passed_over, result.samples);
    say_labels(&result);
    say_repeated_keys(result.repeated_keys, result.repeated_key, true);
    if (is_quiet())
        return STATUS_OK;
    printf("indexed %" PRIu64 " sample%s in %" PRIu64 " shard%s, %" PRIu64 " byte%s read\n",
           result.samples, plural(result.samples), result.shards, plural(result.shards),
           result.bytes, plural(result.bytes));
    if (!keys)
        fields_say_packed(argv[0], NULL);
    return STATUS_OK;
}

const struct command index_command = {
    .name = "index",
    .arguments = "DIR [OPTION]...",
    .least = 1,
    .most = 1,
    .summary = "index foreign shards as a data set",
    .text = "Reads the shards in DIR once and writes dataset.index, dataset.keys and dataset.json "
            "beside them: from then on, every sample is checked when it is read, counts are known "
            "at open, and samples are found by key. The shards are not changed. Compressed shards "
            "cannot be indexed: convert them.",
    .example = "  sheaf index foreign-tars/ --index energon\n"
               "  sheaf index old-set/ --keys\n",
    .run = cmd_index,
};
