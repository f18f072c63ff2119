/* SPDX-License-Identifier: MIT
 *
 * Implements conditional writes and removals (see over.h). A conditional write or removal takes
 * effect only if the name still refers to the object that the caller has seen. If a store cannot
 * check this and act in one step, this file makes the check just before it acts. */
#include "store/over.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/event.h"

/* ---- Seeing ---------------------------------------------------------------------------------- */

struct stat_wait {
    struct store_stat stat;
    struct event answered;
};

static void over_answered(struct store_stat *stat)
{
    event_set(&((struct stat_wait *)stat)->answered);
}

static void over_start(struct stat_wait *q, const char *url, char *note)
{
    *q = (struct stat_wait){ .stat = { .url = url, .done = over_answered, .note = note },
                             .answered = EVENT_INIT };
    store_stat_start(&q->stat);
}

static int over_finish(struct stat_wait *q, struct store_seen *seen, struct sheaf_error *err)
{
    event_wait(&q->answered);
    *seen = (struct store_seen){ .is_there = q->stat.code == SHEAF_OK, .bytes = q->stat.bytes,
                                 .stamp = q->stat.stamp };
    memcpy(seen->etag, q->stat.etag, sizeof(seen->etag));
    if (q->stat.code == SHEAF_OK || q->stat.code == SHEAF_ERR_NOT_FOUND)
        return SHEAF_OK;
    if (err != NULL)
        *err = q->stat.error;
    return q->stat.code;
}

static int over_see(const char *url, struct store_seen *seen, char *note, struct sheaf_error *err)
{
    struct stat_wait q;

    if (note != NULL)
        note[0] = '\0';
    over_start(&q, url, note);
    return over_finish(&q, seen, err);
}

int store_see_all(const char *const urls[], size_t count, struct store_seen seen[],
                  struct sheaf_error *err)
{
    struct stat_wait *all = calloc(count + 1, sizeof(all[0]));
    int code = SHEAF_OK;

    if (all == NULL)
        return err_memory(err, count * sizeof(all[0]));
    for (size_t i = 0; i < count; i++)
        over_start(&all[i], urls[i], NULL);
    for (size_t i = 0; i < count; i++) {
        const int one = over_finish(&all[i], &seen[i], code == SHEAF_OK ? err : NULL);

        code = code == SHEAF_OK ? one : code;
    }
    free(all);
    return code;
}

int store_see(const char *url, struct store_seen *seen, struct sheaf_error *err)
{
    return over_see(url, seen, NULL, err);
}

int store_see_note(const char *url, struct store_seen *seen, char note[STORE_NOTE_SIZE],
                   struct sheaf_error *err)
{
    return over_see(url, seen, note, err);
}

/* Returns whether `a` and `b` describe the same object. A stamp is a number that is different if
 * the object was replaced. A stamp of 0 is unknown, and counts as equal to any stamp. It may be
 * unknown because some servers tell the ETag of an object only to its writer. */
static bool over_is_same(const struct store_seen *a, const struct store_seen *b)
{
    return a->is_there == b->is_there &&
           (!a->is_there || (a->bytes == b->bytes &&
                             (a->stamp == b->stamp || a->stamp == 0 || b->stamp == 0)));
}

static int over_refuse(const char *url, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CHANGED, "%s: another process created it in the meantime", url);
}

int store_check_seen(const char *url, const struct store_seen *seen, struct sheaf_error *err)
{
    struct store_seen now;
    const int code = store_see(url, &now, err);

    return code != SHEAF_OK || over_is_same(&now, seen) ? code : over_refuse(url, err);
}

/* ---- Acting ---------------------------------------------------------------------------------- */

/* Compares and then commits, for stores without conditions. */
static int check_and_commit(struct store_writer *writer, const struct store_seen *seen,
                            struct store_seen *now, struct sheaf_error *err)
{
    char *url = strdup(writer->url);
    int code = url == NULL ? err_memory(err, strlen(writer->url))
                           : store_check_seen(url, seen, err);

    if (code == SHEAF_OK)
        code = store_commit(writer, err);
    else
        store_abort(writer);
    if (code == SHEAF_OK)
        code = store_see(url, now, err);
    free(url);
    return code;
}

int store_commit_over(struct store_writer *writer, const struct store_seen *seen,
                      struct store_seen *now, struct sheaf_error *err)
{
    *now = (struct store_seen){ .is_there = true };
    return writer->ops->commit_over != NULL ? writer->ops->commit_over(writer, seen, now, err)
                                            : check_and_commit(writer, seen, now, err);
}

int store_put_through(const char *url, const void *data, size_t size, const char *stage,
                      const char *note, const struct store_seen *seen, struct store_seen *now,
                      struct sheaf_error *err)
{
    struct store_writer *writer = NULL;
    const int code = store_create_whole(url, data, size, &writer, err);

    if (code != SHEAF_OK)
        return code;
    writer->note = note;
    writer->stage = stage;
    return store_commit_over(writer, seen, now, err);
}

int store_put_over(const char *url, const void *data, size_t size, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err)
{
    return store_put_through(url, data, size, NULL, NULL, seen, now, err);
}

/* Removes the object at `url` if it is still the object `seen`, which the caller has seen there.
 * Does nothing if `url` has no object. */
int store_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);
    struct store_seen now;
    int code = ops == NULL ? SHEAF_ERR_UNSUPPORTED : store_see(url, &now, err);

    if (code != SHEAF_OK || !now.is_there)
        return code;
    if (!over_is_same(&now, seen))
        return over_refuse(url, err);
    return ops->remove_over != NULL ? ops->remove_over(url, seen, err) : store_remove(url, err);
}
