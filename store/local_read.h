/* SPDX-License-Identifier: MIT
 *
 * Reads local files, named pipes and standard input ("-"). The rest of the local store is in
 * store_file.c. The functions are entries of the table struct store_ops of the local store. */
#ifndef STORE_LOCAL_READ_H
#define STORE_LOCAL_READ_H

#include "store/file_system.h"
#include "store/store.h"

/* Largest number of bytes for one system call; the kernel transfers at most 2 GiB - 4 KiB at a
 * time. */
#define IO_MOST ((size_t)1 << 30)

/* Called when reading a directory has failed. If the failure may be temporary, waits a little and
 * returns true. Returns false if it is final, or if enough attempts were made. *tries must be 0 at
 * first. */
bool local_may_pass(const char *path, int failed, unsigned *tries);

/* Returns whether a name is a symbolic link whose destination does not exist. Writes the
 * destination to `target`, truncated to its size and NUL-terminated. */
bool local_is_dangling(const char *path, char *target, size_t size);
/* Sets the error for a failed call on a file. `failed` is its errno, and `what` names the call
 * ("open"). The message says if the file is a symbolic link whose destination does not exist. */
int local_failed(const char *url, int failed, const char *what, struct sheaf_error *err);

int local_open(const char *url, struct store_object **object, struct sheaf_error *err);
int local_read(struct store_object *object, uint64_t offset, void *data, size_t size,
              struct sheaf_error *err);
void local_warm(struct store_object *object, uint64_t offset, uint64_t size);
int local_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                   struct sheaf_error *err);
int local_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err);
void local_close(struct store_object *object);

#endif
