/* SPDX-License-Identifier: MIT
 *
 * sheaf_fetch: copies a source to a directory, as SageMaker does before a training job in File
 * mode.
 *
 * First, the function lists the objects and their sizes. It checks that their names can be names of
 * files, finds the files that exist already, and checks that the disk has room. Then it requests
 * the missing files, each in parts. The memory and PARTS_MOST limit the number of parts that are
 * requested at the same time.
 *
 * Manifests of data sets are copied first, then other files such as indexes, and then shards. */
#include "modes/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "formats/manifest.h"
#include "modes/safe_path.h"
#include "modes/share.h"
#include "store/interrupt.h"
#include "store/made.h"

/* largest number of parts (ranges of objects) that are requested or wait to be written to the disk
 * at the same time */
#define PARTS_MOST  192
#define LEAST_BYTES ((uint64_t)16 << 20)

struct fetch_run {
    const struct sheaf_fetch_options *options;
    const char *directory;
    struct made_directories made;
    struct objects objects;
    uint32_t *units;            /* the host's */
    size_t unit_count;
    /* indexes of the objects to fetch: at first all objects of this host, later only the objects
     * whose files are missing */
    uint32_t *items;
    size_t item_count;
    struct fetch_known known;
    struct fetch_destination to;
    struct watch watch;
    int lock;
    struct sheaf_fetch_result *result;
};

/* ---- What there is to do --------------------------------------------------------------------- */

static const struct object *item(const struct fetch_run *f, size_t i)
{
    return &f->objects.items[f->items[i]];
}

static int list_share(struct fetch_run *f, const char *source, struct sheaf_error *err)
{
    const struct sheaf_fetch_options *o = f->options;
    const struct share share = { .host = o->host, .hosts = o->hosts };
    const volatile int *before = interrupt_watch(o->interrupt);
    int code = objects_list(source, NULL, &f->watch, &f->objects, err);

    interrupt_watch(before);
    f->result->unfinished = f->objects.unfinished;
    if (code == SHEAF_OK)
        code = objects_refuse_unfinished(&f->objects, source, err);
    if (code != SHEAF_OK)
        return code;
    f->units = calloc(MAX(f->objects.unit_count, 1), sizeof(f->units[0]));
    f->items = calloc(MAX(f->objects.count, 1), sizeof(f->items[0]));
    if (f->units == NULL || f->items == NULL)
        return err_memory(err, f->objects.count * sizeof(f->items[0]));
    share_order(&share, 0, f->units, f->objects.unit_count);
    f->unit_count = share_size(&share, f->objects.unit_count);
    for (size_t i = 0; i < f->unit_count; i++) {
        const size_t end = objects_unit(&f->objects, f->units[i] + 1);

        for (size_t k = objects_unit(&f->objects, f->units[i]); k < end; k++)
            f->items[f->item_count++] = (uint32_t)k;
    }
    return SHEAF_OK;
}

static int fetch_compare(const void *a, const void *b, void *context)
{
    const struct object *items = context;

    return safe_path_compare(items[*(const uint32_t *)a].name, items[*(const uint32_t *)b].name);
}

static bool is_same_object(const struct object *a, const struct object *b)
{
    return a->url == b->url || (a->url != NULL && b->url != NULL && strcmp(a->url, b->url) == 0);
}

/* Checks the name of an entry in the sorted list of objects. The name must be allowed, and must not
 * collide with the name of the previous entry. If both entries name the same object, the second
 * entry is left out. *kept is the number of entries that were not left out. */
static int fetch_check_pair(struct fetch_run *f, size_t *kept, uint32_t next,
                            struct sheaf_error *err)
{
    const struct object *a = *kept == 0 ? NULL : item(f, *kept - 1);
    const struct object *b = &f->objects.items[next];
    const char *problem = safe_path_problem(b->name);

    if (problem != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "the name \"%.300s\" %s; nothing was fetched",
                       b->name, problem);
    if (a != NULL && strcmp(a->name, b->name) == 0 && is_same_object(a, b))
        return SHEAF_OK;
    if (a != NULL && strcmp(a->name, b->name) == 0)
        return err_set(err, SHEAF_ERR_EXISTS, "two objects have the file name \"%.300s\": %.200s "
                       "and %.200s", a->name, a->url, b->url);
    if (a != NULL && safe_path_is_below(a->name, b->name))
        return err_set(err, SHEAF_ERR_EXISTS, "the file name of the object \"%.300s\" is a "
                       "directory in that of \"%.300s\"", a->name, b->name);
    f->items[(*kept)++] = next;
    return SHEAF_OK;
}

