/* SPDX-License-Identifier: MIT
 *
 * Writes a layer, which is a data set with records of a column: one record for each sample of the
 * base data set, in the order of the samples' numbers. */
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
    char *url;                  /* of the layer */
    char *identity;
    struct column_facts facts;
    struct sheaf_packer *packer;        /* NULL: no sample of the base lacks a record */
    /* Numbers of the base's samples: the samples from `next` up to, but not including, `end` are
     * appended next. */
    uint64_t next, end;
    struct column_part *part;   /* for a part of a plan; otherwise NULL */
    struct column_values values;        /* of the plan */
    struct sections sections;
    struct index_section *section;      /* of the base's shard `shard` */
    uint32_t shard;
    uint64_t open_bytes, open_samples;  /* of the layer's open shard */
    struct sheaf_column_result result;
    bool is_finished;
};

/* Copies the options over the defaults, and checks them. */
int column_options_take(const struct sheaf_column_options *given,
                        struct sheaf_column_options *options, struct sheaf_error *err);
/* Opens the base data set. It must be a single data set with a manifest. */
int column_base_open(const char *url, struct sheaf_dataset **base, struct sheaf_error *err);
/* Checks whether a column can be written, without changing anything. Finds the layer to write (a
 * data set with records of the column), and the number of the first sample in the layer. Sets
 * *layer to the number of the layer, counted from 1. If values should be added to a column that
 * already covers all samples, sets *layer to 0. */
int column_write_begins(const struct sheaf_dataset *base, const char *name,
                        const struct sheaf_column_options *options, uint64_t *first,
                        size_t *layer, struct sheaf_error *err);
/* Sets the options of the packer that writes a layer. */
void column_packing(const struct sheaf_column_options *options, const char *identity,
                    struct sheaf_pack_options *packing);
/* Prepares a new writer, whose base, facts and `end` are set, for its first sample. */
void column_writer_start(struct sheaf_column_writer *writer);
/* Copies the packer's error. Returns `code`. */
int column_packed(struct sheaf_column_writer *writer, int code, struct sheaf_error *err);

/* Reports each view near the data set that has a condition on the column, as a notice
 * (sheaf_on_notice). Called when the column was dropped. (column_views.c) */
void column_views_tell(const struct sheaf_dataset *base, const char *name);

/* ---- Parts of a plan (column_part.c) --------------------------------------------------------- */

/* Sets the numbers of the first sample of the part, and of the first sample after it. */
void column_part_range(const struct sheaf_column_writer *writer, uint64_t *first, uint64_t *end);
/* Called when a sample was appended. If the shard of the plan is complete, ends it and begins the
 * part's next unfinished shard. */
int column_part_appended(struct sheaf_column_writer *writer, struct sheaf_error *err);
/* Returns the number of shards that were finished before. */
uint64_t column_part_kept(const struct sheaf_column_writer *writer);
void column_part_free(struct column_part *part);        /* NULL is fine */

#endif
