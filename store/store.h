/* SPDX-License-Identifier: MIT
 *
 * The functions that every store of objects (local files, S3, web servers) has, and the choice of a
 * store by URL.
 *
 * A name without a scheme (or with file://) is a local path. All functions are thread-safe. Only
 * one thread at a time may use an object or a writer. As an exception, any number of threads may
 * call store_read on one object. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sheaf.h"

/* The name of the directory for temporary files. The directory lies in the directory in which the
 * finished files will be. The store removes the directory when it becomes empty. A store that needs
 * no temporary files does not create the directory. */
#define STORE_PARTIAL ".sheaf-partial"

/* A note is a word that a store keeps with an object: in the extended attributes of a file, or in
 * the metadata of an S3 object. A store or file system that has neither keeps no notes. A copy of
 * an object may lose its note. */
#define STORE_NOTE_SIZE 33

struct store_ops;
struct part_memory;
struct store_abilities;
struct store_scope;

/* An object that is open for reading. Each store embeds this struct in a struct of its own. */
struct store_object {
    const struct store_ops *ops;
    /* The URL of the object without its query, for messages. The object owns this text. */
    char *url;
    /* The URL as the caller gave it, including its query. NULL if this URL equals `url`. The object
     * owns this text, which must not appear in messages. */
    char *asked;
    /* The size of the object when it was opened; UINT64_MAX for a stream. */
    uint64_t bytes;
    /* A text that identifies the content of the object: different content has a different text.
     * NULL if there is no such text. The object owns the text. */
    const char *version;
    bool is_stream;             /* a pipe or terminal, for which only store_read_next works */
    bool is_remote;             /* whether it pays to start many reads early */
    /* A read is fastest if its size is a multiple of this number of bytes. 0 means that any size is
     * suitable. */
    size_t block_bytes;
    /* A flag that the caller may set; NULL at first. Once the flag is nonzero, store_read_next
     * returns SHEAF_ERR_INTERRUPTED. */
    const volatile int *interrupt;
};

/* A read that store_read_start begins. The caller embeds this struct in a struct of its own. It
 * must keep the struct and the object until the read is done. */
struct store_read {
    struct store_object *object;
    uint64_t offset;
    void *data;
    size_t size;
    /* The store calls this function once when the read is done, possibly on a thread of its own.
     * The function must return soon. */
    void (*done)(struct store_read *read);
    int code;                   /* then: as store_read returns */
    struct sheaf_error error;   /* the error, if `code` is one */
    void *state;                /* the store's */
};

/* A new object that is written from its start to its end. Readers do not see it until it is
 * committed. */
struct store_writer {
    const struct store_ops *ops;
    char *url;
    /* The note (see STORE_NOTE_SIZE) for the object, shorter than STORE_NOTE_SIZE; or NULL. The
     * caller keeps this text until the commit. */
    const char *note;
    /* The path of the stage through which the object gets its name (store/stage.h), or NULL. The
     * caller keeps this text until the commit. */
    const char *stage;
};

/* An object or directory found by store_list or store_walk. */
struct store_entry {
    const char *name;           /* relative to the start of the listing */
    uint64_t bytes;
    uint64_t stamp;             /* differs for different content; 0 if unknown */
    /* The object's ETag as the store sends it, including the quotes; NULL if it is unknown. */
    const char *etag;
    /* The time at which the object was written, in seconds since 1970; 0 if it is unknown. */
    int64_t modified_s;
};
/* Returns whether an entry of a listing is an empty object that marks a directory. Some tools
 * create such objects in stores that have no directories. */
static inline bool store_is_mark(const struct store_entry *entry)
{
    const size_t size = strlen(entry->name);

    return entry->bytes == 0 && (size == 0 || entry->name[size - 1] == '/');
}

/* Called for each entry of a listing or walk. If it returns nonzero, the listing ends with that
 * result. */
typedef int store_entry_fn(void *context, const struct store_entry *entry);

/* Returns whether an object with the name `name` was written by the program that passes this
 * function. The program recognises its objects by the form of their names. */
typedef bool store_is_ours_fn(const void *context, const char *name);

/* A request for the size of an object, which store_stat_start begins. The caller must keep this
 * struct and the URL until the request is done. */
struct store_stat {
    const char *url;
    void (*done)(struct store_stat *stat);      /* as store_read.done */
    int code;                   /* then: as store_size returns */
    struct sheaf_error error;
    uint64_t bytes, stamp;      /* as in store_entry */
    int64_t modified_s;
    char etag[80];              /* "": not known, or longer */
    /* A buffer of STORE_NOTE_SIZE bytes for the object's note. It becomes "" if the object has
     * no note. The pointer is NULL if the caller does not want the note. */
    char *note;
};

/* Identifies the object that a caller saw under a name. With it, the caller can replace or remove
 * that object only if it has not changed. */