static int fetch_check_names(struct fetch_run *f, struct sheaf_error *err)
{
    size_t kept = 0;
    int code = SHEAF_OK;

    qsort_r(f->items, f->item_count, sizeof(f->items[0]), fetch_compare, f->objects.items);
    for (size_t i = 0; i < f->item_count && code == SHEAF_OK; i++)
        code = fetch_check_pair(f, &kept, f->items[i], err);
    f->result->repeated = f->item_count - kept;
    f->item_count = kept;
    return code;
}

static int find_sizes(struct fetch_run *f, struct sheaf_error *err)
{
    int code = objects_ask(&f->objects, f->units, f->unit_count, &f->watch, err);

    for (size_t i = 0; i < f->item_count && code == SHEAF_OK; i++)
        if (__builtin_add_overflow(f->result->bytes, item(f, i)->bytes, &f->result->bytes))
            code = err_set(err, SHEAF_ERR_LIMIT, "more than 2^64 bytes");
    f->result->objects = f->item_count;
    return code;
}

/* Leaves those that are missing. */
static int find_missing(struct fetch_run *f, struct sheaf_error *err)
{
    size_t missing = 0;
    int code = SHEAF_OK;

    for (size_t i = 0; i < f->item_count && code == SHEAF_OK; i++) {
        const struct sheaf_progress progress = { .stage = "compare", .done_count = i,
                                                 .total_count = f->item_count };
        struct stat st;

        watch_show(&f->watch, &progress);
        code = watch_check(&f->watch, err);
        if (fstatat(f->to.root_fd, item(f, i)->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            fetch_mark_fits(item(f, i), &st))
            f->result->kept_bytes += item(f, i)->bytes;
        else
            f->items[missing++] = f->items[i];
    }
    f->result->kept = f->item_count - missing;
    f->item_count = missing;
    return code;
}

/* The order in which files are fetched: manifests of data sets, then other files such as indexes,
 * then shards. If a fetch stops early, the manifest shows that shards are missing. Without a
 * manifest, the shards would look like a complete set that another program wrote. */
enum phase { MANIFESTS, OTHERS, SHARDS };

static enum phase phase_of(const struct fetch_run *f, uint32_t number)
{
    if (strcmp(safe_path_base(f->objects.items[number].name), MANIFEST_NAME) == 0)
        return MANIFESTS;
    return f->known.hashes[number] == NULL ? OTHERS : SHARDS;
}

static int sort_items(struct fetch_run *f, struct sheaf_error *err)
{
    uint32_t *sorted = malloc(MAX(f->item_count, 1) * sizeof(sorted[0]));
    size_t count = 0;

    if (sorted == NULL)
        return err_memory(err, f->item_count * sizeof(sorted[0]));
    for (enum phase phase = MANIFESTS; phase <= SHARDS; phase++)
        for (size_t i = 0; i < f->item_count; i++)
            if (phase_of(f, f->items[i]) == phase)
                sorted[count++] = f->items[i];
    free(f->items);
    f->items = sorted;
    return SHEAF_OK;
}

/* Checks that the disk has enough free space for all missing files. If a file will be replaced, the
 * old file stays until the new file is complete. So the space of the old file does not count as
 * free. */
static int check_room(const struct fetch_run *f, struct sheaf_error *err)
{
    struct store_space space;
    uint64_t need = 0;
    int code = store_free_space(f->directory, &space, err);

    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < f->item_count; i++) {
        const uint64_t bytes = item(f, i)->bytes, block = space.block_bytes;
        uint64_t rounded;

        if (__builtin_add_overflow(bytes, block - 1, &rounded) ||
            __builtin_add_overflow(need, rounded / block * block, &need))
            need = UINT64_MAX;
        else
            need -= fetch_kept_bytes(&f->to, item(f, i));
    }
    return store_check_space(f->directory, need, f->item_count, err);
}

/* ---- The directory --------------------------------------------------------------------------- */

/* Removes the temporary files of a killed run, except partial files that are kept for resuming. The
 * caller must have made sure that no other run works in this directory. */
