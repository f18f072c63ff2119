/* SPDX-License-Identifier: MIT
 *
 * sheaf_repair: re-creates the damaged or lost files of a data set. */
#include "copy/repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/sized.h"
#include "base/workers.h"
#include "packer/source/source.h"
#include "publish/destination.h"
#include "publish/own_source.h"
#include "reader/lookup/index_keys.h"
#include "store/interrupt.h"
#include "store/scopes.h"

/* ---- Options --------------------------------------------------------------------------------- */

void sheaf_repair_options_init(struct sheaf_repair_options *options, size_t size)
{
    const struct sheaf_repair_options defaults = {
        .sizeof_options = size, .memory_bytes = (uint64_t)512 << 20,
    };

    sized_give(options, size, &defaults, sizeof(defaults));
}

static int repair_take_options(struct repair *r, const struct sheaf_repair_options *given,
                               struct sheaf_error *err)
{
    struct sheaf_repair_options *o = &r->options;
    int code;

    sheaf_repair_options_init(o, sizeof(*o));
    code = sized_take_checked(o, sizeof(*o), given, err);
    if (code != SHEAF_OK)
        return code;
    if (r->from_count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "no source: give the files that were packed, or a "
                       "copy of the data set");
    r->watch = (struct watch){ .progress = o->progress, .context = o->context,
                               .interrupt = o->interrupt };
    return workers_check("jobs", o->jobs, err);
}

/* ---- The data set and its copy --------------------------------------------------------------- */

/* Opens the caller's source as a copy of the data set, if the source has a manifest. Otherwise the
 * source consists of the files that were packed. */
static int open_copy(struct repair *r, struct sheaf_error *err)
{
    struct manifest found = { .shards = NULL };
    struct sheaf_error why;
    int code = in_place_directory(r->from[0], &r->copy_directory, err);

    if (code != SHEAF_OK)
        return code;
    code = destination_read_manifest(r->copy_directory, &found, &why);
    if (code == SHEAF_OK && strcmp(found.fingerprint, r->manifest->fingerprint) != 0)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: is another data set, or another state of this "
                       "one: its fingerprint is %s, but %s has %s", r->from[0], found.fingerprint,
                       r->directory, r->manifest->fingerprint);
    else if (code == SHEAF_OK)
        code = sheaf_dataset_open(r->from, 1, &r->copy, err);
    else if (why.code == SHEAF_ERR_CORRUPT || why.code == SHEAF_ERR_UNSUPPORTED) {
        *err = why;
        return code;
    } else {                    /* it is not a data set */
        free(r->copy_directory);
        r->copy_directory = NULL;
        code = SHEAF_OK;
    }
    manifest_clear(&found);
    return code;
}

/* Implements store_entry_fn: ends the walk at the first object. */
static int repair_found_object(void *context, const struct store_entry *entry)
{
    (void)context, (void)entry;
    return SHEAF_END;
}

/* Returns an error if a source does not exist. Otherwise a wrong path would be noticed only when a
 * shard is damaged. */
static int repair_check_sources(const struct repair *r, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < r->from_count && code == SHEAF_OK; i++) {
        struct source source;

        code = source_open(r->from[i], r->options.root, &source, err);
        if (code != SHEAF_OK)
            break;
        if (source.ops->at == SOURCE_AT_PREFIX)
            code = store_walk(source.url, repair_found_object, NULL, err);
        if (code == SHEAF_OK && source.ops->at == SOURCE_AT_PREFIX)
            code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no object has this prefix", r->from[i]);
        code = code == SHEAF_END ? SHEAF_OK : code;
        source_close(&source);
    }
    return code;
}

