/* SPDX-License-Identifier: MIT
 *
 * Samples for tests: makes random samples that keep every rule, compares samples, and cuts the
 * stream of a container into frames. */
#ifndef TESTS_COMMON_SAMPLE_H
#define TESTS_COMMON_SAMPLE_H

#include "base/rng.h"
#include "formats/format.h"

#define TEST_FIELDS 6
#define TEST_LABELS 4

/* A sample and all memory that it points to. */
struct test_sample {
    struct sheaf_sample sample;
    struct sheaf_field fields[TEST_FIELDS];
    double labels[TEST_LABELS];
    char key[64];
    char names[TEST_FIELDS][16];
    uint8_t data[TEST_FIELDS][1024];
};

/* Makes a sample with at least one field. The fields are in any order and have any content,
 * including RecordIO's magic number and bytes that look like a trailer. Every container can store
 * the labels exactly. */
void random_sample(struct rng *rng, uint64_t number, struct test_sample *out);

/* Compares keys, labels, and the fields in byte order of their suffixes. */
void assert_same_sample(const struct sheaf_sample *a, const struct sheaf_sample *b);

/* Returns the field with this name. Fails the test if there is none. */
const struct sheaf_field *field_named(const struct sheaf_sample *sample, const char *name);
void assert_field(const struct sheaf_sample *sample, const char *name, const void *data,
                  size_t size);

struct frame_at {
    size_t offset, size;
};

/* Cuts a stream into frames as a reader does, and returns their number. For a damaged stream,
 * returns the code of the error; the frames before the damage are written to *frames anyway. */
long cut_frames(const struct format_ops *format, const uint8_t *data, size_t size,
                struct frame_at *frames, size_t most, struct sheaf_error *err);

#endif
