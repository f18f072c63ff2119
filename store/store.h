/* SPDX-License-Identifier: MIT
 *
 * Stores: local files, S3, web servers and others. Declares the functions that each store has, and
 * the functions that choose a store by a URL. A name is a local path if it has the scheme file://
 * or no scheme at all.
 *
 * All functions are thread-safe. Only one thread at a time may use an object or a writer. As an
 * exception, any number of threads may call store_read for one object. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sheaf.h"

/* Name of the directory for temporary files. This directory is made in the directory in which the
 * finished files will be, and is removed when it is empty. Stores that need no temporary files do
 * not make it. */
#define STORE_PARTIAL ".sheaf-partial"

/* Size of the note of an object, including a NUL. A note is a word that a store keeps with an
 * object, in an extended attribute of a file or in the metadata of an S3 object. Other stores keep
 * no notes. If an object is copied by another program, the copy may have no note. */
#define STORE_NOTE_SIZE 33

struct made_directories;
struct store_ops;
struct part_memory;
struct store_abilities;
struct store_scope;

/* An object that is open for reading. Each store has a larger struct for its objects, whose first
 * member is this struct. */
struct store_object {
    const struct store_ops *ops;
    /* URL of the object without its query, for messages; owned by the object */
    char *url;
    /* URL as the caller gave it, with its query; NULL if it equals `url`. This URL must not be
     * shown in messages, because its query may have secrets. Owned by the object. */
    char *asked;
    /* size of the object in bytes when it was opened; UINT64_MAX for a stream */
    uint64_t bytes;
    /* text that is different if the content is different, such as an ETag; NULL if the store has no
     * such text; owned by the object */
    const char *version;
    bool is_stream;             /* a pipe or terminal, for which only store_read_next works */
    bool is_remote;             /* whether it pays to start many reads early */
    /* The size of a read should be a multiple of this number of bytes, because such reads are
     * fastest. 0 if any size is good. */
    size_t block_bytes;
    /* a flag of the caller, or NULL. If the flag is set, store_read_next returns
     * SHEAF_ERR_INTERRUPTED. */
    const volatile int *interrupt;
};

/* A read that store_read_start begins. The caller has this struct as a member of a larger struct.
 * This struct and the object must stay valid until the read is done. */
struct store_read {
    struct store_object *object;
    uint64_t offset;
    void *data;
    size_t size;
    /* Called by the store once when the read is done, possibly on another thread. The function must
     * return soon. */
    void (*done)(struct store_read *read);
    int code;                   /* then: as store_read returns */
    struct sheaf_error error;   /* the error, if `code` is one */
    void *state;                /* the store's */
};

/* A new object that is written from start to end. Readers do not see it before it is committed. */
struct store_writer {
    const struct store_ops *ops;
    char *url;
    /* the note, a word that is stored with the object and is shorter than STORE_NOTE_SIZE; NULL
     * if the object gets no note. The text must stay valid until the commit. */
    const char *note;
    /* path of the stage, a directory into which the file is renamed before it gets its final
     * name (store/stage.h). NULL if the caller uses no stage. The text must stay valid until the
     * commit. */
    const char *stage;
};

/* An object or directory found by store_list or store_walk. */
struct store_entry {
    const char *name;           /* relative to the start of the listing */
    uint64_t bytes;
    uint64_t stamp;             /* differs for different content; 0 if unknown */
    /* ETag of the object as the store sends it, with its quotes; NULL if unknown */
    const char *etag;
    /* time at which the object was written, in seconds since 1970; 0 if unknown */
    int64_t modified_s;
};
/* Returns whether an entry of a listing is an empty object that stands for a directory. Some tools
 * create such objects in stores that have no directories. */
static inline bool store_is_mark(const struct store_entry *entry)
{
    const size_t size = strlen(entry->name);

    return entry->bytes == 0 && (size == 0 || entry->name[size - 1] == '/');
}

/* A function that receives an entry of a listing or walk. A return value other than 0 ends the
 * listing, which then returns this value. */
typedef int store_entry_fn(void *context, const struct store_entry *entry);

/* A function that returns whether the caller of store_clean may have written the object `name`,
 * judged by the form of the name. */
typedef bool store_is_ours_fn(const void *context, const char *name);

