/* SPDX-License-Identifier: MIT
 *
 * AWS credentials: sets of keys, and a cache that renews them before they end.
 *
 * A set never changes and is counted, so that a request signed with it may continue while the next
 * set is there already.  The cache fetches on a thread of its own, started when it is needed:
 * asking it never blocks, and no request waits for a renewal unless the old set has expired. */
#ifndef STORE_S3_CREDENTIALS_H
#define STORE_S3_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

#define CREDENTIALS_NEVER INT64_MAX

struct credentials {
    char *access_key_id;
    char *secret_access_key;
    char *session_token;        /* or NULL */
    int64_t obtained_ms;        /* since 1970 */
    int64_t expires_ms;         /* the same, or CREDENTIALS_NEVER */
    unsigned users;             /* atomic */
};

/* A set with one user: all strings are copied; `session_token` may be NULL or empty.  NULL when
 * there is no memory. */
struct credentials *credentials_new(const char *access_key_id, const char *secret_access_key,
                                    const char *session_token, int64_t expires_ms);
void credentials_release(struct credentials *set);      /* NULL is fine */

/* Milliseconds since 1970, now. */
int64_t credentials_now_ms(void);

/* "2026-11-20T21:00:00Z", also with a fraction of a second, UTC, or an offset of +00:00. */
bool credentials_parse_time(const char *text, int64_t *ms);

/* How a set stands at a time: good; to be renewed soon, though still good; not to be used.  The
 * middle part begins when a quarter of its life is left, at most 5 minutes before the end; the
 * last one an eighth, at most 10 s, before it. */
enum credentials_age { CREDENTIALS_FRESH, CREDENTIALS_AGING, CREDENTIALS_DEAD };
enum credentials_age credentials_age(int64_t obtained_ms, int64_t expires_ms, int64_t now_ms);

/* Where sets come from.  fetch may block; the struct is embedded in one with what it needs. */
struct credentials_source {
    int (*fetch)(struct credentials_source *source, struct credentials **set,
                 struct sheaf_error *err);
    void (*free)(struct credentials_source *source);
};

struct credentials_cache;

/* Takes the source, also on failure. */
int credentials_cache_open(struct credentials_cache **cache, struct credentials_source *source,
                           struct sheaf_error *err);
/* One that only ever has a copy of this set. */
int credentials_cache_fixed(struct credentials_cache **cache, const struct credentials *set,
                            struct sheaf_error *err);
/* Waits for a fetch that is under way.  NULL is fine. */
void credentials_cache_close(struct credentials_cache *cache);

/* The current set, to be released; SHEAF_END if one is being fetched, so ask again; or the error
 * of the last fetch.  From any thread; never blocks. */
int credentials_get(struct credentials_cache *cache, struct credentials **set,
                    struct sheaf_error *err);
/* The same, waiting. */
int credentials_wait(struct credentials_cache *cache, struct credentials **set,
                     struct sheaf_error *err);

/* The service says that this set has ended.  True if another one can be had. */
bool credentials_reject(struct credentials_cache *cache, const struct credentials *set);

#endif
