/* SPDX-License-Identifier: MIT
 *
 * The plan: which samples there are, in which order, in which shard.  A pure function of the
 * source's files and the options (planner.h makes it); every byte of the output follows from it and
 * from the files.
 *
 *     splits    | train                                  | val         |
 *     shards    | 0         | 1          | 2             | 0           |
 *     blocks    |   |   |   |   |    |   |   |   |   |   |   |   |     |
 *     samples   .........................................................
 *     files     a sample's are a stretch of them, in byte order of suffix
 *
 * A shard is made from its stretch of the samples alone, so parts of a plan may be packed
 * anywhere, in any order.  A plan has all its samples and files in memory only if it has one shard
 * or a few (plan_batch.h); of a whole one they are elsewhere (plan_section.h). */
#ifndef PACKER_PLAN_PLAN_H
#define PACKER_PLAN_PLAN_H

#include <stdbool.h>

#include "packer/plan/plan_grow.h"
#include "packer/plan/split.h"
#include "packer/source/catalog.h"
#include "packer/source/problems.h"
#include "publish/names.h"
#include "sheaf.h"

/* A block ends where its payload, with so much more for each file, reaches BLOCK_BYTES. */
#define BLOCK_BYTES      ((uint64_t)4 << 20)
#define BLOCK_FILE_BYTES ((uint64_t)512)

struct plan_sample {
    uint64_t payload_bytes;
    uint32_t file, file_count;  /* a stretch of plan.files */
    uint32_t label;             /* an index of plan.labels */
    uint16_t split;
    bool has_cls;               /* a field `cls` of its own: if that holds numbers, its labels
                                   come from there */
};

struct plan_label {             /* labels[0]: none */
    const char *class_name;     /* NULL: not known */
    const double *values;
    size_t value_count;
};

struct plan_shard {
    uint32_t split;
    uint32_t number;            /* within the split; 0-based */
    uint64_t sample, sample_count;
    uint64_t first;             /* the number of its first sample within the split */
    uint64_t payload_bytes;
    uint64_t largest;           /* payload of its largest sample, at most */
    uint64_t source;            /* hash of its files' stamps and URLs; 0 in a stored plan */
};

struct plan_split {
    char name[SPLIT_NAME_BYTES];        /* "" if the data set is not split */
    uint64_t sample, sample_count;
    uint64_t payload_bytes;
    uint32_t shard, shard_count;
    bool cls_is_label;          /* no sample of it has a field `cls` of its own */
};

struct plan {
    struct catalog_file *files;
    size_t file_count;
    struct plan_sample *samples;
    size_t sample_count;
    uint64_t payload_bytes;
    struct plan_label *labels;
    uint32_t label_count;
    const char **classes;       /* byte order; after those of a data set that is
                                   to grow */
    double *class_values;       /* label_base, label_base + 1, ... */
    uint64_t *class_samples;    /* of each class, without those that have a file .cls; or NULL */
    char *class_texts;          /* of classes that are named by their numbers; or NULL */
    uint32_t class_count;
    struct plan_split splits[SPLIT_LIMIT];
    uint32_t split_count;
    struct plan_shard *shards;
    size_t shard_count;
    char hash[PLAN_HASH_SIZE];      /* of all that determines the bytes; the manifest has it */
    char identity[PLAN_HASH_SIZE];  /* the hash, and which files it is of: plan_identify */
    char origin[PLAN_HASH_SIZE];    /* the same with the sources of all shards, whatever is in the
                                       identity: a manifest's note; "": not known */
};

void plan_free(struct plan *plan);

/* Where the block that begins with sample `first` ends; at most `end`. */
uint64_t plan_block_end(const struct plan *plan, uint64_t first, uint64_t end);

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Cuts `count` samples of the given sizes into *shard_count shards, at most one a sample:
 * starts[k] is the first sample of shard k, starts[*shard_count] == count.  The sizes are given
 * by a function, so that nothing is copied. */
typedef uint64_t plan_size_fn(void *context, uint64_t sample);
uint64_t plan_shard_count(uint64_t payload_bytes, uint64_t samples, uint64_t shard_bytes,
                          uint64_t shard_count);
void plan_cut(plan_size_fn *size_of, void *context, uint64_t count, uint64_t payload_bytes,
              uint64_t shard_count, uint64_t *starts);

/* plan_hash.c: the hash of all that determines the bytes, piece by piece: begin, then for each
 * shard _shard, for each of its samples _sample, for each of its files _file, then end, which frees
 * it.  NULL: out of memory. */
struct XXH3_state_s *plan_hash_begin(const struct plan *plan,
                                     const struct sheaf_pack_options *options,
                                     uint64_t shard_count);
void plan_hash_shard(struct XXH3_state_s *state, const char *split, uint64_t number,
                     uint64_t sample_count);
void plan_hash_sample(struct XXH3_state_s *state, uint32_t label, uint32_t file_count);
void plan_hash_file(struct XXH3_state_s *state, const char *path, uint64_t bytes,
                    const char *text);
void plan_hash_end(struct XXH3_state_s *state, char hash[PLAN_HASH_SIZE]);

/* The source of a shard, file by file: 0, then for each with a stamp the result of the one
 * before.  `url`: of an object that has one of its own; else NULL. */
uint64_t plan_source_add(uint64_t source, uint64_t stamp, const char *url);

/* Sets the identity.  Plans of one hash make the same bytes only of the same files; so whoever goes
 * on with shards of another run, or joins one, compares this: the hash, the root, and with
 * `of_sources` the sources of all shards. */
void plan_identify(struct plan *plan, const char *root, bool of_sources);

/* What sizes may add up to, so that no sum of them passes 63 bits. */
#define PAYLOAD_LIMIT ((uint64_t)1 << 62)

/* plan_group.c: whether files of one key can be a sample; notes those that cannot be one. */
int plan_check_group(const struct catalog_file *files, uint32_t count, struct problems *problems,
                     bool *good, struct sheaf_error *err);
/* The sample of such files; its label is the catalog's. */
void plan_make_sample(const struct catalog_file *files, uint32_t count, struct plan_sample *s);

/* plan_label.c: numbers the classes, and puts labels into an order of their own.  used[i] says
 * whether label i of the catalog is some sample's, and (*renamed)[i], to be freed, what it
 * becomes.  `grow`, or NULL: the labels have to go with those of a data set; its classes come
 * first.  `known`, or NULL: the same of classes alone.  SHEAF_ERR_UNSUPPORTED: they do not. */
int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, const struct plan_grow *grow, const struct plan_classes *known,
                     uint32_t **renamed, struct sheaf_error *err);

#endif
