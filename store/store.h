/* SPDX-License-Identifier: MIT
 *
 * Named bytes, wherever they are: the contract of a store, and the choice of one by URL.
 *
 * A name without a scheme (or file://) is a local path.  All calls are thread-safe; an object or
 * writer is used by one thread at a time, but for store_read, which any number may call at once
 * on one object. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sheaf.h"

/* Where the temporary files of a directory are, below it; the store removes it when it becomes
 * empty.  A store that needs no temporary files has none. */
#define STORE_PARTIAL ".sheaf-partial"

/* A word that a store keeps with an object, and not in it: in a file's extended attributes, in an
 * object's metadata.  A store or file system that has no such place keeps none, and a copy may lose
 * it. */
#define STORE_NOTE_SIZE 33

struct store_ops;
struct part_memory;
struct store_scope;

/* An open object, to be read.  A store embeds it in a struct of its own. */
struct store_object {
    const struct store_ops *ops;
    char *url;                  /* as opened, for messages: without a query; the object's */
    char *asked;                /* as asked for, query included, where that is more than `url`;
                                   else NULL; the object's, and not for messages */
    uint64_t bytes;             /* its size when it was opened; UINT64_MAX for a stream */
    const char *version;        /* another content has another one for certain; the object's;
                                   NULL: there is none */
    bool is_stream;             /* a pipe or terminal: store_read_next only */
    bool is_remote;             /* reads are worth starting early and many at once */
    size_t block_bytes;         /* reads of multiples of this are best; 0: no preference */
    const volatile int *interrupt;  /* the caller's, NULL at first: once it is nonzero,
                                   store_read_next gives up with SHEAF_ERR_INTERRUPTED */
};

/* One read that is under way; see store_read_start.  The caller embeds it in a struct of its own
 * and keeps it, and the object, until it is done. */
struct store_read {
    struct store_object *object;
    uint64_t offset;
    void *data;
    size_t size;
    /* Called once, perhaps on a thread of the store, which must not be kept waiting. */
    void (*done)(struct store_read *read);
    int code;                   /* then: as store_read returns */
    struct sheaf_error error;   /* and the error, if it is one */
    void *state;                /* the store's */
};

/* A new object, to be written from its start to its end; invisible until committed. */
struct store_writer {
    const struct store_ops *ops;
    char *url;
    const char *note;           /* to be kept with it, of less than STORE_NOTE_SIZE; the caller's
                                   until the commit; NULL: none */
};

/* An object or directory, as store_list and store_walk find it. */
struct store_entry {
    const char *name;           /* relative to where it was started */
    uint64_t bytes;
    uint64_t stamp;             /* another content has another one; 0: not known */
    const char *etag;           /* as the store gives it, quotes and all; NULL: not known */
    int64_t modified_s;         /* when it was written, in seconds of 1970; 0: not known */
};
/* Whether an entry of a walk is the mark of a directory, which tools make where there are none. */
static inline bool store_is_mark(const struct store_entry *entry)
{
    const size_t size = strlen(entry->name);

    return entry->bytes == 0 && (size == 0 || entry->name[size - 1] == '/');
}

/* Called for each entry.  A nonzero return ends the listing or walk and is its result. */
typedef int store_entry_fn(void *context, const struct store_entry *entry);

/* Whether a name right below a directory is one that the caller gives to what it writes there. */
typedef bool store_is_ours_fn(const void *context, const char *name);

/* One question for an object's size that is under way; see store_stat_start.  The caller keeps
 * it, and the URL, until it is done. */
struct store_stat {
    const char *url;
    void (*done)(struct store_stat *stat);      /* as store_read.done */
    int code;                   /* then: as store_size returns */
    struct sheaf_error error;
    uint64_t bytes, stamp;      /* as in store_entry */
    int64_t modified_s;
    char etag[80];              /* "": not known, or longer */
    char *note;                 /* the caller's, of STORE_NOTE_SIZE: its note, "" without one;
                                   NULL: is not wanted */
};

/* What is under a name, for those who replace or remove only what they saw there. */
struct store_seen {
    bool is_there;
    uint64_t bytes, stamp;      /* as in store_entry */
    char etag[80];              /* as in struct store_stat */
};

struct store_ops {
    const char *scheme;         /* "file" */
    bool is_local;              /* URLs are paths of this machine, perhaps after "file://" */
    bool has_queries;           /* behind a URL with a query no name can be put */
    const char *place;          /* store_place; of files their file system says it */

