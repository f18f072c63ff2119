/* SPDX-License-Identifier: MIT
 *
 * See json_load.h. */
#include "formats/json_load.h"

#include "base/alloc_note.h"
#include "base/error.h"

int json_load_text(const char *text, size_t size, size_t flags, json_t **value,
                   json_error_t *found, struct sheaf_error *err)
{
    struct alloc_note note;

    *value = NULL;
    if (!alloc_note_begin(&note, json_get_alloc_funcs, json_set_alloc_funcs,
                          alloc_note_longest(text, size)))
        return err_memory(err, note.size);
    *value = json_loadb(text, size, flags, found);
    if (note.has_failed) {
        json_decref(*value);
        *value = NULL;
    }
    alloc_note_end(&note);
    if (note.has_failed)
        return err_memory(err, size);
    return *value == NULL ? SHEAF_ERR_CORRUPT : SHEAF_OK;
}

int json_load_line(const char *line, size_t size, size_t flags, json_t **value,
                   struct sheaf_error *err)
{
    json_error_t found;
    const int code = json_load_text(line, size, flags, value, &found, err);

    return code != SHEAF_ERR_CORRUPT ? code
           : err_set(err, code, "not JSON: %s (column %d)", found.text, found.column);
}
