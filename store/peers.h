/* SPDX-License-Identifier: MIT
 *
 * Finds reads that are late compared with their peers: earlier reads that the same server has
 * answered.
 *
 * One connection of many may stall while the others continue. Then its consumer waits, although
 * later reads are done. Therefore a read that has had no answer for much longer than its peers is
 * requested again on another connection. Only the missing bytes are requested, into the same
 * memory. Before each further request for the same read, the wait is doubled. A read is also
 * compared with answers that arrived after it had begun. So even the first reads of a process can
 * be recognised as late.
 *
 * Repeated requests must not add load to a server that is slow as a whole. A server gets a few
 * extra requests at first, and later one for every four answers. */
#ifndef STORE_PEERS_H
#define STORE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct peers {
    uint64_t answered;          /* reads */
    /* average time to the first byte of an answer; recent answers count most */
    uint64_t mean_ns;
    uint64_t deviation_ns;      /* the mean distance from that mean */
    unsigned spent;             /* quarters of extra requests, less one for each answer */
};

/* Records the time until the first byte of a read's answer arrived. */
void peers_note(struct peers *peers, uint64_t first_byte_ns);
/* Returns how long a read may go without an answer before it is requested again. `times` is the
 * number of times that it was already requested again. Returns 0 if there is no limit. */
uint64_t peers_patience(const struct peers *peers, unsigned times);
/* Uses one unit of the server's credit for extra requests. Returns false if there is no credit
 * left. */
bool peers_pay(struct peers *peers);

/* peers_note_of, peers_patience_of and peers_pay_of do the same as peers_note, peers_patience and
 * peers_pay, with the peers that the whole process has in common for the server `origin`
 * ("https://host:port"). */
void peers_note_of(const char *origin, uint64_t first_byte_ns);
uint64_t peers_patience_of(const char *origin, unsigned times);
bool peers_pay_of(const char *origin);

#endif