/* A request for the size, the stamp and other facts of an object, which store_stat_start begins.
 * The struct and the URL must stay valid until the request is done. */
struct store_stat {
    const char *url;
    void (*done)(struct store_stat *stat);      /* as store_read.done */
    int code;                   /* then: as store_size returns */
    struct sheaf_error error;
    uint64_t bytes, stamp;      /* as in store_entry */
    int64_t modified_s;
    char etag[80];              /* "": not known, or longer */
    /* buffer of STORE_NOTE_SIZE bytes for the note of the object, a word that is stored with the
     * object. The note is "" if the object has none. `note` is NULL if the caller does not need the
     * note. */
    char *note;
};

/* Describes the object that a caller has seen under a name. With this description, the caller can
 * later replace or remove exactly this object, but not another object that has taken its name in
 * the meantime. */
struct store_seen {
    bool is_there;
    uint64_t bytes, stamp;      /* as in store_entry */
    char etag[80];              /* as in struct store_stat */
};

/* Free space: numbers of bytes and of files that can still be written; UINT64_MAX if no limit is
 * known. A file takes a whole number of blocks of block_bytes bytes. */
struct store_space {
    uint64_t bytes, files, block_bytes;
};

struct store_ops {
    const char *scheme;         /* "file" */
    bool is_local;              /* URLs are paths of this machine, possibly after "file://" */
    /* whether URLs of this store may have a query. A URL with a query cannot be a directory,
     * because no name can be appended to the query. */
    bool has_queries;
    bool has_buckets;           /* URLs are SCHEME://BUCKET/KEY */
    const char *place;          /* result of store_place; for files the file system decides */

