/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_writer: writes a layer, which is a data set with the records of a column. The column
 * belongs to another data set, its base. The packer encodes and stores the records.
 *
 * Each record contains the number of its sample, and the checksum that the index of the base states
 * for the sample. Each shard of the layer has the records for one or more whole shards of the
 * base.
 *
 * Several machines can write one column. sheaf_column_plan has stored a plan of the column's
 * shards, and each machine writes one part of these shards. Shards that are already finished are
 * skipped. When all shards exist, sheaf_commit publishes them as a layer. */
#include "columns/column_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "formats/name.h"
#include "formats/sample.h"
#include "publish/destination.h"

/* Limits for a shard of the column, in bytes and in records. When one of them is reached, the shard
 * ends after the last record for the present shard of the base data set. The limits are large
 * enough that a small column consists of few files. They are small enough that the index of a shard
 * stays small. */
#define LAYER_SHARD_BYTES   ((uint64_t)32 << 20)
#define LAYER_SHARD_SAMPLES ((uint64_t)65536)
/* The journal is a list with an entry for each finished shard of the column. If the shard belongs
 * to a part of a plan, its entry states how many records of the shard have no value, and
 * sheaf_commit adds up these numbers.
 *
 * Otherwise the entry contains a number of 64 bits, which says how far the column is finished after
 * this shard. The lower PLACE_BITS bits of the number count the samples without a value, in this
 * shard and all shards before it. The upper bits count the shards of the base data set whose
 * records are finished. */
#define PLACE_BITS 40

/* The part of a plan that one machine writes. */
struct column_part {
    struct sheaf_plan *plan;
    uint64_t first, end;        /* numbers of the part's samples */
    /* numbers of two shards in the plan: the shard that is being written, and the first shard after
     * the part of this machine */
    uint64_t shard, shard_end;
    uint64_t next_number;       /* number of the first sample after the present shard */
    /* value of facts.missing, the number of records without a value, at the beginning of the
     * present shard */
    uint64_t missing;
    uint64_t kept;
};

/* ---- Options --------------------------------------------------------------------------------- */

void sheaf_column_options_init(struct sheaf_column_options *options, size_t size)
{
    const struct sheaf_column_options defaults = {
        .sizeof_options = size, .memory_bytes = (uint64_t)1 << 30,
    };

    sized_give(options, size, &defaults, sizeof(defaults));
}

int column_options_take(const struct sheaf_column_options *given, struct sheaf_column_options *o,
                        struct sheaf_error *err)
{
    int code;

    sheaf_column_options_init(o, sizeof(*o));
    code = sized_take_checked(o, sizeof(*o), given, err);
    if (code != SHEAF_OK)
        return code;
    if ((o->on_unknown != SHEAF_FAIL && o->on_unknown != SHEAF_SKIP) ||
        (o->on_repeated != SHEAF_FAIL && o->on_repeated != SHEAF_SKIP))
        return err_set(err, SHEAF_ERR_ARGUMENT, "on_unknown is %d and on_repeated %d, expected "
                       "SHEAF_FAIL or SHEAF_SKIP", (int)o->on_unknown, (int)o->on_repeated);
    return workers_check("jobs", o->jobs, err);
}

void column_packing(const struct sheaf_column_options *options, const char *identity,
                    struct sheaf_pack_options *o)
{
    sheaf_pack_options_init(o, sizeof(*o));
    o->container = SHEAF_TFRECORD;
    o->codec = SHEAF_CODEC_NONE;
    o->shard_bytes = INT64_MAX;         /* A shard ends where sheaf_packer_cut_at says. */
    o->prefix = "column";
    o->identity = identity;
    o->resume = options->resume;
    o->check_images = SHEAF_CHECK_NONE;
    o->memory_bytes = options->memory_bytes / 2;
    o->jobs = options->jobs;
    o->interrupt = options->interrupt;
    o->s3 = options->s3;
}

/* ---- The base -------------------------------------------------------------------------------- */