    int (*open)(const char *url, struct store_object **object, struct sheaf_error *err);
    /* Exactly `size` bytes at `offset`, or SHEAF_ERR_TRUNCATED (the object ends before),
     * SHEAF_ERR_CHANGED (it is not the object that was opened), SHEAF_ERR_IO.  Short reads,
     * EINTR and retries are dealt with here. */
    int (*read)(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
    /* store_read_start and _cancel; NULL: reads are not worth starting early. */
    void (*read_start)(struct store_read *read);
    void (*read_cancel)(struct store_read *read);
    /* The next bytes of a stream: up to `size`; *got == 0 at its end. */
    int (*read_next)(struct store_object *object, void *data, size_t size, size_t *got,
                     struct sheaf_error *err);
    /* store_warm; NULL: there is no such cache. */
    void (*warm)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_wait; NULL where there are no streams. */
    int (*wait)(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
    void (*close)(struct store_object *object);

    /* The plain entries (no directories, no hidden names) right below `url`, in byte order of
     * names. */
    int (*list)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);

    /* The same for directories right below `url`, without hidden ones; NULL where there are no
     * directories. */
    int (*list_directories)(const char *url, store_entry_fn *each, void *context,
                            struct sheaf_error *err);

    /* Every object below `url`, at any depth, in no particular order, marks of directories too;
     * NULL where directories are to be walked one by one. */
    int (*walk)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
    /* store_stat_start; NULL: `size` is not worth starting early. */
    void (*stat_start)(struct store_stat *stat);
    /* store_open_known; NULL: opening costs nothing to speak of. */
    int (*open_known)(const char *url, uint64_t bytes, uint64_t stamp,
                      struct store_object **object, struct sheaf_error *err);

    /* store_etag_is_md5; NULL: no. */
    int (*etag_is_md5)(const char *url, bool *is, struct sheaf_error *err);

    /* Of a store that is only read: the error for `what` ("writing", "removing"), in the place of
     * create, remove, free_space, make_directory and what belongs to them.  NULL: it has these. */
    int (*refuse)(const char *url, const char *what, struct sheaf_error *err);

    int (*create)(const char *url, struct store_writer **writer, struct sheaf_error *err);
    /* store_part_bytes, store_create_within; NULL: nothing waits to be acknowledged. */
    uint64_t (*part_bytes)(uint64_t expected_bytes);
    int (*create_within)(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                         struct store_writer **writer, struct sheaf_error *err);
    int (*write)(struct store_writer *writer, const void *data, size_t size,
                 struct sheaf_error *err);
    /* Makes it durable and visible under its name, replacing what was there.  Frees the writer,
     * also on failure. */
    int (*commit)(struct store_writer *writer, struct sheaf_error *err);
    /* store_commit_over.  Frees the writer, also on failure.  NULL: the store cannot compare and
     * commit at once. */
    int (*commit_over)(struct store_writer *writer, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err);
    /* Leaves nothing behind.  Frees the writer. */
    void (*abort)(struct store_writer *writer);

    /* store_sweep; NULL: a killed writer leaves nothing that could be seen. */
    int (*sweep)(const char *url, struct sheaf_error *err);

    /* store_clean, store_clean_object; NULL: nothing is ever left behind that could not be seen. */
    int (*clean)(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                 struct sheaf_error *err);
    int (*clean_object)(const char *url, struct sheaf_error *err);

    /* SHEAF_ERR_NOT_FOUND if there is none.  UINT64_MAX for a stream, which is not opened. */
    int (*size)(const char *url, uint64_t *bytes, struct sheaf_error *err);
    /* Removing what is not there is no error. */
    int (*remove)(const char *url, struct sheaf_error *err);
    /* store_remove_over; NULL as well. */
    int (*remove_over)(const char *url, const struct store_seen *seen, struct sheaf_error *err);
    /* store_sync; NULL: what was answered is durable. */
    int (*sync)(const char *url, struct sheaf_error *err);
    /* Bytes that may still be written below `url`; UINT64_MAX: no limit known. */
    int (*free_space)(const char *url, uint64_t *bytes, struct sheaf_error *err);
    /* Makes the directory `url` and those above it; a no-op where there are none. */
    int (*make_directory)(const char *url, struct sheaf_error *err);
    /* store_lock; NULL: there are no locks. */
    int (*lock)(const char *url, bool shared, int *lock, struct sheaf_error *err);
    /* store_scope_open, of texts that are not NULL; NULL: there are no settings. */
    int (*scope_open)(const char *url, const char *const *texts, struct store_scope **scope,
                      struct sheaf_error *err);
    void (*scope_close)(struct store_scope *scope);
};

/* Here and in store.c's table, and nowhere else. */
extern const struct store_ops store_file_ops, store_s3_ops, store_http_ops, store_https_ops,
                              store_hf_ops, store_gs_ops;

/* One more store, which a test program may define. */
extern const struct store_ops *const store_of_test
    __attribute__((weak, visibility("hidden")));
/* The store of a URL; NULL and an error for a scheme that is not known. */
const struct store_ops *store_of(const char *url, struct sheaf_error *err);

/* What a URL is, without asking anyone.  Of an unknown scheme nothing is true.
 * A file of this machine, or a directory; local_path() is its path. */
bool store_is_local(const char *url);
/* Its reads wait for a network: they are worth starting early, and many at once. */
bool store_is_remote(const char *url);
/* It can only be that of an object, and not of a directory: it has a query, behind which no name
 * can be put. */
bool store_names_one(const char *url);
/* Where its bytes are, for people: "S3", "HTTP", "local disk", "NFS". */
const char *store_place(const char *url);
/* How many bytes a read should have, so that it is worth its round trip to a server that files are
 * on; 0: any size will do, or there are no files. */
size_t store_read_bytes(const char *url);

/* The calls, dispatched.  Those that wait for something remote give up when the thread's flag
 * rises: see store/interrupt.h. */
int store_open(const char *url, struct store_object **object, struct sheaf_error *err);
/* Opens an object whose size and stamp are known already, without asking for it; if it is another
 * one by now, reading it fails with SHEAF_ERR_CHANGED.  Without a stamp (0) it is the one that the
 * first read finds.  Of a remote object the size need not be known either: UINT64_MAX, until a
 * first read at offset 0, which alone may be longer than the object. */
int store_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                     struct store_object **object, struct sheaf_error *err);
int store_read(struct store_object *object, uint64_t offset, void *data, size_t size,
               struct sheaf_error *err);
