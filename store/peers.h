/* SPDX-License-Identifier: MIT
 *
 * Finds reads that are late compared with their peers, which are the reads that the same server has
 * answered before.
 *
 * One connection of many may stall while the others continue, and then everything that is read
 * after it waits. Therefore a read without an answer for much longer than its peers took to begin
 * is requested again on another connection, for the missing bytes and into the same memory. Each
 * further request waits twice as long. A read is judged by the answers up to now, not by those up
 * to its beginning, so the first reads of a process can also be late.
 *
 * Repeated requests must not load a server that is slow as a whole. A server gets a few
 * extra requests at once, and later one for every four answers. */
#ifndef STORE_PEERS_H
#define STORE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct peers {
    uint64_t answered;          /* reads */
    uint64_t mean_ns;           /* time to the first byte of an answer; recent answers weigh most */
    uint64_t deviation_ns;      /* the mean distance from that mean */
    unsigned spent;             /* quarters of extra requests, less one for each answer */
};

/* Records the time until the first byte of a read came. */
void peers_note(struct peers *peers, uint64_t first_byte_ns);
/* Returns how long a read may be silent that was asked again `times` times, or 0 if there is no
 * limit. */
uint64_t peers_patience(const struct peers *peers, unsigned times);
/* Pays for an extra request.  Returns false if there is no credit. */
bool peers_pay(struct peers *peers);

/* Like the functions above, for the servers of this process, each identified by its origin
 * ("https://host:port"). */
void peers_note_of(const char *origin, uint64_t first_byte_ns);
uint64_t peers_patience_of(const char *origin, unsigned times);
bool peers_pay_of(const char *origin);

#endif