    int (*open)(const char *url, struct store_object **object, struct sheaf_error *err);
    /* Reads exactly `size` bytes at `offset`, and repeats short reads and failures that may be
     * temporary. Returns SHEAF_ERR_TRUNCATED if the object ends before the range does,
     * SHEAF_ERR_CHANGED if the object has been replaced since it was opened, and SHEAF_ERR_IO for
     * other failures. */
    int (*read)(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
    /* read_start implements store_read_start, and read_cancel implements store_read_cancel. Both
     * are NULL if starting a read early has no advantage in this store. */
    void (*read_start)(struct store_read *read);
    void (*read_cancel)(struct store_read *read);
    /* Reads the next bytes of a stream, at most `size`. *got becomes their number, or 0 at the end
     * of the stream. */
    int (*read_next)(struct store_object *object, void *data, size_t size, size_t *got,
                     struct sheaf_error *err);
    /* store_warm. NULL if there is no such cache. */
    void (*warm)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_distrust. NULL if the store keeps nothing. */
    void (*distrust)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_wait. NULL if the store has no streams. */
    int (*wait)(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
    void (*close)(struct store_object *object);

    /* Lists the objects directly in the directory `url`, in byte order of their names. Directories
     * and hidden names are left out. */
    int (*list)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);

    /* Lists the directories directly in the directory `url`, except hidden ones. `list_directories`
     * is NULL if the store cannot list directories. */
    int (*list_directories)(const char *url, store_entry_fn *each, void *context,
                            struct sheaf_error *err);

    /* Lists all objects under `url`, also in subdirectories, in any order. Objects that mark
     * directories (store_is_mark) are listed as well. `walk` is NULL if the store cannot do this;
     * the caller then lists one directory after another. */
    int (*walk)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
    /* Implements store_stat_start. `stat_start` is NULL if requesting a size early has no advantage
     * in this store. */
    void (*stat_start)(struct store_stat *stat);
    /* store_open_known. NULL if opening is cheap. */
    int (*open_known)(const char *url, uint64_t bytes, uint64_t stamp,
                      struct store_object **object, struct sheaf_error *err);

    /* store_etag_is_md5; NULL: no. */
    int (*etag_is_md5)(const char *url, bool *is, struct sheaf_error *err);

    /* Refuses the action `what`, such as "writing" or "removing", because the store can only be
     * read. Sets *err and returns its code. `refuse` is NULL if the store can be written. If
     * `refuse` is not NULL, the pointers to all functions that change objects are NULL. */
    int (*refuse)(const char *url, const char *what, struct sheaf_error *err);

    int (*create)(const char *url, struct store_writer **writer, struct sheaf_error *err);
    /* store_part_bytes, store_create_within. NULL if nothing waits for an acknowledgement. */
    uint64_t (*part_bytes)(uint64_t expected_bytes);
    int (*create_within)(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                         struct store_writer **writer, struct sheaf_error *err);
    int (*write)(struct store_writer *writer, const void *data, size_t size,
                 struct sheaf_error *err);
    /* Implements store_end. `end` is NULL if the writers of this store hold no bytes back. */
    int (*end)(struct store_writer *writer, struct sheaf_error *err);
    /* Makes the object durable, and gives it its name. An existing object of this name is replaced.
     * Frees the writer, even on failure. */
    int (*commit)(struct store_writer *writer, struct sheaf_error *err);
    /* Implements store_commit_over. Frees the writer, even on failure. `commit_over` is NULL if the
     * store cannot compare and commit in one step. */
    int (*commit_over)(struct store_writer *writer, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err);
    /* Discards the object that was being written, so that nothing of it stays. Frees the writer. */
    void (*abort)(struct store_writer *writer);

    /* store_sweep. NULL if a killed writer leaves nothing visible. */
    int (*sweep)(const char *url, struct sheaf_error *err);

    /* `clean` implements store_clean, and clean_object implements store_clean_object. Both are NULL
     * if this store never has incomplete uploads. */
    int (*clean)(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                 struct sheaf_error *err);
    int (*clean_object)(const char *url, struct sheaf_error *err);

    /* Sets *bytes to the size of an object, or to UINT64_MAX for a stream, without opening it.
     * Returns SHEAF_ERR_NOT_FOUND if there is no such object. */
    int (*size)(const char *url, uint64_t *bytes, struct sheaf_error *err);
    /* Implements store_is_dangling. NULL if there are no links. */
    bool (*is_dangling)(const char *url);
    /* Removes an object. Also returns SHEAF_OK if the object does not exist. */
    int (*remove)(const char *url, struct sheaf_error *err);
    /* store_remove_over; NULL as well. */
    int (*remove_over)(const char *url, const struct store_seen *seen, struct sheaf_error *err);
    /* store_sync. NULL if everything acknowledged is durable. */
    int (*sync)(const char *url, struct sheaf_error *err);
    /* store_free_space. NULL if the store has no limit. */
    int (*free_space)(const char *url, struct store_space *space, struct sheaf_error *err);
    /* store_make_directory. Makes nothing in a store without directories. */
    int (*make_directory)(const char *url, struct made_directories *made,
                          struct sheaf_error *err);
    /* store_lock. NULL if the store has no locks. */
    int (*lock)(const char *url, bool shared, int *lock, struct sheaf_error *err);
    /* Makes the stage `stage` if `from` is NULL. Otherwise takes over the stage `from` by renaming
     * it to `stage`. A stage is a directory into which a run renames its files before they get
     * their final names (see store/stage.h). `stage_take` is NULL if the store has no stages. */
    int (*stage_take)(const char *partial, const char *from, const char *stage,
                      struct sheaf_error *err);
    bool (*stage_is_there)(const char *stage);
    int (*stage_drop)(const char *partial, const char *only, const char *except,
                      struct sheaf_error *err);
    int (*stage_remove)(const char *url, const char *stage, struct sheaf_error *err);
    /* Implements store_find_abilities. `find_abilities` is NULL if the abilities of the store do
     * not depend on the server. */
    int (*find_abilities)(const char *directory, struct store_abilities *abilities,
                          struct sheaf_error *err);
    /* Implements store_scope_open, but is never called with `texts` NULL. `scope_open` is NULL if
     * the store has no settings. */
    int (*scope_open)(const char *url, const char *const *texts, struct store_scope **scope,
                      struct sheaf_error *err);
    void (*scope_close)(struct store_scope *scope);
};

/* The tables of all stores. Only store.c may name these tables. Other code gets a table from
 * store_of. */
extern const struct store_ops store_file_ops, store_s3_ops, store_http_ops, store_https_ops,
                              store_hf_ops, store_gs_ops;

/* An additional store, which test programs set before main() runs. Otherwise NULL. */
extern const struct store_ops *store_of_test;
/* Returns the store of a URL. If the scheme of the URL is unknown, sets an error and returns
 * NULL. */
const struct store_ops *store_of(const char *url, struct sheaf_error *err);

/* The functions from here to store_read_bytes answer questions about a URL without a request to its
 * server. For an unknown scheme, the functions of type bool return false.
 *
 * store_is_local returns whether the URL is a local file or directory. If it is, local_path returns
 * its path. */
bool store_is_local(const char *url);
/* Returns whether reads of this URL wait for a network. For such a URL, it is faster to start many
 * reads early. */
bool store_is_remote(const char *url);
/* Returns whether objects can be written to the store. */
bool store_is_writable(const char *url);
/* Returns whether the URL is a local symbolic link whose target does not exist. store_is_dangling
 * asks the file system, unlike the functions before, which only look at the URL. */
bool store_is_dangling(const char *url);
/* Returns whether the URL is in S3. store_s3_url returns the URL of a whole bucket of S3 as
 * allocated memory, with a slash at the end, or NULL if memory is exhausted. */
bool store_is_s3(const char *url);
char *store_s3_url(const char *bucket);
/* Returns whether the URL can be an object only, and not a directory. This is true for a URL with a
 * query, because no name can be appended to a query. */
bool store_names_one(const char *url);
/* Returns the place of a URL in words for messages, such as "S3", "HTTP", "local disk" or "NFS". */
const char *store_place(const char *url);
/* Returns the smallest efficient size of a read in bytes, if the URL is on a network file system
 * such as NFS. Otherwise returns 0, because reads of any size are efficient. */
size_t store_read_bytes(const char *url);

/* store_open and the functions after it call the function of the URL's store. For example,
 * store_open calls the pointer `open` in struct store_ops. A wait for the network ends early if the
 * interrupt flag of the thread is set (see store/interrupt.h). */
int store_open(const char *url, struct store_object **object, struct sheaf_error *err);
/* Opens an object without a request, because its size and its stamp are known. A stamp is a number
 * that is different if the object was replaced. If the object has another stamp, reads return
 * SHEAF_ERR_CHANGED. If `stamp` is 0, any object of this size is accepted, but all reads must find
 * the same object.
 *
 * `bytes` may be UINT64_MAX if the size of a remote object is unknown. The first read must then be
 * at offset 0. Only this read may ask for bytes beyond the end of the object. */
int store_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                     struct store_object **object, struct sheaf_error *err);
int store_read(struct store_object *object, uint64_t offset, void *data, size_t size,
               struct sheaf_error *err);
