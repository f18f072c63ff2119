/* SPDX-License-Identifier: MIT
 *
 * Declares the internals of sheaf_packer, which packs samples from a program. The packer makes a
 * whole data set (packer.c) or some shards of a plan (packer_part.c). */
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
    /* `samples` is the number that the next appended sample gets. It counts all earlier samples,
     * including samples that were left out. If the packer packs a part of a plan, it also counts
     * earlier samples that other processes pack. `files` is the number of files of all appended
     * samples. */
    uint64_t samples, files;
    uint64_t appended;          /* samples that were appended, including repeated ones */
    /* The splits of a packer that writes several data sets one after another, and the text that
     * defines them; see packer_open_splits. `spec.count` is 0 if there are no splits. */
    struct split_spec spec;
    char *split;
    struct packer_split {       /* the splits that were finished */
        uint32_t shard_count;
        bool has_cls;
    } splits[SPLIT_LIMIT];
    struct plan_file file;      /* for a part: its plan */
    bool is_part;
    bool can_resume;            /* whether finished shards remain after a failure */
    /* true if the caller guarantees that no key is repeated; the packer then does not store the
     * keys */
    bool keys_differ;
    /* Facts for the manifest if the packer writes one layer of a column (the values of a new field
     * for a range of samples; see packer_open_column). Otherwise NULL. */
    const struct column_facts *column;
    /* true if an earlier run has already finished the whole data set; appended samples are then
     * ignored */
    bool is_there;

    const struct kept_features *kept;    /* kept features of the current sample; or NULL */
    struct packer_images *images;        /* NULL: images stay as they are */
    struct ready_sample *ready;          /* the sample that is being appended, or NULL */
    /* buffer for the new key, KEY-number, that a sample gets if its own key is repeated */
    struct buf new_key;
    uint64_t duplicates;                 /* samples with repeated keys */
    struct slot *slot;          /* the open block; or NULL */
    struct block_need need;     /* needs of its samples */
    uint64_t block_cost;        /* as plan_block_end() counts */
    struct buf labels;          /* double[]: labels of the current sample, rounded */
    /* array of double: the numbers in the field `cls` of the current sample */
    struct buf numbers;
    struct plan_shard shard;    /* the open shard: sample_count and payload so far */
    bool shard_done;            /* whether the next sample starts another shard */
    struct sheaf_error error;
};

/* Copies `dest`, and all texts to which the options point, so that the packer owns them. */
int packer_copy_texts(struct sheaf_packer *p, const char *dest, struct sheaf_error *err);
/* Returns SHEAF_ERR_LIMIT if the memory limit is too small even for small samples. `shard_bytes` is
 * the approximate size of a shard, or 0 if unknown. */
int packer_check_memory(const struct sheaf_packer *p, uint64_t shard_bytes,
                        struct sheaf_error *err);
/* A TFRecord Example consists of features. Returns whether the packer keeps features, that is,
 * writes them unchanged, when it converts samples from the container `from` to the container `to`.
 * `from` is 0 if the samples come from different containers. */
bool packer_keeps(enum sheaf_container from, enum sheaf_container to);
/* Returns whether the only field of the sample is a whole record of a foreign shard. A packer of
 * TFRecord stores such a record unchanged. */
bool packer_copies_record(const struct sheaf_sample *sample);
/* Kept features are parts of the TFRecord Example from which a sample was read. Returns the bytes
 * of memory that they take. Bytes that belong to the sample's fields as well do not count. `kept`
 * may be NULL. */
uint64_t packer_kept_bytes(const struct kept_features *kept);
/* Appends a sample like sheaf_packer_append(). `kept` has the features (parts of a TFRecord
 * Example) of the record from which the sample was read, or is NULL. These features are written
 * unchanged if possible. */
int packer_append_kept(struct sheaf_packer *p, const struct sheaf_sample *sample,
                       const struct kept_features *kept);
/* Opens a packer that writes values of a column. A column adds a field to a data set, and is stored
 * as layers. Each layer is a data set in the directory columns/NAME with the values for a range of
 * samples. The packer writes one layer. No key may be repeated. The packer keeps the pointer
 * `facts`, and the caller may change the facts until sheaf_packer_finish(). */
int packer_open_column(const char *dest, const struct sheaf_pack_options *options,
                       const struct column_facts *facts, struct sheaf_packer **packer,
                       struct sheaf_error *err);
/* Opens a packer that writes several splits, which become visible together. options->split defines
 * them. Each split is a data set in its own subdirectory of `dest`. The caller must begin each
 * split with packer_begin_split before it appends the first sample of the split. The splits must
 * come in the order of the definition. A key that occurs in one split counts as repeated in all
 * later splits. Such a run cannot be resumed. (packer_split.c) */
int packer_open_splits(const char *dest, const struct sheaf_pack_options *options,
                       struct sheaf_packer **packer, struct sheaf_error *err);
/* Ends the current split, and begins split number `split` (from 0). If the packer no longer accepts
 * calls, returns its first error. */
