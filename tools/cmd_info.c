/* SPDX-License-Identifier: MIT
 *
 * sheaf info: describes a data set or a stored plan. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/channel.h"
#include "tools/column_info.h"
#include "tools/crops/crop_files.h"
#include "tools/fields.h"
#include "tools/json.h"
#include "tools/lineage.h"
#include "tools/mixing.h"
#include "tools/order.h"
#include "tools/plan/plan.h"
#include "tools/plan/plan_status.h"
#include "tools/replace.h"

/* if an epoch of a view reads a source at least this number of times, a warning is printed, because
 * a model may memorise the source */
#define MANY_PASSES 10

/* Returns the library's information about one shard. `index` must be less than the data set's
 * shard_count. */
static struct sheaf_shard_info cmd_info_shard_at(const struct sheaf_dataset *dataset, size_t index)
{
    struct sheaf_shard_info shard = { .name = "" };

    if (sheaf_dataset_shard(dataset, index, &shard, sizeof(shard)) != SHEAF_OK)
        complain("shard %zu is missing", index);
    return shard;
}

/* Returns the library's information about one source of a view. `index` must be less than the data
 * set's source_count. */
static struct sheaf_source_info source_at(const struct sheaf_dataset *dataset, size_t index)
{
    struct sheaf_source_info source = { .url = "" };

    if (sheaf_dataset_source(dataset, index, &source, sizeof(source)) != SHEAF_OK)
        complain("source %zu is missing", index);
    return source;
}

/* Returns the name of the data set's container, such as "tfrecord". Returns "several" for several
 * sources with different containers. Returns "unknown" for a stream, such as a pipe, because its
 * container is unknown until the stream is read. */
static const char *container_name(const struct sheaf_dataset_info *info)
{
    const char *name = sheaf_container_name(info->container);

    return name ? name : info->source_count > 1 ? "several" : "unknown";
}

/* Returns how often, on average, an epoch of a view returns each sample that the view has selected
 * from one source. */
static double passes_of(const struct sheaf_dataset_info *info,
                        const struct sheaf_source_info *source)
{
    return source->share * (double)info->epoch_samples / (double)source->chosen;
}

/* The bytes that a view reads of a source. */
struct cost {
    uint64_t chosen_bytes, read_bytes;
};

static double amplification(double chosen_bytes, double read_bytes)
{
    return chosen_bytes > 0 ? read_bytes / chosen_bytes : 1;
}

static double source_amplification(const struct cost *cost)
{
    return amplification((double)cost->chosen_bytes, (double)cost->read_bytes);
}

/* That of an epoch. */
static double view_amplification(const struct sheaf_dataset *dataset,
                                 const struct sheaf_dataset_info *info, const struct cost *costs)
{
    double chosen = 0, read = 0;

    for (size_t i = 0; i < info->source_count; i++) {
        const struct sheaf_source_info source = source_at(dataset, i);
        const double passes = passes_of(info, &source);

        chosen += passes * (double)costs[i].chosen_bytes;
        read += passes * (double)costs[i].read_bytes;
    }
    return amplification(chosen, read);
}

/* Computes how many bytes an epoch reads from each source of a view. Sets *costs to an array that
 * the caller frees, or to NULL if the data set is not a view. Returns an exit status. */
static int find_costs(const struct sheaf_dataset *dataset, const struct sheaf_dataset_info *info,
                      struct cost **costs)
{
    struct sheaf_error error;

    *costs = NULL;
    if (!info->is_view)
        return STATUS_OK;
    *costs = calloc(info->source_count, sizeof((*costs)[0]));
    if (*costs == NULL) {
        complain("no memory for %zu sources", info->source_count);
        return STATUS_FAILURE;
    }
    for (size_t i = 0; i < info->source_count; i++) {
        struct cost *cost = &(*costs)[i];

        if (sheaf_dataset_reading(dataset, i, &cost->chosen_bytes, &cost->read_bytes,
                                  &error) != SHEAF_OK)
            return refuse(&error);
    }
    return STATUS_OK;
}

