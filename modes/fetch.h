/* SPDX-License-Identifier: MIT
 *
 * The internals of sheaf_fetch, which copies objects to files.
 *
 * A planning thread requests the parts of an object. A part is a range of at most FETCH_PART_BYTES
 * bytes. When a part has arrived, a worker thread writes it to the file. Parts may be written in
 * any order, but they are hashed in the order of the file. When a part was written and hashed, its
 * memory is used again. When all parts were hashed, the file is finished. */
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

/* Copies the caller's options. If the caller was compiled with an older version of the struct,
 * missing fields get their defaults. Returns a struct watch, which reports progress to the caller's
 * functions. */
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
    /* state of the XXH3 hash of the bytes, if the file is a shard whose hash is in a manifest;
     * otherwise NULL */
    XXH3_state_t *hash;
    /* state of the MD5 of the bytes, which is compared with the object's ETag; NULL if `hash` is
     * set, or if the file is not checked */
    EVP_MD_CTX *md5;
    pthread_mutex_t lock;
    struct fetch_part *head, *tail;     /* parts not hashed yet; guarded by the lock */
    uint64_t hashed_bytes;      /* bytes hashed from the start; they are also written */
    bool is_useless;            /* whether a later run must not resume the file */
    bool is_draining;           /* a worker is hashing */
    unsigned number;            /* of the object */
    uint64_t resumed_bytes;     /* that an earlier run had fetched */
    /* whether the file is fetched a second time because its bytes were damaged the first time */
    bool is_second;
    /* whether the bytes were damaged the first time, so that the file must be fetched once more */
    bool is_damaged;
    bool failed;                /* likewise */
};

struct fetch_part {
    /* entry of this part in the window, which is the planning thread's list of outstanding parts;
     * must be the first member of the struct */
    struct read_item base;
    struct job job;
    struct fetch_file *file;
    struct fetch_part *next;    /* of the file */
    bool is_last;
    bool is_written;            /* guarded by the file's lock */
    uint8_t data[];
};

/* ---- fetch_file.c ---- */

/* Begins a file under a temporary name, and sets *file to it. If the file cannot be begun, frees
 * *file and returns an error. A file without bytes is finished at once.
 *
 * When all bytes have arrived, their hash is checked. If the bytes are damaged, (*file)->is_damaged
 * is set, and the caller must begin the file once more with the argument `is_second` true. If the
 * bytes are damaged again, the fetch fails. */
int fetch_file_open(struct fetch_file **file, struct fetch_destination *to,
                    const struct object *object, const char *xxh3, unsigned number,
                    bool is_second, struct sheaf_error *err);
/* Requests the next part of the file, and adds the part to `window`, the list of outstanding parts.
 * When the part is done, the caller must take it from the window and free it. */
int fetch_file_ask(struct fetch_file *file, struct inflight *window, struct sheaf_error *err);
size_t fetch_file_next_bytes(const struct fetch_file *file);
/* Closes a file. The caller must have taken all its parts from the window (the list of outstanding
 * parts). Removes the temporary file, unless the file was finished or is kept for a later run. */
void fetch_file_close(struct fetch_file *file);

/* ---- fetch_hash.c: the hash of a file's bytes ---- */

/* Begins the hash, if the manifest states a hash of the file, or if the object's ETag may be an
 * MD5. */
int fetch_hash_open(struct fetch_file *file, struct sheaf_error *err);
/* Hashes the next bytes of the file. */
void fetch_hash_add(struct fetch_file *file, const uint8_t *data, size_t size);
/* Compares the hash of all bytes with the expected hash. Sets *checked to true if they are equal.
 * Sets *checked to false if no hash is expected. Returns SHEAF_ERR_CORRUPT if the bytes are
 * damaged. */
int fetch_hash_check(struct fetch_file *file, bool *checked, struct sheaf_error *err);
void fetch_hash_close(struct fetch_file *file);

/* ---- fetch_kept.c: beginnings of files that an earlier run has left ---- */

/* Returns whether `name` is the name of a partial file that an earlier run has kept for
 * resuming. */
bool fetch_kept_is(const char *name);
/* Returns how many bytes of the object an earlier run has left in a partial file; 0 if there is no
 * such file. */
uint64_t fetch_kept_bytes(const struct fetch_destination *to, const struct object *object);
/* Continues the partial file that an earlier run has kept: renames this file to the temporary name
 * of `file`. Returns SHEAF_END if there is no partial file. */
int fetch_kept_take(struct fetch_file *file, struct sheaf_error *err);
/* Keeps the bytes of an unfinished file, so that a later run can resume it. */
void fetch_kept_leave(struct fetch_file *file);
/* Removes the partial files of earlier runs, except the partial files of the `count` objects whose
 * indexes are in `items`. */
int fetch_kept_sweep(const struct fetch_destination *to, const uint32_t *items, size_t count,
                     struct sheaf_error *err);

/* ---- fetch_mark.c: which files are finished, told by the files alone ---- */

/* Computes the modification time that a finished copy of an object gets. The whole seconds are
 * those of the object's time. The fraction of a second comes from a hash of the object's ETag. */
void fetch_mark_times(const struct object *object, struct timespec times[2]);
/* Returns whether a file with the state `st` is a finished copy of the object, judged by its size
 * and its modification time. */
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

/* Copies the augmented manifest `url` to the file `name` in the directory. Each line of the
 * manifest is a unit: it names one or more objects. Only the lines of the given units are
 * copied. */
int fetch_lines(const struct fetch_destination *to, const char *url, const char *name,
                const uint32_t *units, size_t count, struct sheaf_error *err);

#endif
