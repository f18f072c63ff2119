/* SPDX-License-Identifier: MIT
 *
 * The content of dataset.json as structs. manifest.c reads and writes them, and manifest_check.c
 * checks them. */
#ifndef FORMATS_MANIFEST_DATA_H
#define FORMATS_MANIFEST_DATA_H

#include <stdbool.h>

#include "formats/tally.h"
#include "sheaf.h"

#define SHARD_LIMIT   10000000u             /* shards of a data set */

struct manifest_shard {
    char *name;
    uint64_t bytes;             /* stored */
    uint64_t raw_bytes;         /* container bytes; equal to `bytes` without a codec */
    uint64_t payload_bytes;
    uint64_t samples;
    uint64_t largest;           /* frame size of the largest sample in bytes */
    char xxh3[33];              /* XXH3-128 of the stored bytes in canonical form, hexadecimal */
    /* offset of the shard's section of the index in the concatenation of dataset.index and the
     * index files of all appends */
    uint64_t index_offset;
    uint64_t index_bytes;
    /* checksum of the shard's index section (see index_sum); "" in a manifest of an older
     * release */
    char index_xxh3[17];
    uint64_t names_bytes;       /* RecordIO: size of the shard's .lst; otherwise 0 */
};

/* An append: the state of the data set before it (fingerprint, number of shards, number of
 * classes), and the options with which the new samples were packed. */
struct manifest_growth {
    char fingerprint[33];
    uint64_t shards, classes;
    char *options_json;
};

/* An edit: the state of the data set before it (fingerprint, number of appends, number of samples),
 * the changes that the edit made, and the names of the shards that were replaced. */
struct manifest_edit {
    char fingerprint[33];
    char plan[33];              /* hash that identifies the edit */
    uint64_t grown, samples;
    /* array of grown + 1 numbers, one for each part of the data set (the first packing and each
     * append): the number of samples for which the part's table of keys was first made. It
     * determines the table's number of buckets (see key_table_make). */
    uint64_t *keyed;
    uint64_t deleted, relabelled, replaced;     /* samples */
    char **shards;
    size_t shard_count;
};

struct manifest {
    enum sheaf_container container;
    enum sheaf_codec codec;
    /* whether each shard is a single member or frame of the codec; false for shards of older
     * releases, and if there is no codec */
    bool single_member;
    /* whether our packer wrote the records; false if `sheaf index` has described existing shards */
    bool ours;
    bool cls_is_label;          /* see format.h */
    bool joined;                /* sections of the index have pieces */
    int label_base;
    char **classes;             /* or NULL */
    size_t class_count;
    /* number of samples of each class; NULL if unknown or if there are no classes */
    uint64_t *class_samples;
    /* counts of the fields; is_unknown is set if an older release packed the data set and did
     * not count them */
    struct tally fields;
    char *options_json;         /* the packer's options as a JSON object, or NULL */
    struct manifest_shard *shards;
    size_t shard_count;
    /* number of samples whose key an earlier sample also has */
    uint64_t repeated_keys;
    /* size of all index sections together, which is the size of dataset.index unless samples
     * were appended or edited */
    uint64_t index_bytes;
    struct manifest_growth *growths;    /* the oldest first; NULL if nothing was appended */
    size_t growth_count;
    struct manifest_edit *edits;        /* the oldest first; NULL if nothing was edited */
    size_t edit_count;
    char fingerprint[33];       /* set by manifest_write and manifest_parse */
};

#endif
