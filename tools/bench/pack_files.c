/* SPDX-License-Identifier: MIT
 *
 * pack_files TREE OUT: measures the highest speed at which a program can pack files.
 *
 * One thread per processor opens, reads and closes the files of a directory tree. The files are
 * read directly into memory that is then written to shards of 150 MB, without filling the page
 * cache. Each shard is synced to the disk before it gets its name. The program does not examine the
 * files, keeps no order, and does not record where a file ends. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/bench/meter.h"

#define PAGE_BYTES   ((size_t)4096)
#define PIECE_BYTES  ((size_t)2 << 20)
#define FILE_MOST    ((size_t)64 << 20)
#define SHARD_BYTES  ((uint64_t)150000000)
/* number of neighbouring files of the tree that a thread takes in one step */
#define AT_ONCE      64u
#define THREADS_MOST 64

static struct {
    const char *out;
    char **paths;
    size_t count, capacity;
    atomic_size_t taken, shards;
    atomic_uint_least64_t bytes;
} all;

/* The shard that a thread fills and writes. */
struct shard {
    unsigned char *memory;      /* room for a piece and the largest file */
    size_t held;
    uint64_t written;
    size_t number;
    int fd;
};

static void add_path(const char *path)
{
    if (all.count == all.capacity) {
        all.capacity = all.capacity == 0 ? 1024 : 2 * all.capacity;
        all.paths = realloc(all.paths, all.capacity * sizeof(all.paths[0]));
    }
    if (!all.paths || !(all.paths[all.count++] = strdup(path)))
        meter_die(path, "no memory");
}

static void walk(char *tree)
{
    char *const roots[] = { tree, NULL };
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    if (!fts)
        meter_die(tree, strerror(errno));
    while ((entry = fts_read(fts)) != NULL)
        if (entry->fts_info == FTS_F || entry->fts_info == FTS_NSOK)
            add_path(entry->fts_path);
    fts_close(fts);
}

static void name_shard(const struct shard *s, const char *suffix, char *name, size_t size)
{
    snprintf(name, size, "%s/shard-%06zu%s", all.out, s->number, suffix);
}

static void begin_shard(struct shard *s)
{
    char name[4096];

    s->number = atomic_fetch_add(&all.shards, 1);
    name_shard(s, ".part", name, sizeof(name));
    s->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_DIRECT, 0666);
    s->written = 0;
    if (s->fd < 0)
        meter_die(name, strerror(errno));
}

/* Writes the first `size` bytes of the buffer to the shard, and moves the rest of the buffer to its
 * beginning. */
static void put(struct shard *s, size_t size)
{
    size_t done = 0;

    while (done < size) {
        const ssize_t n = write(s->fd, s->memory + done, size - done);

        if (n < 0)
            meter_die("write", strerror(errno));
        done += (size_t)n;
    }
    memmove(s->memory, s->memory + size, s->held - size);
    s->held -= size;
    s->written += size;
}

static void end_shard(struct shard *s)
{
    char half[4096], name[4096];

    put(s, s->held / PAGE_BYTES * PAGE_BYTES);
    if (fcntl(s->fd, F_SETFL, 0) != 0)      /* the last page is not full */
        meter_die("fcntl", strerror(errno));
    put(s, s->held);
    name_shard(s, ".part", half, sizeof(half));
    name_shard(s, "", name, sizeof(name));
    if (fsync(s->fd) != 0 || close(s->fd) != 0 || rename(half, name) != 0)
        meter_die(name, strerror(errno));
    s->fd = -1;
}

static void add_file(struct shard *s, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const size_t room = PIECE_BYTES + FILE_MOST - s->held;
    ssize_t got;

    if (fd < 0)
        meter_die(path, strerror(errno));
    got = read(fd, s->memory + s->held, room);
    if (got < 0 || (size_t)got == room)
        meter_die(path, got < 0 ? strerror(errno) : "too large");
    close(fd);
    s->held += (size_t)got;
    atomic_fetch_add(&all.bytes, (uint64_t)got);
}

static void *run(void *unused)
{
    struct shard s = { .fd = -1, .memory = aligned_alloc(PAGE_BYTES, PIECE_BYTES + FILE_MOST) };
    size_t at;

    (void)unused;
    if (!s.memory)
        meter_die("memory", strerror(ENOMEM));
    while ((at = atomic_fetch_add(&all.taken, AT_ONCE)) < all.count)
        for (size_t i = at; i < at + AT_ONCE && i < all.count; i++) {
            if (s.fd < 0)
                begin_shard(&s);
            add_file(&s, all.paths[i]);
            if (s.held >= PIECE_BYTES)
                put(&s, s.held / PAGE_BYTES * PAGE_BYTES);
            if (s.written + s.held >= SHARD_BYTES)
                end_shard(&s);
        }
    if (s.fd >= 0)
        end_shard(&s);
    free(s.memory);
    return NULL;
}

/* Makes names durable by syncing their directory. */
static void sync_directory(void)
{
    const int fd = open(all.out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) != 0)
        meter_die(all.out, strerror(errno));
    close(fd);
}

int main(int argc, char **argv)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[THREADS_MOST];
    struct meter meter;
    long count = processors < THREADS_MOST ? processors : THREADS_MOST;

    if (argc != 3)
        meter_die(argv[0], "usage: pack_files TREE OUT");
    meter_begin(&meter);
    all.out = argv[2];
    if (mkdir(all.out, 0777) != 0)
        meter_die(all.out, strerror(errno));
    walk(argv[1]);
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0)
            meter_die("pthread_create", strerror(errno));
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    sync_directory();
    meter.items = all.count;
    meter.bytes = all.bytes;
    meter_print(&meter);
    for (size_t i = 0; i < all.count; i++)
        free(all.paths[i]);
    free(all.paths);
    return 0;
}
