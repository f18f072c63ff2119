/* SPDX-License-Identifier: MIT
 *
 * The checksums of the fake service. They are computed here, directly from the bytes and with a
 * table for one byte. So they are independent of the library's functions. */
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/s3/s3_checksum.h"
#include "tests/common_fake_s3.h"

const struct s3_checksum *const fake_sum_kinds[FAKE_SUMS] = { &s3_crc64nvme, &s3_crc32c };

static const uint64_t polynomials[FAKE_SUMS] = { 0x9A6C9329AC4BC9B5, 0x82F63B78 };
static uint64_t tables[FAKE_SUMS][256];

static void fill_tables(void)
{
    for (unsigned kind = 0; kind < FAKE_SUMS; kind++)
        for (unsigned byte = 0; byte < 256; byte++) {
            uint64_t value = byte;

            for (unsigned bit = 0; bit < 8; bit++)
                value = value >> 1 ^ (value & 1 ? polynomials[kind] : 0);
            tables[kind][byte] = value;
        }
}

void fake_sum(unsigned kind, const void *data, size_t size, char text[24])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned bits = fake_sum_kinds[kind]->bits;
    const uint64_t ones = UINT64_MAX >> (64 - bits);
    const uint8_t *bytes = data;
    uint64_t value = ones;
    unsigned char digest[8];

    pthread_once(&once, fill_tables);
    for (size_t i = 0; i < size; i++)
        value = value >> 8 ^ tables[kind][(value ^ bytes[i]) & 255];
    value ^= ones;
    for (unsigned i = 0; i < bits / 8; i++)
        digest[i] = (unsigned char)(value >> (bits - 8 - 8 * i));
    EVP_EncodeBlock((unsigned char *)text, digest, (int)bits / 8);
}

void fake_sum_of_parts(unsigned kind, const struct fake_part *const *parts, unsigned count,
                       char text[24])
{
    unsigned char all[8 * FAKE_PARTS_MOST + 4];
    const unsigned size = fake_sum_kinds[kind]->bits / 8;

    for (unsigned i = 0; i < count; i++) {
        const char *sum = parts[i]->sums.text[kind];

        EVP_DecodeBlock(all + (size_t)i * size, (const unsigned char *)sum, (int)strlen(sum));
    }
    fake_sum(kind, all, (size_t)count * size, text);
    snprintf(text + strlen(text), 24 - strlen(text), "-%u", count);
}

void fake_sums_sent(const struct fake_request *r, struct fake_sums *sums)
{
    for (unsigned i = 0; i < FAKE_SUMS; i++) {
        char *sum = fake_header(r, fake_sum_kinds[i]->header);

        snprintf(sums->text[i], sizeof(sums->text[i]), "%s", sum != NULL ? sum : "");
        free(sum);
    }
}
