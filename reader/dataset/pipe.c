/* SPDX-License-Identifier: MIT
 *
 * Finds the pipe of an epoch; see pipe.h. No other pipe should be opened, because the process that
 * feeds a pipe begins to write when the pipe is opened.
 *
 * If the number of the epoch's pipe is unknown, there are two candidates: the pipe with the number
 * of the epoch, and the existing pipe with the lowest number. The first candidate is used as soon
 * as it exists. Until then, the second candidate is used if a process writes to it. A pipe to which
 * no process writes may be an old pipe that was already read. */
#include "reader/dataset/pipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/number.h"
#include "base/flag.h"
#include "base/notice.h"
#include "base/workers.h"

/* time in milliseconds between two checks whether a pipe exists */
#define POLL_MS 50u

/* ---- Which pipes there are ------------------------------------------------------------------ */

struct lowest {
    const char *prefix;
    const char *name;           /* last component of the prefix */
    bool found;
    uint64_t number;
};

/* Parses `text`, the number in the name of a pipe. For example, "train_7" is pipe 7 of the channel
 * "train". Returns false if `text` is not a valid number. So "train_1_0" does not belong to the
 * channel "train" (but to "train_1"), and "train_07" is not the name of a pipe. */
static bool pipe_parse_number(const char *text, uint64_t *number)
{
    return (text[0] != '0' || text[1] == '\0') && number_parse(text, UINT64_MAX, number);
}

static char *pipe_path(const char *prefix, uint64_t number)
{
    char *path = NULL;

    return asprintf(&path, "%s_%" PRIu64, prefix, number) < 0 ? NULL : path;
}

static bool is_pipe(const char *path)
{
    uint64_t bytes;

    return path != NULL && store_size(path, &bytes, NULL) == SHEAF_OK && bytes == UINT64_MAX;
}

static int pipe_look_at(void *context, const struct store_entry *entry)
{
    struct lowest *l = context;
    const size_t size = strlen(l->name);
    const char *name = entry->name;
    uint64_t number;
    char *path;

    if (strncmp(name, l->name, size) != 0 || name[size] != '_'
        || !pipe_parse_number(name + size + 1, &number) || (l->found && number > l->number))
        return SHEAF_OK;
    path = pipe_path(l->prefix, number);
    if (is_pipe(path)) {
        l->found = true;
        l->number = number;
    }
    free(path);
    return SHEAF_OK;
}

int pipe_lowest(const char *prefix, uint64_t *number, struct sheaf_error *err)
{
    const char *slash = strrchr(prefix, '/');
    struct lowest l = { .prefix = prefix, .name = slash == NULL ? prefix : slash + 1 };
    char *directory = slash == NULL ? strdup(".") : strndup(prefix, (size_t)(slash - prefix) + 1);
    int code;

    if (directory == NULL)
        return err_memory(err, strlen(prefix));
    code = store_list(directory, pipe_look_at, &l, err);
    free(directory);
    if (code != SHEAF_OK)
        return code;
    *number = l.number;
    return l.found ? SHEAF_OK : err_set(err, SHEAF_ERR_NOT_FOUND, "%s_0: no such pipe", prefix);
}

/* ---- Waiting for one ------------------------------------------------------------------------ */

struct pipe_search {
    const struct pipe_source *source;
    uint64_t wanted_number, other_number;
    bool may_be_other, has_told;
    /* `wanted` is the open pipe with the expected number. `other` is the open pipe with the lowest
     * number, which may be used instead. A pointer is NULL if its pipe was not opened. */
    struct store_object *wanted, *other;
};

/* Opens the pipe with this number if it exists. */
static int open_number(const struct pipe_search *s, uint64_t number, struct store_object **object,
                       struct sheaf_error *err)
{
    char *path = pipe_path(s->source->prefix, number);
    int code = SHEAF_OK;

    if (path == NULL)
        return err_memory(err, strlen(s->source->prefix));
    if (is_pipe(path))
        code = store_open(path, object, err);
    free(path);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static int pipe_look(struct pipe_search *s, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (s->wanted == NULL)
        code = open_number(s, s->wanted_number, &s->wanted, err);
    if (code != SHEAF_OK || (s->wanted == NULL && !s->may_be_other))
        return code;
    if (s->wanted != NULL) {
        store_close(s->other);
        s->other = NULL;
        return SHEAF_OK;
    }
    if (s->other == NULL && pipe_lowest(s->source->prefix, &s->other_number, NULL) == SHEAF_OK)
        code = open_number(s, s->other_number, &s->other, err);
    return code;
}

/* Waits a short time (POLL_MS milliseconds) for the pipe to appear, or for a process to write to
 * it. Returns SHEAF_END if neither has happened. */
static int wait_a_moment(const struct pipe_search *s, const volatile int *interrupt,
                         struct sheaf_error *err)
{
    struct store_object *object = s->wanted != NULL ? s->wanted : s->other;
    const struct timespec moment = { .tv_nsec = POLL_MS * 1000000L };

    if (flag_is_raised(interrupt))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted", s->source->prefix);
    if (object != NULL)
        return store_wait(object, POLL_MS, err);
    nanosleep(&moment, NULL);
    return SHEAF_END;
}

static int pipe_give_up(const struct pipe_search *s, struct sheaf_error *err)
{
    const unsigned long long seconds = s->source->wait_ns / 1000000000u;

    if (s->wanted != NULL)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no writer wrote to this pipe within %llu s",
                       s->wanted->url, seconds);
    if (s->other != NULL)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s_%" PRIu64 ": this pipe did not appear within "
                       "%llu s, and no writer wrote to %s, which exists", s->source->prefix,
                       s->wanted_number, seconds, s->other->url);
    return err_set(err, SHEAF_ERR_NOT_FOUND, "%s_%" PRIu64 ": this pipe did not appear within %llu "
                   "s", s->source->prefix, s->wanted_number, seconds);
}

/* Reports that the reader is waiting for a pipe. This is a notice and not an error, because the
 * program that writes to the pipe may just not have started. */
static void pipe_tell(struct pipe_search *s)
{
    const unsigned long long seconds = s->source->wait_ns / 1000000000u;
    char *path = pipe_path(s->source->prefix, s->wanted_number);

    s->has_told = true;
    if (path != NULL)
        notice_say(path, s->wanted != NULL || s->other != NULL
                   ? "waiting for this pipe's writer, up to %llu s"
                   : "waiting for this pipe to appear, up to %llu s", seconds);
    free(path);
}

int pipe_open(const struct pipe_source *source, uint64_t epoch, struct pipe_shift *shift,
              const volatile int *interrupt, struct store_object **object,
              struct sheaf_error *err)
{
    struct pipe_search s = { .source = source, .may_be_other = !shift->known };
    const uint64_t start = clock_ns();
    int code;

    s.wanted_number = epoch + (shift->known ? shift->shift : 0);
    do {
        code = pipe_look(&s, err);
        if (code == SHEAF_OK)
            code = wait_a_moment(&s, interrupt, err);
        if (code == SHEAF_END && clock_ns() - start >= source->wait_ns)
            code = pipe_give_up(&s, err);
        else if (code == SHEAF_END && !s.has_told && clock_ns() - start >= NOTICE_WAIT_NS)
            pipe_tell(&s);
    } while (code == SHEAF_END);
    if (code != SHEAF_OK) {
        store_close(s.wanted);
        store_close(s.other);
        return code;
    }
    *object = s.wanted != NULL ? s.wanted : s.other;
    shift->shift = (s.wanted != NULL ? s.wanted_number : s.other_number) - epoch;
    shift->known = true;
    return SHEAF_OK;
}
