/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the parser of augmented manifests. The input is a list of lines, separated by 0x1e. */
#include <stdlib.h>
#include <string.h>

#include "packer/source/augmented.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that every field has a path with a key and a dot, and that its content lies in the
 * line. */
static void check(const struct augmented *a, const char *line, size_t size)
{
    const struct augmented_field *fields = (const void *)a->fields.data;

    for (size_t i = 0; i < a->fields.size / sizeof(*fields); i++) {
        const struct augmented_field *f = &fields[i];

        if (strchr(augmented_text(a, f->path), '.') == NULL)
            abort();
        if (f->url != SIZE_MAX && strstr(augmented_text(a, f->url), "://") == NULL)
            abort();
        if (f->url == SIZE_MAX && (f->text < line || f->size == 0 ||
                                   f->text + f->size > line + size))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *all = at + size;
    struct augmented a;
    uint64_t number = 1;

    augmented_init(&a);
    while (at < all) {
        struct sheaf_error err;
        const char *end = memchr(at, 0x1e, (size_t)(all - at));

        if (end == NULL)
            end = all;
        if (augmented_parse(&a, at, (size_t)(end - at), number++, &err) == SHEAF_OK)
            check(&a, at, (size_t)(end - at));
        at = end + 1;
    }
    augmented_free(&a);
    return 0;
}
