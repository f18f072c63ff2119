/* SPDX-License-Identifier: MIT
 *
 * Builds and signs the attempts of a request, and repeats them until one succeeds or the failure is
 * final. */
#include "store/request.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/workers.h"
#include "store/interrupt.h"
#include "store/peers.h"
#include "store/trust.h"

#define MS 1000000ull
/* time between two attempts to sign a request, while its credentials are still being fetched */
#define SIGNER_WAIT_NS (10 * MS)
/* number of attempts if no server has ever answered; with the usual waits, this takes about a
 * second */
#define FIRST_ATTEMPTS 5u

/* ---- Counts ---------------------------------------------------------------------------------- */

static struct { atomic_uint_fast64_t requests, retries; } request_total;

void request_counts(uint64_t *requests, uint64_t *retries)
{
    *requests = atomic_load(&request_total.requests);
    *retries = atomic_load(&request_total.retries);
}

/* ---- Targets --------------------------------------------------------------------------------- */

int target_set_url(struct target *target, const struct url *url, struct sheaf_error *err)
{
    struct buf host = BUF_INIT(1024);
    int code = url_append_host(&host, url, err);

    if (code == SHEAF_OK)
        code = buf_append(&host, "", 1, err);
    if (code != SHEAF_OK) {
        buf_free(&host);
        return code;
    }
    free(target->host);
    free(target->origin);
    target->host = (char *)host.data;
    if (asprintf(&target->origin, "%s://%s", url->tls ? "https" : "http", target->host) < 0) {
        target->origin = NULL;
        return err_memory(err, host.size);
    }
    return SHEAF_OK;
}

void target_free(struct target *target)
{
    free(target->origin);
    free(target->host);
    free(target->prefix);
    target->origin = target->host = target->prefix = NULL;
}

const struct target *target_now(const struct target *target)
{
    const struct target *moved = __atomic_load_n(&target->moved, __ATOMIC_ACQUIRE);

    return moved != NULL ? moved : target;
}

/* Sends later attempts to another region. The region of a target (the server) changes only once. If
 * another request has already changed it, returns whether the last attempt still went to the old
 * region, because another attempt may then succeed. */
bool request_follow(struct request *r, const char *region)
{
    const struct target *t = r->target;

    if (target_now(t) != t)
        return r->at == t;
    return t->move != NULL && strcmp(region, t->region) != 0 && t->move(t->mover, region);
}

/* ---- An attempt ------------------------------------------------------------------------------ */

int request_set_header(struct request *r, const char *name, const char *value,
                       struct sheaf_error *err)
{
    char *copy = strdup(value);
    size_t i = 0;

    if (copy == NULL)
        return err_memory(err, strlen(value));
    while (i < r->header_count && strcmp(r->headers[i].name, name) != 0)
        i++;
    if (i == REQUEST_HEADERS_MOST) {
        free(copy);
        return err_set(err, SHEAF_ERR_LIMIT, "more than %d headers", REQUEST_HEADERS_MOST);
    }
    if (i < r->header_count)
        free(r->headers[i].value);
    else
        r->header_count++;
    r->headers[i].name = name;
    r->headers[i].value = copy;
    return SHEAF_OK;
}

bool request_remove_header(struct request *r, const char *name)
{
    size_t i = 0;

    while (i < r->header_count && strcmp(r->headers[i].name, name) != 0)
        i++;
    if (i == r->header_count)
        return false;
    free(r->headers[i].value);
    r->headers[i] = r->headers[--r->header_count];
    return true;
}

static int build_url(struct request *r, struct sheaf_error *err)
{
    const bool has_query = r->query != NULL && *r->query != '\0';

    free(r->url);
    if (asprintf(&r->url, "%s%s%s%s%s", r->at->origin,
                 r->at->prefix != NULL ? r->at->prefix : "", r->path,
                 has_query ? "?" : "", has_query ? r->query : "") < 0) {
        r->url = NULL;
        return err_memory(err, strlen(r->path));
    }
    r->http.url = r->url;
    return SHEAF_OK;
}

/* Returns the time (monotonic clock, ns) at which the request with all its attempts must be over,
 * or 0 if there is no limit. */
static uint64_t deadline_of(const struct request *r)
{
    const uint64_t limit_ns = r->target->patience->limit_ns;
    const double bytes = (double)r->http.body_size + (double)r->http.into_size;

    return limit_ns == 0 ? 0 : r->retry.began_ns + limit_ns +
                               (uint64_t)(bytes / (double)REQUEST_RATE * 1e9);
}

/* Prepares the next attempt. Sets the URL and the headers of the attempt, and signs it with the
 * present date and credentials. The HTTP engine calls this function as http_exchange.begin. */
