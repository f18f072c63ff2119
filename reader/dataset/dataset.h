/* SPDX-License-Identifier: MIT
 *
 * A data set in memory. It has the content of the manifest. For foreign shards (shards without a
 * manifest), it has the facts that were detected instead. A data set does not change after it is
 * opened, except for its cache. So several readers can share it without locks.
 *
 * Several data sets that are opened together become one data set, a UNION. They are the SOURCES of
 * the union. The union has the shards of all sources, in order. Shards and samples are numbered
 * through all sources. For example, if source 0 has three shards and source 1 has two, shard 3 of
 * the union is the first shard of source 1. A shard keeps the container, codec, index and classes
 * of its source. */
#ifndef READER_DATASET_H
#define READER_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>

#include "formats/codec.h"
#include "formats/format.h"
#include "formats/index.h"
#include "formats/manifest.h"
#include "formats/view.h"
#include "reader/dataset/classes.h"
#include "reader/order/order.h"
#include "reader/dataset/parts.h"
#include "reader/dataset/pipe.h"

/* Damage that was found in a foreign shard (a shard without a manifest) when its headers were
 * scanned. All counts of samples leave out the samples that were lost through the damage. */
struct damage {
    uint32_t shard;
    struct sheaf_error error;
};

/* An object that is freed when the data set is freed. This struct must be the first member of the
 * object's struct (see shard_pool.c). */
struct dataset_cache {
    void (*release)(struct dataset_cache *cache);
};

