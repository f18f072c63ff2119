/* SPDX-License-Identifier: MIT
 *
 * A file in the directory of a view (a mix of data sets). It stores which samples were chosen by
 * the view's conditions on keys or columns. To evaluate these conditions, samples or records must
 * be read. With this file, they are read only once, when the view is written, and not each time the
 * view is opened. The file is a cache: the view has the same meaning without it.
 *
 *     "SHEAFCHO" | of each source: id, total, a bit for each sample | XXH3-64 of all before */
#ifndef READER_VIEW_CHOSEN_FILE_H
#define READER_VIEW_CHOSEN_FILE_H

#include "base/buf.h"

/* suffix that is appended to the name of the view */
#define CHOSEN_SUFFIX ".chosen"

struct chosen_file {
    /* content of the file when chosen_file_open read it; NULL if there was no valid file */
    char *data;
    size_t size;
    struct buf added;           /* new entries, in the form of the file */
};

/* Reads the file with the chosen samples of the view (a mix of data sets) at `url`. If the file is
 * missing, damaged or not usable, f->data is NULL. */
void chosen_file_open(struct chosen_file *f, const char *url);
void chosen_file_free(struct chosen_file *f);

/* Returns the bits that tell which samples of a source were chosen, or NULL if the file does not
 * contain them. The caller must free the result. */
uint64_t *chosen_file_find(const struct chosen_file *f, uint64_t id, uint64_t total);
/* Adds the chosen samples of a source, as bits. */
int chosen_file_add(struct chosen_file *f, uint64_t id, uint64_t total, const uint64_t *bits,
                    struct sheaf_error *err);
/* Writes the file if entries were added. Leaves out old entries that were not used since the file
 * was read. */
int chosen_file_put(struct chosen_file *f, const char *url, struct sheaf_error *err);

#endif
