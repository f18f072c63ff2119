/* SPDX-License-Identifier: MIT
 *
 * One error type for the whole library: a code and a message.  The message is set where the fault
 * is found, and callers that know the place (shard, file) put it in front.  Functions return the
 * code, so that `return err_set(...)` is the usual way out. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "sheaf.h"

/* "1 file", "2 files": err_set(err, code, "%zu file%s", n, plural(n)). */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Sets code and message; returns code.  `err` may be NULL. */
int err_set(struct sheaf_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says why, for programs (sheaf.h, enum sheaf_reason): err_because(err, err_set(err, ...), why).
 * What sets a message forgets the reason before it.  Returns code. */
int err_because(struct sheaf_error *err, int code, enum sheaf_reason reason);

/* Like err_set, with the code that fits `errnum` and ": <strerror>" after the message. */
int err_errno(struct sheaf_error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts text before the message that is there ("shard-000001.tar: " ...); returns err->code. */
int err_prefix(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts text behind the message that is there (": gave up"); does nothing to NULL. */
void err_append(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The error "out of memory" for `bytes` bytes. */
int err_memory(struct sheaf_error *err, size_t bytes);

#endif