struct store_seen {
    bool is_there;
    uint64_t bytes, stamp;      /* as in store_entry */
    char etag[80];              /* as in struct store_stat */
};

/* The space that is still free, in bytes and in numbers of files; UINT64_MAX if no limit is known.
 * A file occupies whole blocks. */
struct store_space {
    uint64_t bytes, files, block_bytes;
};

struct store_ops {
    const char *scheme;         /* "file" */
    bool is_local;              /* URLs are paths of this machine, possibly after "file://" */
    /* Set if URLs of this store may have queries. No name can be appended after a query. */
    bool has_queries;
    const char *place;          /* result of store_place; for files the file system decides */

    int (*open)(const char *url, struct store_object **object, struct sheaf_error *err);
    /* Reads exactly `size` bytes at `offset`. Returns SHEAF_ERR_TRUNCATED if the object ends
     * earlier, SHEAF_ERR_CHANGED if the object is no longer the one that was opened, or
     * SHEAF_ERR_IO. Handles short reads, EINTR and retries. */
    int (*read)(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
    /* Implements store_read_start, and `read_cancel` implements store_read_cancel. Both are NULL if
     * the store gains nothing from starting a read before its result is needed. */
    void (*read_start)(struct store_read *read);
    void (*read_cancel)(struct store_read *read);
    /* Reads at most `size` next bytes of a stream. Sets *got to 0 at the end of the stream. */
    int (*read_next)(struct store_object *object, void *data, size_t size, size_t *got,
                     struct sheaf_error *err);
    /* store_warm. NULL if there is no such cache. */
    void (*warm)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_distrust. NULL if the store keeps nothing. */
    void (*distrust)(struct store_object *object, uint64_t offset, uint64_t size);
    /* store_wait. NULL if the store has no streams. */
    int (*wait)(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
    void (*close)(struct store_object *object);

    /* Lists the objects directly in the directory `url`, in byte order of their names. Leaves out
     * directories and hidden names. */
    int (*list)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);

    /* Lists the directories directly in the directory `url`, except hidden ones. NULL if the store
     * has no directories. */
    int (*list_directories)(const char *url, store_entry_fn *each, void *context,
                            struct sheaf_error *err);

    /* Lists every object under `url` at any depth, in any order, including the objects that mark
     * directories. NULL if the caller must walk directories one by one. */
    int (*walk)(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
    /* Implements store_stat_start. NULL if the store gains nothing from requesting sizes early. */
    void (*stat_start)(struct store_stat *stat);
    /* store_open_known. NULL if opening is cheap. */
    int (*open_known)(const char *url, uint64_t bytes, uint64_t stamp,
                      struct store_object **object, struct sheaf_error *err);

    /* store_etag_is_md5; NULL: no. */
    int (*etag_is_md5)(const char *url, bool *is, struct sheaf_error *err);

    /* NULL unless the store is read-only. Sets *err to the error that the action `what` ("writing",
     * "removing") is not possible, and returns its code. In a read-only store, the functions that
     * change objects (such as create and remove) are NULL. */
    int (*refuse)(const char *url, const char *what, struct sheaf_error *err);

    int (*create)(const char *url, struct store_writer **writer, struct sheaf_error *err);
    /* store_part_bytes, store_create_within. NULL if nothing waits for an acknowledgement. */
    uint64_t (*part_bytes)(uint64_t expected_bytes);
    int (*create_within)(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                         struct store_writer **writer, struct sheaf_error *err);
    int (*write)(struct store_writer *writer, const void *data, size_t size,
                 struct sheaf_error *err);
    /* Makes the object durable and visible under its name, and replaces an existing object. Frees
     * the writer, also on failure. */
    int (*commit)(struct store_writer *writer, struct sheaf_error *err);
    /* Implements store_commit_over. Frees the writer, also on failure. NULL if the store cannot
     * compare and commit in one atomic step. */
    int (*commit_over)(struct store_writer *writer, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err);
    /* Discards the object that was being written, and leaves nothing behind. Frees the writer. */
    void (*abort)(struct store_writer *writer);

    /* store_sweep. NULL if a killed writer leaves nothing visible. */
    int (*sweep)(const char *url, struct sheaf_error *err);

    /* Implements store_clean, and `clean_object` implements store_clean_object. Both are NULL if an
     * interrupted write to this store never leaves an incomplete upload. */
    int (*clean)(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                 struct sheaf_error *err);
    int (*clean_object)(const char *url, struct sheaf_error *err);

    /* Sets *bytes to the size of an object. Returns SHEAF_ERR_NOT_FOUND if there is no such object.
     * The size of a stream is UINT64_MAX; this function does not open the stream. */
    int (*size)(const char *url, uint64_t *bytes, struct sheaf_error *err);
    /* Implements store_is_dangling. NULL if there are no links. */
    bool (*is_dangling)(const char *url);
    /* Removes an object. If the object does not exist, returns SHEAF_OK. */
    int (*remove)(const char *url, struct sheaf_error *err);
    /* store_remove_over; NULL as well. */
    int (*remove_over)(const char *url, const struct store_seen *seen, struct sheaf_error *err);
    /* store_sync. NULL if everything acknowledged is durable. */
    int (*sync)(const char *url, struct sheaf_error *err);
    /* store_free_space. NULL if the store has no limit. */
    int (*free_space)(const char *url, struct store_space *space, struct sheaf_error *err);
    /* Creates the directory `url` and its parents. Does nothing if the store has no directories. */
    int (*make_directory)(const char *url, struct sheaf_error *err);
    /* store_lock. NULL if the store has no locks. */
    int (*lock)(const char *url, bool shared, int *lock, struct sheaf_error *err);
    /* Makes or takes over a stage; see store/stage.h. `from` is NULL for a new stage. The function
     * pointer is NULL if the store has no stages. */
    int (*stage_take)(const char *partial, const char *from, const char *stage,
                      struct sheaf_error *err);
    bool (*stage_is_there)(const char *stage);
    int (*stage_drop)(const char *partial, const char *only, const char *except,
                      struct sheaf_error *err);
    int (*stage_remove)(const char *url, const char *stage, struct sheaf_error *err);
    /* Implements store_find_abilities. NULL if each function in this table works on every
     * server. */
    int (*find_abilities)(const char *directory, struct store_abilities *abilities,
                          struct sheaf_error *err);
    /* Implements store_scope_open. It is called only if `texts` is not NULL. The function pointer
     * is NULL if the store has no settings. */
    int (*scope_open)(const char *url, const char *const *texts, struct store_scope **scope,
                      struct sheaf_error *err);
    void (*scope_close)(struct store_scope *scope);
};

/* Only this declaration and the table in store.c may use the names of these stores. */
extern const struct store_ops store_file_ops, store_s3_ops, store_http_ops, store_https_ops,
                              store_hf_ops, store_gs_ops;

/* An additional store that a test program may define. */
extern const struct store_ops *const store_of_test
    __attribute__((weak, visibility("hidden")));
/* Returns the store of a URL. Returns NULL and sets an error if the URL's scheme is unknown. */
const struct store_ops *store_of(const char *url, struct sheaf_error *err);

/* This function and the following ones tell facts about a URL without a request. If the scheme is
 * unknown, all of them return false. store_is_local returns whether the URL is a local file or
 * directory; local_path() returns its path. */
bool store_is_local(const char *url);
/* Returns whether reads of the URL wait for a network. If so, it is faster to start many reads
 * early. */
bool store_is_remote(const char *url);
/* Returns whether objects can be written to the store. */
bool store_is_writable(const char *url);
/* Returns whether the URL is a local symbolic link whose target does not exist. This function asks
 * the file system. */
bool store_is_dangling(const char *url);
/* Returns whether the URL can only name an object and not a directory. This is so if the URL has a
 * query, because no name can be appended after a query. */
bool store_names_one(const char *url);
/* Returns words that tell a person where the URL's bytes are: "S3", "HTTP", "local disk", "NFS". */
const char *store_place(const char *url);
/* Returns the smallest size of a read that is efficient on a network file system such as NFS.
 * Returns 0 if the URL is not on a network file system. */
size_t store_read_bytes(const char *url);

/* This function and the following ones call the function of the same name in the URL's store. A
 * wait for the network ends when the thread's interrupt flag is set; see store/interrupt.h. */
int store_open(const char *url, struct store_object **object, struct sheaf_error *err);
/* Opens an object of known size and stamp (a number that differs if the object was replaced),
 * without a request. If the object has been replaced meanwhile, reading it returns
 * SHEAF_ERR_CHANGED. If `stamp` is 0, the object that the first read finds is used.
 *
 * The size of a remote object may be UINT64_MAX (unknown) until a first read at offset 0. Only this
 * first read may extend beyond the end of the object. */
int store_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                     struct store_object **object, struct sheaf_error *err);
int store_read(struct store_object *object, uint64_t offset, void *data, size_t size,
               struct sheaf_error *err);
/* Begins a read and returns before it is done. Many reads may run at the same time. The store may
 * call `done` before this function returns. */
void store_read_start(struct store_read *read);
/* Makes a read end soon. Its result is SHEAF_ERR_INTERRUPTED, unless the read had ended already. */
void store_read_cancel(struct store_read *read);
/* Brings bytes of an object into the cache that the processes of this machine share, and returns
 * when most of the bytes should be in the cache. If the bytes cannot be read, this function is
 * silent; a later read reports the error. */
void store_warm(struct store_object *object, uint64_t offset, uint64_t size);
/* Discards the cached copies of these bytes, because the bytes have proved to be damaged. The next
 * read gets them from the object itself. */
void store_distrust(struct store_object *object, uint64_t offset, uint64_t size);
int store_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                    struct sheaf_error *err);
/* Waits at most about `wait_ms` until a stream has more bytes or ends, or until a pipe has a
 * writer. Returns SHEAF_OK if one of these has happened, and SHEAF_END if not. */
