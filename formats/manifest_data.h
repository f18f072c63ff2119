/* SPDX-License-Identifier: MIT
 *
 * Declares the structs for the content of a manifest (dataset.json). manifest.c reads and writes
 * them, and manifest_check.c checks them. */
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
    /* Offset of the shard's section of the index, in bytes. The offset counts through all index
     * files as if they were one file: first dataset.index, and then the index files of all
     * appends. */
    uint64_t index_offset;
    uint64_t index_bytes;
    /* checksum of the shard's section of the index (see index_sum), or "" if an older release wrote
     * the manifest */
    char index_xxh3[17];
    uint64_t names_bytes;       /* RecordIO: size of the shard's .lst; otherwise 0 */
};

/* One append to a data set. The struct records the state before the append (fingerprint, number of
 * shards, number of classes) and the options with which the new samples were packed. */
struct manifest_growth {
    char fingerprint[33];
    uint64_t shards, classes;
    char *options_json;
};

/* One edit of a data set. The struct records the state before the edit (fingerprint, number of
 * appends, number of samples), the changes that the edit made, and the names of the shards that
 * were replaced. */
struct manifest_edit {
    char fingerprint[33];
    char plan[33];              /* hash that identifies the edit */
    uint64_t grown, samples;
    /* The first packing made part 0 of the data set, and each append another part. This array has
     * one number for each of the `grown` + 1 parts: the number of samples that the part had when
     * its table of keys was first made. The table's number of buckets is computed from this number
     * (see key_table_make). */
    uint64_t *keyed;
    uint64_t deleted, relabelled, replaced;     /* samples */
    char **shards;
    size_t shard_count;
};

struct manifest {
    enum sheaf_container container;
    enum sheaf_codec codec;
    /* true if each shard is a single gzip member or LZ4 frame; false for shards of older releases,
     * and without a codec */
    bool single_member;
    /* true if our packer wrote the records; false if they are foreign shards that `sheaf index` has
     * described */
    bool ours;
    bool cls_is_label;          /* see format.h */
    bool joined;                /* sections of the index have pieces */
    int label_base;
    char **classes;             /* or NULL */
    size_t class_count;
    /* number of samples of each class; NULL if older releases did not count them, or if there are
     * no classes */
    uint64_t *class_samples;
    /* counts of the samples' fields; fields.is_unknown is set if an older release packed the data
     * set without counting them */
    struct tally fields;
    char *options_json;         /* the packer's options as a JSON object, or NULL */
    struct manifest_shard *shards;
    size_t shard_count;
    /* number of samples that have the same key as an earlier sample */
    uint64_t repeated_keys;
    /* Size of all sections of the index together, in bytes. If samples were never appended or
     * edited, this is the size of dataset.index. */
    uint64_t index_bytes;
    struct manifest_growth *growths;    /* the oldest first; NULL if nothing was appended */
    size_t growth_count;
    struct manifest_edit *edits;        /* the oldest first; NULL if nothing was edited */
    size_t edit_count;
    char fingerprint[33];       /* set by manifest_write and manifest_parse */
};

#endif
