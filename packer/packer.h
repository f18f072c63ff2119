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
    struct keyset kept_keys;    /* of the shards that sheaf_packer_skip has passed over */
    struct resumed resumed;     /* none but with an identity and resume */
    enum { PACKER_OPEN, PACKER_FINISHED, PACKER_FAILED } state;
    bool engine_open;
    char **classes;
    size_t class_count, longest_class;
    struct class_names class_names;     /* the samples' own, unless they were set */
    bool has_cls;               /* some sample has a field `cls` of its own */
    uint64_t samples, files;    /* that came in; of a part, those before its shard, too */
    uint64_t appended;          /* samples that came in, in any case */
    struct plan_file file;      /* of a part: its plan */
    bool is_part;
    bool can_resume;            /* what is finished stays after a failure */
    bool is_there;              /* the whole data set was finished before: what is appended is
                                   passed over */

    const struct kept_features *kept;    /* of the sample that is being appended; or NULL */
    struct packer_images *images;        /* NULL: images stay as they are */
    struct ready_sample *ready;          /* the sample that is being appended, or NULL */
    struct buf new_key;                  /* the key that it gets because its own is repeated */
    uint64_t duplicates;                 /* samples with repeated keys */
    struct slot *slot;          /* the open block; NULL: none */
    struct block_need need;     /* of what is in it */
    uint64_t block_cost;        /* as plan_block_end() counts */
    struct buf labels;          /* double[]: those of the sample that is being appended, rounded */
    struct plan_shard shard;    /* the open one: sample_count and payload so far */
    bool shard_done;            /* the next sample starts another one */
    struct sheaf_error error;
};

/* Takes copies of what the options and the caller point to. */
int packer_copy_texts(struct sheaf_packer *p, const char *dest, struct sheaf_error *err);
/* SHEAF_ERR_LIMIT: with so little memory not even small samples could be packed, into shards of
 * about this many bytes (0: not known). */
int packer_check_memory(const struct sheaf_packer *p, uint64_t shard_bytes,
                        struct sheaf_error *err);
/* Whether records of the container `to` can have again what was kept of records of `from` (0: they
 * differ). */
bool packer_keeps(enum sheaf_container from, enum sheaf_container to);
/* What these take beyond the text that their fields have; NULL: nothing. */
uint64_t packer_kept_bytes(const struct kept_features *kept);
/* sheaf_packer_append, with what was kept of the sample's record, or NULL. */
int packer_append_kept(struct sheaf_packer *p, const struct sheaf_sample *sample,
                       const struct kept_features *kept);
/* Says that the images of samples are to be converted or checked on several threads at once, before
 * the samples are appended.  Returns how many of the given samples to add; 0 if images stay as they
 * are, or if the samples are packed already.  Otherwise append works on one sample at a time. */
size_t packer_prepare(struct sheaf_packer *p, const struct sheaf_sample *samples, size_t count);
/* Adds the sample that is appended next, or after those added before, with its data unchanged. */
int packer_prepare_add(struct sheaf_packer *p, const struct sheaf_sample *sample);
void packer_prepare_run(struct sheaf_packer *p);
/* Says that a sample that was added is not appended. */
void packer_prepare_skip(struct sheaf_packer *p);
/* Leaves out a sample in its place, as a problem of `path`. */
int packer_leave_out(struct sheaf_packer *p, const struct sheaf_sample *sample, const char *path,
                     const struct sheaf_error *why);
/* Whether calls are allowed; the first error is kept. */
int packer_check_open(struct sheaf_packer *p);
/* Gives the open block away. */
void packer_submit(struct sheaf_packer *p, bool ends_shard);
/* That the shard of a part that is under way has what the plan says. */
int packer_check_shard(struct sheaf_packer *p);
/* A packer for the shards of a conversion's plan: start each shard by its number and append its
 * samples in order; finish waits for them, and sheaf_commit writes the manifest.  Only jobs,
 * memory_bytes, progress and interrupt of the options are used.  Classes need not be set. */
int packer_open_part(const char *plan, uint32_t parts, const struct sheaf_pack_options *options,
                     struct sheaf_packer **packer, struct sheaf_error *err);
/* The next sample is the first of shard `shard` of the plan.  SHEAF_ERR_CHANGED: the previous shard
 * lacks some of its planned samples. */
int packer_begin_shard(struct sheaf_packer *packer, uint64_t shard);
/* Of a part that has failed with `code`: SHEAF_OK if others have finished the whole meanwhile, and
 * have cleaned up behind it. */
int packer_unless_finished(struct sheaf_packer *p, int code);
void packer_stop(struct sheaf_packer *p);
/* Opens the engine for shards of about this many bytes (0: not known). */
int packer_open_engine(struct sheaf_packer *p, uint64_t shard_bytes, struct sheaf_error *err);

#endif
