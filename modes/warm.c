/* SPDX-License-Identifier: MIT
 *
 * sheaf_warm: reads files and discards the bytes, so that a file system that loads files on demand
 * (FSx for Lustre) loads them. Such a file system is fastest with large reads, and if several files
 * are read at the same time. Large files are divided among threads, so that one large file does not
 * delay the end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/workers.h"
#include "modes/fetch.h"
#include "modes/objects.h"
#include "store/store.h"

#define STRETCH_BYTES ((uint64_t)256 << 20)
#define READ_BYTES    ((size_t)4 << 20)
#define READERS_MOST  64
/* Number of reading threads. It does not depend on the number of processors, because the threads
 * spend their time waiting for the network. */
#define READERS_USUAL 16
#define LOOK_NS       50000000

struct file_warming;

struct warm_reader {
    struct job job;
    struct file_warming *owner;
    uint8_t *buffer;
};

struct file_warming {
    const struct objects *objects;
    struct warm_reader readers[READERS_MOST];
    pthread_mutex_t lock;
    struct {
        /* index (in `objects`) of the file that is read next; `offset` is the position in this file
         * at which the next read begins */
        size_t item;
        uint64_t offset;
        uint64_t bytes;         /* that were read */
        bool stop;
        int code;               /* the first failure */
        struct sheaf_error error;
    } locked;
};

struct file_stretch {
    const struct object *object;
    uint64_t offset, bytes;
};

static bool next_stretch(struct file_warming *w, struct file_stretch *s)
{
    bool any;

    pthread_mutex_lock(&w->lock);
    any = w->locked.item < w->objects->count && !w->locked.stop;
    if (any) {
        s->object = &w->objects->items[w->locked.item];
        s->offset = w->locked.offset;
        s->bytes = MIN(s->object->bytes - s->offset, STRETCH_BYTES);
        w->locked.offset += s->bytes;
        if (w->locked.offset == s->object->bytes) {
            w->locked.offset = 0;
            w->locked.item++;
        }
    }
    pthread_mutex_unlock(&w->lock);
    return any;
}

/* Counts bytes read. Returns whether to continue. */
static bool count(struct file_warming *w, uint64_t bytes)
{
    bool go_on;

    pthread_mutex_lock(&w->lock);
    w->locked.bytes += bytes;
    go_on = !w->locked.stop;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static int read_stretch(struct warm_reader *r, const struct file_stretch *s, const char *path,
                        int fd, struct sheaf_error *err)
{
    for (uint64_t at = 0; at < s->bytes;) {
        const ssize_t n = pread(fd, r->buffer, (size_t)MIN(s->bytes - at, READ_BYTES),
                                (off_t)(s->offset + at));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, errno, "%s: reading at %llu", path,
                             (unsigned long long)(s->offset + at));
        if (n == 0)
            return err_set(err, SHEAF_ERR_CHANGED, "%s: ends at offset %llu, expected %llu byte%s",
                           path, (unsigned long long)(s->offset + at),
                           (unsigned long long)s->object->bytes, plural(s->object->bytes));
        at += (uint64_t)n;
        if (!count(r->owner, (uint64_t)n))
            break;
    }
    return SHEAF_OK;
}

static int warm_stretch(struct warm_reader *r, const struct file_stretch *s,
                        struct sheaf_error *err)
{
    char *path = object_url(r->owner->objects, s->object);
    int code, fd;

    if (path == NULL)
        return err_memory(err, strlen(s->object->name));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        code = err_errno(err, errno, "%s: cannot open", path);
    } else {
        (void)posix_fadvise(fd, (off_t)s->offset, (off_t)s->bytes, POSIX_FADV_SEQUENTIAL);
        code = read_stretch(r, s, path, fd, err);
        close(fd);
    }
    free(path);
    return code;
}

