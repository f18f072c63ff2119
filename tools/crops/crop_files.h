/* SPDX-License-Identifier: MIT
 *
 * Writes crops of images as PNG files, so that people can look at the crops that a training step
 * receives. Also parses the text by which the user chooses the crops. */
#ifndef TOOLS_CROPS_CROP_FILES_H
#define TOOLS_CROPS_CROP_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/option_table.h"

#define CROP_MASKS_MOST 8u
#define CROP_VIEWS_MOST 16u

/* The text by which a user chooses crops. It consists of a size in pixels, "224" or "WIDTHxHEIGHT",
 * and any number of ",NAME=VALUE". The names and values are those of sheaf.Pixels in Python: crop,
 * resize, scale, ratio, flip, filter, order, field, mask, view. If the text has a "view=...", the
 * size at the beginning is left out, because each view has its own size. */
#define CROP_CHOICE_TEXT "SIZE[,NAME=VALUE]..."
struct crop_choice {
    struct sheaf_pixels_options options;
    /* the kinds of crops that the user gave with "view="; if the user gave none, a single view,
     * whose size is at the beginning of the text */
    struct sheaf_pixels_view views[CROP_VIEWS_MOST];
    size_t view_count;
    const char *field;                  /* NULL: the first image */
    const char *masks[CROP_MASKS_MOST];
    char *text;                         /* the names lie here */
};

/* Parses the text by which the user chooses crops; NULL stands for the defaults. Returns -1 on
 * success. On failure, prints an error message and returns the exit status. */
int crop_choice_parse(struct crop_choice *choice, const char *text);
void crop_choice_free(struct crop_choice *choice);

/* A directory to which crops are written. It has a file NUMBER.png for the crop of each image,
 * NUMBER.MASK for the crop of each mask, and samples.tsv. If there are several crops of an image,
 * NUMBER is followed by a dot and the number of the crop. For each crop, samples.tsv has a line
 * with these columns: file, key, labels, top, left, height, width, flipped, seed. */
struct crop_files;

/* Creates the directory for crops. If the directory already exists, it must be empty. Returns -1 on
 * success. On failure, prints an error message and returns the exit status. */
int crop_files_open(const char *directory, const struct crop_choice *choice, unsigned threads,
                    struct crop_files **files);
/* The treatment of samples whose image is bad. */
struct crop_policy {
    const struct sheaf_dataset *dataset;
    bool skips;
    uint64_t most;                      /* that may be skipped */
    uint64_t skipped;
};
/* Makes the crops of `count` samples and writes them to the directory. Returns -1 on success. On
 * failure, prints an error message and returns the exit status. */
int crop_files_put(struct crop_files *files, const struct sheaf_sample *samples, size_t count,
                   struct crop_policy *policy);
/* Returns the processor time in nanoseconds that making crops has taken so far. Returns 0 if
 * `files` is NULL. */
uint64_t crop_files_busy_ns(const struct crop_files *files);
/* Returns the exit status. NULL is allowed. */
int crop_files_close(struct crop_files *files);

/* Measures how many crops per second one core makes, with at most 64 samples that are spread evenly
 * over the data set. Prints the result as a line of text, or as a member of a JSON object. Returns
 * an exit status. */
int crop_rate_print(const struct sheaf_dataset *dataset, const struct crop_choice *choice,
                    bool json);

#endif
