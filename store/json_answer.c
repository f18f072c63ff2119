/* SPDX-License-Identifier: MIT
 *
 * Parses the JSON of a service's response. */
#include "store/json_answer.h"

#include "base/error.h"
#include "base/json.h"

int json_answer(const char *text, size_t size, json_t **root, struct sheaf_error *err)
{
    const int code = json_load_text(text, size, 0, root, NULL, err);

    return code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
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