static void warm_run(struct job *job)
{
    struct warm_reader *r = (struct warm_reader *)job;
    struct file_warming *w = r->owner;
    struct sheaf_error err;
    struct file_stretch s;

    while (next_stretch(w, &s)) {
        if (warm_stretch(r, &s, &err) == SHEAF_OK)
            continue;
        pthread_mutex_lock(&w->lock);
        if (w->locked.code == SHEAF_OK) {
            w->locked.code = err.code;
            w->locked.error = err;
        }
        w->locked.stop = true;
        pthread_mutex_unlock(&w->lock);
    }
}

static void stop(struct file_warming *w)
{
    pthread_mutex_lock(&w->lock);
    w->locked.stop = true;
    pthread_mutex_unlock(&w->lock);
}

static int warm_wait_for(struct file_warming *w, struct workers *workers, struct job *job,
                         uint64_t total_bytes, struct watch *watch, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (!workers_wait_for(workers, job, LOOK_NS)) {
        struct sheaf_progress progress = { .stage = "warm", .total_bytes = total_bytes };

        pthread_mutex_lock(&w->lock);
        progress.done_bytes = w->locked.bytes;
        pthread_mutex_unlock(&w->lock);
        watch_show(watch, &progress);
        if (code == SHEAF_OK)
            code = watch_check(watch, err);
        if (code != SHEAF_OK)
            stop(w);
    }
    return code;
}

static int warm_do(struct file_warming *w, unsigned threads, uint64_t total_bytes,
                   struct watch *watch, struct sheaf_error *err)
{
    struct workers *workers = NULL;
    uint8_t *buffers = malloc(threads * READ_BYTES);
    int code = buffers == NULL ? err_memory(err, threads * READ_BYTES)
                               : workers_open(&workers, threads, err);

    for (unsigned i = 0; code == SHEAF_OK && i < threads; i++) {
        w->readers[i] = (struct warm_reader){ .job = { .run = warm_run }, .owner = w,
                                              .buffer = buffers + i * READ_BYTES };
        workers_submit(workers, &w->readers[i].job);
    }
    for (unsigned i = 0; workers != NULL && i < threads; i++) {
        const int waited = warm_wait_for(w, workers, &w->readers[i].job, total_bytes, watch,
                                         code == SHEAF_OK ? err : NULL);

        if (code == SHEAF_OK)
            code = waited;
    }
    workers_close(workers);
    free(buffers);
    if (code == SHEAF_OK && w->locked.code != SHEAF_OK) {
        code = w->locked.code;
        if (err != NULL)
            *err = w->locked.error;
    }
    return code;
}

static int warm_list_files(const char *path, struct watch *watch, struct objects *o,
                           struct sheaf_error *err)
{
    const uint32_t only = 0;
    int code;

    if (!store_is_local(path))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: only local files can be warmed", path);
    code = objects_list_files(path, watch, o, err);
    return code == SHEAF_OK && o->count == 1 ? objects_ask(o, &only, 1, watch, err) : code;
}

int sheaf_warm(const char *path, const struct sheaf_fetch_options *options,
               struct sheaf_warm_result *result, struct sheaf_error *err)
{
    struct file_warming w = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct sheaf_fetch_options o;
    struct objects objects = { 0 };
    struct watch watch;
    uint64_t total_bytes = 0;
    int code;

    watch = fetch_options_take(options, &o);
    w.objects = &objects;
    code = workers_check("threads", o.threads, err);
    if (code == SHEAF_OK)
        code = warm_list_files(path, &watch, &objects, err);
    for (size_t i = 0; i < objects.count; i++)
        total_bytes += objects.items[i].bytes;
    if (code == SHEAF_OK)
        code = warm_do(&w, MIN(o.threads == 0 ? READERS_USUAL : o.threads, (unsigned)READERS_MOST),
                       total_bytes, &watch, err);
    *result = (struct sheaf_warm_result){ objects.count, w.locked.bytes };
    objects_free(&objects);
    pthread_mutex_destroy(&w.lock);
    return code;
}