int column_base_open(const char *url, struct sheaf_dataset **base, struct sheaf_error *err)
{
    char *directory = NULL;
    int code = sheaf_dataset_open(&url, 1, base, err);

    if (code != SHEAF_OK)
        return code;
    if ((*base)->view != NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a view: its sources can have columns, "
                       "which it then has too", url);
    else
        code = column_directory(*base, NULL, 0, &directory, err);
    free(directory);
    if (code != SHEAF_OK) {
        sheaf_dataset_free(*base);
        *base = NULL;
    }
    return code;
}

/* Checks whether a column may have the name `name`. Returns an error if samples of the base data
 * set have a field whose name begins with this name and a dot. The fields of a column get such
 * names, so the column would hide this field. */
static int column_write_check_fields(const struct sheaf_dataset *base, const char *name,
                                     struct sheaf_error *err)
{
    const struct tally *t = &base->manifest.fields;
    const size_t size = strlen(name);

    for (size_t i = 0; !t->is_unknown && i < t->count; i++)
        if (strncmp(t->fields[i].name, name, size) == 0 && t->fields[i].name[size] == '.')
            return err_set(err, SHEAF_ERR_EXISTS, "%s: samples have a field %s, which a column "
                           "%s could hide: choose another name", base->url, t->fields[i].name,
                           name);
    return SHEAF_OK;
}

/* Returns an error if an earlier column with the same name was only partly removed. A drop removes
 * the manifest of layer 1 (the column's first data set) before the manifest of layer 2. So layer 2
 * without layer 1 is the rest of an interrupted drop. */
static int check_leftovers(const struct sheaf_dataset *base, const char *name,
                           struct sheaf_error *err)
{
    struct sheaf_dataset *second = NULL;
    char *url = NULL;
    int code = column_directory(base, name, 2, &url, err);

    if (code == SHEAF_OK)
        code = dataset_open_published(url, &second, err);
    free(url);
    if (second != NULL) {
        sheaf_dataset_free(second);
        return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: the column %s was not removed "
                                        "completely", base->url, name),
                           SHEAF_REASON_UNFINISHED);
    }
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

int column_write_begins(const struct sheaf_dataset *base, const char *name,
                        const struct sheaf_column_options *o, uint64_t *first, size_t *layer,
                        struct sheaf_error *err)
{
    struct column_set set;
    int code = column_set_open(base, name, &set, err);
    const bool is_there = code == SHEAF_OK;

    *first = set.end;
    *layer = set.count + 1;
    if (is_there && o->only_missing && set.end == dataset_samples(base))
        *layer = 0;
    column_set_close(&set);
    if (is_there && !o->only_missing && !o->resume)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: has a column %s, and a column never changes: "
                       "choose another name", base->url, name);
    /* The column exists already. With the option `resume`, the run may continue if it has written
     * this column itself. The packer checks this when it opens layer 1 (the column's first data
     * set), and refuses a column of another run. */
    if (is_there && !o->only_missing) {
        *first = 0;
        *layer = 1;
    }
    if (code != SHEAF_ERR_NOT_FOUND || o->only_missing)
        return code;
    code = column_write_check_fields(base, name, err);
    return code == SHEAF_OK ? check_leftovers(base, name, err) : code;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void place_after(struct sheaf_column_writer *w, uint64_t place)
{
    if (place == 0)
        return;
    w->shard = (uint32_t)(place >> PLACE_BITS);
    w->next = w->base->first_numbers[w->shard];
    w->facts.missing = place & (((uint64_t)1 << PLACE_BITS) - 1);
}

static int column_write_open_packer(struct sheaf_column_writer *w, size_t layer,
                                    struct sheaf_error *err)
{
    const char *version = w->options.version == NULL ? "" : w->options.version;
    struct sheaf_pack_options options;
    uint64_t place = 0;
    int code = column_directory(w->base, w->facts.name, layer, &w->url, err);

