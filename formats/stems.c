/* SPDX-License-Identifier: MIT
 *
 * Makes the stems of all shards of a data set different. A stem is the text with which the made-up
 * keys of a shard begin; see stems.h. If several shards have the same stem, each of these stems is
 * extended: first to the shard's whole base name, and then by one directory at a time. */
#include "formats/stems.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/name.h"

#define STEM_LIMIT 1024     /* bytes of a stem with directories */

static int compare_texts(struct text a, struct text b)
{
    const int order = memcmp(a.data, b.data, MIN(a.size, b.size));

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_stems(const void *a, const void *b)
{
    const struct stem *x = a, *y = b;

    return compare_texts(*x->text, *y->text);
}

/* Returns whether one component of a shard's path can be part of a key. An empty component, "." and
 * ".." cannot. */
static bool is_component(const char *text, size_t size)
{
    return size != 0 && !(text[0] == '.' && (size == 1 || (size == 2 && text[1] == '.'))) &&
           name_is_text(text, size);
}

/* Extends a stem if possible: to the shard's whole base name, or by one more directory of its path.
 * (Made-up keys begin with the stem of their shard.) Returns whether the stem became longer. */
static bool lengthen(struct stem *s)
{
    const char *slash = strrchr(s->name, '/');
    const char *base = slash == NULL ? s->name : slash + 1, *start = base;
    const size_t size = strlen(base);

    if (!is_component(base, size))
        return false;
    if (s->text->size >= size) {            /* it is the whole base name, or more */
        if (s->text->data == s->name || s->text->data - 1 == s->name)
            return false;
        start = memrchr(s->name, '/', (size_t)(s->text->data - 1 - s->name));
        start = start == NULL ? s->name : start + 1;
        if (!is_component(start, (size_t)(s->text->data - 1 - start)))
            return false;
    }
    if ((size_t)(base + size - start) > STEM_LIMIT)
        return false;
    *s->text = (struct text){ start, (size_t)(base + size - start) };
    return true;
}

/* Extends every stem that several shards have in common. (Made-up keys begin with the stem of their
 * shard.) Returns whether at least one stem became longer. */
static bool lengthen_equal(struct stem *stems, size_t count)
{
    bool any = false;

    qsort(stems, count, sizeof(stems[0]), compare_stems);
    for (size_t i = 0, end; i < count; i = end) {
        const struct text text = *stems[i].text;

        for (end = i + 1; end < count && compare_texts(text, *stems[end].text) == 0; end++)
            ;
        for (size_t k = i; k < end && end - i > 1; k++)
            any |= lengthen(&stems[k]);
    }
    return any;
}

void stems_tell_apart(struct stem *stems, size_t count)
{
    while (count > 1 && lengthen_equal(stems, count))
        ;
}
