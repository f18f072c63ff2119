/* SPDX-License-Identifier: MIT
 *
 * The store in memory; see common_model_store.h. */
#include "tests/common_model_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "store/over.h"
#include "store/store.h"

#define RUNS 26
#define SCHEME "mem://"

struct run {
    uint32_t calls, stop_after, fail_at;
    bool is_stopped, is_dead, has_ended;
    pthread_cond_t moved;
};

struct model_state {
    struct model_object *objects;
};

struct memory_object {
    struct store_object base;
    uint8_t *data;
    char version[24];
};

struct memory_writer {
    struct store_writer base;
    struct buf content;
};

static struct store_ops ops;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct run runs[RUNS];
static struct model_object *objects;
static uint64_t numbers;
static void (*on_change)(void);
static char lock_path[] = "/tmp/sheaf-model-XXXXXX";

/* ---- Calls ----------------------------------------------------------------------------------- */

static const char *path_of(const char *url)
{
    return url + strlen(SCHEME) + 1;
}

/* Begins a call of the store, and returns with the mutex held. A call by a killed run fails. */
static int enter(const char *url, struct sheaf_error *err)
{
    struct run *r = &runs[url[strlen(SCHEME)] - 'a'];
    bool failed;

    pthread_mutex_lock(&lock);
    while (!r->is_dead && r->calls >= r->stop_after) {
        r->is_stopped = true;
        pthread_cond_broadcast(&r->moved);
        pthread_cond_wait(&r->moved, &lock);
    }
    failed = r->calls++ == r->fail_at;
    if (!r->is_dead && !failed)
        return SHEAF_OK;
    pthread_mutex_unlock(&lock);
    return err_set(err, SHEAF_ERR_IO, "%s: %s", url, r->is_dead ? "the run was killed"
                                                                : MODEL_FAILURE);
}

static int leave(int code)
{
    pthread_mutex_unlock(&lock);
    return code;
}

static int leave_changed(int code)
{
    if (on_change != NULL)
        on_change();
    return leave(code);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static struct model_object **find_place(const char *path)
{
    struct model_object **place = &objects;

    while (*place != NULL && strcmp((*place)->path, path) < 0)
        place = &(*place)->next;
    return place;
}

const struct model_object *model_objects(void)
{
    return objects;
}

const struct model_object *model_find(const char *path)
{
    struct model_object *found = *find_place(path);

    return found != NULL && strcmp(found->path, path) == 0 ? found : NULL;
}

static struct model_object *copy_object(const char *path, const void *data, size_t size,
                                        uint64_t number)
{
    struct model_object *o = calloc(1, sizeof(*o));

    *o = (struct model_object){ strdup(path), malloc(size + 1), size, number, NULL };
    memcpy(o->data, size == 0 ? "" : data, size);
    o->data[size] = '\0';
    return o;
}

static void drop(struct model_object **place)
{
    struct model_object *o = *place;

    *place = o->next;
    free(o->path);
    free(o->data);
    free(o);
}

static void put(const char *path, const void *data, size_t size)
{
    struct model_object **place = find_place(path), *o;

    if (model_find(path) != NULL)
        drop(place);
    o = copy_object(path, data, size, ++numbers);
    o->next = *place;
    *place = o;
}

static void drop_all(struct model_object **all)
{
    while (*all != NULL)
        drop(all);
}

static struct model_object *copy_all(const struct model_object *from)
{
    struct model_object *all = NULL, **end = &all;

    for (; from != NULL; from = from->next, end = &(*end)->next)
        *end = copy_object(from->path, from->data, from->size, from->number);
    return all;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void show(const char *path, struct store_seen *seen)
{
    const struct model_object *o = model_find(path);

    *seen = (struct store_seen){ .is_there = o != NULL };
    if (o == NULL)
        return;
    seen->bytes = o->size;
    seen->stamp = o->number;
    snprintf(seen->etag, sizeof(seen->etag), "%llu", (unsigned long long)o->number);
}

static int memory_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    const struct model_object *o;
    struct memory_object *opened;
    int code = enter(url, err);

    if (code != SHEAF_OK)
        return code;
    o = model_find(path_of(url));
    if (o == NULL)
        return leave(err_set(err, SHEAF_ERR_NOT_FOUND, "%s: is not there", url));
    opened = calloc(1, sizeof(*opened));
    opened->data = malloc(o->size + 1);
    memcpy(opened->data, o->data, o->size);
    snprintf(opened->version, sizeof(opened->version), "%llu", (unsigned long long)o->number);
    opened->base = (struct store_object){ .ops = &ops, .url = strdup(url), .bytes = o->size,
                                          .version = opened->version };
    *object = &opened->base;
    return leave(SHEAF_OK);
}

static int memory_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                       struct sheaf_error *err)
{
    if (offset > object->bytes || size > object->bytes - offset)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: ends before", object->url);
    memcpy(data, ((struct memory_object *)object)->data + offset, size);
    return SHEAF_OK;
}

