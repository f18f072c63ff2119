/* SPDX-License-Identifier: MIT
 *
 * Converts a sample of a plan to a record (varints and texts) and back. Records are checked when
 * they are read. An invalid path, or a number above its limit, is an error. */
#include "packer/plan/plan_record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "formats/example.h"
#include "formats/format.h"
#include "formats/name.h"
#include "packer/source/list.h"

#define STAMP_BYTES 8
#define URL_LIMIT   65536
#define TEXT_LIMIT  LIST_LINE_LIMIT

/* ---- Writing --------------------------------------------------------------------------------- */

static void plan_record_put_varint(struct buf *out, uint64_t value)
{
    out->size += varint_put(out->data + out->size, value);
}

static void put_stamp(struct buf *out, uint64_t stamp)
{
    store64(out->data + out->size, stamp);
    out->size += STAMP_BYTES;
}

static int plan_record_write_file(const struct catalog_file *f, struct buf *out,
                                  struct sheaf_error *err)
{
    const char *suffix = f->path + f->key_size + 1;
    const size_t size = strlen(suffix);
    const size_t url = f->origin == CATALOG_OBJECT ? strlen(f->object->url) : 0;
    const size_t text = f->origin == CATALOG_TEXT ? f->bytes : 0;
    const int code = buf_reserve(out, size + url + text + STAMP_BYTES + 3 * VARINT_MOST, err);

    if (code != SHEAF_OK)
        return code;
    plan_record_put_varint(out, (uint64_t)size << 2 | f->origin);
    buf_put(out, suffix, size);
    plan_record_put_varint(out, f->bytes);
    if (f->origin == CATALOG_TEXT) {
        buf_put(out, f->text, text);
        return SHEAF_OK;
    }
    put_stamp(out, f->origin == CATALOG_OBJECT ? f->object->stamp : f->stamp);
    if (f->origin == CATALOG_OBJECT) {
        plan_record_put_varint(out, url);
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
    plan_record_put_varint(out, (uint64_t)s->label << 1 | s->has_cls);
    plan_record_put_varint(out, s->file_count);
    plan_record_put_varint(out, files[0].key_size);
    buf_put(out, files[0].path, files[0].key_size);
    for (uint32_t i = 0; i < s->file_count && code == SHEAF_OK; i++)
        code = plan_record_write_file(&files[i], out, err);
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct record_cursor {
    const uint8_t *at, *end;
};

static bool plan_record_take_number(struct record_cursor *c, uint64_t most, uint64_t *value)
{
    return varint_take(&c->at, c->end, value) && *value <= most;
}

static bool plan_record_take_bytes(struct record_cursor *c, uint64_t size, const uint8_t **data)
{
    *data = c->at;
    if (size > (uint64_t)(c->end - c->at))
        return false;
    c->at += size;
    return true;
}

static int plan_record_malformed(const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "a sample with %s", what);
}

/* Reads from a record where the content of a file is, and the file's other facts, such as its size.
 * `origin` says whether the content is in a local file, in an object, or in the record itself.
 * `url` has room for URL_LIMIT bytes. */
static int read_origin(struct record_cursor *c, unsigned origin, struct catalog_stat *stat,
                       char *url, struct sheaf_error *err)
{
    const uint8_t *data;
    uint64_t size;

    if (origin == CATALOG_TEXT) {
        if (stat->bytes > TEXT_LIMIT || !plan_record_take_bytes(c, stat->bytes, &data))
            return plan_record_malformed("no content where it should be", err);
        stat->text = (const char *)data;
        return SHEAF_OK;
    }
    if (origin > CATALOG_TEXT || !plan_record_take_bytes(c, STAMP_BYTES, &data))
        return plan_record_malformed("no time or tag of a file", err);
    stat->stamp = load64(data);
    stat->mtime_ns = (int64_t)stat->stamp;
    if (origin == CATALOG_BELOW)
        return SHEAF_OK;
    if (!plan_record_take_number(c, URL_LIMIT - 1, &size) || !plan_record_take_bytes(c, size, &data)
        || !name_is_text((const char *)data, size))
        return plan_record_malformed("no URL of an object", err);
    memcpy(url, data, size);
    url[size] = '\0';
    stat->url = url;
    return SHEAF_OK;
}

/* Reads one file of a record: the part of its path after the key, and its facts. `path` already
 * contains the key, which the record stores only once. */
static int plan_record_take_file(struct record_cursor *c, char path[KEY_LIMIT + 1], size_t key_size,
                                 struct catalog_stat *stat, char *url, struct sheaf_error *err)
{
    const uint8_t *suffix;
    uint64_t head;

