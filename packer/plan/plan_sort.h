/* SPDX-License-Identifier: MIT
 *
 * Sorts the files of a source into the samples of a plan, in bounded memory. Data that does not fit
 * into memory goes to temporary files.
 *
 * The files that the scan finds are sorted by the order number of their key, then by key, then by
 * suffix. The order number of a key is a hash of the key and the seed, or 0 if samples are not
 * shuffled. So the files of a sample come out of the sort together, and the samples come out in the
 * order of the plan. The samples are then divided into splits. Only labels and problems stay in
 * memory. */
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

/* A sequence of samples. One file has the samples' records, and before each record its size. The
 * other file has the samples' payload sizes. */
struct sample_stream {
    struct tempfile records, sizes;
    uint64_t count, payload_bytes;
    bool cls_is_label;
};

/* The type of a function that sets *good to whether a sample can be packed. The sample is given as
 * a record. `label` is the sample's label in the plan. */
typedef int plan_try_fn(void *context, const struct plan *plan, const uint8_t *record, size_t size,
                        uint32_t label, bool *good, struct sheaf_error *err);

struct plan_sort {
    const struct sheaf_pack_options *options;
    struct problems *problems;
    struct watch *watch;
    const struct plan_grow *grow;   /* NULL: a new data set */
    const struct plan_classes *classes; /* given classes; NULL: the classes of the samples */
    /* NULL, or a function that tests whether a sample can be packed. It is used if splits get a
     * fixed number of samples of each class. */
    plan_try_fn *try;
    void *try_context;
    /* source from which files .cls are read; if it is NULL, these files are assumed to contain
     * numbers */
    const struct source *source;
    char *directory;            /* of temporary files */
    size_t memory_bytes;        /* limit for each sort and for each stream */
    /* largest amount of memory in use at one time for the sort of the files, the stream of samples
     * that reads the sorted files, and the labels */
    uint64_t memory_peak;
    struct catalog catalog;     /* labels; files that are added to it go to `files` */
    struct sort *files;
    uint64_t file_count;
    struct odd_fields odd;
    uint64_t *label_counts;     /* samples of each label of the catalog, */
    /* for each label, the number of samples with a file .cls */
    uint64_t *cls_counts;
    bool tells_cls;             /* whether to report files .cls that do not consist of numbers */
    uint64_t cls_looked;        /* number of files .cls that were examined */
    uint64_t cls_words;         /* number of examined files that do not consist of numbers */
    char first_cls_word[200];   /* the key of the first such file; may be truncated */
    /* Files .cls of a few samples that also have another label decide whether the other labels are
     * dropped. This is the number of these files, whether one of them contains numbers or could not
     * be read, and whether one of them contains something else. */
    unsigned cls_decisions;
    bool cls_is_number, cls_is_word;
    /* Number of values of a list that were left out, because several lines of the list name files
     * of the same sample. If these lines have equal values, all except the first are left out. If
     * the values differ, all of them are left out. */
    uint64_t merged;
    uint64_t differing;         /* fields for which several lines have different texts */
    char first_differing[200];
    uint32_t *renamed;          /* index of each label in the plan */
    struct sample_stream streams[SPLIT_LIMIT];  /* of each split */
    uint32_t stream_count;
};

/* Opens the sort. Temporary files are created in the directory of the local path `near`, or in a
 * default directory if `near` is NULL. */
int plan_sort_open(struct plan_sort *sort, const struct sheaf_pack_options *options,
                   struct problems *problems, struct watch *watch, const char *near,
                   struct sheaf_error *err);
/* Each label has two counters of samples: one for samples with a file .cls, and one for the others.
 * Returns a pointer to the first of them if `has_cls` is set, otherwise to the second. `label` is
 * an index of the catalog. */
uint64_t *plan_sort_count(struct plan_sort *sort, uint32_t label, bool has_cls);
/* Frees everything except the labels. */
void plan_sort_end(struct plan_sort *sort);
void plan_sort_close(struct plan_sort *sort);

/* Called after the source was scanned. Makes the streams of samples, and the plan's labels and
 * splits (without shards). */
int plan_sort_samples(struct plan_sort *sort, struct plan *plan, struct sheaf_error *err);

/* ---- Streams --------------------------------------------------------------------------------- */

int samples_open(struct sample_stream *stream, const char *directory, size_t memory_bytes,
                 struct sheaf_error *err);
void samples_close(struct sample_stream *stream);
int samples_put(struct sample_stream *stream, const uint8_t *record, size_t size,
               uint64_t payload_bytes, bool has_cls, struct sheaf_error *err);
int samples_rewind(struct sample_stream *stream, struct sheaf_error *err);
/* Replaces the content of `record` by the next record of the stream, and sets *payload_bytes to its
 * payload size. */
int samples_get(struct sample_stream *stream, struct buf *record, uint64_t *payload_bytes,
               struct sheaf_error *err);

/* Used when appending. Removes from the stream the samples that the data set already has.
 * (plan_sort_known.c) */
int plan_sort_known(struct plan_sort *sort, struct sample_stream *all, struct sheaf_error *err);
/* Assigns the samples of a stream to the splits that the options define, and closes the stream.
 * (plan_sort_split.c) */
int plan_sort_split(struct plan_sort *sort, struct sample_stream *all, struct plan *plan,
                    struct sheaf_error *err);

#endif
