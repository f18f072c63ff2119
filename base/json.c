/* SPDX-License-Identifier: MIT
 *
 * See json.h. */
#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- Parsing --------------------------------------------------------------------------------- */

/* Parses a JSON text with jansson, and returns SHEAF_ERR_MEMORY if memory is exhausted. jansson
 * itself may then report a syntax error, or drop characters of a string. Therefore this function
 * checks errno, which malloc sets to ENOMEM. The check may miss a failed allocation, because
 * jansson resets errno when it parses a number. */
int json_load_text(const char *text, size_t size, size_t flags, json_t **value,
                   json_error_t *found, struct sheaf_error *err)
{
    errno = 0;
    *value = json_loadb(text, size, flags, found);
    if (errno == ENOMEM) {
        json_decref(*value);
        *value = NULL;
        return err_memory(err, size);
    }
    return *value == NULL ? SHEAF_ERR_CORRUPT : SHEAF_OK;
}

int json_load_line(const char *line, size_t size, size_t flags, json_t **value,
                   struct sheaf_error *err)
{
    json_error_t found;
    int code = json_load_text(line, size, flags, value, &found, err);

    if (code == SHEAF_ERR_CORRUPT && json_error_code(&found) == json_error_numeric_overflow)
        code = json_load_text(line, size, flags | JSON_DECODE_INT_AS_REAL, value, &found, err);
    return code != SHEAF_ERR_CORRUPT ? code
           : err_set(err, code, "not JSON: %s (column %d)", found.text, found.column);
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct dump {
    struct buf text;
    int code;                   /* the first failure, which jansson may not pass on */
};

static int json_add(const char *text, size_t size, void *context)
{
    struct dump *d = context;

    if (d->code == SHEAF_OK)
        d->code = buf_append(&d->text, text, size, NULL);
    return d->code == SHEAF_OK ? 0 : -1;
}

char *json_dump_text(const json_t *value, size_t flags)
{
    struct dump d = { .text = BUF_INIT(SIZE_MAX / 4) };

    if (json_dump_callback(value, json_add, &d, flags) != 0 || json_add("", 1, &d) != 0) {
        buf_free(&d.text);
        return NULL;
    }
    return (char *)d.text.data;
}

/* ---- Finding values -------------------------------------------------------------------------- */

json_t *json_make_array(size_t count, json_make_fn *make, const void *from, json_error_t *error)
{
    json_t *array = json_pack_ex(error, 0, "[]");

    for (size_t i = 0; array != NULL && i < count; i++)
        if (json_array_append_new(array, make(from, i, error)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *json_make_string(const void *from, size_t i, json_error_t *error)
{
    return json_pack_ex(error, 0, "s", ((const char *const *)from)[i]);
}

json_t *json_make_number(const void *from, size_t i, json_error_t *error)
{
    return json_pack_ex(error, 0, "I", (json_int_t)((const uint64_t *)from)[i]);
}

const char *json_text_blanks(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
        text++;
    return text;
}

static const char *string_end(const char *text, const char *end)
{
    for (text++; text < end && *text != '"'; text++)
        if (*text == '\\' && text + 1 < end)
            text++;
    return text < end ? text + 1 : end;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == ':' || c == ']' || c == '}' || c == ' ' || c == '\t' || c == '\r' ||
           c == '\n';
}

const char *json_text_value(const char *text, const char *end)
{
    unsigned depth = 0;

    if (text < end && *text != '{' && *text != '[' && *text != '"') {
        while (text < end && !ends_scalar(*text))
            text++;
        return text;
    }
    while (text < end) {
        if (*text == '"') {
            text = string_end(text, end);
        } else {
            depth += *text == '{' || *text == '[';
            depth -= *text == '}' || *text == ']';
            text++;
        }
        if (depth == 0)
            return text;
    }
    return end;
}
