/* SPDX-License-Identifier: MIT
 *
 * Error messages: formatting, and the mapping from errno to the public codes. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

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

/* A message is one line of text, whatever names and bytes went into it: what is neither is shown
 * as '?', and a sequence that the end cuts in two is left out. */
static void make_text(struct sheaf_error *err)
{
    uint8_t *p = (uint8_t *)err->message;
    size_t left = strlen(err->message);
    const bool is_full = left == sizeof(err->message) - 1;

    while (left != 0) {
        size_t size = utf8_sequence(p, left);

        if (size == 0 && is_full && left < 4) {
            *p = '\0';
            return;
        }
        if (size == 0 || *p < 0x20 || *p == 0x7f) {
            *p = '?';
            size = 1;
        }
        p += size;
        left -= size;
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
    make_text(err);
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
    make_text(err);
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
    make_text(err);
    return err->code;
}

int err_memory(struct sheaf_error *err, size_t bytes)
{
    return err_set(err, SHEAF_ERR_MEMORY, "out of memory: %zu bytes could not be had", bytes);
}
