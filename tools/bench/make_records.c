/* SPDX-License-Identifier: MIT
 *
 * make_records DIR COUNT BYTES: writes TFRecord shards with COUNT small records in total to DIR, as
 * input for `sheaf index`. Each record has BYTES bytes, which are computed from the number of the
 * record, so that all records differ. The records are not tf.train.Examples, so that a reader does
 * not parse them and returns their bytes unchanged. The program works only on little-endian
 * machines. */
#include <errno.h>
#include <inttypes.h>
#include <isa-l/crc.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/meter.h"

#define BYTES_MOST  4096
#define SHARD_BYTES 150000000u

static uint32_t masked(unsigned char *data, size_t size)
{
    const uint32_t crc = ~crc32_iscsi(data, (int)size, ~0u);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

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

/* Appends record number `number` to a TFRecord file: the length, the length's checksum, `size`
 * bytes of content, and the content's checksum. */
static void append(FILE *file, uint64_t number, size_t size)
{
    unsigned char frame[12 + BYTES_MOST + 4];
    const uint64_t length = size;
    uint32_t checksum;

    memcpy(frame, &length, 8);
    checksum = masked(frame, 8);
    memcpy(frame + 8, &checksum, 4);
    fill(frame + 12, size, number);
    checksum = masked(frame + 12, size);
    memcpy(frame + 12 + size, &checksum, 4);
    if (fwrite(frame, size + 16, 1, file) != 1)
        meter_die("fwrite", strerror(errno));
}

static void write_shard(const char *directory, uint64_t shard, uint64_t first, uint64_t end,
                        size_t size)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/shard-%06" PRIu64 ".tfrecord", directory, shard);
    file = fopen(path, "wb");
    if (file == NULL)
        meter_die(path, strerror(errno));
    for (uint64_t number = first; number < end; number++)
        append(file, number, size);
    if (fclose(file) != 0)
        meter_die(path, strerror(errno));
}

int main(int argc, char **argv)
{
    uint64_t count, size, each;

    if (argc != 4)
        meter_die(argv[0], "usage: make_records DIR COUNT BYTES");
    count = meter_number(argv[2]);
    size = meter_number(argv[3]);
    if (size == 0 || size > BYTES_MOST)
        meter_die(argv[3], "is no size from 1 to 4096");
    each = SHARD_BYTES / (size + 16);
    for (uint64_t first = 0; first < count; first += each)
        write_shard(argv[1], first / each, first, first + each < count ? first + each : count,
                    (size_t)size);
    return 0;
}
