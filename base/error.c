/* SPDX-License-Identifier: MIT
 *
 * Formats error messages, and maps values of errno to the public error codes. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

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

/* Size in bytes of the buffer in which a message is prepared. The buffer is larger than the longest
 * message, because the text is shortened later: secrets in URLs are removed, and the middle of a
 * long message is left out. */
#define TEXT_MOST 8192

/* Text that replaces the middle of a message that is too long. The first HEAD_BYTES bytes and the
 * end of the message are kept. */
#define GAP        "..."
#define HEAD_BYTES ((size_t)340)

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Copies a message. If the message is too long, leaves out its middle, which is usually part of a
 * path. The beginning names the place of the fault, and the end states the reason. */
static void fit(char *message, size_t most, const char *text)
{
    const size_t size = strlen(text);
    size_t begin = HEAD_BYTES, end = size + HEAD_BYTES + strlen(GAP) - most;

    if (size <= most) {
        memcpy(message, text, size + 1);
        return;
    }
    while (begin > 0 && is_continuation(text[begin]))
        begin--;
    while (is_continuation(text[end]))
        end++;
    memcpy(message, text, begin);
    memcpy(message + begin, GAP, strlen(GAP));
    memcpy(message + begin + strlen(GAP), text + end, size - end + 1);
}

/* Stores the text as the error's message. Escapes control characters, so that the message is one
 * line, and removes secrets. This is necessary because the text may contain file names and bytes
 * from outside. */
static void set_message(struct sheaf_error *err, char *text)
{
    char shown[2 * TEXT_MOST];

    text_hide_secrets(text);
    (void)sheaf_show(text, shown, sizeof(shown));
    fit(err->message, sizeof(err->message) - 1, shown);
}

int err_set(struct sheaf_error *err, int code, const char *format, ...)
{
    char text[TEXT_MOST];
    va_list args;

    if (err == NULL)
        return code;
    err->code = code;
    err->reason = SHEAF_REASON_NONE;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    set_message(err, text);
    return code;
}

int err_because(struct sheaf_error *err, int code, enum sheaf_reason reason)
{
    if (err != NULL)
        err->reason = (int)reason;
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

bool err_blames_file(int errnum)
{
    switch (errnum) {
    case EACCES: case EPERM: case ENOENT: case ENOTDIR: case EISDIR: case ELOOP:
    case ENAMETOOLONG: case ENXIO: case EINVAL:
        return true;
    default:
        return false;
    }
}

int err_errno(struct sheaf_error *err, int errnum, const char *format, ...)
{
    char text[TEXT_MOST], reason[128];
    size_t used;
    va_list args;

    if (err == NULL)
        return code_of_errno(errnum);
    err->code = code_of_errno(errnum);
    err->reason = SHEAF_REASON_NONE;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    used = strlen(text);
    snprintf(text + used, sizeof(text) - used, ": %s",
             strerror_r(errnum, reason, sizeof(reason)));
    set_message(err, text);
    return err->code;
}

int err_prefix(struct sheaf_error *err, const char *format, ...)
{
    char text[TEXT_MOST];
    size_t used;
    va_list args;

    if (err == NULL)
        return SHEAF_ERR_IO;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    used = strlen(text);
    if (strncmp(err->message, text, used) == 0)
        return err->code;
    snprintf(text + used, sizeof(text) - used, "%s", err->message);
    set_message(err, text);
    return err->code;
}

void err_append(struct sheaf_error *err, const char *format, ...)
{
    char text[TEXT_MOST];
    size_t used;
    va_list args;

    if (err == NULL)
        return;
    used = strlen(err->message);
    memcpy(text, err->message, used);
    va_start(args, format);
    vsnprintf(text + used, sizeof(text) - used, format, args);
    va_end(args);
    set_message(err, text);
}

int err_memory(struct sheaf_error *err, size_t bytes)
{
    return err_set(err, SHEAF_ERR_MEMORY, "out of memory: cannot allocate %zu bytes", bytes);
}
