/* SPDX-License-Identifier: MIT
 *
 * The plan: the samples, their order, and their division into shards. A plan depends only on the
 * source's files and the options (planner.h makes it). The plan and the content of the files
 * determine every byte of the output.
 *
 * A plan consists of splits ("train", "val"), a split of shards, a shard of blocks, and a block of
 * samples. A sample has a range of the plan's files, in byte order of their suffixes.
 *
 * A shard depends only on its own range of samples, so parts of a plan may be packed anywhere, in
 * any order. This struct holds samples and files only if it has one shard or a few shards (see
 * plan_batch.h). The samples of a whole plan are stored in sections (see plan_section.h). */
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

/* A block (a job of consecutive samples) ends when the sizes of its files, plus BLOCK_FILE_BYTES
 * for each file, add up to BLOCK_BYTES or more. */
#define BLOCK_BYTES      ((uint64_t)4 << 20)
#define BLOCK_FILE_BYTES ((uint64_t)512)

struct plan_sample {
    uint64_t payload_bytes;
    uint32_t file, file_count;  /* a range of plan.files */
    uint32_t label;             /* an index of plan.labels */
    uint16_t split;
    /* whether the sample has a field `cls`; if the field contains numbers, they are the sample's
     * labels */
    bool has_cls;
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
    /* hash of the shard's source files: of their URLs and their stamps (size and time, or ETag); 0
     * in a stored plan */
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
    /* class names in byte order; if the plan appends to a data set, the classes of the data set
     * come first */
    const char **classes;
    double *class_values;       /* label_base, label_base + 1, ... */
    /* number of samples of each class, not counting samples with a file .cls; or NULL */
    uint64_t *class_samples;
    /* memory for the names of classes that are named by their numbers; or NULL */
    char *class_texts;
    uint32_t class_count;
    struct plan_split splits[SPLIT_LIMIT];
    uint32_t split_count;
    struct plan_shard *shards;
    size_t shard_count;
    char hash[PLAN_HASH_SIZE];      /* covers everything that determines the bytes; in the
                                       manifest */
    /* hash over the plan hash, the source's root, and the stamps and URLs of the source files; see
     * plan_identify */
    char identity[PLAN_HASH_SIZE];
    /* hash over the plan hash and the source files of all shards; stored in the manifest; "" if it
     * is unknown */
    char origin[PLAN_HASH_SIZE];
};

void plan_free(struct plan *plan);

/* Returns the number of the sample at which a block ends that begins with sample `first`. The
 * result is at most `end`. */
uint64_t plan_block_end(const struct plan *plan, uint64_t first, uint64_t end);

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* The type of a function that returns the size of a sample. */
typedef uint64_t plan_size_fn(void *context, uint64_t sample);
uint64_t plan_shard_count(uint64_t payload_bytes, uint64_t samples, uint64_t shard_bytes,
                          uint64_t shard_count);
/* Divides `count` samples into `shard_count` shards. The function size_of returns the size of a
 * sample, so that no array of sizes is needed. starts[k] becomes the first sample of shard k, and
 * starts[shard_count] becomes `count`. */
void plan_cut(plan_size_fn *size_of, void *context, uint64_t count, uint64_t payload_bytes,
              uint64_t shard_count, uint64_t *starts);

/* The plan hash covers everything that determines the bytes of the output (plan_hash.c). First call
 * plan_hash_begin. Then call _shard for each shard, _sample for each sample of the shard, and _file
 * for each file of the sample. At the end call _end, which frees the state. plan_hash_begin returns
 * NULL if memory is exhausted. */
struct XXH3_state_s *plan_hash_begin(const struct plan *plan,
                                     const struct sheaf_pack_options *options,
                                     uint64_t shard_count);
void plan_hash_shard(struct XXH3_state_s *state, const char *split, uint64_t number,
                     uint64_t sample_count);
void plan_hash_sample(struct XXH3_state_s *state, uint32_t label, uint32_t file_count);
void plan_hash_file(struct XXH3_state_s *state, const char *path, uint64_t bytes,
                    const char *text);
void plan_hash_end(struct XXH3_state_s *state, char hash[PLAN_HASH_SIZE]);

/* Called before plan_hash_end for a plan that packs images other than JPEGs as TFRecord. Release
 * 0.2 wrote such an image as a feature with the name of its suffix, and not as image/encoded. */
void plan_hash_images(struct XXH3_state_s *state);

/* Adds one file, by its stamp and URL, to the hash over the source files of a shard. `source` is
 * the hash so far, 0 at first. `url` is NULL unless the file is an object with a URL of its own.
 * Returns the new hash. */
uint64_t plan_source_add(uint64_t source, uint64_t stamp, const char *url);

/* Sets the plan's identity, which is a hash of the plan hash, the root, and (if `of_sources` is
 * set) the sources of all shards. Two plans with the same plan hash make the same bytes only if
 * their files are the same. Therefore a run that continues the shards of another run, or joins
 * another run, compares the identity. */
void plan_identify(struct plan *plan, const char *root, bool of_sources);

/* Limit for sums of sizes, which makes sure that a sum fits into 63 bits. */
#define PAYLOAD_LIMIT ((uint64_t)1 << 62)

/* Sets *good to whether the files with one key can form a sample. If not, records the files as
 * problems. If `format` is not NULL, the files must also fit into one record of this container.
 * (plan_group.c) */
int plan_check_group(const struct catalog_file *files, uint32_t count,
                     const struct format_ops *format, struct problems *problems, bool *good,
                     struct sheaf_error *err);
/* Makes a sample of these files. The sample's label is an index into the catalog's labels. */
void plan_make_sample(const struct catalog_file *files, uint32_t count, struct plan_sample *s);

/* Numbers the classes and sorts the labels. used[i] tells whether a sample has label i of the
 * catalog. (*renamed)[i] becomes the index of this label in the plan; the caller frees the array.
 * `grow` (or NULL) has the labels of the data set to which samples are appended; its classes come
 * first. `known` (or NULL) has classes whose numbers are given. Returns SHEAF_ERR_UNSUPPORTED if
 * the labels contradict `grow` or `known`. (plan_label.c) */
int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, const struct plan_grow *grow, const struct plan_classes *known,
                     uint32_t **renamed, struct sheaf_error *err);

#endif
