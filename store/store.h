/* SPDX-License-Identifier: MIT
 *
 * Named bytes, wherever they are: the contract of a store, and the choice of a store by URL.
 *
 * A name without a scheme (or with file://) is a local path. All functions are thread-safe. An
 * object or writer may be used by one thread at a time, except that any number of threads may call
 * store_read on one object. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sheaf.h"

/* Name of the directory for temporary files inside a directory. The store removes it when it
 * becomes empty. A store that needs no temporary files has none. */
#define STORE_PARTIAL ".sheaf-partial"

/* A note: a word that a store keeps beside an object, in a file's extended attributes or in an
 * object's metadata. A store or file system without such a place keeps none, and a copy may lose
 * the note. */
#define STORE_NOTE_SIZE 33

struct store_ops;
struct part_memory;
struct store_abilities;
struct store_scope;

/* An open object for reading. A store embeds it in a struct of its own. */
struct store_object {
    const struct store_ops *ops;
    char *url;                  /* the URL as opened, without a query, for messages; owned by the
                                   object */
    char *asked;                /* the URL as requested, including its query; NULL if that equals
                                   `url`; owned by the object, and not for messages */
    uint64_t bytes;             /* size at the time of opening; UINT64_MAX for a stream */
    const char *version;        /* text that differs for different content; owned by the object;
                                   or NULL */
    bool is_stream;             /* a pipe or terminal, for which only store_read_next works */
    bool is_remote;             /* whether it pays to start many reads early */
    size_t block_bytes;         /* best size of reads, as a multiple; 0 for no preference */
    const volatile int *interrupt;  /* flag set by the caller, NULL at first; once it is nonzero,
                                       store_read_next returns SHEAF_ERR_INTERRUPTED */
};

/* A read under way; see store_read_start. The caller embeds it in a struct of its own, and must
 * keep it and the object until it is done. */
struct store_read {
    struct store_object *object;
    uint64_t offset;
    void *data;
    size_t size;
    /* Called once, possibly on a thread of the store. It must return soon. */
    void (*done)(struct store_read *read);
    int code;                   /* then: as store_read returns */
    struct sheaf_error error;   /* the error, if `code` is one */
    void *state;                /* the store's */
};

/* A new object that is written from start to end. It is invisible until committed. */
struct store_writer {
    const struct store_ops *ops;
    char *url;
    const char *note;           /* note for the object, of less than STORE_NOTE_SIZE, borrowed
                                   until the commit; or NULL */
    const char *stage;          /* stage through which the object gets its name (store/stage.h),
                                   borrowed until the commit; or NULL */
};

/* An object or directory found by store_list or store_walk. */
struct store_entry {
    const char *name;           /* relative to the start of the listing */
    uint64_t bytes;
    uint64_t stamp;             /* differs for different content; 0 if unknown */
    const char *etag;           /* the ETag as the store sends it, including quotes; NULL if
                                   unknown */
    int64_t modified_s;         /* time of writing in seconds since 1970; 0 if unknown */
};
/* Returns whether an entry of a walk marks a directory. Tools create such objects in stores without
 * directories. */
static inline bool store_is_mark(const struct store_entry *entry)
{
    const size_t size = strlen(entry->name);

    return entry->bytes == 0 && (size == 0 || entry->name[size - 1] == '/');
}

/* Called for each entry. A nonzero result ends the listing or walk and becomes its result. */
typedef int store_entry_fn(void *context, const struct store_entry *entry);

/* Returns whether a name in a directory is one that the caller gives to its own objects there. */
typedef bool store_is_ours_fn(const void *context, const char *name);

/* A request for an object's size under way; see store_stat_start. The caller must keep it and the
 * URL until it is done. */
struct store_stat {
    const char *url;
    void (*done)(struct store_stat *stat);      /* as store_read.done */
    int code;                   /* then: as store_size returns */
    struct sheaf_error error;
    uint64_t bytes, stamp;      /* as in store_entry */
    int64_t modified_s;
    char etag[80];              /* "": not known, or longer */
    char *note;                 /* room of STORE_NOTE_SIZE for its note, "" without one; NULL if
                                   the note is not wanted */
};

/* The file that has a name, for callers that replace or remove only the file that they saw. */
struct store_seen {
    bool is_there;
    uint64_t bytes, stamp;      /* as in store_entry */
    char etag[80];              /* as in struct store_stat */
};

