/* SPDX-License-Identifier: MIT
 *
 * A data set in memory: its manifest, or the facts that were detected about foreign shards. It does
 * not change after it was opened (except its cache), so readers share it without locks.
 *
 * Several data sets that are opened together become one data set, a UNION. Its shards are the
 * shards of its sources, in order. Shard numbers and sample numbers of a union count through all
 * sources. For example, if source 0 has three shards and source 1 has two, shard 3 of the union is
 * the first shard of source 1. The container, codec, index and classes of a shard are those of its
 * source. */
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

/* A position in a foreign shard at which the scan of headers found damage. The samples lost there
 * are not included in any count. */
struct damage {
    uint32_t shard;
    struct sheaf_error error;
};

/* The base struct of an object that is freed together with the data set. It must be the first
 * member of the object (see shard_pool.c). */
struct dataset_cache {
    void (*release)(struct dataset_cache *cache);
};

struct sheaf_dataset {
    char *url;                          /* the first source, as given, without secrets */
    bool has_manifest;
    bool is_remote;                     /* its shards are read in many pieces at once */
    /* the cache with which the data set was opened offline; NULL if its servers may be asked */
    char *offline;
    /* if the shards are on a network file system: number of bytes that one read should have at
     * least; 0 if they are on a local disk or in a remote store (S3, HTTP) */
    size_t read_bytes;
    /* whether the shards can only be read from start to end, so that counts are unknown */
    bool is_stream;
    const struct format_ops *format;    /* in a union: of its first source */
    /* codec of the shards, or NULL; for a union, the codec of a source that has one */
    const struct codec_ops *codec;
    /* For foreign shards: their known names and sizes. For a union: its shards, classes and
     * fingerprint. */
    struct manifest manifest;
    char *manifest_json;                /* or NULL */
    struct manifest_images images;      /* of the manifest */
    /* number of files that packing left out, according to the manifest */
    uint64_t skipped;
    /* number of values in JSON arrays that packing could not store as fields, according to the
     * manifest */
    uint64_t left_out_values;
    /* number of samples whose field `cls` did not consist of numbers when they were packed,
     * according to the manifest */
    uint64_t cls_words;
    struct dataset_part *parts;         /* each with an index and a table of keys; */
    size_t part_count;                  /* 0 without a manifest, and in a union */
    /* whether the data set may have tables of keys; data sets of older releases have none */
    bool has_keys;
    char **urls;                        /* of the shards; may contain secrets */
    uint64_t *samples;                  /* of each shard, manifest order */
    uint64_t *first_numbers;            /* shard_count + 1: number of each shard's first sample */
    struct text *stems;                 /* of each shard, for made-up keys (formats/stems.h) */
    struct index_section **sections;    /* foreign shards that were scanned; else NULL */
    struct damage *damages;
    size_t damage_count;
    /* for tars that were scanned: number of members that belong to no sample */
    uint64_t passed_over;
    uint64_t lost_bytes;                /* bytes after damage that were lost, in scanned shards */
    /* Number of samples whose key an earlier sample also has. If shards were scanned, the
     * earlier sample is in the same shard; if the data set was indexed, it may be in any shard. */
    uint64_t repeated_keys;
    char *repeated_key;                 /* the first repeated key; NULL if unknown */
    /* for foreign tars: whether all files with the same key form one sample, even if they are not
     * adjacent */
    bool joins;
    /* number of samples whose files were joined to an earlier sample with the same key */
    uint64_t joined;
    /* the pipes of a channel, one for each epoch; NULL if the data set is not such a channel */
    struct pipe_source *pipes;
    uint64_t total_bytes, total_payload;
    _Atomic(struct dataset_cache *) cache;  /* for random access; NULL before the first call */
    _Atomic(struct dataset_cache *) columns;        /* that random access has opened; or NULL */
    struct dataset_view *view;          /* if it is a view (view/view.h); else NULL */
    void (*free_view)(struct dataset_view *view);
    /* For a data set whose shards a platform has divided among hosts (see modes/host_shards.h): the
     * number of this host and the number of hosts. */
    uint32_t host, hosts;               /* 0 of 0: the data set is whole */
    size_t all_shards;                  /* number of shards of all hosts */
    /* number of samples that each host has in an epoch if hosts with fewer samples repeat some
     * (`host_pad`), or if hosts with more samples leave some out (`host_drop`) */
    uint64_t host_pad, host_drop;
    /* A union's. */
    struct sheaf_dataset **sources;     /* the sources of a union; else NULL */
    size_t source_count;
    uint32_t *source_of;                /* of each shard */
    /* whether a sample's class name is taken from `manifest`, by the sample's label, and not from
     * the sample itself */
    bool renames_classes;
    /* A source's. */
    uint32_t first_shard, end_shard;    /* its shards in the union */
    /* range of the source's sample numbers in the union; also set if the data set is not in a
     * union */
    uint64_t first_number, end_number;
    /* index of the source's first part (see parts.h), counting the parts of all sources from 0 */
    size_t first_part;
    uint32_t *class_map;                /* new labels (see classes.h); NULL if they stay */
    size_t class_map_count;             /* number of labels in class_map */
    int class_map_first;                /* the first label in class_map */
    bool class_rest_stays;              /* labels outside class_map stay */
    const struct sheaf_dataset *same_as;    /* an earlier source with the same samples; or NULL */
    uint64_t chosen;                    /* in a view: number of the source's chosen samples */
    double share;                       /* in a view: share of these samples in an epoch */
    /* in a view: weight in the first stage; 0 without weights */
    uint64_t weight;
    /* in a view: number of chosen samples that an earlier source has also chosen */
    uint64_t shared;
    /* in a view: the fields that its samples keep; NULL if all */
    char *const *fields;
    size_t field_count;
};