    if (code == SHEAF_OK && asprintf(&w->identity, "column %s %s %" PRIu64 " %s", w->facts.name,
                                     w->facts.base, w->facts.first, version) < 0) {
        w->identity = NULL;
        code = err_memory(err, strlen(version));
    }
    if (code != SHEAF_OK)
        return code;
    column_packing(&w->options, w->identity, &options);
    code = packer_open_column(w->url, &options, &w->facts, &w->packer, err);
    if (code != SHEAF_OK)
        return code;
    code = sheaf_packer_skip(w->packer, &place);
    if (code != SHEAF_OK)
        *err = *sheaf_packer_error(w->packer);
    place_after(w, place);
    if (sheaf_packer_is_there(w->packer))
        w->next = w->end;
    return code;
}

/* Prepares the writer for its first sample. The caller must have set the fields `base`, `facts` and
 * `end` of the writer. */
static void column_writer_start(struct sheaf_column_writer *w)
{
    w->sections.dataset = w->base;
    while (w->shard < w->base->manifest.shard_count &&
           w->base->first_numbers[w->shard + 1] <= w->next)
        w->shard++;
}

static int column_write_open_writer(struct sheaf_column_writer *w, const char *dataset,
                                    const char *name, struct sheaf_error *err)
{
    size_t layer;
    int code = column_base_open(dataset, &w->base, err);

    if (code == SHEAF_OK)
        code = column_write_begins(w->base, name, &w->options, &w->facts.first, &layer, err);
    if (code != SHEAF_OK)
        return code;
    memcpy(w->facts.name, name, strlen(name) + 1);
    memcpy(w->facts.base, w->base->manifest.fingerprint, sizeof(w->facts.base));
    w->end = dataset_samples(w->base);
    w->next = layer == 0 ? w->end : w->facts.first;
    column_writer_start(w);
    return layer == 0 ? SHEAF_OK : column_write_open_packer(w, layer, err);
}

int sheaf_column_open(const char *dataset, const char *name,
                      const struct sheaf_column_options *options,
                      struct sheaf_column_writer **writer, struct sheaf_error *error)
{
    struct sheaf_column_writer *w = calloc(1, sizeof(*w));
    int code = w == NULL ? err_memory(error, sizeof(*w))
                         : column_options_take(options, &w->options, error);

    if (code == SHEAF_OK)
        code = column_write_open_writer(w, dataset, name, error);
    if (code != SHEAF_OK) {
        sheaf_column_free(w);
        return code;
    }
    *writer = w;
    return SHEAF_OK;
}

uint64_t sheaf_column_next(const struct sheaf_column_writer *w)
{
    return w->next;
}

uint64_t sheaf_column_end(const struct sheaf_column_writer *w)
{
    return w->end;
}

void sheaf_column_free(struct sheaf_column_writer *w)
{
    if (w == NULL)
        return;
    sheaf_packer_free(w->packer);
    if (w->part != NULL)
        sheaf_plan_free(w->part->plan);
    free(w->part);
    column_values_free(&w->values);
    sections_close(&w->sections);
    index_section_free(w->section);
    sheaf_dataset_free(w->base);
    free(w->identity);
    free(w->url);
    free(w);
}

/* ---- Parts of a plan ------------------------------------------------------------------------- */

/* Copies the packer's error. Returns `code`. */
static int column_packed(struct sheaf_column_writer *w, int code, struct sheaf_error *err)
{
    if (code != SHEAF_OK && err != NULL)
        *err = *sheaf_packer_error(w->packer);
    return code;
}

void column_part_range(const struct sheaf_column_writer *w, uint64_t *first, uint64_t *end)
{
    *first = w->part->first;
    *end = w->part->end;
}

/* Sets w->end to the first sample of the next finished shard after the present shard. If no later
 * shard of the part is finished, sets w->end to the end of the part. All samples from the present
 * shard up to w->end still need a record. */
static int extend_range(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    const struct column_part *p = w->part;
    struct sheaf_plan_shard shard;
    int done = 0, code = SHEAF_OK;

    w->end = p->next_number;
    for (uint64_t i = p->shard + 1; i < p->shard_end && !done && code == SHEAF_OK; i++) {
        code = sheaf_plan_shard(p->plan, i, &shard, &done, err);
        w->end += done ? 0 : shard.samples;
    }
    return code;
}

