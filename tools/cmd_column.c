/* SPDX-License-Identifier: MIT
 *
 * sheaf column: adds, lists and drops columns (fields that are added to a packed data set). Also
 * makes the plan for adding a column in parts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/column_info.h"
#include "tools/pack_rows.h"
#include "tools/plan/part.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/verbosity.h"

struct column {
    struct sheaf_column_options options;
    const char *name, *from, *plan, *part, *output;
    int json;
    struct option_texts s3;
};

/* ---- add ------------------------------------------------------------------------------------- */

static void cmd_column_print_result(const char *name, const struct sheaf_column_result *r)
{
    printf("column %s: %" PRIu64 " sample%s with values, %" PRIu64 " without, in %" PRIu64
           " shard%s (%" PRIu64 " byte%s)", name, r->with_values, plural(r->with_values),
           r->missing, r->shards, plural(r->shards), r->stored_bytes, plural(r->stored_bytes));
    if (r->shards_kept != 0)
        printf(", %" PRIu64 " of them kept", r->shards_kept);
    putchar('\n');
}

/* Prints the values that were left out. */
static void say_values_left_out(const struct sheaf_column_result *r)
{
    if (r->unknown != 0)
        say("%" PRIu64 " value%s left out, because the data set does not have the key", r->unknown,
            r->unknown == 1 ? " was" : "s were");
    if (r->repeated != 0)
        say("%" PRIu64 " value%s left out, because the sample has a value from an earlier line",
            r->repeated, r->repeated == 1 ? " was" : "s were");
    if (r->elsewhere != 0)
        say("%" PRIu64 " value%s for samples of other parts", r->elsewhere,
            r->elsewhere == 1 ? " is" : "s are");
    if (r->present != 0)
        say("%" PRIu64 " value%s left out, because the column has a record for the sample already",
            r->present, r->present == 1 ? " was" : "s were");
}

/* Prepares a call that may take long. */
static void cmd_column_prepare(struct column *c)
{
    struct sheaf_column_options *o = &c->options;

    o->s3 = c->s3.texts;
    o->progress = progress_show;
    o->report = report_skipped;
    o->interrupt = &signals_caught;
    signals_catch();
}

