/* SPDX-License-Identifier: MIT
 *
 * The kinds of image files, such as JPEG and PNG: their names, suffixes and first bytes. */
#ifndef FORMATS_IMAGE_KIND_H
#define FORMATS_IMAGE_KIND_H

#include <stddef.h>

enum image_kind {
    IMAGE_UNKNOWN, IMAGE_JPEG, IMAGE_PNG, IMAGE_GIF, IMAGE_BMP, IMAGE_WEBP, IMAGE_KINDS
};

struct image_kind_row {
    const char *name;           /* for messages */
    const char *format;         /* the value of an Example's feature image/format */
    const char *suffixes[2];    /* of the names of files; the first suffix is the usual one */
    size_t at, begins_size;     /* place and size of the bytes `begins` */
    const char *begins;         /* bytes that all files of the kind have */
};

/* The table of the kinds. IMAGE_UNKNOWN has only a name. */
extern const struct image_kind_row image_kinds[IMAGE_KINDS];

/* Returns the kind of an image, which is detected from the first bytes of its file. */
enum image_kind image_kind_of(const void *data, size_t size);
/* Returns the kind of an image, which is detected from a file name ("a.jpg") or from its suffix
 * ("jpg", "JPEG"). Returns IMAGE_UNKNOWN if the suffix is not known. */
enum image_kind image_kind_named(const char *name);

#endif