struct sheaf_dataset {
    /* URL of the first source, as the caller gave it, without passwords */
    char *url;
    bool has_manifest;
    /* URL, without passwords, of a directory that has an index of Sheaf, but no manifest. Its
     * shards are read as foreign shards. NULL if there is no such directory. */
    char *lost_manifest;
    /* true if the shards are in a remote store, such as S3 */
    bool is_remote;
    /* Directory of the cache, if the data set was opened offline, that is, from a cache on this
     * machine and without its servers. Otherwise NULL. */
    char *offline;
    /* If the shards are on a network file system: smallest number of bytes to read at once, because
     * each read takes a round trip. 0 if the shards are on a local disk or in a remote store (S3,
     * HTTP). */
    size_t read_bytes;
    /* True if the shards can only be read from start to end. The numbers of their samples are then
     * unknown. */
    bool is_stream;
    /* container of the shards; in a union of several data sets: the container of the first of them
     */
    const struct format_ops *format;
    /* Codec of the shards, or NULL if they are not compressed. In a union (a data set made of
     * several data sets), some sources may be compressed and others not. The field is then the
     * codec of one of the compressed sources. */
    const struct codec_ops *codec;
    /* The content of the manifest. For foreign shards, which have no manifest, it has the names and
     * sizes that are known. For a union (a data set made of several data sets), it has the shards,
     * the classes and the fingerprint of the union. */
    struct manifest manifest;
    char *manifest_json;                /* text of the manifest; NULL if there is none */
    struct manifest_images images;      /* numbers of changed images, as stated in the manifest */
    /* number of files that were not packed, as stated in the manifest */
    uint64_t skipped;
    /* number of values in JSON arrays that were not packed because they could not become fields, as
     * stated in the manifest */
    uint64_t left_out_values;
    /* number of samples whose field `cls` contained a word and not only numbers when they were
     * packed, as stated in the manifest */
    uint64_t cls_words;
    /* Parts of the data set: one for each run that has written shards to it. Each part has an index
     * and a table of keys. */
    struct dataset_part *parts;
    /* number of parts; 0 if there is no manifest, or if the data set is a union of several data
     * sets */
    size_t part_count;
    /* True if the data set has a manifest. Only then can it have tables of keys, which are needed
     * to find samples by key. */
    bool has_keys;
    char **urls;                        /* URLs of the shards, which may contain passwords */
    /* number of samples in each shard, in the order of the manifest */
    uint64_t *samples;
    /* Number of the first sample of each shard. The array has one more element at its end, the
     * number of all samples. */
    uint64_t *first_numbers;
    /* stem of each shard: the beginning of the keys that its records get if they have no key
     * themselves (formats/stems.h) */
    struct text *stems;
    /* Index section of each shard whose headers were scanned. (An index section has the positions
     * of a shard's samples.) Only foreign shards are scanned. For other shards, the pointer is
     * NULL. `sections` itself is NULL if the data set has no foreign shards. */
    struct index_section **sections;
    struct damage *damages;
    size_t damage_count;
    /* number of files in scanned tars that do not belong to a sample */
    uint64_t passed_over;
    uint64_t lost_bytes;                /* bytes after damage that were lost, in scanned shards */
    /* Number of samples that have the same key as an earlier sample. Without a manifest, only
     * samples of the same shard were compared. If the number is from a manifest, the samples of all
     * shards were compared. */
    uint64_t repeated_keys;
    char *repeated_key;                 /* the first repeated key; NULL if unknown */
    /* For foreign tars (shards without a manifest): true if all files of a shard with the same key
     * form one sample, even if other files lie between them. */
    bool joins;
    /* Number of groups of adjacent files that became part of an earlier sample, because they have
     * the key of this sample. 0 if `joins` is false. */
    uint64_t joined;
    /* The source of the pipes, if the data set is a channel of pipes (Amazon SageMaker's Pipe
     * mode). Otherwise NULL. */
    struct pipe_source *pipes;
    uint64_t total_bytes, total_payload;
    /* cache for random access; NULL before the first call */
    _Atomic(struct dataset_cache *) cache;
    /* columns that random access has opened; NULL if it has not opened columns yet */
    _Atomic(struct dataset_cache *) columns;
    /* the view, if the data set is a view (view/view.h); otherwise NULL */
    struct dataset_view *view;
    void (*free_view)(struct dataset_view *view);
    /* Number of this host, and number of hosts, if a platform has divided the shards among several
     * hosts (see modes/host_shards.h). Both are 0 if the data set has all shards. */
    uint32_t host, hosts;               /* 0 of 0: the data set is whole */
    size_t all_shards;                  /* number of shards of all hosts */
    /* If a platform has divided the shards among hosts, the hosts may have different numbers of
     * samples. But all hosts must read the same number of samples in an epoch.
     *
     * If the option `remainder` is `pad`, this number is host_pad, and hosts with fewer samples
     * repeat some samples. If the option is `drop`, this number is host_drop, and hosts with more
     * samples leave some out. dataset_places rounds the number to a multiple of the number of
     * lanes. */
    uint64_t host_pad, host_drop;
    /* The following fields are set in a union. A union is one data set made of several data sets,
     * its sources. */
    /* the sources; NULL if the data set is not a union */
    struct sheaf_dataset **sources;
    size_t source_count;
    uint32_t *source_of;                /* for each shard: index of its source */
    /* True if the class name of a sample is taken from the `manifest` of this struct, which
     * describes all sources together. False if each sample keeps the class name that is stored with
     * it. */
    bool renames_classes;
    /* The following fields are set in each source of a union (a data set made of several
     * sources). */
    /* In the union, the shards of this source have the numbers `first_shard` to `end_shard` - 1. */
    uint32_t first_shard, end_shard;
    /* Range of this source's sample numbers in the union (a data set made of several sources), from
     * `first_number` to `end_number` - 1. Also set if the data set is not part of a union. */
    uint64_t first_number, end_number;
    /* Number of parts in all earlier sources of the union, a data set made of several sources.
     * (Each run that has written shards to a source has made one part; see parts.h.) */
    size_t first_part;
    /* map from old to new labels (see classes.h); NULL if labels do not change */
    uint32_t *class_map;
    size_t class_map_count;             /* number of labels in class_map */
    int class_map_first;                /* the first label in class_map */
    /* true if a label that is not in class_map is allowed and stays the same; false if such a label
     * is an error */
    bool class_rest_stays;
    /* an earlier source that has the same samples, for example because one source was converted
     * from the other; NULL if no earlier source has the same samples */
    const struct sheaf_dataset *same_as;
    /* number of samples that the view has chosen from this source; not used if the source is not in
     * a view */
    uint64_t chosen;
    /* in a view (a mix of data sets): the part of an epoch's samples that is drawn from this
     * source, from 0 to 1 */
    double share;
    /* Weight of this source in a view (a mix of data sets). If the weights change during a training
     * run, it is the first weight. 0 if the view has no weights. */
    uint64_t weight;
    /* in a view (a mix of data sets): number of samples that the view has chosen from this source
     * and also from an earlier source */
    uint64_t shared;
    /* in a view (a mix of data sets): names of the fields that the samples of this source keep;
     * NULL if they keep all fields */
    char *const *fields;
    size_t field_count;
};