static int clear_partial(const struct fetch_run *f, struct sheaf_error *err)
{
    const int fd = openat(f->to.partial_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;
    int failed = 0;

    if (directory == NULL)
        return err_errno(err, errno, "%s: cannot list %s in it", f->directory, STORE_PARTIAL);
    while (failed == 0 && (d = readdir(directory)) != NULL)
        if (d->d_type != DT_DIR && !fetch_kept_is(d->d_name) &&
            unlinkat(f->to.partial_fd, d->d_name, 0) != 0)
            failed = errno;
    closedir(directory);
    if (failed != 0)
        return err_errno(err, failed, "%s: cannot empty %s in it", f->directory, STORE_PARTIAL);
    return SHEAF_OK;
}

static int fetch_open_directory(struct fetch_run *f, struct sheaf_error *err)
{
    int code = store_make_directory(f->directory, &f->made, err);

    if (code == SHEAF_OK)
        code = store_lock(f->directory, false, &f->lock, err);
    if (code == SHEAF_ERR_EXISTS)       /* Another process is about to write into the directory. */
        made_end(&f->made, false);
    if (code != SHEAF_OK)
        return code;
    f->to.root_fd = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->to.root_fd < 0)
        return err_errno(err, errno, "%s: cannot open the directory", f->directory);
    if (mkdirat(f->to.root_fd, STORE_PARTIAL, 0777) != 0 && errno != EEXIST)
        return err_errno(err, errno, "%s: cannot make %s in it", f->directory, STORE_PARTIAL);
    f->to.partial_fd = openat(f->to.root_fd, STORE_PARTIAL,
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->to.partial_fd < 0)
        return err_errno(err, errno, "%s: cannot open %s in it", f->directory, STORE_PARTIAL);
    return clear_partial(f, err);
}

/* Ends the work in the directory. `failed` says whether the call fails. */
static void close_directory(struct fetch_run *f, bool failed)
{
    if (f->to.partial_fd >= 0) {
        close(f->to.partial_fd);
        (void)unlinkat(f->to.root_fd, STORE_PARTIAL, AT_REMOVEDIR);
    }
    if (f->to.root_fd >= 0)
        close(f->to.root_fd);
    made_end(&f->made, failed);
    store_unlock(f->lock);
}

/* ---- Fetching -------------------------------------------------------------------------------- */

struct flight {
    struct fetch_run *fetch;
    struct inflight window;     /* of parts */
    struct budget budget;
    struct fetch_file *file;    /* a file whose parts are not all requested */
    size_t next;                /* of the fetch's items */
    uint32_t *damaged;          /* objects that are fetched once more */
    size_t damaged_count;
    enum phase phase;           /* phase of the files that are under way */
};

static uint64_t memory_of(size_t bytes)
{
    return sizeof(struct fetch_part) + bytes;
}

/* Returns whether the next file may be begun. Files are fetched in three phases (enum phase):
 * manifests, then other files, then shards. A file may be begun only if all files of earlier phases
 * are finished. */
static bool fetch_may_begin(struct flight *x)
{
    const enum phase phase = phase_of(x->fetch, x->fetch->items[x->next]);

    if (phase != x->phase && x->window.count != 0)
        return false;
    x->phase = phase;
    return true;
}

/* Sets x->file to the file that is requested next. x->file stays NULL after the last file. It also
 * stays NULL while the next file must wait for files of an earlier phase (manifests, then other
 * files, then shards). */
static int next_file(struct flight *x, struct sheaf_error *err)
{
    struct fetch_run *f = x->fetch;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && x->file == NULL &&
           (x->damaged_count != 0 || (x->next < f->item_count && fetch_may_begin(x)))) {
        const bool is_second = x->damaged_count != 0;
        const uint32_t number = is_second ? x->damaged[--x->damaged_count] : f->items[x->next++];

        code = fetch_file_open(&x->file, &f->to, &f->objects.items[number],
                               f->known.hashes[number], number, is_second, err);
        if (code == SHEAF_OK)
            f->result->kept_bytes += x->file->asked_bytes;
        if (code == SHEAF_OK && x->file->object->bytes == 0) {
            fetch_file_close(x->file);
            x->file = NULL;
        }
    }
    return code;
}

