/* SPDX-License-Identifier: MIT
 *
 * Declarations for the HTML page that `sheaf report` writes (cmd_report.c): the data that is read
 * for the page, and the functions that write its sections. */
#ifndef TOOLS_REPORT_REPORT_H
#define TOOLS_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "sheaf.h"

/* largest number of bytes of a key or class name that the page shows */
#define REPORT_NAME_MOST 80u
#define REPORT_PICTURES_MOST 48u
#define REPORT_LOOKS_MOST 400u
#define REPORT_STRIPS_MOST 8u           /* number of samples of which crops are shown */
#define REPORT_CROPS 6u                 /* number of crops of each of them */
#define REPORT_CROP_SIDE 64u            /* pixels of a crop */

/* A sample that the page shows, as a thumbnail of its image or as the beginning of its text. */
struct report_picture {
    char *key, *class_name;             /* class_name: or NULL */
    /* media type of the picture's bytes, such as "image/jpeg"; NULL if there is no picture */
    const char *type;
    void *data;
    size_t size;
    char *text;                         /* instead; or NULL */
    struct sheaf_image image;
};

/* A PNG image that shows several random crops of one sample, stacked vertically. */
struct report_strip {
    char *key;
    void *png;
    size_t size;
};

struct report_look {
    uint32_t width, height;
};

/* The samples that were read. */
struct report_samples {
    struct report_picture pictures[REPORT_PICTURES_MOST];
    size_t picture_count;
    struct report_strip strips[REPORT_STRIPS_MOST];
    size_t strip_count;
    struct report_look looks[REPORT_LOOKS_MOST];
    size_t look_count;                  /* images whose size is known */
    uint64_t read, images, bad;
    uint64_t formats[5];                /* JPEG, PNG, GIF, WebP, BMP */
    char problem[512];                  /* the first fault found, or "" */
};

/* The result of the check. */
struct report_check {
    bool was_made;
    struct sheaf_verify_result result;
    char problems[12][512];             /* the first of them */
    size_t problem_count;
    char failure[512];                  /* why the check could not be made, or "" */
};

struct report {
    FILE *f;
    const struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
    json_t *manifest;                   /* info.manifest_json, parsed; NULL if that is NULL */
    /* name of the data set, as the user has given it on the command line */
    const char *name;
    const struct sheaf_reader_options *options;
    uint64_t *class_samples;            /* samples of each class, or NULL if unknown */
    const struct report_samples *samples;
    const struct report_check *check;
};

/* Reads the samples that the page shows. If a sample cannot be read, the page shows the error
 * instead. (report_samples.c) */
void report_read_samples(const struct sheaf_dataset *dataset, struct report_samples *samples);
void report_free_samples(struct report_samples *samples);

/* The sections, in their order. */
void report_head(const struct report *r);
void report_pictures(const struct report *r);       /* report_pictures.c */
void report_classes(const struct report *r);        /* report_classes.c */
void report_fields(const struct report *r);
void report_crops(const struct report *r);          /* report_pictures.c */
void report_image_sizes(const struct report *r);    /* report_pictures.c */
void report_columns(const struct report *r);        /* nothing if there are none */
void report_shards(const struct report *r);
void report_mixing(const struct report *r);
void report_checked(const struct report *r);
void report_details(const struct report *r);
void report_foot(const struct report *r);

#endif