static inline uint64_t dataset_samples(const struct sheaf_dataset *d)
{
    return d->first_numbers[d->manifest.shard_count];
}

/* Checks that an index section (the index of one shard) has the hash that the manifest in memory
 * states for it. Returns SHEAF_ERR_CHANGED if it has another hash. In this case, the data set was
 * replaced after it was opened. */
int dataset_check_section(const struct sheaf_dataset *d, uint32_t shard, const uint8_t *section,
                          struct sheaf_error *err);

/* Returns true if the shards are files on a local disk. Reads of such files are fast, and the
 * kernel caches their content. */
static inline bool dataset_is_local(const struct sheaf_dataset *d)
{
    return !d->is_stream && !d->is_remote && d->read_bytes == 0;
}

/* Returns the source of the union `d` (a data set made of several sources) to which the shard
 * belongs. Returns `d` itself if it is not a union. */
static inline const struct sheaf_dataset *dataset_source(const struct sheaf_dataset *d,
                                                         uint32_t shard)
{
    return d->sources == NULL ? d : d->sources[d->source_of[shard]];
}

/* Returns the number of sources of the union `d`, or 1 if `d` is not a union. */
static inline size_t dataset_source_count(const struct sheaf_dataset *d)
{
    return d->sources == NULL ? 1 : d->source_count;
}

static inline size_t dataset_source_of(const struct sheaf_dataset *d, uint32_t shard)
{
    return d->sources == NULL ? 0 : d->source_of[shard];
}

static inline const struct sheaf_dataset *dataset_source_at(const struct sheaf_dataset *d, size_t i)
{
    return d->sources == NULL ? d : d->sources[i];
}

/* Returns the part of the data set that contains this shard. A data set has one part for each run
 * that has written shards to it (see parts.h). */
static inline const struct dataset_part *dataset_part(const struct sheaf_dataset *d, uint32_t shard)
{
    const struct sheaf_dataset *source = dataset_source(d, shard);

    return &source->parts[part_of_shard(source->parts, source->part_count,
                                        &d->manifest.shards[shard])];
}

/* Each run that has written shards to a source has made one part (parts.h). The parts of all
 * sources of `d` are numbered together. Returns the number of the first part of `source`.
 *
 * If `d` is itself a source of a larger union, source->first_part counts from the first source of
 * the larger union. So the number of parts before `d` is subtracted. */
static inline size_t dataset_first_part(const struct sheaf_dataset *d,
                                        const struct sheaf_dataset *source)
{
    return source->first_part - dataset_source_at(d, 0)->first_part;
}

/* Returns the number of parts of all sources. */
static inline size_t dataset_part_total(const struct sheaf_dataset *d)
{
    const struct sheaf_dataset *last = dataset_source_at(d, dataset_source_count(d) - 1);

    return dataset_first_part(d, last) + last->part_count;
}

/* Returns the name of a shard as it is shown in messages. */
static inline const char *dataset_shown(const struct sheaf_dataset *d, uint32_t shard)
{
    return dataset_source(d, shard)->has_manifest || d->pipes != NULL
           ? d->urls[shard] : d->manifest.shards[shard].name;
}

/* Returns true if the last component of the path `source` is the file name of a manifest. */
bool dataset_is_manifest_path(const char *source);
/* Opens a source as a data set if it has a manifest. If the source does not have a manifest, sets
 * *dataset to NULL and returns SHEAF_OK. */
int dataset_open_manifest(const char *source, struct sheaf_dataset **dataset,
                          struct sheaf_error *err);
/* Opens the data set in a directory by reading its manifest, which takes one request. Returns
 * SHEAF_ERR_NOT_FOUND if there is no manifest. Unlike dataset_open_manifest, does not look for an
 * unfinished packing run. */
int dataset_open_published(const char *source, struct sheaf_dataset **dataset,
                           struct sheaf_error *err);

/* Opens foreign shards (shards without a manifest) as a data set. is_file[i] is true if source i is
 * a single file. If `joins` is set, files of a tar with the same key become one sample, even if
 * other files lie between them. This is not possible if a shard can only be read from start to end;
 * the function then returns SHEAF_ERR_UNSUPPORTED. */
