/* SPDX-License-Identifier: MIT
 *
 * Inside of a serving: serving.c is the thread, serving_life.c what the program does with it.  What
 * is not `locked` is the thread's alone. */
#ifndef PYTHON_SERVING_INSIDE_H
#define PYTHON_SERVING_INSIDE_H

#include "held.h"
#include "serving.h"

#define CLIENTS_MOST 1024u
#define PASSES_MOST  16u            /* begun, and not asked for yet */

/* A worker's connection. */
struct client {
    int descriptor;
    bool is_welcome;
    struct serving_hello hello;
    struct serving_ask ask;         /* what it waits for; count 0: nothing */
    bool is_noted;                  /* in the pass */
    uint64_t end;                   /* where the pass ends, as it was told; else UINT64_MAX */
    uint64_t pass, latest;          /* it has asked for this ordinal last, in this pass */
    char input[sizeof(struct serving_ask)];
    size_t input_size;
};

/* A request of this process. */
enum post { POST_NONE, POST_ASKED, POST_TAKEN, POST_DONE };

struct serving {
    pthread_t thread;
    int wake;
    bool is_shared;
    struct held held;
    struct client clients[CLIENTS_MOST];    /* the first is this process, with no descriptor */
    size_t client_count;
    struct serving_pass pass;       /* under way; number 0: none yet */
    uint32_t joined, expected;      /* clients that have asked in it; all that will */
    uint64_t asked_first;           /* the least ordinal asked for in it; UINT64_MAX: none */
    pthread_mutex_t lock;
    pthread_cond_t done;
    struct {
        int listener;               /* -1: nobody else may come */
        bool ending;
        uint64_t over;              /* a pass that all have ended */
        struct serving_pass passes[PASSES_MOST];    /* a ring */
        size_t pass_count;
        struct sheaf_reader_stats stats;
        bool failed;
        struct ranges holes;
        uint64_t holes_pass;
        enum post post;
        bool is_left;
        struct serving_ask ask;
        struct serving_answer answer;
        char *message;
    } locked;
    struct serving *next;           /* of this process */
};

/* The thread, until `ending`. */
void *serving_run(void *serving);
void serving_drop_client(struct serving *serving, struct client *client);

#endif
