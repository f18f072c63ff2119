/* SPDX-License-Identifier: MIT
 *
 * Functions that are common to converting a whole data set and a part of one. */
#ifndef COPY_CONVERT_H
#define COPY_CONVERT_H

#include "copy/copying.h"

struct convert {
    struct copying in;
    struct sheaf_packer *packer;
    struct field_map *map;                  /* NULL: fields keep their names */
    struct sheaf_pack_options packing;      /* the packer's */
    struct sheaf_reader_options reading;
    uint64_t shards;            /* number of new shards; 0 if the packer cuts the shards or they
                                   begin where the data set's own do */
    uint64_t payload_bytes;     /* payload of the data set, of which each new shard gets an equal
                                   share; 0 if shards get equal numbers of samples */
    uint64_t copied_bytes;
    bool keeps;                 /* whether features are kept from TFRecord to TFRecord */
    sheaf_report_fn *note;      /* the caller's; NULL: none */
    bool looks;                 /* whether features are kept to see which records have none */
    uint64_t opaque;            /* number of records without features, which become one field */
    char first_opaque[200];     /* key of the first, possibly truncated */
    uint64_t left_out;          /* number of samples that are skipped because they do not fit or
                                   fail a check */
};

/* Initialises a conversion. Half of the memory is for reading, and the packer reports this call's
 * progress. */
void convert_init(struct convert *c, const struct sheaf_dataset *dataset,
                  const struct sheaf_pack_options *options,
                  const struct sheaf_reader_options *reading);
/* Appends the samples that were read last. If an error concerns a sample, its message says where
 * the sample is. `shard` is the new shard of the sample before, or NULL if no shard is cut here. */
int convert_append_all(struct convert *c, const struct sheaf_sample *samples, size_t count,
                       uint64_t *shard, struct sheaf_error *err);
/* Returns the packer's `code` and copies its error. */
int convert_packed(const struct convert *c, int code, struct sheaf_error *err);
/* Keeps a record's features if records of this container are written and can have them. */
void convert_keep(struct convert *c, enum sheaf_container container);
/* Reports the records that became one field because they are not tf.train.Examples. */
void convert_tell(const struct convert *c);
void convert_close(struct convert *c, struct sheaf_reader_stats *stats);

#endif