/* Free bytes and numbers of files; UINT64_MAX if no limit is known. Files take whole blocks. */
struct store_space {
    uint64_t bytes, files, block_bytes;
};

struct store_ops {
    const char *scheme;         /* "file" */
    bool is_local;              /* URLs are paths of this machine, possibly after "file://" */
    bool has_queries;           /* URLs may have queries, after which no name can be appended */
    const char *place;          /* result of store_place; for files the file system decides */

    int (*open)(const char *url, struct store_object **object, struct sheaf_error *err);
    /* Reads exactly `size` bytes at `offset`. Returns SHEAF_ERR_TRUNCATED if the object ends
     * before, _CHANGED if it is no longer the object that was opened, or _IO. Handles short reads,
     * EINTR and retries. */
    int (*read)(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
    /* store_read_start and _cancel. NULL if it does not pay to start reads early. */
    void (*read_start)(struct store_read *read);
    void (*read_cancel)(struct store_read *read);
    /* Reads up to `size` next bytes of a stream. Sets *got to 0 at its end. */
    int (*read_next)(struct store_object *object, void *data, size_t size, size_t *got,
                     struct sheaf_error *err);
    /* store_warm. NULL if there is no such cache. */
    void (*warm)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_distrust. NULL if the store keeps nothing. */
    void (*distrust)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_wait. NULL if the store has no streams. */
    int (*wait)(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
    void (*close)(struct store_object *object);

    /* Lists the plain entries directly in `url` (no directories, no hidden names) in byte order of
     * names. */
    int (*list)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);

    /* Lists the directories directly in `url`, without hidden ones. NULL if the store has no
     * directories. */
    int (*list_directories)(const char *url, store_entry_fn *each, void *context,
                            struct sheaf_error *err);

    /* Lists every object under `url` at any depth, in any order, including marks of directories.
     * NULL if directories must be walked one by one. */
    int (*walk)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
    /* store_stat_start. NULL if it does not pay to start `size` early. */
    void (*stat_start)(struct store_stat *stat);
    /* store_open_known. NULL if opening is cheap. */
    int (*open_known)(const char *url, uint64_t bytes, uint64_t stamp,
                      struct store_object **object, struct sheaf_error *err);

    /* store_etag_is_md5; NULL: no. */
    int (*etag_is_md5)(const char *url, bool *is, struct sheaf_error *err);

    /* Set only in a read-only store: returns the error for `what` ("writing", "removing"). Such
     * a store lacks create, remove, free_space, make_directory and the functions that belong to
     * them. */
    int (*refuse)(const char *url, const char *what, struct sheaf_error *err);

    int (*create)(const char *url, struct store_writer **writer, struct sheaf_error *err);
    /* store_part_bytes, store_create_within. NULL if nothing waits for an acknowledgement. */
    uint64_t (*part_bytes)(uint64_t expected_bytes);
    int (*create_within)(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                         struct store_writer **writer, struct sheaf_error *err);
    int (*write)(struct store_writer *writer, const void *data, size_t size,
                 struct sheaf_error *err);
    /* Makes the object durable and visible under its name, replacing an existing one. Frees the
     * writer, also on failure. */
    int (*commit)(struct store_writer *writer, struct sheaf_error *err);
    /* store_commit_over. Frees the writer, also on failure. NULL if the store cannot compare and
     * commit atomically. */
    int (*commit_over)(struct store_writer *writer, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err);
    /* Discards the object and leaves nothing behind. Frees the writer. */
    void (*abort)(struct store_writer *writer);

    /* store_sweep. NULL if a killed writer leaves nothing visible. */
    int (*sweep)(const char *url, struct sheaf_error *err);

    /* store_clean, store_clean_object. NULL if nothing invisible is ever left behind. */
    int (*clean)(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                 struct sheaf_error *err);
    int (*clean_object)(const char *url, struct sheaf_error *err);

    /* Returns the size. Returns SHEAF_ERR_NOT_FOUND if there is no such object. The size of a
     * stream is UINT64_MAX; the stream is not opened. */
    int (*size)(const char *url, uint64_t *bytes, struct sheaf_error *err);
    /* Implements store_is_dangling. NULL if there are no links. */
    bool (*is_dangling)(const char *url);
    /* Removes an object. It is not an error if there is none. */
    int (*remove)(const char *url, struct sheaf_error *err);
    /* store_remove_over; NULL as well. */
    int (*remove_over)(const char *url, const struct store_seen *seen, struct sheaf_error *err);
    /* store_sync. NULL if everything acknowledged is durable. */
    int (*sync)(const char *url, struct sheaf_error *err);
    /* store_free_space. NULL if the store has no limit. */
    int (*free_space)(const char *url, struct store_space *space, struct sheaf_error *err);
    /* Creates the directory `url` and its parents. Does nothing in a store without directories. */
    int (*make_directory)(const char *url, struct sheaf_error *err);
    /* store_lock. NULL if the store has no locks. */
    int (*lock)(const char *url, bool shared, int *lock, struct sheaf_error *err);
    /* See store/stage.h. NULL if the store has no stages. `from` is NULL for a new stage. */
    int (*stage_take)(const char *partial, const char *from, const char *stage,
                      struct sheaf_error *err);
    bool (*stage_is_there)(const char *stage);
    int (*stage_drop)(const char *partial, const char *only, const char *except,
                      struct sheaf_error *err);
    int (*stage_remove)(const char *url, const char *stage, struct sheaf_error *err);
    /* store_find_abilities. NULL if the store can do everything that it has calls for. */
    int (*find_abilities)(const char *directory, struct store_abilities *abilities,
                          struct sheaf_error *err);
    /* store_scope_open for texts that are not NULL. NULL if the store has no settings. */
    int (*scope_open)(const char *url, const char *const *texts, struct store_scope **scope,
                      struct sheaf_error *err);
    void (*scope_close)(struct store_scope *scope);
};

/* Only this declaration and the table in store.c may name these. */
extern const struct store_ops store_file_ops, store_s3_ops, store_http_ops, store_https_ops,
                              store_hf_ops, store_gs_ops;

/* An additional store that a test program may define. */
extern const struct store_ops *const store_of_test
    __attribute__((weak, visibility("hidden")));
/* Returns the store of a URL, or NULL and an error if its scheme is unknown. */
const struct store_ops *store_of(const char *url, struct sheaf_error *err);

/* The following functions tell facts about a URL without a request. For an unknown scheme all of
 * them return false. This one returns whether it is a local file or directory; local_path() returns
 * its path. */
bool store_is_local(const char *url);
/* Returns whether reads of the URL wait for a network, so that it pays to start many of them early.
 */
bool store_is_remote(const char *url);
/* Returns whether objects can be written to the store. */
bool store_is_writable(const char *url);
/* Returns whether the URL is a local symbolic link to nothing. The file system is asked. */
bool store_is_dangling(const char *url);
/* Returns whether the URL can only name an object and not a directory, because it has a query,
 * after which no name can be appended. */
bool store_names_one(const char *url);
/* Returns where the URL's bytes are, for people: "S3", "HTTP", "local disk", "NFS". */
const char *store_place(const char *url);
/* Returns the size that a read should have to be worth its round trip to a file server, or 0 if any
 * size is suitable or there are no files. */
size_t store_read_bytes(const char *url);

/* The functions of the stores, dispatched by URL. Remote waits end when the thread's flag is
 * raised; see store/interrupt.h. */
int store_open(const char *url, struct store_object **object, struct sheaf_error *err);
/* Opens an object of known size and stamp without a request. If the object has been replaced
 * meanwhile, reading it returns SHEAF_ERR_CHANGED. If the stamp is 0, the object that the first
 * read finds is used. The size of a remote object may be UINT64_MAX (unknown) until a first read at
 * offset 0, which is the only read that may extend beyond the object. */
int store_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                     struct store_object **object, struct sheaf_error *err);
int store_read(struct store_object *object, uint64_t offset, void *data, size_t size,
               struct sheaf_error *err);
