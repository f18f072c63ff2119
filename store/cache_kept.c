/* SPDX-License-Identifier: MIT
 *
 * Handles the files of texts that the cache keeps, such as manifests. The file DIR/<hash of the
 * name>.kept has a text, and a hash of this text and its name. */
#include "store/cache_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd_io.h"
#include "base/hash_text.h"

#define TRAILER sizeof(uint64_t)
#define KEPT_LIMIT ((off_t)1 << 30)

static void cache_kept_name(const char *name, const char *end, char file[CACHE_NAME_BYTES])
{
    char hash[HASH_TEXT_BYTES];

    hash_text(XXH3_128bits(name, strlen(name)), hash);
    snprintf(file, CACHE_NAME_BYTES, "%s%s", hash, end);
}

static uint64_t kept_sum(const char *name, const void *text, size_t size)
{
    return XXH3_64bits_withSeed(text, size, XXH3_64bits(name, strlen(name)));
}

/* Reads the file called `name` in the directory of a cache. Returns the text in it, or NULL if the
 * file is missing or damaged. */
static char *kept_get(int directory, const char *name, size_t *size)
{
    char file[CACHE_NAME_BYTES], *text;
    struct stat st;
    bool good;
    int fd;

    cache_kept_name(name, ".kept", file);
    fd = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    good = fstat(fd, &st) == 0 && st.st_size >= (off_t)TRAILER && st.st_size <= KEPT_LIMIT;
    text = good ? malloc((size_t)st.st_size + 1) : NULL;
    good = text != NULL && fd_read_at(fd, text, (size_t)st.st_size, 0) == (size_t)st.st_size;
    close(fd);
    *size = good ? (size_t)st.st_size - TRAILER : 0;
    if (!good || load64((const uint8_t *)text + *size) != kept_sum(name, text, *size)) {
        free(text);
        return NULL;
    }
    text[*size] = '\0';
    return text;
}

static bool cache_kept_is(int directory, const char *name, const char *text, size_t size)
{
    size_t there_size;
    char *there = kept_get(directory, name, &there_size);
    const bool is = there != NULL && there_size == size && memcmp(there, text, size) == 0;

    free(there);
    return is;
}

void cache_keep(const struct cache *cache, const char *name, const char *text, size_t size)
{
    const int directory = cache_directory(cache);
    char file[CACHE_NAME_BYTES], temporary[CACHE_NAME_BYTES], end[40];
    uint8_t trailer[TRAILER];
    bool written;
    int fd;

    if (size > KEPT_LIMIT - TRAILER || cache_kept_is(directory, name, text, size))
        return;
    snprintf(end, sizeof(end), ".new-%d-%p", (int)getpid(), (const void *)text);
    cache_kept_name(name, ".kept", file);
    cache_kept_name(name, end, temporary);
    fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    store64(trailer, kept_sum(name, text, size));
    written = fd_write(fd, text, size) == size && fd_write(fd, trailer, TRAILER) == TRAILER;
    written = close(fd) == 0 && written;
    if (!written || renameat(directory, temporary, directory, file) != 0)
        (void)unlinkat(directory, temporary, 0);
}

int cache_kept(const char *directory, const char *name, char **text, size_t *size,
               struct sheaf_error *err)
{
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(err, errno, "%s: cannot open the cache directory", directory);
    *text = kept_get(fd, name, size);
    close(fd);
    return *text != NULL ? SHEAF_OK : err_set(err, SHEAF_ERR_NOT_FOUND, "not in the cache");
}
