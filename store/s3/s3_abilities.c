/* SPDX-License-Identifier: MIT
 *
 * Tests whether a server obeys conditions on writes. Some servers do not support conditions, and
 * answer 501. Others, such as Garage, ignore conditions silently, which only a test shows. Amazon's
 * own service is not tested.
 *
 * The test makes three writes to one name. The first and the second write have the condition that
 * the object does not exist. The third write has the condition that the object has a certain ETag,
 * which no object has. The last two writes must fail. If one of them succeeds, the server ignores
 * conditions.
 *
 * Each process makes a random name, because several processes may test a server at the same time.
 * The name is that of a temporary file. So the next run that writes to the same directory removes
 * the object of a killed test.
 *
 * To replace an existing object on a condition, a writer needs the strong ETag of this object. So
 * the test also finds out whether responses to writes and to reads have strong ETags. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/event.h"
#include "base/notice.h"
#include "store/etag.h"
#include "store/over.h"
#include "store/s3/s3_config.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_upload.h"

#define ROUNDS_MOST 2               /* if another run removes the test object */

static const char content[] = "Sheaf tries whether this store keeps conditions on writes.\n";
static const struct store_seen nothing;
static const struct store_seen another = { .is_there = true,
                                           .etag = "\"00000000000000000000000000000000\"" };

/* A conditional write that is under way. */
struct ability_trial {
    struct s3_put put;              /* the first member */
    struct s3_proving proving;
    struct event answered;
};

static void on_done(struct request *r)
{
    event_set(&((struct ability_trial *)(void *)r)->answered);
}

static int s3_abilities_start(struct ability_trial *t, const struct s3_bucket *bucket,
                              const char *key, const struct store_seen *seen,
                              struct sheaf_error *err)
{
    struct s3_put *put = &t->put;
    int code;

    *t = (struct ability_trial){ .proving = s3_proving_of(bucket, key), .answered = EVENT_INIT };
    code = s3_put_init(put, bucket, key, &t->proving, NULL, 0, content, sizeof(content) - 1, err);
    if (code == SHEAF_OK)
        code = s3_require(&put->request, seen, false, err);
    if (code == SHEAF_OK)
        code = s3_put_prove(put, err);
    put->request.done = on_done;
    if (code == SHEAF_OK)
        request_start(&put->request);
    else
        request_free(&put->request);
    return code;
}

/* The kind of ETag in a response: a strong one can be used in conditions, a weak one can only be
 * compared. */
enum told_etag { ETAG_STRONG, ETAG_WEAK, ETAG_NONE };

static enum told_etag told(const char *etag)
{
    return etag_is_strong(etag) ? ETAG_STRONG : etag_stamp(etag) != 0 ? ETAG_WEAK : ETAG_NONE;
}

/* Result codes of the three test writes. If the response to the first write says that the server
 * does not support conditions, the other two writes are not made. All three codes are then
 * equal. */
struct answers {
    int first, second, over_another;
    enum told_etag etag;            /* the worst of all responses */
};

static int s3_abilities_finish(struct ability_trial *t, struct answers *a, struct sheaf_error *err)
{
    int code;

    event_wait(&t->answered);
    code = t->put.request.code;
    if (code == SHEAF_OK)
        a->etag = MAX(a->etag, told(t->put.proof.etag));
    if (code != SHEAF_OK && err != NULL)
        *err = t->put.request.error;
    request_free(&t->put.request);
    return code;
}

/* A running request for the size and ETag of the test object. */
struct ability_look {
    struct store_stat stat;
    struct event answered;
};

static void on_looked(struct store_stat *stat)
{
    event_set(&((struct ability_look *)stat)->answered);
}

/* Makes the second and the third test write to the object that the first test write has made. At
 * the same time requests the size and ETag of this object. */
static int try_again(const struct s3_bucket *bucket, const char *key, const char *url,
                     struct answers *a, struct store_stat *seen, struct sheaf_error *err)
{
    struct ability_look look = { .stat = { .url = url, .done = on_looked },
                                 .answered = EVENT_INIT };
    struct ability_trial second, over;
    int code = s3_abilities_start(&second, bucket, key, &nothing, err);

    if (code != SHEAF_OK)
        return code;
    code = s3_abilities_start(&over, bucket, key, &another, err);
    store_stat_start(&look.stat);
    a->second = s3_abilities_finish(&second, a, NULL);
    if (code == SHEAF_OK)
        a->over_another = s3_abilities_finish(&over, a, NULL);
    event_wait(&look.answered);
    *seen = look.stat;
    if (code == SHEAF_OK && seen->code != SHEAF_OK && seen->code != SHEAF_ERR_NOT_FOUND) {
        code = seen->code;
        *err = seen->error;
    }
    return code;
}

