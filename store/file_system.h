/* SPDX-License-Identifier: MIT
 *
 * Detects the kind of file system of a path, which decides how it is read. */
#ifndef STORE_FILE_SYSTEM_H
#define STORE_FILE_SYSTEM_H

#include <stddef.h>

/* Those behind a network: each read costs a round trip, and may fail in ways that pass. */
enum file_system { FILE_SYSTEM_LOCAL, FILE_SYSTEM_FUSE, FILE_SYSTEM_LUSTRE, FILE_SYSTEM_NFS };

/* The path of a local file, which may be given as file://PATH. */
const char *local_path(const char *url);

/* By statfs's f_type. */
enum file_system file_system_of_type(unsigned long type);

/* By path, or open file; LOCAL if that cannot be told. */
enum file_system file_system_of_path(const char *path);
enum file_system file_system_of_fd(int fd);

/* How many bytes a read of a file of the local store should have, so that it is worth its round
 * trip, and fits block and stripe; 0: it is not behind a network, and any size will do. */
size_t file_system_read_bytes(const char *url);

/* "local", "FUSE", "Lustre", "NFS". */
const char *file_system_name(enum file_system kind);

#endif
