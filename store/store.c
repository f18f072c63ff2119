/* SPDX-License-Identifier: MIT
 *
 * Chooses the store of a URL, and calls the functions of this store. Also has functions of store.h
 * that need several functions of a store, such as store_get. */
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/event.h"
#include "store/file_system.h"

static const struct store_ops *const stores[] = {
    &store_file_ops, &store_s3_ops, &store_http_ops, &store_https_ops, &store_hf_ops,
    &store_gs_ops,
};

const struct store_ops *store_of_test;

static const struct store_ops *store_of_scheme(const char *scheme, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(stores); i++)
        if (strlen(stores[i]->scheme) == size && strncmp(stores[i]->scheme, scheme, size) == 0)
            return stores[i];
    return store_of_test != NULL && strlen(store_of_test->scheme) == size &&
           strncmp(store_of_test->scheme, scheme, size) == 0 ? store_of_test : NULL;
}

/* Returns the store of a URL. Refuses texts such as "s3:/bucket" and "S3://bucket", which are
 * typing errors. If such texts were taken as local paths, data would be written to a local disk by
 * mistake. */
const struct store_ops *store_of(const char *url, struct sheaf_error *err)
{
    const size_t size = strspn(url, "abcdefghijklmnopqrstuvwxyz" "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789+.-");
    const bool is_url = size != 0 && strncmp(url + size, "://", 3) == 0;
    const struct store_ops *ops = size == 0 ? NULL : store_of_scheme(url, size);

    if (is_url && ops == NULL)
        err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: unsupported URL scheme \"%.*s://\", expected s3, "
                "https, http, hf, gs or file", url, (int)size, url);
    else if (!is_url && ops != NULL && strncmp(url + size, ":/", 2) == 0)
        err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: one slash after \"%.*s:\", expected two (a path "
                "begins with ./)", url, (int)size, url);
    else
        return is_url ? ops : &store_file_ops;
    return NULL;
}

bool store_is_local(const char *url)
{
    const struct store_ops *ops = store_of(url, NULL);

    return ops != NULL && ops->is_local;
}

bool store_is_remote(const char *url)
{
    const struct store_ops *ops = store_of(url, NULL);

    return ops != NULL && ops->read_start != NULL;
}

bool store_is_s3(const char *url)
{
    return store_of(url, NULL) == &store_s3_ops;
}

char *store_s3_url(const char *bucket)
{
    char *url;

    return asprintf(&url, "%s://%s/", store_s3_ops.scheme, bucket) < 0 ? NULL : url;
}

bool store_is_writable(const char *url)
{
    const struct store_ops *ops = store_of(url, NULL);

    return ops != NULL && ops->create != NULL;
}

bool store_is_dangling(const char *url)
{
    const struct store_ops *ops = store_of(url, NULL);

    return ops != NULL && ops->is_dangling != NULL && ops->is_dangling(url);
}

bool store_names_one(const char *url)
{
    const struct store_ops *ops = store_of(url, NULL);

    return ops != NULL && ops->has_queries && strchr(url, '?') != NULL;
}

const char *store_place(const char *url)
{
    const struct store_ops *ops = store_of(url, NULL);
    enum file_system kind;

    if (ops == NULL || !ops->is_local)
        return ops == NULL || ops->place == NULL ? "" : ops->place;
    kind = file_system_of_path(local_path(url));
    return kind == FILE_SYSTEM_LOCAL ? "local disk" : file_system_name(kind);
}

size_t store_read_bytes(const char *url)
{
    return store_is_local(url) ? file_system_read_bytes(url) : 0;
}

int store_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    return ops == NULL ? SHEAF_ERR_UNSUPPORTED : ops->open(url, object, err);
}

int store_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                     struct store_object **object, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);
    int code;

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    if (ops->open_known != NULL)
        return ops->open_known(url, bytes, stamp, object, err);
    code = ops->open(url, object, err);
    if (code != SHEAF_OK || (*object)->bytes == bytes)
        return code;
    code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %llu byte%s, not %llu as before", url,
                   (unsigned long long)(*object)->bytes, plural((*object)->bytes),
                   (unsigned long long)bytes);
    store_close(*object);
    *object = NULL;
    return code;
}

