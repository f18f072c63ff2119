/* SPDX-License-Identifier: MIT
 *
 * sheaf fetch: copies the data for a training job to a directory, as SageMaker's File mode does. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/hosts.h"
#include "tools/metrics.h"
#include "tools/progress.h"
#include "tools/signals.h"

static int cmd_fetch_do(const char *source, const char *directory,
                        const struct sheaf_fetch_options *options)
{
    struct sheaf_fetch_result result;
    struct sheaf_error error;
    const int code = sheaf_fetch(source, directory, options, &result, &error);

    progress_clear();
    metrics_total("objects", result.objects);
    metrics_total("fetched", result.fetched);
    metrics_total("fetched_bytes", result.fetched_bytes);
    metrics_total("kept", result.kept);
    if (code != SHEAF_OK && result.fetched > 0)
        complain("%" PRIu64 " of %" PRIu64 " files are complete; another run fetches the rest",
                 result.kept + result.fetched, result.objects);
    if (code != SHEAF_OK)
        return refuse(&error);
    if (result.repeated > 0)
        say("%" PRIu64 " object%s named more than once", result.repeated,
            plural(result.repeated));
    if (is_quiet())
        return STATUS_OK;
    printf("fetched %" PRIu64 " file%s (%" PRIu64 " byte%s), %" PRIu64 " of them verified by "
           "hash; %" PRIu64 " (%" PRIu64 " byte%s) already present; %" PRIu64 " listed\n",
           result.fetched, plural(result.fetched), result.fetched_bytes,
           plural(result.fetched_bytes), result.verified, result.kept, result.kept_bytes,
           plural(result.kept_bytes), result.objects);
    return STATUS_OK;
}

static int cmd_fetch_warm(const char *path, const struct sheaf_fetch_options *options)
{
    struct sheaf_warm_result result;
    struct sheaf_error error;
    const int code = sheaf_warm(path, options, &result, &error);

    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    if (is_quiet())
        return STATUS_OK;
    printf("read %" PRIu64 " file%s, %" PRIu64 " byte%s\n", result.files, plural(result.files),
           result.bytes, plural(result.bytes));
    return STATUS_OK;
}

static int cmd_fetch(const struct command *command, int argc, char **argv)
{
    struct hosts_options hosts = HOSTS_INIT;
    struct sheaf_fetch_options o;
    const char *metrics = NULL;
    int is_warm = 0, status;
    size_t count;

    sheaf_fetch_options_init(&o, sizeof(o));
    {
        const struct option table[] = {
            { "warm", OPTION_FLAG, .flag = &is_warm,
              .meaning = "read the files below PATH, and write nothing" },
            HOSTS_ROWS(&hosts),
            MEMORY_ROW(&o, "memory limit for requests in flight"),
            { "threads", OPTION_COUNT, "N", .count = &o.threads, .most = 64,
              .standard = "one per processor, at most 8; with --warm: 16",
              .meaning = "number of threads" },
            METRICS_ROW(&metrics),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (count != (is_warm ? 1 : 2))
        return misuse("fetch: %s; usage: sheaf fetch %s", count > 1 ? "too many arguments"
                      : "an argument is missing", command->arguments);
    status = is_warm ? options_allow("--warm", "--threads and --metrics") : -1;
    if (status < 0)
        status = hosts_options_take(&hosts, &o.host, &o.hosts);
    if (status < 0)
        status = metrics_begin(metrics, argv[0]);
    if (status >= 0)
        return status;
    o.progress = progress_show;
    o.interrupt = &signals_caught;
    signals_catch();
    return is_warm ? cmd_fetch_warm(argv[0], &o) : cmd_fetch_do(argv[0], argv[1], &o);
}

const struct command fetch_command = {
    .name = "fetch",
    .arguments = "SRC DIR [OPTION]... | --warm PATH",
    .least = 1,
    .most = 2,
    .summary = "copy objects into a directory as SageMaker's File mode does",
    .text = "Copies SRC, which is an S3 prefix, a manifest file, an augmented manifest or one "
            "object, into the directory DIR, with many concurrent requests. Names and free space "
            "are checked first. A file gets its final name once it is complete and verified. A "
            "later run fetches only what is missing.\n\nWith --warm, reads every file below PATH "
            "once, so that a file system that fetches lazily (FSx for Lustre, NFS, FUSE) has it.",
    .example = "  sheaf fetch s3://bucket/train/ /scratch/train\n",
    .run = cmd_fetch,
};
