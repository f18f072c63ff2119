/* SPDX-License-Identifier: MIT
 *
 * Publishing: finished shards become a data set. */
#ifndef PACKER_PUBLISH_H
#define PACKER_PUBLISH_H

#include "packer/output.h"

/* What the manifests contain in addition to shards. */
struct publish_facts {
    const char *const *classes;
    size_t class_count;
    int label_base;
    const struct plan_split *splits;    /* of these only shard_count and cls_is_label are needed */
    uint32_t split_count;
    const char *const *options_json;    /* of each split */
};

/* Writes skipped.tsv, and for each split index, table of keys, other readers' index files and
 * manifest, from the journal's entries of its shards.  SHEAF_ERR_CHANGED: the destination is
 * another run's. */
int publish_dataset(struct output *output, struct problems *problems,
                    const struct publish_facts *facts, struct sheaf_error *err);

/* The same of a plan's data set. */
int publish_plan(struct output *output, struct problems *problems, const struct plan *plan,
                 int label_base, const char *const *options_json, struct sheaf_error *err);

#endif