int store_read(struct store_object *object, uint64_t offset, void *data, size_t size,
               struct sheaf_error *err)
{
    return object->ops->read(object, offset, data, size, err);
}

void store_read_start(struct store_read *read)
{
    const struct store_ops *ops = read->object->ops;

    if (ops->read_start != NULL) {
        ops->read_start(read);
        return;
    }
    read->code = ops->read(read->object, read->offset, read->data, read->size, &read->error);
    read->done(read);
}

void store_read_cancel(struct store_read *read)
{
    if (read->object->ops->read_cancel != NULL)
        read->object->ops->read_cancel(read);
}

void store_warm(struct store_object *object, uint64_t offset, uint64_t size)
{
    if (object->ops->warm != NULL)
        object->ops->warm(object, offset, size);
}

void store_distrust(struct store_object *object, uint64_t offset, uint64_t size)
{
    if (object->ops->distrust != NULL)
        object->ops->distrust(object, offset, size);
}

int store_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                    struct sheaf_error *err)
{
    return object->ops->read_next(object, data, size, got, err);
}

int store_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err)
{
    return object->ops->wait == NULL ? SHEAF_OK : object->ops->wait(object, wait_ms, err);
}

void store_close(struct store_object *object)
{
    if (object != NULL)
        object->ops->close(object);
}

int store_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    return ops == NULL ? SHEAF_ERR_UNSUPPORTED : ops->list(url, each, context, err);
}

int store_list_directories(const char *url, store_entry_fn *each, void *context,
                           struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    if (ops->list_directories == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: directories are not supported here", url);
    return ops->list_directories(url, each, context, err);
}

int store_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    if (ops->walk == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: cannot be listed at every depth", url);
    return ops->walk(url, each, context, err);
}

/* Returns the store of a URL for writing. Returns NULL and sets an error if the store is unknown or
 * can only be read. */
static const struct store_ops *writable_store_of(const char *url, const char *what,
                                                 struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (ops == NULL || ops->refuse == NULL)
        return ops;
    ops->refuse(url, what, err);
    return NULL;
}

int store_create(const char *url, struct store_writer **writer, struct sheaf_error *err)
{
    const struct store_ops *ops = writable_store_of(url, "writing", err);

    return ops == NULL ? SHEAF_ERR_UNSUPPORTED : ops->create(url, writer, err);
}

uint64_t store_part_bytes(const char *url, uint64_t expected_bytes)
{
    const struct store_ops *ops = store_of(url, NULL);

    return ops == NULL || ops->part_bytes == NULL ? 0 : ops->part_bytes(expected_bytes);
}

int store_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                        struct store_writer **writer, struct sheaf_error *err)
{
    const struct store_ops *ops = writable_store_of(url, "writing", err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->create_within == NULL
           ? ops->create(url, writer, err)
           : ops->create_within(url, memory, expected_bytes, writer, err);
}

int store_write(struct store_writer *writer, const void *data, size_t size,
                struct sheaf_error *err)
{
    return writer->ops->write(writer, data, size, err);
}

int store_end(struct store_writer *writer, struct sheaf_error *err)
{
    return writer->ops->end == NULL ? SHEAF_OK : writer->ops->end(writer, err);
}

int store_commit(struct store_writer *writer, struct sheaf_error *err)
{
    return writer->ops->commit(writer, err);
}

void store_abort(struct store_writer *writer)
{
    if (writer != NULL)
        writer->ops->abort(writer);
}

int store_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    return ops == NULL ? SHEAF_ERR_UNSUPPORTED : ops->size(url, bytes, err);
}

