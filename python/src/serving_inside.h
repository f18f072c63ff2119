/* SPDX-License-Identifier: MIT
 *
 * The internals of the serving thread: serving.c is the thread itself, serving_ranks.c keeps the
 * state of the ranks that share the thread, and serving_life.c has the functions that the program
 * calls. Other threads may use only the member `locked` of struct serving. */
#ifndef PYTHON_SERVING_INSIDE_H
#define PYTHON_SERVING_INSIDE_H

#include "held.h"
#include "serving.h"

#define CLIENTS_MOST 1024u
#define PASSES_MOST  16u            /* passes that were begun but not requested */

/* A worker's connection. */
struct client {
    int descriptor;
    bool is_welcome;
    struct serving_hello hello;
    /* the client's request that is not answered yet; ask.count is 0 if there is no such request */
    struct serving_ask ask;
    bool is_noted;                  /* whether `ask` was recorded in its pass */
    /* the ordinal (sample number) at which the pass (iteration over the loader) ends, as the thread
     * has told the client; UINT64_MAX if the thread has not told the client yet */
    uint64_t end;
    uint64_t pass, latest;          /* pass and ordinal of its last request */
    char input[sizeof(struct serving_ask)];
    size_t input_size;
};

/* A rank of the host. */
struct member {
    uint32_t workers;               /* 0 if none has connected yet */
    /* joined: number of the rank's workers that have made a request in this pass (iteration over
     * the loader); left: number of the rank's workers whose connections have ended */
    uint32_t joined, left;
};

/* A request of this process. */
enum post { POST_NONE, POST_ASKED, POST_TAKEN, POST_DONE };

struct serving {
    pthread_t thread;
    int wake;
    struct held held;
    struct client clients[CLIENTS_MOST];    /* the first one is this process, without a
                                               descriptor */
    size_t client_count;
    struct serving_pass pass;       /* present pass; number 0 before the first */
    uint32_t ranks;                 /* number of ranks that share the thread */
    struct member members[CLIENTS_MOST];
    /* wait_ns: longest time in nanoseconds to wait for ranks that have not begun the pass;
     * waits_since: time at which this wait began, or 0 if no client waits */
    uint64_t wait_ns, waits_since;
    uint64_t asked_first;           /* least requested ordinal; UINT64_MAX if none */
    pthread_mutex_t lock;
    pthread_cond_t done;
    struct {
        int listener;               /* -1 if no further client may connect */
        bool ending;
        uint64_t over;              /* the last pass that all ranks have finished */
        /* number of ranks that have not begun the present pass (iteration over the loader) */
        uint32_t missing;
        struct serving_pass passes[PASSES_MOST];    /* a ring */
        size_t pass_count;
        struct sheaf_reader_stats stats;
        bool failed;
        struct ranges holes;
        uint64_t holes_pass;
        enum post post;
        bool is_left;
        struct serving_ask ask;
        struct serving_reply reply;
    } locked;
    struct serving *next;           /* next serving thread of this process */
};

/* The thread, until `ending`. */
void *serving_run(void *serving);
void serving_drop_client(struct serving *serving, struct client *client);

static inline bool serving_is_shared(const struct serving *s)
{
    return s->ranks > 1;
}

/* serving_missing returns the number of ranks that have not begun the present pass (iteration over
 * the loader). serving_pass_is_over returns whether all ranks have finished this pass. */
uint32_t serving_missing(const struct serving *serving);
bool serving_pass_is_over(const struct serving *serving);
/* Returns true if no worker will request the sample with this ordinal (sample number) any more.
 * This is certain if each worker has already requested a later sample in this pass (iteration over
 * the loader), or will not make further requests. */
bool serving_all_are_past(const struct serving *serving, const struct client *asker,
                          uint64_t ordinal);
/* Returns whether some ranks have left the pass early. */
bool serving_some_have_left(const struct serving *serving);

#endif