/* Begins a read and returns without waiting for it. Many reads may run at the same time. The
 * function `done` of the read may be called even before this function returns. */
void store_read_start(struct store_read *read);
/* Makes a read end soon. If the read was not already done, its result is SHEAF_ERR_INTERRUPTED. */
void store_read_cancel(struct store_read *read);
/* Brings bytes of an object into a cache that all processes of this machine share. For a file, this
 * is the kernel's page cache. Returns when most of the bytes should be cached. Failures are ignored
 * here, because a later read reports them. */
void store_warm(struct store_object *object, uint64_t offset, uint64_t size);
/* Removes a range of bytes from the cache, because these bytes have turned out to be damaged. The
 * next read gets them from the object itself. */
void store_distrust(struct store_object *object, uint64_t offset, uint64_t size);
int store_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                    struct sheaf_error *err);
/* Waits until a stream has more bytes or ends, but at most about wait_ms milliseconds. Returns
 * SHEAF_END if this time was not enough. For a pipe without a writer, it waits until a program
 * opens the pipe for writing. */
int store_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
void store_close(struct store_object *object);              /* NULL is fine */
int store_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
/* Returns SHEAF_ERR_UNSUPPORTED if the store has no such function. */
int store_list_directories(const char *url, store_entry_fn *each, void *context,
                           struct sheaf_error *err);
int store_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
int store_create(const char *url, struct store_writer **writer, struct sheaf_error *err);
/* Returns the size in bytes of the parts in which an object is sent to the store of `url`.
 * expected_bytes is the expected size of the object, or 0 if unknown. A writer needs memory for at
 * least one part. Usually a writer has several parts in memory until the store has acknowledged
 * them. Returns 0 if writers of this store have no parts in memory. */
uint64_t store_part_bytes(const char *url, uint64_t expected_bytes);
/* Creates a writer like store_create, but takes the memory for its parts from `memory`, which
 * several writers share. `memory` must exist longer than the writer. */
