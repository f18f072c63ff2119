/* SPDX-License-Identifier: MIT
 *
 * Reads an archive at given offsets. */
#include "packer/source/archive_file.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd_io.h"

int archive_read_at(const struct archive_file *file, uint64_t offset, void *data, uint64_t size,
                    struct sheaf_error *err)
{
    uint64_t done;

    if (offset > file->bytes || size > file->bytes - offset)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the archive ends at byte %" PRIu64 ", expected "
                       "%" PRIu64 " byte%s at %" PRIu64, file->bytes, size, plural(size), offset);
    done = fd_read_at(file->fd, data, size, offset);
    if (done == size)
        return SHEAF_OK;
    return errno == 0 ? err_set(err, SHEAF_ERR_CHANGED, "the archive was cut short")
                      : err_errno(err, errno, "cannot read at %" PRIu64, offset + done);
}
