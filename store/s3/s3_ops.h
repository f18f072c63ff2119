/* SPDX-License-Identifier: MIT
 *
 * Declares functions of the S3 store that are implemented in several files. store/store.h says what
 * these functions must do. */
#ifndef STORE_S3_S3_OPS_H
#define STORE_S3_S3_OPS_H

#include "store/store.h"

/* s3_list.c */
int s3_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);
int s3_list_directories(const char *url, store_entry_fn *each, void *context,
                        struct sheaf_error *err);

/* s3_clean.c */
int s3_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
             struct sheaf_error *err);
int s3_clean_object(const char *url, struct sheaf_error *err);

/* s3_abilities.c */
int s3_find_abilities(const char *directory, struct store_abilities *found,
                      struct sheaf_error *err);

/* s3_walk.c */
int s3_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err);

/* Header in which S3 stores the note of an object. A note is a word that a store keeps with an
 * object (see STORE_NOTE_SIZE). */
#define S3_NOTE "x-amz-meta-sheaf-note"
void s3_stat_start(struct store_stat *stat);

/* s3_writer.c */
uint64_t s3_part_bytes(uint64_t expected_bytes);
int s3_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                     struct store_writer **writer, struct sheaf_error *err);
int s3_create(const char *url, struct store_writer **writer, struct sheaf_error *err);
int s3_write(struct store_writer *writer, const void *data, size_t size, struct sheaf_error *err);
int s3_end(struct store_writer *writer, struct sheaf_error *err);
int s3_commit(struct store_writer *writer, struct sheaf_error *err);
int s3_commit_over(struct store_writer *writer, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err);
void s3_abort(struct store_writer *writer);

#endif
