/* SPDX-License-Identifier: MIT
 *
 * sheaf advise: which input mode, and why. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/mode_advice.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/size_text.h"

static const struct constant {
    const char *name;       /* first, for nearest() */
    const char *unit, *meaning;
} constants[] = {
#define ROW(id, name, value, unit, meaning) { name, unit, meaning },
    MODE_CONSTANTS(ROW)
#undef ROW
};

/* ---- Options --------------------------------------------------------------------------------- */

static int read_real(const char *option, const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end != '\0')
        return misuse("--%s: invalid number \"%s\"", option, text);
    return -1;
}

/* Returns whether the unit of the constant is bytes or bytes per second. */
static bool is_bytes(const struct constant *c)
{
    return strcmp(c->unit, "B") == 0 || strcmp(c->unit, "B/s") == 0;
}

/* Parses the value that the user gave for a constant of the estimates. If the constant's unit is
 * bytes, the text may have the form "200MB". */
static int set_constant(const struct constant *c, const char *text, double *value)
{
    uint64_t bytes;

    if (!is_bytes(c) || !options_size(text, &bytes))
        return read_real("constant", text, value);
    *value = (double)bytes;
    return -1;
}

/* NAME=VALUE[,NAME=VALUE]... */
static int set_constants(const char *list, double *values)
{
    char *copy = strdup(list), *next = copy, *item;
    int status = copy == NULL ? STATUS_FAILURE : -1;

    while (status < 0 && (item = strsep(&next, ",")) != NULL) {
        char *value = strchr(item, '=');
        const char *hint;
        size_t i = 0;

        if (value != NULL)
            *value++ = '\0';
        while (i < CONSTANT_COUNT && strcmp(constants[i].name, item) != 0)
            i++;
        hint = nearest(item, constants, CONSTANT_COUNT, sizeof(constants[0]));
        if (value == NULL)
            status = misuse("--constant: \"%s\" is not NAME=VALUE", item);
        else if (i == CONSTANT_COUNT)
            status = misuse("--constant: unknown constant \"%s\"; %s%s", item,
                            hint != NULL ? "did you mean " : "the output lists them all",
                            hint != NULL ? hint : "");
        else
            status = set_constant(&constants[i], value, &values[i]);
    }
    free(copy);
    return status;
}

/* ---- For people ------------------------------------------------------------------------------ */

static void print_size(uint64_t bytes)
{
    char text[SIZE_TEXT_ROOM];

    printf("%s", size_text((double)bytes, text));
}

static void print_survey(const char *source, const struct sheaf_survey *s)
{
    static const char *const decades[] = {
        "< 1 kB", "< 10 kB", "< 100 kB", "< 1 MB", "< 10 MB", "< 100 MB", "< 1 GB", ">= 1 GB",
    };
    char count[SIZE_TEXT_ROOM];

    printf("%s\n  %s object%s, ", shown(source), count_text(s->objects, count),
           plural(s->objects));
    print_size(s->bytes);
    printf(", on %s\n  smallest ", shown(s->place));
    print_size(s->smallest_bytes);
    printf(", median ");
    print_size(s->median_bytes);
    printf(", largest ");
    print_size(s->largest_bytes);
    putchar('\n');
    if (s->is_dataset)
        printf("  a data set of %s sample%s\n", count_text(s->samples, count),
               plural(s->samples));
    printf("\n  size           objects       bytes\n");
    for (size_t i = 0; i < SHEAF_SURVEY_DECADES; i++) {
        if (s->decades[i].objects == 0)
            continue;
        printf("  %-9s %12s  ", decades[i], count_text(s->decades[i].objects, count));
        print_size(s->decades[i].bytes);
        putchar('\n');
    }
}

static void print_seconds(double seconds)
{
    char text[40];

    if (seconds < 100)
        snprintf(text, sizeof(text), "%.1f s", seconds);
    else if (seconds < 6000)
        snprintf(text, sizeof(text), "%.1f min", seconds / 60);
    else
        snprintf(text, sizeof(text), "%.1f h", seconds / 3600);
    printf(" %10s", text);
}

