/* SPDX-License-Identifier: MIT
 *
 * What the conversion of a whole data set and that of a part of one share. */
#ifndef COPY_CONVERT_H
#define COPY_CONVERT_H

#include "copy/copying.h"

struct convert {
    struct copying in;
    struct sheaf_packer *packer;
    struct field_map *map;                  /* NULL: fields keep their names */
    struct sheaf_pack_options packing;      /* the packer's */
    struct sheaf_reader_options reading;
    uint64_t shards;            /* the number of new shards; 0: the packer cuts them, or they begin
                                   where the data set's own do */
    uint64_t payload_bytes;     /* of the data set: new shards get equal shares of these bytes; 0:
                                   equal numbers of samples */
    uint64_t copied_bytes;
    bool keeps;                 /* features stay what they are, from TFRecord to TFRecord */
};

/* Fills it in: half of the memory is for reading, and the packer shows this call's progress. */
void convert_init(struct convert *c, const struct sheaf_dataset *dataset,
                  const struct sheaf_pack_options *options,
                  const struct sheaf_reader_options *reading);
/* Appends a sample; an error that is the sample's says where it is. */
int convert_append(struct convert *c, const struct sheaf_sample *sample, struct sheaf_error *err);
/* The packer's `code`, with its error. */
int convert_packed(const struct convert *c, int code, struct sheaf_error *err);
/* Where records of this container are written: they keep what they have, if they can. */
void convert_keep(struct convert *c, enum sheaf_container container);
void convert_close(struct convert *c, struct sheaf_reader_stats *stats);

#endif