/* Begins a read and returns. Many reads may be under way. `done` may be called before this
 * returns. */
void store_read_start(struct store_read *read);
/* Makes a read end soon, as SHEAF_ERR_INTERRUPTED unless it is over already. */
void store_read_cancel(struct store_read *read);
/* Brings bytes into the machine's cache for its files, and returns about when they are there. If
 * they cannot be read, a later read reports that. */
void store_warm(struct store_object *object, uint64_t offset, uint64_t size);
/* Discards cached copies of these bytes, because the bytes have proved damaged. The next read gets
 * them from the object itself. */
void store_distrust(struct store_object *object, uint64_t offset, uint64_t size);
int store_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                    struct sheaf_error *err);
/* Waits up to about `wait_ms` for a stream's next bytes, its end, or a pipe's writer. Returns
 * SHEAF_OK, or SHEAF_END if none of them came. */
int store_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
void store_close(struct store_object *object);              /* NULL is fine */
int store_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
/* Returns SHEAF_ERR_UNSUPPORTED if the store has no such function. */
int store_list_directories(const char *url, store_entry_fn *each, void *context,
                           struct sheaf_error *err);
int store_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
int store_create(const char *url, struct store_writer **writer, struct sheaf_error *err);
/* Returns the size of the pieces that are sent to the store of `url`, for an object of about the
 * expected size (0 if unknown). A writer needs memory for at least one piece, and keeps several
 * until they are acknowledged. Returns 0 if it keeps none. */
