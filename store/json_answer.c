/* SPDX-License-Identifier: MIT
 *
 * Parses the JSON of a service's response. */
#include "store/json_answer.h"

#include "base/alloc_note.h"
#include "base/error.h"

int json_answer(const char *text, size_t size, json_t **root, struct sheaf_error *err)
{
    struct alloc_note note;

    *root = NULL;
    if (!alloc_note_begin(&note, json_get_alloc_funcs, json_set_alloc_funcs,
                          alloc_note_longest(text, size)))
        return err_memory(err, note.size);
    *root = json_loadb(text, size, 0, NULL);
    if (note.has_failed) {
        json_decref(*root);
        *root = NULL;
    }
    alloc_note_end(&note);
    return note.has_failed ? err_memory(err, size) : SHEAF_OK;
}

int json_answer_check(struct request *r, struct sheaf_error *err)
{
    json_t *root;
    int code = json_answer((const char *)r->http.reply.data, r->http.reply.size, &root, err);

    if (code == SHEAF_OK && root == NULL)
        code = err_set(err, SHEAF_ERR_CORRUPT, "the response is not JSON");
    json_decref(root);
    return code;
}
