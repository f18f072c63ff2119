/* SPDX-License-Identifier: MIT
 *
 * Handles the files of a cache. A block is written to a temporary file, which is renamed when it is
 * complete. So an incomplete block never has the name of a block.
 *
 * The file DIR/total stores the total size of all blocks in bytes. A process locks this file while
 * it changes the total or removes blocks. Reading a block needs no lock, because an open file stays
 * readable after it is removed.
 *
 * Threads of one process share the descriptor of DIR/total, so the lock does not exclude them from
 * each other. Therefore a thread takes a mutex before it takes the lock. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/fd_io.h"
#include "store/cache.h"

#define TRAILER 8               /* bytes of a block's hash, which follows the block */
#define TEMPORARY ".new-"
#define ABANDONED_SECONDS 3600  /* an older temporary file has no owner */

/* A block, as an element of a list of blocks that is sorted by age, so that the oldest blocks can
 * be removed first. */
struct old {
    int64_t used_ns;
    uint64_t bytes;
    char name[CACHE_NAME_BYTES];        /* "<hash>/<block>" */
};

struct olds {
    struct old *list;
    size_t count, capacity;
    uint64_t bytes;
};

int cache_files_open(struct cache_files *f, const char *directory, uint64_t limit_bytes,
                     struct sheaf_error *err)
{
    struct stat st;
    int failed;

    *f = (struct cache_files){ .directory = -1, .total = -1, .limit = limit_bytes,
                               .lock = PTHREAD_MUTEX_INITIALIZER };
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return err_errno(err, errno, "%s: cannot create the cache directory", directory);
    f->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->directory < 0)
        return err_errno(err, errno, "%s: cannot open the cache directory", directory);
    f->total = openat(f->directory, "total", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->total >= 0 && (fstat(f->total, &st) != 0 || st.st_size > (off_t)sizeof(uint64_t))) {
        cache_files_close(f);
        return err_set(err, SHEAF_ERR_EXISTS, "%s/total: is not a file of the cache: choose a "
                       "directory of its own for the cache", directory);
    }
    if (f->total < 0) {
        failed = errno;
        cache_files_close(f);
        return err_errno(err, failed, "%s/total: cannot open", directory);
    }
    return SHEAF_OK;
}

void cache_files_close(struct cache_files *f)
{
    if (f->directory >= 0)
        close(f->directory);
    if (f->total >= 0)
        close(f->total);
    f->directory = f->total = -1;
}

void cache_files_name(const struct store_object *object, const char *version,
                      char name[CACHE_NAME_BYTES])
{
    const char *asked = object->asked != NULL ? object->asked : object->url;
    XXH3_state_t *state = XXH3_createState();

    name[0] = '\0';
    if (state == NULL)
        return;
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, asked, strlen(asked) + 1);
    XXH3_128bits_update(state, version, strlen(version) + 1);
    XXH3_128bits_update(state, &object->bytes, sizeof(object->bytes));
    hash_text(XXH3_128bits_digest(state), name);
    XXH3_freeState(state);
}

static void block_name(char name[CACHE_NAME_BYTES], const char *object, uint64_t block)
{
    snprintf(name, CACHE_NAME_BYTES, "%.32s/%08" PRIx64, object, block);
}

/* Computes the hash of a block. The hash also covers the block's name, so that a block under the
 * wrong name is recognised. */