static inline uint64_t dataset_samples(const struct sheaf_dataset *d)
{
    return d->first_numbers[d->manifest.shard_count];
}

/* Checks that a section of the index (the index of one shard) belongs to the manifest with which
 * the data set was opened. Returns SHEAF_ERR_CHANGED if another data set has replaced it since
 * then. */
int dataset_check_section(const struct sheaf_dataset *d, uint32_t shard, const uint8_t *section,
                          struct sheaf_error *err);

/* Returns whether the shards are files on this machine's disks. Such files are read quickly, and
 * the kernel caches them. */
static inline bool dataset_is_local(const struct sheaf_dataset *d)
{
    return !d->is_stream && !d->is_remote && d->read_bytes == 0;
}

/* Returns the source to which a shard belongs. For a data set that is not a union, returns the data
 * set itself. */
static inline const struct sheaf_dataset *dataset_source(const struct sheaf_dataset *d,
                                                         uint32_t shard)
{
    return d->sources == NULL ? d : d->sources[d->source_of[shard]];
}

/* Returns the number of sources, which is 1 if the data set is not a union. */
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
 * that wrote shards of it (see parts.h). */
static inline const struct dataset_part *dataset_part(const struct sheaf_dataset *d, uint32_t shard)
{
    const struct sheaf_dataset *source = dataset_source(d, shard);

    return &source->parts[part_of_shard(source->parts, source->part_count,
                                        &d->manifest.shards[shard])];
}

/* Returns the index of the source's first part (see parts.h) among the parts of all sources of `d`.
 * Field first_part counts the parts of the outermost union, which `d` may itself be a source of. So
 * the first_part of the first source of `d` is subtracted. */
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

/* Returns the name of a shard for messages. */
static inline const char *dataset_shown(const struct sheaf_dataset *d, uint32_t shard)
{
    return dataset_source(d, shard)->has_manifest || d->pipes != NULL
           ? d->urls[shard] : d->manifest.shards[shard].name;
}