int dataset_open_files(const char *const *sources, const bool *is_file, size_t source_count,
                       bool joins, struct sheaf_dataset **dataset, struct sheaf_error *err);
/* Opens sources as foreign shards (shards without a manifest). A manifest is ignored, even if there
 * is one in the same directory. */
int dataset_open_foreign(const char *const *sources, size_t source_count, bool joins,
                         struct sheaf_dataset **dataset, struct sheaf_error *err);

/* Opens a channel of pipes (Amazon SageMaker's Pipe mode) as a data set.
 *
 * If the channel reads an augmented manifest, `attributes` is a list of the names of its
 * attributes, separated by commas. Otherwise it is "". `has_positions` must be true if each epoch
 * brings the same samples in the same order. Only then can a reader resume at a saved position. */
int dataset_open_pipes(const struct pipe_source *source, const char *attributes,
                       bool has_positions, struct sheaf_dataset **dataset,
                       struct sheaf_error *err);

/* Sets the directory of the shards to `directory`, and computes the tables again
 * (dataset_make_tables). Called if the manifest is not in the directory of the shards. Before the
 * call, shards that are not on this host must have been removed from the manifest. */
int dataset_move(struct sheaf_dataset *d, const char *directory, struct sheaf_error *err);

/* Computes tables from the list of shards in the manifest: the number of the first sample in each
 * shard, the beginnings of the keys for records without a key, and the totals. */
int dataset_make_tables(struct sheaf_dataset *d, struct sheaf_error *err);

/* Returns the number of samples that this host reads in an epoch. Usually this is the number of
 * samples in the data set.
 *
 * If a platform has divided the shards among hosts, all hosts must read the same number. This
 * number must be a multiple of the number of lanes, the equal sequences of an epoch. If the option
 * `remainder` is `pad`, the number is host_pad, rounded up to a multiple. If the option is `drop`,
 * the number is host_drop, rounded down to a multiple. */
uint64_t dataset_places(const struct sheaf_dataset *d, const struct order *order);
struct order_lane dataset_lane(const struct sheaf_dataset *d, const struct order *order,
                               uint32_t lane);

