/* SPDX-License-Identifier: MIT
 *
 * sheaf_feed: the writing side of SageMaker's Pipe mode.
 *
 * Each epoch has a named pipe of its own. The pipe is created before the previous epoch ends, so
 * that the reading program finds it. At the end of the epoch, the name of the pipe is removed. The
 * program has opened the pipe by then, and does not need the name any more.
 *
 * If the feeder fails, the program must not wait for a pipe forever, and must not take the
 * incomplete data for a whole epoch. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "formats/codec.h"
#include "formats/recordio.h"
#include "modes/fifo.h"
#include "modes/supply.h"
#include "store/made.h"
#include "store/store.h"

#define CHANNEL_LIMIT 64
#define CHANNEL_CHARACTERS                                                                      \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define RAW_BYTES     ((size_t)256 << 10)   /* unpacked at once */
#define LEAST_BYTES   ((uint64_t)48 << 20)
#define LATE_NS       10000000              /* interval at which a reader is looked for */

struct feed {
    const struct sheaf_feed_options *options;
    const char *directory;
    struct made_directories made;
    struct objects objects;
    struct supply *supply;
    struct fifo fifo;
    struct watch watch;
    struct sheaf_progress progress;
    struct codec_stream *stream;    /* decompressor for the object, while one is needed */
    struct buf record;              /* the object, while it is gathered into one record */
    uint8_t *raw;
    char *lock_path;
    int lock;                       /* -1: not held */
    struct sheaf_feed_result *result;
};

/* ---- Options --------------------------------------------------------------------------------- */

void sheaf_feed_options_init(struct sheaf_feed_options *options, size_t sizeof_options)
{
    const struct sheaf_feed_options defaults = {
        .sizeof_options = sizeof_options, .channel = "train", .hosts = 1,
        .memory_bytes = (uint64_t)256 << 20,
    };

    sized_give(options, sizeof_options, &defaults, sizeof(defaults));
}

static int check_channel(const char *channel, struct sheaf_error *err)
{
    const size_t size = channel == NULL ? 0 : strlen(channel);

    if (size != 0 && size <= CHANNEL_LIMIT && strspn(channel, CHANNEL_CHARACTERS) == size)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "expected a channel name of 1 to %d letters, digits, "
                   "'.', '-' and '_', found \"%.100s\"", CHANNEL_LIMIT, size == 0 ? "" : channel);
}

static int feed_check(const struct sheaf_feed_options *o, struct sheaf_error *err)
{
    uint64_t end;

    if (o->hosts == 0 || o->host >= o->hosts)
        return err_set(err, SHEAF_ERR_ARGUMENT, "host %u of %u: hosts are counted from 0", o->host,
                       o->hosts);
    if (__builtin_add_overflow(o->first_epoch, o->epochs, &end))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the epochs exceed 2^64");
    if (o->memory_bytes < LEAST_BYTES)
        return err_set(err, SHEAF_ERR_LIMIT, "the memory limit is %llu bytes, expected at least "
                       "%llu", (unsigned long long)o->memory_bytes,
                       (unsigned long long)LEAST_BYTES);
    return check_channel(o->channel, err);
}

/* ---- The pipes' names ------------------------------------------------------------------------ */

static char *feed_path_of(const struct feed *f, uint64_t epoch)
{
    char *path;

    return asprintf(&path, "%s/%s_%llu", f->directory, f->options->channel,
                    (unsigned long long)epoch) < 0 ? NULL : path;
}

static uint64_t feed_end_epoch(const struct feed *f)
{
    const struct sheaf_feed_options *o = f->options;

    return o->epochs == 0 ? UINT64_MAX : o->first_epoch + o->epochs;
}

static int make_pipe(const struct feed *f, uint64_t epoch, struct sheaf_error *err)
{
    char *path;
    int code;

    if (epoch >= feed_end_epoch(f))
        return SHEAF_OK;
    path = feed_path_of(f, epoch);
    code = path == NULL ? err_memory(err, strlen(f->directory)) : fifo_make(path, err);
    free(path);
    return code;
}

/* Removes the name of the pipe for `epoch`. This process must still have the pipe open for writing.
 * Otherwise a program that opens the pipe at the last moment would wait for a writer forever. */