static int cmd_column_add_part(struct column *c)
{
    struct sheaf_column_result result;
    struct sheaf_error error;
    uint32_t part, parts;
    int code;
    const int status = part_take(c->part, &part, &parts);

    if (status >= 0)
        return status;
    cmd_column_prepare(c);
    code = sheaf_column_add_part(c->plan, part, parts, &c->options, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    say_values_left_out(&result);
    if (!is_quiet())
        printf("part %u of %u: %" PRIu64 " sample%s with values, %" PRIu64 " without, in %" PRIu64
               " shard%s, and %" PRIu64 " kept\n", part, parts, result.with_values,
               plural(result.with_values), result.missing, result.shards, plural(result.shards),
               result.shards_kept);
    return STATUS_OK;
}

static int cmd_column_add(struct column *c, char **arguments)
{
    struct sheaf_column_options *o = &c->options;
    struct sheaf_column_result result;
    struct sheaf_error error;
    int code;

    if (c->name == NULL || c->from == NULL)
        return misuse("column: add needs --name and --from, or --plan");
    cmd_column_prepare(c);
    code = sheaf_column_add(arguments[1], c->name, c->from, o, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    say_values_left_out(&result);
    if (result.samples == 0 && o->only_missing)
        say("nothing is missing: the column has a record for every sample");
    else if (!is_quiet())
        cmd_column_print_result(c->name, &result);
    return STATUS_OK;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static int cmd_column_plan(struct column *c, char **arguments)
{
    struct sheaf_column_result result;
    struct sheaf_error error;
    int code;

    if (c->name == NULL || c->output == NULL)
        return misuse("column: plan needs --name and --output");
    cmd_column_prepare(c);
    code = sheaf_column_plan(arguments[1], c->name, c->from, c->output, &c->options, &result,
                             &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    if (result.shards == 0)
        say("nothing is missing: the column has a record for every sample");
    else if (!is_quiet())
        printf("planned the column %s of %" PRIu64 " sample%s in %" PRIu64 " shard%s\n", c->name,
               result.samples, plural(result.samples), result.shards, plural(result.shards));
    return STATUS_OK;
}

/* ---- list ------------------------------------------------------------------------------------ */

static void cmd_column_print(void *context, const struct sheaf_column_info *i)
{
    (void)context;
    if (i->code != SHEAF_OK)
        printf("%s\t%s\n", i->name, column_problem(i));
    else
        printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", i->name,
               i->samples - i->missing, i->missing + i->uncovered, i->stored_bytes, i->fields);
}

static void cmd_column_print_json(void *context, const struct sheaf_column_info *i)
{
    (void)context;
    column_print_json(i);
    putchar('\n');
}

static int cmd_column_list(struct column *c, char **arguments)
{
    const char *source = arguments[1];
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    int code = sheaf_dataset_open(&source, 1, &dataset, &error);

    if (code != SHEAF_OK)
        return refuse(&error);
    code = sheaf_column_list(dataset, c->json ? cmd_column_print_json : cmd_column_print, NULL,
                             &error);
    sheaf_dataset_free(dataset);
    return code == SHEAF_OK ? STATUS_OK : fail(&error);
}

/* ---- drop ------------------------------------------------------------------------------------ */

static int cmd_column_drop(struct column *c, char **arguments)
{
    struct sheaf_error error;

    (void)c;
    return sheaf_column_drop(arguments[1], arguments[2], &error) == SHEAF_OK ? STATUS_OK
                                                                             : refuse(&error);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int cmd_column_act(struct column *c, char **arguments, size_t count)
{
    /* The actions, each with its number of arguments and the options that have an effect. */
    static const struct {
        const char *name;
        size_t arguments;
        int (*run)(struct column *c, char **arguments);
        const char *allowed;
    } actions[] = {
        { "add", 2, cmd_column_add, "--name, --from, --only-missing, --unknown-keys, "
                                    "--duplicate-keys, --resume, --s3, --memory and --jobs" },
        { "plan", 2, cmd_column_plan, "--name, --from, --output, --only-missing, --unknown-keys, "
                                      "--duplicate-keys, --resume, --s3, --memory and --jobs" },
        { "list", 2, cmd_column_list, "--json, --s3, --memory and --jobs" },
        { "drop", 3, cmd_column_drop, "--s3, --memory and --jobs" },
    };
    const char *action = arguments[0];
    int status;

    if (strcmp(action, "add") == 0 && c->plan != NULL) {
        status = options_only("plan", "DATASET", count - 1, "--part, --unknown-keys, "
                                        "--duplicate-keys, --jobs, --memory and --s3");

        return status >= 0 ? status : cmd_column_add_part(c);
    }
    if (c->plan != NULL)
        return misuse("column: --plan belongs to add");
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(action, actions[i].name) != 0 || count != actions[i].arguments)
            continue;
        status = options_allow(action, actions[i].allowed);
        return status >= 0 ? status : actions[i].run(c, arguments);
    }
    return misuse("column: expected add DATASET, plan DATASET, list DATASET or drop DATASET NAME");
}

static int cmd_column(const struct command *command, int argc, char **argv)
{
    static const struct choice repeated_choices[] = {
        { "fail", SHEAF_FAIL }, { "drop", SHEAF_SKIP }, { NULL, 0 },
    };
    struct column c = { .name = NULL };
    struct sheaf_column_options *o = &c.options;
    int status;
    size_t count;

    sheaf_column_options_init(o, sizeof(*o));
    {
        const struct option table[] = {
            { "name", OPTION_TEXT, "NAME", .text = &c.name, .standard = "",
              .meaning = "add, plan: name of the column" },
            { "from", OPTION_TEXT, "SRC", .text = &c.from, .standard = "",
              .meaning = "add, plan: values, as JSON Lines or a CSV file with a key in each line, "
                         "or a directory of files KEY.EXT" },
            { "output", OPTION_TEXT, "PLAN", .letter = 'o', .text = &c.output, .standard = "",
              .meaning = "plan: destination of the plan: a path, or an s3:// URL" },
            { "plan", OPTION_TEXT, "PLAN", .text = &c.plan, .standard = "",
              .meaning = "add: instead of DATASET: write shards of a stored plan" },
            { "part", OPTION_TEXT, "I/N", .text = &c.part, .standard = "all of them",
              .needs = "--plan", .meaning = PART_MEANING("add --plan: the shards") },
            { "only-missing", OPTION_FLAG, .flag = &o->only_missing,
              .meaning = "add, plan: add values for samples that were appended to the data set "
                         "after the column was written" },
            { "unknown-keys", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN(o->on_unknown),
              .choices = on_error_choices,
              .meaning = "add: at a key that the data set does not have: fail, or skip its value "
                         "with a line on standard error" },
            { "duplicate-keys", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN(o->on_repeated),
              .choices = repeated_choices,
              .meaning = "add: at a second value for a field of a sample: fail, or leave it out "
                         "with a line on standard error" },
            { "resume", OPTION_FLAG, .flag = &o->resume,
              .meaning = "add: resume an interrupted run; plan: plan a column again whose parts "
                         "are not finished" },
            { "json", OPTION_FLAG, .flag = &c.json, .meaning = "list: print JSON objects" },
            S3_ROW(&c.s3),
            { "memory", OPTION_SIZE, "SIZE", .number = &o->memory_bytes,
              .least = (uint64_t)64 << 20, .meaning = "add: memory limit for buffers" },
            JOBS_ROW(o, "add: threads"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    return cmd_column_act(&c, argv, count);
}

const struct command column_command = {
    .name = "column",
    .arguments = "add|plan|list|drop [DATASET [NAME]] [OPTION]...",
    .least = 1,
    .most = 3,
    .summary = "add, list and drop columns of a data set",
    .text = "A column adds fields to the samples of a data set, without reading or writing its "
            "shards. It is stored in DATASET/columns/NAME. sheaf cat --columns NAME reads it with "
            "the samples: its field EXT is the field NAME.EXT of a sample.\n\nadd takes values in "
            "any order. Each line of SRC has a member or column key, the key of a sample. Any "
            "other member is a field with the member's name; a member value is the field txt, or "
            "json if it is an object or an array. Samples without a value are counted as missing. "
            "A column never changes; new values get a new name.\n\nplan stores a plan for adding "
            "a column in parts, on any number of machines: add --plan PLAN --part I/N writes the "
            "shards of a part, and sheaf commit PLAN publishes the column when all parts are "
            "there. Without SRC, a Python program writes the parts.\n\nlist prints, for each "
            "column, its name, the numbers of samples with and without a value, its bytes and its "
            "fields. drop removes a column, or the leftovers of an interrupted run.",
    .example = "  sheaf column add s3://bucket/train/ --name cap-v2 --from captions.jsonl\n"
               "  sheaf cat s3://bucket/train/ --columns cap-v2 --list | head\n"
               "  sheaf column drop s3://bucket/train/ cap-v1\n"
               "  sheaf column plan s3://bucket/train/ --name cap-v3 --from c.jsonl -o cap.plan\n"
               "  sheaf column add --plan cap.plan --part 0/8\n",
    .run = cmd_column,
};
