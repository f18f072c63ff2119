/* SPDX-License-Identifier: MIT
 *
 * Runs the thread of the HTTP engine, and keeps its queues. An exchange is one HTTP request and its
 * response.
 *
 * http_submit, which any thread may call, puts an exchange into the list `submitted`, which has a
 * lock. The engine's thread moves the exchange to the list `queued`, which is sorted by the time at
 * which each exchange is due. When the exchange is due, the thread hands it to libcurl, which runs
 * at most ACTIVE_MOST exchanges at the same time. When the exchange has ended, the thread calls its
 * function `done`.
 *
 * store/http_events.c waits for the sockets, and store/http_handle.c sets up libcurl's easy
 * handles. */
#include "store/http.h"

#include <curl/curl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/workers.h"
#include "store/http_events.h"

#define MS 1000000ull
#define ACTIVE_MOST 256             /* exchanges in libcurl at once */
#define CHECK_MS 100                /* interval at which slow exchanges are checked */
#define AWAY_CHECKS 3               /* missed checks after which the thread had no processor */

TAILQ_HEAD(exchanges, http_exchange);

struct http_engine {
    CURLM *multi;
    struct http_events *events;     /* of its sockets */
    pid_t process;                  /* that the thread is in */
    bool answered;                  /* atomic: some server has, once */
    pthread_t thread;
    pthread_mutex_t lock;
    struct {
        struct exchanges submitted;
        bool cancels;               /* some exchange has `cancel` set */
        bool ending;
    } locked;
    /* Only the engine's thread uses these fields. */
    struct exchanges queued, active;
    size_t active_count;
    /* Easy handles that finished exchanges have left. A later exchange with any server can use such
     * a handle again, because libcurl keeps the connections in the multi handle and not in the easy
     * handles. */
    CURL *spare[ACTIVE_MOST];
    size_t spare_count;
    uint64_t checked_ns;
};

/* ---- The thread ------------------------------------------------------------------------------ */

static bool is_cancelled(struct http_exchange *x)
{
    return __atomic_load_n(&x->cancel, __ATOMIC_ACQUIRE);
}

static void queue(struct http_engine *e, struct http_exchange *x)
{
    struct http_exchange *after = TAILQ_LAST(&e->queued, exchanges);

    if (is_cancelled(x))
        x->due_ns = 0;
    while (after != NULL && after->due_ns > x->due_ns)
        after = TAILQ_PREV(after, exchanges, link);
    if (after == NULL)
        TAILQ_INSERT_HEAD(&e->queued, x, link);
    else
        TAILQ_INSERT_AFTER(&e->queued, after, x, link);
    x->stage = HTTP_QUEUED;
}

/* Removes a finished exchange (a request and its response) from libcurl, and returns it to its
 * owner. */
static void finish_exchange(struct http_engine *e, struct http_exchange *x, CURLcode result)
{
    CURL *easy = x->easy;
    long status = 0, proxy_status = 0;
    curl_off_t retry_after = 0;

    if (easy != NULL) {
        curl_multi_remove_handle(e->multi, easy);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
        curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    }
    if (x->stage == HTTP_ACTIVE) {
        TAILQ_REMOVE(&e->active, x, link);
        e->active_count--;
    }
    x->status = (int)status;
    x->proxy_status = (int)proxy_status;
    if (status != 0)
        __atomic_store_n(&e->answered, true, __ATOMIC_RELAXED);
    x->retry_after_ns = (uint64_t)MIN(MAX(retry_after, 0), 86400) * 1000 * MS;
    if (x->failure == HTTP_ANSWERED)
        x->failure = http_failure_of_curl(result);
    if (x->failure == HTTP_NOT_HTTP && x->header_bytes != 0)    /* a redirect, to a scheme */
        x->failure = HTTP_FAILED;
    if (x->failure == HTTP_BROKEN && status == 0 && proxy_status >= 300)
        x->failure = HTTP_PROXY_REFUSED;
    if (x->failure == HTTP_ANSWERED)
        x->detail[0] = '\0';
    else if (x->detail[0] == '\0')
        strncpy(x->detail, curl_easy_strerror(result), sizeof(x->detail) - 1);
    x->stage = HTTP_IDLE;
    curl_slist_free_all(x->header_list);
    x->header_list = NULL;
    x->done(x);     /* x may be freed now, or submitted again */
    if (easy == NULL)
        return;
    /* Do not use a failed handle again, because libcurl 7.88 refuses settings for a handle that
     * failed before it was connected. */
    if (result == CURLE_OK && e->spare_count < ACTIVE_MOST) {
        curl_easy_reset(easy);
        e->spare[e->spare_count++] = easy;
    } else {
        curl_easy_cleanup(easy);
    }
}

