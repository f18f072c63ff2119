/* SPDX-License-Identifier: MIT
 *
 * Converts or checks the images of samples before they are packed; see packer_images.h. The
 * resulting bytes depend only on the sample and the settings. The number of threads and the size of
 * a group do not change them. */
#include "packer/packer_images.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Images that are converted but not yet packed get 1 / SHARE_PART of the run's memory. The original
 * images of one group may have at most a quarter of this size, because the converted images may be
 * larger. */
#define SHARE_PART 8

/* Largest size of a buffer that is kept for the next group of samples. Larger buffers are freed. */
#define KEEP_BYTES ((size_t)256 << 10)

uint64_t packer_images_share(const struct block_setup *setup, uint64_t memory_bytes)
{
    return setup_converts(setup) ? memory_bytes / SHARE_PART : 0;
}

size_t packer_images_group(const struct sheaf_sample *samples, size_t count, uint64_t most_bytes)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < MIN(count, (size_t)IMAGES_AT_ONCE); i++) {
        for (size_t k = 0; k < samples[i].field_count; k++)
            bytes += samples[i].fields[k].size;
        if (bytes > most_bytes / 4)
            return MAX(i, (size_t)1);
    }
    return MIN(count, (size_t)IMAGES_AT_ONCE);
}

/* ---- One sample ------------------------------------------------------------------------------ */

/* Converts the image of a field, or checks it. */
static int ready_field(struct ready_sample *r, size_t i)
{
    struct sheaf_field *field = &r->fields[i];
    const size_t start = r->made.size;
    int code = SHEAF_OK;

    if (setup_converts(r->setup) && image_kind_named(field->name) == IMAGE_JPEG)
        code = block_make_image(r->setup, r->room, field, &r->made, &r->changes[i], &r->error);
    if (code == SHEAF_OK && (r->changes[i].resized || r->changes[i].why[0] != '\0'))
        r->starts[i] = start;
    else if (code == SHEAF_OK && r->setup->decodes &&
             image_kind_named(field->name) != IMAGE_UNKNOWN)
        code = image_check(field->data, field->size, r->room, &r->error);
    if (block_blames_image(code))
        r->refused = i;
    return code;
}

/* Points the fields with converted images to their new data. This is done after all images were
 * converted, because the buffer moves while it grows. */
static void place_fields(struct ready_sample *r)
{
    size_t end = r->made.size;

    for (size_t i = r->field_count; i-- > 0; ) {
        if (r->starts[i] == SIZE_MAX)
            continue;
        r->fields[i].data = r->made.data + r->starts[i];
        r->fields[i].size = end - r->starts[i];
        r->resized += r->changes[i].resized;
        end = r->starts[i];
    }
}

static void run_ready(struct job *job)
{
    struct ready_sample *r = (struct ready_sample *)((char *)job -
                                                     offsetof(struct ready_sample, job));

    for (size_t i = 0; i < r->field_count && r->code == SHEAF_OK; i++)
        r->code = ready_field(r, i);
    if (r->code == SHEAF_OK)
        place_fields(r);
}

static int packer_images_make_room(struct ready_sample *r, size_t count, struct sheaf_error *err)
{
    if (count <= r->field_room)
        return SHEAF_OK;
    free(r->fields);
    free(r->starts);
    free(r->changes);
    r->field_room = 0;
    r->fields = calloc(count, sizeof(r->fields[0]));
    r->starts = calloc(count, sizeof(r->starts[0]));
    r->changes = calloc(count, sizeof(r->changes[0]));
    if (r->fields == NULL || r->starts == NULL || r->changes == NULL)
        return err_memory(err, count * sizeof(r->changes[0]));
    r->field_room = count;
    return SHEAF_OK;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

int packer_images_add(struct packer_images *images, const struct engine *engine,
                      const struct sheaf_sample *s, struct sheaf_error *err)
{
    struct ready_sample *r = &images->samples[images->count];
    int code = packer_images_make_room(r, s->field_count, err);

    if (code != SHEAF_OK)
        return code;
    r->job = (struct job){ .run = run_ready };
    r->setup = engine->setup;
    r->room = &engine->images.room;
    r->field_count = s->field_count;
    if (r->made.capacity > KEEP_BYTES)
        buf_free(&r->made);
    r->made.size = 0;
    r->made.limit = SIZE_MAX / 4;
    r->resized = 0;
    r->code = SHEAF_OK;
    r->refused = SIZE_MAX;
    for (size_t i = 0; i < s->field_count; i++) {
        r->fields[i] = s->fields[i];
        r->starts[i] = SIZE_MAX;
        r->changes[i] = (struct image_change){ .resized = false };
    }
    images->count++;
    return SHEAF_OK;
}

void packer_images_run(struct packer_images *images, const struct engine *engine)
{
    uint64_t made = 0;

    for (size_t i = 1; i < images->count; i++)
        workers_submit(engine->workers, &images->samples[i].job);
    if (images->count != 0)
        run_ready(&images->samples[0].job);
    for (size_t i = 1; i < images->count; i++) {
        struct watch never = { .interrupt = NULL };
        uint64_t waited = 0;

        workers_wait_or(engine->workers, &images->samples[i].job, true, &never, &waited);
    }
    for (size_t i = 0; i < images->count; i++)
        made += images->samples[i].made.size;
    images->peak = MAX(images->peak, made);
}

struct ready_sample *packer_images_next(struct packer_images *images)
{
    struct ready_sample *next;

    if (images->next == images->count) {
        images->next = images->count = 0;
        return NULL;
    }
    next = &images->samples[images->next++];
    return next;
}

void packer_images_free(struct packer_images *images)
{
    for (size_t i = 0; images != NULL && i < IMAGES_AT_ONCE; i++) {
        struct ready_sample *r = &images->samples[i];

        free(r->fields);
        free(r->starts);
        free(r->changes);
        buf_free(&r->made);
    }
    free(images);
}
