/* SPDX-License-Identifier: MIT
 *
 * Collects files that cannot be packed, with the reasons. Their paths come from outside and may
 * contain any bytes. So they are stored in a form that fits on one line of text. */
#include "packer/source/problems.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/name.h"

/* Returns a printable form of a path, allocated from `arena`. Control characters and the backslash
 * become \xNN. If the path is not valid UTF-8, all bytes beyond ASCII become \xNN as well. */
static const char *printable(struct arena *arena, const char *text)
{
    const size_t size = strlen(text);
    const bool is_text = name_is_text(text, size);
    char *out, *at;

    if (is_text && strchr(text, '\\') == NULL)
        return arena_text(arena, text, size);
    out = at = malloc(4 * size + 1);
    if (out == NULL)
        return NULL;
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;

        if (byte < 0x20 || byte == 0x7f || byte == '\\' || (byte >= 0x80 && !is_text))
            at += snprintf(at, 5, "\\x%02x", byte);
        else
            *at++ = *c;
    }
    text = arena_text(arena, out, (size_t)(at - out));
    free(out);
    return text;
}

static int problems_grow(struct problems *p, struct sheaf_error *err)
{
    const size_t capacity = MAX(2 * p->capacity, (size_t)16);
    struct problem *grown = reallocarray(p->items, capacity, sizeof(*grown));

    if (grown == NULL)
        return err_memory(err, capacity * sizeof(*grown));
    p->items = grown;
    p->capacity = capacity;
    return SHEAF_OK;
}

static int problems_do_add(struct problems *p, const char *path, struct sheaf_error *found,
                           struct sheaf_error *err)
{
    const int failed = p->count < p->capacity ? SHEAF_OK : problems_grow(p, err);
    struct problem *item;

    if (failed != SHEAF_OK)
        return failed;
    item = &p->items[p->count];
    item->path = printable(&p->arena, path);
    item->reason = printable(&p->arena, found->message);
    item->code = found->code;
    item->because = found->reason;
    if (item->path == NULL || item->reason == NULL)
        return err_memory(err, strlen(path) + strlen(found->message));
    if (item->because == SHEAF_REASON_SOURCE_CHANGED && !p->has_changed) {
        p->has_changed = true;
        p->changed = p->count;
    }
    p->known += item->because == SHEAF_REASON_DATASET;
    p->count++;
    snprintf(found->message, sizeof(found->message), "%s", item->reason);
    if (p->report != NULL)
        p->report(p->context, item->path, found);
    return SHEAF_OK;
}

int problems_add(struct problems *p, struct sheaf_error *err, const char *path, int code,
                 const char *reason, ...)
{
    struct sheaf_error found = { .code = code };
    va_list args;

    va_start(args, reason);
    vsnprintf(found.message, sizeof(found.message), reason, args);
    va_end(args);
    return problems_do_add(p, path, &found, err);
}

int problems_add_found(struct problems *p, struct sheaf_error *err, const char *path,
                       const struct sheaf_error *found)
{
    struct sheaf_error copy = *found;

    return problems_do_add(p, path, &copy, err);
}

int problems_add_known(struct problems *p, struct sheaf_error *err, const char *path)
{
    struct sheaf_error found = {
        .code = SHEAF_ERR_EXISTS, .message = "the data set has a sample with this key already",
        .reason = SHEAF_REASON_DATASET,
    };

    return problems_do_add(p, path, &found, err);
}

void problems_note(const struct problems *p, enum sheaf_reason reason, const char *about,
                   const char *text, ...)
{
    struct sheaf_error note = { .code = SHEAF_OK, .reason = (int)reason };
    char shown[sizeof(note.message)];
    va_list args;

    if (p->note == NULL)
        return;
    va_start(args, text);
    vsnprintf(shown, sizeof(shown), text, args);
    va_end(args);
    sheaf_show(shown, note.message, sizeof(note.message));
    p->note(p->context, about, &note);
}

static int problems_compare(const void *a, const void *b)
{
    const struct problem *x = a, *y = b;
    const int order = strcmp(x->path, y->path);

    return order != 0 ? order : strcmp(x->reason, y->reason);
}

/* Returns the rank of a problem. The error message names the problem with the lowest rank. Rank 0
 * is a file that is itself bad, which tells the user most. Rank 1 is a file that was left out
 * because another file of its sample is bad. Rank 2 is a file whose key the data set already
 * has. */
static int problems_rank_of(const struct problem *p)
{
    return strncmp(p->reason, LEFT_OUT, strlen(LEFT_OUT)) == 0 ? 1 :
           p->because == SHEAF_REASON_DATASET ? 2 : 0;
}