static void memory_close(struct store_object *object)
{
    free(((struct memory_object *)object)->data);
    free(object->url);
    free(object);
}

static void memory_stat(struct store_stat *stat)
{
    struct store_seen seen = { .is_there = false };

    stat->code = enter(stat->url, &stat->error);
    if (stat->code == SHEAF_OK) {
        show(path_of(stat->url), &seen);
        stat->code = leave(seen.is_there ? SHEAF_OK : err_set(&stat->error, SHEAF_ERR_NOT_FOUND,
                                                              "%s: is not there", stat->url));
    }
    stat->bytes = seen.bytes;
    stat->stamp = seen.stamp;
    stat->modified_s = 0;
    memcpy(stat->etag, seen.etag, sizeof(stat->etag));
    stat->done(stat);
}

static int memory_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    uint64_t stamp;

    return store_identify(url, bytes, &stamp, err);
}

static const char stage_end[] = ".stage";

static bool is_stage(const struct model_object *o, const char *partial)
{
    const size_t size = strlen(o->path), tail = strlen(stage_end), start = strlen(partial);

    return size > tail && strcmp(o->path + size - tail, stage_end) == 0 &&
           strncmp(o->path, partial, start) == 0 && o->path[start] == '/';
}

/* Lists the names directly in a directory: objects or directories. Works on a copy, because `each`
 * may call the store. */
static int list(const char *url, bool directories, store_entry_fn *each, void *context,
                struct sheaf_error *err)
{
    char *prefix = store_join(path_of(url), ""), *last = NULL;
    const size_t size = strlen(prefix);
    struct model_object *all;
    int code = enter(url, err);

    if (code != SHEAF_OK) {
        free(prefix);
        return code;
    }
    all = copy_all(objects);
    leave(SHEAF_OK);
    for (const struct model_object *o = all; o != NULL && code == SHEAF_OK; o = o->next) {
        const char *name = o->path + size, *slash;
        struct store_entry entry = { .name = name, .bytes = o->size, .stamp = o->number };
        char *directory = NULL;

        if (strncmp(o->path, prefix, size) != 0 || *name == '.' ||
            (is_stage(o, "") && !directories))
            continue;
        slash = strchr(name, '/');
        if ((slash != NULL) != directories)
            continue;
        if (directories) {
            directory = strndup(name, (size_t)(slash - name));
            entry = (struct store_entry){ .name = directory };
        }
        if (last == NULL || !directories || strcmp(last, directory) != 0)
            code = each(context, &entry);
        if (directories) {
            free(last);
            last = directory;
        }
    }
    free(last);
    drop_all(&all);
    free(prefix);
    return code;
}

static int memory_list(const char *url, store_entry_fn *each, void *context,
                       struct sheaf_error *err)
{
    return list(url, false, each, context, err);
}

static int memory_list_directories(const char *url, store_entry_fn *each, void *context,
                                   struct sheaf_error *err)
{
    return list(url, true, each, context, err);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int memory_create(const char *url, struct store_writer **writer, struct sheaf_error *err)
{
    struct memory_writer *w = calloc(1, sizeof(*w));

    (void)err;
    w->base = (struct store_writer){ .ops = &ops, .url = strdup(url) };
    w->content.limit = SIZE_MAX / 4;
    *writer = &w->base;
    return SHEAF_OK;
}

static int memory_write(struct store_writer *writer, const void *data, size_t size,
                        struct sheaf_error *err)
{
    return buf_append(&((struct memory_writer *)writer)->content, data, size, err);
}

static void memory_abort(struct store_writer *writer)
{
    buf_free(&((struct memory_writer *)writer)->content);
    free(writer->url);
    free(writer);
}

static int refuse_stage(const char *url, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CHANGED, "%s: another run has taken the destination", url);
}

void model_remove(const char *path)
{
    if (model_find(path) != NULL)
        drop(find_place(path));
}

