/* SPDX-License-Identifier: MIT
 *
 * Writes tar members in plain ustar, which every reader understands. If a path or size does not fit
 * into ustar, a pax header precedes the member. Owner, mode and times are always the same, so that
 * the bytes depend only on the path and the data. */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/tar.h"
#include "formats/tar_header.h"

#define USTAR_SIZE_LIMIT ((uint64_t)1 << 33)

static void put_octal(char *field, size_t field_size, uint64_t value)
{
    size_t i = field_size - 1;

    for (field[i] = '\0'; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static struct tar_header tar_write_make_header(char type, uint64_t size, const char *group)
{
    struct tar_header h = { .type = type, .magic = "ustar", .version = { '0', '0' },
                            .user = "sheaf" };

    memcpy(h.group, group, strlen(group));
    put_octal(h.mode, sizeof(h.mode), 0444);
    put_octal(h.uid, sizeof(h.uid), 0);
    put_octal(h.gid, sizeof(h.gid), 0);
    put_octal(h.size, sizeof(h.size), size);
    put_octal(h.mtime, sizeof(h.mtime), 0);
    return h;
}

static void tar_write_put_header(struct buf *out, struct tar_header *h)
{
    /* The field `checksum` has six octal digits, a NUL and a blank, as in every tar. */
    put_octal(h->checksum, sizeof(h->checksum) - 1, tar_checksum(h));
    h->checksum[sizeof(h->checksum) - 1] = ' ';
    buf_put(out, h, sizeof(*h));
}

static void tar_write_put_data(struct buf *out, const void *data, size_t size)
{
    static const char zeros[TAR_BLOCK];

    buf_put_content(out, data, size);
    buf_put(out, zeros, (size_t)tar_padded(size) - size);
}

/* Stores a path in the header. A path that is too long for `name` is split at a slash into `prefix`
 * and `name`. If several slashes are possible, chooses the last one. Returns false if the path does
 * not fit. */
static bool put_path(struct tar_header *h, const char *path, size_t size)
{
    size_t at;

    if (size <= sizeof(h->name)) {
        memcpy(h->name, path, size);
        return true;
    }
    for (at = MIN(size - 1, sizeof(h->prefix)); at > 0 && path[at] != '/'; at--)
        ;
    if (at == 0 || at + 1 == size || size - at - 1 > sizeof(h->name))
        return false;
    memcpy(h->prefix, path, at);
    memcpy(h->name, path + at + 1, size - at - 1);
    return true;
}

/* Returns the size of the pax record "<size> <key>=<value>\n". In this record, <size> is the size
 * of the whole record, so the digits of <size> count as well. */
static size_t record_size(const char *key, const char *value)
{
    const size_t rest = strlen(key) + strlen(value) + 3;
    size_t size = rest + 1;

    while (size != rest + (size_t)snprintf(NULL, 0, "%zu", size))
        size++;
    return size;
}

static int put_record(struct buf *out, const char *key, const char *value,
                      struct sheaf_error *err)
{
    return buf_printf(out, err, "%zu %s=%s\n", record_size(key, value), key, value);
}

/* Appends a pax header to `out`. `path` is the path of the member, and `size_text` its size as
 * text. Each of the two is NULL if the ustar header has room for it. */
static int put_pax(struct buf *out, const char *path, const char *size_text,
                   struct sheaf_error *err)
{
    const size_t start = out->size;
    struct tar_header h;
    size_t size;
    int code = buf_reserve(out, TAR_BLOCK, err);

    if (code != SHEAF_OK)
        return code;
    out->size += TAR_BLOCK;
    if (path != NULL)
        code = put_record(out, "path", path, err);
    if (code == SHEAF_OK && size_text != NULL)
        code = put_record(out, "size", size_text, err);
    if (code == SHEAF_OK)
        code = buf_reserve(out, TAR_BLOCK, err);
    if (code != SHEAF_OK)
        return code;
    size = out->size - start - TAR_BLOCK;
    memset(out->data + out->size, 0, (size_t)tar_padded(size) - size);
    h = tar_write_make_header('x', size, "sheaf");
    memcpy(h.name, "././@PaxHeader", sizeof("././@PaxHeader"));
    out->size = start;
    tar_write_put_header(out, &h);
    out->size += (size_t)tar_padded(size);
    return SHEAF_OK;
}

int tar_write_header(struct buf *out, const char *path, uint64_t size, bool is_label,
                     struct sheaf_error *err)
{
    const bool is_large = size >= USTAR_SIZE_LIMIT;
    const size_t start = out->size;
    struct tar_header h = tar_write_make_header('0', is_large ? 0 : size,
                                                is_label ? TAR_LABEL_GROUP : "sheaf");
    const bool fits = put_path(&h, path, strlen(path));
    char size_text[24];
    int code = SHEAF_OK;

    snprintf(size_text, sizeof(size_text), "%" PRIu64, size);
    if (!fits)
        memcpy(h.name, path, sizeof(h.name));
    if (!fits || is_large)
        code = put_pax(out, fits ? NULL : path, is_large ? size_text : NULL, err);
    if (code == SHEAF_OK)
        code = buf_reserve(out, TAR_BLOCK, err);
    if (code == SHEAF_OK)
        tar_write_put_header(out, &h);
    else
        out->size = start;
    return code;
}

size_t tar_header_bytes(const char *path, uint64_t size)
{
    const bool is_large = size >= USTAR_SIZE_LIMIT;
    struct tar_header h;
    const bool fits = put_path(&h, path, strlen(path));
    char size_text[24];
    size_t extension = 0;

    if (fits && !is_large)
        return TAR_BLOCK;
    snprintf(size_text, sizeof(size_text), "%" PRIu64, size);
    extension += fits ? 0 : record_size("path", path);
    extension += is_large ? record_size("size", size_text) : 0;
    return TAR_BLOCK + (size_t)tar_padded(extension) + TAR_BLOCK;
}

int tar_write(struct buf *out, const char *path, const void *data, size_t size, bool is_label,
              struct sheaf_error *err)
{
    const size_t start = out->size;
    int code = tar_write_header(out, path, size, is_label, err);

    if (code == SHEAF_OK)
        code = buf_reserve(out, (size_t)tar_padded(size), err);
    if (code == SHEAF_OK)
        tar_write_put_data(out, data, size);
    else
        out->size = start;
    return code;
}

int tar_write_end(struct buf *out, struct sheaf_error *err)
{
    static const char zeros[TAR_END_BLOCKS * TAR_BLOCK];

    return buf_append(out, zeros, sizeof(zeros), err);
}