static int repair_open_dataset(struct repair *r, const char *dataset, struct sheaf_error *err)
{
    int code = in_place_directory(dataset, &r->directory, err);

    if (code == SHEAF_OK)
        code = sheaf_dataset_open(&dataset, 1, &r->dataset, err);
    if (code == SHEAF_OK)
        code = in_place_check(r->dataset, r->directory, "repair", err);
    if (code == SHEAF_ERR_CORRUPT || (code == SHEAF_ERR_NOT_FOUND && r->dataset != NULL))
        err_append(err, ": a repair needs an intact dataset.json: copy this file from a copy of "
                   "the data set first");
    if (code != SHEAF_OK)
        return code;
    r->manifest = &r->dataset->manifest;
    if (r->from_count == 1)
        code = open_copy(r, err);
    if (code == SHEAF_OK)
        code = refuse_own_source(r->directory, r->from, r->from_count, err);
    return code == SHEAF_OK && r->copy == NULL ? repair_check_sources(r, err) : code;
}

/* Opens the data set's directory for writing the repaired shards. A hash identifies a run. All
 * repairs of a data set use the same hash, so that a repair can continue an earlier repair that was
 * killed. */
static int repair_open_output(struct repair *r, struct sheaf_error *err)
{
    XXH128_hash_t sum = XXH3_128bits("repair", 6);
    char hash[HASH_TEXT_BYTES];
    int code = in_place_open(&r->place, &r->output, r->directory, r->manifest,
                             r->manifest->shard_count, r->options.interrupt, err);

    hash_add(&sum, r->manifest->fingerprint, strlen(r->manifest->fingerprint));
    hash_text(sum, hash);
    for (size_t i = 0; i < r->manifest->shard_count && code == SHEAF_OK; i++)
        r->place.shards[i] = r->manifest->shards[i].name;
    r->output.is_repair = true;
    return code == SHEAF_OK ? in_place_begin(&r->place, &r->output, hash, err) : code;
}

/* ---- The repair ------------------------------------------------------------------------------ */

static int repair_claimed(struct repair *r, struct sheaf_error *err)
{
    int code = output_clean(&r->output, err);

    if (code == SHEAF_OK)
        code = r->copy != NULL ? repair_from_copy(r, err) : repair_from_files(r, err);
    if (code == SHEAF_OK)
        code = output_end(&r->output, err);
    else
        output_abandon(&r->output, false);
    return code;
}

/* Makes the damaged tables of keys again from the keys in the shards, if all other files are sound
 * now. */
static int repair_remake_keys(struct repair *r, struct sheaf_error *err)
{
    struct sheaf_verify_options options;
    struct sheaf_verify_result result;
    struct sheaf_error found;
    size_t lost = 0, others = 0;
    int made, code = SHEAF_OK;

    for (size_t i = 0; i < r->file_count; i++) {
        const struct repair_file *f = &r->files[i];

        lost += f->damage != NULL && !f->is_repaired && f->kind == REPAIR_KEYS;
        others += f->damage != NULL && !f->is_repaired && f->kind != REPAIR_KEYS;
    }
    if (lost == 0)
        return SHEAF_OK;
    sheaf_verify_options_init(&options, sizeof(options));
    options.memory_bytes = r->options.memory_bytes;
    options.interrupt = r->options.interrupt;
    made = others == 0 ? index_keys_again(r->directory, &options, &result, &found)
         : err_set(&found, SHEAF_ERR_UNSUPPORTED, "is made from the keys in the shards, but other "
                   "files of the data set are damaged: repair them first");
    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        struct repair_file *f = &r->files[i];

        if (f->kind != REPAIR_KEYS || f->damage == NULL || f->is_repaired)
            continue;
        f->is_repaired = f->is_made = made == SHEAF_OK;
        if (made != SHEAF_OK)
            code = repair_fail(f, made, &found, err);
    }
    return code;
}

static void repair_tell(sheaf_report_fn *call, const struct repair *r, const struct repair_file *f,
                        int code, const char *text, const char *more)
{
    struct sheaf_error what;

    if (call == NULL)
        return;
    err_set(&what, code, "%s%s%s", text, more == NULL ? "" : ": ", more == NULL ? "" : more);
    what.code = code;
    call(r->options.context, f->name, &what);
}