static bool is_same(const struct store_seen *seen, const char *path)
{
    struct store_seen now;

    show(path, &now);
    return seen == NULL || (now.is_there == seen->is_there && now.stamp == seen->stamp);
}

/* As in the S3 store, a write succeeds if another run has written the same bytes before. */
static int memory_commit_over(struct store_writer *writer, const struct store_seen *seen,
                              struct store_seen *now, struct sheaf_error *err)
{
    const struct buf *content = &((struct memory_writer *)writer)->content;
    const char *path = path_of(writer->url);
    const struct model_object *there;
    const bool staged = ops.stage_take != NULL;
    int code = staged && seen != NULL && seen->is_there ? store_check_seen(writer->url, seen, err)
                                                        : SHEAF_OK;

    if (code == SHEAF_OK)
        code = enter(writer->url, err);
    if (code == SHEAF_OK) {
        there = model_find(path);
        if (staged && writer->stage != NULL && model_find(path_of(writer->stage)) == NULL) {
            code = leave(refuse_stage(writer->url, err));
        } else if (staged ? seen == NULL || seen->is_there || there == NULL
                          : is_same(seen, path)) {
            put(path, content->data, content->size);
            show(path, now);
            code = leave_changed(SHEAF_OK);
        } else if (!staged && there != NULL && there->size == content->size &&
                   memcmp(there->data, content->data, content->size) == 0) {
            show(path, now);
            code = leave(SHEAF_OK);
        } else {
            code = leave(err_set(err, SHEAF_ERR_CHANGED, "%s: another one is there", writer->url));
        }
    }
    memory_abort(writer);
    return code;
}

static int memory_commit(struct store_writer *writer, struct sheaf_error *err)
{
    struct store_seen now;

    return memory_commit_over(writer, NULL, &now, err);
}

static int memory_remove_over(const char *url, const struct store_seen *seen,
                              struct sheaf_error *err)
{
    int code = enter(url, err);

    if (code != SHEAF_OK)
        return code;
    if (model_find(path_of(url)) == NULL)
        return leave(SHEAF_OK);
    if (!is_same(seen, path_of(url)))
        return leave(err_set(err, SHEAF_ERR_CHANGED, "%s: another one is there", url));
    drop(find_place(path_of(url)));
    return leave_changed(SHEAF_OK);
}

static int memory_remove(const char *url, struct sheaf_error *err)
{
    return memory_remove_over(url, NULL, err);
}

/* ---- Stages: one object each ----------------------------------------------------------------- */

static const struct model_object *any_stage(const char *partial)
{
    for (const struct model_object *o = objects; o != NULL; o = o->next)
        if (is_stage(o, partial))
            return o;
    return NULL;
}

static int memory_stage_take(const char *partial, const char *from, const char *stage,
                             struct sheaf_error *err)
{
    const struct model_object *there = NULL;
    int code = enter(stage, err);

    if (code != SHEAF_OK)
        return code;
    if (from != NULL)
        there = model_find(path_of(from)) != NULL ? model_find(path_of(from))
                                                  : any_stage(path_of(partial));
    if (there != NULL)
        drop(find_place(there->path));
    put(path_of(stage), "", 0);
    return leave_changed(SHEAF_OK);
}

static bool memory_stage_is_there(const char *stage)
{
    struct sheaf_error ignored;
    bool is;

    if (enter(stage, &ignored) != SHEAF_OK)
        return true;
    is = model_find(path_of(stage)) != NULL;
    leave(SHEAF_OK);
    return is;
}

static int memory_stage_drop(const char *partial, const char *only, const char *except,
                             struct sheaf_error *err)
{
    int code = enter(partial, err);

    if (code != SHEAF_OK)
        return code;
    for (struct model_object **at = &objects; *at != NULL;) {
        if (is_stage(*at, path_of(partial)) &&
            (only == NULL || strcmp((*at)->path, path_of(only)) == 0) &&
            (except == NULL || strcmp((*at)->path, path_of(except)) != 0))
            drop(at);
        else
            at = &(*at)->next;
    }
    return leave_changed(SHEAF_OK);
}

static int memory_stage_remove(const char *url, const char *stage, struct sheaf_error *err)
{
    int code = enter(url, err);

    if (code != SHEAF_OK)
        return code;
    if (model_find(path_of(stage)) == NULL)
        return leave(refuse_stage(url, err));
    if (model_find(path_of(url)) != NULL)
        drop(find_place(path_of(url)));
    return leave_changed(SHEAF_OK);
}

