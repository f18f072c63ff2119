/* SPDX-License-Identifier: MIT
 *
 * Temporary files. */
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
#include "base/varint.h"

#define BUFFER_BYTES ((size_t)1 << 20)

char *spool_directory(const char *path)
{
    const char *given = getenv("TMPDIR");
    char *copy, *directory;

    if (given != NULL && given[0] != '\0')
        return strdup(given);
    if (path == NULL)
        return strdup("/var/tmp");
    copy = strdup(path);
    directory = copy == NULL ? NULL : strdup(dirname(copy));
    free(copy);
    return directory;
}

int spool_create(const char *directory, struct sheaf_error *err)
{
    char *name;
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    /* NFS and FUSE know no files without names: between these two calls it has one. */
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

int spool_write_at(int fd, uint64_t offset, const void *data, size_t size,
                   struct sheaf_error *err)
{
    const uint8_t *at = data;

    while (size != 0) {
        const ssize_t put = pwrite(fd, at, size, (off_t)offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno(err, errno, "cannot write %zu bytes at %llu of a temporary file",
                             size, (unsigned long long)offset);
        at += put;
        offset += (uint64_t)put;
        size -= (size_t)put;
    }
    return SHEAF_OK;
}

int spool_read_at(int fd, uint64_t offset, void *data, size_t size, struct sheaf_error *err)
{
    uint8_t *at = data;

    while (size != 0) {
        const ssize_t got = pread(fd, at, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read %zu bytes at %llu of a temporary file",
                             size, (unsigned long long)offset);
        if (got == 0)
            return err_set(err, SHEAF_ERR_TRUNCATED, "a temporary file ends at %llu",
                           (unsigned long long)offset);
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return SHEAF_OK;
}

/* ---- With a buffer --------------------------------------------------------------------------- */

int spool_open(struct spool *s, const char *directory, struct sheaf_error *err)
{
    *s = (struct spool){ .fd = spool_create(directory, err) };
    if (s->fd < 0)
        return err == NULL ? SHEAF_ERR_IO : err->code;
    s->buffer = malloc(BUFFER_BYTES);
    return s->buffer == NULL ? err_memory(err, BUFFER_BYTES) : SHEAF_OK;
}

void spool_close(struct spool *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->buffer);
    *s = (struct spool){ .fd = -1 };
}

static int flush(struct spool *s, struct sheaf_error *err)
{
    const int code = spool_write_at(s->fd, s->size, s->buffer, s->used, err);

    s->size += s->used;
    s->used = 0;
    return code;
}

int spool_put(struct spool *s, const void *data, size_t size, struct sheaf_error *err)
{
    const uint8_t *at = data;

    while (size != 0) {
        const size_t part = MIN(size, BUFFER_BYTES - s->used);

        memcpy(s->buffer + s->used, at, part);
        s->used += part;
        at += part;
        size -= part;
        if (s->used == BUFFER_BYTES) {
            const int code = flush(s, err);

            if (code != SHEAF_OK)
                return code;
        }
    }
    return SHEAF_OK;
}

int spool_put_varint(struct spool *s, uint64_t value, struct sheaf_error *err)
{
    uint8_t bytes[VARINT_MOST];

    return spool_put(s, bytes, varint_put(bytes, value), err);
}

/* Written bytes wait in the buffer only until it is read for the first time. */
int spool_rewind(struct spool *s, struct sheaf_error *err)
{
    const int code = s->offset == 0 && s->used != 0 ? flush(s, err) : SHEAF_OK;

    s->offset = 0;
    s->used = s->at = 0;
    return code;
}

static int fill(struct spool *s, struct sheaf_error *err)
{
    const size_t size = (size_t)MIN(BUFFER_BYTES, s->size - s->offset);

    if (size == 0)
        return err_set(err, SHEAF_ERR_TRUNCATED, "a temporary file has only %llu bytes",
                       (unsigned long long)s->size);
    s->at = 0;
    s->used = size;
    s->offset += size;
    return spool_read_at(s->fd, s->offset - size, s->buffer, size, err);
}

int spool_get(struct spool *s, void *data, size_t size, struct sheaf_error *err)
{
    uint8_t *into = data;

    while (size != 0) {
        size_t part;

        if (s->at == s->used) {
            const int code = fill(s, err);

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

int spool_get_varint(struct spool *s, uint64_t *value, struct sheaf_error *err)
{
    uint8_t bytes[VARINT_MOST];
    const uint8_t *at = bytes;
    size_t size = 0;

    do {
        const int code = spool_get(s, &bytes[size], 1, err);

        if (code != SHEAF_OK)
            return code;
    } while ((bytes[size++] & 0x80) != 0 && size < VARINT_MOST);
    if (!varint_take(&at, bytes + size, value))
        return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file has other bytes than were "
                       "written");
    return SHEAF_OK;
}