/* Returns whether the last component of `source` is the file name that every manifest has. */
bool dataset_is_manifest_path(const char *source);
/* Opens the source as a data set if it has a manifest. Otherwise sets *dataset to NULL and returns
 * SHEAF_OK. */
int dataset_open_manifest(const char *source, struct sheaf_dataset **dataset,
                          struct sheaf_error *err);
/* Opens the data set in a directory with a single request. Returns SHEAF_ERR_NOT_FOUND if the
 * directory has no manifest. Does not check whether a run is still writing the data set. */
int dataset_open_published(const char *source, struct sheaf_dataset **dataset,
                           struct sheaf_error *err);

/* Opens foreign shards. is_file[i] tells whether source i is a single file. If `joins` is set,
 * files with the same key become one sample even if they are not adjacent. Returns
 * SHEAF_ERR_UNSUPPORTED if `joins` is set and the shards can only be read forward. */
int dataset_open_files(const char *const *sources, const bool *is_file, size_t source_count,
                       bool joins, struct sheaf_dataset **dataset, struct sheaf_error *err);
/* Opens sources as foreign shards, even if there is a manifest beside them. */
int dataset_open_foreign(const char *const *sources, size_t source_count, bool joins,
                         struct sheaf_dataset **dataset, struct sheaf_error *err);

/* Opens a channel of pipes (Amazon SageMaker's Pipe mode) as a data set. If the channel reads an
 * augmented manifest, `attributes` has the names of its attributes, separated by commas; otherwise
 * it is "". `has_positions` must be set if each epoch brings the same samples in the same order, so
 * that a reader can resume at a position. */
int dataset_open_pipes(const struct pipe_source *source, const char *attributes,
                       bool has_positions, struct sheaf_dataset **dataset,
                       struct sheaf_error *err);

/* Returns SHEAF_ERR_NOT_FOUND if a packing run has not finished in the directory, whether it still
 * runs or was killed. The shards there do not form a data set yet, and must not be opened as
 * foreign shards. A run states in a file, its claim, that it packs into a directory. The claim of a
 * run that packs several splits is in the parent directory, so the function looks for a claim there
 * too. */
int dataset_refuse_unfinished(const char *directory, struct sheaf_error *err);
/* As dataset_refuse_unfinished, but looks only in the parent directory. */
int dataset_refuse_unfinished_split(const char *directory, struct sheaf_error *err);
/* Called after S3 has answered "access denied" for a name; `err` holds this error. If the program
 * has no permission to list the bucket, S3 gives this answer even for objects that do not exist. If
 * the directory can be listed and does not contain the name, the error becomes SHEAF_ERR_NOT_FOUND;
 * otherwise it stays. */
int dataset_look_again(const char *directory, const char *name, struct sheaf_error *err);

/* Changes the directory in which the shards are. Used after shards were removed from the
 * manifest. */
int dataset_move(struct sheaf_dataset *d, const char *directory, struct sheaf_error *err);

/* Computes the tables that follow from the shards in the manifest: the number of each shard's first
 * sample, the beginnings of made-up keys, and the totals. */
int dataset_make_tables(struct sheaf_dataset *d, struct sheaf_error *err);

/* Returns the length of an epoch, as a number of samples. This is the number of samples in the data
 * set. If the shards are divided among hosts, and the remainder is padded or dropped, it is the
 * number of samples that each host contributes. */
uint64_t dataset_places(const struct sheaf_dataset *d, const struct order *order);
struct order_lane dataset_lane(const struct sheaf_dataset *d, const struct order *order,
                               uint32_t lane);

/* Returns the shard that contains the sample with this number. The sample must exist. */
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
    /* an empty shard has the same first sample number as the next shard, so it is skipped */
    while (d->samples[low] == 0)
        low++;
    return low;
}

