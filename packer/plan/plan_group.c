/* SPDX-License-Identifier: MIT
 *
 * Groups files into samples: all files with the same key form one sample. A sample is packed
 * completely or not at all, so one bad file excludes all files with its key. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/jpeg.h"
#include "image/image.h"
#include "packer/plan/plan.h"

static const char *suffix_of(const struct catalog_file *f)
{
    return f->path + f->key_size + 1;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* Returns whether two names are equal. Ignores the case of ASCII letters, whatever the locale
 * is. */
static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

struct key_group {
    const struct catalog_file *files;
    uint32_t count;
};

/* A group has the files with one key. Finds two files of the group that would become the same
 * field. Returns one of them, and sets *other to the second one. Returns NULL if all files would
 * become different fields. */
static const struct catalog_file *find_double(const struct key_group *g,
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

/* Records every file of a group (the files with one key) as a problem, except files that were
 * recorded before. */
static int plan_group_refuse(const struct key_group *g, struct problems *problems, int why,
                             const char *reason, const char *path, const char *other,
                             struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < g->count && code == SHEAF_OK; i++)
        if (!g->files[i].bad)
            code = problems_add(problems, err, catalog_shown(&g->files[i]), why, "%s: %s%s%s",
                                reason, path, other[0] == '\0' ? "" : " and ", other);
    return code;
}

/* A group has the files with one key. Records these files as problems, because two of them, `a` and
 * `b`, would become the same field. The report names `a` and `b` in byte order of their paths, so
 * that it does not depend on the order of the scan. */
static int refuse_double(const struct key_group *g, struct problems *problems, const char *a,
                         const char *b, struct sheaf_error *err)
{
    const bool ordered = strcmp(a, b) <= 0;

    return plan_group_refuse(g, problems, SHEAF_ERR_EXISTS, "two inputs with one key", ordered ? a
                             : b, ordered ? b : a, err);
}

/* Sets *good to whether all files with one key together are small enough for a record of the
 * container. */
static int plan_group_check_size(const struct key_group *g, const struct format_ops *format,
                                 struct problems *problems, bool *good, struct sheaf_error *err)
{
    struct sheaf_error found;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < g->count; i++)
        bytes = bytes > UINT64_MAX - g->files[i].bytes ? UINT64_MAX : bytes + g->files[i].bytes;
    *good = format == NULL || format_check_content(format, bytes, &found) == SHEAF_OK;
    if (*good)
        return SHEAF_OK;
    return plan_group_refuse(g, problems, SHEAF_ERR_LIMIT, found.message, catalog_shown(g->files),
                             "", err);
}

int plan_check_group(const struct catalog_file *files, uint32_t count,
                     const struct format_ops *format, struct problems *problems, bool *good,
                     struct sheaf_error *err)
{
    const struct key_group group = { files, count }, *g = &group;
    const struct catalog_file *file, *other = NULL, *labelled = NULL;
    bool has_cls = false;

    int code;

    *good = false;
    if (g->count > FIELD_LIMIT)
        return plan_group_refuse(g, problems, SHEAF_ERR_LIMIT,
                                 "more files have its key than a sample may have fields",
                                 catalog_shown(g->files), catalog_shown(&g->files[g->count - 1]),
                                 err);
    file = find_double(g, &other);
    if (file != NULL)
        return refuse_double(g, problems, catalog_shown(other), catalog_shown(file), err);
    for (uint32_t i = 0; i < g->count; i++) {
        file = &g->files[i];
        if (file->bad)
            return plan_group_refuse(g, problems, SHEAF_ERR_CORRUPT,
                                     LEFT_OUT, catalog_shown(file), "", err);
        has_cls |= same_name(suffix_of(file), "cls");
        if (file->label == LABEL_NONE)
            continue;
        if (labelled != NULL && labelled->label != file->label)
            return plan_group_refuse(g, problems, SHEAF_ERR_CORRUPT,
                                     "files of one sample with different labels",
                                     catalog_shown(labelled), catalog_shown(file), err);
        labelled = file;
    }
    code = plan_group_check_size(g, format, problems, good, err);
    if (code != SHEAF_OK || !*good)
        return code;
    return problems_count_label(problems, labelled != NULL || has_cls, files->path,
                                files->key_size, err);
}

static bool is_empty_jpeg(const struct catalog_file *f)
{
    return f->bytes == 0 && image_kind_named(suffix_of(f)) == IMAGE_JPEG;
}

int plan_check_empty(const struct catalog_file *files, uint32_t count, struct problems *problems,
                     bool *good, struct sheaf_error *err)
{
    struct jpeg_info info;
    uint32_t empty = 0;
    int code = SHEAF_OK;

    while (empty < count && !is_empty_jpeg(&files[empty]))
        empty++;
    *good = empty == count;
    for (uint32_t i = 0; i < count && code == SHEAF_OK && !*good; i++)
        if (is_empty_jpeg(&files[i]))
            code = problems_add(problems, err, catalog_shown(&files[i]), SHEAF_ERR_CORRUPT, "%s",
                                jpeg_check("", 0, &info));
        else
            code = problems_add(problems, err, catalog_shown(&files[i]), SHEAF_ERR_CORRUPT,
                                LEFT_OUT ": %.900s", catalog_shown(&files[empty]));
    return code;
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
}
