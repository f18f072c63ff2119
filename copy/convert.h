/* SPDX-License-Identifier: MIT
 *
 * Functions that convert a data set to another container, as a whole or in the parts of a plan. */
#ifndef COPY_CONVERT_H
#define COPY_CONVERT_H

#include "copy/copying.h"
#include "packer/plan/split.h"

struct convert {
    struct copying in;
    struct sheaf_packer *packer;
    struct field_map *map;                  /* NULL: fields keep their names */
    struct sheaf_pack_options packing;      /* the packer's */
    struct sheaf_reader_options reading;
    uint64_t shard_bytes;                   /* the caller's; the packer's may be without limit */
    /* number of new shards, if each gets an equal share of the data; 0 if the packer cuts shards by
     * size, or if each new shard has the samples of one old shard */
    uint64_t shards;
    /* bytes in all fields of the data set, if each new shard gets an equal share of these bytes; 0
     * if each shard gets an equal number of samples */
    uint64_t payload_bytes;
    uint64_t copied_bytes;
    /* The splits among which the samples are divided. If spec.count is 0, there are no splits. All
     * samples are read once to divide them, and then once for each split. */
    struct {
        struct split_spec spec;
        uint8_t *of;            /* split of each sample, by the sample's number */
        uint64_t total;         /* number of samples in the data set */
        uint64_t samples[SPLIT_LIMIT], bytes[SPLIT_LIMIT];  /* of each split */
        uint32_t current;       /* the split whose samples are copied now */
        uint64_t copied;        /* samples of the current split that were copied */
    } split;
    /* whether the features (name-value pairs) of the old TFRecord records are copied to the new
     * TFRecord records */
    bool keeps;
    sheaf_report_fn *note;      /* the caller's; NULL: none */
    /* True if `opaque` counts the records that are not tf.train.Examples. For this count, the
     * reader keeps the features of each record. A record without features is not an Example. */
    bool looks;
    /* number of records that are not tf.train.Examples; each of them becomes a sample with one
     * field */
    uint64_t opaque;
    char first_opaque[200];     /* key of the first of these records, possibly truncated */
    /* number of samples that were left out because the new container cannot store them, or because
     * they fail a check */
    uint64_t left_out;
};

/* Initialises a conversion. The reader gets half of options->memory_bytes, and the packer gets the
 * other half. Sets the progress callback so that the caller gets the progress of the conversion,
 * not of the packer. */
void convert_init(struct convert *c, const struct sheaf_dataset *dataset,
                  const struct sheaf_pack_options *options,
                  const struct sheaf_reader_options *reading);
/* Appends to the new data set the `count` samples in `samples`, which the reader has returned last.
 * If the samples are divided among splits, appends only samples of the current split. If an error
 * concerns one sample, the message states the location of this sample.
 *
 * *shard is the number of the new shard to which the last sample was appended. If a sample belongs
 * to another shard, the function begins that shard and updates *shard. If `shard` is NULL, the
 * function does not begin new shards. */
int convert_append_all(struct convert *c, const struct sheaf_sample *samples, size_t count,
                       uint64_t *shard, struct sheaf_error *err);
/* Returns the packer's `code` and copies its error. */
int convert_packed(const struct convert *c, int code, struct sheaf_error *err);
/* Lets the reader keep the features (name-value pairs) of TFRecord records, if records of the new
 * container can store features. */
void convert_keep(struct convert *c, enum sheaf_container container);
/* Reports how many records became samples with a single field, because they are not
 * tf.train.Examples. */
void convert_tell(const struct convert *c);
void convert_close(struct convert *c, struct sheaf_reader_stats *stats);

/* ---- Splits (convert_split.c) ---------------------------------------------------------------- */

/* Reads all samples, and decides which split each sample belongs to, in the way in which sheaf_pack
 * divides files. */
int convert_split_deal(struct convert *c, struct sheaf_error *err);
/* Returns whether a sample is copied in this reading of the data set. It is copied if it belongs to
 * the current split, or if there are no splits. */
bool convert_split_wants(const struct convert *c, const struct sheaf_sample *sample);

#endif
