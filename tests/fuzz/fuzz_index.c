/* SPDX-License-Identifier: MIT
 *
 * Fuzzes index sections. The input is used as it is, and as edits to an intact section whose hash
 * is then corrected. A section that is accepted must be consistent. */
#include <xxhash.h>

#include "formats/index.h"
#include "tests/fuzz/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_section(const struct index_section *s)
{
    for (uint64_t i = 0; i < s->samples; i++) {
        const uint64_t end = s->offsets[i] + index_frame_bytes(s, i);

        require(end > s->offsets[i] && end <= s->offsets[i + 1]);
        require(s->name_offsets == NULL || s->name_offsets[i] < s->name_offsets[i + 1]);
        if (s->blocks != NULL) {
            const uint64_t block = index_block_of(s, s->offsets[i]);

            require(s->offsets[i] >= s->blocks[block].raw_offset);
            require(end <= s->blocks[block + 1].raw_offset);
            require(s->blocks[block].stored_offset < s->blocks[block + 1].stored_offset);
        }
    }
}

static void parse(const uint8_t *data, size_t size)
{
    const uint64_t samples = size >= 24 ? load64(data + 16) : 0;
    struct index_section *section;

    if (index_parse(data, size, samples, &section, NULL) != SHEAF_OK)
        return;
    check_section(section);
    index_section_free(section);
}

static void parse_sealed(uint8_t *data, size_t size)
{
    XXH64_canonical_t hash;

    if (size < sizeof(hash))
        return;
    XXH64_canonicalFromHash(&hash, XXH3_64bits(data, size - sizeof(hash)));
    memcpy(data + size - sizeof(hash), &hash, sizeof(hash));
    parse(data, size);
}

/* Makes a section that has every kind of content. */
static struct buf make_section(void)
{
    struct index_writer w = { 0 };
    struct buf out = BUF_INIT(SIZE_MAX);
    int failed = index_add_gap(&w, 512, NULL);

    for (uint32_t i = 0; i < 6; i++) {
        failed |= index_add_sample(&w, 1 + 100 * i, i, 30 + i, NULL);
        failed |= i == 3 ? index_add_gap(&w, 77, NULL) : 0;
        failed |= i == 2 ? index_add_block(&w, 100, 512 + 303, NULL) : 0;
    }
    failed |= index_add_block(&w, 200, 5000, NULL);
    failed |= index_finish(&w, 10, &out, NULL);
    require(!failed);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf section = make_section();
    size_t copy_size;
    uint8_t *copy = patched(section.data, section.size, data, size, &copy_size);

    parse(data, size);
    parse_sealed(copy, copy_size);
    free(copy);
    buf_free(&section);
    return 0;
}
