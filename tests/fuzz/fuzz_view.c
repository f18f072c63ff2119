/* SPDX-License-Identifier: MIT
 *
 * Fuzzes documents of views. An accepted document is written, and the result must be parsed as the
 * same view. */
#include <stdlib.h>
#include <string.h>

#include "formats/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sheaf_error err;
    struct view view, again;
    char *text, *second;

    (void)view_begins(data, size);
    if (view_parse((const char *)data, size, &view, &err) != SHEAF_OK)
        return 0;
    if (view_text(&view, NULL, SIZE_MAX, &text, &err) != SHEAF_OK
        || view_parse(text, strlen(text), &again, &err) != SHEAF_OK
        || view_text(&again, NULL, SIZE_MAX, &second, &err) != SHEAF_OK
        || strcmp(text, second) != 0)
        abort();
    view_free(&view);
    view_free(&again);
    free(text);
    free(second);
    return 0;
}
