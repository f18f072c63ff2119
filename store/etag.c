/* SPDX-License-Identifier: MIT
 *
 * ETags, as the header says. */
#include "store/etag.h"

#include <string.h>
#include <xxhash.h>

#include "base/number.h"

uint64_t etag_stamp(const char *etag)
{
    size_t size = etag == NULL ? 0 : strlen(etag);
    uint64_t stamp;

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
    return etag != NULL && strncmp(etag, "W/", 2) != 0;
}

bool etag_md5(const char *etag, uint8_t md5[MD5_BYTES])
{
    if (etag == NULL)
        return false;
    etag += *etag == '"';
    for (size_t i = 0; i < MD5_BYTES; i++) {
        const int high = hex_digit(etag[2 * i]), low = high < 0 ? -1 : hex_digit(etag[2 * i + 1]);

        if (low < 0)
            return false;
        md5[i] = (uint8_t)(high << 4 | low);
    }
    return etag[2 * MD5_BYTES] == '\0' || strcmp(etag + 2 * MD5_BYTES, "\"") == 0;
}
