/* SPDX-License-Identifier: MIT
 *
 * Reads the lines of a .lst file, which has the names of the samples of a RecordIO shard. The index
 * section of the shard states where each line begins. */
#ifndef READER_VERIFY_NAME_LINES_H
#define READER_VERIFY_NAME_LINES_H

#include "base/buf.h"
#include "formats/index.h"
#include "store/store.h"

/* The part of a .lst file that is in memory. Zero-initialised. */
struct name_lines {
    struct buf bytes;
    uint64_t offset;            /* in the file, of the first of these bytes */
};

/* Sets *line to the line of a sample in the .lst file `names`. The length *size does not include
 * the newline. The line is valid until the next call. Returns SHEAF_ERR_TRUNCATED if the file ends
 * before the end of the line. */
int name_lines_read(struct name_lines *lines, struct store_object *names,
                    const struct index_section *section, uint64_t sample, const char **line,
                    size_t *size, struct sheaf_error *err);

#endif
