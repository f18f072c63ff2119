/* SPDX-License-Identifier: MIT
 *
 * The internals of sheaf_packer, for a whole data set (packer.c) or for parts of one
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
    uint64_t samples, files;    /* samples and files that were appended; for a part, also those
                                   before its shard */
    uint64_t appended;          /* samples that were appended, including repeated ones */
    struct plan_file file;      /* for a part: its plan */
    bool is_part;
    bool can_resume;            /* whether finished shards remain after a failure */
    bool keys_differ;           /* whether the caller knows that all keys differ; the packer then
                                   does not remember them */
    const struct column_facts *column;  /* facts for the manifest of a column's layer; or NULL */
    bool is_there;              /* whether the whole data set was finished before, so that
                                   appended samples are skipped */

    const struct kept_features *kept;    /* kept features of the current sample; or NULL */
    struct packer_images *images;        /* NULL: images stay as they are */
    struct ready_sample *ready;          /* the sample that is being appended, or NULL */
    struct buf new_key;                  /* the key that it gets because its own is repeated */
    uint64_t duplicates;                 /* samples with repeated keys */
    struct slot *slot;          /* the open block; or NULL */
    struct block_need need;     /* needs of its samples */
    uint64_t block_cost;        /* as plan_block_end() counts */
    struct buf labels;          /* double[]: labels of the current sample, rounded */
    struct plan_shard shard;    /* the open shard: sample_count and payload so far */
    bool shard_done;            /* whether the next sample starts another shard */
    struct sheaf_error error;
};

/* Copies the texts to which the options and the caller point. */
int packer_copy_texts(struct sheaf_packer *p, const char *dest, struct sheaf_error *err);
/* Returns SHEAF_ERR_LIMIT if the memory is too small even for small samples in shards of about
 * `shard_bytes` (0: unknown). */
int packer_check_memory(const struct sheaf_packer *p, uint64_t shard_bytes,
                        struct sheaf_error *err);
/* Returns whether records of the container `to` can store the features that were kept from records
 * of `from` (0: they differ). */
bool packer_keeps(enum sheaf_container from, enum sheaf_container to);
/* Returns whether a sample without features is a record that TFRecord can store unchanged. */
bool packer_copies_record(const struct sheaf_sample *sample);
/* Returns the memory that the kept features take in addition to the text of their fields. `kept`
 * may be NULL. */
uint64_t packer_kept_bytes(const struct kept_features *kept);
/* Like sheaf_packer_append, with the features that were kept from the sample's record, or NULL. */
int packer_append_kept(struct sheaf_packer *p, const struct sheaf_sample *sample,
                       const struct kept_features *kept);
/* Opens a packer for the layer of a column, whose keys all differ. `facts` are borrowed, and may
 * change until sheaf_packer_finish. */
int packer_open_column(const char *dest, const struct sheaf_pack_options *options,
                       const struct column_facts *facts, struct sheaf_packer **packer,
                       struct sheaf_error *err);
/* Begins a group of samples whose images are converted or checked on several threads before the
 * samples are appended. Returns how many of the given samples the caller must add. Returns 0 if
 * images stay as they are, or if the samples are packed already. Without a group, append works on
 * one sample at a time. */
size_t packer_prepare(struct sheaf_packer *p, const struct sheaf_sample *samples, size_t count);
/* Adds a sample to the group. Samples must be appended in the order in which they were added, and
 * their data must not change. */
int packer_prepare_add(struct sheaf_packer *p, const struct sheaf_sample *sample);
void packer_prepare_run(struct sheaf_packer *p);
/* Tells that the next sample of the group will not be appended. */
void packer_prepare_skip(struct sheaf_packer *p);
/* Leaves out a sample and reports it as a problem of `path`. The sample's number is not used
 * again. */
int packer_leave_out(struct sheaf_packer *p, const struct sheaf_sample *sample, const char *path,
                     const struct sheaf_error *why);
/* Names the data sets that the samples are from, so that the new one keeps what they say of their
 * samples: manifest_inherit. The manifests are borrowed. */
void packer_inherit(struct sheaf_packer *p, const struct manifest *const *sources, size_t count,
                    bool whole);
/* Returns whether calls are allowed. The first error is kept. */
int packer_check_open(struct sheaf_packer *p);
/* Submits the open block. */
void packer_submit(struct sheaf_packer *p, bool ends_shard);
/* Checks that the current shard of a part has the planned samples. */
int packer_check_shard(struct sheaf_packer *p);
/* Opens a packer for shards of a conversion's plan. The caller starts each shard by its number and
 * appends its samples in order. `finish` waits for them, and sheaf_commit writes the manifest. Only
 * the options jobs, memory_bytes, progress and interrupt are used. Classes need not be set. */
int packer_open_part(const char *plan, uint32_t parts, const struct sheaf_pack_options *options,
                     struct sheaf_packer **packer, struct sheaf_error *err);
/* Begins shard `shard` of the plan with the next sample. Returns SHEAF_ERR_CHANGED if the previous
 * shard lacks some of its planned samples. */
int packer_begin_shard(struct sheaf_packer *packer, uint64_t shard);
/* For a part that failed with `code`: returns SHEAF_OK if other processes have meanwhile finished
 * the whole data set and removed the temporary files. */
int packer_unless_finished(struct sheaf_packer *p, int code);
void packer_stop(struct sheaf_packer *p);
/* Opens the engine for shards of about this many bytes (0: unknown). */
int packer_open_engine(struct sheaf_packer *p, uint64_t shard_bytes, struct sheaf_error *err);

#endif
