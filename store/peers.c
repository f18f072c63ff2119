/* SPDX-License-Identifier: MIT
 *
 * Recognises reads that are late compared with other reads from the same server. See peers.h. */
#include "store/peers.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"

#define SECOND 1000000000ull
#define PATIENCE_LEAST SECOND
#define PATIENCE_MEANS 2u
#define PATIENCE_DEVIATIONS 4u      /* about as TCP waits for an acknowledgement */
#define TIMES_MOST 5u
#define PEERS_LEAST 4u              /* before that little is known, and a read gets */
#define PATIENCE_FIRST (5 * SECOND)
/* weight of a new value in an average: the average moves towards the new value by 1 / MEAN_OF of
 * the difference between them */
#define MEAN_OF 16u
#define SPENT_MOST 64u
#define REQUEST_COSTS 4u

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Moves an average towards a new value, by 1 / `part` of the difference between them. */
static void move(uint64_t *average, uint64_t value, uint64_t part)
{
    if (value > *average)
        *average += (value - *average) / part;
    else
        *average -= (*average - value) / part;
}

void peers_note(struct peers *p, uint64_t first_byte_ns)
{
    const uint64_t part = MIN(p->answered + 1, MEAN_OF);

    p->answered++;
    if (p->answered == 1) {
        p->mean_ns = first_byte_ns;
        p->deviation_ns = first_byte_ns / 2;
    } else {
        move(&p->deviation_ns, difference(p->mean_ns, first_byte_ns), part);
        move(&p->mean_ns, first_byte_ns, part);
    }
    p->spent -= p->spent != 0;
}

static bool can_pay(const struct peers *p)
{
    return p->spent + REQUEST_COSTS <= SPENT_MOST;
}

uint64_t peers_patience(const struct peers *p, unsigned times)
{
    uint64_t usual_ns = PATIENCE_FIRST;

    if (times >= TIMES_MOST || !can_pay(p))
        return 0;
    if (p->answered >= PEERS_LEAST)
        usual_ns = PATIENCE_MEANS * p->mean_ns + PATIENCE_DEVIATIONS * p->deviation_ns;
    return MAX(PATIENCE_LEAST, usual_ns) << times;
}

bool peers_pay(struct peers *p)
{
    if (!can_pay(p))
        return false;
    p->spent += REQUEST_COSTS;
    return true;
}

/* ---- The process's servers ------------------------------------------------------------------- */

/* Number of servers for which averages are kept. If a process uses more servers, some servers share
 * their averages, which are then less precise. */
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
