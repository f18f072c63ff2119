/* SPDX-License-Identifier: MIT
 *
 * A ring of chunks of paths: the newest is being filled, those before it are asked for or answered,
 * and the oldest is taken first.
 *
 *     taken | answered | asked for | asked for | being filled | ...
 *             ^ head                             ^ head + asked */
#include "packer/source/stat_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/workers.h"

#define CHUNK_PATHS 128u        /* some 100 us of work if it is all in memory */
#define CHUNKS      32u
#define THREADS     8u          /* they wait for the disk, not for a processor */

struct question {
    size_t path;                /* where it begins in the chunk's text */
    uint32_t label;
    int errnum;
    struct stat st;
};

struct chunk {
    struct job job;
    int root_fd;
    struct buf text;
    size_t count;
    struct question questions[CHUNK_PATHS];
};

struct stats {
    int root_fd;
    stats_fn *take;
    void *context;
    struct workers *workers;    /* NULL: no chunk was full yet */
    size_t head, asked;
    struct chunk ring[CHUNKS];
};

int stats_open(struct stats **out, int root_fd, stats_fn *take, void *context,
               struct sheaf_error *err)
{
    struct stats *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->root_fd = root_fd;
    s->take = take;
    s->context = context;
    for (size_t i = 0; i < CHUNKS; i++)
        s->ring[i].text.limit = SIZE_MAX / 2;
    *out = s;
    return SHEAF_OK;
}

void stats_close(struct stats *s)
{
    if (s == NULL)
        return;
    workers_close(s->workers);
    for (size_t i = 0; i < CHUNKS; i++)
        buf_free(&s->ring[i].text);
    free(s);
}

static void answer(struct job *job)
{
    struct chunk *c = (struct chunk *)job;

    for (size_t i = 0; i < c->count; i++) {
        struct question *q = &c->questions[i];

        q->errnum = fstatat(c->root_fd, (const char *)c->text.data + q->path, &q->st, 0) == 0
                  ? 0 : errno;
    }
}

static struct chunk *filling(struct stats *s)
{
    return &s->ring[(s->head + s->asked) % CHUNKS];
}

static int take_oldest(struct stats *s, struct sheaf_error *err)
{
    struct chunk *c = &s->ring[s->head];
    int code = SHEAF_OK;

    if (s->workers != NULL)
        workers_wait(s->workers, &c->job);
    for (size_t i = 0; i < c->count && code == SHEAF_OK; i++) {
        const struct question *q = &c->questions[i];

        code = s->take(s->context, (const char *)c->text.data + q->path, q->label, q->errnum,
                       &q->st, err);
    }
    c->count = c->text.size = 0;
    s->head = (s->head + 1) % CHUNKS;
    s->asked--;
    return code;
}

/* Asks for the chunk that is being filled.  A few paths, and no more, are asked for here. */
static int ask(struct stats *s, struct sheaf_error *err)
{
    struct chunk *c = filling(s);
    int code = SHEAF_OK;

    c->job = (struct job){ .run = answer };
    c->root_fd = s->root_fd;
    if (s->workers == NULL && c->count == CHUNK_PATHS)
        code = workers_open(&s->workers, THREADS, err);
    if (code != SHEAF_OK)
        return code;
    s->asked++;
    if (s->workers != NULL)
        workers_submit(s->workers, &c->job);
    else
        answer(&c->job);
    return SHEAF_OK;
}

int stats_add(struct stats *s, const char *path, uint32_t label, struct sheaf_error *err)
{
    struct chunk *c = filling(s);
    struct question *q = &c->questions[c->count];
    int code;

    q->path = c->text.size;
    q->label = label;
    code = buf_append(&c->text, path, strlen(path) + 1, err);
    if (code != SHEAF_OK)
        return code;
    if (++c->count < CHUNK_PATHS)
        return SHEAF_OK;
    code = ask(s, err);
    if (code == SHEAF_OK && s->asked == CHUNKS - 1)
        code = take_oldest(s, err);
    return code;
}

int stats_drain(struct stats *s, struct sheaf_error *err)
{
    int code = filling(s)->count == 0 ? SHEAF_OK : ask(s, err);

    while (code == SHEAF_OK && s->asked != 0)
        code = take_oldest(s, err);
    return code;
}
