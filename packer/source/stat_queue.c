/* SPDX-License-Identifier: MIT
 *
 * Requests the attributes of files, in chunks of paths. New paths are added to the newest chunk.
 * Full chunks wait for a thread that requests the attributes. The answers of the oldest chunk are
 * taken first, so that they come in order. */
#include "packer/source/stat_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/inflight.h"

/* Number of paths in a chunk, for which a thread requests the attributes in one job. A chunk takes
 * about 100 us if the kernel has the attributes in memory. */
#define CHUNK_PATHS 128u
#define CHUNKS      32u
#define THREADS     8u          /* they wait for the disk, not for a processor */

struct stat_request {
    size_t path;                /* its start in the chunk's text */
    size_t named;               /* a start, too; SIZE_MAX: its own path */
    uint32_t label;
    int errnum;
    struct stat st;
};

struct chunk {
    struct inflight_item item;  /* the first member */
    int root_fd;
    struct buf text;
    size_t count;
    struct stat_request requests[CHUNK_PATHS];
};

struct stat_queue {
    stat_queue_fn *take;
    void *context;
    struct workers *workers;    /* NULL: no chunk was full yet */
    struct inflight window;
    struct chunk *filling;
    struct chunk chunks[CHUNKS];
};

static void stat_queue_answer(struct inflight_item *item)
{
    struct chunk *c = (struct chunk *)item;

    for (size_t i = 0; i < c->count; i++) {
        struct stat_request *q = &c->requests[i];

        q->errnum = fstatat(c->root_fd, (const char *)c->text.data + q->path, &q->st, 0) == 0
                  ? 0 : errno;
    }
}

int stat_queue_open(struct stat_queue **out, int root_fd, stat_queue_fn *take, void *context,
               struct sheaf_error *err)
{
    struct stat_queue *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->take = take;
    s->context = context;
    inflight_open(&s->window, INFLIGHT_OLDEST, NULL, NULL);
    for (size_t i = 0; i < CHUNKS; i++) {
        s->chunks[i] = (struct chunk){ .item.run = stat_queue_answer, .root_fd = root_fd,
                                       .text.limit = SIZE_MAX / 2 };
        inflight_add(&s->window, &s->chunks[i].item);
    }
    s->filling = (struct chunk *)inflight_idle(&s->window);
    *out = s;
    return SHEAF_OK;
}

void stat_queue_close(struct stat_queue *s)
{
    if (s == NULL)
        return;
    inflight_close(&s->window);
    workers_close(s->workers);
    for (size_t i = 0; i < CHUNKS; i++)
        buf_free(&s->chunks[i].text);
    free(s);
}

/* Passes the answers of the oldest chunk to the function `take`. Waits for them if necessary.
 * Returns SHEAF_END if there is no chunk. */
static int take_oldest(struct stat_queue *s, struct sheaf_error *err)
{
    struct chunk *c = (struct chunk *)inflight_next(&s->window);
    int code = c == NULL ? SHEAF_END : SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < c->count; i++) {
        const struct stat_request *q = &c->requests[i];
        const char *text = (const char *)c->text.data;
        const struct stat_question asked = {
            text + q->path, q->named == SIZE_MAX ? NULL : text + q->named, q->label,
        };

        code = s->take(s->context, &asked, q->errnum, &q->st, err);
    }
    if (c == NULL)
        return code;
    c->count = c->text.size = 0;
    inflight_add(&s->window, &c->item);
    return code;
}

/* Submits the chunk that is being filled to the threads, and begins the next chunk. The threads are
 * started when the first chunk is full. If the source has fewer paths, no thread is started, and
 * the calling thread requests the attributes. */
static int stat_queue_ask(struct stat_queue *s, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (s->workers == NULL && s->filling->count == CHUNK_PATHS)
        code = workers_open(&s->workers, THREADS, err);
    if (code != SHEAF_OK)
        return code;
    inflight_run(&s->window, s->workers, &s->filling->item);
    if (s->window.count == CHUNKS)
        code = take_oldest(s, err);
    s->filling = (struct chunk *)inflight_idle(&s->window);
    return code;
}

int stat_queue_add(struct stat_queue *s, const struct stat_question *question,
                   struct sheaf_error *err)
{
    struct chunk *c = s->filling;
    struct stat_request *q = &c->requests[c->count];
    int code;

    q->path = c->text.size;
    q->named = SIZE_MAX;
    q->label = question->label;
    code = buf_append(&c->text, question->path, strlen(question->path) + 1, err);
    if (code == SHEAF_OK && question->named != NULL) {
        q->named = c->text.size;
        code = buf_append(&c->text, question->named, strlen(question->named) + 1, err);
    }
    if (code != SHEAF_OK)
        return code;
    return ++c->count < CHUNK_PATHS ? SHEAF_OK : stat_queue_ask(s, err);
}

int stat_queue_drain(struct stat_queue *s, struct sheaf_error *err)
{
    int code = s->filling->count == 0 ? SHEAF_OK : stat_queue_ask(s, err);

    while (code == SHEAF_OK)
        code = take_oldest(s, err);
    return code == SHEAF_END ? SHEAF_OK : code;
}
