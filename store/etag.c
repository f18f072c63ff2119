/* SPDX-License-Identifier: MIT
 *
 * ETags, as the header says. */
#include "store/etag.h"

#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/number.h"

#define WEAK "W/"

const char *etag_without_weak(const char *etag)
{
    return etag + (strncasecmp(etag, WEAK, strlen(WEAK)) == 0 ? strlen(WEAK) : 0);
}

uint64_t etag_stamp(const char *etag)
{
    size_t size;
    uint64_t stamp;

    if (etag == NULL)
        return 0;
    etag = etag_without_weak(etag);
    size = strlen(etag);
    if (size >= 2 && etag[0] == '"' && etag[size - 1] == '"') {
        etag++;
        size -= 2;
    }
    if (size == 0)
        return 0;
    stamp = XXH3_64bits(etag, size);
    return stamp != 0 ? stamp : 1;
}

bool etag_is_strong(const char *etag)
{
    return etag_stamp(etag) != 0 && etag_without_weak(etag) == etag;
}

bool etag_md5(const char *etag, uint8_t md5[MD5_BYTES])
{
    if (etag == NULL)
        return false;
    etag = etag_without_weak(etag);
    etag += *etag == '"';
    for (size_t i = 0; i < MD5_BYTES; i++) {
        const int high = hex_digit(etag[2 * i]), low = high < 0 ? -1 : hex_digit(etag[2 * i + 1]);

        if (low < 0)
            return false;
        md5[i] = (uint8_t)(high << 4 | low);
    }
    return etag[2 * MD5_BYTES] == '\0' || strcmp(etag + 2 * MD5_BYTES, "\"") == 0;
}