static void remove_open_pipe(const struct feed *f, uint64_t epoch)
{
    char *path = feed_path_of(f, epoch);

    if (path != NULL)
        (void)unlink(path);
    free(path);
}

static void abandon_pipe(const struct feed *f, uint64_t epoch)
{
    char *path = feed_path_of(f, epoch);

    if (path != NULL)
        fifo_abandon(path);
    free(path);
}

/* Locks the pipe by a lock file, because two processes that feed the same pipe would mix their
 * bytes. Another process may remove the lock file just after this process has opened it. So the
 * function checks that the locked file still has a name (st_nlink), and otherwise tries again. */
static int feed_take_lock(struct feed *f, struct sheaf_error *err)
{
    struct stat st = { .st_nlink = 0 };

    if (asprintf(&f->lock_path, "%s/.%s.sheaf-pipe", f->directory, f->options->channel) < 0) {
        f->lock_path = NULL;
        return err_memory(err, strlen(f->directory));
    }
    while (st.st_nlink == 0) {
        if (f->lock >= 0)
            close(f->lock);
        f->lock = open(f->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (f->lock < 0 || fstat(f->lock, &st) != 0)
            return err_errno(err, errno, "%s: cannot create the lock", f->lock_path);
        if (flock(f->lock, LOCK_EX | LOCK_NB) == 0 && fstat(f->lock, &st) == 0)
            continue;
        if (errno != EWOULDBLOCK)
            return SHEAF_OK;    /* a file system without locks must do without one */
        close(f->lock);
        f->lock = -1;
        return err_set(err, SHEAF_ERR_EXISTS, "%s: another process feeds the channel %s",
                       f->directory, f->options->channel);
    }
    return SHEAF_OK;
}

static void give_lock(struct feed *f)
{
    if (f->lock >= 0) {
        (void)unlink(f->lock_path);
        close(f->lock);
    }
    free(f->lock_path);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* Writes bytes of an object to the pipe. If each object becomes a RecordIO record, collects the
 * bytes of the record in memory instead. */
static int feed_put(struct feed *f, const void *data, size_t size, struct sheaf_error *err)
{
    if (f->options->record_wrapper)
        return buf_append(&f->record, data, size, err);
    return fifo_put(&f->fifo, data, size, err);
}

static int feed_unpack(struct feed *f, const uint8_t *data, size_t size, struct sheaf_error *err)
{
    size_t given;
    int code;

    do {
        size_t taken = size;

        given = RAW_BYTES;
        code = codec_stream_push(f->stream, data, &taken, f->raw, &given, err);
        if (code == SHEAF_OK)
            code = feed_put(f, f->raw, given, err);
        data += taken;
        size -= taken;
    } while (code == SHEAF_OK && given == RAW_BYTES);
    return code;
}

static bool is_packed(const struct feed *f, const struct supply_piece *p)
{
    return f->options->gunzip && p->object->text == NULL;
}

static int begin_object(struct feed *f, const struct supply_piece *p, struct sheaf_error *err)
{
    f->record.size = 0;
    if (f->options->record_wrapper) {
        int code = buf_append(&f->record, "12345678", RECORDIO_HEADER_BYTES, err);

        if (code != SHEAF_OK)
            return code;
    }
    return is_packed(f, p) ? codec_stream_open(SHEAF_CODEC_GZIP, &f->stream, err) : SHEAF_OK;
}

static int feed_end_object(struct feed *f, struct sheaf_error *err)
{
    int code = f->stream == NULL ? SHEAF_OK : codec_stream_end(f->stream, err);

    codec_stream_free(f->stream);
    f->stream = NULL;
    if (code == SHEAF_OK && f->options->record_wrapper) {
        code = recordio_frame(&f->record, 0, err);
        if (code == SHEAF_OK)
            code = fifo_put(&f->fifo, f->record.data, f->record.size, err);
    }
    f->progress.done_count++;
    return code;
}

static int put_piece(struct feed *f, const struct supply_piece *p, struct sheaf_error *err)
{
    int code = p->begins ? begin_object(f, p, err) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = f->stream != NULL ? feed_unpack(f, p->data, p->size, err)
                                 : feed_put(f, p->data, p->size, err);
    if (code == SHEAF_OK && p->ends)
        code = feed_end_object(f, err);
    if (code < 0 && code != SHEAF_ERR_INTERRUPTED && code != SHEAF_ERR_IO)
        err_prefix(err, "%s: ", p->object->name);
    f->progress.done_bytes += p->size;
    f->progress.total_bytes = p->epoch_bytes;
    watch_show(&f->watch, &f->progress);
    return code;
}

/* ---- Epochs ---------------------------------------------------------------------------------- */

/* Waits until a program opens the pipe for this epoch for reading. Meanwhile, fetches the first
 * data of the epoch. */
static int wait_for_reader(struct feed *f, uint64_t epoch, struct sheaf_error *err)
{
    const struct timespec late = { .tv_nsec = LATE_NS };
    char *path = feed_path_of(f, epoch);
    int code = path == NULL ? err_memory(err, strlen(f->directory)) : SHEAF_END;

    while (code == SHEAF_END) {
        watch_show(&f->watch, &f->progress);
        code = fifo_open(&f->fifo, path, &f->watch, &f->progress, err);
        if (code == SHEAF_END && watch_check(&f->watch, err) != SHEAF_OK)
            code = SHEAF_ERR_INTERRUPTED;
        if (code == SHEAF_END && supply_fill(f->supply, err) != SHEAF_OK)
            code = err == NULL ? SHEAF_ERR_IO : err->code;
        if (code == SHEAF_END)
            nanosleep(&late, NULL);
    }
    free(path);
    return code;
}

/* Ends an epoch. First checks that all objects of this host were written to the pipe completely. */
static int finish_epoch(struct feed *f, const struct supply_piece *p, struct sheaf_error *err)
{
    if (f->progress.done_count != p->epoch_objects)
        return err_set(err, SHEAF_ERR_CHANGED, "fed %llu object%s, expected %llu",
                       (unsigned long long)f->progress.done_count, plural(f->progress.done_count),
                       (unsigned long long)p->epoch_objects);
    if (f->progress.done_bytes != p->epoch_bytes)
        return err_set(err, SHEAF_ERR_CHANGED, "fed %llu byte%s, expected %llu",
                       (unsigned long long)f->progress.done_bytes, plural(f->progress.done_bytes),
                       (unsigned long long)p->epoch_bytes);
    return fifo_end(&f->fifo, err);
}

static int feed_pieces(struct feed *f, struct sheaf_error *err)
{
    const struct supply_piece *p = NULL;
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        code = supply_fill(f->supply, err);
        if (code == SHEAF_OK && !supply_is_ready(f->supply))
            code = fifo_flush(&f->fifo, err);
        if (code == SHEAF_OK)
            code = supply_next(f->supply, &p, err);
        if (code == SHEAF_OK && p->object == NULL)
            return finish_epoch(f, p, err);
        if (code == SHEAF_OK)
            code = put_piece(f, p, err);
    }
    return code;
}

static int feed_epoch(struct feed *f, uint64_t epoch, struct sheaf_error *err)
{
    int code = make_pipe(f, epoch, err);

    f->progress = (struct sheaf_progress){ .stage = "pipe" };
    if (code == SHEAF_OK)
        code = wait_for_reader(f, epoch, err);
    if (code == SHEAF_OK)
        code = make_pipe(f, epoch + 1, err);
    if (code != SHEAF_OK)
        return code;
    code = feed_pieces(f, err);
    codec_stream_free(f->stream);
    f->stream = NULL;
    f->result->epochs++;
    f->result->objects += f->progress.done_count;
    f->result->bytes += f->fifo.written;
    f->result->closed_early += code == SHEAF_END;
    if (code >= 0) {
        remove_open_pipe(f, epoch);
        fifo_close(&f->fifo);
    }
    return code == SHEAF_END ? supply_pass(f->supply, epoch, err) : code;
}

/* Ends the pipes after an error in `epoch`. A program that reads a pipe, or waits for its writer,
 * gets an incomplete stream. The names of the pipes are removed before the open pipe is closed.
 * Otherwise the program could see the end of one pipe and open the next one, to which nobody would
 * write. */
static void abandon_epoch(struct feed *f, uint64_t epoch)
{
    abandon_pipe(f, epoch + 1);
    if (f->fifo.fd < 0) {
        abandon_pipe(f, epoch);
        return;
    }
    remove_open_pipe(f, epoch);
    fifo_tear(&f->fifo);
    fifo_close(&f->fifo);
}

static int feed_epochs(struct feed *f, struct sheaf_error *err)
{
    uint64_t epoch = f->options->first_epoch;
    int code = SHEAF_OK;

    for (; code == SHEAF_OK && epoch < feed_end_epoch(f); epoch++) {
        code = feed_epoch(f, epoch, err);
        if (code != SHEAF_OK)
            abandon_epoch(f, epoch);
    }
    return code;
}

/* ---- The call -------------------------------------------------------------------------------- */

static int feed_prepare(struct feed *f, const char *source, struct sheaf_error *err)
{
    const struct sheaf_feed_options *o = f->options;
    struct supply_setup setup = {
        .objects = &f->objects,
        .share = { .shuffle = o->shuffle, .seed = o->seed, .host = o->host, .hosts = o->hosts },
        .first_epoch = o->first_epoch, .end_epoch = feed_end_epoch(f),
        .memory_bytes = o->memory_bytes - 2 * RAW_BYTES - ((uint64_t)2 << 20),
        .interrupt = o->interrupt,
    };
    const struct share all = { .hosts = 1 };
    const struct share *asked = o->shuffle ? &all : &setup.share;
    uint32_t *order;
    int code = objects_list(source, o->attributes, &f->watch, &f->objects, err);

    if (code == SHEAF_OK)
        code = objects_refuse_unfinished(&f->objects, source, err);
    if (code == SHEAF_OK)
        code = objects_keep_shards(&f->objects, &f->result->left_out, err);
    if (code == SHEAF_OK && f->objects.is_augmented && o->attributes == NULL)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: an augmented manifest requires a list of "
                       "attributes, in order", source);
    if (code != SHEAF_OK)
        return code;
    order = calloc(f->objects.unit_count, sizeof(*order));
    f->raw = malloc(RAW_BYTES);
    if (order == NULL || f->raw == NULL) {
        free(order);
        return err_memory(err, f->objects.unit_count * sizeof(*order));
    }
    share_order(asked, 0, order, f->objects.unit_count);
    code = objects_ask(&f->objects, order, share_size(asked, f->objects.unit_count), &f->watch,
                       err);
    free(order);
    if (o->record_wrapper) {
        f->record.limit = (size_t)(o->memory_bytes / 4);
        setup.memory_bytes = o->memory_bytes / 2;
    }
    return code == SHEAF_OK ? supply_open(&f->supply, &setup, err) : code;
}