void store_stat_start(struct store_stat *stat)
{
    const struct store_ops *ops = store_of(stat->url, &stat->error);

    if (ops != NULL && ops->stat_start != NULL) {
        ops->stat_start(stat);
        return;
    }
    stat->stamp = 0;
    stat->modified_s = 0;
    stat->etag[0] = '\0';
    stat->code = ops == NULL ? SHEAF_ERR_UNSUPPORTED
                             : ops->size(stat->url, &stat->bytes, &stat->error);
    stat->done(stat);
}

struct question {
    struct store_stat stat;
    struct event answered;
};

static void store_answered(struct store_stat *stat)
{
    event_set(&((struct question *)stat)->answered);
}

int store_identify(const char *url, uint64_t *bytes, uint64_t *stamp, struct sheaf_error *err)
{
    struct question q = { .stat = { .url = url, .done = store_answered }, .answered = EVENT_INIT };

    store_stat_start(&q.stat);
    event_wait(&q.answered);
    *bytes = q.stat.bytes;
    *stamp = q.stat.stamp;
    if (q.stat.code != SHEAF_OK && err != NULL)
        *err = q.stat.error;
    return q.stat.code;
}

int store_etag_is_md5(const char *url, bool *is, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    *is = false;
    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->etag_is_md5 == NULL ? SHEAF_OK : ops->etag_is_md5(url, is, err);
}

int store_remove(const char *url, struct sheaf_error *err)
{
    const struct store_ops *ops = writable_store_of(url, "removing", err);

    return ops == NULL ? SHEAF_ERR_UNSUPPORTED : ops->remove(url, err);
}

int store_free_space(const char *url, struct store_space *space, struct sheaf_error *err)
{
    const struct store_ops *ops = writable_store_of(url, "writing", err);

    *space = (struct store_space){ UINT64_MAX, UINT64_MAX, 1 };
    return ops == NULL ? SHEAF_ERR_UNSUPPORTED
         : ops->free_space == NULL ? SHEAF_OK : ops->free_space(url, space, err);
}

int store_check_space(const char *url, uint64_t bytes, uint64_t files, struct sheaf_error *err)
{
    struct store_space space;
    const int code = store_free_space(url, &space, err);

    if (code == SHEAF_OK && bytes > space.bytes)
        return err_set(err, SHEAF_ERR_IO, "%s: %" PRIu64 " bytes are needed there, but %" PRIu64
                       " are free: %" PRIu64 " too few", url, bytes, space.bytes,
                       bytes - space.bytes);
    if (code == SHEAF_OK && files > space.files)
        return err_set(err, SHEAF_ERR_IO, "%s: %" PRIu64 " files are to be written there, but the "
                       "file system has only %" PRIu64 " free inodes", url, files, space.files);
    return code;
}

int store_lock(const char *url, bool shared, int *lock, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    *lock = -1;
    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->lock == NULL ? SHEAF_OK : ops->lock(url, shared, lock, err);
}

void store_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

int store_make_directory(const char *url, struct made_directories *made, struct sheaf_error *err)
{
    const struct store_ops *ops = writable_store_of(url, "writing", err);

    return ops == NULL ? SHEAF_ERR_UNSUPPORTED : ops->make_directory(url, made, err);
}

/* Reads a stream into a buffer that grows, because the size of a stream is unknown before its
 * end. */
static int get_stream(struct store_object *object, size_t limit, char **data, size_t *size,
                      struct sheaf_error *err)
{
    size_t capacity = 0, used = 0, got;
    char *grown;
    int code;

    *data = NULL;
    do {
        if (capacity - used < 2) {
            capacity = MAX(2 * capacity, (size_t)65536);
            grown = realloc(*data, capacity);
            if (grown == NULL)
                return err_memory(err, capacity);
            *data = grown;
        }
        code = store_read_next(object, *data + used, capacity - used - 1, &got, err);
        if (code != SHEAF_OK)
            return code;
        used += got;
        if (used > limit)
            return err_set(err, SHEAF_ERR_LIMIT, "%s: more than the limit of %zu bytes",
                           object->url, limit);
    } while (got != 0);
    *size = used;
    return SHEAF_OK;
}

