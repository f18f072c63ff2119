/* SPDX-License-Identifier: MIT
 *
 * One error type for the whole library: a code and a message. The function that finds a fault sets
 * the message. Callers that know the place (shard, file) put it before the message. Functions
 * return the code, so that `return err_set(...)` is the usual way out. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#include "sheaf.h"

/* Returns the plural ending for a count: "1 file", "2 files". For example: err_set(err, code, "%zu
 * file%s", n, plural(n)). */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Sets code and message; returns code.  `err` may be NULL. */
int err_set(struct sheaf_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns whether an errno value is a fault of a single file, like EACCES. Other values, such as
 * EIO, ESTALE or EMFILE, are faults of the file system or of this machine. */
bool err_blames_file(int errnum);

/* Adds a reason to an error, for programs that examine errors (enum sheaf_reason in sheaf.h). Call
 * it as err_because(err, err_set(err, ...), reason). It returns `code`. A later call that sets a
 * new message clears the reason. */
int err_because(struct sheaf_error *err, int code, enum sheaf_reason reason);

/* Sets an error like err_set. Chooses the code that fits `errnum` and appends ": <strerror>" to the
 * message. */
int err_errno(struct sheaf_error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts text before the present message ("shard-000001.tar: " ...). Returns err->code. */
int err_prefix(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends text to the present message (": gave up"). Does nothing if `err` is NULL. */
void err_append(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the error "out of memory" for an allocation of `bytes` bytes. */
int err_memory(struct sheaf_error *err, size_t bytes);

#endif
