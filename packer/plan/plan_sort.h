/* SPDX-License-Identifier: MIT
 *
 * Sorts the files of a source into the samples of a plan, in bounded memory. Data that does not fit
 * into memory goes to temporary files. Only labels and problems always stay in memory.
 *
 * The files that the scan finds are sorted by the order number of their key, then by key, then by
 * suffix. The order number of a key is a hash of the key and the seed, or 0 if samples are not
 * shuffled. So the files of a sample come out of the sort together, and the samples come out in the
 * order of the plan. Afterwards the samples are divided into splits. */
#ifndef PACKER_PLAN_PLAN_SORT_H
#define PACKER_PLAN_PLAN_SORT_H

#include <stdbool.h>

#include "base/sort.h"
#include "packer/plan/odd_fields.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_grow.h"
#include "packer/plan/plan_record.h"
#include "packer/plan/samples.h"
#include "packer/source/catalog.h"

/* A function that sets *good to whether a sample can be packed. `record` is the sample as bytes,
 * and `label` is the sample's label in the plan. */
typedef int plan_try_fn(void *context, const struct plan *plan, const uint8_t *record, size_t size,
                        uint32_t label, bool *good, struct sheaf_error *err);

#define PLAN_PLACE_NONE UINT64_MAX

/* A function that finds the places of samples by their keys. It is used when existing shards are
 * made again. The place of a sample is its position (from 0) among the samples of all these shards,
 * one shard after another. Sets places[i] to PLAN_PLACE_NONE if no sample of these shards has the
 * key keys[i]. */
typedef int plan_place_fn(void *context, const char *const *keys, size_t count, uint64_t *places,
                          struct sheaf_error *err);

/* Existing shards that are made again from their source files. Only the samples of these shards are
 * planned, in the order that they have there. The place of a sample is its position (from 0) among
 * the samples of all these shards, one shard after another. */
struct plan_places {
    plan_place_fn *find;
    void *context;
    /* the shards. `sample` is the place of a shard's first sample, and `sample_count` the number of
     * samples that the shard must have. */
    const struct plan_shard *shards;
    size_t shard_count;
    /* labels[i] is the label (an index of the catalog) that the sample with the place i gets
     * instead of its label in the source. LABEL_NONE means that the sample keeps its label. NULL if
     * all samples keep their labels. */
    const uint32_t *labels;
};

struct plan_sort {
    const struct sheaf_pack_options *options;
    struct problems *problems;
    struct watch *watch;
    const struct plan_grow *grow;   /* NULL: a new data set */
    const struct plan_places *places;   /* NULL, unless existing shards are made again */
    /* Set to refuse empty files that are named like a JPEG. A run that skips bad files leaves such
     * files in the plan, so that the division into shards does not depend on the release. */
    bool refuses_empty;
    uint64_t unplaced;          /* number of files of samples without a place */
    const struct plan_classes *classes; /* given classes; NULL: the classes of the samples */
    /* Function that tests whether a sample can be packed; NULL if samples are not tested. Samples
     * are tested if splits get a fixed number of samples of each class, because only good samples
     * count. */
    plan_try_fn *try;
    void *try_context;
    /* source from which files .cls are read; if NULL, they are not read but assumed to contain
     * numbers */
    const struct source *source;
    char *directory;            /* of temporary files */
    size_t memory_bytes;        /* limit for each sort and for each stream */
    /* largest number of bytes that the sort of the files, the stream of sorted samples, and the
     * labels have used at the same time */
    uint64_t memory_peak;
    struct catalog catalog;     /* the labels; its files go to `files` instead */
    struct sort *files;
    uint64_t file_count;
    struct odd_fields odd;
    uint64_t *label_counts;     /* samples of each label of the catalog, */
    /* for each label, the number of samples with this label that have a file .cls */
    uint64_t *cls_counts;
    bool tells_cls;             /* true to report files .cls without numbers */
    uint64_t cls_looked;        /* number of files .cls that were examined */
    uint64_t cls_words;         /* number of these files that contain something else */
    char first_cls_word[200];   /* key of the first such file, perhaps truncated */
    /* number of examined files .cls with numbers whose samples also have a label from a directory
     * or list, and the key of the first of them, perhaps truncated */
    uint64_t cls_replacing;
    char first_cls_replacing[200];
    /* The content of some files .cls decides whether labels from directories and lists are dropped.
     * These files belong to samples that also have such a label. cls_decisions is the number of
     * files that were read for this decision. cls_is_number is set if at least one of them contains
     * numbers or could not be read. cls_is_word is set if at least one of them contains something
     * else. */
    unsigned cls_decisions;
    bool cls_is_number, cls_is_word;
    /* Several lines of a list may name files of the same sample, and each line may have a value for
     * the same field. If these values are equal, all except the first are left out. If they differ,
     * all of them are left out. This is the number of values that were left out. */
    uint64_t merged;
    uint64_t differing;         /* fields for which several lines have different texts */
    char first_differing[200];
    uint32_t *renamed;          /* index of each label in the plan */
    struct sample_stream streams[SPLIT_LIMIT];  /* of each split */
    uint32_t stream_count;
};

/* Opens the sort of a source's files. Temporary files are created in the directory of the local
 * path `near`, or in a default directory if `near` is NULL. */
int plan_sort_open(struct plan_sort *sort, const struct sheaf_pack_options *options,
                   struct problems *problems, struct watch *watch, const char *near,
                   struct sheaf_error *err);
/* Returns a pointer to one of the two counters of a label. The first counter is for samples with
 * this label that also have a file .cls (`has_cls`), the second one for all other samples with the
 * label. `label` is an index of the catalog. */
static inline uint64_t *plan_sort_count(struct plan_sort *sort, uint32_t label, bool has_cls)
{
    return &(has_cls ? sort->cls_counts : sort->label_counts)[label];
}
/* Frees everything except the labels. */
void plan_sort_end(struct plan_sort *sort);
void plan_sort_close(struct plan_sort *sort);

/* Makes one stream of samples for each split from the files that the scan has found. Also sets the
 * labels of the plan and its splits. The splits have no shards yet. */
int plan_sort_samples(struct plan_sort *sort, struct plan *plan, struct sheaf_error *err);

/* Used when existing shards are made again. Keeps only samples of these shards in the stream, in
 * the order that they have in the shards, and adds the shards to the plan. If the source lacks
 * samples of a shard, the shard has fewer samples in the plan than before. (plan_sort_place.c) */
int plan_sort_place(struct plan_sort *sort, struct sample_stream *all, struct plan *plan,
                    struct sheaf_error *err);
/* Used for an append. Removes from the stream each sample whose key the data set already has, and
 * reports the files of these samples. (plan_sort_known.c) */
int plan_sort_known(struct plan_sort *sort, struct sample_stream *all, struct sheaf_error *err);
/* Divides the samples of the stream `all` among the splits that the options define, and closes the
 * stream. (plan_sort_split.c) */
int plan_sort_split(struct plan_sort *sort, struct sample_stream *all, struct plan *plan,
                    struct sheaf_error *err);

#endif
