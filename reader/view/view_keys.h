/* SPDX-License-Identifier: MIT
 *
 * Conditions of a view (a mix of data sets) on keys. Keys are stored only in the samples. The table
 * of keys (dataset.keys) shows which samples may have a given key.
 *
 * So for a list of keys, only the samples that the table shows are read. For a pattern, or without
 * a table, all samples are read. */
#ifndef READER_VIEW_VIEW_KEYS_H
#define READER_VIEW_VIEW_KEYS_H

#include "formats/view.h"
#include "reader/dataset/dataset.h"
#include "reader/view/chosen_file.h"

/* The samples that are chosen so far. The bit of a sample is set if no condition has excluded it.
 */
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

/* Options for reading keys. */
struct view_keys_how {
    const char *directory;                      /* directory of the document */
    /* options for memory, progress and interruption; may be NULL */
    const struct sheaf_read_options *reading;
    struct chosen_file *file;
};

/* Returns the options for reading, or the defaults. */
struct sheaf_read_options view_keys_options(const struct view_keys_how *how);

/* The lists of keys of a source's conditions. */
struct view_keys;
/* Reads the lists. The caller frees *keys. */
int view_keys_open(const struct view_where *where, const struct view_keys_how *how,
                   struct view_keys **keys, struct sheaf_error *err);
void view_keys_free(struct view_keys *keys);            /* `keys` may be NULL. */
/* Returns a hash that identifies the content of the list "keys", or of the list "not_keys" if
 * `is_not` is true. Returns NULL if there is no such list. */
const char *view_keys_text(const struct view_keys *keys, bool is_not);

/* Removes from `choice` all samples whose keys do not satisfy the conditions. */
int view_keys_select(struct choice *choice, const struct view_keys *keys,
                     const struct view_keys_how *how, struct sheaf_error *err);

/* Returns the path or URL that `path` in a document stands for. A relative path is relative to
 * `directory`, the directory of the document. The caller must free the result. */
char *view_keys_path(const char *directory, const char *path);

#endif
