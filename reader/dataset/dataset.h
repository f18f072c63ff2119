/* SPDX-License-Identifier: MIT
 *
 * A data set in memory: its manifest, or what was detected about foreign shards.  It never changes
 * after opening (but for its cache), so readers share it without locks.
 *
 * Several that are opened together are one, a UNION: its shards are those of its sources, in
 * order, and what is said of a shard (container, codec, index, classes) is asked of its source:
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

/* A place in a foreign shard where the header scan found damage.  What it lost is in no count. */
struct damage {
    uint32_t shard;
    struct sheaf_error error;
};

/* What goes with a data set, the first member of whoever's it is (shard_pool.c). */
struct dataset_cache {
    void (*release)(struct dataset_cache *cache);
};

struct sheaf_dataset {
    char *url;                          /* the first source, as given but for secrets in it */
    bool has_manifest;
    bool is_remote;                     /* its shards are worth reading many pieces at once */
    size_t read_bytes;                  /* what a read should have, on a network file system;
                                           0: local, or remote */
    bool is_stream;                     /* counts are not known: shards are read through */
    const struct format_ops *format;    /* of a union: of its first source */
    const struct codec_ops *codec;      /* NULL: none; of a union: of any source that has one */
    struct manifest manifest;           /* of foreign shards: what is known (names, sizes); of a
                                           union: shards, classes, fingerprint */
    char *manifest_json;                /* or NULL */
    struct manifest_images images;      /* of the manifest */
    uint64_t skipped;                   /* of the manifest: files that packing left out */
    struct dataset_part *parts;         /* with an index and a table of keys each; */
    size_t part_count;                  /* 0 without a manifest, or a union */
    bool has_keys;                      /* tables of keys may be there; older ones lack them */
    char **urls;                        /* of the shards; may hold secrets */
    uint64_t *samples;                  /* of each shard, manifest order */
    uint64_t *first_numbers;            /* shard_count + 1: number of each shard's first sample */
    struct text *stems;                 /* of each shard, for made-up keys (formats/stems.h) */
    struct index_section **sections;    /* foreign shards that were scanned; else NULL */
    struct damage *damages;
    size_t damage_count;
    uint64_t passed_over;               /* members of the tars that were scanned: no sample's */
    uint64_t lost_bytes;                /* of the shards that were scanned, behind damage */
    uint64_t repeated_keys;             /* number of samples with the key of an earlier sample: of
                                           the shard, if that was scanned; of the data set, if it
                                           was indexed */
    char *repeated_key;                 /* the first such key; NULL if it is not known */
    bool joins;                         /* in foreign tars, files with one key are one sample */
    uint64_t joined;                    /* number of samples that were added to an earlier one */
    struct pipe_source *pipes;          /* it is a channel of pipes, one an epoch; else NULL */
    uint64_t total_bytes, total_payload;
    _Atomic(struct dataset_cache *) cache;  /* of random access; NULL before its first call */
    struct dataset_view *view;          /* it is a view (view/view.h); else NULL */
    void (*free_view)(struct dataset_view *view);
    uint64_t epoch_samples;             /* of a view */
    /* Of the shards that a platform has given to one host (modes/host_shards.h). */
    uint32_t host, hosts;               /* 0 of 0: the data set is whole */
    size_t all_shards;                  /* of all hosts */
    uint64_t host_pad, host_drop;       /* samples of an epoch that each host can give, by
                                           repeating some, or by leaving some out */
    /* A union's. */
    struct sheaf_dataset **sources;     /* whose shards are in the union's tables; else NULL */
    size_t source_count;
    uint32_t *source_of;                /* of each shard */
    bool renames_classes;               /* samples get the names of `manifest` for their labels */
    /* A source's. */
    uint32_t first_shard, end_shard;    /* in the union */
    uint64_t first_number, end_number;  /* its samples, in the union; also of one opened alone */
    size_t first_part;                  /* in the row of all sources' parts */
    uint32_t *class_map;                /* see classes.h; NULL: its labels stay; */
    size_t class_map_count;             /* of labels, */
    int class_map_first;                /* from this on; */
    bool class_rest_stays;              /* all other labels stay */
    const struct sheaf_dataset *same_as;    /* an earlier source with the same samples; or NULL */
    uint64_t chosen;                    /* in a view: how many of its samples, */
    double share;                       /* their part of an epoch, */
    uint64_t weight;                    /* of the first stage; 0: there are none, */
    uint64_t shared;                    /* how many an earlier source chose, too; and */
    char *const *fields;                /* those that its samples keep; NULL: all */
    size_t field_count;
};

