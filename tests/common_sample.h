/* SPDX-License-Identifier: MIT
 *
 * Samples of tests: random ones that keep every rule, their comparison, and the cutting of a
 * container's stream into frames. */
#ifndef TESTS_COMMON_SAMPLE_H
#define TESTS_COMMON_SAMPLE_H

#include "base/rng.h"
#include "formats/format.h"

#define TEST_FIELDS 6
#define TEST_LABELS 4

/* A sample and all that it points to. */
struct test_sample {
    struct sheaf_sample sample;
    struct sheaf_field fields[TEST_FIELDS];
    double labels[TEST_LABELS];
    char key[64];
    char names[TEST_FIELDS][16];
    uint8_t data[TEST_FIELDS][1024];
};

/* Fields in any order, of any content: also of RecordIO's magic and of what ends a trailer.
 * There is at least one field; the labels are exact in any container. */
void random_sample(struct rng *rng, uint64_t number, struct test_sample *out);

/* Keys, labels, and fields in byte order of suffix. */
void assert_same_sample(const struct sheaf_sample *a, const struct sheaf_sample *b);

/* The field of that name; fails the test if there is none. */
const struct sheaf_field *field_named(const struct sheaf_sample *sample, const char *name);
void assert_field(const struct sheaf_sample *sample, const char *name, const void *data,
                  size_t size);

struct frame_at {
    size_t offset, size;
};

/* Cuts a stream into frames as a reader does, and returns their number.  A stream that is not
 * sound gives the error's code instead; *frames before it are written still. */
long cut_frames(const struct format_ops *format, const uint8_t *data, size_t size,
                struct frame_at *frames, size_t most, struct sheaf_error *err);

#endif
