/* SPDX-License-Identifier: MIT
 *
 * Recognises kinds of file systems by their magic numbers, which statfs() returns. The numbers are
 * defined here because the kernel's headers do not have all of them. */
#include "store/file_system.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/bytes.h"

/* Size in bytes of a read over a network file system. A read of this size takes so long that the
 * round trip is only a small part of its time. */
#define READ_BYTES ((size_t)8 << 20)

static const struct {
    unsigned long type;
    enum file_system kind;
} types[] = {
    { 0x65735546, FILE_SYSTEM_FUSE },
    { 0x0bd00bd0, FILE_SYSTEM_LUSTRE },
    { 0x6969, FILE_SYSTEM_NFS },            /* EFS, too */
};

const char *local_path(const char *url)
{
    return strncmp(url, "file://", 7) == 0 ? url + 7 : url;
}

enum file_system file_system_of_type(unsigned long type)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].type == type)
            return types[i].kind;
    return FILE_SYSTEM_LOCAL;
}

enum file_system file_system_of_path(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 ? file_system_of_type((unsigned long)fs.f_type)
                                  : FILE_SYSTEM_LOCAL;
}

enum file_system file_system_of_fd(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 ? file_system_of_type((unsigned long)fs.f_type)
                                 : FILE_SYSTEM_LOCAL;
}

size_t file_system_read_bytes(const char *url)
{
    const char *path = local_path(url);
    struct stat st;

    if (file_system_of_path(path) == FILE_SYSTEM_LOCAL || stat(path, &st) != 0)
        return 0;
    /* On a network file system, st_blksize is the size of a stripe or request. This size normally
     * divides READ_BYTES, so each read consists of whole stripes or requests. */
    return MAX(READ_BYTES, (size_t)st.st_blksize);
}

const char *file_system_name(enum file_system kind)
{
    static const char *const names[] = { "local", "FUSE", "Lustre", "NFS" };

    return names[kind];
}
