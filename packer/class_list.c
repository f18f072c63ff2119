/* SPDX-License-Identifier: MIT
 *
 * See class_list.h. */
#include "packer/class_list.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "formats/content.h"
#include "formats/format.h"
#include "formats/label.h"
#include "formats/name.h"
#include "publish/destination.h"
#include "store/file_system.h"
#include "store/store.h"

#define FILE_MOST ((size_t)64 << 20)    /* bytes */

/* ---- Names ----------------------------------------------------------------------------------- */

void class_list_free(struct class_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct class_list){ .count = 0 };
}

/* `line`: for messages. */
static int class_list_add_name(struct class_list *list, const char *name, size_t size, size_t line,
                               struct sheaf_error *err)
{
    char **names;

    if (size == 0 || size > FIELD_LIMIT || !name_is_text(name, size))
        return err_set(err, SHEAF_ERR_CORRUPT, "class %zu: expected a name, UTF-8 of 1 to %d bytes "
                       "without control characters", line, FIELD_LIMIT);
    if (list->count == CLASS_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "more than %d classes", CLASS_LIMIT);
    names = list->count % 64 != 0 ? list->names
                                  : reallocarray(list->names, list->count + 64, sizeof(names[0]));
    if (names == NULL)
        return err_memory(err, list->count * sizeof(names[0]));
    list->names = names;
    names[list->count] = strndup(name, size);
    if (names[list->count] == NULL)
        return err_memory(err, size);
    list->count++;
    return SHEAF_OK;
}

static int class_list_compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Checks that no name has two numbers. */
static int class_list_check_names(const struct class_list *list, struct sheaf_error *err)
{
    const char **sorted = calloc(list->count + 1, sizeof(sorted[0]));
    int code = SHEAF_OK;

    if (sorted == NULL)
        return err_memory(err, list->count * sizeof(sorted[0]));
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = list->names[i];
    if (list->count > 1)
        qsort(sorted, list->count, sizeof(sorted[0]), class_list_compare_names);
    for (size_t i = 1; i < list->count && code == SHEAF_OK; i++)
        if (strcmp(sorted[i], sorted[i - 1]) == 0)
            code = err_set(err, SHEAF_ERR_CORRUPT, "the class \"%.100s\" is named twice",
                           sorted[i]);
    free(sorted);
    return code == SHEAF_OK && list->count == 0
               ? err_set(err, SHEAF_ERR_CORRUPT, "has no classes") : code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Takes the names of a JSON array, in order. */
static int take_array(struct class_list *list, const json_t *array, struct sheaf_error *err)
{
    json_t *item;
    size_t i;
    int code = SHEAF_OK;

    json_array_foreach(array, i, item) {
        if (code == SHEAF_OK)
            code = json_is_string(item)
                 ? class_list_add_name(list, json_string_value(item), json_string_length(item),
                                       i + 1, err)
                 : err_set(err, SHEAF_ERR_CORRUPT, "class %zu: expected a text", i + 1);
    }
    return code;
}

/* Takes the names of a JSON object that gives each name its number, such as the class_to_idx of
 * torchvision. The numbers must be label_base, label_base + 1, and so on, in any order. */
static int take_object(struct class_list *list, json_t *object, int label_base,
                       struct sheaf_error *err)
{
    const size_t count = json_object_size(object);
    const char **names = calloc(count + 1, sizeof(names[0])), *name;
    json_t *value;
    int code = names == NULL ? err_memory(err, count * sizeof(names[0])) : SHEAF_OK;

    json_object_foreach(object, name, value) {
        const json_int_t place = json_integer_value(value) - label_base;

        if (code == SHEAF_OK && (!json_is_integer(value) || place < 0 ||
                                 (uint64_t)place >= count || names[place] != NULL))
            code = err_set(err, SHEAF_ERR_CORRUPT, "class \"%.100s\": expected a number of its own "
                           "from %d to %zu", name, label_base, count - 1 + (size_t)label_base);
        if (code == SHEAF_OK)
            names[place] = name;
    }
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = class_list_add_name(list, names[i], strlen(names[i]), i + 1, err);
    free(names);
    return code;
}

static int take_json(struct class_list *list, const char *text, size_t size, int label_base,
                     struct sheaf_error *err)
{
    json_t *json;
    json_error_t found;
    int code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &json, &found, err);

    if (code != SHEAF_OK)
        return code == SHEAF_ERR_CORRUPT ? err_set(err, code, "%s", found.text) : code;
    code = json_is_object(json) ? take_object(list, json, label_base, err)
                                : take_array(list, json, err);
    json_decref(json);
    return code;
}

