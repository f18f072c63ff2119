/* SPDX-License-Identifier: MIT
 *
 * The contents of dataset.json as structs: manifest.c reads and writes them, and manifest_check.c
 * checks them. */
#ifndef FORMATS_MANIFEST_DATA_H
#define FORMATS_MANIFEST_DATA_H

#include <stdbool.h>

#include "sheaf.h"

#define SHARD_LIMIT   10000000u             /* shards of a data set */

struct manifest_shard {
    char *name;
    uint64_t bytes;             /* stored */
    uint64_t raw_bytes;         /* container bytes; == bytes without a codec */
    uint64_t payload_bytes;
    uint64_t samples;
    uint64_t largest;           /* frame bytes of the largest sample */
    char xxh3[33];              /* XXH3-128 of the stored bytes, canonical, hex */
    uint64_t index_offset;      /* of its section in dataset.index */
    uint64_t index_bytes;
    char index_xxh3[17];        /* index_sum of the section; "": an older release's */
    uint64_t names_bytes;       /* RecordIO: size of its .lst; else 0 */
};

struct manifest {
    enum sheaf_container container;
    enum sheaf_codec codec;
    bool single_member;         /* one member or frame a shard; false: an older release's, or no
                                   codec */
    bool ours;                  /* records are as the packer makes them; false: `sheaf index` */
    bool cls_is_label;          /* see format.h */
    int label_base;
    char **classes;             /* or NULL */
    size_t class_count;
    char *options_json;         /* what the packer was told: an object; NULL for none */
    struct manifest_shard *shards;
    size_t shard_count;
    uint64_t index_bytes;       /* size of dataset.index */
    char fingerprint[33];       /* set by manifest_write and manifest_parse */
};

#endif