static inline uint64_t dataset_samples(const struct sheaf_dataset *d)
{
    return d->first_numbers[d->manifest.shard_count];
}

/* Refuses a section of the index that is not the one that the manifest named when the data set was
 * opened: another data set has taken its place since then.  SHEAF_ERR_CHANGED. */
int dataset_check_section(const struct sheaf_dataset *d, uint32_t shard, const uint8_t *section,
                          struct sheaf_error *err);

/* Its shards are files of this machine's disks: to read them is quick, and what was read is kept
 * by the kernel. */
static inline bool dataset_is_local(const struct sheaf_dataset *d)
{
    return !d->is_stream && !d->is_remote && d->read_bytes == 0;
}

/* The source that a shard is of, which knows what it is. */
static inline const struct sheaf_dataset *dataset_source(const struct sheaf_dataset *d,
                                                         uint32_t shard)
{
    return d->sources == NULL ? d : d->sources[d->source_of[shard]];
}

/* The same by index, which is 0 in a data set that is no union; and how many there are. */
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

/* The part of its source that the index section of a shard is in. */
static inline const struct dataset_part *dataset_part(const struct sheaf_dataset *d, uint32_t shard)
{
    const struct sheaf_dataset *source = dataset_source(d, shard);

    return &source->parts[part_of_shard(source->parts, source->part_count,
                                        &d->manifest.shards[shard])];
}

/* Where the parts of a source begin in the row of those of all.  A source may have been read on its
 * own before others came before it. */
static inline size_t dataset_first_part(const struct sheaf_dataset *d,
                                        const struct sheaf_dataset *source)
{
    return source->first_part - dataset_source_at(d, 0)->first_part;
}

/* The parts of all sources. */
static inline size_t dataset_part_total(const struct sheaf_dataset *d)
{
    const struct sheaf_dataset *last = dataset_source_at(d, dataset_source_count(d) - 1);

    return dataset_first_part(d, last) + last->part_count;
}

/* The URL of a shard, for people. */
static inline const char *dataset_shown(const struct sheaf_dataset *d, uint32_t shard)
{
    return dataset_source(d, shard)->has_manifest || d->pipes != NULL
           ? d->urls[shard] : d->manifest.shards[shard].name;
}

/* Whether the source is a manifest by its name. */
bool dataset_is_manifest_path(const char *source);
/* Opens the source if it has a manifest; else *dataset is NULL. */
int dataset_open_manifest(const char *source, struct sheaf_dataset **dataset,
                          struct sheaf_error *err);

/* Opens foreign shards, of which it is known whether each is a file.  `joins`: as in struct
 * sheaf_dataset; SHEAF_ERR_UNSUPPORTED of what can only be read forward. */
int dataset_open_files(const char *const *sources, const bool *is_file, size_t source_count,
                       bool joins, struct sheaf_dataset **dataset, struct sheaf_error *err);
/* Opens foreign shards, also where a manifest lies beside them. */
int dataset_open_foreign(const char *const *sources, size_t source_count, bool joins,
                         struct sheaf_dataset **dataset, struct sheaf_error *err);

/* A channel of pipes.  attributes: a list of their names, or "".  has_positions: each epoch brings
 * the same samples in the same order. */
int dataset_open_pipes(const struct pipe_source *source, const char *attributes,
                       bool has_positions, struct sheaf_dataset **dataset,
                       struct sheaf_error *err);

/* SHEAF_ERR_NOT_FOUND for a directory in which the packer is at work, or was killed: it is no data
 * set yet, and its shards are not foreign ones.  The claim of a split lies one above it. */
int dataset_refuse_unfinished(const char *directory, struct sheaf_error *err);
/* The same of the claim above alone. */
int dataset_refuse_unfinished_split(const char *directory, struct sheaf_error *err);
/* Where names may not be listed, S3 says "denied" of what is not there: a name that the listing
 * of its directory has is there and denied, and any other is not there (SHEAF_ERR_NOT_FOUND).
 * `err` says "denied". */
int dataset_look_again(const char *directory, const char *name, struct sheaf_error *err);

