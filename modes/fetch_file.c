/* SPDX-License-Identifier: MIT
 *
 * Writes one object to a file. */
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
#include "modes/safe_path.h"

/* ---- Finishing ------------------------------------------------------------------------------- */

static int put_in_place(struct fetch_file *f, struct sheaf_error *err)
{
    const char *name = f->object->name;
    struct timespec times[2];
    int fd, code, failed;

    /* A later run recognises a finished file by its size and its modification time. So the bytes
     * must be on the disk before the file gets its final name. */
    fetch_mark_times(f->object, times);
    failed = futimens(f->fd, times) == 0 && fdatasync(f->fd) == 0 ? 0 : errno;
    if (close(f->fd) != 0 && failed == 0)
        failed = errno;
    f->fd = -1;
    if (failed != 0)
        return err_errno(err, failed, "%s: cannot finish the file", name);
    code = safe_path_open(f->to->root_fd, name, &fd, err);
    if (code != SHEAF_OK)
        return code;
    if (renameat(f->to->partial_fd, f->temporary, fd, safe_path_base(name)) != 0)
        code = err_errno(err, errno, "%s: cannot rename the file into place", name);
    else
        f->temporary[0] = '\0';
    close(fd);
    return code;
}

static int fetch_file_finish(struct fetch_file *f, struct sheaf_error *err)
{
    bool checked;
    int code = fetch_hash_check(f, &checked, err);

    if (code == SHEAF_OK)
        code = put_in_place(f, err);
    if (code != SHEAF_OK)
        return code;
    pthread_mutex_lock(&f->to->lock);
    f->to->locked.files++;
    f->to->locked.verified += checked;
    pthread_mutex_unlock(&f->to->lock);
    return SHEAF_OK;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static void fetch_file_fail(struct fetch_file *f, const struct sheaf_error *found)
{
    struct fetch_destination *p = f->to;

    pthread_mutex_lock(&p->lock);
    if (p->locked.code == SHEAF_OK) {
        p->locked.code = found->code;
        p->locked.error = *found;
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_lock(&f->lock);
    f->failed = true;
    f->is_useless |= found->code == SHEAF_ERR_CHANGED || found->code == SHEAF_ERR_NOT_FOUND;
    pthread_mutex_unlock(&f->lock);
}

/* Finishes a file when all its bytes are written. If the check of the first attempt shows that the
 * bytes are damaged, marks the file for a second attempt, and subtracts its bytes from the
 * progress. */
static void finish_or_fail(struct fetch_file *f)
{
    struct sheaf_error err;
    const int code = fetch_file_finish(f, &err);

    if (code != SHEAF_ERR_CORRUPT || f->is_second) {
        if (code != SHEAF_OK)
            fetch_file_fail(f, &err);
        return;
    }
    f->is_damaged = true;
    pthread_mutex_lock(&f->to->lock);
    f->to->locked.bytes -= f->hashed_bytes - f->resumed_bytes;
    pthread_mutex_unlock(&f->to->lock);
}

/* Adds `bytes` to the progress and marks the part as done. After this call, the planning thread may
 * free the part. After the last part of a file, it may free the file as well. */
static void fetch_file_done(struct fetch_destination *p, struct fetch_part *part, size_t bytes)
{
    pthread_mutex_lock(&p->lock);
    p->locked.bytes += bytes;
    pthread_mutex_unlock(&p->lock);
    inflight_done(&part->base.item);
}

static int write_part(const struct fetch_part *part, struct sheaf_error *err)
{
    const struct store_read *r = &part->base.read;

    return fd_write_at(part->file->fd, part->data, r->size, r->offset) == r->size ? SHEAF_OK
           : err_errno(err, errno != 0 ? errno : ENOSPC, "%s: writing %zu bytes at %llu",
                       part->file->object->name, r->size, (unsigned long long)r->offset);
}

/* Hashes the written parts of the file, in the order of the file, up to the first part that is not
 * written yet. If another worker is already hashing this file, returns at once, because that worker
 * will also hash the part `written`. */
static void fetch_file_drain(struct fetch_file *f, struct fetch_part *written)
{
    struct fetch_destination *to = f->to;
    struct fetch_part *part;
    bool failed, is_last = false;
    size_t size;

    pthread_mutex_lock(&f->lock);
    written->is_written = true;
    if (f->is_draining) {
        pthread_mutex_unlock(&f->lock);
        return;
    }
    f->is_draining = true;
    while (!is_last && (part = f->head) != NULL && part->is_written) {
        f->head = part->next;
        if (f->head == NULL)
            f->tail = NULL;
        failed = f->failed;
        is_last = part->is_last;
        /* No partial file is kept for a later run once the last part is hashed: the file then gets
         * its final name, or its bytes are damaged. */
        f->is_useless |= is_last && !failed;
        pthread_mutex_unlock(&f->lock);
        size = part->base.read.size;
        if (!failed)
            fetch_hash_add(f, part->data, part->base.read.size);
        if (!failed && is_last)
            finish_or_fail(f);
        fetch_file_done(to, part, failed || f->is_damaged ? 0 : part->base.read.size);
        if (is_last)
            return;             /* the file may be gone */
        pthread_mutex_lock(&f->lock);
        f->hashed_bytes += failed ? 0 : size;
    }
    f->is_draining = false;
    pthread_mutex_unlock(&f->lock);
}

static void fetch_file_run(struct job *job)
{
    struct fetch_part *part = (struct fetch_part *)(void *)((char *)job -
                                                           offsetof(struct fetch_part, job));
    struct sheaf_error err;

    if (part->base.read.code != SHEAF_OK)
        fetch_file_fail(part->file, &part->base.read.error);
    else if (write_part(part, &err) != SHEAF_OK)
        fetch_file_fail(part->file, &err);
    fetch_file_drain(part->file, part);
}

static void come(struct store_read *read)
{
    struct fetch_part *part = (struct fetch_part *)(void *)((char *)read -
                                                       offsetof(struct fetch_part, base.read));

    workers_submit(part->file->to->workers, &part->job);
}

/* ---- Files ----------------------------------------------------------------------------------- */

size_t fetch_file_next_bytes(const struct fetch_file *f)
{
    return (size_t)MIN(f->object->bytes - f->asked_bytes, FETCH_PART_BYTES);
}

int fetch_file_ask(struct fetch_file *f, struct inflight *window, struct sheaf_error *err)
{
    const size_t size = fetch_file_next_bytes(f);
    struct fetch_part *part = malloc(sizeof(*part) + size);

    if (part == NULL)
        return err_memory(err, sizeof(*part) + size);
    *part = (struct fetch_part){
        .base.read = { .object = f->source, .offset = f->asked_bytes, .data = part->data,
                       .size = size, .done = come },
        .job = { .run = fetch_file_run, .detached = true }, .file = f,
    };
    f->asked_bytes += size;
    f->parts++;
    part->is_last = f->asked_bytes == f->object->bytes;
    pthread_mutex_lock(&f->lock);
    if (f->tail != NULL)
        f->tail->next = part;
    else
        f->head = part;
    f->tail = part;
    pthread_mutex_unlock(&f->lock);
    inflight_begin(window, &part->base.item);
    store_read_start(&part->base.read);
    return SHEAF_OK;
}

/* Opens the temporary file for writing. If an earlier run has kept a partial file, continues this
 * file, and otherwise begins a new file. */
static int open_temporary(struct fetch_file *f, unsigned number, struct sheaf_error *err)
{
    int code;

    snprintf(f->temporary, sizeof(f->temporary), "%u.tmp", number);
    code = fetch_kept_take(f, err);
    if (code != SHEAF_END)
        return code;
    f->fd = openat(f->to->partial_fd, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   0666);
    if (f->fd >= 0)
        return SHEAF_OK;
    f->temporary[0] = '\0';
    return err_errno(err, errno, "%s: cannot make a temporary file", f->object->name);
}

int fetch_file_open(struct fetch_file **out, struct fetch_destination *to,
                    const struct object *object, const char *xxh3, unsigned number,
                    bool is_second, struct sheaf_error *err)
{
    struct fetch_file *f = calloc(1, sizeof(*f));
    char *url = object_url(to->objects, object);
    int code = f == NULL || url == NULL ? err_memory(err, strlen(object->name)) : SHEAF_OK;

    if (f != NULL) {
        *f = (struct fetch_file){ .to = to, .object = object, .xxh3 = xxh3, .fd = -1,
                                  .number = number, .is_second = is_second };
        pthread_mutex_init(&f->lock, NULL);
    }
    if (code == SHEAF_OK)
        code = store_open_known(url, object->bytes, object->stamp, &f->source, err);
    if (code == SHEAF_OK)
        code = fetch_hash_open(f, err);
    if (code == SHEAF_OK)
        code = open_temporary(f, number, err);
    if (code == SHEAF_OK)
        f->resumed_bytes = f->asked_bytes;
    if (code == SHEAF_OK && object->bytes == 0)
        code = fetch_file_finish(f, err);
    free(url);
    *out = f;
    if (code != SHEAF_OK) {
        fetch_file_close(f);
        *out = NULL;
    }
    return code;
}

void fetch_file_close(struct fetch_file *f)
{
    if (f == NULL)
        return;
    if (f->fd >= 0 && f->temporary[0] != '\0')
        fetch_kept_leave(f);
    if (f->fd >= 0)
        close(f->fd);
    if (f->temporary[0] != '\0')
        (void)unlinkat(f->to->partial_fd, f->temporary, 0);
    store_close(f->source);
    fetch_hash_close(f);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
