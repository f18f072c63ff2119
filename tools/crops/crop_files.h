/* SPDX-License-Identifier: MIT
 *
 * Crops of samples for people to look at, such as the crops that a training step has received.
 * Parses the user's choice of crops, and writes them as PNG files. */
#ifndef TOOLS_CROPS_CROP_FILES_H
#define TOOLS_CROPS_CROP_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/option_table.h"

#define CROP_MASKS_MOST 8u
#define CROP_VIEWS_MOST 16u

/* The text has the form "224" or "WIDTHxHEIGHT", followed by any number of ",NAME=VALUE". The names
 * and values are those of sheaf.Pixels in Python: crop, resize, scale, ratio, flip, filter, order,
 * field, mask, view. If the text has values "view=...", each of them has a size of its own. The
 * text then has no size at its beginning. */
#define CROP_CHOICE_TEXT "SIZE[,NAME=VALUE]..."
struct crop_choice {
    struct sheaf_pixels_options options;
    /* the views that the user gave with "view="; if the user gave none, one view of the size in the
     * text */
    struct sheaf_pixels_view views[CROP_VIEWS_MOST];
    size_t view_count;
    const char *field;                  /* NULL: the first image */
    const char *masks[CROP_MASKS_MOST];
    char *text;                         /* the names lie here */
};

/* Parses a choice of crops. `text` is NULL for the defaults. Returns -1 on success, or the exit
 * status after an error message. */
int crop_choice_parse(struct crop_choice *choice, const char *text);
void crop_choice_free(struct crop_choice *choice);

/* A directory with crops. It has the file NUMBER.png for each image, NUMBER.MASK for each mask, and
 * samples.tsv. If there are views, NUMBER is followed by a dot and the number of the crop. For each
 * crop, samples.tsv lists: file, key, labels, top, left, height, width, flipped, seed. */
struct crop_files;

/* Creates the directory. If the directory already exists, it must be empty. Returns -1 on success,
 * or the exit status after an error message. */
int crop_files_open(const char *directory, const struct crop_choice *choice, unsigned threads,
                    struct crop_files **files);
/* The treatment of samples whose image is bad. */
struct crop_policy {
    const struct sheaf_dataset *dataset;
    bool skips;
    uint64_t most;                      /* that may be skipped */
    uint64_t skipped;
};
/* Writes the crops of samples. Returns -1 on success, or the exit status after an error message. */
int crop_files_put(struct crop_files *files, const struct sheaf_sample *samples, size_t count,
                   struct crop_policy *policy);
/* Returns the processor time in nanoseconds that making crops has taken so far. NULL is allowed. */
uint64_t crop_files_busy_ns(const struct crop_files *files);
/* Returns the exit status. NULL is allowed. */
int crop_files_close(struct crop_files *files);

/* Measures how many crops per second one core makes, with up to 64 samples spread over the data
 * set. Prints the result as a line, or as a member of a JSON object. Returns the exit status. */
int crop_rate_print(const struct sheaf_dataset *dataset, const struct crop_choice *choice,
                    bool json);

#endif
