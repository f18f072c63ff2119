/* SPDX-License-Identifier: MIT
 *
 * The plan: the samples, their order, and their division into shards. A plan is a pure function of
 * the source's files and the options (planner.h makes it). The plan and the content of the files
 * determine every byte of the output.
 *
 *     splits    | train                                  | val         |
 *     shards    | 0         | 1          | 2             | 0           |
 *     blocks    |   |   |   |   |    |   |   |   |   |   |   |   |     |
 *     samples   .........................................................
 *     files     each sample has a range of them, in byte order of suffix
 *
 * A shard depends only on its range of samples, so parts of a plan may be packed anywhere, in any
 * order. A plan has all its samples and files in memory only if it has one shard or a few
 * (plan_batch.h). The samples of a whole plan are elsewhere (plan_section.h). */
#ifndef PACKER_PLAN_PLAN_H
#define PACKER_PLAN_PLAN_H

#include <stdbool.h>

#include "packer/plan/plan_grow.h"
#include "packer/plan/split.h"
#include "formats/format.h"
#include "packer/source/catalog.h"
#include "packer/source/problems.h"
#include "publish/names.h"
#include "sheaf.h"

/* A block ends where its payload, plus BLOCK_FILE_BYTES for each file, reaches BLOCK_BYTES. */
#define BLOCK_BYTES      ((uint64_t)4 << 20)
#define BLOCK_FILE_BYTES ((uint64_t)512)

struct plan_sample {
    uint64_t payload_bytes;
    uint32_t file, file_count;  /* a range of plan.files */
    uint32_t label;             /* an index of plan.labels */
    uint16_t split;
    bool has_cls;               /* the sample has a field `cls`; if that contains numbers, they
                                   are its labels */
};

struct plan_label {             /* labels[0]: none */
    const char *class_name;     /* NULL: not known */
    const double *values;
    size_t value_count;
};

struct plan_shard {
    uint32_t split;
    uint32_t number;            /* within the split; counts from 0 */
    uint64_t sample, sample_count;
    uint64_t first;             /* number of its first sample within the split */
    uint64_t payload_bytes;
    uint64_t largest;           /* upper bound for the payload of its largest sample */
    uint64_t source;            /* hash of the stamps and URLs of the shard's files; 0 in a
                                   stored plan */
};

struct plan_split {
    char name[SPLIT_NAME_BYTES];        /* "" if the data set has no splits */
    uint64_t sample, sample_count;
    uint64_t payload_bytes;
    uint32_t shard, shard_count;
    bool cls_is_label;          /* whether none of its samples has a field `cls` */
};

struct plan {
    struct catalog_file *files;
    size_t file_count;
    struct plan_sample *samples;
    size_t sample_count;
    uint64_t payload_bytes;
    struct plan_label *labels;
    uint32_t label_count;
    const char **classes;       /* class names in byte order; when appending, they follow the
                                   classes of the data set */
    double *class_values;       /* label_base, label_base + 1, ... */
    uint64_t *class_samples;    /* samples of each class, except those with a file .cls; or NULL */
    char *class_texts;          /* names of classes that are named by their numbers; or NULL */
    uint32_t class_count;
    struct plan_split splits[SPLIT_LIMIT];
    uint32_t split_count;
    struct plan_shard *shards;
    size_t shard_count;
    char hash[PLAN_HASH_SIZE];      /* covers everything that determines the bytes; in the
                                       manifest */
    char identity[PLAN_HASH_SIZE];  /* hash over the plan's hash and its files; see plan_identify */
    char origin[PLAN_HASH_SIZE];    /* the hash of `identity`, but always with the sources of all
                                       shards; stored as a note of the manifest; "" if unknown */
};

void plan_free(struct plan *plan);

/* Returns the end of the block that begins with sample `first`; at most `end`. */
uint64_t plan_block_end(const struct plan *plan, uint64_t first, uint64_t end);

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Cuts `count` samples into *shard_count shards, at most one per sample. size_of returns the size
 * of a sample, so that no sizes are copied. starts[k] is the first sample of shard k, and
 * starts[*shard_count] == count. */
typedef uint64_t plan_size_fn(void *context, uint64_t sample);
uint64_t plan_shard_count(uint64_t payload_bytes, uint64_t samples, uint64_t shard_bytes,
                          uint64_t shard_count);
void plan_cut(plan_size_fn *size_of, void *context, uint64_t count, uint64_t payload_bytes,
              uint64_t shard_count, uint64_t *starts);

/* plan_hash.c: the hash that covers everything that determines the bytes. Call plan_hash_begin;
 * then for each shard _shard, for each of its samples _sample, and for each of the sample's files
 * _file; then _end, which frees the state. plan_hash_begin returns NULL if memory is exhausted. */
struct XXH3_state_s *plan_hash_begin(const struct plan *plan,
                                     const struct sheaf_pack_options *options,
                                     uint64_t shard_count);
void plan_hash_shard(struct XXH3_state_s *state, const char *split, uint64_t number,
                     uint64_t sample_count);
void plan_hash_sample(struct XXH3_state_s *state, uint32_t label, uint32_t file_count);
void plan_hash_file(struct XXH3_state_s *state, const char *path, uint64_t bytes,
                    const char *text);
void plan_hash_end(struct XXH3_state_s *state, char hash[PLAN_HASH_SIZE]);

/* Adds a file with a stamp to the hash that stands for a shard's source files. `source` is the hash
 * so far, 0 at first. `url` is NULL unless the file is an object with a URL of its own. Returns the
 * new hash. */
uint64_t plan_source_add(uint64_t source, uint64_t stamp, const char *url);

/* Sets the identity: a hash over the plan's hash, the root, and with `of_sources` the sources of
 * all shards. Two plans with one hash make the same bytes only if they have the same files.
 * Therefore whoever continues the shards of another run, or joins a run, compares the identity. */
void plan_identify(struct plan *plan, const char *root, bool of_sources);

/* The limit for sums of sizes, so that no sum needs more than 63 bits. */
#define PAYLOAD_LIMIT ((uint64_t)1 << 62)

/* plan_group.c: sets *good to whether files of one key can be a sample, and notes the files that
 * cannot. `format`: the container, whose limit the sizes of the files must keep, or NULL. */
int plan_check_group(const struct catalog_file *files, uint32_t count,
                     const struct format_ops *format, struct problems *problems, bool *good,
                     struct sheaf_error *err);
/* Makes a sample of these files. Its label is an index of the catalog's labels. */
void plan_make_sample(const struct catalog_file *files, uint32_t count, struct plan_sample *s);

/* plan_label.c: numbers the classes, and sorts the labels. used[i] tells whether a sample has label
 * i of the catalog. (*renamed)[i] is its index in the plan; the caller frees the array. `grow`, or
 * NULL, has the labels of the data set to which samples are appended, whose classes come first.
 * `known`, or NULL, has classes with given numbers. Returns SHEAF_ERR_UNSUPPORTED if the labels do
 * not fit to these. */
int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, const struct plan_grow *grow, const struct plan_classes *known,
                     uint32_t **renamed, struct sheaf_error *err);

#endif