int store_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
void store_close(struct store_object *object);              /* NULL is fine */
int store_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
/* Returns SHEAF_ERR_UNSUPPORTED if the store has no such function. */
int store_list_directories(const char *url, store_entry_fn *each, void *context,
                           struct sheaf_error *err);
int store_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
int store_create(const char *url, struct store_writer **writer, struct sheaf_error *err);
/* Returns the size of the parts in which an object of about the expected size (0 if unknown) is
 * sent to the store of `url`. A writer needs memory for at least one part, and keeps several until
 * the store has acknowledged them. Returns 0 if writers to this store keep no parts. */
uint64_t store_part_bytes(const char *url, uint64_t expected_bytes);
/* Creates a writer like store_create. Its parts use memory that several writers share. That memory
 * must outlive the writer. */
int store_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                        struct store_writer **writer, struct sheaf_error *err);
int store_write(struct store_writer *writer, const void *data, size_t size,
                struct sheaf_error *err);
int store_commit(struct store_writer *writer, struct sheaf_error *err);
void store_abort(struct store_writer *writer);              /* NULL is fine */
int store_size(const char *url, uint64_t *bytes, struct sheaf_error *err);
/* Begins a request for the size of an object and its stamp (a number that differs if the object was
 * replaced). Returns before the request is done, like store_read_start. The stamp equals the stamp
 * of the object in listings. */