/* Reads class names from the text of a file, one per line. Blank lines are allowed only at the end.
 * Elsewhere a blank line would be a class without a name. */
static int take_lines(struct class_list *list, const char *text, size_t size,
                      struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (size > 0 && memchr(" \t\r\n", text[size - 1], 4) != NULL)
        size--;
    for (size_t line = 1; size > 0 && code == SHEAF_OK; line++) {
        const char *end = memchr(text, '\n', size);
        const size_t whole = end == NULL ? size : (size_t)(end - text);
        const size_t shown = whole > 0 && text[whole - 1] == '\r' ? whole - 1 : whole;

        code = class_list_add_name(list, text, shown, line, err);
        text += MIN(whole + 1, size);
        size -= MIN(whole + 1, size);
    }
    return code;
}

/* Returns whether a file with classes is a JSON document. A bracket alone does not show this,
 * because a file with one class per line may begin with a class such as "[UNK]". */
static bool is_json(const char *text, size_t size)
{
    const char *end = text + size, *value;

    if (size == 0 || (text[0] != '[' && text[0] != '{'))
        return false;
    value = json_text_blanks(text + 1, end);
    return value == end || memchr("\"'[]{}-0123456789", *value, 18) != NULL;
}

static int class_list_read_file(struct class_list *list, const char *url, int label_base,
                                struct sheaf_error *err)
{
    char *text = NULL;
    const char *at;
    size_t size = 0;
    int code = store_get(url, FILE_MOST, &text, &size, err);

    if (code != SHEAF_OK)
        return code;
    at = text;
    utf8_pass_mark(&at, &size);
    code = content_check_list(at, size, "a list of classes", err);
    if (code == SHEAF_OK)
        code = is_json(at, size) ? take_json(list, at, size, label_base, err)
                                 : take_lines(list, at, size, err);
    free(text);
    return code == SHEAF_OK ? SHEAF_OK : err_prefix(err, "%s: ", url);
}

/* ---- Data sets ------------------------------------------------------------------------------- */

static int class_list_take_manifest(struct class_list *list, const struct manifest *m,
                                    struct sheaf_pack_options *options, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (m->class_count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the labels of this data set have no names");
    if (options->label_base > m->label_base)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the label base is %d, but the first class of this "
                       "data set has the number %d", options->label_base, m->label_base);
    options->label_base = m->label_base;
    for (size_t i = 0; i < m->class_count && code == SHEAF_OK; i++)
        code = class_list_add_name(list, m->classes[i], strlen(m->classes[i]), i + 1, err);
    return code;
}

/* Reads the classes of the data set at `url`. Returns SHEAF_END if no data set is there, because
 * the caller then reads `url` as a file with class names. */
static int read_dataset(struct class_list *list, const char *url,
                        struct sheaf_pack_options *options, struct sheaf_error *err)
{
    static const char name[] = "/dataset.json";
    const size_t size = strlen(url), tail = sizeof(name) - 1;
    const bool names_manifest = size > tail && strcmp(url + size - tail, name) == 0;
    char *directory = strndup(url, names_manifest ? size - tail : size);
    struct sheaf_error found;
    struct manifest manifest;
    int code = directory == NULL ? err_memory(err, size)
                                 : destination_read_manifest(directory, &manifest, &found);

    if (code == SHEAF_OK) {
        code = class_list_take_manifest(list, &manifest, options, err);
        manifest_clear(&manifest);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", url);
    } else if (directory != NULL) {
        *err = found;
        code = code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_IO ? SHEAF_END : code;
    }
    free(directory);
    return code;
}

int class_list_take(struct class_list *list, struct sheaf_pack_options *options,
                    struct sheaf_error *err)
{
    const char *url = options->classes;
    int code;

    if (url == NULL)
        return SHEAF_OK;
    url = local_path(url);
    code = read_dataset(list, url, options, err);
    if (code == SHEAF_END)
        code = class_list_read_file(list, url, options->label_base, err);
    if (code == SHEAF_OK && class_list_check_names(list, err) != SHEAF_OK)
        code = err_prefix(err, "%s: ", url);
    list->classes = (struct plan_classes){ .names = (const char *const *)list->names,
                                           .count = list->count, .closed = true, .from = url };
    return code;
}

int sheaf_class_list(const char *path, int label_base, sheaf_class_count_fn *found, void *context,
                     struct sheaf_error *error)
{
    struct sheaf_pack_options options = { .classes = path, .label_base = label_base };
    struct class_list list = { .count = 0 };
    struct sheaf_error failed;
    const int code = path == NULL || label_base < 0
                   ? err_set(&failed, SHEAF_ERR_ARGUMENT, "a list of classes needs a path and a "
                             "label_base that is not negative")
                   : class_list_take(&list, &options, &failed);

