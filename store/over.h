/* SPDX-License-Identifier: MIT
 *
 * Conditional writes and removals.  Several runs at one destination do not wait for each other:
 * each reads what has a name, decides, and acts only if the name still has it.  A store that cannot
 * compare and act atomically compares just before; a caller that needs more takes store_lock. */
#ifndef STORE_OVER_H
#define STORE_OVER_H

#include "store/store.h"

/* As store_put, but SHEAF_ERR_EXISTS, and nothing written, if there is something else of that name;
 * of two who do it at once one gets the error, where the store can tell. */
int store_put_new(const char *url, const void *data, size_t size, struct sheaf_error *err);

/* What is there now; and the note that it has, "" without one or where it cannot be told. */
int store_see(const char *url, struct store_seen *seen, struct sheaf_error *err);
int store_see_note(const char *url, struct store_seen *seen, char note[STORE_NOTE_SIZE],
                   struct sheaf_error *err);
/* SHEAF_ERR_CHANGED if that is not what was seen. */
int store_check_seen(const char *url, const struct store_seen *seen, struct sheaf_error *err);
/* As store_commit and store_put, but SHEAF_ERR_CHANGED, and nothing is written, if another object
 * is there than was seen, or one where none was; *now: what is there then, which was written here,
 * or is the same bytes of somebody who came first.  Its stamp is 0 if the store does not tell. */
int store_commit_over(struct store_writer *writer, const struct store_seen *seen,
                      struct store_seen *now, struct sheaf_error *err);
int store_put_over(const char *url, const void *data, size_t size, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err);
/* With a note: see STORE_NOTE_SIZE.  One of an object that is sent in parts is not kept. */
int store_put_note_over(const char *url, const void *data, size_t size, const char *note,
                        const struct store_seen *seen, struct store_seen *now,
                        struct sheaf_error *err);
/* Removes what was seen, if it is there still: SHEAF_ERR_CHANGED if another object is. */
int store_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err);

#endif
