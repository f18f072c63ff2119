/* SPDX-License-Identifier: MIT
 *
 * Sorts the files of a source into the samples of a plan in bounded memory: what does not fit is in
 * temporary files.
 *
 *     scan -> files, sorted by (order of their key, key, suffix) -> samples -> splits
 *
 * Files of one key have one order, so they come out together, and the samples come out as the plan
 * has them.  Only labels are held in memory, and problems. */
#ifndef PACKER_PLAN_PLAN_SORT_H
#define PACKER_PLAN_PLAN_SORT_H

#include <stdbool.h>

#include "base/sort.h"
#include "base/tempfile.h"
#include "base/watch.h"
#include "packer/plan/odd_fields.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_grow.h"
#include "packer/plan/plan_record.h"
#include "packer/source/catalog.h"

/* Samples in order: their records (each after its size), and apart from them their payload. */
struct sample_stream {
    struct tempfile records, sizes;
    uint64_t count, payload_bytes;
    bool cls_is_label;
};

/* Sets *good to whether the sample of a record, with a label of the plan, can be packed. */
typedef int plan_try_fn(void *context, const struct plan *plan, const uint8_t *record, size_t size,
                        uint32_t label, bool *good, struct sheaf_error *err);

struct plan_sort {
    const struct sheaf_pack_options *options;
    struct problems *problems;
    struct watch *watch;
    const struct plan_grow *grow;   /* NULL: a data set of its own */
    const struct plan_classes *classes; /* classes that it must have; NULL: those of its samples */
    plan_try_fn *try;           /* for splits with so many samples of each class; NULL: all are
                                   good */
    void *try_context;
    const struct source *source;    /* to look into files called .cls; NULL: they hold numbers */
    char *directory;            /* of temporary files */
    size_t memory_bytes;        /* of each sort, and of each stream */
    uint64_t memory_peak;       /* what the first sort, its stream and the labels took */
    struct catalog catalog;     /* labels; its sink is the first sort */
    struct sort *files;
    uint64_t file_count;
    struct odd_fields odd;
    uint64_t *label_counts;     /* samples of each label of the catalog, */
    uint64_t *cls_counts;       /* but for those that have a file .cls, which are counted here */
    unsigned cls_looked;        /* such files that were looked into; */
    bool cls_is_number;         /* one of them holds numbers, or may */
    uint64_t merged;            /* texts that several lines of a list say of one sample, beyond the
                                   first, or all if they differ */
    uint64_t differing;         /* fields of which several lines say different texts */
    char first_differing[200];
    uint32_t *renamed;          /* what each becomes in the plan */
    struct sample_stream streams[SPLIT_LIMIT];  /* of each split */
    uint32_t stream_count;
};

/* `near`: a local path beside which temporary files may be, or NULL. */
int plan_sort_open(struct plan_sort *sort, const struct sheaf_pack_options *options,
                   struct problems *problems, struct watch *watch, const char *near,
                   struct sheaf_error *err);
/* The number of samples with a label of the catalog. */
uint64_t *plan_sort_count(struct plan_sort *sort, uint32_t label, bool has_cls);
/* Gives back all but the labels. */
void plan_sort_end(struct plan_sort *sort);
void plan_sort_close(struct plan_sort *sort);

/* Once the catalog was filled: makes the streams, and the plan's labels and splits (without
 * shards). */
int plan_sort_samples(struct plan_sort *sort, struct plan *plan, struct sheaf_error *err);

/* ---- Streams --------------------------------------------------------------------------------- */

int samples_open(struct sample_stream *stream, const char *directory, size_t memory_bytes,
                 struct sheaf_error *err);
void samples_close(struct sample_stream *stream);
int samples_put(struct sample_stream *stream, const uint8_t *record, size_t size,
               uint64_t payload_bytes, bool has_cls, struct sheaf_error *err);
int samples_rewind(struct sample_stream *stream, struct sheaf_error *err);
/* The next record, in place of what the buffer holds, and its payload. */
int samples_get(struct sample_stream *stream, struct buf *record, uint64_t *payload_bytes,
               struct sheaf_error *err);

/* Leaves the samples out of the stream that the data set has which is to grow.
 * (plan_sort_known.c) */
int plan_sort_known(struct plan_sort *sort, struct sample_stream *all, struct sheaf_error *err);
/* Deals the samples of a stream out to the splits of the options; closes it.
 * (plan_sort_split.c) */
int plan_sort_split(struct plan_sort *sort, struct sample_stream *all, struct plan *plan,
                    struct sheaf_error *err);

#endif
