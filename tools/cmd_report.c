/* SPDX-License-Identifier: MIT
 *
 * sheaf report: writes an HTML page that describes a data set. The page is first made in memory,
 * and then written as a whole. Its size does not depend on the size of the data set. */
#include <stdlib.h>
#include <string.h>

#include "tools/details.h"
#include "tools/order.h"
#include "tools/progress.h"
#include "tools/replace.h"
#include "tools/report/report.h"
#include "tools/signals.h"

#define PROBLEMS_MOST (sizeof(((struct report_check *)NULL)->problems) /                        \
                       sizeof(((struct report_check *)NULL)->problems[0]))

static void cmd_report_note_problem(void *context, const char *where,
                                    const struct sheaf_error *error)
{
    struct report_check *check = context;

    (void)where;
    if (check->problem_count < PROBLEMS_MOST)
        snprintf(check->problems[check->problem_count++], sizeof(check->problems[0]), "%.500s",
                 error->message);
}

/* Verifies the data set and stores the result for the report. An error in the data set does not end
 * the command, because the report shows it. An interrupt ends the command. */
static int cmd_report_check(const struct sheaf_dataset *dataset, struct report_check *c)
{
    struct sheaf_verify_options options;
    struct sheaf_error error;
    int code;

    sheaf_verify_options_init(&options, sizeof(options));
    options.progress = progress_show;
    options.report = cmd_report_note_problem;
    options.context = c;
    options.interrupt = &signals_caught;
    signals_catch();
    code = sheaf_verify(dataset, &options, &c->result, &error);
    progress_clear();
    c->was_made = code == SHEAF_OK;
    if (code == SHEAF_ERR_INTERRUPTED)
        return fail(&error);
    if (code != SHEAF_OK)
        snprintf(c->failure, sizeof(c->failure), "%.500s", error.message);
    return STATUS_OK;
}

/* Returns the directory's name, or the whole argument. */
static char *cmd_report_name_of(const char *source)
{
    size_t size = strlen(source), from;

    while (size > 1 && source[size - 1] == '/')
        size--;
    for (from = size; from > 0 && source[from - 1] != '/';)
        from--;
    return from == size ? strdup(source) : strndup(source + from, size - from);
}

static void write_page(const struct report *r)
{
    report_head(r);
    report_pictures(r);
    report_classes(r);
    report_fields(r);
    report_columns(r);
    report_image_sizes(r);
    report_crops(r);
    report_shards(r);
    report_mixing(r);
    report_checked(r);
    report_details(r);
    report_foot(r);
}

static int put_page(const char *path, const char *text, size_t size)
{
    struct replacement file;
    int status = replace_begin(&file, path, false);

    if (status != STATUS_OK)
        return status;
    (void)fwrite(text, 1, size, file.file);     /* replace_end() sees whether it failed */
    status = replace_end(&file);
    if (status == STATUS_OK && !is_quiet())
        printf("report in %s\n", shown(path));
    return status;
}

static int cmd_report_make(struct report *r, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    int status = STATUS_OK;

    r->class_samples = calloc(r->info.class_count + 1, sizeof(r->class_samples[0]));
    if (r->class_samples != NULL &&
        sheaf_dataset_class_samples(r->dataset, r->class_samples, NULL) != SHEAF_OK) {
        free(r->class_samples);
        r->class_samples = NULL;
    }
    r->f = open_memstream(&text, &size);
    if (r->f != NULL)
        write_page(r);
    if (r->f == NULL || ferror(r->f) != 0 || fclose(r->f) != 0) {
        complain("out of memory");
        status = STATUS_FAILURE;
    }
    if (status == STATUS_OK)
        status = put_page(path, text, size);
    free(r->class_samples);
    free(text);
    return status;
}

static int cmd_report_do(char **sources, size_t count, const struct sheaf_reader_options *options,
                         bool verify, const char *path)
{
    static struct report_samples samples;
    static struct report_check checked;
    struct report r = { .options = options, .samples = &samples, .check = &checked };
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    char *name;
    int status = STATUS_OK;

    if (sheaf_dataset_open((const char *const *)sources, count, &dataset, &error) != SHEAF_OK)
        return refuse(&error);
    name = cmd_report_name_of(sources[0]);
    r.dataset = dataset;
    r.name = name == NULL ? sources[0] : name;
    sheaf_dataset_get_info(dataset, &r.info, sizeof(r.info));
    if (r.info.manifest_json != NULL)
        r.manifest = json_loads(r.info.manifest_json, 0, NULL);
    if (verify)
        status = cmd_report_check(dataset, &checked);
    if (status == STATUS_OK) {
        report_read_samples(dataset, &samples);
        status = cmd_report_make(&r, path);
    }
    report_free_samples(&samples);
    json_decref(r.manifest);
    sheaf_dataset_free(dataset);
    free(name);
    return status;
}

static int cmd_report(const struct command *command, int argc, char **argv)
{
    struct sheaf_reader_options options;
    struct order_options order;
    const char *path = NULL;
    int verify = 0, status;
    size_t count;

    sheaf_reader_options_init(&options, sizeof(options));
    order_options_init(&order);
    {
        const struct option table[] = {
            { "output", OPTION_TEXT, "FILE", .letter = 'o', .text = &path,
              .meaning = "the page, which is replaced as a whole (required)" },
            { "verify", OPTION_FLAG, .flag = &verify,
              .meaning = "read and check every byte first, as sheaf verify does" },
            EPOCH_ROWS(&order, &options),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (path == NULL)
        return misuse("report: --output is required");
    status = replace_check(path, "a report of sheaf", "name=generator content=\"sheaf ");
    return status >= 0 ? status : cmd_report_do(argv, count, &options, verify, path);
}

const struct command report_command = {
    .name = "report",
    .arguments = "DATASET... -o FILE [OPTION]...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "write a page that shows what a data set is",
    .text = "Writes one HTML file that needs nothing else: what DATASET is, 48 samples drawn "
            "evenly over its classes, how many samples classes and fields have, how large files "
            "and images are, random crops of eight images, how its shards lie, how well an epoch "
            "in the given order is mixed, and what was checked. Some hundred samples are read for "
            "it; with --verify all of them.\n\nThe page is readable in light and dark, and can be "
            "printed.",
    .example = "  sheaf report s3://bucket/train/ -o report.html\n",
    .run = cmd_report,
};
