/* SPDX-License-Identifier: MIT
 *
 * Makes and ends the HTTP engine and the S3 context, which the whole process shares. A process may
 * open and close many data sets and readers. If each of them made new TLS connections and fetched
 * new credentials, this would take more time than most requests.
 *
 * The shared state is made when the first remote URL is used. A forked child makes its own state.
 * The environment and the configuration files are read when a bucket is first used. */
#include "store/remote.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"

#define SECOND 1000000000ull
#define SERVICES_MOST 2             /* kinds of stores with state for the process */

#define STALL_SECONDS 20
#define MIN_RATE 1024               /* bytes per second over that time */
#define REQUEST_SECONDS 900

/* The usual time limits and retries of requests. Ten attempts take 22 s on average. In this time, a
 * throttled bucket can recover, or a connection can move to another server. If no server was ever
 * reached, the error is returned after a second (see request.c). The time limit of a whole request
 * ends transfers that hardly advance. */
static const struct request_patience usual = {
    .retry = { .attempts = 10, .time_ns = REQUEST_SECONDS * SECOND, .base_ns = SECOND / 10,
               .longest_ns = 20 * SECOND },
    .stall_ns = STALL_SECONDS * SECOND, .stall_bytes = STALL_SECONDS * MIN_RATE,
    .patient_ns = 300 * SECOND, .limit_ns = REQUEST_SECONDS * SECOND,
};

static struct {
    pthread_mutex_t lock;
    struct http_engine *engine;
    struct {
        const struct remote_service *service;
        void *state;                /* state of the service; NULL until made */
    } services[SERVICES_MOST];
    struct request_patience patience;
    const char *container_origin;
    bool is_prepared;               /* the handlers are registered */
} process = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .container_origin = "http://169.254.170.2",
};

static void forget_services_locked(void)
{
    for (unsigned i = 0; i < SERVICES_MOST; i++)
        process.services[i].state = NULL;
}

static void close_all_locked(void)
{
    struct http_engine *engine = process.engine;

    process.engine = NULL;
    if (engine != NULL)
        http_engine_stop(engine);   /* ends a search for credentials */
    for (unsigned i = 0; i < SERVICES_MOST; i++)
        if (process.services[i].state != NULL)
            process.services[i].service->close(process.services[i].state);
    forget_services_locked();
    http_engine_close(engine);
}

static void at_exit(void)
{
    pthread_mutex_lock(&process.lock);
    close_all_locked();
    pthread_mutex_unlock(&process.lock);
}

static void before_fork(void)
{
    pthread_mutex_lock(&process.lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&process.lock);
}

/* Runs in a forked child. Drops all shared state without freeing it, because its thread does not
 * exist in the child, and its connections belong to the parent. */
static void in_child(void)
{
    process.engine = NULL;
    forget_services_locked();
    pthread_mutex_unlock(&process.lock);
}

/* Registers handlers for fork, and an exit handler that ends the threads. libcurl and OpenSSL must
 * already be started, so that this exit handler runs before their exit handlers. This is necessary
 * because no thread may use OpenSSL while OpenSSL cleans up. */
static int prepare_locked(struct sheaf_error *err)
{
    if (process.is_prepared)
        return SHEAF_OK;
    if (atexit(at_exit) != 0 || pthread_atfork(before_fork, in_parent, in_child) != 0)
        return err_memory(err, 64);
    process.is_prepared = true;
    return SHEAF_OK;
}

/* Reads a whole number from 1 to `most` from the environment variable `name` into *value. If the
 * variable is not set, *value stays as it is. */
static int remote_read_setting(const char *name, uint64_t most, uint64_t *value,
                               struct sheaf_error *err)
{
    const char *text = getenv(name);
    uint64_t number;

    if (text == NULL || *text == '\0')
        return SHEAF_OK;
    if (!number_parse(text, most, &number) || number < 1)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: \"%.40s\" is not a number of 1 to %llu", name,
                       text, (unsigned long long)most);
    *value = number;
    return SHEAF_OK;
}

static int read_patience(struct request_patience *patience, struct sheaf_error *err)
{
    uint64_t seconds = REQUEST_SECONDS, rate = MIN_RATE, stall = STALL_SECONDS;
    int code = remote_read_setting("SHEAF_REQUEST_TIMEOUT", 1000000, &seconds, err);

    if (code == SHEAF_OK)
        code = remote_read_setting("SHEAF_MIN_RATE", 1000000000, &rate, err);
    if (code == SHEAF_OK)
        code = remote_read_setting("SHEAF_STALL_SECONDS", 3600, &stall, err);
    if (code != SHEAF_OK)
        return code;
    *patience = usual;
    patience->retry.time_ns = patience->limit_ns = seconds * SECOND;
    patience->stall_ns = stall * SECOND;
    patience->stall_bytes = stall * rate;
    return SHEAF_OK;
}

static int engine_locked(struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (process.patience.retry.attempts == 0)
        code = read_patience(&process.patience, err);
    if (code == SHEAF_OK && process.engine == NULL)
        code = http_engine_open(&process.engine, err);
    return code == SHEAF_OK ? prepare_locked(err) : code;
}

int remote_engine(struct http_engine **engine, struct sheaf_error *err)
{
    int code;

    pthread_mutex_lock(&process.lock);
    code = engine_locked(err);
    *engine = process.engine;
    pthread_mutex_unlock(&process.lock);
    return code;
}

const struct request_patience *remote_patience(void)
{
    return &process.patience;
}

int remote_service(const struct remote_service *service, void **state, struct sheaf_error *err)
{
    unsigned i = 0;
    int code;

    pthread_mutex_lock(&process.lock);
    code = engine_locked(err);
    while (i + 1 < SERVICES_MOST && process.services[i].state != NULL &&
           process.services[i].service != service)
        i++;
    if (code == SHEAF_OK && process.services[i].state == NULL) {
        process.services[i].service = service;
        code = service->open(&process.services[i].state, process.engine, &process.patience,
                             process.container_origin, err);
    }
    *state = process.services[i].state;
    pthread_mutex_unlock(&process.lock);
    return code;
}

void remote_reset(const struct request_patience *patience, const char *container_origin)
{
    pthread_mutex_lock(&process.lock);
    close_all_locked();
    process.patience = patience != NULL ? *patience : (struct request_patience){ .limit_ns = 0 };
    process.container_origin = container_origin != NULL ? container_origin
                                                        : "http://169.254.170.2";
    pthread_mutex_unlock(&process.lock);
}