/* Starts an exchange (a request and its response). Returns false if the exchange was not
 * started. Then either the exchange must wait and stays in the queue, or it has ended because it
 * was cancelled or its start failed. */
static bool begin_exchange(struct http_engine *e, struct http_exchange *x, uint64_t now_ns)
{
    uint64_t wait_ns = 0;
    int code;

    x->failure = HTTP_ANSWERED;
    x->status = 0;
    x->got = x->sent = x->header_bytes = 0;
    x->passed = 0;
    x->reply.size = 0;
    x->detail[0] = '\0';
    stall_begin(&x->stall, now_ns);
    x->began_ns = x->quiet_since_ns = now_ns;
    x->first_byte_ns = 0;
    if (is_cancelled(x)) {
        x->failure = HTTP_CANCELLED;
        finish_exchange(e, x, CURLE_ABORTED_BY_CALLBACK);
        return false;
    }
    code = x->begin == NULL ? SHEAF_OK : x->begin(x, &wait_ns);
    if (code == SHEAF_OK)
        return true;
    if (code == SHEAF_END) {
        x->due_ns = now_ns + wait_ns;
        queue(e, x);
    } else {
        x->failure = HTTP_NOT_BEGUN;
        finish_exchange(e, x, CURLE_OK);
    }
    return false;
}

static void start_exchange(struct http_engine *e, struct http_exchange *x, uint64_t now_ns)
{
    CURLcode code;

    if (!begin_exchange(e, x, now_ns))
        return;
    x->easy = e->spare_count != 0 ? e->spare[--e->spare_count] : curl_easy_init();
    code = x->easy == NULL ? CURLE_OUT_OF_MEMORY : (CURLcode)http_set_up(x);
    if (code == CURLE_OK && curl_multi_add_handle(e->multi, x->easy) != CURLM_OK)
        code = CURLE_OUT_OF_MEMORY;
    if (code != CURLE_OK) {
        finish_exchange(e, x, code);
        return;
    }
    TAILQ_INSERT_TAIL(&e->active, x, link);
    e->active_count++;
    x->stage = HTTP_ACTIVE;
}

static void start_due(struct http_engine *e)
{
    const uint64_t now_ns = clock_ns();
    struct http_exchange *x;

    while (e->active_count < ACTIVE_MOST && (x = TAILQ_FIRST(&e->queued)) != NULL &&
           x->due_ns <= now_ns) {
        TAILQ_REMOVE(&e->queued, x, link);
        start_exchange(e, x, now_ns);
    }
}

static void finish_answered(struct http_engine *e)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(e->multi, &left)) != NULL) {
        struct http_exchange *x = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &x);
        finish_exchange(e, x, message->data.result);
    }
}

/* Returns whether an exchange (a request and its response) has been silent for too long. away_ns is
 * the time in which this thread did not run. This time does not count as silence, because bytes may
 * have arrived in it. */
static bool http_is_late(struct http_exchange *x, uint64_t now_ns, uint64_t away_ns)
{
    uint64_t patience_ns;

    x->quiet_since_ns = x->stall.moved_bytes != 0 ? now_ns
                                                  : MIN(x->quiet_since_ns + away_ns, now_ns);
    x->quiet_ns = now_ns - x->quiet_since_ns;
    patience_ns = x->patience == NULL ? 0 : x->patience(x);
    return patience_ns != 0 && x->quiet_ns >= patience_ns;
}