static int feed_run(struct feed *f, const char *source, struct sheaf_error *err)
{
    int code = feed_check(f->options, err);

    if (code == SHEAF_OK)
        code = feed_prepare(f, source, err);     /* a refused source leaves no directory behind */
    if (code == SHEAF_OK)
        code = store_make_directory(f->directory, &f->made, err);
    if (code == SHEAF_OK)
        code = feed_take_lock(f, err);
    if (code == SHEAF_OK)
        code = feed_epochs(f, err);
    if (f->supply != NULL)
        f->result->memory_peak_bytes = supply_memory_peak(f->supply);
    supply_close(f->supply);
    objects_free(&f->objects);
    buf_free(&f->record);
    free(f->raw);
    give_lock(f);
    /* EXISTS: another process feeds the channel, so the directory stays. */
    made_end(&f->made, code != SHEAF_OK && code != SHEAF_ERR_EXISTS);
    return code;
}

/* Writing to a pipe without a reader sends SIGPIPE to this thread, which could end the caller's
 * program. So this function blocks the signal while it writes, and discards the signal if it has
 * arrived. */
int sheaf_feed(const char *source, const char *directory,
               const struct sheaf_feed_options *options, struct sheaf_feed_result *result,
               struct sheaf_error *err)
{
    struct sheaf_feed_options o;
    struct feed f = { .options = &o, .directory = directory, .lock = -1, .fifo = { .fd = -1 },
                      .result = result };
    const struct timespec at_once = { 0 };
    sigset_t pipe_signal, before, pending;
    int code;

    sheaf_feed_options_init(&o, sizeof(o));
    sized_take(&o, sizeof(o), options);
    f.watch = (struct watch){ .progress = o.progress, .context = o.context,
                              .interrupt = o.interrupt };
    *result = (struct sheaf_feed_result){ 0 };
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    code = feed_run(&f, source, err);
    if (!sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe_signal, NULL, &at_once) > 0)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}
