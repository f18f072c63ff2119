/* SPDX-License-Identifier: MIT
 *
 * sheaf pipe: writes the objects of a source to named pipes, as SageMaker does in Pipe mode. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/hosts.h"
#include "tools/metrics.h"
#include "tools/progress.h"
#include "tools/signals.h"

static int pipe_source(const char *source, const char *directory,
                       struct sheaf_feed_options *options)
{
    struct sheaf_feed_result result;
    struct sheaf_error error;
    int code;

    options->progress = progress_show;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_feed(source, directory, options, &result, &error);
    progress_clear();
    metrics_total("epochs", result.epochs);
    metrics_total("objects", result.objects);
    metrics_total("bytes", result.bytes);
    if (result.left_out > 0)
        say("%" PRIu64 " object%s not fed, as not shards of the data set", result.left_out,
            plural(result.left_out));
    if ((code == SHEAF_OK || result.epochs > 0) && !is_quiet())
        printf("fed %" PRIu64 " epoch%s: %" PRIu64 " object%s, %" PRIu64 " byte%s; %" PRIu64 " "
               "closed early\n", result.epochs, plural(result.epochs), result.objects,
               plural(result.objects), result.bytes, plural(result.bytes), result.closed_early);
    return code == SHEAF_OK ? STATUS_OK : refuse(&error);
}

static int cmd_pipe(const struct command *command, int argc, char **argv)
{
    static const struct choice wrappers[] = { { "none", 0 }, { "recordio", 1 }, { NULL, 0 } };
    static const struct choice compressions[] = { { "none", 0 }, { "gzip", 1 }, { NULL, 0 } };
    struct hosts_options hosts = HOSTS_INIT;
    struct sheaf_feed_options o;
    const char *metrics = NULL;
    size_t count;
    int status;

    sheaf_feed_options_init(&o, sizeof(o));
    {
        const struct option table[] = {
            { "channel", OPTION_TEXT, "NAME", .text = &o.channel,
              .meaning = "the pipes are DIR/NAME_0, DIR/NAME_1, ..." },
            { "epochs", OPTION_NUMBER, "N", .number = &o.epochs, .standard = "unlimited",
              .meaning = "number of epochs to feed; 0: unlimited" },
            { "first-epoch", OPTION_NUMBER, "E", .number = &o.first_epoch,
              .meaning = "the number of the first pipe" },
            { "shuffle", OPTION_FLAG, .flag = &o.shuffle,
              .meaning = "shuffle the objects, differently in each epoch (ShuffleConfig)" },
            { "seed", OPTION_NUMBER, "S", .number = &o.seed, .needs = "--shuffle",
              .meaning = "seed of the shuffle" },
            HOSTS_ROWS(&hosts),
            { "record-wrapper", OPTION_CHOICE, "NAME", .choice = &o.record_wrapper,
              .choices = wrappers,
              .meaning = "none, or recordio: each object becomes one record (RecordWrapperType)" },
            { "compression", OPTION_CHOICE, "NAME", .choice = &o.gunzip, .choices = compressions,
              .meaning = "none, or gzip: the objects are unpacked (CompressionType)" },
            { "attributes", OPTION_TEXT, "LIST", .text = &o.attributes, .standard = "",
              .meaning = "for an augmented manifest: the attributes to feed, in order "
                         "(AttributeNames)" },
            MEMORY_ROW(&o, "memory limit for read-ahead and records"),
            METRICS_ROW(&metrics),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    status = hosts_options_take(&hosts, &o.host, &o.hosts);
    if (status < 0)
        status = metrics_begin(metrics, argv[0]);
    return status >= 0 ? status : pipe_source(argv[0], argv[1], &o);
}

const struct command pipe_command = {
    .name = "pipe",
    .arguments = "SRC DIR [OPTION]...",
    .least = 2,
    .most = 2,
    .summary = "feed named pipes as SageMaker's Pipe mode does",
    .text = "Makes the named pipes DIR/CHANNEL_0, DIR/CHANNEL_1, ... and writes SRC to each of "
            "them, one epoch per pipe, as fast as its reader reads. SRC is a directory, an S3 "
            "prefix, a manifest file, an augmented manifest, or one object; its objects (of a "
            "data set, only the shards) are read ahead with many concurrent requests and written "
            "one after the other, with nothing between them. A reader that closes its pipe early "
            "gets the next epoch next.",
    .example = "  sheaf pipe s3://bucket/train/ /opt/ml/input/data --epochs 2\n",
    .run = cmd_pipe,
};
