/* SPDX-License-Identifier: MIT
 *
 * Makes tar archives for tests; see common_tar.h. */
#include "tests/common_tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void tar_fix_checksum(uint8_t *header)
{
    unsigned sum = 0;
    size_t i;

    memset(header + 148, ' ', 8);
    for (i = 0; i < 512; i++)
        sum += header[i];
    snprintf((char *)header + 148, 7, "%06o", sum);
}

void tar_put_zeros(struct buf *out, size_t blocks)
{
    static const uint8_t block[512];

    while (blocks-- > 0)
        assert_int_equal(buf_append(out, block, sizeof(block), NULL), SHEAF_OK);
}

void tar_put_spec(struct buf *out, const struct tar_spec *spec)
{
    const uint64_t bytes = spec->bytes != 0 ? spec->bytes : spec->size;
    uint8_t header[512] = { 0 };

    memcpy(header, spec->name, strnlen(spec->name, 100));
    memcpy(header + 100, "0000644\0000000000\0000000000", 23);
    if (spec->size_field != NULL)
        memcpy(header + 124, spec->size_field, 12);
    else
        snprintf((char *)header + 124, 12, "%011llo", (unsigned long long)bytes);
    memcpy(header + 136, "00000000000", 11);
    header[156] = (uint8_t)spec->type;
    memcpy(header + 257, spec->magic != NULL ? spec->magic : "ustar\00000", 8);
    if (spec->prefix != NULL)
        memcpy(header + 345, spec->prefix, strnlen(spec->prefix, 155));
    tar_fix_checksum(header);
    assert_int_equal(buf_append(out, header, sizeof(header), NULL), SHEAF_OK);
    if (spec->size != 0)
        assert_int_equal(buf_append(out, spec->data, spec->size, NULL), SHEAF_OK);
    memset(header, 0, sizeof(header));
    assert_int_equal(buf_append(out, header, -spec->size & 511, NULL), SHEAF_OK);
}

void tar_put_typed(struct buf *out, char type, const char *name, const char *text)
{
    tar_put_spec(out, &(struct tar_spec){ .name = name, .type = type, .data = text,
                                          .size = strlen(text) });
}

void tar_put_file(struct buf *out, const char *name, const char *text)
{
    tar_put_typed(out, '0', name, text);
}
