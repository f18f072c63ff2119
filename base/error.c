/* SPDX-License-Identifier: MIT
 *
 * Error messages: formatting, and the mapping from errno to the public codes. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"

/* What stands for the middle of a message that is too long, and how much stays before it. */
#define GAP        "..."
#define HEAD_BYTES ((size_t)340)

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

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Makes the texts the message.  What is too long loses its middle, which is that of a path: the
 * place is at its beginning, the reason at its end. */
static void join(struct sheaf_error *err, const char *first, const char *second)
{
    const size_t head = strlen(first), size = head + strlen(second);
    const size_t most = sizeof(err->message) - 1, gap = strlen(GAP);
    char *text = malloc(size + 1);
    size_t begin = MIN(size, HEAD_BYTES), end = size;

    if (text == NULL || size <= most) {
        snprintf(err->message, sizeof(err->message), "%s%s", first, second);
    } else {
        memcpy(text, first, head);
        memcpy(text + head, second, size - head + 1);
        while (begin > 0 && is_continuation(text[begin]))
            begin--;
        end -= most - begin - gap;
        while (is_continuation(text[end]))
            end++;
        snprintf(err->message, sizeof(err->message), "%.*s" GAP "%s", (int)begin, text,
                 text + end);
    }
    free(text);
    make_text(err);
}

/* Without memory for the text the message is the start of it, as far as it goes. */
static void set(struct sheaf_error *err, const char *format, va_list args, const char *after)
{
    char *text, small[sizeof(err->message)];
    va_list again;

    va_copy(again, args);
    if (vasprintf(&text, format, args) >= 0) {
        join(err, text, after);
        free(text);
    } else {
        vsnprintf(small, sizeof(small), format, again);
        join(err, small, after);
    }
    va_end(again);
}

int err_set(struct sheaf_error *err, int code, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, format);
    set(err, format, args, "");
    va_end(args);
    return err->code = code;
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
    char buffer[128], reason[160];
    va_list args;

    if (err == NULL)
        return code_of_errno(errnum);
    snprintf(reason, sizeof(reason), ": %s", strerror_r(errnum, buffer, sizeof(buffer)));
    va_start(args, format);
    set(err, format, args, reason);
    va_end(args);
    return err->code = code_of_errno(errnum);
}

int err_prefix(struct sheaf_error *err, const char *format, ...)
{
    char before[sizeof(err->message)];
    va_list args;

    if (err == NULL)
        return SHEAF_ERR_IO;
    memcpy(before, err->message, sizeof(before));
    va_start(args, format);
    set(err, format, args, before);
    va_end(args);
    return err->code;
}

int err_memory(struct sheaf_error *err, size_t bytes)
{
    return err_set(err, SHEAF_ERR_MEMORY, "out of memory: %zu bytes could not be had", bytes);
}
