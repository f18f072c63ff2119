/* SPDX-License-Identifier: MIT
 *
 * Conditional writes and removals. Several runs at one destination do not wait for each other. Each
 * reads what a name refers to, decides, and acts only if the name still refers to the same object.
 * A store that cannot compare and act atomically compares just before acting. A caller that needs
 * more uses store_lock. */
#ifndef STORE_OVER_H
#define STORE_OVER_H

#include "store/store.h"

/* store_see returns which object the name refers to now. The second function also returns that
 * object's note, or "" if it has none or it cannot be determined. */
int store_see(const char *url, struct store_seen *seen, struct sheaf_error *err);
/* Does the same for several objects with all requests under way at once. */
int store_see_all(const char *const urls[], size_t count, struct store_seen seen[],
                  struct sheaf_error *err);
int store_see_note(const char *url, struct store_seen *seen, char note[STORE_NOTE_SIZE],
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED if the name refers to something other than what was seen. */
int store_check_seen(const char *url, const struct store_seen *seen, struct sheaf_error *err);
/* Write like store_commit and store_put, but return SHEAF_ERR_CHANGED and write nothing if the name
 * refers to another object than was seen, or to one where none was seen. *now is set to the object
 * that is there afterwards: the one written here, or one with the same bytes from a faster writer.
 * Its stamp is 0 if the store does not tell it. */
int store_commit_over(struct store_writer *writer, const struct store_seen *seen,
                      struct store_seen *now, struct sheaf_error *err);
int store_put_over(const char *url, const void *data, size_t size, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err);
/* Writes through a stage (store/stage.h) and with a note (see STORE_NOTE_SIZE), if these are not
 * NULL. A store keeps no note with an object that is sent in parts. */
int store_put_through(const char *url, const void *data, size_t size, const char *stage,
                      const char *note, const struct store_seen *seen, struct store_seen *now,
                      struct sheaf_error *err);
/* Removes the object that was seen, if it still exists. Returns SHEAF_ERR_CHANGED if the name
 * refers to another object. */
int store_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err);

#endif
