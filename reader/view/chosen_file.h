/* SPDX-License-Identifier: MIT
 *
 * The file beside a view that keeps what its conditions on keys chose, so that samples are read for
 * their keys once: when the view is written, and not at each opening.  It is a cache: a view means
 * the same without it.
 *
 *     "SHEAFCHO" | of each source: id, total, a bit for each sample | XXH3-64 of all before */
#ifndef READER_VIEW_CHOSEN_FILE_H
#define READER_VIEW_CHOSEN_FILE_H

#include "base/buf.h"

#define CHOSEN_SUFFIX ".chosen"     /* behind the name of the view */

struct chosen_file {
    char *data;                 /* what was there, found to be whole; NULL: nothing was */
    size_t size;
    struct buf added;           /* what was evaluated, in the form of the file */
};

/* What there is beside the view `url`.  A file that is damaged, or of no use, counts as none. */
void chosen_file_open(struct chosen_file *f, const char *url);
void chosen_file_free(struct chosen_file *f);

/* The bits of a source, to be freed, if they are known; else NULL. */
uint64_t *chosen_file_find(const struct chosen_file *f, uint64_t id, uint64_t total);
/* Notes what was evaluated. */
int chosen_file_add(struct chosen_file *f, uint64_t id, uint64_t total, const uint64_t *bits,
                    struct sheaf_error *err);
/* Writes what was evaluated, if anything was; what else was there goes with it. */
int chosen_file_put(struct chosen_file *f, const char *url, struct sheaf_error *err);

#endif
