/* SPDX-License-Identifier: MIT
 *
 * Files to samples: those with one key are one sample.  A sample is packed whole or not at all,
 * so one bad file takes the others of its key with it. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "packer/plan/plan.h"

static int compare_keys(const struct catalog_file *a, const struct catalog_file *b)
{
    const int order = memcmp(a->path, b->path, MIN(a->key_size, b->key_size));

    return order != 0 ? order : (int)a->key_size - (int)b->key_size;
}

static const char *suffix_of(const struct catalog_file *f)
{
    return f->path + f->key_size + 1;
}

static int compare_files(const void *a, const void *b)
{
    const struct catalog_file *x = a, *y = b;
    const int order = compare_keys(x, y);

    return order != 0 ? order : strcmp(suffix_of(x), suffix_of(y));
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* Equal but for the case of ASCII letters, whatever the locale. */
static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

struct group {
    const struct catalog_file *files;
    uint32_t count;
};

/* Two files that would be one field; NULL if there are none. */
static const struct catalog_file *find_double(const struct group *g,
                                              const struct catalog_file **other)
{
    for (uint32_t i = 0; i < g->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (same_name(suffix_of(&g->files[i]), suffix_of(&g->files[j]))) {
                *other = &g->files[j];
                return &g->files[i];
            }
    return NULL;
}

/* Notes every file of a group that was not noted before. */
static int refuse(const struct group *g, struct problems *problems, int why, const char *reason,
                  const char *path, const char *other, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < g->count && code == SHEAF_OK; i++)
        if (!g->files[i].bad)
            code = problems_add(problems, err, g->files[i].path, why, "%s: %s%s%s", reason, path,
                                other[0] == '\0' ? "" : " and ", other);
    return code;
}

int plan_check_group(const struct catalog_file *files, uint32_t count, struct problems *problems,
                     bool *good, struct sheaf_error *err)
{
    const struct group group = { files, count }, *g = &group;
    const struct catalog_file *file, *other = NULL, *labelled = NULL;

    *good = false;
    if (g->count > FIELD_LIMIT)
        return refuse(g, problems, SHEAF_ERR_LIMIT,
                      "more files have its key than a sample may have fields",
                      g->files[0].path, g->files[g->count - 1].path, err);
    file = find_double(g, &other);
    if (file != NULL)
        return refuse(g, problems, SHEAF_ERR_EXISTS, "two inputs with one key", other->path,
                      file->path, err);
    for (uint32_t i = 0; i < g->count; i++) {
        file = &g->files[i];
        if (file->bad)
            return refuse(g, problems, SHEAF_ERR_CORRUPT,
                          LEFT_OUT, file->path, "", err);
        if (file->label == LABEL_NONE)
            continue;
        if (labelled != NULL && labelled->label != file->label)
            return refuse(g, problems, SHEAF_ERR_CORRUPT,
                          "files of one sample with different labels", labelled->path,
                          file->path, err);
        labelled = file;
    }
    *good = true;
    return SHEAF_OK;
}

void plan_make_sample(const struct catalog_file *files, uint32_t count, struct plan_sample *s)
{
    *s = (struct plan_sample){ .file_count = count };
    for (uint32_t i = 0; i < count; i++) {
        s->payload_bytes += files[i].bytes;
        if (files[i].label != LABEL_NONE)
            s->label = files[i].label;
        if (same_name(suffix_of(&files[i]), "cls"))
            s->has_cls = true;
    }
    if (s->has_cls)
        s->label = LABEL_NONE;
}

static struct group next_group(const struct plan *plan, size_t at)
{
    struct group g = { &plan->files[at], 1 };

    while (at + g.count < plan->file_count &&
           compare_keys(g.files, &plan->files[at + g.count]) == 0)
        g.count++;
    return g;
}

int plan_group(struct plan *plan, struct problems *problems, struct sheaf_error *err)
{
    const size_t most = MAX(plan->file_count, (size_t)1);

    /* Pages of it that no sample needs are never touched. */
    plan->samples = calloc(most, sizeof(plan->samples[0]));
    if (plan->samples == NULL)
        return err_memory(err, most * sizeof(plan->samples[0]));
    if (plan->file_count > 1)
        qsort(plan->files, plan->file_count, sizeof(plan->files[0]), compare_files);
    for (size_t at = 0; at < plan->file_count;) {
        const struct group g = next_group(plan, at);
        struct plan_sample *s = &plan->samples[plan->sample_count];
        bool good;
        int code = plan_check_group(g.files, g.count, problems, &good, err);

        if (code != SHEAF_OK)
            return code;
        if (good) {
            plan_make_sample(g.files, g.count, s);
            s->file = (uint32_t)at;
        }
        at += g.count;
        if (!good)
            continue;
        if (s->payload_bytes > PAYLOAD_LIMIT - plan->payload_bytes)
            return err_set(err, SHEAF_ERR_LIMIT, "the files have more than 2^62 bytes");
        plan->payload_bytes += s->payload_bytes;
        plan->sample_count++;
    }
    return SHEAF_OK;
}
