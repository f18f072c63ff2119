/* SPDX-License-Identifier: MIT
 *
 * Keeps the settings of S3 requests. A scope is a call of the library that writes with settings of
 * its own. Only a few scopes are open at a time, so they are in a list. Settings are kept even
 * after their scope has ended, because a request may still use them. */
#include "store/s3/s3_scope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* An element of a list of settings. No two elements of the list have equal settings. */
struct known_settings {
    struct s3_settings settings;
    struct known_settings *next;
};

struct store_scope {
    struct s3_scopes *all;
    char *bucket, *key;
    const struct s3_settings *settings;
    struct store_scope *next;               /* begun earlier */
};

struct s3_scopes {
    pthread_mutex_t lock;
    struct s3_settings environment;
    struct {
        struct known_settings *known;
        struct store_scope *last;
    } locked;
};

int s3_scopes_open(struct s3_scopes **scopes, struct sheaf_error *err)
{
    struct s3_scopes *all = calloc(1, sizeof(*all));
    int code;

    if (all == NULL)
        return err_memory(err, sizeof(*all));
    pthread_mutex_init(&all->lock, NULL);
    code = s3_settings_of_environment(&all->environment, err);
    if (code == SHEAF_OK)
        *scopes = all;
    else
        s3_scopes_close(all);
    return code;
}

void s3_scopes_close(struct s3_scopes *all)
{
    struct known_settings *k;

    if (all == NULL)
        return;
    while ((k = all->locked.known) != NULL) {
        all->locked.known = k->next;
        s3_settings_free(&k->settings);
        free(k);
    }
    s3_settings_free(&all->environment);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static void scope_free(struct store_scope *s)
{
    free(s->bucket);
    free(s->key);
    free(s);
}

/* Stores the settings `found`, and returns them. If equal settings are already stored, frees
 * `found` and returns the stored settings. The lock must be held. */
static const struct s3_settings *know_locked(struct s3_scopes *all, struct known_settings *found)
{
    struct known_settings *k = all->locked.known;

    while (k != NULL && !s3_settings_are_same(&k->settings, &found->settings))
        k = k->next;
    if (k != NULL) {
        s3_settings_free(&found->settings);
        free(found);
        return &k->settings;
    }
    found->next = all->locked.known;
    all->locked.known = found;
    return &found->settings;
}

int s3_scope_begin(struct s3_scopes *all, const char *bucket, const char *key,
                   const char *const *texts, struct store_scope **scope, struct sheaf_error *err)
{
    struct store_scope *s = calloc(1, sizeof(*s));
    struct known_settings *k = calloc(1, sizeof(*k));
    int code = SHEAF_OK;

    if (s == NULL || k == NULL || (s->bucket = strdup(bucket)) == NULL ||
        (s->key = strdup(key)) == NULL)
        code = err_memory(err, sizeof(*s));
    if (code == SHEAF_OK)
        code = s3_settings_with(&all->environment, texts, &k->settings, err);
    if (code != SHEAF_OK) {
        if (k != NULL)
            s3_settings_free(&k->settings);
        free(k);
        if (s != NULL)
            scope_free(s);
        return code;
    }
    for (size_t size = strlen(key); size != 0 && key[size - 1] == '/'; size--)
        s->key[size - 1] = '\0';
    s->all = all;
    pthread_mutex_lock(&all->lock);
    s->settings = know_locked(all, k);
    s->next = all->locked.last;
    all->locked.last = s;
    pthread_mutex_unlock(&all->lock);
    *scope = s;
    return SHEAF_OK;
}

void s3_scope_end(struct store_scope *s)
{
    struct store_scope **place = &s->all->locked.last;

    pthread_mutex_lock(&s->all->lock);
    while (*place != s)
        place = &(*place)->next;
    *place = s->next;
    pthread_mutex_unlock(&s->all->lock);
    scope_free(s);
}

static bool s3_scope_is_in(const struct store_scope *s, const char *bucket, const char *key)
{
    const size_t size = strlen(s->key);

    return strcmp(s->bucket, bucket) == 0 && strncmp(key, s->key, size) == 0 &&
           (size == 0 || key[size] == '/' || key[size] == '\0');
}

/* Returns the settings for a key. A scope is a call of the library that writes with settings of its
 * own. The settings come from the innermost scope that covers the key. If two scopes are for the
 * same URL, the settings of the scope that began first are returned. The later call will be refused
 * because the destination is in use, so it must not change the requests of the earlier call. */
const struct s3_settings *s3_scope_settings(struct s3_scopes *all, const char *bucket,
                                            const char *key)
{
    const struct s3_settings *found = &all->environment;
    size_t longest = 0;

    pthread_mutex_lock(&all->lock);
    for (const struct store_scope *s = all->locked.last; s != NULL; s = s->next)
        if (s3_scope_is_in(s, bucket, key) && strlen(s->key) >= longest) {
            found = s->settings;
            longest = strlen(s->key);
        }
    pthread_mutex_unlock(&all->lock);
    return found;
}
