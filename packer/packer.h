/* SPDX-License-Identifier: MIT
 *
 * The internals of sheaf_packer. It packs a whole data set (packer.c) or some parts of a plan
 * (packer_part.c). */
#ifndef PACKER_PACKER_H
#define PACKER_PACKER_H

#include "packer/class_names.h"
#include "packer/engine.h"
#include "packer/pack_options.h"
#include "packer/packer_images.h"
#include "base/keyset.h"
#include "formats/column_record.h"
#include "packer/plan/plan_file.h"
#include "packer/resumed.h"
#include "store/scopes.h"

struct sheaf_packer {
    struct sheaf_pack_options options;
    char *dest, *prefix, *index;
    struct problems problems, converted;
    struct watch watch;
    struct block_setup setup;
    struct output output;
    struct store_scopes scopes;
    struct engine engine;
    struct keyset keys;
    struct keyset kept_keys;    /* keys in the shards that sheaf_packer_skip skipped */
    struct resumed resumed;     /* empty without an identity and resume */
    enum { PACKER_OPEN, PACKER_FINISHED, PACKER_FAILED } state;
    bool engine_open;
    char **classes;
    size_t class_count, longest_class;
    struct class_names class_names;     /* names from the samples, unless the caller set names */
    const struct manifest *const *inherits;     /* of the data sets that the samples are from, */
    size_t inherits_count;      /* borrowed; packer_inherit */
    bool inherits_whole;
    bool has_cls;               /* whether a sample has a field `cls` */
    /* number of samples appended so far, and number of their files; if the packer packs one part of
     * a plan, both numbers also include the planned samples before the current shard */
    uint64_t samples, files;
    uint64_t appended;          /* samples that were appended, including repeated ones */
    struct plan_file file;      /* for a part: its plan */
    bool is_part;
    bool can_resume;            /* whether finished shards remain after a failure */
    /* whether the caller guarantees that all keys differ; the packer then does not store them */
    bool keys_differ;
    /* the facts for the manifest, if the packer writes a layer of a column (the values of a new
     * field for a range of samples; see packer_open_column); otherwise NULL */
    const struct column_facts *column;
    /* whether an earlier run finished the whole data set, so that appended samples are ignored */
    bool is_there;

    const struct kept_features *kept;    /* kept features of the current sample; or NULL */
    struct packer_images *images;        /* NULL: images stay as they are */
    struct ready_sample *ready;          /* the sample that is being appended, or NULL */
    /* if the key of a sample is repeated: the new key that the sample gets instead */
    struct buf new_key;
    uint64_t duplicates;                 /* samples with repeated keys */
    struct slot *slot;          /* the open block; or NULL */
    struct block_need need;     /* needs of its samples */
    uint64_t block_cost;        /* as plan_block_end() counts */
    struct buf labels;          /* double[]: labels of the current sample, rounded */
    struct plan_shard shard;    /* the open shard: sample_count and payload so far */
    bool shard_done;            /* whether the next sample starts another shard */
    struct sheaf_error error;
};

/* Copies the texts of the options and the caller's other texts into the packer. */
int packer_copy_texts(struct sheaf_packer *p, const char *dest, struct sheaf_error *err);
/* Returns SHEAF_ERR_LIMIT if the memory is too small even for small samples. `shard_bytes` is the
 * approximate size of a shard, or 0 if unknown. */
int packer_check_memory(const struct sheaf_packer *p, uint64_t shard_bytes,
                        struct sheaf_error *err);
/* Returns whether records of the container `to` can store the features that were kept from records
 * of the container `from`. `from` is 0 if the sources have different containers. */
bool packer_keeps(enum sheaf_container from, enum sheaf_container to);
/* Returns whether the sample is an opaque record without features, which TFRecord can store
 * unchanged. */
bool packer_copies_record(const struct sheaf_sample *sample);
/* Returns the memory for the features that were kept from a record, not including the bytes that
 * the sample's fields have as well. `kept` may be NULL. */
