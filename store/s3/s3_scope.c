/* SPDX-License-Identifier: MIT
 *
 * The scopes that are open, which are few, and the settings that any had: these stay, since a
 * request may be about to use those of a scope that ends. */
#include "store/s3/s3_scope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Different from all others. */
struct known {
    struct s3_settings settings;
    struct known *next;
};

struct store_scope {
    struct s3_scopes *all;
    char *bucket, *key;
    const struct s3_settings *settings;
    bool has_ended;                         /* and holds for what is in no other one */
    struct store_scope *next;               /* begun earlier */
};

struct s3_scopes {
    pthread_mutex_t lock;
    struct s3_settings environment;
    struct {
        struct known *known;
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

static void scope_free(struct store_scope *s)
{
    free(s->bucket);
    free(s->key);
    free(s);
}

void s3_scopes_close(struct s3_scopes *all)
{
    struct store_scope *s;
    struct known *k;

    if (all == NULL)
        return;
    while ((s = all->locked.last) != NULL) {
        all->locked.last = s->next;
        scope_free(s);
    }
    while ((k = all->locked.known) != NULL) {
        all->locked.known = k->next;
        s3_settings_free(&k->settings);
        free(k);
    }
    s3_settings_free(&all->environment);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* The known ones that are the same, or these. */
static const struct s3_settings *know_locked(struct s3_scopes *all, struct known *found)
{
    struct known *k = all->locked.known;

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
    struct known *k = calloc(1, sizeof(*k));
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

/* Removes it, and what an earlier one of its place has left. */
static void remove_locked(struct store_scope *s)
{
    struct store_scope **place = &s->all->locked.last, *each;

    while ((each = *place) != NULL) {
        if (each != s && (!each->has_ended || strcmp(each->bucket, s->bucket) != 0 ||
                          strcmp(each->key, s->key) != 0)) {
            place = &each->next;
            continue;
        }
        *place = each->next;
        if (each != s)
            scope_free(each);
    }
}

/* Without memory nothing stays, and a read that is refused says what it lacks. */
void s3_scope_end(struct store_scope *s)
{
    struct s3_scopes *all = s->all;
    struct known *k = calloc(1, sizeof(*k));
    const bool stays = k != NULL &&
                       s3_settings_for_reading(&all->environment, s->settings, &k->settings,
                                               NULL) == SHEAF_OK &&
                       !s3_settings_are_same(&k->settings, &all->environment);

    pthread_mutex_lock(&all->lock);
    remove_locked(s);
    if (stays) {
        s->settings = know_locked(all, k);
        s->has_ended = true;
        s->next = all->locked.last;
        all->locked.last = s;
    }
    pthread_mutex_unlock(&all->lock);
    if (stays)
        return;
    if (k != NULL)
        s3_settings_free(&k->settings);
    free(k);
    scope_free(s);
}

static bool is_in(const struct store_scope *s, const char *bucket, const char *key)
{
    const size_t size = strlen(s->key);

    return strcmp(s->bucket, bucket) == 0 && strncmp(key, s->key, size) == 0 &&
           (size == 0 || key[size] == '/' || key[size] == '\0');
}

/* Of two scopes of one place, the one that was begun first stays in force: what comes second is
 * refused there, and must not change what is under way.  What has ended comes after all others. */
static bool is_before(const struct store_scope *s, const struct store_scope *found)
{
    if (found == NULL || s->has_ended != found->has_ended)
        return found == NULL || found->has_ended;
    return strlen(s->key) >= strlen(found->key);
}

const struct s3_settings *s3_scope_settings(struct s3_scopes *all, const char *bucket,
                                            const char *key)
{
    const struct store_scope *found = NULL;
    const struct s3_settings *settings;

    pthread_mutex_lock(&all->lock);
    for (const struct store_scope *s = all->locked.last; s != NULL; s = s->next)
        if (is_in(s, bucket, key) && is_before(s, found))
            found = s;
    settings = found == NULL ? &all->environment : found->settings;
    pthread_mutex_unlock(&all->lock);
    return settings;
}
