/* SPDX-License-Identifier: MIT
 *
 * The contents of dataset.json as structs: manifest.c reads and writes them, and manifest_check.c
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
    uint64_t raw_bytes;         /* container bytes; == bytes without a codec */
    uint64_t payload_bytes;
    uint64_t samples;
    uint64_t largest;           /* frame bytes of the largest sample */
    char xxh3[33];              /* XXH3-128 of the stored bytes, canonical, hex */
    uint64_t index_offset;      /* of its section in the row of all: in dataset.index,
                                   and, where that ends, in what was appended */
    uint64_t index_bytes;
    char index_xxh3[17];        /* index_sum of the section; "": an older release's */
    uint64_t names_bytes;       /* RecordIO: size of its .lst; else 0 */
};

/* The data set as it was before samples were appended: its fingerprint, and how many of the shards
 * and classes it had; and how the samples were packed. */
struct manifest_growth {
    char fingerprint[33];
    uint64_t shards, classes;
    char *options_json;
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
    uint64_t *class_samples;    /* of each class; NULL: not known, or there are none */
    struct tally fields;        /* is_unknown: older releases did not count them */
    char *options_json;         /* what the packer was told: an object; NULL for none */
    struct manifest_shard *shards;
    size_t shard_count;
    uint64_t index_bytes;       /* of all sections: the size of dataset.index, unless it grew */
    struct manifest_growth *growths;    /* the oldest first; NULL: it did not grow */
    size_t growth_count;
    char fingerprint[33];       /* set by manifest_write and manifest_parse */
};

#endif
