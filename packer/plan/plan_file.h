/* SPDX-License-Identifier: MIT
 *
 * Writes and reads stored plans, which many machines can pack. PLAN.md specifies the format. A
 * stored plan is one file or object, and is written from start to end. A machine that packs some of
 * its shards reads only the end of the file and the sections of these shards. */
#ifndef PACKER_PLAN_PLAN_FILE_H
#define PACKER_PLAN_PLAN_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_record.h"
#include "packer/plan/plan_section.h"
#include "store/store.h"

/* Used for a conversion: a sample of the source data set with the key of an earlier sample. */
struct plan_repeat {
    uint64_t sample;            /* its number in the data set */
    /* number in the new key of the sample, "KEY-number"; 0 if the sample is left out */
    uint64_t number;
};

/* The facts about a whole plan, without its samples. If the plan was read from a file, the texts
 * lie in `arena`. */
struct plan_facts {
    const char *dest;           /* an absolute path, or a URL */
    /* beginning of the paths of all source files, such as a directory; "" if the paths are complete
     * URLs */
    const char *root;
    const char *source;         /* kind of the source, as in the manifest */
    /* Fingerprint of the data set at `root`, if the plan is for a conversion of this data set. ""
     * if the plan is for packing files. */
    const char *fingerprint;
    bool is_remote;             /* whether the files are objects */
    /* Options with which the plan was made. If the facts were read from a plan file, only the
     * options that plan_facts_give() copies are set. `index` is "" for none. */
    struct sheaf_pack_options options;
    const char *options_json[SPLIT_LIMIT];      /* options for the manifest of each split */
    const char *skipped;        /* lines of skipped.tsv from planning */
    size_t skipped_bytes;
    uint64_t found;             /* files in the source */
    uint64_t files;             /* files in the plan */
    /* The plan's labels, splits, shards and hash, but not its samples and files.
     * plan.shards[i].sample is the number of shard i's first sample in the whole plan. */
    struct plan plan;
    const char *libraries;      /* as image_libraries(); "" if images are not converted */
    /* cls_looked: number of fields `cls` that planning has examined. cls_words: number of these
     * fields that do not consist of numbers. */
    uint64_t cls_looked, cls_words;
    const struct plan_repeat *repeats;  /* in order of the samples */
    size_t repeat_count;
    struct arena arena;
};

/* ---- Writing (plan_file_write.c) ------------------------------------------------------------- */

/* Begins to write a plan file, so that a caller whose plan cannot be stored finds this out before
 * it changes the destination. Sets *out to the writer of the file. */
int plan_file_create(const char *url, struct store_writer **out, struct sheaf_error *err);
/* Writes the whole plan file, and makes it visible. `sections` has a section for each shard of
 * facts->plan, in order. It is NULL if the plan stores no samples. Frees `out` even after an
 * error. */
int plan_file_write(struct store_writer *out, const struct plan_facts *facts,
                    const struct plan_sections *sections, struct sheaf_error *err);

/* ---- Reading (plan_file_read.c) -------------------------------------------------------------- */

struct plan_file {
    struct store_object *object;
    uint32_t version;
    struct plan_facts facts;
    struct plan_section *sections;
};

/* Reads everything except the sections. */
int plan_file_open(const char *url, struct plan_file *file, struct sheaf_error *err);
void plan_file_close(struct plan_file *file);

/* Returns a struct with which plan_rows_load() reads the samples of a stored plan, a few shards at
 * a time. */
struct plan_rows plan_file_rows(const struct plan_file *file);

/* Returns whether the object begins as a plan does. */
bool plan_file_is(const char *url);

/* ---- Bytes ----------------------------------------------------------------------------------- */

#define PLAN_FILE_MAGIC   "SHEAFPLN"
#define PLAN_FILE_END     "NLPFAEHS"
/* Version of plan files that this release writes. This release also reads versions 1 to 3. Version
 * 1 has no identity (see plan_identify), version 2 has no facts about images, and version 3 has no
 * options about skipped files. */
#define PLAN_FILE_VERSION 4u
#define PLAN_HEAD_BYTES   16u
#define PLAN_ENTRY_BYTES  48u       /* of the table */
#define PLAN_FOOT_BYTES   64u
#define PLAN_FACTS_LIMIT  ((uint64_t)1 << 30)

/* plan_facts.c */
/* Sets the options and libraries of `facts`. The texts still belong to `options`. */
void plan_facts_take(struct plan_facts *facts, const struct sheaf_pack_options *options);
/* Sets the options that a plan file stores to their values in `facts`, whose texts they then use.
 * Keeps the other options. */
void plan_facts_give(const struct plan_facts *facts, struct sheaf_pack_options *options);
/* Returns whether the plan is for a column, which adds a field to an existing data set (see
 * formats/column_record.h). */
bool plan_facts_is_column(const struct plan_facts *facts);
/* Returns the element of `repeats` for the sample with this number. Returns NULL if no earlier
 * sample has the key of this sample. */
const struct plan_repeat *plan_facts_repeat(const struct plan_facts *facts, uint64_t sample);
int plan_facts_write(const struct plan_facts *facts, struct buf *out, struct sheaf_error *err);
int plan_facts_read(const uint8_t *data, size_t size, uint32_t version, struct plan_facts *facts,
                    struct sheaf_error *err);
void plan_facts_free(struct plan_facts *facts);

#endif
