/* SPDX-License-Identifier: MIT
 *
 * The stems of the keys that are made up for records without a key.  Two foreign shards of one
 * data set must not make up the same keys: convert and unpack could not tell their samples apart.
 * So shards that would share a stem get a longer one: the whole base name, and then one directory
 * more at a time.
 *
 * A shard of a data set with a manifest keeps the short stem: its table of keys was made with it. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/name.h"
#include "reader/dataset.h"

#define STEM_LIMIT 1024     /* bytes of a stem with directories */

/* A shard whose stem may become longer. */
struct stem {
    const char *name;
    struct text *text;
};

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

/* Returns whether a component of a name can be a directory in a key. */
static bool is_component(const char *text, size_t size)
{
    return size != 0 && !(text[0] == '.' && (size == 1 || (size == 2 && text[1] == '.'))) &&
           name_is_text(text, size);
}

/* Makes the stem longer, if it can be: the whole base name, or one directory more. */
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

/* Makes the stems longer that several shards have.  Returns whether any became longer. */
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

int dataset_make_stems(struct sheaf_dataset *d, struct sheaf_error *err)
{
    const size_t count = d->manifest.shard_count;
    struct stem *stems = calloc(count + 1, sizeof(stems[0]));
    size_t foreign = 0;

    d->stems = calloc(count + 1, sizeof(d->stems[0]));
    if (d->stems == NULL || stems == NULL) {
        free(stems);
        return err_memory(err, (count + 1) * sizeof(stems[0]));
    }
    for (size_t i = 0; i < count; i++) {
        d->stems[i] = name_stem(d->manifest.shards[i].name);
        if (!dataset_source(d, (uint32_t)i)->has_manifest)
            stems[foreign++] = (struct stem){ d->manifest.shards[i].name, &d->stems[i] };
    }
    while (foreign > 1 && lengthen_equal(stems, foreign))
        ;
    free(stems);
    return SHEAF_OK;
}
