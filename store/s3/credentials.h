/* SPDX-License-Identifier: MIT
 *
 * AWS credentials. A set of credentials is an access key, its secret and a session token. A set
 * never changes and is reference-counted. So a request that uses an old set can continue after a
 * new set was fetched.
 *
 * A cache fetches a new set on a thread of its own before the old set expires. Getting a set from
 * the cache never blocks: during a renewal, requests are signed with the old set. If the old set
 * has expired, a request is delayed until the new set has arrived. */
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

/* Makes a set of credentials with one reference, which the caller must release. All strings are
 * copied. session_token may be NULL or empty. Returns NULL if memory is exhausted. */
struct credentials *credentials_new(const char *access_key_id, const char *secret_access_key,
                                    const char *session_token, int64_t expires_ms);
void credentials_release(struct credentials *set);      /* NULL is fine */

/* Returns the present time in milliseconds since 1970. */
int64_t credentials_now_ms(void);

/* Parses a time such as "2026-11-20T21:00:00Z" into milliseconds since 1970. The seconds may have a
 * fraction, and the zone may be "+00:00" instead of "Z". */
bool credentials_parse_time(const char *text, int64_t *ms);

/* The age of a set of credentials: fresh, aging (to be renewed) or dead (not to be used). A set is
 * aging when a quarter of its life is left, or 5 minutes if that is less. A set is dead when an
 * eighth of its life is left, or 10 s if that is less. */
enum credentials_age { CREDENTIALS_FRESH, CREDENTIALS_AGING, CREDENTIALS_DEAD };
enum credentials_age credentials_age(int64_t obtained_ms, int64_t expires_ms, int64_t now_ms);

/* A source of sets of credentials, for example a profile. Each source has this struct as a member
 * of a larger struct with its own data. The function `fetch` may block. */
struct credentials_source {
    int (*fetch)(struct credentials_source *source, struct credentials **set,
                 struct sheaf_error *err);
    void (*free)(struct credentials_source *source);
};

struct credentials_cache;

/* Opens a cache for the credentials that `source` returns. The cache takes over the source: it
 * frees the source at the end, and also if opening fails. */
int credentials_cache_open(struct credentials_cache **cache, struct credentials_source *source,
                           struct sheaf_error *err);
/* Opens a cache that has a copy of the given set, and never fetches another set. */
int credentials_cache_fixed(struct credentials_cache **cache, const struct credentials *set,
                            struct sheaf_error *err);
/* Waits until a running fetch has ended, and frees the cache. Does nothing if `cache` is NULL. */
void credentials_cache_close(struct credentials_cache *cache);

/* Returns the current set of the cache, which the caller must release. If there is no valid set,
 * starts a fetch and returns SHEAF_END; the caller must then call again later. If the last fetch
 * has just failed, returns the error of that fetch. Never blocks. May be called on any thread. */
int credentials_get(struct credentials_cache *cache, struct credentials **set,
                    struct sheaf_error *err);
/* Does the same, but waits. */
int credentials_wait(struct credentials_cache *cache, struct credentials **set,
                     struct sheaf_error *err);

/* Records that the service has rejected this set because it has expired. Returns whether another
 * set can be fetched. */
bool credentials_reject(struct credentials_cache *cache, const struct credentials *set);

#endif