void store_stat_start(struct store_stat *stat);
/* Requests the size of an object and its stamp (a number that differs if the object was replaced),
 * and waits for them. */
int store_identify(const char *url, uint64_t *bytes, uint64_t *stamp, struct sheaf_error *err);
/* Some stores answer with ETags that look like an MD5 (32 hexadecimal digits) but are not the MD5
 * of the object's content; S3 does so for objects that are encrypted with a customer's key. Sets
 * *is to whether such an ETag of an object of `url` can be trusted to be its MD5. */
int store_etag_is_md5(const char *url, bool *is, struct sheaf_error *err);
int store_remove(const char *url, struct sheaf_error *err);
/* Finds how many bytes and files can still be written under `url`, which need not exist yet. */
int store_free_space(const char *url, struct store_space *space, struct sheaf_error *err);
/* Checks that `files` more files with `bytes` bytes in all fit under `url`. If not, returns
 * SHEAF_ERR_IO, like a write that finds the disk full. Every command that knows the size of its
 * output calls this function before it writes. */
int store_check_space(const char *url, uint64_t bytes, uint64_t files, struct sheaf_error *err);
int store_make_directory(const char *url, struct sheaf_error *err);
/* Locks the directory `url` until store_unlock or until the process ends. If `shared` is set,
 * others may hold a shared lock at the same time. Returns SHEAF_ERR_EXISTS if another owner holds a
 * lock that excludes this one. Sets *lock to -1 if the store or the file system has no locks. */
int store_lock(const char *url, bool shared, int *lock, struct sheaf_error *err);
void store_unlock(int lock);                                /* -1 is fine */

/* Reads a whole small object of at most `limit` bytes, and appends a NUL to it. The caller frees
 * *data. */
int store_get(const char *url, size_t limit, char **data, size_t *size, struct sheaf_error *err);
/* Creates an object and writes all its bytes. The caller must commit the writer. */
int store_create_whole(const char *url, const void *data, size_t size,
                       struct store_writer **writer, struct sheaf_error *err);
/* Writes a whole small object, durably and atomically. */
int store_put(const char *url, const void *data, size_t size, struct sheaf_error *err);
/* Removes what killed writers of the object `url` left behind. The files of running writers
 * stay. */
int store_sweep(const char *url, struct sheaf_error *err);
/* Makes sure that objects which were removed from the directory `url` do not come back after a
 * power failure. */
int store_sync(const char *url, struct sheaf_error *err);

/* Removes incomplete uploads directly in the directory `url` whose names `is_ours` accepts. An
 * upload is identified only by its name; uploads with other names stay. Some stores cannot list the
 * uploads in a directory. For such a store, sets *by_name, and the caller must call
 * store_clean_object for each name that it may have used. `by_name` may be NULL. */
int store_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                struct sheaf_error *err);
int store_clean_object(const char *url, struct sheaf_error *err);
/* Returns "directory/name" as allocated memory. For "s3://", which lacks a bucket, returns
 * "s3:///name". */
char *store_join(const char *directory, const char *name);

#endif