static void print_estimates(const struct mode_advice *a)
{
    printf("\n  %-20s %10s %10s %10s %10s %10s %12s %10s %9s\n", "mode", "prepare", "start",
           "1st epoch", "epoch", "job", "requests", "$ requests", "$ other");
    for (int i = 0; i < MODE_COUNT; i++) {
        const struct mode_estimate *e = &a->estimates[i];
        char count[SIZE_TEXT_ROOM];

        printf("%c %-20s", i == (int)a->mode ? '*' : ' ', mode_name((enum input_mode)i));
        print_seconds(e->prepare_s);
        print_seconds(e->startup_s);
        print_seconds(e->first_epoch_s);
        print_seconds(e->epoch_s);
        print_seconds(e->total_s);
        printf(" %12s %10.2f %9.2f\n", count_text((uint64_t)e->requests, count), e->request_cost,
               e->other_cost);
    }
}

/* Prints the value of a constant with its unit, as in "200 MB/s", "5,500 objects/s" or "0.03 s". */
static void print_constant(const struct constant *c, double value)
{
    char text[SIZE_TEXT_ROOM], line[SIZE_TEXT_ROOM + 16];

    if (is_bytes(c))
        snprintf(line, sizeof(line), "%s%s", size_text(value, text), c->unit + 1);
    else if (value >= 1000 && value < 1e15)
        snprintf(line, sizeof(line), "%s %s", count_text((uint64_t)value, text), c->unit);
    else
        snprintf(line, sizeof(line), "%.6g %s", value, c->unit);
    printf("  %-16s %-16s %s\n", c->name, line, c->meaning);
}