/* Begins a read and returns; many may be under way.  `done` may be called before this returns. */
void store_read_start(struct store_read *read);
/* Makes a read end soon, as SHEAF_ERR_INTERRUPTED unless it is over already. */
void store_read_cancel(struct store_read *read);
/* Brings bytes into the cache that the machine has of its files, and returns about when they are
 * there; if they cannot be read, reading them fails. */
void store_warm(struct store_object *object, uint64_t offset, uint64_t size);
int store_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                    struct sheaf_error *err);
/* Waits up to some `wait_ms` for a stream's next bytes, its end, or, of a pipe, its writer:
 * SHEAF_OK; SHEAF_END: none of them yet. */
int store_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
void store_close(struct store_object *object);              /* NULL is fine */
int store_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
/* SHEAF_ERR_UNSUPPORTED where a store has no such call. */
int store_list_directories(const char *url, store_entry_fn *each, void *context,
                           struct sheaf_error *err);
int store_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
int store_create(const char *url, struct store_writer **writer, struct sheaf_error *err);
/* What is sent to the store of `url` at once, of an object about as large as expected (0: not
 * known): a writer needs memory for one such part at least, and keeps several until they are
 * acknowledged.  0: it keeps nothing to speak of. */
uint64_t store_part_bytes(const char *url, uint64_t expected_bytes);
/* The same as store_create, with memory for parts that several writers share; it outlives them. */
int store_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                        struct store_writer **writer, struct sheaf_error *err);
int store_write(struct store_writer *writer, const void *data, size_t size,
                struct sheaf_error *err);
int store_commit(struct store_writer *writer, struct sheaf_error *err);
void store_abort(struct store_writer *writer);              /* NULL is fine */
int store_size(const char *url, uint64_t *bytes, struct sheaf_error *err);
/* Begins to ask for an object's size and stamp, as store_read_start begins a read.  Stamps are the
 * same from here and from listings. */
void store_stat_start(struct store_stat *stat);
/* Asks for them, and waits for the answer. */
int store_identify(const char *url, uint64_t *bytes, uint64_t *stamp, struct sheaf_error *err);
/* Whether an object's ETag, which is 32 hexadecimal digits, is the MD5 of its content: some stores
 * make others, and so does encryption with a key of somebody's. */
int store_etag_is_md5(const char *url, bool *is, struct sheaf_error *err);
int store_remove(const char *url, struct sheaf_error *err);
int store_free_space(const char *url, uint64_t *bytes, struct sheaf_error *err);
int store_make_directory(const char *url, struct sheaf_error *err);
/* Takes the directory `url` for this call's owner alone, or `shared` with others who take it so,
 * until store_unlock or the process's end; SHEAF_ERR_EXISTS if another one has it.  *lock is -1
 * where a store has no such thing. */
int store_lock(const char *url, bool shared, int *lock, struct sheaf_error *err);
void store_unlock(int lock);                                /* -1 is fine */

/* A whole small object, at most `limit` bytes, with a NUL after it; the caller frees *data. */
int store_get(const char *url, size_t limit, char **data, size_t *size, struct sheaf_error *err);
/* Creates an object and writes all of it; what is left to do is to commit. */
int store_create_whole(const char *url, const void *data, size_t size,
                       struct store_writer **writer, struct sheaf_error *err);
/* A whole small object, durable and atomic. */
int store_put(const char *url, const void *data, size_t size, struct sheaf_error *err);
/* Removes what writers of `url` that were killed have left beside it; those at work keep theirs. */
int store_sweep(const char *url, struct sheaf_error *err);
/* What was removed from the directory `url` does not come back after a power loss. */
int store_sync(const char *url, struct sheaf_error *err);

/* Removes what uploads of our names that were never completed have left right below the directory
 * `url`.  An upload has nothing but its name to know it by; those of other names are left alone.
 * *by_name: the store tells of uploads only to those who ask for an object by its name, or not at
 * all, so each has to be asked for with store_clean_object; NULL: that is not found out. */
int store_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                struct sheaf_error *err);
int store_clean_object(const char *url, struct sheaf_error *err);
/* "directory/name" in memory of its own; of "s3://", whose bucket is missing, "s3:///name". */
char *store_join(const char *directory, const char *name);

#endif
