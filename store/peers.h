/* SPDX-License-Identifier: MIT
 *
 * When a read is late against its peers, the reads that the same server has answered before.
 *
 * One connection in many may stall while all others go on, and everything that is read after it
 * then waits.  So a read that has been silent for far longer than its peers took to begin is asked
 * a second time, on another connection: for the bytes that are missing, into the same memory.  Each
 * further time it gets twice the patience.
 *
 * Asking again must not load a server that is slow as a whole, so it has a price: a server's reads
 * earn a quarter of an extra request each, and at most CREDIT_MOST are saved. */
#ifndef STORE_PEERS_H
#define STORE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct peers {
    uint64_t answered;          /* reads */
    uint64_t mean_ns;           /* to the first byte of an answer; of the last ones above all */
    unsigned credit;            /* quarters of requests */
};

/* Notes that a read's first byte came after so long. */
void peers_note(struct peers *peers, uint64_t first_byte_ns);
/* Returns how long a read may be silent that was asked again `times` times; 0: there is no such
 * limit. */
uint64_t peers_patience(const struct peers *peers, unsigned times);
/* Pays for an extra request.  Returns false if there is no credit. */
bool peers_pay(struct peers *peers);

/* The same of the servers of this process, known by their origins ("https://host:port"). */
void peers_note_of(const char *origin, uint64_t first_byte_ns);
uint64_t peers_patience_of(const char *origin, unsigned times);
bool peers_pay_of(const char *origin);

#endif