uint64_t packer_kept_bytes(const struct kept_features *kept);
/* Appends a sample, with the results of sheaf_packer_append. `kept` has the features that were kept
 * from the sample's record, or is NULL. */
int packer_append_kept(struct sheaf_packer *p, const struct sheaf_sample *sample,
                       const struct kept_features *kept);
/* Opens a packer that writes one layer of a column. A layer is a data set in the directory
 * columns/NAME, with the values for a range of the samples of the base data set; a column consists
 * of such layers. All keys must differ. The packer keeps the pointer `facts`; the caller may change
 * the facts until sheaf_packer_finish. */
int packer_open_column(const char *dest, const struct sheaf_pack_options *options,
                       const struct column_facts *facts, struct sheaf_packer **packer,
                       struct sheaf_error *err);
/* Begins a group of samples whose images are converted or checked on several threads before the
 * samples are appended. Returns the number n of samples in the group: the group is the first n of
 * the `count` given samples, and the caller must add these n samples with packer_prepare_add.
 * Returns 0 if images need no work, or if the samples are already packed. Without a group, each
 * append handles the images of one sample. */
size_t packer_prepare(struct sheaf_packer *p, const struct sheaf_sample *samples, size_t count);
/* Adds a sample to the group. Samples must be appended in the order in which they were added, and
 * their data must not change. */
int packer_prepare_add(struct sheaf_packer *p, const struct sheaf_sample *sample);
void packer_prepare_run(struct sheaf_packer *p);
/* Skips the next sample of the group, because the caller will not append it. */
void packer_prepare_skip(struct sheaf_packer *p);
/* Leaves out a sample and reports it as a problem of the file `path`. The number of the sample is
 * not used for another sample. */
int packer_leave_out(struct sheaf_packer *p, const struct sheaf_sample *sample, const char *path,
                     const struct sheaf_error *why);
/* Tells the packer which data sets the samples are read from. The new data set then inherits what
 * their manifests state about the samples (see manifest_inherit). The manifests are borrowed. */
void packer_inherit(struct sheaf_packer *p, const struct manifest *const *sources, size_t count,
                    bool whole);
/* Returns SHEAF_OK if the packer still accepts calls, and otherwise its first error. */
int packer_check_open(struct sheaf_packer *p);
/* Submits the open block. */
void packer_submit(struct sheaf_packer *p, bool ends_shard);
/* Checks that the present shard of a part has as many samples as the plan states. */
int packer_check_shard(struct sheaf_packer *p);
/* Opens a packer for some shards of a conversion's plan. The caller begins each shard by its number
 * and appends its samples in order. sheaf_packer_finish waits until they are written; sheaf_commit
 * later writes the manifest. Of the options, only jobs, memory_bytes, progress and interrupt are
 * used. Class names need not be set. */
int packer_open_part(const char *plan, uint32_t parts, const struct sheaf_pack_options *options,
                     struct sheaf_packer **packer, struct sheaf_error *err);
/* Begins shard number `shard` of the plan, to which the next sample belongs. Returns
 * SHEAF_ERR_CHANGED if the previous shard has fewer samples than planned. */
int packer_begin_shard(struct sheaf_packer *packer, uint64_t shard);
/* Ends the present shard like sheaf_packer_cut_at, and waits until the shard is finished. If the
 * process is killed afterwards, the shard need not be packed again. */
int packer_finish_shard(struct sheaf_packer *packer, uint64_t place);
/* Called for a part that failed with `code`. Returns SHEAF_OK if the failure does not matter,
 * because other processes have finished the whole data set and removed the temporary files.
 * Otherwise returns `code`. */
int packer_unless_finished(struct sheaf_packer *p, int code);
void packer_stop(struct sheaf_packer *p);
/* Opens the engine for shards of about `shard_bytes` bytes; 0 means that the size is unknown. */
int packer_open_engine(struct sheaf_packer *p, uint64_t shard_bytes, struct sheaf_error *err);

#endif
