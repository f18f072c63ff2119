/* SPDX-License-Identifier: MIT
 *
 * make_records DIR COUNT BYTES: a data set of so many small samples in TFRecord shards.  The
 * content of each is of so many bytes, follows from its number, and is no two samples' own. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sheaf.h"
#include "tools/bench/meter.h"

#define BYTES_MOST 4096

static uint64_t mixed(uint64_t z)       /* splitmix64's finish */
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill(unsigned char *data, size_t size, uint64_t number)
{
    for (size_t at = 0; at < size; at += 8) {
        const uint64_t word = mixed(number * 1024 + at + 1);

        memcpy(data + at, &word, size - at < 8 ? size - at : 8);
    }
}

static void append(struct sheaf_packer *packer, uint64_t number, size_t size)
{
    unsigned char data[BYTES_MOST];
    char key[24];
    const struct sheaf_field field = { .name = "bin", .data = data, .size = size };
    const double label = (double)(number % 257);
    const struct sheaf_sample sample = { .key = key, .fields = &field, .field_count = 1,
                                         .labels = &label, .label_count = 1 };

    fill(data, size, number);
    snprintf(key, sizeof(key), "%08" PRIu64, number);
    if (sheaf_packer_append(packer, &sample) != SHEAF_OK)
        meter_die("sheaf_packer_append", sheaf_packer_error(packer)->message);
}

int main(int argc, char **argv)
{
    struct sheaf_pack_options options;
    struct sheaf_packer *packer;
    struct sheaf_error error;
    uint64_t count, size;

    if (argc != 4)
        meter_die(argv[0], "usage: make_records DIR COUNT BYTES");
    count = meter_number(argv[2]);
    size = meter_number(argv[3]);
    if (size > BYTES_MOST)
        meter_die(argv[3], "is too large");
    sheaf_pack_options_init(&options, sizeof(options));
    options.container = SHEAF_TFRECORD;
    if (sheaf_packer_open(argv[1], &options, &packer, &error) != SHEAF_OK)
        meter_die(argv[1], error.message);
    for (uint64_t number = 0; number < count; number++)
        append(packer, number, (size_t)size);
    if (sheaf_packer_finish(packer, NULL) != SHEAF_OK)
        meter_die(argv[1], sheaf_packer_error(packer)->message);
    sheaf_packer_free(packer);
    return 0;
}
