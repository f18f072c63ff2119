/* SPDX-License-Identifier: MIT
 *
 * Decides which paths are packed; see filter.h. To decide about a path, the directories that
 * contain it are examined first, from the root downwards. The result for a directory is stored,
 * because the next path is usually in the same directory. */
#include "packer/source/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

static int filter_parse(struct filter_rule *rule, const struct sheaf_filter *given,
                        struct sheaf_error *err)
{
    const char *problem = path_glob_parse(given->pattern, &rule->glob);

    rule->given = *given;
    rule->packs = (given->packs != 0) != rule->glob.inverted;
    return problem == NULL ? SHEAF_OK
                           : err_set(err, SHEAF_ERR_ARGUMENT, "invalid pattern \"%s\": %s",
                                     given->pattern, problem);
}

int filter_open(struct filter *f, const struct sheaf_filter *rules, size_t count,
                struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *f = (struct filter){ .directory.limit = SIZE_MAX / 2 };
    if (count == 0)
        return SHEAF_OK;
    f->rules = calloc(count, sizeof(f->rules[0]));
    if (f->rules == NULL)
        return err_memory(err, count * sizeof(f->rules[0]));
    for (; f->count < count && code == SHEAF_OK; f->count++)
        code = filter_parse(&f->rules[f->count], &rules[f->count], err);
    f->only = rules[0].packs != 0;
    return code;
}

void filter_close(struct filter *f)
{
    free(f->rules);
    buf_free(&f->directory);
    *f = (struct filter){ .count = 0 };
}

/* Returns the last rule that matches, or NULL. */
static struct filter_rule *filter_decide(struct filter *f, const char *path, bool is_directory)
{
    for (size_t i = f->count; i > 0; i--)
        if (path_glob_match(&f->rules[i - 1].glob, path, is_directory)) {
            f->rules[i - 1].matched = true;
            return &f->rules[i - 1];
        }
    return NULL;
}

/* Enters a directory in the current one. */
static void filter_enter(struct filter *f, const char *path)
{
    struct filter_rule *rule = filter_decide(f, path, true);

    if (rule == NULL)
        return;
    f->state = rule->packs ? FILTER_TAKE : FILTER_PRUNE;
    f->pruned = rule->packs ? NULL : rule;
}

/* Sets f->state to the decision about the directory of a path. Does nothing if f->state already has
 * this decision, because the previous path was in the same directory. A directory is left out if
 * any directory above it is left out. */
static int ask_directory(struct filter *f, const char *path, size_t size, struct sheaf_error *err)
{
    char *directory;
    int code;

    if (f->directory.size == size + 1 && memcmp(f->directory.data, path, size) == 0)
        return SHEAF_OK;
    f->directory.size = 0;
    code = buf_reserve(&f->directory, size + 1, err);
    if (code != SHEAF_OK)
        return code;
    buf_put(&f->directory, path, size);
    buf_put(&f->directory, "", 1);
    f->state = FILTER_LOOK;
    directory = (char *)f->directory.data;
    for (size_t at = 0; at < size && f->state != FILTER_PRUNE; at++) {
        at += strcspn(directory + at, "/");
        directory[at] = '\0';
        filter_enter(f, directory);
        if (at < size)
            directory[at] = '/';
    }
    return SHEAF_OK;
}

int filter_ask(struct filter *f, const char *path, bool is_directory, bool *out,
               struct sheaf_error *err)
{
    const char *slash = strrchr(path, '/');
    struct filter_rule *rule;
    int code;

    *out = false;
    if (f->count == 0)
        return SHEAF_OK;
    code = ask_directory(f, path, slash == NULL ? 0 : (size_t)(slash - path), err);
    if (code != SHEAF_OK)
        return code;
    rule = f->state == FILTER_PRUNE ? f->pruned : filter_decide(f, path, is_directory);
    if (rule != NULL) {
        *out = !rule->packs;
        rule->left_out += *out;
        rule->directories += *out && is_directory;
    } else {
        *out = f->only && f->state == FILTER_LOOK && !is_directory;
        f->unmatched += *out;
    }
    return SHEAF_OK;
}
