/* SPDX-License-Identifier: MIT
 *
 * A data set in memory: its manifest, or what was detected about foreign shards. It does not change
 * after it was opened (except its cache), so readers share it without locks.
 *
 * Several data sets that are opened together become one data set, a UNION. Its shards are those of
 * its sources, in order. The container, codec, index and classes of a shard are those of its
 * source:
 *
 *     union     shard 0   1   2 | 3   4 | 5   6        one row of shards, samples and numbers
 *     source            0       |   1   |   2          each with a manifest of its own */
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

/* A place in a foreign shard where the header scan found damage. The samples lost at this place are
 * not included in any count. */
struct damage {
    uint32_t shard;
    struct sheaf_error error;
};

/* The base of an object that is freed with the data set. It is the first member of that object
 * (shard_pool.c). */
struct dataset_cache {
    void (*release)(struct dataset_cache *cache);
};

struct sheaf_dataset {
    char *url;                          /* the first source, as given, without secrets */
    bool has_manifest;
    bool is_remote;                     /* its shards are read in many pieces at once */
    size_t read_bytes;                  /* size of a read on a network file system; 0 if local or
                                           remote */
    bool is_stream;                     /* counts are unknown, and shards are read from start to
                                           end */
    const struct format_ops *format;    /* in a union: of its first source */
    const struct codec_ops *codec;      /* codec of the shards, or NULL; in a union, the codec of
                                           any source that has one */
    struct manifest manifest;           /* foreign shards: the known names and sizes; a union:
                                           shards, classes, fingerprint */
    char *manifest_json;                /* or NULL */
    struct manifest_images images;      /* of the manifest */
    uint64_t skipped;                   /* from the manifest: number of files that packing left
                                           out */
    uint64_t left_out_values;           /* from the manifest: number of values of lists that
                                           could not become fields */
    struct dataset_part *parts;         /* each with an index and a table of keys; */
    size_t part_count;                  /* 0 without a manifest, and in a union */
    bool has_keys;                      /* may have tables of keys; older data sets have none */
    char **urls;                        /* of the shards; may contain secrets */
    uint64_t *samples;                  /* of each shard, manifest order */
    uint64_t *first_numbers;            /* shard_count + 1: number of each shard's first sample */
    struct text *stems;                 /* of each shard, for made-up keys (formats/stems.h) */
    struct index_section **sections;    /* foreign shards that were scanned; else NULL */
    struct damage *damages;
    size_t damage_count;
    uint64_t passed_over;               /* in scanned tars: number of members that belong to no
                                           sample */
    uint64_t lost_bytes;                /* bytes after damage that were lost, in scanned shards */
    uint64_t repeated_keys;             /* number of samples with the key of an earlier sample,
                                           which is in the same shard if that was scanned, or in
                                           the data set if that was indexed */
    char *repeated_key;                 /* the first repeated key; NULL if unknown */
    bool joins;                         /* in foreign tars, all files with the same key form one
                                           sample */
    uint64_t joined;                    /* number of samples whose files were added to an earlier
                                           sample */
    struct pipe_source *pipes;          /* the channel, which has one pipe for each epoch; else
                                           NULL */
    uint64_t total_bytes, total_payload;
    _Atomic(struct dataset_cache *) cache;  /* for random access; NULL before the first call */
    struct dataset_view *view;          /* if it is a view (view/view.h); else NULL */
    void (*free_view)(struct dataset_view *view);
    uint64_t epoch_samples;             /* of a view */
    /* For a data set whose shards a platform has divided among hosts (modes/host_shards.h): the
     * number of this host and the number of hosts. */
    uint32_t host, hosts;               /* 0 of 0: the data set is whole */
    size_t all_shards;                  /* number of shards of all hosts */
    uint64_t host_pad, host_drop;       /* number of samples of an epoch that every host can
                                           give: with repetitions, or with samples left out */
    /* A union's. */
    struct sheaf_dataset **sources;     /* the sources of a union; else NULL */
    size_t source_count;
    uint32_t *source_of;                /* of each shard */
    bool renames_classes;               /* the class name of a sample is taken from `manifest` by
                                           its label */
    /* A source's. */
    uint32_t first_shard, end_shard;    /* its shards in the union */
    uint64_t first_number, end_number;  /* range of the source's samples in the union; also set
                                           if it is not in a union */
    size_t first_part;                  /* number of the source's first part among the parts of
                                           all sources */
    uint32_t *class_map;                /* see classes.h; NULL if its labels stay; */
    size_t class_map_count;             /* of labels, */
    int class_map_first;                /* the first label in the map; */
    bool class_rest_stays;              /* labels outside the map stay */
    const struct sheaf_dataset *same_as;    /* an earlier source with the same samples; or NULL */
    uint64_t chosen;                    /* in a view: number of its chosen samples, */
    double share;                       /* their share of an epoch, */
    uint64_t weight;                    /* its weight in the first stage; 0 without weights, */
    uint64_t shared;                    /* number that an earlier source has also chosen, and */
    char *const *fields;                /* the fields that its samples keep; NULL: all */
    size_t field_count;
};

