/* SPDX-License-Identifier: MIT
 *
 * Converts a batch of samples to bytes that are valid at any address, for pickles and for messages
 * between processes. packing.c writes the bytes without using Python, and packed.c makes Batches of
 * the bytes.
 *
 * The bytes consist of these parts, one after another:
 * - a head;
 * - the table of samples;
 * - the table of the fields of all samples;
 * - the labels of all samples;
 * - the texts (keys and names);
 * - the bytes of the fields.
 *
 * The bytes of the fields may be in an arena (arena.h) instead, which is memory that both processes
 * share. Offsets of fields in an arena are relative to the start of the arena. All other offsets
 * are relative to the head. */
#ifndef PYTHON_PACKING_H
#define PYTHON_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sheaf.h>

#define PACKED_MAGIC   0x7461626661656873u  /* "sheafbat" */
#define PACKED_NOTHING UINT64_MAX           /* the offset of something missing */

struct packed_head {
    uint64_t magic;
    uint64_t samples, fields, labels;
};

struct packed_sample {
    uint64_t key, class_name;               /* offsets of texts */
    /* number of the sample's entries in the table of fields, and in the table of labels; these
     * entries directly follow the entries of the previous sample */
    uint64_t fields, labels;
    uint64_t number, record;
    uint64_t shard, repeated;
    uint64_t seed;
};

struct packed_field {
    uint64_t name, suffix, data;            /* offsets */
    uint64_t size;
};

/* The bytes of the tables. */
static inline size_t packed_tables(size_t samples, size_t fields, size_t labels)
{
    return sizeof(struct packed_head) + samples * sizeof(struct packed_sample)
           + fields * sizeof(struct packed_field) + labels * sizeof(double);
}

/* Memory that may already contain the bytes of fields. */
struct packed_extent {
    const char *base;
    size_t bytes;
};

struct layout {
    size_t fields, labels;
    size_t text;                /* bytes */
    /* upper limit for the number of bytes that packed_put copies from fields; 0 if the bytes of all
     * fields are already in memory that the receiver shares */
    size_t data;
    bool refers;                /* some fields already lie in the receiver's memory */
};

struct layout packed_measure(const struct sheaf_sample *samples, size_t count,
                             const struct packed_extent *there);
/* Returns the total size of head, tables and texts. */
size_t packed_bytes(size_t count, const struct layout *layout);
/* Writes a packed batch. The head, the tables and the texts go to `base`. `there` describes memory
 * that the receiver shares. If the bytes of a field are already in this memory, only their offset
 * from its start is written. The bytes of other fields are copied to data + data_at. Returns the
 * offset in `data` at which the copied bytes end. */
size_t packed_put(const struct sheaf_sample *samples, size_t count, const struct layout *layout,
                  char *base, const struct packed_extent *there, char *data, size_t data_at);
/* Returns the total number of bytes in all fields of these samples. */
size_t packed_payload(const struct sheaf_sample *samples, size_t count);

#endif