static void cmd_advise_print_text(const char *source, const struct sheaf_survey *s,
                                  const struct mode_options *o, const struct mode_advice *a)
{
    print_survey(source, s);
    print_estimates(a);
    if (strstr(source, "://") == NULL)
        printf("\nThe estimates assume that these objects lie in S3, in the region of the job.\n");
    printf("\n%s\n", mode_name(a->mode));
    for (size_t i = 0; i < a->reason_count; i++)
        printf("  - %s\n", shown(a->reasons[i]));
    if (a->mode == MODE_PACK_FILE || a->mode == MODE_PACK_FASTFILE)
        printf("  sheaf pack %s DEST --format webdataset\n", shown(source));
    printf("\nEstimates for %" PRIu64 " epoch%s, from these (--constant NAME=VALUE):\n", o->epochs,
           plural(o->epochs));
    for (size_t i = 0; i < CONSTANT_COUNT; i++)
        print_constant(&constants[i], o->constants[i]);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void print_json_survey(const struct sheaf_survey *s)
{
    printf("\"survey\":{\"objects\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"smallest_bytes\":%" PRIu64
           ",\"median_bytes\":%" PRIu64 ",\"largest_bytes\":%" PRIu64 ",\"place\":", s->objects,
           s->bytes, s->smallest_bytes, s->median_bytes, s->largest_bytes);
    print_json_string(stdout, s->place);
    printf(",\"is_dataset\":%s,\"samples\":%" PRIu64 ",\"decades\":[",
           s->is_dataset ? "true" : "false", s->samples);
    for (size_t i = 0; i < SHEAF_SURVEY_DECADES; i++)
        printf("%s{\"objects\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", i > 0 ? "," : "",
               s->decades[i].objects, s->decades[i].bytes);
    printf("]}");
}

static void print_json_estimate(const char *mode, const struct mode_estimate *e)
{
    printf("{\"mode\":");
    print_json_string(stdout, mode);
    printf(",\"prepare_s\":%.9g,\"startup_s\":%.9g,\"first_epoch_s\":%.9g,\"epoch_s\":%.9g,"
           "\"total_s\":%.9g,\"requests\":%.9g,\"request_cost\":%.9g,\"other_cost\":%.9g}",
           e->prepare_s, e->startup_s, e->first_epoch_s, e->epoch_s, e->total_s, e->requests,
           e->request_cost, e->other_cost);
}

static void cmd_advise_print_json(const char *source, const struct sheaf_survey *s,
                                  const struct mode_options *o, const struct mode_advice *a)
{
    printf("{\"source\":");
    print_json_string(stdout, source);
    putchar(',');
    print_json_survey(s);
    printf(",\"mode\":");
    print_json_string(stdout, mode_name(a->mode));
    printf(",\"reasons\":[");
    for (size_t i = 0; i < a->reason_count; i++) {
        printf("%s", i > 0 ? "," : "");
        print_json_string(stdout, a->reasons[i]);
    }
    printf("],\"epochs\":%" PRIu64 ",\"estimates\":[", o->epochs);
    for (int i = 0; i < MODE_COUNT; i++) {
        printf("%s", i > 0 ? "," : "");
        print_json_estimate(mode_name((enum input_mode)i), &a->estimates[i]);
    }
    printf("],\"constants\":{");
    for (size_t i = 0; i < CONSTANT_COUNT; i++)
        printf("%s\"%s\":%.9g", i > 0 ? "," : "", constants[i].name, o->constants[i]);
    printf("}}\n");
}

/* ---- The command ----------------------------------------------------------------------------- */

static int advise(const char *source, const struct mode_options *options, bool as_json)
{
    struct sheaf_fetch_options how;
    struct sheaf_survey survey;
    struct mode_advice advice;
    struct sheaf_error error;
    int code;

    sheaf_fetch_options_init(&how, sizeof(how));
    how.progress = progress_show;
    how.interrupt = &signals_caught;
    signals_catch();
    code = sheaf_survey(source, &how, &survey, sizeof(survey), &error);
    progress_clear();
    if (code == SHEAF_OK)
        code = mode_advise(&survey, options, &advice, &error);
    if (code != SHEAF_OK)
        return refuse(&error);
    (as_json ? cmd_advise_print_json : cmd_advise_print_text)(source, &survey, options, &advice);
    return STATUS_OK;
}

static int cmd_advise(const struct command *command, int argc, char **argv)
{
    const char *reads = "1", *list = NULL;
    struct mode_options o;
    uint64_t rate = 0;
    int as_json = 0, status;
    size_t count;

    mode_options_init(&o);
    {
        const struct option table[] = {
            { "epochs", OPTION_NUMBER, "N", .number = &o.epochs, .least = 1,
              .meaning = "epochs of the training job" },
            { "reads-per-epoch", OPTION_TEXT, "X", .text = &reads,
              .meaning = "how often an epoch reads each object" },
            { "consumer-rate", OPTION_SIZE, "SIZE", .number = &rate,
              .standard = "unlimited",
              .meaning = "bytes per second that the training consumes" },
            { "constant", OPTION_TEXT, "LIST", .text = &list, .standard = "",
              .meaning = "NAME=VALUE,...: rates and prices; they are listed with the answer" },
            { "json", OPTION_FLAG, .flag = &as_json, .meaning = "print one JSON object" },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status < 0)
        status = read_real("reads-per-epoch", reads, &o.reads_per_epoch);
    if (status < 0 && list != NULL)
        status = set_constants(list, o.constants);
    if (status >= 0)
        return status;
    o.consumer_bytes_s = (double)rate;
    return advise(argv[0], &o, as_json);
}

const struct command advise_command = {
    .name = "advise",
    .arguments = "SRC [OPTION]...",
    .least = 1,
    .most = 1,
    .summary = "recommend an input mode for a source, with estimates",
    .text = "Looks at SRC, a directory, S3 prefix, manifest or augmented manifest, without "
            "reading its objects, and recommends File mode, FastFile mode, FSx for Lustre or "
            "EFS, or packing first, as AWS's guide does. Prints estimates of start-up time, "
            "epoch time and cost for each, and the constants they rest on.",
    .example = "  sheaf advise s3://bucket/images/ --epochs 90 --consumer-rate 400MB\n",
    .run = cmd_advise,
};
