/* SPDX-License-Identifier: MIT
 *
 * Expands a pattern to the names of several shards, for callers that do not use a shell. Braces
 * contain a range, as in "a-{000..123}.tar", or texts, as in "{train,val}.tar". They are expanded
 * without listing a directory. The last component of a path or URL may contain wildcards, as in
 * "train-*.tar". They are expanded by listing the directory, without files that are not shards. */
#include "reader/dataset/shard_pattern.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/glob.h"
#include "formats/manifest.h"
#include "formats/manifest_growth.h"
#include "store/store.h"

/* ---- Braces ---------------------------------------------------------------------------------- */

/* Braces that stand for several texts. */
struct brace {
    const char *at;             /* position of the opening brace */
    size_t length;              /* length, including both braces */
    /* true if the braces contain a range, as in "{0..9}"; false if they contain texts, as in
     * "{a,b}" */
    bool is_range;
    uint64_t low, high, step;
    /* If the bounds of the range are numbers: the number of digits of the first bound, to which all
     * numbers are padded with zeros. 0 for a range of letters. */
    int width;
};

/* Returns the length of the brace expression that begins at `text`, or 0 if its closing brace is
 * missing. Sets *has_comma to true if the expression has a comma outside of inner braces. */
static size_t brace_length(const char *text, bool *has_comma)
{
    size_t depth = 0;

    *has_comma = false;
    for (const char *p = text; *p != '\0'; p++) {
        depth += *p == '{';
        *has_comma |= *p == ',' && depth == 1;
        if (*p == '}' && --depth == 0)
            return (size_t)(p - text) + 1;
    }
    return 0;
}

/* Reads a number of at most 20 digits from the beginning of `text`. Returns the number of digits,
 * or 0 if `text` does not begin with a digit. */
static int shard_pattern_take_digits(const char *text, uint64_t *number)
{
    int size = 0;

    if (!isdigit((unsigned char)text[0]) || sscanf(text, "%20" SCNu64 "%n", number, &size) != 1)
        return 0;
    return size;
}

/* Reads a bound of a range from the beginning of `text`: a letter if `is_letter` is set, otherwise
 * a number. Returns the number of characters, or 0 if `text` does not begin with a bound. */
static int take_end(const char *text, bool is_letter, uint64_t *end)
{
    if (!is_letter)
        return shard_pattern_take_digits(text, end);
    *end = (uint8_t)text[0];
    return isalpha((unsigned char)text[0]) ? 1 : 0;
}

/* Reads the range "{lo..hi}" or "{lo..hi..step}" that begins at b->at. Returns false if the text
 * there is not a range. */
static bool parse_range(struct brace *b)
{
    const bool is_letter = isalpha((unsigned char)b->at[1]);
    const char *p = b->at + 1;
    int size = take_end(p, is_letter, &b->low);

    b->width = is_letter ? 0 : size;
    b->step = 1;
    p += size;
    if (size == 0 || strncmp(p, "..", 2) != 0)
        return false;
    size = take_end(p + 2, is_letter, &b->high);
    p += 2 + size;
    if (size != 0 && strncmp(p, "..", 2) == 0) {
        size = shard_pattern_take_digits(p + 2, &b->step);
        p += 2 + size;
    }
    b->length = (size_t)(p - b->at) + 1;
    return size != 0 && *p == '}';
}

/* Finds the first braces that stand for several texts. */
static bool find_brace(const char *text, struct brace *b)
{
    for (const char *p = strchr(text, '{'); p != NULL; p = strchr(p + 1, '{')) {
        bool has_comma;

        *b = (struct brace){ .at = p };
        b->is_range = parse_range(b);
        if (b->is_range)
            return true;
        b->length = brace_length(p, &has_comma);
        if (b->length != 0 && has_comma)
            return true;
    }
    return false;
}

bool pattern_has_braces(const char *text)
{
    struct brace b;

    return find_brace(text, &b);
}

/* Replaces the brace expression `b` in `text` by one of its texts, `one`. Then expands the braces
 * after it. */
static int expand_one(const char *text, const struct brace *b, const char *one, size_t size,
                      pattern_fn *each, void *context, struct sheaf_error *err)
{
    char *whole = NULL;
    int code;

    if (asprintf(&whole, "%.*s%.*s%s", (int)(b->at - text), text, (int)size, one,
                 b->at + b->length) < 0)
        return err_memory(err, strlen(text));
    code = pattern_expand_braces(whole, each, context, err);
    free(whole);
    return code;
}

static int expand_range(const char *text, const struct brace *b, pattern_fn *each, void *context,
                        struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (b->high < b->low || b->step == 0 || (b->high - b->low) / b->step >= SHARD_LIMIT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: %.*s is not a range of 1 to %u shards", text,
                       (int)b->length, b->at, SHARD_LIMIT);
    for (uint64_t i = 0; i <= (b->high - b->low) / b->step && code == SHEAF_OK; i++) {
        const uint64_t value = b->low + i * b->step;
        char one[24];
        const int size = b->width == 0 ? snprintf(one, sizeof(one), "%c", (char)value)
                       : snprintf(one, sizeof(one), "%0*" PRIu64, b->width, value);

        code = expand_one(text, b, one, (size_t)size, each, context, err);
    }
    return code;
}

/* Expands a brace expression that contains texts separated by commas, such as "{train,val}". A text
 * may itself contain braces. */
static int expand_list(const char *text, const struct brace *b, pattern_fn *each, void *context,
                       struct sheaf_error *err)
{
    const char *const end = b->at + b->length - 1, *one = b->at + 1;
    size_t depth = 0;
    int code = SHEAF_OK;

    for (const char *p = one; p <= end && code == SHEAF_OK; p++) {
        depth += *p == '{';
        if (p == end || (*p == ',' && depth == 0)) {
            code = expand_one(text, b, one, (size_t)(p - one), each, context, err);
            one = p + 1;
        }
        depth -= *p == '}' && p != end;
    }
    return code;
}

int pattern_expand_braces(const char *text, pattern_fn *each, void *context,
                          struct sheaf_error *err)
{
    struct brace b;

    if (!find_brace(text, &b))
        return each(context, strdup(text), err);
    return b.is_range ? expand_range(text, &b, each, context, err)
                      : expand_list(text, &b, each, context, err);
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

bool shard_is_side_file(const char *name)
{
    static const char *const suffixes[] = {
        ".idx", ".lst", ".tfindex", ".index", ".json", ".jsonl", ".txt", ".tsv", ".csv", ".md",
        ".yaml", ".yml", ".sqlite", ".uuid", ".html", ".sha256", ".md5", ".toml", ".py", ".ipynb",
        ".sh", ".sbatch", ".c", ".h", ".log", ".out", ".err", ".pt", ".pth", ".ckpt",
    };
    static const char *const names[] = {
        "_SUCCESS", "README", "LICENSE", "Makefile", "MD5SUMS", "SHA256SUMS",
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot != NULL && i < COUNT_OF(suffixes); i++)
        if (strcasecmp(dot, suffixes[i]) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return manifest_part_is(name, KEYS_NAME);
}

static int match_entry(void *context, const struct store_entry *entry)
{
    struct match *m = context;

    if (shard_is_side_file(entry->name) || (entry->name[0] == '.' && m->pattern[0] != '.')
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
