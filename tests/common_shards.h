/* SPDX-License-Identifier: MIT
 *
 * Small shards for the tests: samples whose content tells their number, encoded by the library's
 * own containers into a temporary directory. */
#ifndef TESTS_COMMON_SHARDS_H
#define TESTS_COMMON_SHARDS_H

#include "formats/format.h"

struct shard_set {
    char directory[64];         /* made by shards_make */
    char paths[16][128];
    uint64_t counts[16];
    size_t count;
    uint64_t samples;
};

/* One shard for each of `counts`, ended by 0.  Sample n of the set has the key "k/%06u" and the
 * field jpg, whose content is shards_text(n). */
void shards_make(struct shard_set *set, const struct format_ops *format, const uint64_t *counts);
void shards_remove(struct shard_set *set);

/* The set opened, and a reader of it, by the public interface; a failure fails the test. */
struct sheaf_dataset *shards_open(const struct shard_set *set);
struct sheaf_reader *shards_reader(const struct sheaf_dataset *dataset,
                                   const struct sheaf_reader_options *options);

/* What the samples of a program have at least: 20 bytes at first, SHARDS_LEAST_MOST at most. */
#define SHARDS_LEAST_MOST ((size_t)32 << 10)
extern size_t shards_least;
/* Makes that more than 16 KiB: such samples are read when they are drawn.  For cmocka, as what
 * comes before the tests of a group. */
int shards_make_large(void **state);

/* The first bytes of a JPEG (so that foreign RecordIO is known for what it is), "sample N ...", and
 * a length that depends on N, up to 3,900 bytes more than the least; valid until the next call. */
const char *shards_text(uint64_t number, size_t *size);

/* The number that a sample's content tells; fails the test if it is not that sample's content to
 * the last byte. */
uint64_t shards_number(const struct sheaf_sample *sample);

/* Whole files. */
void file_write(const char *path, const void *data, size_t size);
uint8_t *file_read(const char *path, size_t *size);

#endif