/* Returns the number of the shard that contains sample `number`. The sample must exist. */
static inline uint32_t dataset_shard_of(const struct sheaf_dataset *d, uint64_t number)
{
    uint32_t low = 0, high = (uint32_t)d->manifest.shard_count;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (d->first_numbers[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    /* An empty shard has the same first number as the shard after it, so the search may have found
     * an empty shard. */
    while (d->samples[low] == 0)
        low++;
    return low;
}

/* Estimates the stored (compressed) size of `raw_bytes` uncompressed bytes of this shard, from the
 * mean compression ratio of the shard. */
static inline uint64_t dataset_stored_bytes(const struct sheaf_dataset *d, uint32_t shard,
                                            uint64_t raw_bytes)
{
    const struct manifest_shard *m = &d->manifest.shards[shard];

    if (d->is_stream || dataset_source(d, shard)->codec == NULL || m->raw_bytes == 0)
        return raw_bytes;
    return (uint64_t)((double)raw_bytes * (double)m->bytes / (double)m->raw_bytes);
}

/* Returns the facts about a shard that format_ops.decode needs. A sample that is decoded with these
 * facts has the label that its own source states. dataset_renumber then replaces this label by the
 * label of the union (the data set made of several sources). */
struct decode_context dataset_decode_context(const struct sheaf_dataset *d, uint32_t shard);

/* Replaces the label of a decoded sample by the label that its class has in the union (the data set
 * made of several sources). If a view gives the classes other names or numbers, the class name of
 * the sample is replaced as well. */
int dataset_renumber(const struct sheaf_dataset *d, struct decode_scratch *scratch,
                     struct sheaf_sample *sample, struct sheaf_error *err);

/* ---- reader/dataset_identity.c --------------------------------------------------------------- */

/* Makes an array with one number for each source of the data set. The seeds of samples are computed
 * from these numbers (ORDER.md, section 12). The numbers do not depend on how samples are stored,
 * so a copy of a data set in another container has the same numbers. The caller must free *ids. */
int dataset_seed_sources(const struct sheaf_dataset *d, uint64_t **ids, struct sheaf_error *err);
/* Returns the seed of a sample. `source_epoch` is the number of the epoch of the sample's source.
 */
uint64_t dataset_sample_seed(const struct sheaf_dataset *d, const uint64_t *ids,
                             const struct sheaf_sample *sample, uint64_t seed,
                             uint64_t source_epoch);

/* ---- reader/dataset_info.c ------------------------------------------------------------------- */

/* Adds up the counts of fields and classes of all sources of a union (a data set made of several
 * sources). If the counts of a source are unknown, sets manifest.fields.is_unknown, because the
 * counts of the union are then unknown as well. */
int dataset_add_counts(struct sheaf_dataset *d, struct sheaf_error *err);
/* Returns the numbers of images that packing has changed, as stated in the manifest. For a union (a
 * data set made of several sources), returns the sums over its sources. */
struct manifest_images dataset_images(const struct sheaf_dataset *dataset);
/* Fills in the public description of a field. */
void dataset_describe_field(const struct tally_field *field, struct sheaf_field_info *info);
/* Marks the counts of fields and classes as unknown. Called if shards are removed from `d`, for
 * example because they are on other hosts. The counts of the manifest were made for all shards. */
void dataset_forget_counts(struct sheaf_dataset *d);

/* ---- reader/dataset_unfinished.c ------------------------------------------------------------- */

/* Returns an error if a packing run has not finished in the directory. The shards of such a run do
 * not form a data set yet, and must not be opened as foreign shards.
 *
 * A run states in a file, its claim, that it packs into a directory. The claim remains if the run
 * is killed. If a run packs several splits, each into a subdirectory, its claim is in their parent
 * directory. So the function looks for a claim in `directory` and in its parent directory. Returns
 * SHEAF_ERR_NOT_FOUND if an unfinished run was found. */
int dataset_refuse_unfinished(const char *directory, struct sheaf_error *err);
/* Does the same as dataset_refuse_unfinished, for a directory that has no manifest. */
int dataset_refuse_claim(const char *directory, struct sheaf_error *err);
/* Does the same as dataset_refuse_unfinished, but searches only the parent directory. */
int dataset_refuse_unfinished_split(const char *directory, struct sheaf_error *err);
/* Finds out whether an object exists, after S3 has answered "access denied" for it. S3 gives the
 * same answer for objects that do not exist, if the program may not list the bucket. `err` must
 * hold the error of S3.
 *
 * Lists `directory`. Returns SHEAF_ERR_ACCESS if the object `name` is in the directory. Returns
 * SHEAF_ERR_NOT_FOUND if the object is not there, or if listing is denied. Returns other errors of
 * listing unchanged. */
int dataset_look_again(const char *directory, const char *name, struct sheaf_error *err);

/* ---- reader/dataset_union.c ------------------------------------------------------------------ */

struct union_options {
    /* true for a view (a mix of data sets), in which the same data set may occur twice */
    bool is_view;
    /* true if the classes of the sources are merged by their labels, and not by their names; labels
     * then stay the same */
    bool by_number;
    /* classes to which a view (a mix of data sets) gives other names or numbers; NULL if the view
     * does not change classes */
    const struct view_class *classes;
    size_t class_count;
};

/* Makes one data set, a union, of several data sets (its sources). The union frees its sources. The
 * sources are also freed if the function fails. */
int dataset_unite(struct sheaf_dataset **sources, size_t count,
                  const struct union_options *options, struct sheaf_dataset **dataset,
                  struct sheaf_error *err);

/* ---- reader/dataset_foreign.c ---------------------------------------------------------------- */

/* Sets is_file[i] to true if source i is a single file, object or pipe. Sets is_file[i] to false if
 * source i is a directory, a pattern (such as "train-*.tar") or a list of paths. */
int foreign_find_files(const char *const *sources, size_t source_count, bool *is_file,
                       struct sheaf_error *err);

/* Sets d->urls to a list of the URLs of all shards that the sources name, and d->lost_manifest. A
 * source may be a file, a directory or a pattern (see sheaf_dataset_open). No source may have a
 * manifest. */
int foreign_expand(struct sheaf_dataset *d, const char *const *sources, const bool *is_file,
                   size_t source_count, size_t *count, struct sheaf_error *err);

/* Detects the container, the codec and the sizes of the shards in d->urls. Scans the headers of the
 * shards if possible, and makes an index section for each scanned shard. */
int foreign_examine(struct sheaf_dataset *d, struct sheaf_error *err);

#endif