static void end_slow(struct http_engine *e)
{
    const uint64_t now_ns = clock_ns();
    const uint64_t since_ns = now_ns - e->checked_ns;
    const uint64_t away_ns = since_ns - MIN(since_ns, AWAY_CHECKS * CHECK_MS * MS);
    struct http_exchange *x, *next;

    if (now_ns - e->checked_ns < CHECK_MS * MS)
        return;
    e->checked_ns = now_ns;
    for (x = TAILQ_FIRST(&e->active); x != NULL; x = next) {
        next = TAILQ_NEXT(x, link);
        if (http_is_late(x, now_ns, away_ns))
            x->failure = HTTP_LATE;
        if (stall_is_over(&x->stall, now_ns))
            x->failure = HTTP_STALLED;
        else if (x->deadline_ns != 0 && now_ns > x->deadline_ns)
            x->failure = HTTP_TOO_LATE;
        if (x->failure == HTTP_LATE || x->failure == HTTP_STALLED || x->failure == HTTP_TOO_LATE)
            finish_exchange(e, x, CURLE_OPERATION_TIMEDOUT);
    }
}

static void cancel_in(struct http_engine *e, struct exchanges *list, bool all)
{
    struct http_exchange *x, *next;

    for (x = TAILQ_FIRST(list); x != NULL; x = next) {
        next = TAILQ_NEXT(x, link);
        if (!all && !is_cancelled(x))
            continue;
        if (x->stage == HTTP_QUEUED)
            TAILQ_REMOVE(list, x, link);
        x->failure = HTTP_CANCELLED;
        finish_exchange(e, x, CURLE_ABORTED_BY_CALLBACK);
    }
}

/* Takes over exchanges (requests and their responses) from other threads. Submitted exchanges move
 * to the engine's own queue. Cancelled exchanges are ended. Returns false if the engine must
 * end. */
static bool http_take_in(struct http_engine *e)
{
    struct http_exchange *x;
    bool cancels, ending;

    pthread_mutex_lock(&e->lock);
    while ((x = TAILQ_FIRST(&e->locked.submitted)) != NULL) {
        TAILQ_REMOVE(&e->locked.submitted, x, link);
        queue(e, x);
    }
    cancels = e->locked.cancels;
    e->locked.cancels = false;
    ending = e->locked.ending;
    pthread_mutex_unlock(&e->lock);
    if (cancels || ending) {
        cancel_in(e, &e->queued, ending);
        cancel_in(e, &e->active, ending);
    }
    return !ending;
}

static int wait_ms(struct http_engine *e)
{
    const struct http_exchange *first = TAILQ_FIRST(&e->queued);
    const uint64_t now_ns = clock_ns();
    uint64_t wait = e->active_count != 0 ? CHECK_MS : 60000;

    if (first != NULL && e->active_count < ACTIVE_MOST)
        wait = first->due_ns <= now_ns ? 0 : MIN(wait, (first->due_ns - now_ns) / MS + 1);
    return (int)wait;
}

/* Ends all running exchanges (requests and their responses) and replaces libcurl's multi handle.
 * This is necessary after libcurl has run out of memory. libcurl 7.88 may then have stored a socket
 * incompletely, and would divide by zero when it uses this socket. If there is no memory for
 * another multi handle, the old one stays. */
static void start_again(struct http_engine *e)
{
    struct http_exchange *x, *next;
    CURLM *multi;

    for (x = TAILQ_FIRST(&e->active); x != NULL; x = next) {
        next = TAILQ_NEXT(x, link);
        finish_exchange(e, x, CURLE_OUT_OF_MEMORY);
    }
    multi = curl_multi_init();
    if (multi == NULL)
        return;
    curl_multi_cleanup(e->multi);
    e->multi = multi;
    http_events_use(e->events, multi);
}

