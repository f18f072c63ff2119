/* SPDX-License-Identifier: MIT
 *
 * Names files in their samples; see naming.h. */
#include "packer/source/naming.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "formats/name.h"

const char *naming_problem(const char *field)
{
    char path[KEY_LIMIT + 3] = "k.";

    if (strlen(field) > KEY_LIMIT || strchr(field, '/') != NULL || field[0] == '.')
        return "it is no name of a field";
    memcpy(path + 2, field, strlen(field) + 1);
    return name_problem(path);
}

static int check_alias(const char *alias, struct sheaf_error *err)
{
    const char *to = strchr(alias, '=');
    const char *problem;

    if (to == NULL || to == alias || to[1] == '\0' || strchr(to + 1, '=') != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid field alias \"%s\": expected FROM=TO, as "
                       "in jpeg=jpg", alias);
    problem = naming_problem(to + 1);
    return problem == NULL ? SHEAF_OK
                           : err_set(err, SHEAF_ERR_ARGUMENT, "invalid field alias \"%s\": \"%s\": "
                                     "%s", alias, to + 1, problem);
}

int naming_open(struct naming *n, const struct sheaf_pack_options *o, struct sheaf_error *err)
{
    size_t count = 0;
    int code = SHEAF_OK;

    *n = (struct naming){ .aliases = o->field_aliases, .last_dot = o->key_end == SHEAF_LAST_DOT,
                          .path.limit = SIZE_MAX / 2 };
    n->renames = n->last_dot || (n->aliases != NULL && n->aliases[0] != NULL);
    if (o->key_end != SHEAF_FIRST_DOT && o->key_end != SHEAF_LAST_DOT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "key_end is %d, expected SHEAF_FIRST_DOT or "
                       "SHEAF_LAST_DOT", (int)o->key_end);
    for (; n->aliases != NULL && n->aliases[count] != NULL && code == SHEAF_OK; count++)
        code = check_alias(n->aliases[count], err);
    if (code != SHEAF_OK)
        return code;
    n->used = calloc(count + 1, sizeof(n->used[0]));
    return n->used != NULL ? SHEAF_OK : err_memory(err, count);
}

void naming_close(struct naming *n)
{
    buf_free(&n->path);
    free(n->used);
    n->used = NULL;
}

/* The first matching alias is used. */
const char *naming_alias(struct naming *n, const char *suffix)
{
    const size_t size = strlen(suffix);

    for (size_t i = 0; n->aliases != NULL && n->aliases[i] != NULL; i++) {
        const char *alias = n->aliases[i];

        if (alias[strcspn(alias, "=")] == '=' && strcspn(alias, "=") == size &&
            strncasecmp(alias, suffix, size) == 0) {
            n->used[i] = true;
            return alias + size + 1;
        }
    }
    return suffix;
}

int naming_apply(struct naming *n, const char *path, const char **named, struct sheaf_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = n->last_dot ? strrchr(base, '.') : strchr(base, '.');
    const size_t key_size = (size_t)(dot - path);
    const char *suffix = naming_alias(n, dot + 1);
    char *key;
    int code;

    *named = path;
    if (suffix == dot + 1 && memchr(base, '.', (size_t)(dot - base)) == NULL)
        return SHEAF_OK;
    n->path.size = 0;
    code = buf_reserve(&n->path, key_size + strlen(suffix) + 2, err);
    if (code != SHEAF_OK)
        return code;
    buf_put(&n->path, path, key_size);
    buf_put(&n->path, ".", 1);
    buf_put(&n->path, suffix, strlen(suffix) + 1);
    key = (char *)n->path.data;
    for (size_t i = (size_t)(base - path); i < key_size; i++)
        if (key[i] == '.')
            key[i] = '_';
    *named = key;
    return SHEAF_OK;
}