/* Prints a source's part in a view. */
static void print_share(const struct sheaf_dataset_info *info,
                        const struct sheaf_source_info *source, const struct cost *cost)
{
    printf("\n    chosen %" PRIu64, source->chosen);
    if (source->weight != 0)
        printf("  weight %" PRIu64, source->weight);
    printf("  share %.4f  epochs of it %.4g  amplification %.3f", source->share,
           passes_of(info, source), source_amplification(cost));
}

/* Returns whether an earlier source of the view is the same data set as source `index`, perhaps
 * with another selection of samples. */
static bool is_named_before(const struct sheaf_dataset *dataset, size_t index)
{
    const struct sheaf_source_info source = source_at(dataset, index);
    size_t i = 0;

    while (i < index && strcmp(source_at(dataset, i).fingerprint, source.fingerprint) != 0)
        i++;
    return i < index;
}

/* Returns a text with the warnings about a view, one per line, for example about a source that is
 * read very often. Returns NULL if memory is exhausted. */
static char *warnings_of(const struct sheaf_dataset *dataset,
                         const struct sheaf_dataset_info *info)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    for (size_t i = 0; f != NULL && info->is_view && i < info->source_count; i++) {
        const struct sheaf_source_info source = source_at(dataset, i);
        const double passes = passes_of(info, &source);
        const char *url = shown(source.url);

        if (passes >= MANY_PASSES)
            fprintf(f, "%s: each of its chosen samples comes %.0f times an epoch\n", url, passes);
        else if (source.share > 0 && source.share * (double)info->epoch_samples < 1)
            fprintf(f, "%s: comes less than once an epoch\n", url);
        if (source.shared != 0)
            fprintf(f, "%s: %" PRIu64 " of its %" PRIu64 " chosen samples are those of an earlier "
                    "source, too\n", url, source.shared, source.chosen);
        else if (source.same_as != NULL && !is_named_before(dataset, i))
            fprintf(f, "%s: seems to have the samples of an earlier source in another form\n", url);
    }
    if (f != NULL)
        (void)fclose(f);
    return text;
}

static void print_warnings(const struct sheaf_dataset *dataset,
                           const struct sheaf_dataset_info *info)
{
    char *text = warnings_of(dataset, info), *rest = text, *line;

    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0')
        printf("warning       %s\n", line);
    free(text);
}

static void json_warnings(const struct sheaf_dataset *dataset,
                          const struct sheaf_dataset_info *info)
{
    char *text = warnings_of(dataset, info), *rest = text, *line;
    const char *comma = "";

    printf(",\n  \"warnings\": [");
    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
        fputs(comma, stdout);
        print_json_string(stdout, line);
        comma = ", ";
    }
    putchar(']');
    free(text);
}

/* Prints the list of sources, if the data set consists of several data sets. */
static void cmd_info_print_sources(const struct sheaf_dataset *dataset,
                                   const struct sheaf_dataset_info *info, const struct cost *costs)
{
    printf("sources       %zu\n", info->source_count);
    for (size_t i = 0; i < info->source_count; i++) {
        const struct sheaf_source_info source = source_at(dataset, i);

        printf("  %s  %s (%s)  %zu shard%s  %" PRIu64 " sample%s  %s", shown(source.url),
               sheaf_container_name(source.container), sheaf_codec_name(source.codec),
               source.shard_count, plural(source.shard_count), source.samples,
               plural(source.samples), source.fingerprint);
        if (source.same_as != NULL)
            printf("  seems to be %s", shown(source.same_as));
        if (info->is_view)
            print_share(info, &source, &costs[i]);
        putchar('\n');
    }
}

/* Prints the stages of a view except the first. */
static void print_stages(const struct sheaf_dataset *dataset,
                         const struct sheaf_dataset_info *info)
{
    const uint64_t *weights;
    uint64_t samples;

    for (size_t i = 1; sheaf_dataset_stage(dataset, i, &samples, &weights) == SHEAF_OK; i++) {
        printf("%-14sfrom sample %" PRIu64 " on, weight%s ", i == 1 ? "stages" : "", samples,
               plural(info->source_count));
        for (size_t s = 0; s < info->source_count; s++)
            printf("%s%" PRIu64, s ? "," : "", weights[s]);
        putchar('\n');
    }
}

