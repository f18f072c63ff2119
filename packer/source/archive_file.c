/* SPDX-License-Identifier: MIT
 *
 * Reading an archive at places. */
#include "packer/source/archive_file.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"

int archive_read_at(const struct archive_file *file, uint64_t offset, void *data, uint64_t size,
                    struct sheaf_error *err)
{
    uint8_t *to = data;

    if (offset > file->bytes || size > file->bytes - offset)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the archive ends at byte %" PRIu64 ", expected %"
                       PRIu64 " bytes at %" PRIu64, file->bytes, size, offset);
    while (size != 0) {
        const ssize_t got = pread(file->fd, to, MIN(size, (uint64_t)1 << 30), (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? err_errno(err, errno, "cannot read at %" PRIu64, offset)
                           : err_set(err, SHEAF_ERR_CHANGED, "the archive was cut short");
        to += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return SHEAF_OK;
}
