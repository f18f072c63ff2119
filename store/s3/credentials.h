/* SPDX-License-Identifier: MIT
 *
 * AWS credentials: sets of keys (an access key, its secret and a session token), and a cache that
 * renews a set before it expires.
 *
 * A set never changes and is reference-counted. So a request that was signed with an old set may
 * continue while a new set already exists. The cache fetches sets on a thread of its own, which is
 * started when needed. Calls of the cache never block. A request is signed with the old set while a
 * renewal is under way. Only if the old set has expired is the request put off until the renewal is
 * done. */
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

/* Returns a new set of credentials with one reference, which the caller must release. Returns NULL
 * if memory is exhausted. All strings are copied. `session_token` may be NULL or empty. */
struct credentials *credentials_new(const char *access_key_id, const char *secret_access_key,
                                    const char *session_token, int64_t expires_ms);
void credentials_release(struct credentials *set);      /* NULL is fine */

/* Milliseconds since 1970, now. */
int64_t credentials_now_ms(void);

/* Parses a time such as "2026-11-20T21:00:00Z". The time may have a fraction of a second, and an
 * offset of +00:00 instead of the Z. */
bool credentials_parse_time(const char *text, int64_t *ms);

/* The age of a set of credentials: good; good but due for renewal; not usable. A set is due for
 * renewal when a quarter of its life is left, or 5 minutes if that is less. It is not usable when
 * an eighth of its life is left, or 10 s if that is less. */
enum credentials_age { CREDENTIALS_FRESH, CREDENTIALS_AGING, CREDENTIALS_DEAD };
enum credentials_age credentials_age(int64_t obtained_ms, int64_t expires_ms, int64_t now_ms);

/* A source of sets of credentials. `fetch` may block. The struct is embedded in a struct with the
 * source's own data. */
struct credentials_source {
    int (*fetch)(struct credentials_source *source, struct credentials **set,
                 struct sheaf_error *err);
    void (*free)(struct credentials_source *source);
};

struct credentials_cache;

/* Takes the source, also on failure. */
int credentials_cache_open(struct credentials_cache **cache, struct credentials_source *source,
                           struct sheaf_error *err);
/* Opens a cache that always has a copy of the given set and never fetches another one. */
int credentials_cache_fixed(struct credentials_cache **cache, const struct credentials *set,
                            struct sheaf_error *err);
/* Closes the cache after waiting for a running fetch. NULL is allowed. */
void credentials_cache_close(struct credentials_cache *cache);

/* Returns the current set, which the caller must release. Returns SHEAF_END if a set is being
 * fetched, so that the caller must call again. Returns the error of the last fetch if it failed.
 * May be called on any thread. Never blocks. */
int credentials_get(struct credentials_cache *cache, struct credentials **set,
                    struct sheaf_error *err);
/* Does the same, but waits. */
int credentials_wait(struct credentials_cache *cache, struct credentials **set,
                     struct sheaf_error *err);

/* Records that the service has rejected this set as expired. Returns true if another set may be
 * obtained. */
bool credentials_reject(struct credentials_cache *cache, const struct credentials *set);

#endif
