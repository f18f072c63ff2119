/* SPDX-License-Identifier: MIT
 *
 * Declares functions for records. A record is one sample of a plan as bytes. It has the label and
 * the files of the sample, with all facts that are needed to fetch the files and to notice changes.
 * Plan files (see PLAN.md) and the temporary files of planning consist of records. */
#ifndef PACKER_PLAN_PLAN_RECORD_H
#define PACKER_PLAN_PLAN_RECORD_H

#include "base/buf.h"
#include "packer/plan/plan.h"

/* Appends the record of a sample with these files. */
int plan_record_write(const struct plan_sample *sample, const struct catalog_file *files,
                      struct buf *out, struct sheaf_error *err);

/* The beginning of a record that plan_record_write made. */
struct plan_record_head {
    uint32_t label, file_count;
    bool has_cls;
    const uint8_t *key;
    size_t key_size;
};
int plan_record_head(const uint8_t *record, size_t size, struct plan_record_head *head,
                     struct sheaf_error *err);
/* Appends to `out` a copy of a record that has the label `label` in place of its own. */
int plan_record_relabel(const uint8_t *record, size_t size, uint32_t label, struct buf *out,
                        struct sheaf_error *err);
/* Adds a record (a sample of a plan) to two hashes: the plan hash (`state`), and the hash of its
 * shard's source files (*source). Sets *has_other_images if a file is an image other than a
 * JPEG. */
int plan_record_hash(const uint8_t *record, size_t size, struct XXH3_state_s *state,
                     uint64_t *source, bool *has_other_images, struct sheaf_error *err);

/* Parses the record at *at into `sample`, and moves *at past it. The record must end before `end`.
 * Appends the sample's files to catalog->files, and sets sample->file to the index of the first
 * one. Returns SHEAF_ERR_CORRUPT if the bytes are not a valid record. */
int plan_record_read(const uint8_t **at, const uint8_t *end, struct catalog *catalog,
                     struct plan_sample *sample, struct sheaf_error *err);

#endif