/* Requests as many parts as there is room for. */
static int fetch_ask(struct flight *x, struct sheaf_error *err)
{
    int code = next_file(x, err);

    while (code == SHEAF_OK && x->file != NULL && x->window.count < PARTS_MOST &&
           budget_take(&x->budget, memory_of(fetch_file_next_bytes(x->file)))) {
        code = fetch_file_ask(x->file, &x->window, err);
        if (code != SHEAF_OK)
            break;
        if (x->file->asked_bytes == x->file->object->bytes)
            x->file = NULL;
        code = next_file(x, err);
    }
    return code;
}

static void close_file(struct flight *x, struct fetch_file *file)
{
    if (file->is_damaged) {
        x->damaged[x->damaged_count++] = file->number;
        x->fetch->result->kept_bytes -= file->resumed_bytes;
    }
    fetch_file_close(file);
}

/* Takes back what is done. */
static void reap(struct flight *x)
{
    struct fetch_part *part;

    while ((part = (struct fetch_part *)inflight_take(&x->window)) != NULL) {
        struct fetch_file *file = part->file;

        budget_give(&x->budget, memory_of(part->base.read.size));
        free(part);
        if (--file->parts == 0 && file != x->file)
            close_file(x, file);
    }
}

/* Reports progress and checks for interruption. */
static int fetch_look(struct flight *x, struct sheaf_error *err)
{
    struct fetch_run *f = x->fetch;
    struct sheaf_progress progress = {
        .stage = "fetch", .total_count = f->item_count,
        .total_bytes = f->result->bytes - f->result->kept_bytes,
    };
    int code;

    pthread_mutex_lock(&f->to.lock);
    progress.done_count = f->to.locked.files;
    progress.done_bytes = f->to.locked.bytes;
    code = f->to.locked.code;
    if (code != SHEAF_OK && err != NULL)
        *err = f->to.locked.error;
    pthread_mutex_unlock(&f->to.lock);
    watch_show(&f->watch, &progress);
    return code == SHEAF_OK ? watch_check(&f->watch, err) : code;
}

static int fetch_items(struct flight *x, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (;;) {
        if (code == SHEAF_OK)
            code = fetch_look(x, err);
        if (code == SHEAF_OK)
            code = fetch_ask(x, err);
        if (x->window.count == 0)
            break;
        if (code != SHEAF_OK)
            inflight_cancel(&x->window);
        inflight_wait(&x->window);
        reap(x);
    }
    return code == SHEAF_OK ? fetch_look(x, err) : code;
}

/* Checks that every listed object was either fetched, or kept because its file existed already. */
static int fetch_check_sum(const struct sheaf_fetch_result *r, struct sheaf_error *err)
{
    if (r->objects == r->kept + r->fetched && r->bytes == r->kept_bytes + r->fetched_bytes)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%llu object%s of %llu byte%s listed, but %llu "
                   "of %llu byte%s there and %llu of %llu byte%s fetched",
                   (unsigned long long)r->objects, plural(r->objects),
                   (unsigned long long)r->bytes, plural(r->bytes), (unsigned long long)r->kept,
                   (unsigned long long)r->kept_bytes, plural(r->kept_bytes),
                   (unsigned long long)r->fetched, (unsigned long long)r->fetched_bytes,
                   plural(r->fetched_bytes));
}

static int fetch_missing(struct fetch_run *f, struct sheaf_error *err)
{
    struct flight x = { .fetch = f, .budget = { .limit = f->options->memory_bytes } };
    unsigned threads = f->options->threads;
    int code;

    if (threads == 0)
        threads = MIN(workers_processors(), 8u);
    x.damaged = calloc(f->item_count + 1, sizeof(x.damaged[0]));
    if (x.damaged == NULL)
        return err_memory(err, f->item_count * sizeof(x.damaged[0]));
    inflight_open(&x.window, INFLIGHT_ANY, read_item_cancel, NULL);
    code = workers_open(&f->to.workers, threads, err);
    if (code == SHEAF_OK)
        code = fetch_items(&x, err);
    inflight_close(&x.window);
    workers_close(f->to.workers);
    fetch_file_close(x.file);
    free(x.damaged);
    f->result->fetched = f->to.locked.files;
    f->result->fetched_bytes = f->to.locked.bytes;
    f->result->verified = f->to.locked.verified;
    f->result->memory_peak_bytes = x.budget.peak;
    return code == SHEAF_OK ? fetch_check_sum(f->result, err) : code;
}