/* Begins to write the next unfinished shard of this machine's part of the plan. This is shard
 * p->shard, or a later shard if shard p->shard is already finished. The caller must have set
 * p->next_number to the number of the first sample in shard p->shard. */
static int begin_shard(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    struct column_part *p = w->part;
    const bool is_there = sheaf_packer_is_there(w->packer);
    struct sheaf_plan_shard shard;
    int done, code = SHEAF_OK;

    for (; p->shard < p->shard_end; p->shard++) {
        code = sheaf_plan_shard(p->plan, p->shard, &shard, &done, err);
        if (code != SHEAF_OK)
            return code;
        w->next = p->next_number;
        p->next_number += shard.samples;
        if (!done && !is_there)
            break;
        p->kept++;
    }
    if (p->shard == p->shard_end) {
        w->next = w->end = p->end;
        return SHEAF_OK;
    }
    p->missing = w->facts.missing;
    code = column_packed(w, packer_begin_shard(w->packer, p->shard), err);
    return code == SHEAF_OK ? extend_range(w, err) : code;
}

/* Must be called after each appended sample. If the sample was the last of its planned shard, ends
 * this shard, and begins the next shard that is not finished yet. */
static int column_part_appended(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    struct column_part *p = w->part;
    const uint64_t missing = w->facts.missing - p->missing;
    int code;

    if (w->next != p->next_number)
        return SHEAF_OK;
    /* Each shard is stored as soon as its last sample was appended. The program that makes the
     * values may be slow, so a crash should destroy the work on one shard at most. */
    code = column_packed(w, w->values.source == NULL ? packer_finish_shard(w->packer, missing)
                                                     : sheaf_packer_cut_at(w->packer, missing),
                                                     err);
    p->shard++;
    return code == SHEAF_OK ? begin_shard(w, err) : code;
}

/* ---- Opening a part -------------------------------------------------------------------------- */

static int column_part_check_kind(const struct sheaf_plan_info *info, const char *url,
                                  struct sheaf_error *err)
{
    const bool is_conversion = info->fingerprint[0] != '\0';

    if (strcmp(info->source, COLUMN_PLAN_SOURCE) == 0)
        return SHEAF_OK;
    return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of %s, expected one of "
                                    "a column", url, is_conversion ? "a conversion" : "files"),
                       is_conversion ? SHEAF_REASON_CONVERSION_PLAN : SHEAF_REASON_FILES_PLAN);
}

/* Opens the base data set, to which the column belongs. Samples may have been appended to the base
 * since the plan was made. But the samples in the plan must still be there, with the same numbers.
 */
static int open_base(struct sheaf_column_writer *w, const struct sheaf_plan_info *info,
                     struct sheaf_error *err)
{
    const struct dataset_part *part;
    int code = column_base_open(info->root, &w->base, err);

    if (code != SHEAF_OK)
        return code;
    part = column_base_part(w->base, w->facts.base);
    if (part != NULL && w->facts.first + info->samples == part->first_number + part->samples)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: has changed since the plan was made: expected data "
                   "set %s, found %s", info->root, w->facts.base, w->base->manifest.fingerprint);
}

/* Finds the samples of the part. */
static int find_range(struct column_part *p, uint64_t number, uint32_t part, uint32_t parts,
                      struct sheaf_error *err)
{
    uint64_t first;
    int code = sheaf_plan_part(p->plan, part, parts, &first, &p->shard_end, err);

    p->shard = first;
    p->first = p->end = number;
    for (uint64_t i = 0; i < p->shard_end && code == SHEAF_OK; i++) {
        struct sheaf_plan_shard shard;
        int done;

        code = sheaf_plan_shard(p->plan, i, &shard, &done, err);
        p->end += shard.samples;
        p->first += i < first ? shard.samples : 0;
    }
    p->next_number = p->first;
    return code;
}

