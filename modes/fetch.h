/* SPDX-License-Identifier: MIT
 *
 * The parts of a fetch. A planning thread requests PARTS, which are ranges of at most
 * FETCH_PART_BYTES of an object. The store calls back when a part has arrived. A worker writes it,
 * and hashes the parts that are next in the order of the file:
 *
 *     requested ... arrived ... written    in any order
 *     hashed                               in the order of the file; the last part ends the file
 *     done                                 its memory may be reused */
#ifndef MODES_FETCH_H
#define MODES_FETCH_H

#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/xxh3_wide.h"
#include "modes/objects.h"
#include "store/read_item.h"

#define FETCH_PART_BYTES ((size_t)8 << 20)

/* Copies the caller's options, with defaults for fields that the caller's header lacks. Returns the
 * caller's watch. */
struct watch fetch_options_take(const struct sheaf_fetch_options *given,
                                struct sheaf_fetch_options *options);

/* State that all files share. */
struct fetch_destination {
    const struct objects *objects;
    int root_fd, partial_fd;
    struct workers *workers;
    pthread_mutex_t lock;
    struct {                    /* guarded by the lock */
        int code;               /* the first failure */
        struct sheaf_error error;
        uint64_t files, bytes, verified;
        bool md5_is_none;       /* this store's ETags look like MD5s but are not */
    } locked;
};

struct fetch_file {
    struct fetch_destination *to;
    const struct object *object;
    const char *xxh3;           /* the expected XXH3-128, or NULL if unknown */
    struct store_object *source;
    int fd;
    char temporary[32];         /* its name in the partial directory */
    size_t parts;               /* that the planning thread holds */
    uint64_t asked_bytes;       /* so far; the planning thread's */
    XXH3_state_t *hash;         /* the hash in use; at most one of the two is set */
    EVP_MD_CTX *md5;
    pthread_mutex_t lock;
    struct fetch_part *head, *tail;     /* parts not hashed yet; guarded by the lock */
    uint64_t hashed_bytes;      /* bytes hashed from the start; they are also written */
    bool is_useless;            /* whether a later run must not resume the file */
    bool is_draining;           /* a worker is hashing */
    unsigned number;            /* of the object */
    uint64_t resumed_bytes;     /* that an earlier run had fetched */
    bool is_second;             /* the file is fetched once more because its bytes were damaged; */
    bool is_damaged;            /* the first time, and it is to be fetched once more */
    bool failed;                /* likewise */
};

struct fetch_part {
    struct read_item base;      /* the first member; it belongs to the planning thread's window */
    struct job job;
    struct fetch_file *file;
    struct fetch_part *next;    /* of the file */
    bool is_last;
    bool is_written;            /* guarded by the file's lock */
    uint8_t data[];
};

/* ---- fetch_file.c ---- */

/* Begins a file under a temporary name. A file of no bytes is finished at once. Frees the file on
 * failure. Bytes may have been damaged in transit. So if a file fails its check, it only becomes
 * `is_damaged` the first time. If `is_second` is set, the failure is an error. */
int fetch_file_open(struct fetch_file **file, struct fetch_destination *to,
                    const struct object *object, const char *xxh3, unsigned number,
                    bool is_second, struct sheaf_error *err);
/* Requests the next part. The caller collects it when it is done and frees it. */
int fetch_file_ask(struct fetch_file *file, struct inflight *window, struct sheaf_error *err);
size_t fetch_file_next_bytes(const struct fetch_file *file);
/* Closes a file of which no part is under way. Removes the temporary file, unless it was finished
 * or is kept for another run. */
void fetch_file_close(struct fetch_file *file);
/* Hashes the next bytes of the file. */
void fetch_file_hash(struct fetch_file *file, const uint8_t *data, size_t size);

/* ---- fetch_kept.c: beginnings of files that an earlier run has left ---- */

/* Returns whether the name is that of a kept partial file. */
bool fetch_kept_is(const char *name);
/* Returns the number of bytes of an object that a kept file has. */
uint64_t fetch_kept_bytes(const struct fetch_destination *to, const struct object *object);
/* Continues a kept file under the file's temporary name. Returns SHEAF_END if there is none. */
int fetch_kept_take(struct fetch_file *file, struct sheaf_error *err);
/* Keeps the bytes of an unfinished file for a later run. */
void fetch_kept_leave(struct fetch_file *file);
/* Removes the kept files that belong to none of these objects. */
int fetch_kept_sweep(const struct fetch_destination *to, const uint32_t *items, size_t count,
                     struct sheaf_error *err);

/* ---- fetch_mark.c: which files are finished, told by the files alone ---- */

/* Computes the times of a finished copy: its object's time, with a part of the stamp as the
 * fraction of a second. */
void fetch_mark_times(const struct object *object, struct timespec times[2]);
/* Returns whether the file is a finished copy of the object. */
bool fetch_mark_fits(const struct object *object, const struct stat *st);

/* ---- fetch_known.c: what the data sets among the objects say of their shards ---- */

struct fetch_known {
    struct arena arena;
    const char **hashes;        /* by object: 32 hexadecimal digits, or NULL */
};
int fetch_known_find(struct fetch_known *known, const struct objects *objects,
                     struct sheaf_error *err);
void fetch_known_free(struct fetch_known *known);

/* ---- fetch_lines.c: the copy of an augmented manifest ---- */

/* Writes the manifest lines of these units to `name` in the directory. */
int fetch_lines(const struct fetch_destination *to, const char *url, const char *name,
                const uint32_t *units, size_t count, struct sheaf_error *err);

#endif
