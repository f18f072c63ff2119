/* SPDX-License-Identifier: MIT
 *
 * Error messages: formatting, and the mapping from errno to the public codes. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sheaf_strerror(int code)
{
    switch (code) {
    case SHEAF_OK: return "no error";
    case SHEAF_END: return "the end";
#define SENTENCE(name, value, sentence) case SHEAF_ERR_##name: return sentence;
    SHEAF_ERRORS(SENTENCE)
#undef SENTENCE
    default: return "unknown error code";
    }
}

int err_set(struct sheaf_error *err, int code, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return code;
}

static int code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOMEM: return SHEAF_ERR_MEMORY;
    case ENOENT: case ENOTDIR: return SHEAF_ERR_NOT_FOUND;
    case EACCES: case EPERM: case EROFS: return SHEAF_ERR_ACCESS;
    case EEXIST: return SHEAF_ERR_EXISTS;
    case EINVAL: return SHEAF_ERR_ARGUMENT;
    case ENAMETOOLONG: return SHEAF_ERR_LIMIT;
    default: return SHEAF_ERR_IO;
    }
}

int err_errno(struct sheaf_error *err, int errnum, const char *format, ...)
{
    char reason[128];
    size_t used;
    va_list args;

    if (err == NULL)
        return code_of_errno(errnum);
    err->code = code_of_errno(errnum);
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    used = strlen(err->message);
    snprintf(err->message + used, sizeof(err->message) - used, ": %s",
             strerror_r(errnum, reason, sizeof(reason)));
    return err->code;
}

int err_prefix(struct sheaf_error *err, const char *format, ...)
{
    char text[sizeof(err->message)];
    size_t used;
    va_list args;

    if (err == NULL)
        return SHEAF_ERR_IO;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s", err->message);
    memcpy(err->message, text, sizeof(text));
    return err->code;
}

int err_memory(struct sheaf_error *err, size_t bytes)
{
    return err_set(err, SHEAF_ERR_MEMORY, "out of memory: %zu bytes could not be had", bytes);
}
