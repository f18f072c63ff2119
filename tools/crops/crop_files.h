/* SPDX-License-Identifier: MIT
 *
 * Crops of samples for people to look at, such as the crops that a step of training was fed: parses
 * a user's choice of crops, and writes them as PNG files. */
#ifndef TOOLS_CROPS_CROP_FILES_H
#define TOOLS_CROPS_CROP_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/option_table.h"

#define CROP_MASKS_MOST 8u

/* "224" or "WIDTHxHEIGHT", then ",NAME=VALUE" with the names and values of sheaf.Pixels in Python:
 * crop, resize, scale, ratio, flip, filter, order, field, mask. */
#define CROP_CHOICE_TEXT "SIZE[,NAME=VALUE]..."
struct crop_choice {
    struct sheaf_pixels_options options;
    const char *field;                  /* NULL: the first image */
    const char *masks[CROP_MASKS_MOST];
    char *text;                         /* the names lie here */
};

/* Returns -1, or the exit status after a complaint. `text` is NULL for the defaults. */
int crop_choice_parse(struct crop_choice *choice, const char *text);
void crop_choice_free(struct crop_choice *choice);

/* A directory of crops: the files NUMBER.png, NUMBER.MASK for each mask, and samples.tsv, which has
 * for each number: key, labels, top, left, height, width, flipped, seed. */
struct crop_files;

/* Creates the directory, which must be empty if it exists. Returns -1, or the exit status after a
 * complaint. */
int crop_files_open(const char *directory, const struct crop_choice *choice, unsigned threads,
                    struct crop_files **files);
/* The treatment of samples whose image is bad. */
struct crop_policy {
    const struct sheaf_dataset *dataset;
    bool skips;
    uint64_t most;                      /* that may be skipped */
    uint64_t skipped;
};
/* Writes the crops of samples. Returns -1, or the exit status after a complaint. */
int crop_files_put(struct crop_files *files, const struct sheaf_sample *samples, size_t count,
                   struct crop_policy *policy);
/* Returns the processor time that decoding has taken so far. NULL is allowed. */
uint64_t crop_files_busy_ns(const struct crop_files *files);
/* Returns the exit status. NULL is allowed. */
int crop_files_close(struct crop_files *files);

/* Measures how many crops one core makes per second, using up to 64 samples spread over the data
 * set, and prints it as a line, or as a member of a JSON object. Returns the exit status. */
int crop_rate_print(const struct sheaf_dataset *dataset, const struct crop_choice *choice,
                    bool json);

#endif