static void json_stages(const struct sheaf_dataset *dataset,
                        const struct sheaf_dataset_info *info)
{
    const uint64_t *weights;
    uint64_t samples;

    printf(",\n  \"stages\": [");
    for (size_t i = 1; sheaf_dataset_stage(dataset, i, &samples, &weights) == SHEAF_OK; i++) {
        printf("%s{\"samples\": %" PRIu64 ", \"weights\": [", i > 1 ? ", " : "", samples);
        for (size_t s = 0; s < info->source_count; s++)
            printf("%s%" PRIu64, s ? ", " : "", weights[s]);
        printf("]}");
    }
    putchar(']');
}

static void json_sources(const struct sheaf_dataset *dataset,
                         const struct sheaf_dataset_info *info, const struct cost *costs)
{
    printf(",\n  \"sources\": [");
    for (size_t i = 0; i < info->source_count; i++) {
        const struct sheaf_source_info source = source_at(dataset, i);

        printf("%s\n    {\"url\": ", i ? "," : "");
        print_json_string(stdout, source.url);
        printf(", \"container\": \"%s\", \"codec\": \"%s\", \"manifest\": %s, \"shards\": %zu, "
               "\"samples\": %" PRIu64 ", \"fingerprint\": ",
               sheaf_container_name(source.container), sheaf_codec_name(source.codec),
               source.has_manifest ? "true" : "false", source.shard_count, source.samples);
        print_json_string(stdout, source.fingerprint);
        if (source.same_as != NULL) {
            printf(", \"same_as\": ");
            print_json_string(stdout, source.same_as);
        }
        if (info->is_view)
            printf(", \"chosen\": %" PRIu64 ", \"weight\": %" PRIu64 ", \"share\": %.9g, "
                   "\"epochs\": %.9g, \"amplification\": %.9g", source.chosen, source.weight,
                   source.share, passes_of(info, &source), source_amplification(&costs[i]));
        putchar('}');
    }
    putchar(']');
}

static void print_image_count(uint64_t count, const char *what)
{
    if (count == UINT64_MAX)
        printf("unknown how many %s", what);
    else
        printf("%" PRIu64 " %s", count, what);
}

/* Prints how many images packing converted, and how many it only made smaller. Prints nothing if
 * both numbers are 0. */
static void print_images(const struct sheaf_dataset_info *info)
{
    if (info->images_converted == 0 && info->images_resized == 0)
        return;
    printf("images        ");
    print_image_count(info->images_converted, "converted");
    printf(", ");
    print_image_count(info->images_resized, "only made smaller");
    putchar('\n');
}

/* Prints three counts of the packing: the files that were left out, the values that could not
 * become fields, and the samples whose file `cls` does not consist of numbers. Leaves out a count
 * that is 0. */
