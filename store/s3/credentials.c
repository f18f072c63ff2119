/* SPDX-License-Identifier: MIT
 *
 * Sets of credentials and their cache; see credentials.h. */
#include "store/s3/credentials.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/error.h"

#define SECOND_MS 1000
#define RENEW_MOST_MS (300 * SECOND_MS)
#define DEAD_MOST_MS (10 * SECOND_MS)
#define AGAIN_MOST_MS (60 * SECOND_MS)
/* Time in milliseconds after a failed fetch of credentials. During this time, no other fetch is
 * started, and requests fail with the error of the failed fetch. */
#define FAILED_MS 1000

struct credentials_cache {
    struct credentials_source *source;
    pthread_mutex_t lock;
    pthread_cond_t fetched;
    struct {
        struct credentials *set;    /* or NULL */
        bool rejected;              /* the service no longer takes it */
        bool fetching;
        bool has_thread;
        pthread_t thread;
        int64_t again_ms;           /* no renewal is started before */
        /* time at which the last fetch failed; 0 if the last fetch has succeeded */
        int64_t failed_ms;
        struct sheaf_error error;   /* of that */
    } locked;
};

/* ---- Sets ------------------------------------------------------------------------------------ */

static void free_secret(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

struct credentials *credentials_new(const char *access_key_id, const char *secret_access_key,
                                    const char *session_token, int64_t expires_ms)
{
    struct credentials *set = calloc(1, sizeof(*set));
    const bool has_token = session_token != NULL && *session_token != '\0';

    if (set == NULL)
        return NULL;
    set->users = 1;
    set->obtained_ms = credentials_now_ms();
    set->expires_ms = expires_ms;
    set->access_key_id = strdup(access_key_id);
    set->secret_access_key = strdup(secret_access_key);
    set->session_token = has_token ? strdup(session_token) : NULL;
    if (set->access_key_id != NULL && set->secret_access_key != NULL &&
        (!has_token || set->session_token != NULL))
        return set;
    credentials_release(set);
    return NULL;
}

void credentials_release(struct credentials *set)
{
    if (set == NULL || __atomic_sub_fetch(&set->users, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    free_secret(set->access_key_id);
    free_secret(set->secret_access_key);
    free_secret(set->session_token);
    free(set);
}

int64_t credentials_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool credentials_parse_time(const char *text, int64_t *ms)
{
    struct tm tm = { 0 };
    int used = 0;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used) != 6)
        return false;
    text += used;
    if (*text == '.')
        text += 1 + strspn(text + 1, "0123456789");
    if (strcmp(text, "Z") != 0 && strcmp(text, "UTC") != 0 && strcmp(text, "+00:00") != 0)
        return false;
    if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
        tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    *ms = (int64_t)timegm(&tm) * 1000;
    return true;
}

enum credentials_age credentials_age(int64_t obtained_ms, int64_t expires_ms, int64_t now_ms)
{
    const int64_t life = expires_ms == CREDENTIALS_NEVER ? 0 : expires_ms - obtained_ms;
    int64_t left;

    if (expires_ms == CREDENTIALS_NEVER)
        return CREDENTIALS_FRESH;
    left = expires_ms - now_ms;
    if (left <= MIN(MAX(life, 0) / 8, DEAD_MOST_MS))
        return CREDENTIALS_DEAD;
    return left <= MIN(life / 4, RENEW_MOST_MS) ? CREDENTIALS_AGING : CREDENTIALS_FRESH;
}

/* ---- The cache ------------------------------------------------------------------------------- */

/* Returns the time at which the source is asked again for credentials, after it has failed or has
 * returned the old set again. The wait is a quarter of the time until the old set expires, but at
 * least 100 ms and at most AGAIN_MOST_MS. */
static int64_t next_renewal(const struct credentials *set, int64_t now_ms)
{
    const int64_t left = set == NULL || set->expires_ms == CREDENTIALS_NEVER
                         ? 0 : set->expires_ms - now_ms;

    return now_ms + MIN(MAX(left / 4, 100), AGAIN_MOST_MS);
}

/* Fetches a set of credentials from the source. Refuses a set that has already expired. Otherwise
 * the cache would fetch sets again and again. */
static int fetch_good(struct credentials_cache *cache, struct credentials **set,
                      struct sheaf_error *err)
{
    int code = cache->source->fetch(cache->source, set, err);

    if (code == SHEAF_OK && credentials_age((*set)->obtained_ms, (*set)->expires_ms,
                                            (*set)->obtained_ms) == CREDENTIALS_DEAD) {
        code = err_set(err, SHEAF_ERR_ACCESS, "new credentials expired %lld s ago: check this "
                       "machine's clock",
                       (long long)((*set)->obtained_ms - (*set)->expires_ms) / SECOND_MS);
        credentials_release(*set);
    }
    return code;
}

static void *credentials_fetch(void *argument)
{
    struct credentials_cache *cache = argument;
    struct credentials *set = NULL;
    struct sheaf_error error = { 0 };
    const int code = fetch_good(cache, &set, &error);
    const int64_t now_ms = credentials_now_ms();

    pthread_mutex_lock(&cache->lock);
    if (code == SHEAF_OK) {
        credentials_release(cache->locked.set);
        cache->locked.set = set;
        cache->locked.rejected = false;
    } else {
        cache->locked.error = error;
    }
    cache->locked.failed_ms = code == SHEAF_OK ? 0 : now_ms;
    cache->locked.again_ms = next_renewal(cache->locked.set, now_ms);
    cache->locked.fetching = false;
    pthread_cond_broadcast(&cache->fetched);
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

/* Starts a thread that fetches a set of credentials, unless a fetch is running. First joins the
 * thread of the previous fetch. This takes no time, because that thread has already done its
 * work. */
static int begin_fetch_locked(struct credentials_cache *cache, struct sheaf_error *err)
{
    int failed;

    if (cache->locked.fetching)
        return SHEAF_OK;
    if (cache->locked.has_thread)
        pthread_join(cache->locked.thread, NULL);
    failed = pthread_create(&cache->locked.thread, NULL, credentials_fetch, cache);
    cache->locked.has_thread = cache->locked.fetching = failed == 0;
    return failed == 0 ? SHEAF_OK
                       : err_errno(err, failed, "cannot start the thread that gets credentials");
}

static int get_locked(struct credentials_cache *cache, struct credentials **set,
                      struct sheaf_error *err)
{
    struct credentials *current = cache->locked.set;
    const int64_t now_ms = credentials_now_ms();
    enum credentials_age age = CREDENTIALS_DEAD;
    int code;

    if (current != NULL && !cache->locked.rejected)
        age = credentials_age(current->obtained_ms, current->expires_ms, now_ms);
    if (age == CREDENTIALS_DEAD) {
        if (!cache->locked.fetching && cache->locked.failed_ms != 0 &&
            now_ms - cache->locked.failed_ms < FAILED_MS)
            return err_set(err, cache->locked.error.code, "%s", cache->locked.error.message);
        code = begin_fetch_locked(cache, err);
        return code == SHEAF_OK ? SHEAF_END : code;
    }
    /* Start a renewal, and ignore a failure of it, because the present set can still be used. */
    if (age == CREDENTIALS_AGING && now_ms >= cache->locked.again_ms)
        (void)begin_fetch_locked(cache, NULL);
    __atomic_add_fetch(&current->users, 1, __ATOMIC_RELAXED);
    *set = current;
    return SHEAF_OK;
}

int credentials_get(struct credentials_cache *cache, struct credentials **set,
                    struct sheaf_error *err)
{
    int code;

    pthread_mutex_lock(&cache->lock);
    code = get_locked(cache, set, err);
    pthread_mutex_unlock(&cache->lock);
    return code;
}

int credentials_wait(struct credentials_cache *cache, struct credentials **set,
                     struct sheaf_error *err)
{
    int code;

    pthread_mutex_lock(&cache->lock);
    while ((code = get_locked(cache, set, err)) == SHEAF_END)
        pthread_cond_wait(&cache->fetched, &cache->lock);
    pthread_mutex_unlock(&cache->lock);
    return code;
}

bool credentials_reject(struct credentials_cache *cache, const struct credentials *set)
{
    bool renewable;

    pthread_mutex_lock(&cache->lock);
    renewable = set->expires_ms != CREDENTIALS_NEVER;
    if (renewable && cache->locked.set == set)
        cache->locked.rejected = true;
    pthread_mutex_unlock(&cache->lock);
    return renewable;
}

int credentials_cache_open(struct credentials_cache **cache, struct credentials_source *source,
                           struct sheaf_error *err)
{
    struct credentials_cache *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        source->free(source);
        return err_memory(err, sizeof(*c));
    }
    c->source = source;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->fetched, NULL);
    *cache = c;
    return SHEAF_OK;
}

static int fetch_nothing(struct credentials_source *source, struct credentials **set,
                         struct sheaf_error *err)
{
    (void)source, (void)set;
    return err_set(err, SHEAF_ERR_ACCESS, "the credentials have expired");
}

static void free_nothing(struct credentials_source *source)
{
    (void)source;
}

int credentials_cache_fixed(struct credentials_cache **cache, const struct credentials *set,
                            struct sheaf_error *err)
{
    static struct credentials_source nothing = { fetch_nothing, free_nothing };
    struct credentials *copy = credentials_new(set->access_key_id, set->secret_access_key,
                                               set->session_token, set->expires_ms);
    int code;

    if (copy == NULL)
        return err_memory(err, sizeof(*copy));
    code = credentials_cache_open(cache, &nothing, err);
    if (code == SHEAF_OK)
        (*cache)->locked.set = copy;
    else
        credentials_release(copy);
    return code;
}

void credentials_cache_close(struct credentials_cache *cache)
{
    if (cache == NULL)
        return;
    if (cache->locked.has_thread)
        pthread_join(cache->locked.thread, NULL);
    credentials_release(cache->locked.set);
    cache->source->free(cache->source);
    pthread_cond_destroy(&cache->fetched);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