int packer_begin_split(struct sheaf_packer *p, uint32_t split);
/* Notes the number of shards of the current split. */
void packer_end_split(struct sheaf_packer *p);
/* Opens the output of the packer, with a subdirectory for each split if there are splits. */
int packer_open_output(struct sheaf_packer *p, struct sheaf_error *err);
/* Begins a group of samples, whose images are converted or checked on several threads before the
 * samples are appended. Without a group, each append handles the images of its own sample.
 *
 * Returns the number n of samples in the group. The group is the first n of the `count` samples,
 * and the caller must add each of them with packer_prepare_add(). Returns 0 if the images need no
 * work, or if an earlier run has already packed the samples. */
size_t packer_prepare(struct sheaf_packer *p, const struct sheaf_sample *samples, size_t count);
/* Adds a sample to the group whose images are prepared together. The caller must append the samples
 * in the order in which it added them, and must not change their data. */
int packer_prepare_add(struct sheaf_packer *p, const struct sheaf_sample *sample);
void packer_prepare_run(struct sheaf_packer *p);
/* Skips the next sample of the group of prepared samples, because the caller will not append it. */
void packer_prepare_skip(struct sheaf_packer *p);
/* Leaves out a sample, and reports it as a problem of the file `path`. The number of the sample
 * stays unused. */
int packer_leave_out(struct sheaf_packer *p, const struct sheaf_sample *sample, const char *path,
                     const struct sheaf_error *why);
/* Tells the packer from which data sets the samples are read. The new manifest then inherits facts
 * about the samples from their manifests (see manifest_inherit). The manifests must stay valid
 * until the packer is freed. */
void packer_inherit(struct sheaf_packer *p, const struct manifest *const *sources, size_t count,
                    bool whole);
/* Returns the samples that have no label because their field `cls` does not consist of numbers.
 * (packer_cls.c) */
const struct cls_words *packer_unread_labels(const struct sheaf_packer *p);
/* Sets *is_word to whether the sample has a field `cls` that does not consist of numbers.
 * (packer_cls.c) */
int packer_look_at_cls(struct sheaf_packer *p, const struct sheaf_sample *sample, bool *is_word);
/* packer_keys.c */
/* Checks the key of a sample. If an earlier sample has the same key, there are three possibilities:
 * the sample gets a new key, the caller must leave it out, or the function returns an error. If
 * this process packs a part of a plan, the plan decides. Otherwise the option duplicate_keys
 * decides. Returns SHEAF_END if the caller must leave out the sample. p->error then says why. */
int packer_take_key(struct sheaf_packer *p, struct sheaf_sample *sample);
/* Adds the key of a packed sample to the keys that later samples must not have. */
void packer_remember_key(struct sheaf_packer *p, const char *key);
/* Replaces the content of `out` by KEY-number, the new key of a sample with a repeated key. */
int packer_numbered_key(struct buf *out, const char *key, uint64_t number,
                        struct sheaf_error *err);
/* packer_shard.c */
/* Returns SHEAF_OK if the packer still accepts calls, and otherwise the first error that it had. */
int packer_check_open(struct sheaf_packer *p);
/* Submits the open block. */
void packer_submit(struct sheaf_packer *p, bool ends_shard);
/* Begins the shard after the current one. */
void packer_next_shard(struct sheaf_packer *p);
/* Returns an error unless the current shard of a planned conversion has the number of samples that
 * the plan states. */
int packer_check_shard(struct sheaf_packer *p);
/* Stops all current work, and closes the engine. Finished shards remain. */
void packer_stop(struct sheaf_packer *p);
/* Called after a step with the result `code`. Returns SHEAF_OK if the process packs a part of a
 * plan and its failure does not matter (see destination_excuses). Otherwise returns `code`. */
int packer_unless_finished(struct sheaf_packer *p, int code);
/* Opens a packer for some shards of a planned conversion. The caller begins each shard by its
 * number and appends its samples in order. sheaf_packer_finish() waits until the shards are
 * written. Later sheaf_commit() writes the manifest.
 *
 * The plan contains most options. Only jobs, memory_bytes, progress and interrupt are taken from
 * `options`. Class names need not be set. */
int packer_open_part(const char *plan, uint32_t parts, const struct sheaf_pack_options *options,
                     struct sheaf_packer **packer, struct sheaf_error *err);
/* Begins shard number `shard` of the plan. The samples that are appended next belong to it. Returns
 * SHEAF_ERR_CHANGED if the previous shard has fewer samples than planned. */
int packer_begin_shard(struct sheaf_packer *packer, uint64_t shard);
/* Ends the current shard like sheaf_packer_cut_at(), and waits until it is finished. `place` is the
 * caller's position in its own input, and is stored with the shard. If the process is killed
 * afterwards, this shard need not be packed again. */
int packer_finish_shard(struct sheaf_packer *packer, uint64_t place);
/* Publishes the finished shards as a data set, or as one data set for each split.
 * (packer_publish.c) */
int packer_publish(struct sheaf_packer *p);
/* Opens the engine, which encodes and writes shards. `shard_bytes` is the approximate size of a
 * shard, or 0 if unknown. */
int packer_open_engine(struct sheaf_packer *p, uint64_t shard_bytes, struct sheaf_error *err);

#endif
