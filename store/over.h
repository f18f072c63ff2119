/* SPDX-License-Identifier: MIT
 *
 * Writes and removes objects on a condition. Several runs may work in one directory without waiting
 * for each other. Each run looks at the object that has a name and decides what to do. The run then
 * acts only if the name still has the same object.
 *
 * If a store cannot compare and act in one step, the run compares the objects just before it acts.
 * Another run can then still interfere between these two steps. A caller that must exclude this
 * uses store_lock. */
#ifndef STORE_OVER_H
#define STORE_OVER_H

#include "store/store.h"

/* store_see finds out which object is now at `url`, and describes it in *seen. store_see_note also
 * writes the note of the object, a word that the store keeps with it (see STORE_NOTE_SIZE). The
 * note is "" if the object has no note, or if the store does not return notes. */
int store_see(const char *url, struct store_seen *seen, struct sheaf_error *err);
/* Does the work of store_see for several URLs. All requests run at the same time. */
int store_see_all(const char *const urls[], size_t count, struct store_seen seen[],
                  struct sheaf_error *err);
int store_see_note(const char *url, struct store_seen *seen, char note[STORE_NOTE_SIZE],
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED if `url` no longer has the object `seen` that the caller has seen
 * there. */
int store_check_seen(const char *url, const struct store_seen *seen, struct sheaf_error *err);
/* store_commit_over does what store_commit does, and store_put_over what store_put does, but only
 * if `url` still has the object `seen` (or still has no object, if the caller saw none). Otherwise
 * they write nothing and return SHEAF_ERR_CHANGED.
 *
 * On success, *now describes the object at `url`. If another writer has already written the same
 * bytes there, this is the object of that writer. now->stamp is 0 if the store does not tell the
 * stamp. */
int store_commit_over(struct store_writer *writer, const struct store_seen *seen,
                      struct store_seen *now, struct sheaf_error *err);
int store_put_over(const char *url, const void *data, size_t size, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err);
/* Writes like store_put_over, but lets the object pass through a stage (see store/stage.h) and
 * stores a note with it (see STORE_NOTE_SIZE). `stage` and `note` may be NULL. If the object is so
 * large that it is sent in parts, the note is not stored. */
int store_put_through(const char *url, const void *data, size_t size, const char *stage,
                      const char *note, const struct store_seen *seen, struct store_seen *now,
                      struct sheaf_error *err);
/* Removes the object at `url` if it is still the object `seen`. Returns SHEAF_ERR_CHANGED if `url`
 * has another object, and SHEAF_OK if `url` has no object. */
int store_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err);

#endif