static uint64_t cache_files_hash_of(const char *name, const void *data, size_t size)
{
    return XXH3_64bits_withSeed(data, size, XXH3_64bits(name, strlen(name)));
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Opens the file of a block for reading. Writes the path of the file to `name`. Returns the
 * descriptor, or -1 if there is no such file. */
static int cache_files_open_block(const struct cache_files *f, const char *object, uint64_t block,
                                  char name[CACHE_NAME_BYTES])
{
    block_name(name, object, block);
    return openat(f->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

bool cache_files_get(const struct cache_files *f, const char *object, uint64_t block, void *data,
                     size_t size)
{
    char name[CACHE_NAME_BYTES];
    uint8_t trailer[TRAILER];
    struct stat st;
    const int fd = cache_files_open_block(f, object, block, name);
    bool good;

    if (fd < 0)
        return false;
    good = fstat(fd, &st) == 0 && st.st_size == (off_t)(size + TRAILER) &&
           fd_read_at(fd, data, size, 0) == size &&
           fd_read_at(fd, trailer, TRAILER, size) == TRAILER &&
           load64(trailer) == cache_files_hash_of(name, data, size);
    if (good)
        good = futimens(fd, NULL) == 0 || errno == EACCES || errno == EPERM || errno == EROFS;
    else
        (void)unlinkat(f->directory, name, 0);
    close(fd);
    return good;
}

bool cache_files_part(const struct cache_files *f, const char *object, uint64_t block,
                      size_t offset, void *data, size_t size)
{
    char name[CACHE_NAME_BYTES];
    const int fd = cache_files_open_block(f, object, block, name);
    bool good;

    if (fd < 0)
        return false;
    good = fd_read_at(fd, data, size, offset) == size;
    close(fd);
    return good;
}

void cache_files_drop(const struct cache_files *f, const char *object, uint64_t block)
{
    char name[CACHE_NAME_BYTES];

    block_name(name, object, block);
    (void)unlinkat(f->directory, name, 0);
}

/* ---- Making room ----------------------------------------------------------------------------- */

static bool add_old(struct olds *olds, const struct old *old)
{
    if (olds->count == olds->capacity) {
        const size_t capacity = MAX(2 * olds->capacity, (size_t)1024);
        struct old *grown = reallocarray(olds->list, capacity, sizeof(*grown));

        if (grown == NULL)
            return false;
        olds->list = grown;
        olds->capacity = capacity;
    }
    olds->list[olds->count++] = *old;
    olds->bytes += old->bytes;
    return true;
}

static void cache_files_list_one(const struct cache_files *f, const char *object, const char *block,
                                 struct olds *olds)
{
    struct old old;
    struct stat st;

    if (snprintf(old.name, sizeof(old.name), "%s/%s", object, block) >= (int)sizeof(old.name) ||
        fstatat(f->directory, old.name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (strncmp(block, TEMPORARY, strlen(TEMPORARY)) == 0 &&
        st.st_mtime + ABANDONED_SECONDS < time(NULL)) {
        (void)unlinkat(f->directory, old.name, 0);
        return;
    }
    old.used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    old.bytes = (uint64_t)st.st_size;
    if (!add_old(olds, &old))
        olds->bytes += old.bytes;
}

/* Returns whether `name` consists of `least` to `most` hexadecimal digits, like the names of blocks
 * and of their directories. */
static bool is_hex(const char *name, size_t least, size_t most)
{
    const size_t size = strspn(name, "0123456789abcdef");

    return name[size] == '\0' && size >= least && size <= most;
}

static bool is_block(const char *name)
{
    return is_hex(name, 8, 16) || strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
}

static DIR *cache_files_open_directory(int at, const char *name)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);

    if (directory == NULL && fd >= 0)
        close(fd);
    return directory;
}

static void cache_files_list_all(const struct cache_files *f, struct olds *olds)
{
    DIR *all = cache_files_open_directory(f->directory, "."), *one;
    const struct dirent *d, *e;

    while (all != NULL && (d = readdir(all)) != NULL) {
        if (!is_hex(d->d_name, 32, 32))
            continue;
        one = cache_files_open_directory(f->directory, d->d_name);
        while (one != NULL && (e = readdir(one)) != NULL)
            if (is_block(e->d_name))
                cache_files_list_one(f, d->d_name, e->d_name, olds);
        if (one != NULL)
            closedir(one);
    }
    if (all != NULL)
        closedir(all);
}

static int compare_ages(const void *a, const void *b)
{
    const struct old *x = a, *y = b;

    return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* Removes the least recently used blocks until `bytes` more bytes fit. Then removes further
 * blocks until a tenth of the cache's limit is free, so that the next blocks fit without a
 * removal. Returns the total size in bytes of the blocks that stay in the cache. */
static uint64_t evict(const struct cache_files *f, uint64_t bytes)
{
    const uint64_t most = f->limit - MIN(f->limit, f->limit / 10 + bytes);
    struct olds olds = { .list = NULL };

    cache_files_list_all(f, &olds);
    if (olds.count != 0)
        qsort(olds.list, olds.count, sizeof(olds.list[0]), compare_ages);
    for (size_t i = 0; i < olds.count && olds.bytes > most; i++) {
        struct old *old = &olds.list[i];

        if (strstr(old->name, "/" TEMPORARY) != NULL ||
            unlinkat(f->directory, old->name, 0) != 0)
            continue;
        olds.bytes -= old->bytes;
        *strchr(old->name, '/') = '\0';
        (void)unlinkat(f->directory, old->name, AT_REMOVEDIR);     /* if it was the last */
    }
    free(olds.list);
    return olds.bytes;
}

/* Adds `bytes` to the total size of all blocks, and removes blocks if the total exceeds the
 * cache's limit. Returns false if the removals do not make enough room. The lock of the file
 * `total` must be held. */
static bool reserve_locked(const struct cache_files *f, uint64_t bytes)
{
    uint64_t total = 0;
    bool fits;

    if (fd_read_at(f->total, &total, sizeof(total), 0) != sizeof(total))
        total = UINT64_MAX;     /* it is new, or damaged */
    if (total > f->limit || bytes > f->limit - total)
        total = evict(f, bytes);
    fits = total <= f->limit && bytes <= f->limit - total;
    total += fits ? bytes : 0;
    if (pwrite(f->total, &total, sizeof(total), 0) != (ssize_t)sizeof(total))
        fits = false;
    return fits;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Creates a temporary file for a block, and the directory of the object. If another process removes
 * the empty directory at the same moment, it is created again. */
static int cache_files_create(const struct cache_files *f, const char *object, const char *name)
{
    int fd = -1;

    for (unsigned i = 0; i < 3 && fd < 0; i++) {
        fd = openat(f->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != ENOENT)
            return -1;
        if (fd < 0 && mkdirat(f->directory, object, 0777) != 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

/* Creates a temporary file for a block of `bytes` bytes, and adds `bytes` to the total size of all
 * blocks. The file gets its full size at once. So a process that computes the total again from the
 * sizes of all files counts this file correctly. Returns the descriptor, or -1 on failure. The lock
 * of the file `total` must be held. */
static int create_locked(const struct cache_files *f, const char *object, const char *name,
                         uint64_t bytes)
{
    const int fd = bytes <= f->limit && reserve_locked(f, bytes) ? cache_files_create(f, object,
                                                                                      name) : -1;

    if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    close(fd);
    (void)unlinkat(f->directory, name, 0);
    return -1;
}

static int create_reserved(struct cache_files *f, const char *object, const char *name,
                           uint64_t bytes)
{
    int fd = -1;

    pthread_mutex_lock(&f->lock);
    if (TEMP_FAILURE_RETRY(flock(f->total, LOCK_EX)) == 0) {
        fd = create_locked(f, object, name, bytes);
        (void)flock(f->total, LOCK_UN);
    }
    pthread_mutex_unlock(&f->lock);
    return fd;
}

void cache_files_put(struct cache_files *f, const char *object, uint64_t block,
                     const void *data, size_t size)
{
    char name[CACHE_NAME_BYTES], temporary[CACHE_NAME_BYTES];
    uint8_t trailer[TRAILER];
    bool written;
    int fd;

    block_name(name, object, block);
    snprintf(temporary, sizeof(temporary), "%.32s/" TEMPORARY "%d-%p", object, (int)getpid(),
             data);
    if (faccessat(f->directory, name, F_OK, 0) == 0)
        return;
    fd = create_reserved(f, object, temporary, size + TRAILER);
    if (fd < 0)
        return;
    store64(trailer, cache_files_hash_of(name, data, size));
    written = fd_write(fd, data, size) == size && fd_write(fd, trailer, TRAILER) == TRAILER;
    written = close(fd) == 0 && written;
    if (!written || renameat(f->directory, temporary, f->directory, name) != 0)
        (void)unlinkat(f->directory, temporary, 0);
}
