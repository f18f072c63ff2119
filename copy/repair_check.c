/* SPDX-License-Identifier: MIT
 *
 * Finds the damaged files of a data set. The check depends on the kind of the file:
 * - Each shard is read once. It is checked by its hash in the manifest. At the same time, the files
 *   beside it, such as its .lst file, are compared with it, as in sheaf_verify.
 * - An index file is checked by the checksums of its sections.
 * - A table of keys is checked by its checksums.
 * - Any other file is checked by its size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "copy/repair.h"
#include "formats/index.h"
#include "formats/manifest_files.h"
#include "publish/several.h"
#include "reader/dataset/sections.h"
#include "reader/lookup/key_file.h"
#include "reader/verify/verify_sides.h"
#include "store/store.h"

#define REPAIR_DIFFERS "does not match its shard"

/* ---- The files ------------------------------------------------------------------------------- */

struct naming_files {
    struct repair *repair;
    /* capacity: number of files for which the array of the repair has room; shard: number of the
     * shard whose files are listed next */
    size_t capacity, shard;
    size_t begin;               /* first file of that shard */
};

static bool repair_check_ends_in(const char *name, const char *end)
{
    const size_t size = strlen(name), tail = strlen(end);

    return size >= tail && strcmp(name + size - tail, end) == 0;
}

static enum repair_kind repair_check_kind_of(const struct repair *r, const char *name,
                                             bool may_lack)
{
    for (size_t i = 0; may_lack && i < r->dataset->part_count; i++) {
        const struct dataset_part *part = &r->dataset->parts[i];

        if (strcmp(strrchr(part->index_url, '/') + 1, name) == 0)
            return REPAIR_INDEX;
        if (strcmp(strrchr(part->keys_url, '/') + 1, name) == 0)
            return REPAIR_KEYS;
    }
    return REPAIR_OTHER;
}

/* Adds the next file of the data set to the list. The files beside a shard, such as its .idx, come
 * before the shard. */
static int repair_check_take_name(void *context, const char *name, bool may_lack,
                                  struct sheaf_error *err)
{
    struct naming_files *n = context;
    struct repair *r = n->repair;
    const struct manifest *m = r->manifest;
    struct repair_file *files = r->files;

    if (r->file_count == n->capacity) {
        n->capacity = MAX(2 * n->capacity, (size_t)64);
        files = reallocarray(files, n->capacity, sizeof(files[0]));
        if (files == NULL)
            return err_memory(err, n->capacity * sizeof(files[0]));
        r->files = files;
    }
    files[r->file_count] = (struct repair_file){
        .name = strdup(name), .kind = repair_check_kind_of(r, name, may_lack),
            .shard = REPAIR_NO_SHARD,
        .may_lack = may_lack,
    };
    if (files[r->file_count++].name == NULL)
        return err_memory(err, strlen(name));
    if (n->shard == m->shard_count || strcmp(m->shards[n->shard].name, name) != 0)
        return SHEAF_OK;
    for (size_t i = n->begin; i < r->file_count; i++) {
        files[i].shard = n->shard;
        files[i].kind = repair_check_ends_in(files[i].name, ".lst") ? REPAIR_NAMES : REPAIR_SIDE;
    }
    files[r->file_count - 1].kind = REPAIR_SHARD;
    n->begin = r->file_count;
    n->shard++;
    return SHEAF_OK;
}

static int repair_check_by_name(const void *x, const void *y)
{
    const struct repair_file *a = x, *b = y;

    return strcmp(a->name, b->name);
}

static int repair_check_list_files(struct repair *r, struct sheaf_error *err)
{
    struct naming_files n = { .repair = r };
    const int code = manifest_each_file(r->manifest, repair_check_take_name, &n, err);

    if (code == SHEAF_OK && r->file_count > 1)
        qsort(r->files, r->file_count, sizeof(r->files[0]), repair_check_by_name);
    return code;
}

struct repair_file *repair_find(const struct repair *r, const char *name)
{
    const struct repair_file wanted = { .name = (char *)(uintptr_t)name };

    return r->file_count == 0 ? NULL
         : bsearch(&wanted, r->files, r->file_count, sizeof(r->files[0]), repair_check_by_name);
}

void repair_files_free(struct repair *r)
{
    for (size_t i = 0; i < r->file_count; i++) {
        free(r->files[i].name);
        free(r->files[i].fault);
    }
    free(r->files);
}

