/* SPDX-License-Identifier: MIT
 *
 * The catalog, problems and plan of a test; see common_plan.h. */
#include "tests/common_plan.h"

#include <string.h>

#include "packer/plan/plan_batch.h"
#include "packer/plan/plan_record.h"
#include "packer/planner.h"

struct catalog catalog;
struct problems problems;
struct plan plan;

static struct watch watch;
static struct planner planner;      /* the plan points to the labels in it */
static struct plan_batch batch;     /* the plan points to the files in it */

void plan_start_again(void)
{
    plan_free(&plan);
    plan_batch_free(&batch);
    planner_close(&planner);
    catalog_free(&catalog);
    problems_free(&problems);
    problems = (struct problems){ .on_error = SHEAF_SKIP };
}

/* Translates a label of the catalog into a label of the planner. */
static int take_label(uint32_t label, uint32_t *taken, struct sheaf_error *err)
{
    const struct catalog_label *l = &catalog.labels[label];
    struct catalog *to = &planner.sort.catalog;

    *taken = LABEL_NONE;
    if (label == LABEL_NONE)
        return SHEAF_OK;
    return l->class_name != NULL
               ? catalog_class(to, l->class_name, strlen(l->class_name), NULL, taken, err)
               : catalog_numbers(to, l->values, l->value_count, taken, err);
}

static int scan(struct sheaf_error *err)
{
    struct catalog *to = &planner.sort.catalog;
    int code = SHEAF_OK;

    for (size_t i = 0; i < catalog.file_count && code == SHEAF_OK; i++) {
        const struct catalog_file *f = &catalog.files[i];
        const struct catalog_stat stat = {
            .bytes = f->bytes, .stamp = f->origin == CATALOG_OBJECT ? f->object->stamp : 0,
            .mtime_ns = f->origin == CATALOG_BELOW ? f->mtime_ns : 0,
            .url = f->origin == CATALOG_OBJECT ? f->object->url : NULL,
            .text = f->origin == CATALOG_TEXT ? f->text : NULL,
        };
        struct catalog_found found = { f->path, f->key_size, &stat, LABEL_NONE, f->bad };

        code = take_label(f->label, &found.label, err);
        if (code == SHEAF_OK)
            code = to->sink(to->sink_context, &found, err);
    }
    planner.files = catalog.file_count;
    return code;
}

/* Loads all samples of the plan at once, which the packer never does. */
static int load(struct sheaf_error *err)
{
    const struct plan_rows rows = planner_rows(&planner);
    const int code = plan_rows_load(&rows, 0, plan.shard_count, &batch, err);

    plan.samples = batch.plan.samples;
    plan.files = batch.plan.files;
    plan.file_count = batch.plan.file_count;
    batch.plan.samples = NULL;
    return code;
}

static int make(struct sheaf_error *err)
{
    size_t bad = problems.count;
    int code;

    for (size_t i = 0; i < catalog.file_count; i++)
        bad -= catalog.files[i].bad;
    planner.files += bad;
    code = planner_plan(&planner, err);
    if (code == SHEAF_ERR_NOT_FOUND)
        return SHEAF_OK;
    return code == SHEAF_OK ? load(err) : code;
}

int plan_catalog(const struct sheaf_pack_options *options, struct sheaf_error *err)
{
    int code;

    planner_close(&planner);
    code = planner_open(&planner, options, NULL, &problems, &watch, &plan, NULL, err);
    if (code == SHEAF_OK)
        code = scan(err);
    return code == SHEAF_OK ? make(err) : code;
}

int plan_add_samples(struct plan_sections *sections, struct sheaf_error *err)
{
    struct buf record = BUF_INIT(PLAN_BLOCK_LIMIT);
    int code = SHEAF_OK;

    for (size_t i = 0; i < plan.shard_count && code == SHEAF_OK; i++) {
        const struct plan_shard *shard = &plan.shards[i];

        for (uint64_t k = 0; k < shard->sample_count && code == SHEAF_OK; k++) {
            const struct plan_sample *s = &plan.samples[shard->sample + k];

            record.size = 0;
            code = plan_record_write(s, &plan.files[s->file], &record, err);
            if (code == SHEAF_OK)
                code = plan_sections_add(sections, record.data, record.size, s->file_count, err);
        }
        if (code == SHEAF_OK)
            code = plan_sections_end_shard(sections, err);
    }
    buf_free(&record);
    return code;
}

bool has_problem(const char *path, const char *words)
{
    for (size_t i = 0; i < problems.count; i++)
        if (strcmp(problems.items[i].path, path) == 0 &&
            strstr(problems.items[i].reason, words) != NULL)
            return true;
    return false;
}