static void print_skipped(const struct sheaf_dataset_info *info)
{
    if (info->skipped != 0)
        printf("skipped       %" PRIu64 " when it was packed (see skipped.tsv)\n", info->skipped);
    if (info->left_out_values != 0)
        printf("left out      %" PRIu64 " value%s of lists, which could not become fields\n",
               info->left_out_values, plural(info->left_out_values));
    if (info->cls_words != 0)
        printf("cls words     %" PRIu64 " sample%s with a file .cls that is not numbers\n",
               info->cls_words, plural(info->cls_words));
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Columns while they are printed. */
struct column_lines {
    bool json;
    size_t count;
};

static void cmd_info_print_column(void *context, const struct sheaf_column_info *c)
{
    struct column_lines *lines = context;

    if (lines->json) {
        fputs(lines->count++ == 0 ? "\n    " : ",\n    ", stdout);
        column_print_json(c);
        return;
    }
    printf("%s", lines->count++ == 0 ? "columns\n" : "");
    if (c->code != SHEAF_OK)
        printf("  %s  %s\n", c->name, column_problem(c));
    else
        printf("  %s  %" PRIu64 " sample%s with a value, %" PRIu64 " without  %" PRIu64 " byte%s  "
               "%s\n", c->name, c->samples - c->missing, plural(c->samples - c->missing),
               c->missing + c->uncovered, c->stored_bytes, plural(c->stored_bytes), c->fields);
}

/* Prints the columns of a data set. Prints nothing if the store cannot list directories, such as a
 * web server. */
static void print_columns(const struct sheaf_dataset *dataset,
                          const struct sheaf_dataset_info *info, bool json)
{
    struct column_lines lines = { .json = json };
    struct sheaf_error error;

    if (json)
        fputs(",\n  \"columns\": [", stdout);
    if (info->has_manifest && !info->is_view &&
        sheaf_column_list(dataset, cmd_info_print_column, &lines, &error) != SHEAF_OK &&
        error.code != SHEAF_ERR_UNSUPPORTED)
        say("its columns are unknown: %s", error.message);
    if (json)
        putchar(']');
}

/* Returns whether the total size of the fields' content is known. If the data set has a manifest,
 * the manifest states this size. Otherwise a size of 0 means that it is unknown. */
static bool cmd_info_knows_payload(const struct sheaf_dataset_info *info)
{
    return info->has_manifest || info->payload_bytes > 0;
}

static void cmd_info_print_text(const struct sheaf_dataset *dataset,
                                const struct sheaf_dataset_info *info, const struct cost *costs)
{
    printf("container     %s\n", container_name(info));
    printf("codec         %s\n", sheaf_codec_name(info->codec));
    printf("manifest      %s\n", info->has_manifest ? "yes" : "no");
    if (info->is_stream) {
        printf("samples       unknown: it is read as a stream\n");
    } else {
        printf("samples       %" PRIu64 "\n", info->samples);
        if (info->is_view)
            printf("epoch         %" PRIu64 "\n", info->epoch_samples);
        printf("bytes         %" PRIu64 "\n", info->bytes);
        if (cmd_info_knows_payload(info))
            printf("payload_bytes %" PRIu64 "\n", info->payload_bytes);
        if (info->is_view)
            printf("amplification %.3f\n", view_amplification(dataset, info, costs));
        printf("fingerprint   %s\n", info->fingerprint);
    }
    if (info->hosts > 0 && !info->is_stream)
        printf("host          %u of %u, with %zu of %zu shards\n", info->host, info->hosts,
               info->shard_count, info->all_shards);
    if (info->class_count > 0)
        printf("classes       %zu, from %d (%s) to %zu (%s)\n", info->class_count,
               info->label_base, shown(sheaf_dataset_class(dataset, 0)),
               info->class_count - 1 + (size_t)info->label_base,
               shown(sheaf_dataset_class(dataset, info->class_count - 1)));
    classes_print(dataset);
    fields_print(dataset);
    print_columns(dataset, info, false);
    print_images(info);
    print_skipped(info);
    if (info->source_count > 1 || info->is_view)
        cmd_info_print_sources(dataset, info, costs);
    print_stages(dataset, info);
    print_warnings(dataset, info);
    printf("shards        %zu\n", info->shard_count);
    for (size_t i = 0; i < info->shard_count; i++) {
        const struct sheaf_shard_info shard = cmd_info_shard_at(dataset, i);

        if (info->is_stream)
            printf("  %s\n", shown(shard.name));
        else
            printf("  %s  %" PRIu64 " sample%s  %" PRIu64 " byte%s\n", shown(shard.name),
                   shard.samples, plural(shard.samples), shard.bytes, plural(shard.bytes));
    }
}

/* Prints a count, or null if it is unknown. */
static void json_count(const char *name, bool known, uint64_t count)
{
    if (known)
        printf(",\n  \"%s\": %" PRIu64, name, count);
    else
        printf(",\n  \"%s\": null", name);
}

static void json_shard(const struct sheaf_dataset *dataset, const struct sheaf_dataset_info *info,
                       size_t index)
{
    const struct sheaf_shard_info shard = cmd_info_shard_at(dataset, index);

    printf("%s\n    {\"name\": ", index ? "," : "");
    print_json_string(stdout, shard.name);
    if (!info->is_stream) {
        printf(", \"bytes\": %" PRIu64 ", \"samples\": %" PRIu64, shard.bytes, shard.samples);
        if (cmd_info_knows_payload(info))
            printf(", \"payload_bytes\": %" PRIu64, shard.payload_bytes);
    }
    if (shard.xxh3) {
        printf(", \"xxh3\": ");
        print_json_string(stdout, shard.xxh3);
    }
    putchar('}');
}

static void cmd_info_print_json(const struct sheaf_dataset *dataset,
                                const struct sheaf_dataset_info *info, const struct cost *costs)
{
    printf("{\n  \"url\": ");
    print_json_string(stdout, info->url);
    printf(",\n  \"container\": \"%s\",\n  \"codec\": \"%s\",\n  \"manifest\": %s,"
           "\n  \"stream\": %s", container_name(info),
           sheaf_codec_name(info->codec), info->has_manifest ? "true" : "false",
           info->is_stream ? "true" : "false");
    json_count("samples", !info->is_stream, info->samples);
    if (info->is_view)
        json_count("epoch", true, info->epoch_samples);
    json_count("bytes", !info->is_stream, info->bytes);
    json_count("payload_bytes", cmd_info_knows_payload(info), info->payload_bytes);
    if (!info->is_view)
        json_count("repeated_keys", !info->is_stream, info->repeated_keys);
    printf(",\n  \"fingerprint\": ");
    print_json_string(stdout, info->is_stream ? NULL : info->fingerprint);
    if (info->hosts > 0 && !info->is_stream)
        printf(",\n  \"host\": {\"host\": %u, \"hosts\": %u, \"shards\": %zu}", info->host,
               info->hosts, info->all_shards);
    if (info->source_count > 1 || info->is_view)
        json_sources(dataset, info, costs);
    if (info->is_view) {
        printf(",\n  \"amplification\": %.9g", view_amplification(dataset, info, costs));
        json_stages(dataset, info);
        json_warnings(dataset, info);
    }
    fields_json(dataset);
    print_columns(dataset, info, true);
    classes_json(dataset);
    if (info->has_manifest && !info->is_view) {
        json_count("images_converted", info->images_converted != UINT64_MAX,
                   info->images_converted);
        json_count("images_resized", info->images_resized != UINT64_MAX, info->images_resized);
        json_count("skipped", true, info->skipped);
        json_count("left_out_values", true, info->left_out_values);
        json_count("cls_words", true, info->cls_words);
    }
    printf(",\n  \"label_base\": %d,\n  \"classes\": [", info->label_base);
    for (size_t i = 0; i < info->class_count; i++) {
        printf("%s\n    ", i ? "," : "");
        print_json_string(stdout, sheaf_dataset_class(dataset, i));
    }
    printf("],\n  \"shards\": [");
    for (size_t i = 0; i < info->shard_count; i++)
        json_shard(dataset, info, i);
    printf("]");
}

struct info {
    int json, quality, lineage;
    struct channel_options channel;
    const char *plot;               /* file; NULL: none */
    const char *pixels;             /* crops to measure; NULL: none */
    struct crop_choice crop;
    struct sheaf_reader_options options;
};

/* Prints how well an epoch is mixed. */
static int print_quality(const struct info *o, const struct sheaf_dataset *dataset)
{
    static struct sheaf_mixing mixing;      /* large for a stack */
    struct sheaf_error error;

    if (sheaf_dataset_mixing(dataset, &o->options, &mixing, sizeof(mixing), &error) != SHEAF_OK)
        return refuse(&error);
    if (o->json) {
        printf(",\n  \"shuffle_quality\": ");
        mixing_print_json(&mixing, &o->options);
    } else {
        printf("shuffle quality\n");
        mixing_print(&mixing, &o->options);
    }
    return o->plot == NULL ? STATUS_OK : mixing_plot(&mixing, o->plot);
}

/* Prints everything, the most interesting facts first. */
static int print_all(const struct info *o, const struct sheaf_dataset *dataset)
{
    struct sheaf_dataset_info info;
    struct cost *costs;
    int status;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    status = find_costs(dataset, &info, &costs);
    if (status == STATUS_OK)
        (o->json ? cmd_info_print_json : cmd_info_print_text)(dataset, &info, costs);
    free(costs);
    if (status != STATUS_OK)
        return status;
    if (info.damages > 0)
        complain("%" PRIu64 " damaged place%s, where samples may be lost that are not counted "
                 "here; the first: %s; sheaf verify checks all bytes", info.damages,
                 plural(info.damages), info.damage);
    say_repeated_keys(info.is_view ? 0 : info.repeated_keys, info.repeated_key, info.has_manifest);
    if (info.is_view) {
        printf(o->json ? ",\n  \"plan\": null"
               : "plan          none: a view draws each sample by itself; sheaf locate and "
                 "sheaf cat --step say\n              what a step is fed\n");
    } else if (!info.is_stream) {
        printf(o->json ? ",\n  \"plan\": " : "plan\n");
        status = plan_print(dataset, &o->options, o->json);
    }
    if (status == STATUS_OK && o->quality)
        status = print_quality(o, dataset);
    if (status == STATUS_OK && o->pixels != NULL)
        status = crop_rate_print(dataset, &o->crop, o->json);
    if (o->json)
        printf("\n}\n");
    return status;
}

/* Opens the data set and prints what was requested. */
static int print_info(const struct info *o, char **sources, size_t count)
{
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    int status = STATUS_OK;

    if (channel_dataset(&o->channel, sources, count, &dataset, &error) != SHEAF_OK)
        return refuse(&error);
    if (o->lineage)
        lineage_print(dataset, o->channel.channel, &o->options);
    else
        status = print_all(o, dataset);
    sheaf_dataset_free(dataset);
    return status;
}

static int cmd_info(const struct command *command, int argc, char **argv)
{
    struct info o = { 0 };
    struct order_options order;
    size_t count;
    int status;

    sheaf_reader_options_init(&o.options, sizeof(o.options));
    order_options_init(&order);
    channel_options_init(&o.channel);
    {
        const struct option table[] = {
            CHANNEL_ROWS(&o.channel),
            { "lineage", OPTION_FLAG, .flag = &o.lineage,
              .meaning = "print the data's lineage for a training record, as one JSON object: "
                         "fingerprint, source, counts, and the settings of the order" },
            { "json", OPTION_FLAG, .flag = &o.json, .meaning = "print one JSON object" },
            { "shuffle-quality", OPTION_FLAG, .flag = &o.quality,
              .meaning = "compare the shuffle of an epoch with an ideal shuffle, without reading "
                         "data" },
            { "plot", OPTION_TEXT, "FILE", .text = &o.plot, .standard = "none",
              .needs = "--shuffle-quality",
              .meaning = "with --shuffle-quality: plot it as SVG to FILE" },
            { "pixels", OPTION_TEXT, CROP_CHOICE_TEXT, .text = &o.pixels, .standard = "none",
              .meaning = "decode 64 samples, and print how many images a second one core crops: "
                         "224, or for example 224,crop=center,resize=256" },
            ORDER_ROWS(&order, &o.options),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (count == 1 && sheaf_is_plan(argv[0])) {
        status = options_allow("a plan", "--json");
        return status >= 0 ? status : plan_status_print(argv[0], o.json);
    }
    if (o.lineage && (o.json || o.quality || o.pixels != NULL))
        return misuse("info: --lineage cannot be combined with --json, --shuffle-quality or "
                      "--pixels");
    status = o.plot == NULL ? -1 : replace_check(o.plot, "a plot of sheaf", MIXING_PLOT_MARK);
    if (status < 0)
        status = channel_open(&o.channel, command, count);
    if (status < 0)
        status = order_options_take(&order, o.channel.channel, &o.options);
    if (status < 0 && o.pixels != NULL)
        status = crop_choice_parse(&o.crop, o.pixels);
    if (status < 0)
        status = print_info(&o, argv, count);
    crop_choice_free(&o.crop);
    return channel_close(&o.channel, status);
}

const struct command info_command = {
    .name = "info",
    .arguments = "DATASET...|PLAN|--channel NAME [OPTION]...",
    .least = 0,
    .most = SIZE_MAX,
    .summary = "describe a data set or a stored plan",
    .text = "Prints the container, codec, counts, classes, fingerprint and shards of DATASET, and "
            "the plan of an epoch: which records of which shards each worker of each rank reads. "
            "DATASET is a directory or s3:// prefix that sheaf pack made, or foreign shards (a "
            "directory of them, a brace pattern, files, @FILE for a list, - for standard input), "
            "or, with --channel, what the platform provides. Several form one data set, and each "
            "is listed.\n\nOf a PLAN that sheaf plan has stored, prints its contents, its "
            "progress, and which shards and parts are missing.",
    .example = "  sheaf info s3://bucket/train/ --shuffle-quality\n",
    .run = cmd_info,
};
