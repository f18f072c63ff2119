/* SPDX-License-Identifier: MIT
 *
 * The file beside a view that stores which samples the view's conditions on keys have chosen. So
 * samples are read for their keys only once, when the view is written, and not each time the view
 * is opened. The file is a cache: the view means the same without it.
 *
 *     "SHEAFCHO" | of each source: id, total, a bit for each sample | XXH3-64 of all before */
#ifndef READER_VIEW_CHOSEN_FILE_H
#define READER_VIEW_CHOSEN_FILE_H

#include "base/buf.h"

#define CHOSEN_SUFFIX ".chosen"     /* appended to the name of the view */

struct chosen_file {
    char *data;                 /* the content of an existing valid file; or NULL */
    size_t size;
    struct buf added;           /* new entries, in the form of the file */
};

/* Reads the file that belongs to the view `url`. A damaged or unusable file counts as missing. */
void chosen_file_open(struct chosen_file *f, const char *url);
void chosen_file_free(struct chosen_file *f);

/* Returns the bits of a source's chosen samples if the file has them, otherwise NULL. The caller
 * frees them. */
uint64_t *chosen_file_find(const struct chosen_file *f, uint64_t id, uint64_t total);
/* Adds the bits of a source. */
int chosen_file_add(struct chosen_file *f, uint64_t id, uint64_t total, const uint64_t *bits,
                    struct sheaf_error *err);
/* Writes the file if entries were added. Entries that were not used since the file was read are
 * dropped. */
int chosen_file_put(struct chosen_file *f, const char *url, struct sheaf_error *err);

#endif