static bool problems_is_before(const struct problem *a, const struct problem *b)
{
    const int a_rank = problems_rank_of(a), b_rank = problems_rank_of(b);

    return a_rank != b_rank ? a_rank < b_rank : problems_compare(a, b) < 0;
}

uint64_t problems_skipped(const struct problems *p)
{
    return p->count - p->known;
}

bool problems_have_known(const struct problems *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].because == SHEAF_REASON_DATASET)
            return true;
    return false;
}

/* Returns the problem that the error message names: the first one in the order of rank and path.
 * There must be at least one problem. */
static const struct problem *first_problem(const struct problems *p)
{
    const struct problem *first = p->items;

    for (size_t i = 1; i < p->count; i++)
        if (problems_is_before(&p->items[i], first))
            first = &p->items[i];
    return first;
}

int problems_check_packed(const struct problems *p, uint64_t samples, struct sheaf_error *err)
{
    const struct problem *first = p->count == 0 ? NULL : first_problem(p);

    if (samples != 0)
        return SHEAF_OK;
    if (first == NULL)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "no sample could be packed");
    return err_set(err, first->code, "no sample could be packed: %zu bad file%s, the first "
                   "%s: %s", p->count, p->count == 1 ? "" : "s", first->path, first->reason);
}

/* Parses the limit for skipped files: "12" is a number of files, "0.5%" is a share of the files.
 * Returns false if the text has neither form, or if the share is more than 100%. */
static bool parse_limit(const char *text, double *number, bool *is_share)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *number = strtod(text, &end);
    *is_share = strcmp(end, "%") == 0;
    return errno == 0 && (*is_share ? *number <= 100
                                    : *end == '\0' && strspn(text, "0123456789") == strlen(text));
}

int problems_check_limit(const char *text, struct sheaf_error *err)
{
    double number;
    bool is_share;

    if (text == NULL || parse_limit(text, &number, &is_share))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "the limit of files to skip is \"%.100s\", expected a "
                   "number such as 10, or a share such as 1%%", text);
}

void problems_limit(struct problems *p, uint64_t found)
{
    double number = 0;
    bool is_share = false;

    if (p->max_skipped == NULL || !parse_limit(p->max_skipped, &number, &is_share))
        return;
    p->most = (uint64_t)(is_share ? number / 100 * (double)found : number);
}

/* Returns the error of a run that may skip bad files, or SHEAF_OK if the run may continue. There is
 * an error in two cases: if more files are bad than may be skipped, or if files have changed during
 * the run and p->on_change is SHEAF_FAIL. */
static int verdict_of_skipped(const struct problems *p, struct sheaf_error *err)
{
    const struct problem *first;

    if (p->has_changed && p->on_change == SHEAF_FAIL) {
        first = &p->items[p->changed];
        return err_because(err, err_set(err, first->code, "%s: %s", first->path, first->reason),
                           SHEAF_REASON_SOURCE_CHANGED);
    }
    if (p->max_skipped == NULL || p->count - p->known <= p->most)
        return SHEAF_OK;
    first = first_problem(p);
    return err_because(err, err_set(err, first->code, "%zu files would be skipped, but only %llu "
                                    "may be; the first is %s: %s", p->count - p->known,
                                    (unsigned long long)p->most, first->path, first->reason),
                       SHEAF_REASON_TOO_MANY_SKIPPED);
}

int problems_verdict(struct problems *p, struct sheaf_error *err)
{
    const struct problem *first;
    enum sheaf_reason reason;

    if (p->count == 0)
        return SHEAF_OK;
    if (p->on_error != SHEAF_FAIL)
        return verdict_of_skipped(p, err);
    first = first_problem(p);
    reason = first->because == SHEAF_REASON_ODD_IMAGE ||
             first->because == SHEAF_REASON_SOURCE_CHANGED ? (enum sheaf_reason)first->because
                                                           : SHEAF_REASON_BAD_FILES;
    if (p->count == 1)
        return err_because(err, err_set(err, first->code, "%s: %s", first->path, first->reason),
                           reason);
    return err_because(err, err_set(err, first->code, "%s: %s (and %zu more bad file%s)",
                                    first->path, first->reason, p->count - 1,
                                    plural(p->count - 1)), reason);
}

int problems_conserve(const struct problems *p, uint64_t found, uint64_t packed,
                      struct sheaf_error *err)
{
    if (found == packed + p->count)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "found %llu, but packed %llu and skipped %zu: the sum "
                   "is wrong by %lld", (unsigned long long)found, (unsigned long long)packed,
                   p->count, (long long)(packed + p->count - found));
}

int problems_after(struct problems *p, int code, struct sheaf_error *err)
{
    struct sheaf_error bad;

    if (problems_verdict(p, &bad) == SHEAF_OK)
        return code;
    *err = bad;
    return bad.code;
}

