/* SPDX-License-Identifier: MIT
 *
 * What the packer gives to publish/: the output of a plan, its shards, and what a run found out. */
#ifndef PACKER_PACK_OUTPUT_H
#define PACKER_PACK_OUTPUT_H

#include "packer/block.h"
#include "packer/shard_writer.h"
#include "publish/output.h"
#include "publish/publish.h"

/* `plan`: NULL for samples that a program makes. */
int pack_output_open(struct output *output, const char *dest, const struct block_setup *setup,
                     const char *prefix, const struct plan *plan, struct sheaf_error *err);
/* Returns about how large a shard may become without a codec. */
uint64_t pack_output_shard_bytes(const struct plan_shard *shard);
/* Begins a shard, with memory for what waits for the store. */
int pack_output_open_shard(const struct output *output, const struct block_setup *setup,
                           const struct plan_shard *shard, struct part_memory *memory,
                           struct shard_writer **writer, struct sheaf_error *err);

/* Publishes a data set, with the files that were skipped and converted, which are sorted. */
int pack_output_publish(struct output *output, struct problems *problems,
                        struct publish_facts *facts, struct sheaf_error *err);
/* The same for the data set of a plan, or for what it adds to the data set that is to grow. */
int pack_output_publish_plan(struct output *output, struct problems *problems,
                             const struct plan *plan, int label_base,
                             const char *const *options_json, struct sheaf_error *err);

#endif
