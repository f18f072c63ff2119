/* SPDX-License-Identifier: MIT
 *
 * Records: varints and text, one after the other.  Whoever reads them trusts nothing: a path that
 * could not be packed, or a number past its limit, is an error. */
#include "packer/plan_record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "formats/format.h"
#include "packer/list.h"

#define STAMP_BYTES 8
#define URL_LIMIT   65536
#define TEXT_LIMIT  LIST_LINE_LIMIT
#define SIZE_LIMIT  ((uint64_t)1 << 62)

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_varint(struct buf *out, uint64_t value)
{
    out->size += varint_put(out->data + out->size, value);
}

static void put_stamp(struct buf *out, uint64_t stamp)
{
    store64(out->data + out->size, stamp);
    out->size += STAMP_BYTES;
}

static int write_file(const struct catalog_file *f, struct buf *out, struct sheaf_error *err)
{
    const char *suffix = f->path + f->key_size + 1;
    const size_t size = strlen(suffix);
    const size_t url = f->place == CATALOG_OBJECT ? strlen(f->object->url) : 0;
    const size_t text = f->place == CATALOG_TEXT ? f->bytes : 0;
    const int code = buf_reserve(out, size + url + text + STAMP_BYTES + 3 * VARINT_MOST, err);

    if (code != SHEAF_OK)
        return code;
    put_varint(out, (uint64_t)size << 2 | f->place);
    buf_put(out, suffix, size);
    put_varint(out, f->bytes);
    if (f->place == CATALOG_TEXT) {
        buf_put(out, f->text, text);
        return SHEAF_OK;
    }
    put_stamp(out, f->place == CATALOG_OBJECT ? f->object->stamp : f->stamp);
    if (f->place == CATALOG_OBJECT) {
        put_varint(out, url);
        buf_put(out, f->object->url, url);
    }
    return SHEAF_OK;
}

int plan_record_write(const struct plan_sample *s, const struct catalog_file *files,
                      struct buf *out, struct sheaf_error *err)
{
    int code = buf_reserve(out, files[0].key_size + 3 * VARINT_MOST, err);

    if (code != SHEAF_OK)
        return code;
    put_varint(out, (uint64_t)s->label << 1 | s->has_cls);
    put_varint(out, s->file_count);
    put_varint(out, files[0].key_size);
    buf_put(out, files[0].path, files[0].key_size);
    for (uint32_t i = 0; i < s->file_count && code == SHEAF_OK; i++)
        code = write_file(&files[i], out, err);
    return code;
}

int plan_record_relabel(const uint8_t *record, size_t size, uint32_t label, struct buf *out,
                        struct sheaf_error *err)
{
    const uint8_t *at = record, *end = record + size;
    uint64_t head;
    int code = buf_reserve(out, size + VARINT_MOST, err);

    if (code != SHEAF_OK)
        return code;
    if (!varint_take(&at, end, &head))
        return err_set(err, SHEAF_ERR_CORRUPT, "a sample of %zu bytes that is none", size);
    put_varint(out, (uint64_t)label << 1 | (head & 1));
    buf_put(out, at, (size_t)(end - at));
    return SHEAF_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *at, *end;
};

static bool take_number(struct cursor *c, uint64_t most, uint64_t *value)
{
    return varint_take(&c->at, c->end, value) && *value <= most;
}

static bool take_bytes(struct cursor *c, uint64_t size, const uint8_t **data)
{
    *data = c->at;
    if (size > (uint64_t)(c->end - c->at))
        return false;
    c->at += size;
    return true;
}

static int malformed(const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "a sample with %s", what);
}

/* What is known of a file's content, as the place of it has it.  `url`: URL_LIMIT bytes. */
static int read_place(struct cursor *c, unsigned place, struct catalog_stat *stat, char *url,
                      struct sheaf_error *err)
{
    const uint8_t *data;
    uint64_t size;

    if (place == CATALOG_TEXT) {
        if (stat->bytes > TEXT_LIMIT || !take_bytes(c, stat->bytes, &data))
            return malformed("no content where it should be", err);
        stat->text = (const char *)data;
        return SHEAF_OK;
    }
    if (place > CATALOG_TEXT || !take_bytes(c, STAMP_BYTES, &data))
        return malformed("no time or tag of a file", err);
    stat->stamp = load64(data);
    stat->mtime_ns = (int64_t)stat->stamp;
    if (place == CATALOG_BELOW)
        return SHEAF_OK;
    if (!take_number(c, URL_LIMIT - 1, &size) || !take_bytes(c, size, &data) ||
        !name_is_text((const char *)data, size))
        return malformed("no URL of an object", err);
    memcpy(url, data, size);
    url[size] = '\0';
    stat->url = url;
    return SHEAF_OK;
}

/* One file, whose key stands in `path` already. */
static int read_file(struct cursor *c, struct catalog *catalog, char path[KEY_LIMIT + 1],
                     size_t key_size, uint64_t *bytes, struct sheaf_error *err)
{
    struct problems none = { .on_error = SHEAF_FAIL };
    struct catalog_stat stat = { .bytes = 0 };
    const uint8_t *suffix;
    char url[URL_LIMIT];
    uint64_t head;
    int code;

    if (!take_number(c, (uint64_t)KEY_LIMIT << 2, &head) ||
        key_size + 1 + (head >> 2) > KEY_LIMIT || !take_bytes(c, head >> 2, &suffix))
        return malformed("a suffix that is too long", err);
    path[key_size] = '.';
    memcpy(path + key_size + 1, suffix, head >> 2);
    path[key_size + 1 + (head >> 2)] = '\0';
    if (strlen(path) != key_size + 1 + (head >> 2) || name_problem(path) != NULL)
        return malformed("a name that cannot be packed", err);
    if (!take_number(c, SIZE_LIMIT, &stat.bytes) ||
        __builtin_add_overflow(*bytes, stat.bytes, bytes) || *bytes > SIZE_LIMIT)
        return malformed("a size past 2^62 bytes", err);
    code = read_place(c, head & 3, &stat, url, err);
    if (code == SHEAF_OK)
        code = catalog_add(catalog, &none, path, &stat, LABEL_NONE, err);
    if (code == SHEAF_OK && catalog->files[catalog->file_count - 1].key_size != key_size)
        code = malformed("a key that is not its name's", err);
    return code;
}

int plan_record_read(const uint8_t **at, const uint8_t *end, struct catalog *catalog,
                     struct plan_sample *s, struct sheaf_error *err)
{
    struct cursor c = { *at, end };
    char path[KEY_LIMIT + 1];
    uint64_t head, count, key_size;
    const uint8_t *key;
    int code = SHEAF_OK;

    if (!take_number(&c, (uint64_t)UINT32_MAX << 1 | 1, &head) ||
        !take_number(&c, FIELD_LIMIT, &count) || count == 0)
        return malformed("no label or no files", err);
    if (!take_number(&c, KEY_LIMIT - 2, &key_size) || !take_bytes(&c, key_size, &key))
        return malformed("a key that is too long", err);
    memcpy(path, key, key_size);
    *s = (struct plan_sample){ .file = (uint32_t)catalog->file_count,
                               .file_count = (uint32_t)count, .label = (uint32_t)(head >> 1),
                               .has_cls = (head & 1) != 0 };
    for (uint64_t i = 0; i < count && code == SHEAF_OK; i++)
        code = read_file(&c, catalog, path, key_size, &s->payload_bytes, err);
    *at = c.at;
    return code;
}