int store_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                        struct store_writer **writer, struct sheaf_error *err);
int store_write(struct store_writer *writer, const void *data, size_t size,
                struct sheaf_error *err);
/* Tells the writer that all bytes of the object were written. The writer then starts to send the
 * bytes that it still holds back, so that they are under way while the caller prepares the commit.
 * Does not wait until they have arrived. This call is optional. After an error, the caller must
 * abort the writer. */
int store_end(struct store_writer *writer, struct sheaf_error *err);
int store_commit(struct store_writer *writer, struct sheaf_error *err);
void store_abort(struct store_writer *writer);              /* NULL is fine */
int store_size(const char *url, uint64_t *bytes, struct sheaf_error *err);
/* Begins to request the size and the stamp of an object, and returns without waiting, like
 * store_read_start. The stamp is a number that is different if the object was replaced. A listing
 * contains the same stamp for this object. */
void store_stat_start(struct store_stat *stat);
/* Requests the size and the stamp of an object, and waits for them. The stamp is a number that is
 * different if the object was replaced. */
int store_identify(const char *url, uint64_t *bytes, uint64_t *stamp, struct sheaf_error *err);
/* Sets *is to whether an ETag of 32 hexadecimal digits in the store of `url` can be trusted to be
 * the MD5 of the object's content. In some stores it cannot be trusted. For example, if an object
 * is encrypted with a customer's key, S3 gives it an ETag that has this form but is not its MD5. */
int store_etag_is_md5(const char *url, bool *is, struct sheaf_error *err);
int store_remove(const char *url, struct sheaf_error *err);
/* Finds out how many bytes and files can still be written under `url`, which need not exist yet. */
int store_free_space(const char *url, struct store_space *space, struct sheaf_error *err);
/* Checks whether `files` more files with `bytes` bytes in total fit under `url`. Returns
 * SHEAF_ERR_IO, the code of a write to a full disk, if the files do not fit. Every command that
 * knows the size of its output calls this function before it writes. */
int store_check_space(const char *url, uint64_t bytes, uint64_t files, struct sheaf_error *err);
/* Makes the directory `url` and its parents, unless they exist. Adds each directory that the call
 * makes to `made` (store/made.h), unless `made` is NULL. */
int store_make_directory(const char *url, struct made_directories *made, struct sheaf_error *err);
/* Locks the directory `url` until store_unlock, or until the process ends. If `shared` is true,
 * other processes may hold a shared lock at the same time. Returns SHEAF_ERR_EXISTS if another
 * process holds a lock that does not allow this lock. *lock becomes -1 if the store or the file
 * system has no locks. */
int store_lock(const char *url, bool shared, int *lock, struct sheaf_error *err);
void store_unlock(int lock);                                /* -1 is fine */

/* Reads a whole object of at most `limit` bytes into *data, with a NUL after it. The caller must
 * free *data. */
int store_get(const char *url, size_t limit, char **data, size_t *size, struct sheaf_error *err);
/* Creates a writer for an object, and writes all bytes of the object. The caller must then commit
 * the writer. */
int store_create_whole(const char *url, const void *data, size_t size,
                       struct store_writer **writer, struct sheaf_error *err);
/* Writes a whole small object, durably and atomically. */
int store_put(const char *url, const void *data, size_t size, struct sheaf_error *err);
/* Removes temporary files that killed writers of the object `url` have left. Files of running
 * writers stay. */
int store_sweep(const char *url, struct sheaf_error *err);
/* Makes removals in the directory `url` durable. Otherwise removed objects might reappear after a
 * power failure. */
int store_sync(const char *url, struct sheaf_error *err);

/* Aborts incomplete uploads directly in the directory `url`, if is_ours returns true for their
 * names. Other uploads stay.
 *
 * Some stores cannot list the uploads in a directory. For such a store, *by_name becomes true, and
 * the caller must call store_clean_object for each name that it may have used. by_name may be
 * NULL. */
int store_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                struct sheaf_error *err);
int store_clean_object(const char *url, struct sheaf_error *err);
/* Returns "directory/name" as allocated memory. As an exception, if `directory` is "s3://" without
 * a bucket, returns the invalid URL "s3:///name". Otherwise `name` would be taken for a bucket. */
char *store_join(const char *directory, const char *name);

#endif