uint64_t store_part_bytes(const char *url, uint64_t expected_bytes);
/* Creates a writer like store_create, with memory for parts that several writers share. The memory
 * must outlive the writer. */
int store_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                        struct store_writer **writer, struct sheaf_error *err);
int store_write(struct store_writer *writer, const void *data, size_t size,
                struct sheaf_error *err);
int store_commit(struct store_writer *writer, struct sheaf_error *err);
void store_abort(struct store_writer *writer);              /* NULL is fine */
int store_size(const char *url, uint64_t *bytes, struct sheaf_error *err);
/* Begins a request for an object's size and stamp, as store_read_start begins a read. Stamps equal
 * those in listings. */
void store_stat_start(struct store_stat *stat);
/* Requests the size and the stamp, and waits for them. */
int store_identify(const char *url, uint64_t *bytes, uint64_t *stamp, struct sheaf_error *err);
/* Sets *is to whether an object's ETag of 32 hexadecimal digits is the MD5 of its content. Some
 * stores, and encryption with a customer's key, make other ETags. */
int store_etag_is_md5(const char *url, bool *is, struct sheaf_error *err);
int store_remove(const char *url, struct sheaf_error *err);
/* Finds how much may still be written under `url`, which need not exist yet. */
int store_free_space(const char *url, struct store_space *space, struct sheaf_error *err);
/* Checks that `files` more files with `bytes` bytes in all fit under `url`. Returns SHEAF_ERR_IO,
 * as a write does that finds the disk full. Every command that knows the size of its output calls
 * this before it writes. */
int store_check_space(const char *url, uint64_t bytes, uint64_t files, struct sheaf_error *err);
int store_make_directory(const char *url, struct sheaf_error *err);
/* Locks the directory `url` for this call's owner alone, or `shared` with others who lock it in
 * this way, until store_unlock or the end of the process. Returns SHEAF_ERR_EXISTS if another owner
 * has it. Sets *lock to -1 if the store or the file system has no locks. */
int store_lock(const char *url, bool shared, int *lock, struct sheaf_error *err);
void store_unlock(int lock);                                /* -1 is fine */

/* Reads a whole small object of at most `limit` bytes and appends a NUL. The caller frees *data. */
int store_get(const char *url, size_t limit, char **data, size_t *size, struct sheaf_error *err);
/* Creates an object and writes all its bytes. The caller must commit it. */
int store_create_whole(const char *url, const void *data, size_t size,
                       struct store_writer **writer, struct sheaf_error *err);
/* Writes a whole small object, durably and atomically. */
int store_put(const char *url, const void *data, size_t size, struct sheaf_error *err);
/* Removes the leftovers of killed writers of `url`. Running writers keep their files. */
int store_sweep(const char *url, struct sheaf_error *err);
/* Makes sure that objects removed from the directory `url` do not come back after a power loss. */
int store_sync(const char *url, struct sheaf_error *err);

/* Removes incomplete uploads with names of ours directly in the directory `url`. An upload is
 * identified only by its name; uploads with other names are left alone. Sets *by_name if the store
 * lists uploads only by an object's name, or not at all, so that each name needs a call of
 * store_clean_object; `by_name` may be NULL. */
int store_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                struct sheaf_error *err);
int store_clean_object(const char *url, struct sheaf_error *err);
/* Returns "directory/name" as allocated memory. For "s3://", which lacks a bucket, returns
 * "s3:///name". */
char *store_join(const char *directory, const char *name);

#endif
