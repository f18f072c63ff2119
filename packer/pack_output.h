/* SPDX-License-Identifier: MIT
 *
 * Connects the packer with publish/, which writes to the destination: opens writers for its shards,
 * and publishes the finished data set. */
#ifndef PACKER_PACK_OUTPUT_H
#define PACKER_PACK_OUTPUT_H

#include "packer/block.h"
#include "packer/shard_writer.h"
#include "publish/output.h"
#include "publish/publish.h"

/* `plan` is NULL for samples from a program. */
int pack_output_open(struct output *output, const char *dest, const struct block_setup *setup,
                     const char *prefix, const struct plan *plan, struct sheaf_error *err);
/* Makes the name of a shard of the plan. */
int pack_output_name(const struct output *output, const struct plan_shard *shard,
                     char name[SHARD_NAME_BYTES], struct sheaf_error *err);
/* Returns an estimate of the largest size, in bytes, that a shard has before compression. */
uint64_t pack_output_shard_bytes(const struct plan_shard *shard);
/* Opens a writer for a shard, and sets *writer to it. `memory` is the memory for data on its way to
 * the store. */
int pack_output_open_shard(const struct output *output, const struct block_setup *setup,
                           const struct plan_shard *shard, struct part_memory *memory,
                           struct shard_writer **writer, struct sheaf_error *err);

/* Adds the samples and bytes of a finished shard to the result of a run. */
void pack_output_count(struct sheaf_pack_result *result, const struct shard_facts *facts);
/* Adds the counts of packed samples, shards and bytes of one run to the counts of several runs. The
 * memory that the runs needed is the maximum. */
void pack_output_add(struct sheaf_pack_result *sum, const struct sheaf_pack_result *one);

/* Publishes a data set together with the lists of skipped and converted files, which are sorted
 * first. */
int pack_output_publish(struct output *output, struct problems *problems,
                        struct publish_facts *facts, struct sheaf_error *err);
/* Publishes the data set that was packed from a plan. If the plan appends to a data set, publishes
 * the appended samples. */
int pack_output_publish_plan(struct output *output, struct problems *problems,
                             const struct plan *plan, int label_base,
                             const char *const *options_json, struct sheaf_error *err);

#endif
