/* SPDX-License-Identifier: MIT
 *
 * Reads local files, named pipes and standard input ("-"). The table of the local store (struct
 * store_ops) contains these functions. The other functions of the table are in store_file.c. */
#ifndef STORE_LOCAL_READ_H
#define STORE_LOCAL_READ_H

#include "store/file_system.h"
#include "store/store.h"

/* Largest number of bytes for one system call, because the kernel moves at most 2 GiB - 4 KiB at
 * once. */
#define IO_MOST ((size_t)1 << 30)

/* Decides whether the caller should try again to read a directory, after an attempt has failed
 * with the errno `failed`. If the failure may be temporary, waits a little and returns true.
 * Returns false if the failure is final, or after too many attempts. *tries counts the attempts,
 * and must be 0 before the first call. */
bool local_may_pass(const char *path, int failed, unsigned *tries);

/* Returns whether `path` is a symbolic link to a file that does not exist. Writes the target of the
 * link to `target`, cut off to `size` bytes including a NUL. */
bool local_is_dangling(const char *path, char *target, size_t size);
/* Sets the error for a system call that failed for a file. `failed` is the errno, and `what` names
 * the call, for example "open". If the file is a symbolic link without a target, the message says
 * so. */
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
