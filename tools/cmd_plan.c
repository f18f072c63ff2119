/* SPDX-License-Identifier: MIT
 *
 * sheaf plan: stores the plan that sheaf pack would make, so that many machines can each pack a
 * part of it. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/pack_rows.h"
#include "tools/progress.h"
#include "tools/signals.h"

#define CLASSES_SHOWN 10

/* Prints one class in the list "classes: 0 cat, 1 dog, ...". Called once for each class. *context
 * is the number of classes that were already printed. */
static void cmd_plan_print_class(void *context, const struct sheaf_class_count *count)
{
    size_t *classes = context;

    if (!is_quiet() && *classes < CLASSES_SHOWN)
        printf("%s%" PRId64 " %s", *classes == 0 ? "classes: " : ", ", count->number,
               shown(count->name));
    ++*classes;
}

static int cmd_plan_do(char **sources, size_t count, const char *output,
                       struct sheaf_pack_options *options)
{
    struct sheaf_pack_result result;
    struct sheaf_error error;
    size_t classes = 0;
    int code;

    options->context = &classes;
    options->class_count = cmd_plan_print_class;
    options->progress = progress_show;
    options->report = options->on_error == SHEAF_SKIP ? report_skipped : NULL;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_plan_make((const char *const *)sources, count, sources[count], output, options,
                           &result, &error);
    progress_clear();
    if (classes > CLASSES_SHOWN && !is_quiet())
        printf(", ... (%zu in all: sheaf info PLAN lists them)", classes);
    if (classes != 0 && !is_quiet())
        putchar('\n');
    if (code != SHEAF_OK)
        return refuse(&error);
    say_source(&result);
    say_few_shards(options, &result);
    say_duplicates(&result, options->duplicate_keys);
    detail_packing(&result);
    say_skipped_if_quiet(result.skipped, result.files);
    if (is_quiet())
        return STATUS_OK;
    printf("planned %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) in %" PRIu64 " shard%s",
           result.samples, plural(result.samples), result.payload_bytes,
           plural(result.payload_bytes), result.shards, plural(result.shards));
    if (result.files != 0)      /* a conversion has none */
        print_files(&result, "planned");
    putchar('\n');
    return STATUS_OK;
}

static int cmd_plan(const struct command *command, int argc, char **argv)
{
    struct pack_lists lists;
    struct sheaf_pack_options o;
    const char *output = NULL;
    int status;
    size_t count;

    pack_rows_init(&lists, &o, SHEAF_CHECK_MARKERS);
    {
        const struct option table[] = {
            { "output", OPTION_TEXT, "PLAN", .letter = 'o', .text = &output,
              .meaning = "destination of the plan: a path, or an s3:// URL (required)" },
            PACK_ROWS(&lists, &o),
            DUPLICATE_KEYS_ROW(&o),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (output == NULL)
        return misuse("plan: --output is required");
    status = pack_rows_take_all(&lists, &o);
    return status >= 0 ? status : cmd_plan_do(argv, count - 1, output, &o);
}

const struct command plan_command = {
    .name = "plan",
    .arguments = "SRC... DEST -o PLAN --format NAME [OPTION]...",
    .least = 2,
    .most = SIZE_MAX,
    .summary = "store a plan that many machines can pack",
    .text = "Lists the files of SRC, as sheaf pack accepts it, orders them, divides them into "
            "shards, and stores the result as a plan. Each part of it can then be packed "
            "anywhere, with sheaf pack --plan PLAN --part I/N; sheaf commit PLAN publishes the "
            "data set, byte for byte the same as that of sheaf pack SRC DEST. sheaf info PLAN "
            "shows the progress.\n\nIf SRC is a data set, the plan is for its conversion, shard by "
            "shard, with sheaf convert --plan PLAN --part I/N. --duplicate-keys is for such a "
            "plan, and says what happens to samples with a repeated key.\n\nPaths are "
            "stored as absolute paths and must mean the same on all machines.",
    .example = "  sheaf plan photos/ s3://bucket/train/ -o train.plan --format webdataset\n",
    .run = cmd_plan,
};