    for (size_t i = 0; code == SHEAF_OK && i < list.count; i++)
        found(context, &(struct sheaf_class_count){
            list.names[i], (int64_t)i + options.label_base, 0,
        });
    class_list_free(&list);
    if (code != SHEAF_OK && error != NULL)
        *error = failed;
    return code;
}

/* ---- Siblings -------------------------------------------------------------------------------- */

#define SIBLINGS_MOST 64

/* Returns whether the name of a directory contains a word by which splits are usually called
 * ("train", "val", ...). Two data sets in such directories probably belong together, so the numbers
 * of their classes are compared. */
static bool is_part_name(const char *name)
{
    static const char *const words[] = { "train", "val", "test", "dev", "eval", "hold" };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasestr(name, words[i]) != NULL)
            return true;
    return false;
}

/* A class of the plan. */
struct own_class {
    const char *name;
    long number;
};

static int compare_own(const void *a, const void *b)
{
    return strcmp(((const struct own_class *)a)->name, ((const struct own_class *)b)->name);
}

/* Returns an array of the plan's classes, sorted by name. The caller frees the array. Returns NULL
 * if memory is exhausted. */
static struct own_class *sort_own(const struct plan *plan, int label_base)
{
    struct own_class *own = calloc(plan->class_count, sizeof(*own));

    for (uint32_t i = 0; own != NULL && i < plan->class_count; i++)
        own[i] = (struct own_class){ plan->classes[i], (long)i + label_base };
    if (own != NULL)
        qsort(own, plan->class_count, sizeof(*own), compare_own);
    return own;
}

/* Compares the plan with the data set at `directory`. Reports the first class that has one number
 * in the plan and another number in the data set. Returns whether there is such a class. */
static bool tell_sibling(const char *directory, const struct own_class *own, size_t count,
                         const struct problems *problems)
{
    struct manifest m;
    bool told = false;

    if (destination_read_manifest(directory, &m, NULL) != SHEAF_OK)
        return false;
    for (size_t i = 0; i < m.class_count && !told; i++) {
        const struct own_class there = { m.classes[i], (long)i + m.label_base };
        const struct own_class *here = bsearch(&there, own, count, sizeof(*own), compare_own);

        told = here != NULL && here->number != there.number;
        if (told)
            problems_note(problems, SHEAF_REASON_SIBLING_CLASSES, directory, "the class \"%.100s\" "
                          "has the number %ld here, and %ld in the data set %s", there.name,
                          here->number, there.number, directory);
    }
    manifest_clear(&m);
    return told;
}

/* Compares the classes of the plan with the classes of other data sets in the directory `parent`.
 * Reports the first difference and ignores further ones. Skips the data set called `own`, because
 * it is the destination. */
static void tell_siblings(DIR *directory, const char *parent, const char *own,
                          const struct plan *plan, int label_base,
                          const struct problems *problems)
{
    struct own_class *classes = sort_own(plan, label_base);
    const struct dirent *d;
    bool told = false;

    for (size_t seen = 0; classes != NULL && !told && seen < SIBLINGS_MOST &&
                          (d = readdir(directory)) != NULL;) {
        char *sibling = is_part_name(d->d_name) && strcmp(d->d_name, own) != 0
                            ? store_join(parent, d->d_name) : NULL;

        seen += sibling != NULL;
        told = sibling != NULL && tell_sibling(sibling, classes, plan->class_count, problems);
        free(sibling);
    }
    free(classes);
}

void class_list_tell_siblings(const char *dest, const struct plan *plan, int label_base,
                              const struct problems *problems)
{
    const char *path = local_path(dest), *slash;
    size_t size = strlen(path);
    char *parent, *own;
    DIR *directory;

    if (plan->class_count == 0 || !store_is_local(path))
        return;
    while (size > 1 && path[size - 1] == '/')
        size--;
    slash = memrchr(path, '/', size);
    own = slash == NULL ? strndup(path, size)
                        : strndup(slash + 1, size - (size_t)(slash + 1 - path));
    parent = slash == NULL ? strdup(".") : strndup(path, MAX((size_t)(slash - path), (size_t)1));
    directory = own == NULL || parent == NULL || !is_part_name(own) ? NULL : opendir(parent);
    if (directory != NULL) {
        tell_siblings(directory, parent, own, plan, label_base, problems);
        closedir(directory);
    }
    free(own);
    free(parent);
}
