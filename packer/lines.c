/* SPDX-License-Identifier: MIT
 *
 * Reading lines through the store. */
#include "packer/lines.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define READ_BYTES ((size_t)1 << 20)

int lines_open(struct lines *l, const char *url, const struct list_parser *parser,
               struct sheaf_error *err)
{
    *l = (struct lines){ .parser = parser,
                         .text = BUF_INIT(2 * LIST_LINE_LIMIT + 2 * READ_BYTES) };
    return store_open(url, &l->object, err);
}

void lines_close(struct lines *l)
{
    buf_free(&l->text);
    store_close(l->object);
    l->object = NULL;
}

static int read_more(struct lines *l, struct sheaf_error *err)
{
    size_t got = 0;
    int code;

    if (l->taken != 0) {
        memmove(l->text.data, l->text.data + l->taken, l->text.size - l->taken);
        l->text.size -= l->taken;
        l->taken = 0;
    }
    code = buf_reserve(&l->text, READ_BYTES, err);
    if (code != SHEAF_OK)
        return code;
    if (l->object->is_stream) {
        code = store_read_next(l->object, l->text.data + l->text.size, READ_BYTES, &got, err);
    } else {
        got = (size_t)MIN(l->object->bytes - l->offset, READ_BYTES);
        code = store_read(l->object, l->offset, l->text.data + l->text.size, got, err);
    }
    if (code != SHEAF_OK)
        return code;
    l->text.size += got;
    l->offset += got;
    l->ended = got == 0;
    return SHEAF_OK;
}

static bool toggles(const struct lines *l, const char *text, size_t size)
{
    return l->parser != NULL && list_toggles(l->parser, text, size);
}

int lines_next(struct lines *l, const char **line, size_t *size, uint64_t *number,
               struct sheaf_error *err)
{
    size_t from = 0;            /* what was searched already */
    bool open = false;          /* inside a quoted cell there */

    l->taken = MIN(l->taken + l->given, l->text.size);
    l->given = 0;
    *number = l->number + 1;
    for (;;) {
        const char *text = (const char *)l->text.data + l->taken;
        const size_t shown = l->text.size - l->taken;
        const char *end = shown > from ? memchr(text + from, '\n', shown - from) : NULL;
        int code;

        if (end != NULL && toggles(l, text + from, (size_t)(end - text) - from))
            open = !open;
        if (end != NULL && open) {
            from = (size_t)(end - text) + 1;
            l->number++;
        } else if (end != NULL || (l->ended && shown != 0)) {
            *line = text;
            *size = end != NULL ? (size_t)(end - text) : shown;
            l->given = *size + 1;
            l->number++;
            return SHEAF_OK;
        } else if (l->ended) {
            return SHEAF_END;
        } else if (shown > LIST_LINE_LIMIT) {
            return err_set(err, SHEAF_ERR_LIMIT,
                           "%s: line %llu is longer than the limit of %zu bytes", l->object->url,
                           (unsigned long long)l->number + 1, LIST_LINE_LIMIT);
        } else {
            code = read_more(l, err);
            if (code != SHEAF_OK)
                return code;
        }
    }
}
