/* SPDX-License-Identifier: MIT
 *
 * A plan says which samples a data set has, in which order, and in which shard each sample is. A
 * plan depends only on the source's files and the options. The plan and the content of the files
 * determine every byte of the output.
 *
 * A plan consists of splits, such as "train" and "val". Each split consists of shards, each shard
 * of blocks, and each block of samples. A sample has a range of the plan's files, in byte order of
 * their suffixes. A shard depends only on its own range of samples, so several machines can pack
 * the shards of a plan, in any order.
 *
 * struct plan holds the samples and files of one shard or a few shards (see plan_batch.h). The
 * samples of a whole plan are stored in sections (see plan_section.h). */
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

/* Size of a block (the consecutive samples that are encoded as one job). A block ends when the
 * sizes of its files, plus BLOCK_FILE_BYTES for each file, add up to BLOCK_BYTES or more. */
#define BLOCK_BYTES      ((uint64_t)4 << 20)
#define BLOCK_FILE_BYTES ((uint64_t)512)

struct plan_sample {
    uint64_t payload_bytes;
    uint32_t file, file_count;  /* a range of plan.files */
    uint32_t label;             /* an index of plan.labels */
    uint16_t split;
    /* true if the sample has a field `cls`; if this field consists of numbers, they replace the
     * sample's label */
    bool has_cls;
};

struct plan_label {             /* labels[0]: none */
    const char *class_name;     /* NULL: not known */
    const double *values;
    size_t value_count;
};

/* Facts about an existing shard that an edit or a repair makes again from its source files. */
struct plan_made {
    uint64_t *numbers;          /* number of each sample; NULL: consecutive numbers */
    bool lacks_numbers;         /* whether consecutive numbers are only a guess */
    /* block_ends[i] is the number of samples in the blocks 0 to i of the existing shard. (The codec
     * compressed each block separately.) The new shard gets the same blocks. NULL if the blocks are
     * not known. */
    uint64_t *block_ends;
    size_t block_count;
};

struct plan_shard {
    uint32_t split;
    uint32_t number;            /* within the split; counts from 0 */
    uint64_t sample, sample_count;
    uint64_t first;             /* number of its first sample within the split */
    const struct plan_made *made;       /* NULL: the shard did not exist before */
    uint64_t payload_bytes;
    uint64_t largest;           /* upper bound for the payload of its largest sample */
    /* Hash of the shard's source files, from their URLs and stamps (size and time, or ETag). 0 if
     * the plan was read from a file. */
    uint64_t source;
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
    /* Class names in byte order. If the plan appends to a data set, the classes of this data set
     * come first. */
    const char **classes;
    double *class_values;       /* label_base, label_base + 1, ... */
    /* Number of samples of each class, or NULL if unknown. Samples that have a field `cls` do not
     * count, because this field determines their class and is read only when they are packed. */
    uint64_t *class_samples;
    /* Memory for the names of classes that have a number but no name; such a class gets its number
     * as the name. NULL if each class has a name. */
    char *class_texts;
    uint32_t class_count;
    struct plan_split splits[SPLIT_LIMIT];
    uint32_t split_count;
    struct plan_shard *shards;
    size_t shard_count;
    char hash[PLAN_HASH_SIZE];      /* covers everything that determines the bytes; in the
                                       manifest */
    /* Hash over the plan hash, the source's root directory, and the stamps and URLs of the source
     * files. A run can resume an earlier run only if both have the same identity; see
     * plan_identify. */
    char identity[PLAN_HASH_SIZE];
    /* Hash over the plan hash and the source files of all shards. Packing stores it with
     * dataset.json: in an extended attribute of the file, or in a header of the object (see
     * PLAN.md). "" if unknown. */
    char origin[PLAN_HASH_SIZE];
};

void plan_free(struct plan *plan);

/* A block has the samples that are encoded as one job. Returns the end of the block that begins
 * with sample `first`: the number of the first sample after the block. The result is at most
 * `end`. */
uint64_t plan_block_end(const struct plan *plan, uint64_t first, uint64_t end);
/* Returns the end of the block that begins with sample `first` of `shard`: the number of the first
 * sample after the block. If the shard existed before and its blocks are known, it is divided into
 * the same blocks again. */
uint64_t plan_shard_block_end(const struct plan *plan, const struct plan_shard *shard,
                              uint64_t first);

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* A function that returns the size of sample number `sample`. */
typedef uint64_t plan_size_fn(void *context, uint64_t sample);
uint64_t plan_shard_count(uint64_t payload_bytes, uint64_t samples, uint64_t shard_bytes,
                          uint64_t shard_count);
