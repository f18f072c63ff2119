/* SPDX-License-Identifier: MIT
 *
 * Writes a layer of a column. A column is a field that is added to an existing data set, its base.
 * A layer is a data set with one record for each sample of the base, in the order of the samples'
 * numbers. */
#ifndef COLUMNS_COLUMN_WRITE_H
#define COLUMNS_COLUMN_WRITE_H

#include "formats/index.h"
#include "packer/packer.h"
#include "reader/dataset/column_sets.h"
#include "reader/dataset/sections.h"

struct column_part;

struct sheaf_column_writer {
    struct sheaf_column_options options;
    struct sheaf_dataset *base;
    char *url;                  /* URL of the layer */
    char *identity;
    struct column_facts facts;
    /* The packer that writes the layer. NULL if there is nothing to write, because only missing
     * records are to be added, and every sample of the base data set already has a record. */
    struct sheaf_packer *packer;
    /* Numbers of samples of the base data set. The caller must append one record for each sample
     * from `next` to `end` - 1, in order. Sample `end` already has a record, or comes after the
     * last sample of the column. */
    uint64_t next, end;
    /* the part of a plan that this writer writes; NULL if it writes a whole column */
    struct column_part *part;
    struct column_values values;        /* facts in the plan about the values */
    struct sections sections;
    struct index_section *section;      /* index section of the base's shard number `shard` */
    uint32_t shard;
    /* size in bytes and number of records of the shard that is being written */
    uint64_t open_bytes, open_samples;
    struct sheaf_column_result result;
    bool is_finished;
};

/* Copies the options over the defaults, and checks them. */
int column_options_take(const struct sheaf_column_options *given,
                        struct sheaf_column_options *options, struct sheaf_error *err);
/* Opens the data set to which a column will be added. `url` must name a single data set with a
 * manifest, and not a view or a combination of several data sets. */
int column_base_open(const char *url, struct sheaf_dataset **base, struct sheaf_error *err);
/* Checks whether a column can be written. Changes nothing.
 *
 * A column consists of layers (data sets), which are numbered from 1. Sets *layer to the number of
 * the layer that must be written. Sets *first to the number of the first sample of the base that
 * gets a record in this layer. If the option `only_missing` is set and no sample lacks a record,
 * sets *layer to 0. */
int column_write_begins(const struct sheaf_dataset *base, const char *name,
                        const struct sheaf_column_options *options, uint64_t *first,
                        size_t *layer, struct sheaf_error *err);
/* Returns SHEAF_ERR_ARGUMENT if a name cannot be the extension of a column's field. */
int column_check_extension(const char *extension, struct sheaf_error *err);
/* Sets `packing` to the options of the packer that writes a layer (a data set of the column). */
void column_packing(const struct sheaf_column_options *options, const char *identity,
                    struct sheaf_pack_options *packing);

/* Called after the column `name` was dropped. Reports each view with a condition on this column, as
 * a notice (sheaf_on_notice). Only views (mixes of data sets) in the directory of the data set and
 * its parent are found. (column_views.c) */
void column_views_tell(const struct sheaf_dataset *base, const char *name);

/* Sets *first to the number of the first sample of the writer's part, and *end to the number of the
 * first sample after the part. Only for a writer that was opened for one part of a plan. */
void column_part_range(const struct sheaf_column_writer *writer, uint64_t *first, uint64_t *end);

#endif
