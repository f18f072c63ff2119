/* SPDX-License-Identifier: MIT
 *
 * Handles partial files. A failed or interrupted run keeps the partial file of a large object, so
 * that the next run can continue it. A partial file has the object's first bytes, without holes, up
 * to the last byte that was hashed.
 *
 * The name of the partial file is made from the object's name and ETag. So a later run continues
 * the file only if the object has not changed. When the file is complete, its bytes are compared
 * with the hash in the manifest, or with the MD5 in the ETag, if one of the two is known. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd_io.h"
#include "modes/fetch.h"

#define SUFFIX     ".part"
#define NAME_BYTES 48
#define READ_BYTES ((size_t)1 << 20)

/* Returns whether a partial copy of this object can be kept. Only complete parts are kept, so the
 * object must be larger than one part. Its ETag must be known, because the name of the partial copy
 * contains the ETag. */
static bool may_be_kept(const struct object *o)
{
    return o->bytes > FETCH_PART_BYTES && o->stamp != 0;
}

static void fetch_kept_name_of(const struct object *o, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016llx-%016llx" SUFFIX,
             (unsigned long long)XXH3_64bits(o->name, strlen(o->name)),
             (unsigned long long)o->stamp);
}

bool fetch_kept_is(const char *name)
{
    const size_t size = strlen(name), tail = strlen(SUFFIX);

    return size > tail && strcmp(name + size - tail, SUFFIX) == 0;
}

uint64_t fetch_kept_bytes(const struct fetch_destination *p, const struct object *o)
{
    char name[NAME_BYTES];
    struct stat st;

    if (!may_be_kept(o))
        return 0;
    fetch_kept_name_of(o, name);
    return fstatat(p->partial_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
               ? MIN((uint64_t)st.st_size, o->bytes) : 0;
}

/* Hashes the first `size` bytes of the file. */
static bool hash_beginning(struct fetch_file *f, uint64_t size)
{
    uint8_t *buffer = malloc(READ_BYTES);
    uint64_t at = 0;

    while (buffer != NULL && at < size) {
        const size_t n = fd_read_at(f->fd, buffer, MIN(READ_BYTES, size - at), at);

        if (n == 0)
            break;
        fetch_hash_add(f, buffer, n);
        at += n;
    }
    free(buffer);
    return at == size;
}

int fetch_kept_take(struct fetch_file *f, struct sheaf_error *err)
{
    const uint64_t size = fetch_kept_bytes(f->to, f->object);
    const int partial_fd = f->to->partial_fd;
    char name[NAME_BYTES];

    if (size == 0 || size == f->object->bytes)
        return SHEAF_END;
    fetch_kept_name_of(f->object, name);
    if (renameat(partial_fd, name, partial_fd, f->temporary) != 0)
        return SHEAF_END;
    f->fd = openat(partial_fd, f->temporary, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd < 0 || ((f->hash != NULL || f->md5 != NULL) && !hash_beginning(f, size)))
        return err_errno(err, errno, "%s: cannot read its partial file", f->object->name);
    f->asked_bytes = f->hashed_bytes = size;
    return SHEAF_OK;
}

void fetch_kept_leave(struct fetch_file *f)
{
    const int partial_fd = f->to->partial_fd;
    char name[NAME_BYTES];

    if (!may_be_kept(f->object) || f->is_useless || f->hashed_bytes == 0)
        return;
    fetch_kept_name_of(f->object, name);
    if (ftruncate(f->fd, (off_t)f->hashed_bytes) == 0 && fdatasync(f->fd) == 0 &&
        renameat(partial_fd, f->temporary, partial_fd, name) == 0)
        f->temporary[0] = '\0';
}

static bool fetch_kept_is_wanted(const struct objects *objects, const uint32_t *items, size_t count,
                                 const char *name)
{
    char wanted[NAME_BYTES];

    for (size_t i = 0; i < count; i++) {
        const struct object *o = &objects->items[items[i]];

        if (!may_be_kept(o))
            continue;
        fetch_kept_name_of(o, wanted);
        if (strcmp(wanted, name) == 0)
            return true;
    }
    return false;
}

int fetch_kept_sweep(const struct fetch_destination *p, const uint32_t *items, size_t count,
                     struct sheaf_error *err)
{
    const int fd = openat(p->partial_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;
    int failed = 0;

    if (directory == NULL)
        return err_errno(err, errno, "cannot list the partial files");
    while (failed == 0 && (d = readdir(directory)) != NULL)
        if (fetch_kept_is(d->d_name) && !fetch_kept_is_wanted(p->objects, items, count, d->d_name)
            && unlinkat(p->partial_fd, d->d_name, 0) != 0)
            failed = errno;
    closedir(directory);
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "cannot remove a partial file");
}