/* ---- The call -------------------------------------------------------------------------------- */

void sheaf_fetch_options_init(struct sheaf_fetch_options *options, size_t sizeof_options)
{
    const struct sheaf_fetch_options defaults = {
        .sizeof_options = sizeof_options, .hosts = 1, .memory_bytes = (uint64_t)256 << 20,
    };

    sized_give(options, sizeof_options, &defaults, sizeof(defaults));
}

struct watch fetch_options_take(const struct sheaf_fetch_options *given,
                                struct sheaf_fetch_options *o)
{
    sheaf_fetch_options_init(o, sizeof(*o));
    sized_take(o, sizeof(*o), given);
    return (struct watch){ .progress = o->progress, .context = o->context,
                           .interrupt = o->interrupt };
}

static int fetch_check(const struct sheaf_fetch_options *o, struct sheaf_error *err)
{
    if (o->hosts == 0 || o->host >= o->hosts)
        return err_set(err, SHEAF_ERR_ARGUMENT, "host %u of %u: hosts are counted from 0", o->host,
                       o->hosts);
    if (o->memory_bytes < LEAST_BYTES)
        return err_set(err, SHEAF_ERR_LIMIT, "the memory limit is %" PRIu64 " bytes, expected at "
                       "least %" PRIu64, o->memory_bytes, LEAST_BYTES);
    return workers_check("threads", o->threads, err);
}

static int fetch_check_source(const char *source, struct sheaf_error *err)
{
    struct stat st;

    if (stat(source, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a local directory, expected objects to "
                       "fetch", source);
    return SHEAF_OK;
}

/* The augmented manifest itself. */
static int fetch_manifest(const struct fetch_run *f, const char *source, struct sheaf_error *err)
{
    const char *name = safe_path_base(source);

    for (size_t i = 0; i < f->objects.count; i++) {
        const char *other = f->objects.items[i].name;

        if (strcmp(other, name) == 0 || safe_path_is_below(name, other))
            return err_set(err, SHEAF_ERR_EXISTS, "%s: the object \"%.300s\" has the manifest's "
                           "file name", source, other);
    }
    return fetch_lines(&f->to, source, name, f->units, f->unit_count, err);
}

static int fetch_do_run(struct fetch_run *f, const char *source, struct sheaf_error *err)
{
    int code = fetch_check(f->options, err);

    if (code == SHEAF_OK)
        code = fetch_check_source(source, err);
    if (code == SHEAF_OK)
        code = list_share(f, source, err);
    if (code == SHEAF_OK)
        code = fetch_check_names(f, err);
    if (code == SHEAF_OK)
        code = find_sizes(f, err);
    if (code == SHEAF_OK)
        code = fetch_open_directory(f, err);
    if (code == SHEAF_OK)
        code = find_missing(f, err);
    if (code == SHEAF_OK)
        code = fetch_kept_sweep(&f->to, f->items, f->item_count, err);
    if (code == SHEAF_OK)
        code = check_room(f, err);
    if (code == SHEAF_OK)
        code = fetch_known_find(&f->known, &f->objects, err);
    if (code == SHEAF_OK)
        code = sort_items(f, err);
    if (code == SHEAF_OK)
        code = fetch_missing(f, err);
    if (code == SHEAF_OK && f->objects.is_augmented)
        code = fetch_manifest(f, source, err);
    if (code == SHEAF_OK && syncfs(f->to.root_fd) != 0)
        code = err_errno(err, errno, "%s: cannot make the files durable", f->directory);
    return code;
}

int sheaf_fetch(const char *source, const char *directory,
                const struct sheaf_fetch_options *options, struct sheaf_fetch_result *result,
                struct sheaf_error *err)
{
    struct sheaf_fetch_options o;
    struct fetch_run f = {
        .options = &o, .directory = directory, .lock = -1, .result = result,
        .to = { .root_fd = -1, .partial_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER },
    };
    int code;

    f.to.objects = &f.objects;
    f.watch = fetch_options_take(options, &o);
    *result = (struct sheaf_fetch_result){ 0 };
    code = fetch_do_run(&f, source, err);
    close_directory(&f, code != SHEAF_OK);
    fetch_known_free(&f.known);
    objects_free(&f.objects);
    free(f.units);
    free(f.items);
    pthread_mutex_destroy(&f.to.lock);
    return code;
}
