/* SPDX-License-Identifier: MIT
 *
 * Finds the kind of file system on which a path lies, because this decides how files are read. */
#ifndef STORE_FILE_SYSTEM_H
#define STORE_FILE_SYSTEM_H

#include <stddef.h>

/* Kinds of file systems. All kinds except LOCAL are treated as network file systems, on which each
 * read takes a round trip and may fail temporarily. */
enum file_system { FILE_SYSTEM_LOCAL, FILE_SYSTEM_FUSE, FILE_SYSTEM_LUSTRE, FILE_SYSTEM_NFS };

/* Returns the path of a local file. `url` is this path, or "file://" and the path. */
const char *local_path(const char *url);

/* Returns the kind of a file system from its magic number, which statfs() returns in f_type. */
enum file_system file_system_of_type(unsigned long type);

/* file_system_of_path returns the kind of file system on which a path lies. file_system_of_fd does
 * this for an open file. If the kind cannot be determined, both return FILE_SYSTEM_LOCAL. */
enum file_system file_system_of_path(const char *path);
enum file_system file_system_of_fd(int fd);

/* Returns the best size in bytes for reads of a file on a network file system. The size is a
 * multiple of the file system's block size, and so large that a round trip takes only a small part
 * of the read's time. Returns 0 for a file on a local disk, where any size is good. */
size_t file_system_read_bytes(const char *url);

/* Returns the name of a kind for messages: "local", "FUSE", "Lustre" or "NFS". */
const char *file_system_name(enum file_system kind);

#endif
