/* SPDX-License-Identifier: MIT
 *
 * Reads lines through the store. */
#include "packer/source/lines.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "formats/content.h"
#include "formats/format.h"

#define READ_BYTES ((size_t)1 << 20)

int lines_open(struct lines *l, const char *url, const struct list_parser *parser,
               struct sheaf_error *err)
{
    *l = (struct lines){ .parser = parser,
                         .stored = BUF_INIT(2 * READ_BYTES),
                         .text = BUF_INIT(2 * LIST_LINE_LIMIT + 2 * READ_BYTES) };
    return store_open(url, &l->object, err);
}

void lines_close(struct lines *l)
{
    codec_stream_free(l->decoder);
    l->decoder = NULL;
    buf_free(&l->stored);
    buf_free(&l->text);
    store_close(l->object);
    l->object = NULL;
}

/* Reads up to READ_BYTES bytes of the list's file or object into `data`. Sets *got to their number,
 * which is 0 at the end. */
static int read_object(struct lines *l, void *data, size_t *got, struct sheaf_error *err)
{
    int code;

    if (l->object->is_stream) {
        code = store_read_next(l->object, data, READ_BYTES, got, err);
    } else {
        *got = (size_t)MIN(l->object->bytes - l->offset, READ_BYTES);
        code = store_read(l->object, l->offset, data, *got, err);
    }
    l->offset += *got;
    return code;
}

/* Reads and decompresses the next bytes of the list into l->text, which must have room for
 * READ_BYTES. Sets *got to their number, which is 0 at the end. */
static int read_decoded(struct lines *l, size_t *got, struct sheaf_error *err)
{
    for (;;) {
        size_t size = l->stored.size;
        int code;

        *got = READ_BYTES;
        code = codec_stream_push(l->decoder, l->stored.data, &size, l->text.data + l->text.size,
                                 got, err);
        if (code != SHEAF_OK)
            return err_prefix(err, "%s: ", l->object->url);
        l->stored.size -= size;
        memmove(l->stored.data, l->stored.data + size, l->stored.size);
        if (*got != 0)
            return SHEAF_OK;
        code = buf_reserve(&l->stored, READ_BYTES, err);
        if (code == SHEAF_OK)
            code = read_object(l, l->stored.data + l->stored.size, &size, err);
        if (code != SHEAF_OK)
            return code;
        l->stored.size += size;
        if (size == 0)
            return codec_stream_end(l->decoder, err) == SHEAF_OK
                       ? SHEAF_OK : err_prefix(err, "%s: ", l->object->url);
    }
}

/* If the first *got bytes of the list are compressed, opens a decompressor and replaces these bytes
 * by their decompressed form. */
static int look_for_codec(struct lines *l, size_t *got, struct sheaf_error *err)
{
    const enum sheaf_codec codec = codec_detect(l->text.data, *got);
    int code;

    if (codec == SHEAF_CODEC_NONE)
        return SHEAF_OK;
    code = codec_stream_open(codec, &l->decoder, err);
    if (code == SHEAF_OK)
        code = buf_append(&l->stored, l->text.data, *got, err);
    return code == SHEAF_OK ? read_decoded(l, got, err) : code;
}

/* Returns whether data begins with the byte order mark of UTF-16, or with two ASCII characters in
 * UTF-16. */
static bool is_utf16(const uint8_t *data, size_t size)
{
    if (size < 4)
        return false;
    if ((data[0] == 0xff && data[1] == 0xfe) || (data[0] == 0xfe && data[1] == 0xff))
        return true;
    return (data[0] == 0) != (data[1] == 0) && (data[0] == 0) == (data[2] == 0) &&
           (data[1] == 0) == (data[3] == 0);
}

/* Sets and returns the error for bytes that are not text. If they are the first bytes of the file,
 * the error can name its kind. */
static int refuse_binary(const struct lines *l, bool is_first, size_t got, struct sheaf_error *err)
{
    const uint8_t *data = l->text.data;
    const char *kind = is_first ? content_name(data, got) : NULL;
    const char *unread = is_first ? codec_unread(data, got) : NULL;
    const struct format_ops *format = is_first ? format_detect(data, got, NULL) : NULL;
    char names[CODEC_NAMES_BYTES];

    if (kind != NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: it is %s, expected a list", l->object->url,
                       kind);
    if (unread != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: it is compressed by %s, expected a list, "
                       "plain or compressed by %s", l->object->url, unread, codec_names(names));
    if (format != NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: it has the content of a %s file, expected a "
                       "list: the name of an archive must end in .tar", l->object->url,
                       format->has_members ? "tar" : format->name);
    if (is_first && is_utf16(data, got))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: it is text in UTF-16, expected UTF-8: "
                       "iconv -f UTF-16 -t UTF-8 converts it", l->object->url);
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: is not a list: it has a zero byte, and a list is "
                   "UTF-8 text", l->object->url);
}

/* Returns whether the bytes that were just read cannot be text. A small compressed file may have no
 * zero byte, but it has control characters behind its magic number. */
static bool is_binary(const struct lines *l, bool is_first, size_t got)
{
    const uint8_t *data = l->text.data + l->text.size;

    return memchr(data, '\0', got) != NULL ||
           (is_first && codec_unread(data, got) != NULL &&
            !content_is_text(data, MIN(got, (size_t)64)));
}

static int lines_read_more(struct lines *l, struct sheaf_error *err)
{
    const bool is_first = l->offset == 0;
    size_t got = 0;
    int code;

    if (l->taken != 0) {
        memmove(l->text.data, l->text.data + l->taken, l->text.size - l->taken);
        l->text.size -= l->taken;
        l->taken = 0;
    }
    code = buf_reserve(&l->text, READ_BYTES, err);
    if (code == SHEAF_OK)
        code = l->decoder != NULL ? read_decoded(l, &got, err)
                                  : read_object(l, l->text.data + l->text.size, &got, err);
    if (code == SHEAF_OK && is_first)
        code = look_for_codec(l, &got, err);
    if (code == SHEAF_OK && is_first &&
        content_check_list(l->text.data, got, "a list", err) != SHEAF_OK)
        code = err_prefix(err, "%s: ", l->object->url);
    if (code == SHEAF_OK && got != 0 && is_binary(l, is_first, got))
        code = refuse_binary(l, is_first, got, err);
    if (code != SHEAF_OK)
        return code;
    l->text.size += got;
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
    size_t from = 0;            /* the part that was searched before */
    bool open = false;          /* whether a quoted cell is open there */

    l->taken = MIN(l->taken + l->given, l->text.size);
    l->given = 0;
    *number = l->number + 1;
    for (;;) {
        const size_t shown = l->text.size - l->taken;
        const char *text = shown == 0 ? "" : (const char *)l->text.data + l->taken;
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
            if (!l->begun)
                utf8_pass_mark(line, size);
            l->begun = true;
            return SHEAF_OK;
        } else if (l->ended) {
            return SHEAF_END;
        } else if (shown > LIST_LINE_LIMIT) {
            return err_set(err, SHEAF_ERR_LIMIT,
                           "%s: line %llu is longer than the limit of %zu bytes", l->object->url,
                           (unsigned long long)l->number + 1, LIST_LINE_LIMIT);
        } else {
            code = lines_read_more(l, err);
            if (code != SHEAF_OK)
                return code;
        }
    }
}
