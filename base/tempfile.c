/* SPDX-License-Identifier: MIT
 *
 * Implements temporary storage: a buffer in memory whose content moves to a temporary file when it
 * becomes too large. */
#include "base/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd_io.h"
#include "base/varint.h"

#define BUFFER_FIRST ((size_t)64 << 10)
#define BUFFER_BYTES ((size_t)1 << 20)      /* size of the buffer once there is a file */

char *tempfile_directory(const char *path)
{
    const char *given = getenv("TMPDIR");
    char *copy, *directory;
    bool is_usable;

    if (given != NULL && given[0] != '\0')
        return strdup(given);
    if (path == NULL)
        return strdup("/var/tmp");
    copy = strdup(path);
    directory = copy == NULL ? NULL : dirname(copy);
    is_usable = directory != NULL && access(directory, W_OK | X_OK) == 0;
    directory = directory == NULL ? NULL : strdup(is_usable ? directory : "/var/tmp");
    free(copy);
    return directory;
}

int tempfile_create(const char *directory, struct sheaf_error *err)
{
    char *name;
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    /* NFS and FUSE cannot create a file without a name. On these file systems, mkstemp creates a
     * file with a name, and unlink removes the name immediately. */
    if (asprintf(&name, "%s/sheaf-XXXXXX", directory) < 0) {
        err_memory(err, strlen(directory));
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        err_errno(err, errno, "%s: cannot create a temporary file", directory);
    else
        unlink(name);
    free(name);
    return fd;
}

int tempfile_write_at(int fd, uint64_t offset, const void *data, size_t size,
                      struct sheaf_error *err)
{
    const size_t done = fd_write_at(fd, data, size, offset);

    return done == size ? SHEAF_OK
           : err_errno(err, errno, "cannot write %zu bytes at %llu of a temporary file",
                       size - done, (unsigned long long)(offset + done));
}

int tempfile_read_at(int fd, uint64_t offset, void *data, size_t size, struct sheaf_error *err)
{
    const size_t done = fd_read_at(fd, data, size, offset);

    if (done == size)
        return SHEAF_OK;
    offset += done;
    return errno == 0
           ? err_set(err, SHEAF_ERR_TRUNCATED, "a temporary file ends at offset %llu",
                     (unsigned long long)offset)
           : err_errno(err, errno, "cannot read %zu bytes at %llu of a temporary file",
                       size - done, (unsigned long long)offset);
}

/* ---- With a buffer --------------------------------------------------------------------------- */

int tempfile_open(struct tempfile *s, const char *directory, size_t memory_bytes,
                  struct sheaf_error *err)
{
    *s = (struct tempfile){ .fd = -1, .directory = strdup(directory),
                         .memory_bytes = MAX(memory_bytes, BUFFER_FIRST) };
    return s->directory == NULL ? err_memory(err, strlen(directory)) : SHEAF_OK;
}

void tempfile_close(struct tempfile *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->directory);
    free(s->buffer);
    *s = (struct tempfile){ .fd = -1 };
}

static int resize_buffer(struct tempfile *s, size_t capacity, struct sheaf_error *err)
{
    uint8_t *buffer = realloc(s->buffer, capacity);

    if (buffer == NULL)
        return err_memory(err, capacity);
    s->buffer = buffer;
    s->capacity = capacity;
    return SHEAF_OK;
}

static int flush_buffer(struct tempfile *s, struct sheaf_error *err)
{
    const int code = tempfile_write_at(s->fd, s->size, s->buffer, s->used, err);

    s->size += s->used;
    s->used = 0;
    return code;
}

/* Makes room in a full buffer: enlarges the buffer, or moves its content to the temporary file if
 * the buffer already has its largest size. */
static int tempfile_make_room(struct tempfile *s, struct sheaf_error *err)
{
    const size_t before = s->capacity;
    int code;

    if (s->fd < 0 && before < s->memory_bytes)
        return resize_buffer(s, MIN(MAX(2 * before, BUFFER_FIRST), s->memory_bytes), err);
    if (s->fd < 0)
        s->fd = tempfile_create(s->directory, err);
    if (s->fd < 0)
        return err == NULL ? SHEAF_ERR_IO : err->code;
    code = flush_buffer(s, err);
    return code == SHEAF_OK && before > BUFFER_BYTES ? resize_buffer(s, BUFFER_BYTES, err) : code;
}

int tempfile_put(struct tempfile *s, const void *data, size_t size, struct sheaf_error *err)
{
    const uint8_t *at = data;

    while (size != 0) {
        const size_t part = MIN(size, s->capacity - s->used);

        if (part == 0) {
            const int code = tempfile_make_room(s, err);

            if (code != SHEAF_OK)
                return code;
            continue;
        }
        memcpy(s->buffer + s->used, at, part);
        s->used += part;
        at += part;
        size -= part;
    }
    return SHEAF_OK;
}

int tempfile_put_varint(struct tempfile *s, uint64_t value, struct sheaf_error *err)
{
    uint8_t bytes[VARINT_MOST];

    return tempfile_put(s, bytes, varint_put(bytes, value), err);
}

int tempfile_rewind(struct tempfile *s, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (!s->is_written && s->fd < 0)
        s->size = s->used;
    else if (!s->is_written)
        code = flush_buffer(s, err);
    s->is_written = true;
    s->offset = s->fd < 0 ? s->size : 0;
    s->used = (size_t)s->offset;
    s->at = 0;
    return code;
}

int tempfile_view(const struct tempfile *s, uint64_t offset, size_t size, struct buf *room,
                  const uint8_t **data, struct sheaf_error *err)
{
    int code;

    *data = s->fd < 0 ? s->buffer + offset : NULL;
    if (s->fd < 0)
        return SHEAF_OK;
    room->size = 0;
    code = buf_reserve(room, size, err);
    *data = room->data;
    return code == SHEAF_OK ? tempfile_read_at(s->fd, offset, room->data, size, err) : code;
}

static int fill_buffer(struct tempfile *s, struct sheaf_error *err)
{
    const size_t size = (size_t)MIN(s->capacity, s->size - s->offset);

    if (size == 0)
        return err_set(err, SHEAF_ERR_TRUNCATED, "a temporary file has only %llu byte%s",
                       (unsigned long long)s->size, plural(s->size));
    s->at = 0;
    s->used = size;
    s->offset += size;
    return tempfile_read_at(s->fd, s->offset - size, s->buffer, size, err);
}

int tempfile_get(struct tempfile *s, void *data, size_t size, struct sheaf_error *err)
{
    uint8_t *into = data;

    while (size != 0) {
        size_t part;

        if (s->at == s->used) {
            const int code = fill_buffer(s, err);

            if (code != SHEAF_OK)
                return code;
        }
        part = MIN(size, s->used - s->at);
        memcpy(into, s->buffer + s->at, part);
        s->at += part;
        into += part;
        size -= part;
    }
    return SHEAF_OK;
}

int tempfile_get_varint(struct tempfile *s, uint64_t *value, struct sheaf_error *err)
{
    uint8_t bytes[VARINT_MOST];
    const uint8_t *at = bytes;
    size_t size = 0;

    do {
        const int code = tempfile_get(s, &bytes[size], 1, err);

        if (code != SHEAF_OK)
            return code;
    } while ((bytes[size++] & 0x80) != 0 && size < VARINT_MOST);
    if (!varint_take(&at, bytes + size, value))
        return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file was read back with different "
                       "bytes");
    return SHEAF_OK;
}