int repair_fail(struct repair_file *f, int code, const struct sheaf_error *found,
                struct sheaf_error *err)
{
    f->code = code;
    free(f->fault);
    f->fault = strdup(found->message);
    if (f->fault == NULL)
        return err_memory(err, strlen(found->message));
    if (code != SHEAF_ERR_INTERRUPTED && code != SHEAF_ERR_MEMORY && code != SHEAF_ERR_LIMIT)
        return SHEAF_OK;
    if (err != NULL)
        *err = *found;
    return code;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* Sets *bytes to the size of a file, or to UINT64_MAX if the file does not exist. */
static int size_in(const char *directory, const char *name, uint64_t *bytes,
                   struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    int code = url == NULL ? err_memory(err, strlen(name)) : store_size(url, bytes, err);

    if (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED) { /* or a directory */
        *bytes = UINT64_MAX;
        code = SHEAF_OK;
    }
    free(url);
    return code;
}

/* Sets *bytes to the size that a file should have, which the manifest or the copy of the data set
 * states. Sets *bytes to UINT64_MAX if the file is optional and the copy does not have it. Returns
 * SHEAF_END if the size is unknown. */
static int expected_size(const struct repair *r, const struct repair_file *f, uint64_t *bytes,
                         struct sheaf_error *err)
{
    int code;

    if (f->kind == REPAIR_SHARD || f->kind == REPAIR_NAMES) {
        const struct manifest_shard *m = &r->manifest->shards[f->shard];

        *bytes = f->kind == REPAIR_SHARD ? m->bytes : m->names_bytes;
        return SHEAF_OK;
    }
    if (r->copy == NULL)
        return SHEAF_END;
    code = size_in(r->copy_directory, f->name, bytes, err);
    return code == SHEAF_OK && *bytes == UINT64_MAX && !f->may_lack ? SHEAF_END : code;
}

/* A check of a shard and of the files beside it. */
struct checking_shard {
    struct repair *repair;
    bool again;                 /* whether the repair has replaced files */
    int code;                   /* of repair_fail */
    struct sheaf_error *err;
};

/* Notes that a file is damaged after the repair. */
static void repair_check_still(struct checking_shard *c, struct repair_file *f, const char *damage,
                               const struct sheaf_error *found)
{
    if (f->damage == NULL)
        c->repair->result.damaged++;
    f->damage = damage;
    f->is_repaired = false;
    if (c->code == SHEAF_OK)
        c->code = repair_fail(f, found->code, found, c->err);
}

/* Implements peer_index_tell_fn. */
static void repair_check_tell_side(void *context, const char *url, const char *fault)
{
    struct checking_shard *c = context;
    struct repair_file *f = repair_find(c->repair, strrchr(url, '/') + 1);
    struct sheaf_error found;

    if (f == NULL)
        return;
    if (!c->again) {
        f->differs = true;
        return;
    }
    if (f->damage != NULL && !f->is_repaired)
        return;
    err_set(&found, SHEAF_ERR_CORRUPT, !f->is_repaired
            ? "does not match its shard, which is repaired now; repair it again: %s"
            : c->repair->copy != NULL ? "is damaged in the copy, too: %s"
            : "does not match its shard, although it was made again: %s", fault);
    repair_check_still(c, f, REPAIR_DIFFERS, &found);
}

static uint64_t largest_record(const struct repair *r)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < r->manifest->shard_count; i++)
        largest = MAX(largest, r->manifest->shards[i].largest);
    return largest;
}

/* Returns the memory that the check of one shard may use, if several shards are checked at the same
 * time. */
static uint64_t repair_check_share(const struct repair *r)
{
    return r->options.memory_bytes / (2 * SEVERAL_AT_ONCE);
}

/* Reads a shard, whose size the caller must have checked. Compares the shard with the hash in the
 * manifest, and the files beside it with the shard. */
static int repair_check_shard(struct repair *r, struct repair_file *f, bool again,
                              struct sheaf_error *err)
{
    struct checking_shard c = { .repair = r, .again = again, .code = SHEAF_OK, .err = err };
    const uint64_t largest = r->manifest->shards[f->shard].largest;
    const char *damage = NULL;
    struct sheaf_error found;
    bool intact;
    int code = verify_sides(r->dataset, (uint32_t)f->shard,
                            (size_t)MAX(largest, repair_check_share(r)), r->options.interrupt,
                            repair_check_tell_side, &c, &intact, err);