    *stat = (struct catalog_stat){ .bytes = 0 };
    if (!plan_record_take_number(c, (uint64_t)KEY_LIMIT << 2, &head) ||
        key_size + 1 + (head >> 2) > KEY_LIMIT || !plan_record_take_bytes(c, head >> 2, &suffix) ||
        memchr(suffix, '\0', head >> 2) != NULL)
        return plan_record_malformed("an invalid suffix", err);
    path[key_size] = '.';
    memcpy(path + key_size + 1, suffix, head >> 2);
    path[key_size + 1 + (head >> 2)] = '\0';
    if (!plan_record_take_number(c, PAYLOAD_LIMIT, &stat->bytes))
        return plan_record_malformed("a size past 2^62 bytes", err);
    return read_origin(c, head & 3, stat, url, err);
}

/* ---- Records that were just written ---------------------------------------------------------- */

int plan_record_head(const uint8_t *record, size_t size, struct plan_record_head *head,
                     struct sheaf_error *err)
{
    struct record_cursor c = { record, record + size };
    uint64_t label, count, key_size;

    if (!plan_record_take_number(&c, (uint64_t)UINT32_MAX << 1 | 1, &label) ||
        !plan_record_take_number(&c, FIELD_LIMIT, &count)
        || !plan_record_take_number(&c, KEY_LIMIT - 2, &key_size) ||
        !plan_record_take_bytes(&c, key_size, &head->key))
        return plan_record_malformed("no label, no files or no key", err);
    head->label = (uint32_t)(label >> 1);
    head->has_cls = (label & 1) != 0;
    head->file_count = (uint32_t)count;
    head->key_size = (size_t)key_size;
    return SHEAF_OK;
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
        return err_set(err, SHEAF_ERR_CORRUPT, "an invalid sample of %zu byte%s", size,
                       plural(size));
    plan_record_put_varint(out, (uint64_t)label << 1 | (head & 1));
    buf_put(out, at, (size_t)(end - at));
    return SHEAF_OK;
}

/* Returns whether `suffix` is the suffix of an image other than a JPEG. */
static bool is_other_image(const char *suffix)
{
    const char *format = example_image_format(suffix, strlen(suffix));

    return format != NULL && strcmp(format, "JPEG") != 0;
}

int plan_record_hash(const uint8_t *record, size_t size, struct XXH3_state_s *state,
                     uint64_t *source, bool *has_other_images, struct sheaf_error *err)
{
    struct plan_record_head head;
    struct record_cursor c = { .end = record + size };
    char path[KEY_LIMIT + 1], url[URL_LIMIT];
    int code = plan_record_head(record, size, &head, err);

    if (code != SHEAF_OK)
        return code;
    plan_hash_sample(state, head.label, head.file_count);
    memcpy(path, head.key, head.key_size);
    c.at = head.key + head.key_size;
    for (uint32_t i = 0; i < head.file_count && code == SHEAF_OK; i++) {
        struct catalog_stat stat;

        code = plan_record_take_file(&c, path, head.key_size, &stat, url, err);
        if (code == SHEAF_OK) {
            plan_hash_file(state, path, stat.bytes, stat.text);
            *has_other_images |= is_other_image(path + head.key_size + 1);
        }
        if (code == SHEAF_OK && stat.text == NULL)
            *source = plan_source_add(*source, stat.stamp, stat.url);
    }
    return code;
}

/* ---- Records from elsewhere ------------------------------------------------------------------ */

/* Reads one file of a record and adds it to the catalog. `path` already contains the key, which the
 * record stores only once. */
static int plan_record_read_file(struct record_cursor *c, struct catalog *catalog,
                                 char path[KEY_LIMIT + 1], size_t key_size, uint64_t *bytes,
                                 struct sheaf_error *err)
{
    struct problems none = { .on_error = SHEAF_FAIL };
    struct catalog_stat stat;
    char url[URL_LIMIT];
    int code = plan_record_take_file(c, path, key_size, &stat, url, err);

    if (code != SHEAF_OK)
        return code;
    if (name_problem(path) != NULL)
        return plan_record_malformed("a name that cannot be packed", err);
    if (__builtin_add_overflow(*bytes, stat.bytes, bytes) || *bytes > PAYLOAD_LIMIT)
        return plan_record_malformed("files of more than 2^62 bytes", err);
    code = catalog_add(catalog, &none, path, &stat, LABEL_NONE, err);
    if (code == SHEAF_OK && catalog->files[catalog->file_count - 1].key_size != key_size)
        code = plan_record_malformed("a key that is not its name's", err);
    return code;
}

int plan_record_read(const uint8_t **at, const uint8_t *end, struct catalog *catalog,
                     struct plan_sample *s, struct sheaf_error *err)
{
    struct plan_record_head head;
    struct record_cursor c = { .end = end };
    char path[KEY_LIMIT + 1];
    int code = plan_record_head(*at, (size_t)(end - *at), &head, err);

    if (code != SHEAF_OK)
        return code;
    if (head.file_count == 0)
        return plan_record_malformed("no files", err);
    memcpy(path, head.key, head.key_size);
    c.at = head.key + head.key_size;
    *s = (struct plan_sample){ .file = (uint32_t)catalog->file_count,
                               .file_count = head.file_count, .label = head.label,
                               .has_cls = head.has_cls };
    for (uint32_t i = 0; i < head.file_count && code == SHEAF_OK; i++)
        code = plan_record_read_file(&c, catalog, path, head.key_size, &s->payload_bytes, err);
    *at = c.at;
    return code;
}
