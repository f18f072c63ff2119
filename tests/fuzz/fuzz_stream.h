/* SPDX-License-Identifier: MIT
 *
 * The steps that the fuzz targets of all containers share. They cut a stream into frames as a
 * reader does, even after damage, and check and decode each frame in memory of exactly its size. A
 * decoded sample that can be encoded must come back equal. */
#ifndef TESTS_FUZZ_STREAM_H
#define TESTS_FUZZ_STREAM_H

#include <stdlib.h>

#include "base/bytes.h"
#include "formats/format.h"

#define FUZZ_LIMIT ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_assert(bool holds)
{
    if (!holds)
        abort();
}

static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);

    fuzz_assert(copy != NULL);
    if (size != 0)
        memcpy(copy, data, size);
    return copy;
}

/* Reads every byte that the sample points to. */
static inline void fuzz_touch(const struct sheaf_sample *s)
{
    uint64_t sum = strlen(s->key) + (s->class_name == NULL ? 0 : strlen(s->class_name));
    size_t i, k;

    for (i = 0; i < s->field_count; i++) {
        sum += strlen(s->fields[i].name) + strlen(s->fields[i].suffix);
        for (k = 0; k < s->fields[i].size; k++)
            sum += ((const uint8_t *)s->fields[i].data)[k];
        fuzz_assert(i == 0 || strcmp(s->fields[i - 1].suffix, s->fields[i].suffix) < 0);
    }
    for (i = 0; i < s->label_count; i++)
        sum += s->labels[i] > 0;
    fuzz_assert(sum != UINT64_MAX);     /* keeps the compiler from removing the reads */
}

static inline void fuzz_same(const struct sheaf_sample *a, const struct sheaf_sample *b)
{
    size_t i;

    fuzz_assert(strcmp(a->key, b->key) == 0);
    fuzz_assert(a->field_count == b->field_count && a->label_count == b->label_count);
    for (i = 0; i < a->field_count; i++) {
        fuzz_assert(strcmp(a->fields[i].suffix, b->fields[i].suffix) == 0);
        fuzz_assert(a->fields[i].size == b->fields[i].size);
        fuzz_assert(a->fields[i].size == 0 ||
                    memcmp(a->fields[i].data, b->fields[i].data, a->fields[i].size) == 0);
    }
    for (i = 0; i < a->label_count; i++)
        fuzz_assert(a->labels[i] == b->labels[i]);
}

static inline void fuzz_round_trip(const struct format_ops *format, const struct sheaf_sample *s)
{
    const struct encode_context no_classes = { 0 };
    const struct decode_context ours = { .stem = { "fuzz", 4 }, .ours = true };
    struct buf out = BUF_INIT(FUZZ_LIMIT), names = BUF_INIT(FUZZ_LIMIT);
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample back;
    struct encoded encoded;
    struct record record = { .number = s->number };
    uint32_t crc;

    if (format->encode(s, &no_classes, &out, &names, &encoded, NULL) == SHEAF_OK) {
        record.data = out.data;
        record.size = out.size;
        record.name_line = names.size == 0 ? NULL : (const char *)names.data;
        record.name_line_size = names.size == 0 ? 0 : names.size - 1;
        fuzz_assert(format->check(out.data, out.size, &crc, NULL) == SHEAF_OK);
        fuzz_assert(crc == encoded.crc && out.size == encoded.size);
        fuzz_assert(format->decode(&record, &ours, &scratch, &back, NULL) == SHEAF_OK);
        fuzz_same(s, &back);
    }
    decode_scratch_free(&scratch);
    buf_free(&out);
    buf_free(&names);
}

static inline void fuzz_frame(const struct format_ops *format, const uint8_t *frame, size_t size,
                              const char *line, size_t line_size)
{
    static const struct decode_context contexts[] = {
        { .stem = { "fuzz", 4 } }, { .stem = { "fuzz", 4 }, .ours = true },
    };
    uint8_t *copy = fuzz_copy(frame, size);
    const struct record record = { .data = copy, .size = size, .name_line = line,
                                   .name_line_size = line_size };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    uint32_t crc;
    size_t i;

    (void)!format->check(copy, size, &crc, NULL);
    for (i = 0; i < COUNT_OF(contexts); i++) {
        if (format->decode(&record, &contexts[i], &scratch, &sample, NULL) == SHEAF_OK) {
            fuzz_touch(&sample);
            fuzz_round_trip(format, &sample);
        }
    }
    decode_scratch_free(&scratch);
    free(copy);
}

/* Finds the part at the beginning of `data`. At first shows only one byte, and then as many bytes
 * as the container asks for. */
static inline int fuzz_part(const struct format_ops *format, struct format_scan *scan,
                            const uint8_t *data, size_t size, struct part *part)
{
    size_t shown = 1;

    for (;;) {
        uint8_t *window = fuzz_copy(data, shown);
        const int code = format->part(scan, window, shown, shown == size, part, NULL);

        free(window);
        if (code != SHEAF_OK || part->kind != PART_MORE)
            return code;
        fuzz_assert(shown < size && part->need > shown);
        shown = MIN(part->need, size);
    }
}

static inline void fuzz_stream(const struct format_ops *format, const uint8_t *data, size_t size,
                               const char *line, size_t line_size)
{
    struct format_scan scan;
    size_t at = 0, start = 0;
    bool open = false;

    (void)format_detect(data, size, NULL);
    format_scan_reset(&scan);
    while (at < size) {
        struct part part;
        int code = fuzz_part(format, &scan, data + at, size - at, &part);

        if (open && (code != SHEAF_OK || part.kind != PART_NEXT))
            fuzz_frame(format, data + start, at - start, line, line_size);
        if (code == SHEAF_OK && part.size > size - at)
            code = SHEAF_ERR_TRUNCATED;
        if (code != SHEAF_OK) {
            size_t step;
            const bool found = format->resync(data + at, size - at, &step);

            fuzz_assert(step < size - at && (step > 0 || !found));
            step = found ? step : size - at;
            format_scan_free(&scan);
            format_scan_reset(&scan);
            at += step;
            open = false;
            continue;
        }
        fuzz_assert(part.size > 0 && (part.kind != PART_NEXT || open));
        if (part.kind == PART_START)
            start = at;
        open = part.kind != PART_SKIP;
        at += part.size;
    }
    (void)!format->end(&scan, NULL);
    if (open)
        fuzz_frame(format, data + start, size - start, line, line_size);
    format_scan_free(&scan);
}

#endif