static inline uint64_t dataset_samples(const struct sheaf_dataset *d)
{
    return d->first_numbers[d->manifest.shard_count];
}

/* Checks that a section of the index belongs to the manifest that was read when the data set was
 * opened. Returns SHEAF_ERR_CHANGED if another data set has replaced it since then. */
int dataset_check_section(const struct sheaf_dataset *d, uint32_t shard, const uint8_t *section,
                          struct sheaf_error *err);

/* Returns whether the shards are files on this machine's disks, which are read quickly and cached
 * by the kernel. */
static inline bool dataset_is_local(const struct sheaf_dataset *d)
{
    return !d->is_stream && !d->is_remote && d->read_bytes == 0;
}

/* Returns the source that a shard belongs to. A data set that is not a union is its own source. */
static inline const struct sheaf_dataset *dataset_source(const struct sheaf_dataset *d,
                                                         uint32_t shard)
{
    return d->sources == NULL ? d : d->sources[d->source_of[shard]];
}

/* Returns the number of sources: 1 if the data set is not a union. */
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

/* Returns the part of the source whose index has the section of this shard. */
static inline const struct dataset_part *dataset_part(const struct sheaf_dataset *d, uint32_t shard)
{
    const struct sheaf_dataset *source = dataset_source(d, shard);

    return &source->parts[part_of_shard(source->parts, source->part_count,
                                        &d->manifest.shards[shard])];
}

/* Returns the number of a source's first part among the parts of all sources in `d`. The difference
 * is needed because `d` may be a single source of a union. */
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

/* Returns whether the source's name is that of a manifest. */
bool dataset_is_manifest_path(const char *source);
/* Opens the source if it has a manifest. Otherwise sets *dataset to NULL and returns SHEAF_OK. */
int dataset_open_manifest(const char *source, struct sheaf_dataset **dataset,
                          struct sheaf_error *err);
/* Opens the data set in a directory. Returns SHEAF_ERR_NOT_FOUND if it has no manifest, without
 * looking for a run that is still writing it. One request is enough. */
int dataset_open_published(const char *source, struct sheaf_dataset **dataset,
                           struct sheaf_error *err);

/* Opens foreign shards. is_file[i] says whether source i is a single file. `joins` is as in struct
 * sheaf_dataset; it returns SHEAF_ERR_UNSUPPORTED if the shards can only be read forward. */
int dataset_open_files(const char *const *sources, const bool *is_file, size_t source_count,
                       bool joins, struct sheaf_dataset **dataset, struct sheaf_error *err);
/* Opens foreign shards even if a manifest lies beside them. */
int dataset_open_foreign(const char *const *sources, size_t source_count, bool joins,
                         struct sheaf_dataset **dataset, struct sheaf_error *err);

/* Opens a channel of pipes. `attributes` is a list of attribute names, or "". Set `has_positions`
 * if each epoch brings the same samples in the same order. */
int dataset_open_pipes(const struct pipe_source *source, const char *attributes,
                       bool has_positions, struct sheaf_dataset **dataset,
                       struct sheaf_error *err);

/* Returns SHEAF_ERR_NOT_FOUND if the directory has an unfinished packing run, at work or killed.
 * Its shards are then not a data set yet, and must not be opened as foreign shards. Also looks for
 * the claim of a split, which lies in the parent directory. */
int dataset_refuse_unfinished(const char *directory, struct sheaf_error *err);
/* As dataset_refuse_unfinished, but looks only in the parent directory. */
int dataset_refuse_unfinished_split(const char *directory, struct sheaf_error *err);
/* Finds out what an S3 "access denied" means for a name. Without the right to list, S3 answers
 * "denied" for objects that do not exist. If the directory can be listed and does not have the
 * name, the result is SHEAF_ERR_NOT_FOUND; otherwise the error stays. `err` holds the "denied"
 * error. */
int dataset_look_again(const char *directory, const char *name, struct sheaf_error *err);

/* Changes the directory of the shards, after the manifest was reduced to some of its shards. */
int dataset_move(struct sheaf_dataset *d, const char *directory, struct sheaf_error *err);

