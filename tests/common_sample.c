/* SPDX-License-Identifier: MIT
 *
 * Samples for tests; see common_sample.h. */
#include "tests/common_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/name.h"
#include "tests/common_random.h"

static const char *const suffixes[] = { "JPG", "json", "seg.png", "Txt", "mask.jpg", "npy",
                                        "a b", "\xc3\xa9", "jpeg" };

static size_t random_data(struct rng *rng, uint8_t *data, size_t most)
{
    static const uint8_t magic[] = { 0x0a, 0x23, 0xd7, 0xce };
    const size_t size = rng_below(rng, 4) == 0 ? rng_below(rng, 8) : rng_below(rng, most + 1);
    size_t i;

    random_bytes(rng, data, size);
    for (i = rng_below(rng, 3); i > 0 && size >= 4; i--)
        memcpy(data + rng_below(rng, size - 3), magic, 4);
    if (rng_below(rng, 4) == 0 && size >= 8)
        memcpy(data + size - 8, "sheafrec", 8);
    return size;
}

static void random_labels(struct rng *rng, struct test_sample *out)
{
    const bool fractions = rng_below(rng, 2) == 0;
    size_t i;

    out->sample.labels = out->labels;
    out->sample.label_count = rng_below(rng, TEST_LABELS + 1);
    for (i = 0; i < out->sample.label_count; i++)
        out->labels[i] = ((double)rng_below(rng, 1 << 24) - (1 << 23)) / (fractions ? 256 : 1);
}

void random_sample(struct rng *rng, uint64_t number, struct test_sample *out)
{
    const size_t count = 1 + rng_below(rng, TEST_FIELDS);
    const size_t first = rng_below(rng, COUNT_OF(suffixes));
    size_t i;

    memset(&out->sample, 0, sizeof(out->sample));
    snprintf(out->key, sizeof(out->key), "%s%llu.d/\xc3\xa4 %llu", number % 2 ? "deep/er/" : "",
             (unsigned long long)rng_below(rng, 1000), (unsigned long long)number);
    for (i = 0; i < count; i++) {
        struct sheaf_field *field = &out->fields[i];

        field->suffix = suffixes[(first + 4 * i) % COUNT_OF(suffixes)];
        snprintf(out->names[i], sizeof(out->names[i]), "%s", field->suffix);
        name_lower(out->names[i]);
        field->name = out->names[i];
        field->data = out->data[i];
        field->size = random_data(rng, out->data[i], sizeof(out->data[i]));
    }
    out->sample.key = out->key;
    out->sample.fields = out->fields;
    out->sample.field_count = count;
    out->sample.number = number;
    random_labels(rng, out);
}

static const char *suffix_of(const struct sheaf_field *field)
{
    return field->suffix != NULL ? field->suffix : field->name;
}

static void assert_same_labels(const struct sheaf_sample *a, const struct sheaf_sample *b)
{
    size_t i;

    assert_int_equal(a->label_count, b->label_count);
    for (i = 0; i < a->label_count; i++)
        assert_true(a->labels[i] == b->labels[i]);
}

void assert_field(const struct sheaf_sample *sample, const char *name, const void *data,
                  size_t size)
{
    const struct sheaf_field *field = field_named(sample, name);

    assert_int_equal(field->size, size);
    if (size != 0)
        assert_memory_equal(field->data, data, size);
}

void assert_same_sample(const struct sheaf_sample *a, const struct sheaf_sample *b)
{
    size_t i;

    assert_string_equal(a->key, b->key);
    assert_same_labels(a, b);
    assert_int_equal(a->field_count, b->field_count);
    for (i = 0; i < a->field_count; i++) {
        const struct sheaf_field *field = &a->fields[i];

        assert_field(b, field->name, field->data, field->size);
        assert_string_equal(suffix_of(field), suffix_of(field_named(b, field->name)));
        if (i > 0)
            assert_true(strcmp(suffix_of(&b->fields[i - 1]), suffix_of(&b->fields[i])) < 0);
    }
}

const struct sheaf_field *field_named(const struct sheaf_sample *sample, const char *name)
{
    size_t i;

    for (i = 0; i < sample->field_count; i++) {
        if (strcmp(sample->fields[i].name, name) == 0)
            return &sample->fields[i];
    }
    fail_msg("%s has no field %s", sample->key, name);
    return NULL;
}

long cut_frames(const struct format_ops *format, const uint8_t *data, size_t size,
                struct frame_at *frames, size_t most, struct sheaf_error *err)
{
    struct format_scan scan;
    size_t at = 0, count = 0;
    int code = SHEAF_OK;

    format_scan_reset(&scan);
    while (at < size && code == SHEAF_OK) {
        struct part part;

        code = format->part(&scan, data + at, size - at, true, &part, err);
        if (code != SHEAF_OK)
            break;
        if (part.size > size - at) {
            code = SHEAF_ERR_TRUNCATED;
            break;
        }
        assert_true(part.size > 0);
        assert_int_not_equal(part.kind, PART_MORE);
        if (part.kind == PART_START) {
            assert_true(count < most);
            frames[count++] = (struct frame_at){ at, part.size };
        } else if (part.kind == PART_NEXT) {
            assert_true(count > 0 && frames[count - 1].offset + frames[count - 1].size == at);
            frames[count - 1].size += part.size;
        }
        at += part.size;
    }
    if (code == SHEAF_OK)
        code = format->end(&scan, err);
    format_scan_free(&scan);
    return code != SHEAF_OK ? code : (long)count;
}
