/* SPDX-License-Identifier: MIT
 *
 * Patterns that stand for several shards, where no shell expands them: ranges of numbers in braces,
 * "a-{000..123}.tar", which need no listing; and wildcards, "train-*.tar", in the last part of a
 * path or URL, which list one directory. */
#include "reader/dataset/shard_pattern.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/glob.h"
#include "formats/manifest.h"
#include "reader/dataset/dataset.h"
#include "store/store.h"

/* ---- Ranges: the width is that of the first number ------------------------------------------ */

/* Parses "{lo..hi}" at text; returns its length, 0 if there is no such range. */
static size_t parse_range(const char *text, uint64_t *low, uint64_t *high, int *width)
{
    int length = 0;

    if (sscanf(text, "{%20" SCNu64 "%n", low, width) != 1 || !isdigit((unsigned char)text[1]))
        return 0;
    if (sscanf(text + *width, "..%20" SCNu64 "}%n", high, &length) != 1 || length == 0)
        return 0;
    if (!isdigit((unsigned char)text[*width + 2]))
        return 0;
    length += *width;
    *width -= 1;
    return (size_t)length;
}

/* Finds the first range of `text`: where it is, or NULL, and what parse_range says. */
static const char *find_range(const char *text, size_t *length, uint64_t *low, uint64_t *high,
                              int *width)
{
    for (const char *p = strchr(text, '{'); p != NULL; p = strchr(p + 1, '{')) {
        *length = parse_range(p, low, high, width);
        if (*length != 0)
            return p;
    }
    return NULL;
}

bool pattern_has_range(const char *text)
{
    uint64_t low, high;
    size_t length;
    int width;

    return find_range(text, &length, &low, &high, &width) != NULL;
}

int pattern_expand_ranges(const char *text, pattern_fn *each, void *context,
                          struct sheaf_error *err)
{
    uint64_t low, high;
    size_t length;
    int width, code = SHEAF_OK;
    const char *range = find_range(text, &length, &low, &high, &width);

    if (range == NULL)
        return each(context, strdup(text), err);
    if (high < low || high - low >= SHARD_LIMIT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: from %" PRIu64 " to %" PRIu64 " is not a "
                       "range of 1 to %u shards", text, low, high, SHARD_LIMIT);
    for (uint64_t i = low; i <= high && code == SHEAF_OK; i++) {
        char *one = NULL;

        if (asprintf(&one, "%.*s%0*" PRIu64 "%s", (int)(range - text), text, width, i,
                     range + length) < 0)
            return err_memory(err, strlen(text));
        code = pattern_expand_ranges(one, each, context, err);      /* the ranges behind it */
        free(one);
    }
    return code;
}

/* ---- Wildcards ------------------------------------------------------------------------------ */

struct match {
    const char *directory, *pattern;
    pattern_fn *each;
    void *context;
    size_t count;
    struct sheaf_error *err;
};

static const char *last_part(const char *text)
{
    const char *slash = strrchr(text, '/');

    return slash == NULL ? text : slash + 1;
}

bool pattern_has_wildcard(const char *text)
{
    return strpbrk(last_part(text), "*?[") != NULL;
}

static int match_entry(void *context, const struct store_entry *entry)
{
    struct match *m = context;

    if (foreign_is_side_file(entry->name) || (entry->name[0] == '.' && m->pattern[0] != '.')
        || !glob_match(m->pattern, strlen(m->pattern), entry->name, strlen(entry->name)))
        return SHEAF_OK;
    m->count++;
    return m->each(m->context, store_join(m->directory, entry->name), m->err);
}

int pattern_expand_wildcards(const char *text, pattern_fn *each, void *context,
                             struct sheaf_error *err)
{
    const char *pattern = last_part(text);
    const int size = (int)(pattern - text);
    struct match m = { .pattern = pattern, .each = each, .context = context, .err = err };
    const char *const problem = glob_problem(pattern, strlen(pattern));
    char *directory = NULL;
    int code;

    if (problem != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: %s", text, problem);
    if (asprintf(&directory, "%.*s", size, text) < 0)
        return err_memory(err, strlen(text));
    m.directory = directory;
    code = store_list(size == 0 ? "." : directory, match_entry, &m, err);
    free(directory);
    if (code == SHEAF_OK && m.count == 0)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no shard matches", text);
    return code;
}