/* Divides `count` samples into `shard_count` shards of similar size. starts[k] becomes the number
 * of the first sample of shard k, and starts[shard_count] becomes `count`. The function size_of()
 * returns the size of a sample, so that no array of sizes is needed. */
void plan_cut(plan_size_fn *size_of, void *context, uint64_t count, uint64_t payload_bytes,
              uint64_t shard_count, uint64_t *starts);

/* Compute the plan hash, which covers everything that determines the bytes of the output
 * (plan_hash.c). First call plan_hash_begin(). Then call plan_hash_shard() for each shard,
 * plan_hash_sample() for each sample of the shard, and plan_hash_file() for each file of the
 * sample. At the end call plan_hash_end(), which frees the state. plan_hash_begin() returns NULL if
 * memory is exhausted. */
struct XXH3_state_s *plan_hash_begin(const struct plan *plan,
                                     const struct sheaf_pack_options *options,
                                     uint64_t shard_count);
void plan_hash_shard(struct XXH3_state_s *state, const char *split, uint64_t number,
                     uint64_t sample_count);
void plan_hash_sample(struct XXH3_state_s *state, uint32_t label, uint32_t file_count);
void plan_hash_file(struct XXH3_state_s *state, const char *path, uint64_t bytes,
                    const char *text);
void plan_hash_end(struct XXH3_state_s *state, char hash[PLAN_HASH_SIZE]);

/* Marks in the plan hash that PNGs and other images except JPEGs are written as the feature
 * image/encoded. Must be called before plan_hash_end() if the plan packs such images as TFRecord.
 * Release 0.2 wrote a PNG as the feature "png", with the name of the field, so its data sets have
 * other bytes. Therefore the hash must also differ from the hash of release 0.2. */
void plan_hash_images(struct XXH3_state_s *state);

/* Adds one file to the hash over the source files of a shard. `source` is the hash so far, 0 at
 * first. `stamp` changes when the file changes. `url` is NULL unless the file is an object with a
 * URL of its own. Returns the new hash. */
uint64_t plan_source_add(uint64_t source, uint64_t stamp, const char *url);

/* Sets plan->identity, a hash of the plan hash, the root directory and, if `of_sources` is set, the
 * source files of all shards. Two plans with the same plan hash make the same bytes only if their
 * files are the same. Therefore a run that continues or joins another run compares the identity. */
void plan_identify(struct plan *plan, const char *root, bool of_sources);

/* Limit for sums of sizes in bytes. The limit makes sure that a sum of two sizes fits into 63
 * bits. */
#define PAYLOAD_LIMIT ((uint64_t)1 << 62)

/* Sets *good to whether files with the same key can form a sample. If `format` is not NULL, they
 * must also fit into one record of this container. If they cannot form a sample, records them as
 * problems. (plan_group.c) */
int plan_check_group(const struct catalog_file *files, uint32_t count,
                     const struct format_ops *format, struct problems *problems, bool *good,
                     struct sheaf_error *err);
/* Sets *good to whether no file of a sample is empty but named like a JPEG. If there is such a
 * file, records the files of the sample as problems, as packing would do. (plan_group.c) */
int plan_check_empty(const struct catalog_file *files, uint32_t count, struct problems *problems,
                     bool *good, struct sheaf_error *err);
/* Makes a sample from files with the same key. s->label is an index into the catalog's labels,
 * which are not in their final order yet. */
void plan_make_sample(const struct catalog_file *files, uint32_t count, struct plan_sample *s);

/* Gives numbers to the classes and sorts the labels. (plan_label.c) The arguments are:
 *
 * - used[i] is true if at least one sample has label i of the catalog.
 * - (*renamed)[i] becomes the index of label i in the plan. The caller frees this array.
 * - `grow` describes the data set to which samples are appended, or is NULL. The classes of this
 *   data set come first.
 * - `known` has the classes whose numbers the user has given, or is NULL.
 *
 * Returns SHEAF_ERR_UNSUPPORTED if the labels contradict `grow` or `known`. */
int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, const struct plan_grow *grow, const struct plan_classes *known,
                     uint32_t **renamed, struct sheaf_error *err);

/* Returns whether a label without a name consists of one value that is the number of a class. The
 * first class has the number label_base. (plan_label.c) */
bool plan_label_is_class(const struct catalog_label *label, int label_base, size_t class_count);

#endif
