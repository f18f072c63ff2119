/* SPDX-License-Identifier: MIT
 *
 * The error type of the whole library: a code and a message. The function that finds a fault sets
 * the code and the message. Its callers put the name of the shard or file before the message. Most
 * functions below return the code, so that a caller can end with `return err_set(...)`. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#include "sheaf.h"

/* Returns "" if `count` is 1, otherwise "s", for a noun in a message. Example: err_set(err, code,
 * "%zu file%s", n, plural(n)). */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Sets the code and the message of the error, and returns the code. `err` may be NULL. */
int err_set(struct sheaf_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns whether an errno value means a problem with one file only, like EACCES. Returns false for
 * problems of the file system or of this machine, like EIO, ESTALE or EMFILE, because other files
 * would then fail as well. */
bool err_blames_file(int errnum);

/* Adds a reason (enum sheaf_reason in sheaf.h) to an error, so that programs need not parse the
 * message. Used as err_because(err, err_set(err, ...), reason). Returns `code`. The reason is
 * cleared when a later call sets a new message. */
int err_because(struct sheaf_error *err, int code, enum sheaf_reason reason);

/* Sets an error like err_set, for a system call that failed with `errnum`. Chooses the matching
 * code, and appends ": " and the system's text for `errnum` to the message. */
int err_errno(struct sheaf_error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts text, such as "shard-000001.tar: ", before the message of the error, unless the message
 * begins with this text already. Returns err->code. */
int err_prefix(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends text, such as ": gave up", to the message of the error. Does nothing if `err` is NULL. */
void err_append(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the error "out of memory" for an allocation of `bytes` bytes. */
int err_memory(struct sheaf_error *err, size_t bytes);

#endif