static int column_part_open(struct sheaf_column_writer *w, const char *plan, uint32_t part,
                            uint32_t parts, struct sheaf_error *err)
{
    struct sheaf_pack_options options;
    struct sheaf_plan_info info;
    int code;

    w->part = calloc(1, sizeof(*w->part));
    if (w->part == NULL)
        return err_memory(err, sizeof(*w->part));
    code = sheaf_plan_open(plan, &w->part->plan, err);
    if (code != SHEAF_OK)
        return code;
    sheaf_plan_get_info(w->part->plan, &info, sizeof(info));
    code = column_part_check_kind(&info, plan, err);
    column_packing(&w->options, NULL, &options);
    options.resume = 0;
    if (code == SHEAF_OK)
        code = packer_open_part(plan, parts, &options, &w->packer, err);
    if (code == SHEAF_OK)
        code = column_plan_read(w->packer->file.facts.options_json[0], &w->facts, &w->values, err);
    if (code == SHEAF_OK)
        code = open_base(w, &info, err);
    if (code == SHEAF_OK)
        code = find_range(w->part, w->facts.first, part, parts, err);
    if (code == SHEAF_OK)
        code = begin_shard(w, err);
    if (code == SHEAF_OK)
        column_writer_start(w);
    return code;
}

int sheaf_column_open_part(const char *plan, uint32_t part, uint32_t parts,
                           const struct sheaf_column_options *options,
                           struct sheaf_column_writer **writer, struct sheaf_error *error)
{
    struct sheaf_column_writer *w = calloc(1, sizeof(*w));
    struct sheaf_error own_error;
    int code;

    error = error != NULL ? error : &own_error;
    code = w == NULL ? err_memory(error, sizeof(*w))
                     : column_options_take(options, &w->options, error);
    if (code == SHEAF_OK)
        code = column_part_open(w, plan, part, parts, error);
    if (code != SHEAF_OK) {
        sheaf_column_free(w);
        return code;
    }
    *writer = w;
    return SHEAF_OK;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Ends the present shard of the layer (the data set that stores the column). The next record is for
 * the first sample in shard number `shard` of the base, the data set to which the column is added.
 */
static int column_write_cut(struct sheaf_column_writer *w, uint32_t shard, struct sheaf_error *err)
{
    w->open_bytes = w->open_samples = 0;
    return column_packed(w, sheaf_packer_cut_at(w->packer, (uint64_t)shard << PLACE_BITS |
                                                           w->facts.missing), err);
}

/* Reads the index section of shard number w->shard of the base data set. The section contains the
 * checksums of the samples. */
static int column_write_load_section(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    int code;

    index_section_free(w->section);
    code = sections_parse(&w->sections, w->shard, &w->section, err);
    if (code == SHEAF_OK && w->section->crcs == NULL)
        code = err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no "
                                        "checksums, which a column needs", w->base->url),
                           SHEAF_REASON_NOT_INDEXED);
    return code;
}

/* Reads the index section of the shard that contains the next sample, unless w->section already is
 * this section. The shard belongs to the base, the data set to which the column is added. */
static int column_write_find_section(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    const uint64_t *first = w->base->first_numbers;
    int code = SHEAF_OK;

    if (w->section != NULL && w->next < first[w->shard + 1])
        return SHEAF_OK;
    while (first[w->shard + 1] <= w->next)
        w->shard++;
    if (w->part == NULL &&
        (w->open_bytes >= LAYER_SHARD_BYTES || w->open_samples >= LAYER_SHARD_SAMPLES))
        code = column_write_cut(w, w->shard, err);
    return code == SHEAF_OK ? column_write_load_section(w, err) : code;
}

int column_check_extension(const char *extension, struct sheaf_error *err)
{
    const char *problem = extension[0] == '\0' ? "it is empty"
                        : strchr(extension, '/') != NULL ? "it contains a slash"
                        : name_text_problem(extension, strlen(extension));

    if (problem == NULL)
        problem = name_suffix_problem(extension);
    return problem == NULL ? SHEAF_OK
         : err_set(err, SHEAF_ERR_ARGUMENT, "the name \"%.100s\" cannot be the extension of a "
                   "field: %s", extension, problem);
}