static int too_large(const struct store_object *object, size_t limit, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_LIMIT, "%s: %llu bytes, the limit is %zu", object->url,
                   (unsigned long long)object->bytes, limit);
}

/* Reads a small remote object. The first request asks for the first bytes of the object. Its
 * response also has the size of the object, and usually contains the whole object. */
static int get_remote(struct store_object *object, size_t limit, char **data, size_t *size,
                      struct sheaf_error *err)
{
    const size_t first = MIN(MAX(limit, (size_t)1), object->block_bytes);
    char *fitting;
    int code;

    *data = malloc(first + 1);
    if (*data == NULL)
        return err_memory(err, first + 1);
    code = store_read(object, 0, *data, first, err);
    if (code != SHEAF_OK)
        return code;
    if (object->bytes > limit)
        return too_large(object, limit, err);
    *size = (size_t)object->bytes;
    fitting = realloc(*data, *size + 1);
    if (fitting == NULL)
        return err_memory(err, *size + 1);
    *data = fitting;
    return *size <= first ? SHEAF_OK
                          : store_read(object, first, *data + first, *size - first, err);
}

static int store_get_object(struct store_object *object, size_t limit, char **data, size_t *size,
                            struct sheaf_error *err)
{
    if (object->bytes > limit)
        return too_large(object, limit, err);
    *size = (size_t)object->bytes;
    *data = malloc(*size + 1);
    if (*data == NULL)
        return err_memory(err, *size + 1);
    return store_read(object, 0, *data, *size, err);
}

int store_get(const char *url, size_t limit, char **data, size_t *size, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);
    struct store_object *object = NULL;
    int code;

    *data = NULL;
    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    code = ops->open_known != NULL ? ops->open_known(url, UINT64_MAX, 0, &object, err)
                                   : ops->open(url, &object, err);
    if (code != SHEAF_OK)
        return code;
    limit = MIN(limit, SIZE_MAX / 4);
    if (object->is_remote)
        code = get_remote(object, limit, data, size, err);
    else
        code = object->is_stream ? get_stream(object, limit, data, size, err)
                                 : store_get_object(object, limit, data, size, err);
    store_close(object);
    if (code != SHEAF_OK) {
        free(*data);
        *data = NULL;
        return code;
    }
    (*data)[*size] = '\0';
    return SHEAF_OK;
}

int store_create_whole(const char *url, const void *data, size_t size,
                       struct store_writer **writer, struct sheaf_error *err)
{
    int code = store_create(url, writer, err);

    if (code != SHEAF_OK)
        return code;
    code = store_write(*writer, data, size, err);
    if (code != SHEAF_OK)
        store_abort(*writer);
    return code;
}

int store_put(const char *url, const void *data, size_t size, struct sheaf_error *err)
{
    struct store_writer *writer = NULL;
    const int code = store_create_whole(url, data, size, &writer, err);

    return code == SHEAF_OK ? store_commit(writer, err) : code;
}

int store_sweep(const char *url, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->sweep == NULL ? SHEAF_OK : ops->sweep(url, err);
}

int store_sync(const char *url, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->sync == NULL ? SHEAF_OK : ops->sync(url, err);
}

int store_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
                struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (by_name != NULL)
        *by_name = false;
    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->clean == NULL ? SHEAF_OK : ops->clean(url, is_ours, context, by_name, err);
}

int store_clean_object(const char *url, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->clean_object == NULL ? SHEAF_OK : ops->clean_object(url, err);
}

char *store_join(const char *directory, const char *name)
{
    const size_t size = strlen(directory);
    const bool is_scheme = size >= 3 && strcmp(directory + size - 3, "://") == 0;
    const char *slash = size == 0 || (directory[size - 1] == '/' && !is_scheme) ? "" : "/";
    char *joined;

    return asprintf(&joined, "%s%s%s", directory, slash, name) < 0 ? NULL : joined;
}