static void *run_engine(void *argument)
{
    struct http_engine *e = argument;

    while (http_take_in(e)) {
        start_due(e);
        if (!http_events_handle(e->events, wait_ms(e)))
            start_again(e);
        finish_answered(e);
        end_slow(e);
    }
    return NULL;
}

/* ---- From other threads ---------------------------------------------------------------------- */

/* Fails an exchange that cannot be started. */
static void http_refuse(struct http_exchange *x, enum http_failure failure)
{
    x->failure = failure;
    x->status = 0;
    x->done(x);
}

void http_submit(struct http_engine *e, struct http_exchange *x, uint64_t delay_ns)
{
    bool wake, refused;

    if (e->process != getpid()) {
        http_refuse(x, HTTP_FORKED);     /* its lock must not be touched either */
        return;
    }
    x->due_ns = delay_ns == 0 ? 0 : clock_ns() + delay_ns;
    x->easy = NULL;
    pthread_mutex_lock(&e->lock);
    refused = e->locked.ending;
    wake = TAILQ_EMPTY(&e->locked.submitted);
    if (!refused) {
        x->stage = HTTP_SUBMITTED;
        TAILQ_INSERT_TAIL(&e->locked.submitted, x, link);
    }
    pthread_mutex_unlock(&e->lock);
    if (refused)
        http_refuse(x, HTTP_CANCELLED);
    else if (wake)
        http_events_wake(e->events);
}

void http_cancel(struct http_engine *e, struct http_exchange *x)
{
    pthread_mutex_lock(&e->lock);
    __atomic_store_n(&x->cancel, true, __ATOMIC_RELEASE);
    e->locked.cancels = true;
    pthread_mutex_unlock(&e->lock);
    http_events_wake(e->events);
}

bool http_has_answered(const struct http_engine *e)
{
    return __atomic_load_n(&e->answered, __ATOMIC_RELAXED);
}

static void free_engine(struct http_engine *e)
{
    while (e->spare_count != 0)
        curl_easy_cleanup(e->spare[--e->spare_count]);
    curl_multi_cleanup(e->multi);
    http_events_close(e->events);
    pthread_mutex_destroy(&e->lock);
    free(e);
    curl_global_cleanup();
}

int http_engine_open(struct http_engine **engine, struct sheaf_error *err)
{
    struct http_engine *e;
    int failed, code;

    /* Create the default context of libcrypto 3.0 now. Return an error if there is no memory for
     * it, because libcrypto would otherwise crash later. */
    if (OSSL_LIB_CTX_get0_global_default() == NULL)
        return err_set(err, SHEAF_ERR_MEMORY, "libcrypto cannot be started");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, SHEAF_ERR_MEMORY, "libcurl cannot be started");
    e = calloc(1, sizeof(*e));
    if (e != NULL)
        e->multi = curl_multi_init();
    if (e == NULL || e->multi == NULL) {
        free(e);
        curl_global_cleanup();
        return err_memory(err, sizeof(*e));
    }
    pthread_mutex_init(&e->lock, NULL);
    TAILQ_INIT(&e->locked.submitted);
    TAILQ_INIT(&e->queued);
    TAILQ_INIT(&e->active);
    code = http_events_open(&e->events, e->multi, err);
    if (code != SHEAF_OK) {
        free_engine(e);
        return code;
    }
    e->process = getpid();
    failed = pthread_create(&e->thread, NULL, run_engine, e);
    if (failed != 0) {
        free_engine(e);
        return err_errno(err, failed, "cannot start the network thread");
    }
    *engine = e;
    return SHEAF_OK;
}

void http_engine_stop(struct http_engine *e)
{
    bool was_ending;

    pthread_mutex_lock(&e->lock);
    was_ending = e->locked.ending;
    e->locked.ending = true;
    pthread_mutex_unlock(&e->lock);
    if (was_ending)
        return;
    http_events_wake(e->events);
    pthread_join(e->thread, NULL);
}

void http_engine_close(struct http_engine *e)
{
    if (e == NULL)
        return;
    http_engine_stop(e);
    free_engine(e);
}
