/* SPDX-License-Identifier: MIT
 *
 * Keeps buffers that are not in use; see spare.h. */
#include "base/spare.h"

/* The first bytes of a buffer while the buffer is in the list. */
struct spare {
    struct spare *next;
    struct buf buf;
};

static struct buf remove_spare(struct spares *s, struct spare **at)
{
    struct buf buf = (*at)->buf;

    *at = (*at)->next;
    s->bytes -= buf.capacity;
    buf.size = 0;
    return buf;
}

void spares_give(struct spares *s, struct buf *buf)
{
    struct spare *spare = (struct spare *)(void *)buf->data;

    if (buf->capacity < sizeof(*spare)) {
        buf_free(buf);
        return;
    }
    *spare = (struct spare){ s->first, *buf };
    s->first = spare;
    s->bytes += buf->capacity;
    *buf = (struct buf){ .data = NULL };
}

void spares_take(struct spares *s, uint64_t most, struct buf *buf)
{
    struct spare **best = NULL;

    for (struct spare **at = &s->first; *at != NULL; at = &(*at)->next)
        if ((*at)->buf.capacity <= most
            && (best == NULL || (*at)->buf.capacity > (*best)->buf.capacity))
            best = at;
    *buf = best == NULL ? (struct buf){ .data = NULL } : remove_spare(s, best);
}

void spares_trim(struct spares *s, uint64_t bytes)
{
    while (s->bytes > bytes) {
        struct buf buf = remove_spare(s, &s->first);

        buf_free(&buf);
    }
}
