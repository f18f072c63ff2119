/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the payload of a TFRecord. This target frames the payload itself, so that no CRC is wrong.
 * The features that were kept of an Example are written again. The result must decode to the same
 * sample, even if fields were left out, renamed or changed as `convert` does it. Writing it a
 * second time must give the same bytes. */
#include "base/crc32c.h"
#include "tests/fuzz/fuzz_stream.h"

static const struct decode_context ours = { .stem = { "fuzz", 4 }, .ours = true };

struct kept_sample {
    struct decode_scratch scratch;
    struct sheaf_sample sample;
    struct kept_features kept;
};

static bool decode_kept(const uint8_t *frame, size_t size, const struct decode_context *context,
                        struct kept_sample *k)
{
    const struct record record = { .data = frame, .size = size };

    k->scratch.keeps = true;
    if (tfrecord_ops.decode(&record, context, &k->scratch, &k->sample, NULL) != SHEAF_OK)
        return false;
    k->kept.features = (struct kept_feature *)(void *)k->scratch.kept.data;
    k->kept.count = k->scratch.kept.size / sizeof(struct kept_feature);
    return true;
}

static bool encode_kept(const struct kept_sample *k, struct buf *out)
{
    const struct encode_context context = { .kept = &k->kept };
    struct encoded encoded;

    return tfrecord_ops.encode(&k->sample, &context, out, NULL, &encoded, NULL) == SHEAF_OK;
}

/* Changes fields of the sample as the bits of `how` say. */
static void change(struct kept_sample *k, uint32_t how)
{
    static const char *const names[] = { "jpg", "b.jpg", "png", "class" };
    struct sheaf_field *fields = (struct sheaf_field *)(void *)k->scratch.fields.data;
    size_t count = 0, at;

    for (size_t i = 0; i < k->sample.field_count; i++, how >>= 2) {
        struct sheaf_field field = k->sample.fields[i];

        if ((how & 3) == 1)
            continue;
        if ((how & 3) == 2 && i < COUNT_OF(names)) {
            for (size_t j = 0; j < k->kept.count; j++) {
                if (k->kept.features[j].suffix == field.suffix) {
                    k->kept.features[j].suffix = names[i];
                    k->kept.features[j].is_renamed = true;
                }
            }
            field.name = field.suffix = names[i];
        }
        if ((how & 3) == 3) {
            field.data = "changed";
            field.size = 7;
        }
        for (at = count++; at > 0 && strcmp(fields[at - 1].suffix, field.suffix) > 0; at--)
            fields[at] = fields[at - 1];
        fields[at] = field;
    }
    k->sample.fields = fields;
    k->sample.field_count = count;
}

/* Checks that every feature that became a field occurs again with all its bytes. */
static void assert_whole(const struct kept_features *before, const struct kept_features *after)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct kept_feature *f = &before->features[i];
        size_t j = 0;

        while (f->suffix != NULL && j < after->count &&
               (after->features[j].size != f->size ||
                memcmp(after->features[j].data, f->data, f->size) != 0))
            j++;
        fuzz_assert(f->suffix == NULL || j < after->count);
    }
}

static void keep(const uint8_t *frame, size_t size, const struct decode_context *context,
                 uint32_t how)
{
    struct buf once = BUF_INIT(FUZZ_LIMIT), twice = BUF_INIT(FUZZ_LIMIT);
    struct kept_sample first = { .kept = { NULL, 0 } }, second = first;
    uint8_t *copy = fuzz_copy(frame, size);

    if (decode_kept(copy, size, context, &first)) {
        change(&first, how);
        if (encode_kept(&first, &once)) {
            fuzz_assert(decode_kept(once.data, once.size, &ours, &second));
            fuzz_same(&first.sample, &second.sample);
            fuzz_assert((first.sample.class_name == NULL) == (second.sample.class_name == NULL));
            if (how == 0)
                assert_whole(&first.kept, &second.kept);
            fuzz_assert(encode_kept(&second, &twice) && twice.size == once.size &&
                        memcmp(twice.data, once.data, once.size) == 0);
        }
    }
    decode_scratch_free(&first.scratch);
    decode_scratch_free(&second.scratch);
    buf_free(&once);
    buf_free(&twice);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct decode_context foreign = { .stem = { "fuzz", 4 } };
    const uint32_t how = crc32c(0, data, size);
    uint8_t *frame = malloc(size + 16);

    fuzz_assert(frame != NULL);
    store64(frame, size);
    store32(frame + 8, crc32c_mask(crc32c(0, frame, 8)));
    if (size != 0)
        memcpy(frame + 12, data, size);
    store32(frame + 12 + size, crc32c_mask(how));
    fuzz_frame(&tfrecord_ops, frame, size + 16, NULL, 0);
    keep(frame, size + 16, &foreign, 0);
    keep(frame, size + 16, &foreign, how);
    keep(frame, size + 16, &ours, how);
    free(frame);
    return 0;
}
