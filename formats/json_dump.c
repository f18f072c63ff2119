/* SPDX-License-Identifier: MIT
 *
 * See json_dump.h. */
#include "formats/json_dump.h"

#include <stdlib.h>

#include "base/buf.h"

struct dump {
    struct buf text;
    int code;                   /* the first failure, which jansson may not pass on */
};

static int add(const char *text, size_t size, void *context)
{
    struct dump *d = context;

    if (d->code == SHEAF_OK)
        d->code = buf_append(&d->text, text, size, NULL);
    return d->code == SHEAF_OK ? 0 : -1;
}

char *json_dump_text(const json_t *value, size_t flags)
{
    struct dump d = { .text = BUF_INIT(SIZE_MAX / 4) };

    if (json_dump_callback(value, add, &d, flags) != 0 || add("", 1, &d) != 0) {
        buf_free(&d.text);
        return NULL;
    }
    return (char *)d.text.data;
}
