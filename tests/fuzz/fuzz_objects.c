/* SPDX-License-Identifier: MIT
 *
 * Fuzzes SageMaker's two kinds of manifests, as sheaf_fetch and sheaf_feed use them. Every accepted
 * object must have a name and a location, and the units must contain all objects in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "modes/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check(const struct objects *o)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct object *object = &o->items[i];
        char *url = object->text == NULL ? object_url(o, object) : NULL;

        require(object->name != NULL && object->name[0] != '\0');
        require(object->text != NULL || strstr(url, "://") != NULL || o->root != NULL);
        require(object->text == NULL || memchr(object->text, 0, object->bytes) == NULL ||
                object->bytes != 0);
        free(url);
    }
    for (size_t i = 0; i < o->unit_count && o->units != NULL; i++)
        require(o->units[i] <= o->units[i + 1] && o->units[i + 1] <= o->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct objects manifest = { 0 }, all = { 0 }, some = { 0 };
    const int fd = memfd_create("fuzz", 0);
    char path[64];

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (objects_list_manifest(path, &manifest, NULL) == SHEAF_OK)
        check(&manifest);
    if (objects_list_augmented(path, NULL, &all, NULL) == SHEAF_OK)
        check(&all);
    if (objects_list_augmented(path, "source-ref,label", &some, NULL) == SHEAF_OK)
        check(&some);
    objects_free(&manifest);
    objects_free(&all);
    objects_free(&some);
    close(fd);
    return 0;
}
