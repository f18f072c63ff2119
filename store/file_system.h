/* SPDX-License-Identifier: MIT
 *
 * Detects the kind of file system of a path. It determines how files are read. */
#ifndef STORE_FILE_SYSTEM_H
#define STORE_FILE_SYSTEM_H

#include <stddef.h>

/* All kinds of file system except LOCAL are reached over a network: each read takes a round trip
 * and may fail temporarily. */
enum file_system { FILE_SYSTEM_LOCAL, FILE_SYSTEM_FUSE, FILE_SYSTEM_LUSTRE, FILE_SYSTEM_NFS };

/* Returns the path of a local file, which may be given as file://PATH. */
const char *local_path(const char *url);

/* By statfs's f_type. */
enum file_system file_system_of_type(unsigned long type);

/* file_system_of_path returns the kind of the file system of a path, and file_system_of_fd of an
 * open file. They return FILE_SYSTEM_LOCAL if the kind cannot be determined. */
enum file_system file_system_of_path(const char *path);
enum file_system file_system_of_fd(int fd);

/* Returns the best size for reads of a file: large enough that the cost of a round trip is small,
 * and a multiple of the file system's blocks. Returns 0 for a file on a local disk, where any size
 * is suitable. */
size_t file_system_read_bytes(const char *url);

/* "local", "FUSE", "Lustre", "NFS". */
const char *file_system_name(enum file_system kind);

#endif