static int begin_attempt(struct http_exchange *http, uint64_t *wait_ns)
{
    struct request *r = (struct request *)http;
    struct sheaf_error *err = &r->error;
    int code;

    http_clear_headers(http);
    if (r->retry.began_ns == 0) {
        r->retry.began_ns = clock_ns();
        http->deadline_ns = deadline_of(r);
    }
    *wait_ns = SIGNER_WAIT_NS;
    r->at = target_now(r->target);
    code = build_url(r, err);
    for (size_t i = 0; i < r->header_count && code == SHEAF_OK; i++)
        code = http_add_header(http, r->headers[i].name, r->headers[i].value, err);
    if (code == SHEAF_OK && r->signing != NULL)
        code = r->signing->sign(r, err);
    return code;
}

/* ---- Going round ----------------------------------------------------------------------------- */

int request_classify_http(struct request *r, bool *again, struct sheaf_error *err)
{
    const struct http_exchange *x = &r->http;

    if (x->failure == HTTP_ANSWERED && x->status / 100 == 2)
        return SHEAF_OK;
    *again = http_may_pass(x);
    return http_error(x, r->what, err);
}

static uint64_t dice(void)
{
    uint64_t bits = 0;

    if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
        bits = clock_ns() * 0x9e3779b97f4a7c15u;
    return bits;
}

static void request_finish(struct request *r, int code)
{
    r->code = code;
    r->done(r);
}

/* Returns the retry policy for this request. Fewer attempts are made if no server can be reached,
 * and no server has ever answered this process. The address is then probably mistyped or there is
 * no network, and the user should learn this soon. A server that has answered before is probably
 * restarting, so that waiting may help. */
static struct retry_policy policy_of(const struct request *r)
{
    struct retry_policy policy = r->target->patience->retry;
    const enum http_failure failure = r->http.failure;

    if ((failure == HTTP_NO_HOST || failure == HTTP_NO_CONNECTION) &&
        !http_has_answered(r->target->engine))
        policy.attempts = MIN(policy.attempts, FIRST_ATTEMPTS);
    return policy;
}

/* Checks that the text of a response is complete. A proxy or the server may have cut it off. */
static int check_text(struct request *r, bool *again)
{
    const int code = r->check(r, &r->error);

    *again = code == SHEAF_ERR_CORRUPT;
    if (code != SHEAF_OK)
        err_prefix(&r->error, "%s: ", r->what);
    return code;
}

/* Tells the program by a notice that the server has asked the library to wait. Many requests may
 * get this response, so the notice is sent at most once in NOTICE_WAIT_NS nanoseconds. */
static void say_wait(const struct request *r)
{
    static atomic_uint_fast64_t quiet_until_ns;
    const uint64_t wait_ns = r->http.retry_after_ns, now_ns = clock_ns();
    uint64_t quiet = atomic_load(&quiet_until_ns);

    if (wait_ns >= NOTICE_WAIT_NS && now_ns >= quiet &&
        atomic_compare_exchange_strong(&quiet_until_ns, &quiet, now_ns + NOTICE_WAIT_NS))
        notice_say(r->at->origin, "the server asks to wait for %.0f s (Retry-After, HTTP status "
                   "%d): waiting", (double)wait_ns / 1e9, r->http.status);
}

/* Adds to the error's message the number of attempts and the time that they took. Also says if the
 * server demands a longer wait than the time limit allows. */
static void explain_end(struct request *r, const struct retry_policy *policy, uint64_t now_ns)
{
    const uint64_t spent_ns = now_ns - r->retry.began_ns;

    if (r->retry.total > 1)
        err_append(&r->error, "; gave up after %u attempt%s in %.1f s", r->retry.total,
                   plural(r->retry.total), (double)spent_ns / 1e9);
    if (r->retry.failures < policy->attempts && spent_ns <= policy->time_ns &&
        r->http.retry_after_ns > policy->time_ns - spent_ns)
        err_append(&r->error, "; the server asks to wait for %.0f s (Retry-After), and a request "
                   "may take %.0f s (SHEAF_REQUEST_TIMEOUT)", (double)r->http.retry_after_ns / 1e9,
                   (double)policy->time_ns / 1e9);
}

/* Returns whether the attempt may be repeated immediately, without counting as failed. It must have
 * ended because it was late compared with other reads from the server (its peers). In addition, the
 * server must have credit for an extra request (store/peers.h). */
static bool is_asked_again(struct request *r)
{
    if (r->http.failure != HTTP_LATE || !peers_pay_of(r->at->origin))
        return false;
    r->times_late++;
    return true;
}

/* http_exchange.patience */
static uint64_t patience(const struct http_exchange *http)
{
    const struct request *r = (const struct request *)http;

    return peers_patience_of(r->at->origin, r->times_late);
}

