/* SPDX-License-Identifier: MIT
 *
 * Allocates planes and turns them. */
#include "image/planes.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

static struct plane plane_of(uint32_t width, uint32_t height, unsigned number)
{
    struct plane p = { .width = width, .height = height };

    if (number > 0) {
        p.width = (width + 1) / 2;
        p.height = (height + 1) / 2;
    }
    p.stride = ((size_t)p.width + 15) / 16 * 16;
    return p;
}

uint64_t planes_bytes(uint32_t width, uint32_t height, unsigned count)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct plane p = plane_of(width, height, i);

        bytes += (uint64_t)p.stride * p.height;
    }
    return bytes;
}

int planes_open(struct planes *planes, uint32_t width, uint32_t height, unsigned count,
                struct sheaf_error *err)
{
    const uint64_t bytes = planes_bytes(width, height, count);
    uint8_t *at = malloc(bytes);

    *planes = (struct planes){ .count = count, .memory = at };
    if (at == NULL)
        return err_memory(err, bytes);
    for (unsigned i = 0; i < count; i++) {
        planes->plane[i] = plane_of(width, height, i);
        planes->plane[i].data = at;
        at += planes->plane[i].stride * planes->plane[i].height;
    }
    return SHEAF_OK;
}

void planes_close(struct planes *planes)
{
    free(planes->memory);
    *planes = (struct planes){ .count = 0 };
}

int planes_upright(struct planes *planes, unsigned orientation, struct sheaf_error *err)
{
    const struct plane *first = &planes->plane[0];
    const bool turned = orientation >= 5;
    struct planes result;
    int code;

    if (orientation <= 1)
        return SHEAF_OK;
    code = planes_open(&result, turned ? first->height : first->width,
                       turned ? first->width : first->height, planes->count, err);
    if (code != SHEAF_OK)
        return code;
    for (unsigned i = 0; i < planes->count; i++) {
        const struct plane *from = &planes->plane[i], *to = &result.plane[i];
        const struct turning turning = { from->data, from->width, from->height, from->stride, 1 };

        pixels_turn(&turning, orientation, to->data, to->stride);
    }
    planes_close(planes);
    *planes = result;
    return SHEAF_OK;
}