static int memory_make_directory(const char *url, struct made_directories *made,
                                 struct sheaf_error *err)
{
    (void)url, (void)made, (void)err;
    return SHEAF_OK;
}

static int memory_lock(const char *url, bool shared, int *taken, struct sheaf_error *err)
{
    int code = enter(url, err), fd;

    if (code != SHEAF_OK)
        return code;
    fd = open(lock_path, O_RDONLY | O_CLOEXEC);
    if (flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
        *taken = fd;
        return leave(SHEAF_OK);
    }
    close(fd);
    return leave(err_set(err, SHEAF_ERR_EXISTS, "%s: another run is at work there", url));
}

static struct store_ops ops = {
    .scheme = "mem", .open = memory_open, .read = memory_read, .close = memory_close,
    .list = memory_list, .list_directories = memory_list_directories,
    .stat_start = memory_stat, .create = memory_create, .write = memory_write,
    .commit = memory_commit, .commit_over = memory_commit_over, .abort = memory_abort,
    .size = memory_size, .remove = memory_remove, .remove_over = memory_remove_over,
    .make_directory = memory_make_directory,
};

static void __attribute__((constructor)) set_store(void)
{
    store_of_test = &ops;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

void model_open(void (*changed)(void))
{
    for (size_t i = 0; i < RUNS; i++) {
        runs[i].stop_after = MODEL_NEVER;
        pthread_cond_init(&runs[i].moved, NULL);
    }
    close(mkstemp(lock_path));
    on_change = changed;
}

void model_close(void)
{
    drop_all(&objects);
    unlink(lock_path);
}

void model_use(enum model_kind kind)
{
    const bool staged = kind != MODEL_CONDITIONS;

    ops.lock = kind == MODEL_LOCKS ? memory_lock : NULL;
    ops.remove_over = staged ? NULL : memory_remove_over;
    ops.stage_take = staged ? memory_stage_take : NULL;
    ops.stage_is_there = staged ? memory_stage_is_there : NULL;
    ops.stage_drop = staged ? memory_stage_drop : NULL;
    ops.stage_remove = staged ? memory_stage_remove : NULL;
}

bool model_is_locked(void)
{
    const int fd = open(lock_path, O_RDONLY | O_CLOEXEC);
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;

    close(fd);
    return locked;
}

struct model_state *model_save(void)
{
    struct model_state *state = malloc(sizeof(*state));

    state->objects = copy_all(objects);
    return state;
}

void model_restore(const struct model_state *state)
{
    drop_all(&objects);
    objects = state == NULL ? NULL : copy_all(state->objects);
}

void model_state_free(struct model_state *state)
{
    drop_all(&state->objects);
    free(state);
}

void model_begin(char run, uint32_t stop_after)
{
    struct run *r = &runs[run - 'a'];

    pthread_mutex_lock(&lock);
    r->calls = 0;
    r->stop_after = stop_after;
    r->fail_at = MODEL_NEVER;
    r->is_stopped = r->is_dead = r->has_ended = false;
    pthread_mutex_unlock(&lock);
}

void model_fail(char run, uint32_t call)
{
    runs[run - 'a'].fail_at = call;
}

void model_let(char run, uint32_t stop_after)
{
    struct run *r = &runs[run - 'a'];

    pthread_mutex_lock(&lock);
    r->stop_after = stop_after;
    r->is_stopped = false;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&lock);
}

void model_kill(char run)
{
    struct run *r = &runs[run - 'a'];

    pthread_mutex_lock(&lock);
    r->is_dead = true;
    r->is_stopped = false;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&lock);
}

void model_end(char run)
{
    struct run *r = &runs[run - 'a'];

    pthread_mutex_lock(&lock);
    r->has_ended = true;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&lock);
}

bool model_wait(char run)
{
    struct run *r = &runs[run - 'a'];
    bool ended;

    pthread_mutex_lock(&lock);
    while (!r->has_ended && !r->is_stopped)
        pthread_cond_wait(&r->moved, &lock);
    ended = r->has_ended;
    pthread_mutex_unlock(&lock);
    return ended;
}

uint32_t model_calls(char run)
{
    uint32_t calls;

    pthread_mutex_lock(&lock);
    calls = runs[run - 'a'].calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

uint32_t model_calls_now(char run)
{
    return runs[run - 'a'].calls;
}

void model_stay_on(uint32_t number)
{
    cpu_set_t allowed, one;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    number %= (uint32_t)CPU_COUNT(&allowed);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &allowed) && number-- == 0)
            CPU_SET(i, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}