/* Computes the tables that follow from the manifest's shards: numbers, stems and totals. */
int dataset_make_tables(struct sheaf_dataset *d, struct sheaf_error *err);

/* Returns the number of places on an epoch's line: the number of samples, or, if hosts share the
 * data set and the remainder is not kept, the number that each host gives. */
uint64_t dataset_places(const struct sheaf_dataset *d, const struct order *order);
struct order_lane dataset_lane(const struct sheaf_dataset *d, const struct order *order,
                               uint32_t lane);

/* Returns the shard that has the sample `number`, which must exist. */
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
    while (d->samples[low] == 0)        /* an empty shard begins with the same number as the next
                                           one */
        low++;
    return low;
}

/* Returns how many stored bytes a shard has for `raw_bytes` uncompressed bytes, on average. */
static inline uint64_t dataset_stored_bytes(const struct sheaf_dataset *d, uint32_t shard,
                                            uint64_t raw_bytes)
{
    const struct manifest_shard *m = &d->manifest.shards[shard];

    if (d->is_stream || dataset_source(d, shard)->codec == NULL || m->raw_bytes == 0)
        return raw_bytes;
    return (uint64_t)((double)raw_bytes * (double)m->bytes / (double)m->raw_bytes);
}

/* Returns what decode() must know about a shard. Labels are still those of its source. */
struct decode_context dataset_decode_context(const struct sheaf_dataset *d, uint32_t shard);

/* Changes a decoded sample's label to the label that its class has in the union. If a view gives
 * classes other names or numbers, the sample's class name changes as well. */
int dataset_renumber(const struct sheaf_dataset *d, struct decode_scratch *scratch,
                     struct sheaf_sample *sample, struct sheaf_error *err);

/* ---- reader/dataset_identity.c --------------------------------------------------------------- */

/* Makes a table of the numbers that stand for the sources in the seeds of samples (ORDER.md,
 * section 12). They do not depend on bytes, so a copy in another container has the same numbers. */
int dataset_seed_sources(const struct sheaf_dataset *d, uint64_t **ids, struct sheaf_error *err);
/* Returns the seed of a sample in the given epoch of its source. */
uint64_t dataset_sample_seed(const struct sheaf_dataset *d, const uint64_t *ids,
                             const struct sheaf_sample *sample, uint64_t seed,
                             uint64_t source_epoch);

/* ---- reader/dataset_info.c ------------------------------------------------------------------- */

/* Adds up the counts of a union's sources. They stay unknown if manifest.fields.is_unknown is
 * set. */
int dataset_add_counts(struct sheaf_dataset *d, struct sheaf_error *err);
/* Sets the counts to unknown, because they are those of a whole data set and `d` is a part of
 * it. */
struct manifest_images dataset_images(const struct sheaf_dataset *dataset);
/* Fills in the public description of a field. */
void dataset_describe_field(const struct tally_field *field, struct sheaf_field_info *info);
/* Marks the counts as unknown, because they are those of a whole data set and `d` is a part of
 * it. */
void dataset_forget_counts(struct sheaf_dataset *d);

/* ---- reader/dataset_union.c ------------------------------------------------------------------ */

struct union_options {
    bool is_view;       /* the same data set may be there twice */
    bool by_number;     /* labels stay as they are, whatever the class names */
    const struct view_class *classes;   /* the class names or numbers that a view changes; or
                                           NULL */
    size_t class_count;
};

/* Makes one data set of several. Takes ownership of the sources, even on failure. */
int dataset_unite(struct sheaf_dataset **sources, size_t count,
                  const struct union_options *options, struct sheaf_dataset **dataset,
                  struct sheaf_error *err);

/* ---- reader/dataset_foreign.c ---------------------------------------------------------------- */

/* Returns whether a file of this name is usually found beside shards and is not a shard. */
bool foreign_is_side_file(const char *name);

/* Finds out which of the sources are single files, objects or pipes. The others are directories,
 * patterns or lists. */
int foreign_find_files(const char *const *sources, size_t source_count, bool *is_file,
                       struct sheaf_error *err);

/* Expands sources (see sheaf_dataset_open) to the URLs of shards. No source may have a manifest.
 * The caller frees each URL and the array. */
int foreign_expand(const char *const *sources, const bool *is_file, size_t source_count,
                   char ***urls, size_t *count, struct sheaf_error *err);

/* Detects the container, codec and sizes of the shards in d->urls. Scans the headers where that is
 * possible, and fills in the sections. */
int foreign_examine(struct sheaf_dataset *d, struct sheaf_error *err);

#endif
