/* SPDX-License-Identifier: MIT
 *
 * The conditions of a view on keys.
 *
 * Keys are in the samples only.  Those of a list are looked up in dataset.keys, and only the
 * samples that this finds are read.  For a pattern, and where there is no such table, all samples
 * are read, but once: what was found stays in a file beside the view (chosen_file.h). */
#ifndef READER_VIEW_VIEW_KEYS_H
#define READER_VIEW_VIEW_KEYS_H

#include "formats/view.h"
#include "reader/dataset/dataset.h"
#include "reader/view/chosen_file.h"

/* The chosen ones so far: a bit for each sample. */
struct choice {
    const struct sheaf_dataset *dataset;
    const struct view_where *where;
    uint64_t total;
    uint64_t *bits;
};

static inline bool choice_has(const struct choice *c, uint64_t number)
{
    return (c->bits[number / 64] >> (number % 64) & 1) != 0;
}

static inline void choice_leave_out(struct choice *c, uint64_t number)
{
    c->bits[number / 64] &= ~((uint64_t)1 << (number % 64));
}

/* How keys are read. */
struct view_keys_how {
    const char *directory;                      /* of the document */
    const struct sheaf_read_options *reading;   /* memory, progress and interruption; or NULL */
    struct chosen_file *file;
};

/* Leaves out whose keys do not fulfil the conditions, and gives `where` the text that says what was
 * in the files of keys. */
int view_keys_select(struct choice *choice, struct view_where *where,
                     const struct view_keys_how *how, struct sheaf_error *err);

/* A path of the document, to be freed: relative to its directory, unless it is a URL or
 * absolute. */
char *view_keys_path(const char *directory, const char *path);

#endif
