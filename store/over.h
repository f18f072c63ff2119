/* SPDX-License-Identifier: MIT
 *
 * Conditional writes and removals. Several runs may work at one destination without waiting for
 * each other. Each run looks at the object to which a name refers, decides, and acts only if the
 * name still refers to the same object. If a store cannot compare and act in one step, the
 * comparison is made just before acting. A caller that needs more certainty uses store_lock. */
#ifndef STORE_OVER_H
#define STORE_OVER_H

#include "store/store.h"

/* store_see finds the object that is now at `url`. store_see_note also sets `note` to the note of
 * this object, a word that the store keeps with it (see STORE_NOTE_SIZE). `note` becomes "" if the
 * object has no note or its note cannot be determined. */
int store_see(const char *url, struct store_seen *seen, struct sheaf_error *err);
/* Requests the states of several objects, like store_see. All requests run at the same time. */
int store_see_all(const char *const urls[], size_t count, struct store_seen seen[],
                  struct sheaf_error *err);
int store_see_note(const char *url, struct store_seen *seen, char note[STORE_NOTE_SIZE],
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED if the name no longer refers to the object `seen`, which the caller saw
 * before. */
int store_check_seen(const char *url, const struct store_seen *seen, struct sheaf_error *err);
/* store_commit_over writes like store_commit, and store_put_over like store_put, but only if the
 * name still refers to the object `seen` that the caller saw there, or still to no object.
 * Otherwise they write nothing and return SHEAF_ERR_CHANGED. *now is set to the object that is
 * there afterwards: the one written here, or one with the same bytes from a faster writer. Its
 * stamp is 0 if the store does not tell the stamp. */
int store_commit_over(struct store_writer *writer, const struct store_seen *seen,
                      struct store_seen *now, struct sheaf_error *err);
int store_put_over(const char *url, const void *data, size_t size, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err);
/* Writes like store_put_over, but through a stage (see store/stage.h) and with a note (see
 * STORE_NOTE_SIZE). Both may be NULL. If an object is sent in parts, the store keeps no note with
 * it. */
int store_put_through(const char *url, const void *data, size_t size, const char *stage,
                      const char *note, const struct store_seen *seen, struct store_seen *now,
                      struct sheaf_error *err);
/* Removes the object `seen` that the caller saw under the name, if it still exists. Returns
 * SHEAF_ERR_CHANGED if the name now refers to another object. */
int store_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err);

#endif
