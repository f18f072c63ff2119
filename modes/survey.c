/* SPDX-License-Identifier: MIT
 *
 * sheaf_survey: counts a source's objects and their sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "formats/manifest.h"
#include "modes/fetch.h"
#include "modes/objects.h"
#include "store/store.h"

static int survey_compare(const void *a, const void *b)
{
    const uint64_t x = ((const struct object *)a)->bytes, y = ((const struct object *)b)->bytes;

    return x < y ? -1 : x > y;
}

static size_t decade_of(uint64_t bytes)
{
    uint64_t limit = 1000;
    size_t decade = 0;

    while (decade < SHEAF_SURVEY_DECADES - 1 && bytes >= limit) {
        limit *= 10;
        decade++;
    }
    return decade;
}

/* Sorts the objects by size. */
static int survey_measure(struct objects *o, struct sheaf_survey *s, struct sheaf_error *err)
{
    qsort(o->items, o->count, sizeof(o->items[0]), survey_compare);
    s->objects = o->count;
    s->smallest_bytes = o->items[0].bytes;
    s->median_bytes = o->items[o->count / 2].bytes;
    s->largest_bytes = o->items[o->count - 1].bytes;
    for (size_t i = 0; i < o->count; i++) {
        const uint64_t bytes = o->items[i].bytes;
        const size_t decade = decade_of(bytes);

        if (__builtin_add_overflow(s->bytes, bytes, &s->bytes))
            return err_set(err, SHEAF_ERR_LIMIT, "more than 2^64 bytes");
        s->decades[decade].objects++;
        s->decades[decade].bytes += bytes;
    }
    return SHEAF_OK;
}

/* Reads the manifest of a data set. If a file has the name of a manifest (dataset.json) but is not
 * a manifest, it is treated like any other file. */
static int survey_read_manifest(const struct objects *o, const struct object *object,
                                struct sheaf_survey *s, struct sheaf_error *err)
{
    struct manifest m = { 0 };
    char *url = object_url(o, object), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(object->name))
                           : store_get(url, MANIFEST_LIMIT, &text, &size, err);

    if (code == SHEAF_OK && manifest_parse(text, size, &m, NULL) == SHEAF_OK) {
        s->is_dataset = 1;
        for (size_t i = 0; i < m.shard_count; i++)
            s->samples += m.shards[i].samples;
    }
    manifest_clear(&m);
    free(text);
    free(url);
    return code;
}

static int ask_all(struct objects *o, struct watch *watch, struct sheaf_error *err)
{
    uint32_t *all = calloc(o->unit_count, sizeof(*all));
    int code;

    if (all == NULL)
        return err_memory(err, o->unit_count * sizeof(*all));
    for (size_t i = 0; i < o->unit_count; i++)
        all[i] = (uint32_t)i;
    code = objects_ask(o, all, o->unit_count, watch, err);
    free(all);
    return code;
}

/* Sets s->place to the kind of store (S3, a local disk, ...) of the first object. The source itself
 * may be a manifest file in another store. */
static int survey_find_place(const struct objects *o, struct sheaf_survey *s,
                             struct sheaf_error *err)
{
    char *url = object_url(o, &o->items[0]);

    if (url == NULL)
        return err_memory(err, strlen(o->items[0].name));
    snprintf(s->place, sizeof(s->place), "%s", store_place(url));
    free(url);
    return SHEAF_OK;
}

int sheaf_survey(const char *source, const struct sheaf_fetch_options *options,
                 struct sheaf_survey *survey, size_t sizeof_survey, struct sheaf_error *err)
{
    struct sheaf_fetch_options o;
    struct sheaf_survey s = { 0 };
    struct objects objects;
    struct watch watch;
    int code;

    watch = fetch_options_take(options, &o);
    code = objects_list(source, NULL, &watch, &objects, err);
    if (code == SHEAF_OK)
        code = ask_all(&objects, &watch, err);
    for (size_t i = 0; code == SHEAF_OK && i < objects.count; i++)
        if (strcmp(objects.items[i].name, MANIFEST_NAME) == 0)
            code = survey_read_manifest(&objects, &objects.items[i], &s, err);
    if (code == SHEAF_OK)
        code = survey_find_place(&objects, &s, err);
    if (code == SHEAF_OK)
        code = survey_measure(&objects, &s, err);
    objects_free(&objects);
    if (code == SHEAF_OK)
        sized_give(survey, sizeof_survey, &s, sizeof(s));
    return code;
}