    if (code == SHEAF_ERR_IO && store_is_local(r->directory)) {
        damage = "cannot be read";
        code = SHEAF_OK;
    } else if (code == SHEAF_OK && !intact) {
        damage = "has other bytes than those that were packed";
    }
    if (damage != NULL && again) {
        err_set(&found, SHEAF_ERR_CHANGED, "was damaged again during the repair: repair it again");
        repair_check_still(&c, f, damage, &found);
    } else if (damage != NULL) {
        f->damage = damage;
    }
    return code != SHEAF_OK ? code : c.code;
}

static int repair_check_file(void *context, const char *name, const struct store_seen *listed,
                             struct sheaf_error *err)
{
    struct repair *r = context;
    struct repair_file *f = repair_find(r, name);
    uint64_t expected, bytes;
    int code = size_in(r->directory, name, &bytes, err), known = SHEAF_END;

    (void)listed;
    if (code == SHEAF_OK)
        known = expected_size(r, f, &expected, err);
    if (code != SHEAF_OK || (known != SHEAF_OK && known != SHEAF_END))
        return code != SHEAF_OK ? code : known;
    f->is_absent = bytes == UINT64_MAX && f->may_lack &&
                   (known == SHEAF_END || expected == UINT64_MAX);
    if (f->is_absent || (known == SHEAF_OK && expected == UINT64_MAX))
        return SHEAF_OK;
    if (bytes == UINT64_MAX)
        f->damage = "is missing";
    else if (known == SHEAF_OK && bytes != expected)
        f->damage = "has another size than when it was packed";
    else if (f->kind == REPAIR_SHARD)
        code = repair_check_shard(r, f, false, err);
    return code;
}

static int repair_check_index(const struct sheaf_dataset *d, const char *name,
                              struct sheaf_error *err)
{
    struct sections sections = { .dataset = d };
    const char *index = NULL;
    uint64_t expected = 0, bytes;
    int code = SHEAF_OK;

    for (size_t i = 0; i < d->manifest.shard_count && code == SHEAF_OK; i++) {
        const char *url = dataset_part(d, (uint32_t)i)->index_url;
        struct index_section *section;
        uint8_t *data = NULL;

        if (strcmp(strrchr(url, '/') + 1, name) != 0)
            continue;
        index = url;
        expected += d->manifest.shards[i].index_bytes;
        code = sections_read(&sections, (uint32_t)i, &data, err);
        if (code == SHEAF_OK)
            code = index_parse(data, d->manifest.shards[i].index_bytes, d->samples[i], &section,
                               err);
        if (code == SHEAF_OK)
            index_section_free(section);
        free(data);
    }
    sections_close(&sections);
    if (code == SHEAF_OK && index != NULL)
        code = store_size(index, &bytes, err);
    if (code == SHEAF_OK && index != NULL && bytes != expected)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: has %llu bytes, expected %llu", index,
                       (unsigned long long)bytes, (unsigned long long)expected);
    return code;
}

int repair_check_table(const struct sheaf_dataset *d, enum repair_kind kind, const char *name,
                       struct sheaf_error *err)
{
    if (kind == REPAIR_INDEX)
        return repair_check_index(d, name, err);
    for (size_t i = 0; kind == REPAIR_KEYS && i < d->part_count; i++)
        if (strcmp(strrchr(d->parts[i].keys_url, '/') + 1, name) == 0)
            return key_file_check(d, i, NULL, err);
    return SHEAF_OK;
}

/* Checks an index or a table of keys. A missing index counts as damaged even if there is no copy,
 * because readers need the index. A missing table of keys counts as damaged in two cases: the data
 * set was packed with this table, or the copy has it. */
static int repair_check_check_table(const struct repair *r, struct repair_file *f,
                                    struct sheaf_error *err)
{
    const int code = repair_check_table(r->dataset, f->kind, f->name, err);

    if (code == SHEAF_ERR_NOT_FOUND ||
        (code == SHEAF_END && f->kind == REPAIR_KEYS && r->copy != NULL &&
         repair_check_table(r->copy, f->kind, f->name, NULL) == SHEAF_OK))
        f->damage = "is missing";
    else if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED ||
             code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_UNSUPPORTED)
        f->damage = "has other bytes than those that were packed";
    f->is_absent = f->damage == NULL && code == SHEAF_END;
    return f->is_absent || f->damage != NULL ? SHEAF_OK : code;
}