/* http_exchange.done */
static void attempt_done(struct http_exchange *http)
{
    struct request *r = (struct request *)http;
    uint64_t wait_ns = 0, now_ns;
    struct retry_policy policy;
    bool again = false;

    if (http->method == HTTP_GET && http->first_byte_ns != 0)
        peers_note_of(r->at->origin, http->first_byte_ns);
    if (http->failure == HTTP_NOT_BEGUN) {
        err_prefix(&r->error, "%s: ", r->what);
        request_finish(r, r->error.code);
        return;
    }
    if (http->failure == HTTP_NO_MEMORY) {      /* whatever part of a response there is */
        request_finish(r, http_error(http, r->what, &r->error));
        return;
    }
    r->code = r->classify(r, &again, &r->error);
    if (r->goes_on) {
        r->goes_on = false;
        http_submit(r->target->engine, http, 0);
        return;
    }
    if (r->code == SHEAF_OK && r->check != NULL)
        r->code = check_text(r, &again);
    if (r->code == SHEAF_OK || !again || http->failure == HTTP_CANCELLED) {
        request_finish(r, r->code);
        return;
    }
    if (__atomic_load_n(&r->cancelled, __ATOMIC_ACQUIRE)) {
        request_finish(r, err_set(&r->error, SHEAF_ERR_INTERRUPTED, "%s: interrupted", r->what));
        return;
    }
    if (target_now(r->target) != r->at) {
        http_submit(r->target->engine, http, 0);
        return;
    }
    if (is_asked_again(r)) {
        atomic_fetch_add(&request_total.retries, 1);
        http_submit(r->target->engine, http, 0);
        return;
    }
    now_ns = clock_ns();
    policy = policy_of(r);
    if (retry_again(&policy, &r->retry, now_ns, http->retry_after_ns, dice(),
                    &wait_ns)) {
        atomic_fetch_add(&request_total.retries, 1);
        say_wait(r);
        http_submit(r->target->engine, http, wait_ns);
        return;
    }
    explain_end(r, &policy, now_ns);
    request_finish(r, r->code);
}

int request_init(struct request *r, const struct target *target, enum http_method method,
                 char *path, char *query, char *what, struct sheaf_error *err)
{
    memset(r, 0, sizeof(*r));
    r->target = r->at = target;
    r->path = path;
    r->query = query;
    r->what = what;
    r->classify = request_classify_http;
    r->http.method = method;
    r->http.reply.limit = REQUEST_REPLY_MOST;
    return path == NULL || what == NULL ? err_memory(err, 64) : SHEAF_OK;
}

void request_free(struct request *r)
{
    http_exchange_free(&r->http);
    for (size_t i = 0; i < r->header_count; i++)
        free(r->headers[i].value);
    if (r->signing != NULL && r->signing->end != NULL)
        r->signing->end(r);
    free(r->path);
    free(r->query);
    free(r->what);
    free(r->url);
}

void request_start(struct request *r)
{
    const struct target *t = r->target;
    int code = SHEAF_OK;

    r->http.ca_file = t->ca_file != NULL ? t->ca_file : trust_file();
    r->http.follow = t->follow;
    r->http.no_proxy = t->no_proxy;
    r->http.connect_ns = t->connect_ns;
    r->http.stall = (struct stall){
        .limit_ns = r->is_patient ? t->patience->patient_ns : t->patience->stall_ns,
        .least_bytes = r->is_patient ? 1 : t->patience->stall_bytes,
    };
    r->http.begin = begin_attempt;
    r->http.done = attempt_done;
    r->http.patience = r->has_peers ? patience : NULL;
    r->signing = t->signing;
    if (r->signing != NULL && r->signing->begin != NULL)
        code = r->signing->begin(r, &r->error);
    if (code != SHEAF_OK) {
        request_finish(r, code);
        return;
    }
    atomic_fetch_add(&request_total.requests, 1);
    http_submit(t->engine, &r->http, 0);
}

void request_cancel(struct request *r)
{
    __atomic_store_n(&r->cancelled, true, __ATOMIC_RELEASE);
    http_cancel(r->target->engine, &r->http);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void request_wake(struct request *r)
{
    event_set(r->waiter);
}

static void request_do_cancel(void *request)
{
    request_cancel(request);
}

int request_run(struct request *r, struct sheaf_error *err)
{
    struct event done = EVENT_INIT;

    r->waiter = &done;
    r->done = request_wake;
    request_start(r);
    interrupt_wait(&done, request_do_cancel, r);
    if (r->code != SHEAF_OK && err != NULL)
        *err = r->error;
    return r->code;
}
