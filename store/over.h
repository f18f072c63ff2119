/* SPDX-License-Identifier: MIT
 *
 * Writes and removes objects on a condition. With such writes, several runs (processes that write
 * data sets) can work in one directory without waiting for each other. A run first finds out which
 * object is at a URL. It then writes or removes only if the same object is still there.
 *
 * If a store cannot compare and write in one step, the run compares just before it writes. Another
 * run can then still interfere between the two steps. A caller that must exclude this uses
 * store_lock. */
#ifndef STORE_OVER_H
#define STORE_OVER_H

#include "store/store.h"

/* store_see finds out which object is now at `url`, and describes the object in *seen.
 * store_see_note also writes to `note` the object's note, a word that the store keeps with the
 * object (see STORE_NOTE_SIZE). The note is "" if the object has no note, or if the store does not
 * return notes. */
int store_see(const char *url, struct store_seen *seen, struct sheaf_error *err);
/* Calls store_see for several URLs, and sends all requests at the same time. */
int store_see_all(const char *const urls[], size_t count, struct store_seen seen[],
                  struct sheaf_error *err);
int store_see_note(const char *url, struct store_seen *seen, char note[STORE_NOTE_SIZE],
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED if `url` no longer has the object `seen` that the caller has seen
 * there. */
int store_check_seen(const char *url, const struct store_seen *seen, struct sheaf_error *err);
/* store_commit_over and store_put_over work like store_commit and store_put, but on a condition:
 * `url` must still have the object `seen`, or no object if the caller has seen none. If the
 * condition is false, they write nothing and return SHEAF_ERR_CHANGED.
 *
 * On success, *now describes the object at `url`. If another writer has already written the same
 * bytes there, *now describes the object of that writer. now->stamp is 0 if the store does not
 * return a stamp. */
int store_commit_over(struct store_writer *writer, const struct store_seen *seen,
                      struct store_seen *now, struct sheaf_error *err);
int store_put_over(const char *url, const void *data, size_t size, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err);
/* Writes an object like store_put_over, and stores the word `note` with it (see STORE_NOTE_SIZE).
 * `note` may be NULL. The note is not stored if the object is so large that it is sent in parts. If
 * `stage` is not NULL, it is a directory into which the file is renamed before it gets its final
 * name (see store/stage.h). */
int store_put_through(const char *url, const void *data, size_t size, const char *stage,
                      const char *note, const struct store_seen *seen, struct store_seen *now,
                      struct sheaf_error *err);
/* Removes the object at `url` if it is still the object `seen`. Returns SHEAF_ERR_CHANGED if `url`
 * has another object, and SHEAF_OK if `url` has no object. */
int store_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err);

#endif