/* Counts and reports the damaged files that were repaired, and the damaged files that could not be
 * repaired. Returns the error of the first file that could not be repaired. */
static int tell_all(struct repair *r, struct sheaf_error *err)
{
    const struct repair_file *first = NULL;
    uint64_t failed = 0;

    for (size_t i = 0; i < r->file_count; i++) {
        const struct repair_file *f = &r->files[i];

        if (f->damage == NULL)
            continue;
        if (f->is_repaired) {
            r->result.repaired++;
            repair_tell(r->options.note, r, f, SHEAF_OK, f->damage,
                        r->copy != NULL && !f->is_made ? "copied again" : "made again");
        } else if (r->options.dry_run) {
            repair_tell(r->options.note, r, f, SHEAF_OK, f->damage, NULL);
        } else {
            repair_tell(r->options.report, r, f, f->code, f->damage, f->fault);
            first = first == NULL ? f : first;
            failed++;
        }
    }
    if (first == NULL)
        return SHEAF_OK;
    return err_set(err, first->code, "%s: %llu of %llu damaged file%s could not be repaired: %s: "
                   "%s", r->directory, (unsigned long long)failed,
                   (unsigned long long)r->result.damaged, plural(r->result.damaged), first->name,
                   first->fault);
}

static int repair_run(struct repair *r, struct sheaf_error *err)
{
    bool finished;
    int code = repair_open_output(r, err);

    if (code == SHEAF_OK)
        code = repair_check(r, err);
    if (code == SHEAF_OK && r->options.dry_run) {
        code = r->result.damaged == 0 ? SHEAF_OK : output_look(&r->output, ASK_GROW_RESUME, err);
    } else if (code == SHEAF_OK && r->result.damaged == 0) {
        /* No file is damaged. But an earlier repair may have been killed just before it removed its
         * claim. (A claim is a file that says that a run is at work.) So the claim is removed here,
         * if possible. */
        (void)output_grown(&r->output, NULL);
    } else if (code == SHEAF_OK) {
        code = output_claim(&r->output, ASK_GROW_RESUME, &finished, err);
        if (code == SHEAF_OK)
            code = repair_claimed(r, err);
    }
    output_close(&r->output);
    if (code == SHEAF_OK && !r->options.dry_run)
        code = repair_remake_keys(r, err);
    return code == SHEAF_OK ? tell_all(r, err) : code;
}

static void close_repair(struct repair *r)
{
    in_place_close(&r->place);
    repair_files_free(r);
    sheaf_dataset_free(r->copy);
    sheaf_dataset_free(r->dataset);
    free(r->copy_directory);
    free(r->directory);
}

int sheaf_repair(const char *dataset, const char *const *from, size_t count,
                 const struct sheaf_repair_options *options, struct sheaf_repair_result *result,
                 size_t sizeof_result, struct sheaf_error *error)
{
    struct repair r = { .from = from, .from_count = count, .output.lock = -1 };
    struct store_scopes scopes = { .count = 0 };
    const volatile int *before;
    struct sheaf_error own;
    int code;

    error = error != NULL ? error : &own;
    code = repair_take_options(&r, options, error);
    before = interrupt_watch(r.options.interrupt);
    if (code == SHEAF_OK)
        code = scopes_open(&scopes, dataset, NULL, r.options.s3, error);
    if (code == SHEAF_OK)
        code = repair_open_dataset(&r, dataset, error);
    if (code == SHEAF_OK)
        code = repair_run(&r, error);
    r.result.is_copy = r.copy != NULL;
    close_repair(&r);
    scopes_close(&scopes);
    interrupt_watch(before);
    if (result != NULL)
        sized_give(result, sizeof_result, &r.result, sizeof(r.result));
    return code;
}