int sheaf_column_append(struct sheaf_column_writer *w, const struct sheaf_field *fields,
                        size_t count, struct sheaf_error *err)
{
    char key[COLUMN_KEY_BYTES];
    const struct sheaf_sample sample = { .key = key, .fields = fields, .field_count = count };
    uint64_t bytes = COLUMN_KEY_BYTES;
    int code;

    if (w->next == w->end || w->is_finished)
        return err_set(err, SHEAF_ERR_STATE,
                       "%s: has no sample after sample %" PRIu64 " that needs a record",
                       w->base->url, w->end - 1);
    for (size_t i = 0; i < count; i++) {
        code = column_check_extension(field_suffix(&fields[i]), err);
        if (code != SHEAF_OK)
            return code;
        bytes += fields[i].size + 64;
    }
    if (bytes > COLUMN_RECORD_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "sample %" PRIu64 ": its values have more than %"
                       PRIu64 " bytes", w->next, COLUMN_RECORD_MOST);
    code = column_write_find_section(w, err);
    if (code != SHEAF_OK)
        return code;
    column_key(w->next, w->section->crcs[w->next - w->base->first_numbers[w->shard]], key);
    code = column_packed(w, sheaf_packer_append(w->packer, &sample), err);
    if (code != SHEAF_OK)
        return code;
    w->facts.missing += count == 0;
    w->open_bytes += bytes;
    w->open_samples++;
    w->next++;
    return w->part == NULL ? SHEAF_OK : column_part_appended(w, err);
}

/* ---- The end --------------------------------------------------------------------------------- */

static int column_write_take_result(struct sheaf_column_writer *w,
                                    const struct sheaf_pack_result *packed, struct sheaf_error *err)
{
    struct sheaf_column_result *r = &w->result;
    struct manifest manifest;
    int code = SHEAF_OK;

    /* An earlier run has finished the column. */
    if (sheaf_packer_is_there(w->packer) && w->part == NULL) {
        code = destination_read_manifest(w->url, &manifest, err);
        if (code == SHEAF_OK) {
            code = column_facts_read(&manifest, &w->facts, err);
            manifest_clear(&manifest);
        }
    }
    r->samples = packed->samples;
    r->missing = w->facts.missing;
    r->with_values = r->samples - r->missing;
    r->values = packed->files_packed != 0 ? packed->files_packed : packed->files;
    r->payload_bytes = packed->payload_bytes;
    r->stored_bytes = packed->stored_bytes;
    r->shards = packed->shards;
    r->shards_kept = packed->shards_kept;
    r->memory_peak_bytes = packed->memory_peak_bytes;
    /* An earlier run has published the layer. */
    if (w->part != NULL && sheaf_packer_is_there(w->packer))
        *r = (struct sheaf_column_result){ .samples = 0 };
    if (w->part != NULL)
        r->shards_kept = w->part->kept;
    return code;
}

int sheaf_column_finish(struct sheaf_column_writer *w, struct sheaf_column_result *result,
                        struct sheaf_error *err)
{
    struct sheaf_pack_result packed;
    int code = SHEAF_OK;

    if (w->next != w->end)
        return err_set(err, SHEAF_ERR_STATE, "%s: the column has values for samples up to %" PRIu64
                       " of %" PRIu64, w->base->url, w->next, w->end);
    if (w->packer != NULL && !w->is_finished) {
        if (w->part == NULL)
            code = column_write_cut(w, (uint32_t)w->base->manifest.shard_count, err);
        if (code == SHEAF_OK)
            code = column_packed(w, sheaf_packer_finish(w->packer, &packed), err);
        if (code == SHEAF_OK)
            code = column_write_take_result(w, &packed, err);
    }
    w->is_finished = code == SHEAF_OK;
    if (result != NULL)
        *result = w->result;
    return code;
}
