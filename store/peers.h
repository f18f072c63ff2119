/* SPDX-License-Identifier: MIT
 *
 * Finds reads that are late compared with their peers, which are the reads that the same server has
 * answered before.
 *
 * One connection of many may stall while the others continue, and then everything that is read
 * after it waits. Therefore a read without an answer for much longer than its peers took to begin
 * is requested again on another connection, for the missing bytes and into the same memory. Each
 * further request waits twice as long.
 *
 * Repeated requests must not load a server that is slow as a whole. Each read of a server earns a
 * quarter of an extra request, and at most CREDIT_MOST extra requests are saved. */
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

/* Does the same for the servers of this process, known by their origins ("https://host:port"). */
void peers_note_of(const char *origin, uint64_t first_byte_ns);
uint64_t peers_patience_of(const char *origin, unsigned times);
bool peers_pay_of(const char *origin);

#endif