/* Returns the average number of stored bytes in this shard for `raw_bytes` uncompressed bytes. */
static inline uint64_t dataset_stored_bytes(const struct sheaf_dataset *d, uint32_t shard,
                                            uint64_t raw_bytes)
{
    const struct manifest_shard *m = &d->manifest.shards[shard];

    if (d->is_stream || dataset_source(d, shard)->codec == NULL || m->raw_bytes == 0)
        return raw_bytes;
    return (uint64_t)((double)raw_bytes * (double)m->bytes / (double)m->raw_bytes);
}

/* Returns the facts about a shard that decode() needs. Labels are still those of the shard's source
 * and not of the union. */
struct decode_context dataset_decode_context(const struct sheaf_dataset *d, uint32_t shard);

/* Replaces a decoded sample's label by the label of its class in the union. If a view gives classes
 * other names or numbers, the sample's class name is replaced as well. */
int dataset_renumber(const struct sheaf_dataset *d, struct decode_scratch *scratch,
                     struct sheaf_sample *sample, struct sheaf_error *err);

/* ---- reader/dataset_identity.c --------------------------------------------------------------- */

/* Makes a table of numbers, one for each source, from which the seeds of samples are computed
 * (ORDER.md, section 12). The numbers do not depend on how the samples are stored. So a copy of a
 * data set in another container has the same numbers. */
int dataset_seed_sources(const struct sheaf_dataset *d, uint64_t **ids, struct sheaf_error *err);
/* Returns the seed of a sample for the given epoch of its source. */
uint64_t dataset_sample_seed(const struct sheaf_dataset *d, const uint64_t *ids,
                             const struct sheaf_sample *sample, uint64_t seed,
                             uint64_t source_epoch);

/* ---- reader/dataset_info.c ------------------------------------------------------------------- */

/* Adds up the field and class counts of a union's sources. The counts stay unknown if
 * manifest.fields.is_unknown is set. */
int dataset_add_counts(struct sheaf_dataset *d, struct sheaf_error *err);
/* Returns counts of the images that packing changed. They come from the manifest, or are the sums
 * over the sources. */
struct manifest_images dataset_images(const struct sheaf_dataset *dataset);
/* Fills in the public description of a field. */
void dataset_describe_field(const struct tally_field *field, struct sheaf_field_info *info);
/* Marks the field and class counts as unknown. They are the counts of a whole data set, but `d` is
 * now only a part of it. */
void dataset_forget_counts(struct sheaf_dataset *d);

/* ---- reader/dataset_union.c ------------------------------------------------------------------ */

struct union_options {
    bool is_view;       /* the same data set may be there twice */
    bool by_number;     /* labels stay as they are, whatever the class names */
    /* classes to which a view gives other names or numbers; NULL if there are none */
    const struct view_class *classes;
    size_t class_count;
};

/* Makes one data set, a union, of several. Takes ownership of the sources, even on failure. */
int dataset_unite(struct sheaf_dataset **sources, size_t count,
                  const struct union_options *options, struct sheaf_dataset **dataset,
                  struct sheaf_error *err);

/* ---- reader/dataset_foreign.c ---------------------------------------------------------------- */

/* Returns whether a file with this name is usually found beside shards but is not a shard. */
bool foreign_is_side_file(const char *name);

/* Finds out which of the sources are single files, objects or pipes. The others are directories,
 * patterns or lists. */
int foreign_find_files(const char *const *sources, size_t source_count, bool *is_file,
                       struct sheaf_error *err);

/* Expands sources (see sheaf_dataset_open) to the URLs of their shards. The sources must not have a
 * manifest. The caller frees each URL and the array. */
int foreign_expand(const char *const *sources, const bool *is_file, size_t source_count,
                   char ***urls, size_t *count, struct sheaf_error *err);

/* Detects the container, codec and sizes of the shards in d->urls. Scans the headers of shards
 * where that is possible, and makes their index sections. */
int foreign_examine(struct sheaf_dataset *d, struct sheaf_error *err);

#endif
