/* SPDX-License-Identifier: MIT
 *
 * Reads the lines of a .lst file; see name_lines.h. */
#include "reader/verify/name_lines.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"

#define LINES_STEP ((uint64_t)1 << 16)  /* bytes of the file that are read at once */

int name_lines_read(struct name_lines *l, struct store_object *names,
                    const struct index_section *section, uint64_t sample, const char **line,
                    size_t *size, struct sheaf_error *err)
{
    const uint64_t begin = section->name_offsets[sample];
    const uint64_t end = section->name_offsets[sample + 1], all = names->bytes;
    int code;

    if (end > all || end <= begin)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: ends before line %" PRIu64, names->url,
                       sample);
    if (begin < l->offset || end > l->offset + l->bytes.size) {
        const size_t wanted = (size_t)MIN(MAX(end - begin, LINES_STEP), all - begin);

        l->bytes.size = 0;
        l->bytes.limit = SIZE_MAX;
        code = buf_reserve(&l->bytes, wanted, err);
        if (code == SHEAF_OK)
            code = store_read(names, begin, l->bytes.data, wanted, err);
        if (code != SHEAF_OK)
            return code;
        l->bytes.size = wanted;
        l->offset = begin;
    }
    *line = (const char *)l->bytes.data + (begin - l->offset);
    *size = (size_t)(end - begin - 1);
    return SHEAF_OK;
}