/* Says that its shards, which are some of its manifest's now, lie in `directory`. */
int dataset_move(struct sheaf_dataset *d, const char *directory, struct sheaf_error *err);

/* Fills in what is summed up from the manifest's shards: numbers, stems, totals. */
int dataset_make_tables(struct sheaf_dataset *d, struct sheaf_error *err);

/* The places of an epoch's line: its samples, or as many as all hosts have. */
uint64_t dataset_places(const struct sheaf_dataset *d, const struct order *order);
struct order_lane dataset_lane(const struct sheaf_dataset *d, const struct order *order,
                               uint32_t lane);

/* The shard that has the sample with this number, which exists. */
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
    while (d->samples[low] == 0)        /* it begins with the same number as the next one */
        low++;
    return low;
}

/* What raw bytes of a shard take as they are stored: their part of the codec's blocks. */
static inline uint64_t dataset_stored_bytes(const struct sheaf_dataset *d, uint32_t shard,
                                            uint64_t raw_bytes)
{
    const struct manifest_shard *m = &d->manifest.shards[shard];

    if (d->is_stream || dataset_source(d, shard)->codec == NULL || m->raw_bytes == 0)
        return raw_bytes;
    return (uint64_t)((double)raw_bytes * (double)m->bytes / (double)m->raw_bytes);
}

/* What decode() must know of a shard: labels have the numbers of its source. */
struct decode_context dataset_decode_context(const struct sheaf_dataset *d, uint32_t shard);

/* Gives a sample, decoded with the scratch, the label that its class has in the union, and where a
 * view gives classes other names or numbers, that name. */
int dataset_renumber(const struct sheaf_dataset *d, struct decode_scratch *scratch,
                     struct sheaf_sample *sample, struct sheaf_error *err);

/* ---- reader/dataset_identity.c --------------------------------------------------------------- */

/* Makes a table of the identities that the sources have in seeds (ORDER.md, section 12).  They do
 * not depend on bytes, so a copy in another container has the same ones. */
int dataset_seed_sources(const struct sheaf_dataset *d, uint64_t **ids, struct sheaf_error *err);
/* Returns the seed of a sample in an epoch of its source. */
uint64_t dataset_sample_seed(const struct sheaf_dataset *d, const uint64_t *ids,
                             const struct sheaf_sample *sample, uint64_t seed,
                             uint64_t source_epoch);

/* ---- reader/dataset_info.c ------------------------------------------------------------------- */

/* Adds up what the sources of a union have counted; unknown if manifest.fields is already. */
int dataset_add_counts(struct sheaf_dataset *d, struct sheaf_error *err);
/* What packing did to images.  Of a view, which chose some of them, it is not known: 0. */
struct manifest_images dataset_images(const struct sheaf_dataset *dataset);
/* What is told of a field. */
void dataset_describe_field(const struct tally_field *field, struct sheaf_field_info *info);
/* Makes counts unknown: they are of a whole data set, of which this is a part. */
void dataset_forget_counts(struct sheaf_dataset *d);

/* ---- reader/dataset_union.c ------------------------------------------------------------------ */

struct union_options {
    bool is_view;       /* the same data set may be there twice */
    bool by_number;     /* classes stay as they are numbered, whatever their names */
    const struct view_class *classes;   /* what a view calls them instead; or NULL */
    size_t class_count;
};

/* Makes one data set of several; takes them, also on failure. */
int dataset_unite(struct sheaf_dataset **sources, size_t count,
                  const struct union_options *options, struct sheaf_dataset **dataset,
                  struct sheaf_error *err);

/* ---- reader/dataset_foreign.c ---------------------------------------------------------------- */

/* Whether a file of this name is found beside shards and is none. */
bool foreign_is_side_file(const char *name);

/* Which of the sources are single files, objects or pipes, and no directories, patterns or lists
 * of them. */
int foreign_find_files(const char *const *sources, size_t source_count, bool *is_file,
                       struct sheaf_error *err);

/* Turns sources (see sheaf_dataset_open) into shard URLs; a data set with a manifest is not one
 * of them.  The caller frees each and the array. */
int foreign_expand(const char *const *sources, const bool *is_file, size_t source_count,
                   char ***urls, size_t *count, struct sheaf_error *err);

/* Fills in container, codec, sizes and, where the headers can be scanned, sections, from
 * d->urls. */
int foreign_examine(struct sheaf_dataset *d, struct sheaf_error *err);

#endif