int problems_write(const struct problems *p, size_t first, struct buf *out,
                   struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = first; i < p->count && code == SHEAF_OK; i++)
        code = buf_printf(out, err, "%s\t%s\n", p->items[i].path, p->items[i].reason);
    return code;
}

int problems_read(struct problems *p, const char *text, size_t size, struct sheaf_error *err)
{
    const char *const all = text + size;

    while (text < all) {
        const char *end = memchr(text, '\n', (size_t)(all - text));
        const char *tab = end == NULL ? NULL : memchr(text, '\t', (size_t)(end - text));
        struct problem *item;
        int code = p->count < p->capacity ? SHEAF_OK : problems_grow(p, err);

        if (code != SHEAF_OK)
            return code;
        if (tab == NULL)
            return err_set(err, SHEAF_ERR_CORRUPT, "a skipped file's line without a tab");
        item = &p->items[p->count];
        item->path = arena_text(&p->arena, text, (size_t)(tab - text));
        item->reason = arena_text(&p->arena, tab + 1, (size_t)(end - tab - 1));
        item->code = SHEAF_ERR_CORRUPT;
        item->because = SHEAF_REASON_NONE;
        if (item->path == NULL || item->reason == NULL)
            return err_memory(err, (size_t)(end - text));
        p->count++;
        text = end + 1;
    }
    return SHEAF_OK;
}

void problems_sort(struct problems *p)
{
    if (p->count > 1)
        qsort(p->items, p->count, sizeof(p->items[0]), problems_compare);
}

int problems_replace(struct problems *p, size_t first, size_t count, const char *text,
                     size_t size, struct sheaf_error *err)
{
    const size_t before = p->count, behind = first + count;
    int code = problems_read(p, text, size, err);
    const size_t added = p->count - before;
    struct problem *lines = malloc((added + 1) * sizeof(lines[0]));

    if (code == SHEAF_OK && lines == NULL)
        code = err_memory(err, added * sizeof(lines[0]));
    if (code == SHEAF_OK && before + added != 0) {
        memcpy(lines, p->items + before, added * sizeof(lines[0]));
        memmove(p->items + first + added, p->items + behind, (before - behind) * sizeof(lines[0]));
        memcpy(p->items + first, lines, added * sizeof(lines[0]));
        p->count = before + added - count;
    }
    free(lines);
    return code;
}

int problems_count_label(struct problems *p, bool has_label, const char *key, size_t key_size,
                         struct sheaf_error *err)
{
    p->labelled += has_label;
    p->unlabelled += !has_label;
    if (has_label || (p->first_unlabelled != NULL &&
                      strncmp(p->first_unlabelled, key, key_size) <= 0))
        return SHEAF_OK;
    p->first_unlabelled = arena_text(&p->arena, key, key_size);
    return p->first_unlabelled != NULL ? SHEAF_OK : err_memory(err, key_size);
}

void problems_tell_labels(const struct problems *p, bool set_has_labels,
                          struct sheaf_pack_result *result)
{
    if ((p->labelled == 0 && !set_has_labels) || p->unlabelled == 0)
        return;
    result->unlabelled = p->unlabelled;
    snprintf(result->first_unlabelled, sizeof(result->first_unlabelled), "%s",
             p->first_unlabelled);
}

void cls_words_count(struct cls_words *words, const char *key)
{
    if (words->samples++ == 0)
        snprintf(words->first, sizeof(words->first), "%s", key);
}

void cls_words_add(struct cls_words *words, const struct cls_words *more)
{
    if (words->samples == 0)
        memcpy(words->first, more->first, sizeof(words->first));
    words->samples += more->samples;
}

void cls_words_say(const struct cls_words *words, const char *what, char *text, size_t size)
{
    snprintf(text, size, "%llu sample%s, such as %s, with a field cls that %s",
             (unsigned long long)words->samples, plural(words->samples), words->first, what);
}

static void tell_words(const struct problems *p, const struct cls_words *words, const char *what)
{
    char text[sizeof(words->first) + 200];

    if (words->samples == 0)
        return;
    cls_words_say(words, what, text, sizeof(text));
    problems_note(p, SHEAF_REASON_NONE, words->first, "%s", text);
}

void problems_tell_words(const struct problems *p)
{
    tell_words(p, &p->kept_labels, "is not numbers: the label is that of the directory or list");
    tell_words(p, &p->replaced, "is numbers: these are the label, and not the class of the "
               "directory or list");
    tell_words(p, &p->unread, CLS_UNREAD_TEXT);
}

void problems_free(struct problems *p)
{
    arena_free(&p->arena);
    free(p->items);
    p->items = NULL;
    p->count = p->capacity = 0;
}
