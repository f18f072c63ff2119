/* SPDX-License-Identifier: MIT
 *
 * Tells the static analyzer which code each function of base/error.h returns. `make analyze`
 * includes this file before every file except base/error.c. The analyzer cannot look into functions
 * of other files. Without this file, it assumes that an error may be returned as SHEAF_OK. */
#ifndef TOOLS_ANALYZER_ERRORS_H
#define TOOLS_ANALYZER_ERRORS_H

#include "base/error.h"

static inline int error_code_is(int code, int returned)
{
    (void)returned;
    return code;
}

static inline int error_is_negative(int returned)
{
    if (returned >= SHEAF_OK)
        __builtin_unreachable();
    return returned;
}

#define err_set(err, code, ...)     error_code_is(code, err_set(err, code, __VA_ARGS__))
#define err_because(err, code, why) error_code_is(code, err_because(err, SHEAF_OK, why))
#define err_memory(err, bytes)      error_code_is(SHEAF_ERR_MEMORY, err_memory(err, bytes))
#define err_errno(...)              error_is_negative(err_errno(__VA_ARGS__))
#define err_prefix(...)             error_is_negative(err_prefix(__VA_ARGS__))

#endif