/* ---- After the repair ------------------------------------------------------------------------ */

/* Returns whether a shard is known to be intact, because it was repaired or because a check found
 * no damage. If the caller named the files to repair, no shard was checked, so only repaired shards
 * are known to be intact. */
static bool repair_check_is_intact(const struct repair *r, const struct repair_file *f)
{
    return f->is_repaired || (f->damage == NULL && r->options.file_count == 0);
}

int repair_check_again(struct repair *r, struct sheaf_error *err)
{
    bool *repaired = calloc(r->manifest->shard_count + 1, sizeof(repaired[0])), has_index = false;
    int code = repaired == NULL ? err_memory(err, r->manifest->shard_count) : SHEAF_OK;

    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        if (r->files[i].shard != REPAIR_NO_SHARD && r->files[i].is_repaired)
            repaired[r->files[i].shard] = true;
        has_index |= r->files[i].kind == REPAIR_INDEX && r->files[i].is_repaired;
    }
    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        struct repair_file *f = &r->files[i];

        /* While an index was damaged, no .lst file could be compared with it. So all shards are
         * compared again if an index was repaired. */
        if (f->kind != REPAIR_SHARD || !(repaired[f->shard] || has_index) ||
            !repair_check_is_intact(r, f))
            continue;
        code = watch_check(&r->watch, err);
        if (code == SHEAF_OK)
            code = repair_check_shard(r, f, true, err);
    }
    free(repaired);
    return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static uint64_t repair_check_bytes_of(const struct repair *r, const struct repair_file *f)
{
    return f->kind == REPAIR_SHARD ? r->manifest->shards[f->shard].bytes : 0;
}

/* Checks all files. In a remote store, several files are read at the same time if the largest
 * samples fit into the memory. */
static int repair_check_all(struct repair *r, struct sheaf_error *err)
{
    const bool one_by_one = largest_record(r) > repair_check_share(r);
    struct several several;
    int code = several_open(&several, r->directory, repair_check_file, r, err);

    r->progress = (struct sheaf_progress){ .stage = "check", .total_count = r->file_count };
    for (size_t i = 0; i < r->file_count; i++)
        r->progress.total_bytes += repair_check_bytes_of(r, &r->files[i]);
    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        struct repair_file *f = &r->files[i];

        code = watch_check(&r->watch, err);
        if (code == SHEAF_OK)
            code = f->kind == REPAIR_INDEX || f->kind == REPAIR_KEYS
                       ? repair_check_check_table(r, f, err)
                 : f->kind == REPAIR_SHARD && one_by_one
                       ? repair_check_file(r, f->name, NULL, err)
                       : several_add(&several, f->name, NULL, err);
        r->progress.done_count++;
        r->progress.done_bytes += repair_check_bytes_of(r, f);
        watch_show(&r->watch, &r->progress);
    }
    code = several_close(&several, code, err);
    r->result.files = 1;            /* The manifest was checked when the data set was opened. */
    for (size_t i = 0; i < r->file_count; i++) {
        r->result.files += !r->files[i].is_absent;
        if (r->files[i].differs && r->files[i].damage == NULL)
            r->files[i].damage = REPAIR_DIFFERS;
    }
    return code;
}

/* Marks as damaged the files that the caller has named. The caller may name a file by its name,
 * path or URL. */
static int take_named(struct repair *r, struct sheaf_error *err)
{
    for (size_t i = 0; i < r->options.file_count; i++) {
        const char *given = r->options.files[i], *slash = strrchr(given, '/');
        struct repair_file *f = repair_find(r, slash == NULL ? given : slash + 1);

        if (f == NULL)
            return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: the data set %s has no such file", given,
                           r->directory);
        f->damage = "was named";
    }
    r->result.files = r->options.file_count;
    return SHEAF_OK;
}

int repair_check(struct repair *r, struct sheaf_error *err)
{
    int code = repair_check_list_files(r, err);

    if (code == SHEAF_OK)
        code = r->options.file_count != 0 ? take_named(r, err) : repair_check_all(r, err);
    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++)
        r->result.damaged += r->files[i].damage != NULL;
    return code;
}
