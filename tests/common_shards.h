/* SPDX-License-Identifier: MIT
 *
 * Small shards for tests. The content of each sample shows its number. The library's own containers
 * encode the samples into a temporary directory. */
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

/* Makes one shard for each of `counts`, which end with 0. Sample n of the set has the key "k/%06u"
 * and the field jpg with the content shards_text(n). */
void shards_make(struct shard_set *set, const struct format_ops *format, const uint64_t *counts);
void shards_remove(struct shard_set *set);

/* Opens the set, or a reader of it, through the public interface. A failure fails the test. */
struct sheaf_dataset *shards_open(const struct shard_set *set);
struct sheaf_reader *shards_reader(const struct sheaf_dataset *dataset,
                                   const struct sheaf_reader_options *options);

/* Smallest size of a sample's content: 20 bytes at first, and at most SHARDS_LEAST_MOST. */
#define SHARDS_LEAST_MOST ((size_t)32 << 10)
extern size_t shards_least;
/* Makes samples larger than 16 KiB. The reader reads such samples only when they are drawn. Has the
 * form of a setup function of cmocka. */
int shards_make_large(void **state);

/* Returns the content of a sample: the first bytes of a JPEG (so that foreign RecordIO is
 * recognised as MXNet's), the text "sample N ...", and up to 3,900 more bytes depending on N. Valid
 * until the next call. */
const char *shards_text(uint64_t number, size_t *size);

/* Returns the number in a sample's content. Fails the test unless every byte is the content of that
 * sample. */
uint64_t shards_number(const struct sheaf_sample *sample);

/* Write and read a whole file. */
void file_write(const char *path, const void *data, size_t size);
uint8_t *file_read(const char *path, size_t *size);

#endif
