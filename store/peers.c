/* SPDX-License-Identifier: MIT
 *
 * Finds reads that are late compared with their peers; see peers.h. */
#include "store/peers.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"

#define SECOND 1000000000ull
#define PATIENCE_LEAST SECOND
#define PATIENCE_MEANS 8u           /* times the usual wait for a first byte */
#define TIMES_MOST 5u
#define PEERS_LEAST 8u              /* before that nothing is known */
#define MEAN_OF 16u                 /* the mean moves by such a part of the difference */
#define CREDIT_BEGINS 16u
#define CREDIT_MOST 64u
#define REQUEST_COSTS 4u

void peers_note(struct peers *p, uint64_t first_byte_ns)
{
    if (p->answered == 0)
        p->credit = CREDIT_BEGINS;
    p->answered++;
    if (p->answered <= PEERS_LEAST)
        p->mean_ns += (first_byte_ns - MIN(first_byte_ns, p->mean_ns)) / p->answered;
    else if (first_byte_ns > p->mean_ns)
        p->mean_ns += (first_byte_ns - p->mean_ns) / MEAN_OF;
    else
        p->mean_ns -= (p->mean_ns - first_byte_ns) / MEAN_OF;
    p->credit = MIN(p->credit + 1, CREDIT_MOST);
}

uint64_t peers_patience(const struct peers *p, unsigned times)
{
    if (p->answered < PEERS_LEAST || times >= TIMES_MOST || p->credit < REQUEST_COSTS)
        return 0;
    return MAX(PATIENCE_LEAST, PATIENCE_MEANS * p->mean_ns) << times;
}

bool peers_pay(struct peers *p)
{
    if (p->credit < REQUEST_COSTS)
        return false;
    p->credit -= REQUEST_COSTS;
    return true;
}

/* ---- The process's servers ------------------------------------------------------------------- */

/* Servers beyond these share a place, which makes them a little less sure of what is usual. */
#define SERVERS 64u

static struct {
    pthread_mutex_t lock;
    struct peers peers[SERVERS];
} servers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct peers *of_locked(const char *origin)
{
    return &servers.peers[XXH3_64bits(origin, strlen(origin)) % SERVERS];
}

void peers_note_of(const char *origin, uint64_t first_byte_ns)
{
    pthread_mutex_lock(&servers.lock);
    peers_note(of_locked(origin), first_byte_ns);
    pthread_mutex_unlock(&servers.lock);
}

uint64_t peers_patience_of(const char *origin, unsigned times)
{
    uint64_t patience_ns;

    pthread_mutex_lock(&servers.lock);
    patience_ns = peers_patience(of_locked(origin), times);
    pthread_mutex_unlock(&servers.lock);
    return patience_ns;
}

bool peers_pay_of(const char *origin)
{
    bool paid;

    pthread_mutex_lock(&servers.lock);
    paid = peers_pay(of_locked(origin));
    pthread_mutex_unlock(&servers.lock);
    return paid;
}