/* Makes the whole test once: writes the object, requests its state, and removes it. Sets *again to
 * whether another run may have removed the object during the test, as a temporary file of a killed
 * run. In this case, the test shows nothing. If the second write has succeeded, the server ignores
 * its condition, or the object had been removed. */
static int try_once(const struct s3_bucket *bucket, const char *key, const char *url,
                    struct answers *a, bool *has_etag, bool *again, struct sheaf_error *err)
{
    struct store_stat seen = { .code = SHEAF_ERR_NOT_FOUND };
    struct ability_trial first;
    int code = s3_abilities_start(&first, bucket, key, &nothing, err);

    if (code != SHEAF_OK)
        return code;
    a->etag = ETAG_STRONG;
    a->first = a->second = a->over_another = s3_abilities_finish(&first, a, err);
    if (a->first == SHEAF_ERR_UNSUPPORTED) {
        *has_etag = *again = false;
        return SHEAF_OK;
    }
    if (a->first != SHEAF_OK && a->first != SHEAF_ERR_CHANGED)
        return a->first;
    code = try_again(bucket, key, url, a, &seen, err);
    if (code == SHEAF_OK)
        code = store_remove(url, err);
    /* Remove the object a second time if two writes were accepted. The server s3rver may answer the
     * second write before it has stored the object. The object may then appear after the first
     * removal. */
    if (code == SHEAF_OK && a->second == SHEAF_OK)
        code = store_remove(url, err);
    if (seen.code == SHEAF_OK)
        a->etag = MAX(a->etag, told(seen.etag));
    *has_etag = seen.code == SHEAF_OK && seen.stamp != 0;
    *again = a->second == SHEAF_OK || a->over_another == SHEAF_ERR_NOT_FOUND ||
             seen.code != SHEAF_OK;
    return code;
}

static void s3_abilities_tell(const char *directory, const struct answers *a,
                              const struct store_abilities *found)
{
    const char *lack = !found->identifies || a->etag == ETAG_NONE
                           ? "does not tell the ETag of an object"
                     : a->etag == ETAG_WEAK ? "tells only a weak ETag of an object (W/...)"
                     : a->second == SHEAF_ERR_UNSUPPORTED ? "knows no conditions on writes"
                     : a->second == SHEAF_OK ? "ignores If-None-Match" : "ignores If-Match";

    if (!found->compares)
        notice_say(directory, "this server %s, so two runs that write there at once are told apart "
                   "only by looking before each write: let one run at a time write there", lack);
}

static int try_bucket(const struct s3_bucket *bucket, const char *key, const char *url,
                      const char *directory, struct store_abilities *found, struct sheaf_error *err)
{
    struct answers a;
    bool again = true;
    int code = SHEAF_OK;

    for (int round = 0; round < ROUNDS_MOST && again && code == SHEAF_OK; round++)
        code = try_once(bucket, key, url, &a, &found->identifies, &again, err);
    if (code != SHEAF_OK)
        return code;
    found->compares = a.second == SHEAF_ERR_CHANGED && a.etag == ETAG_STRONG &&
                      found->identifies &&
                      (a.over_another == SHEAF_ERR_CHANGED ||
                       a.over_another == SHEAF_ERR_NOT_FOUND);
    s3_abilities_tell(directory, &a, found);
    return SHEAF_OK;
}

/* Sets *url to a new URL for the test object. The caller must free the URL. */
static int name_trial(const char *directory, char **url, struct sheaf_error *err)
{
    unsigned long long random;
    char name[32];

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return err_errno(err, errno, "cannot get a random number for a test of the store");
    snprintf(name, sizeof(name), "trial.%016llx.tmp", random);
    *url = store_join(directory, name);
    return *url == NULL ? err_memory(err, strlen(directory)) : SHEAF_OK;
}

int s3_find_abilities(const char *directory, struct store_abilities *found,
                      struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *url = NULL, *key = NULL;
    int code = name_trial(directory, &url, err);

    if (code == SHEAF_OK)
        code = s3_locate(url, &bucket, &key, err);
    if (code == SHEAF_OK) {
        struct s3_known *known = bucket->known;

        pthread_mutex_lock(&known->lock);
        if (!known->is_tried && s3_config_is_amazon(bucket->config))
            known->abilities = (struct store_abilities){ .compares = true, .identifies = true };
        else if (!known->is_tried)
            code = try_bucket(bucket, key, url, directory, &known->abilities, err);
        known->is_tried = code == SHEAF_OK;
        *found = known->abilities;
        pthread_mutex_unlock(&known->lock);
    }
    free(key);
    free(url);
    return code;
}

bool s3_ignores_conditions(const struct s3_bucket *bucket)
{
    struct s3_known *known = bucket->known;
    bool ignores;

    pthread_mutex_lock(&known->lock);
    ignores = known->is_tried && !known->abilities.compares;
    pthread_mutex_unlock(&known->lock);
    return ignores;
}
