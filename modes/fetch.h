/* SPDX-License-Identifier: MIT
 *
 * The parts of a fetch.  A planning thread asks for PARTS, ranges of at most FETCH_PART_BYTES of an
 * object; the store calls back when one has come; a worker writes it, and hashes what is then next
 * of the file:
 *
 *     asked for ... come ... written    out of order
 *     hashed                            in the order of the file; the last part ends the file
 *     done                              its memory may be used again
 */
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

/* The caller's options, those that it does not know by their defaults; and its watch. */
struct watch fetch_options_take(const struct sheaf_fetch_options *given,
                                struct sheaf_fetch_options *options);

/* What all files share. */
struct fetch_destination {
    const struct objects *objects;
    int root_fd, partial_fd;
    struct workers *workers;
    pthread_mutex_t lock;
    struct {                    /* guarded by the lock */
        int code;               /* the first failure */
        struct sheaf_error error;
        uint64_t files, bytes, verified;
        bool md5_is_none;       /* this store's ETags only look like MD5s */
    } locked;
};

struct fetch_file {
    struct fetch_destination *to;
    const struct object *object;
    const char *xxh3;           /* what it must have; NULL: not known */
    struct store_object *source;
    int fd;
    char temporary[32];         /* its name below the partial directory */
    size_t parts;               /* that the planning thread holds */
    uint64_t asked_bytes;       /* so far; the planning thread's */
    XXH3_state_t *hash;         /* one of the two, or neither */
    EVP_MD_CTX *md5;
    pthread_mutex_t lock;
    struct fetch_part *head, *tail;     /* not hashed yet; guarded by the lock */
    uint64_t hashed_bytes;      /* also written, all from the start */
    bool is_useless;            /* what is there cannot be resumed */
    bool is_draining;           /* a worker is hashing */
    bool failed;                /* likewise */
};

struct fetch_part {
    struct read_item base;      /* the first member; of the planning thread's window */
    struct job job;
    struct fetch_file *file;
    struct fetch_part *next;    /* of the file */
    bool is_last;
    bool is_written;            /* guarded by the file's lock */
    uint8_t data[];
};

/* ---- fetch_file.c ---- */

/* Begins a file under a temporary name; one of no bytes is finished at once.  Frees it on
 * failure. */
int fetch_file_open(struct fetch_file **file, struct fetch_destination *to,
                    const struct object *object, const char *xxh3, unsigned number,
                    struct sheaf_error *err);
/* Asks for the next part; the caller takes it back when it is done, and frees it. */
int fetch_file_ask(struct fetch_file *file, struct inflight *window, struct sheaf_error *err);
size_t fetch_file_next_bytes(const struct fetch_file *file);
/* When no part of it is under way: removes the temporary file, unless it was finished or is kept
 * for another run. */
void fetch_file_close(struct fetch_file *file);
/* Of what is next of the file. */
void fetch_file_hash(struct fetch_file *file, const uint8_t *data, size_t size);

/* ---- fetch_kept.c: beginnings of files that an earlier run has left ---- */

/* Whether it is the name of one. */
bool fetch_kept_is(const char *name);
/* How much of an object is there. */
uint64_t fetch_kept_bytes(const struct fetch_destination *to, const struct object *object);
/* Goes on with it under the file's temporary name.  SHEAF_END: there is none. */
int fetch_kept_take(struct fetch_file *file, struct sheaf_error *err);
/* Leaves what is there of a file that is not finished. */
void fetch_kept_leave(struct fetch_file *file);
/* Removes those that are not of these objects. */
int fetch_kept_sweep(const struct fetch_destination *to, const uint32_t *items, size_t count,
                     struct sheaf_error *err);

/* ---- fetch_mark.c: which files are finished, told by the files alone ---- */

/* The times that a finished copy has: its object's, with a part of the stamp as the fraction. */
void fetch_mark_times(const struct object *object, struct timespec times[2]);
/* Whether the file is a finished copy of the object. */
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

/* Writes the lines of those units to `name` in the directory. */
int fetch_lines(const struct fetch_destination *to, const char *url, const char *name,
                const uint32_t *units, size_t count, struct sheaf_error *err);

#endif
