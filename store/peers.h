/* SPDX-License-Identifier: MIT
 *
 * Recognises late reads by comparing them with their peers, the other reads that the same server
 * has answered.
 *
 * Sometimes one of many connections stalls. The consumer then waits for the read on this
 * connection, although later reads are done. Therefore a read that waits much longer for its answer
 * than its peers did is sent again on another connection. The new request is for the missing bytes
 * only. Before each further repetition, the read waits twice as long.
 *
 * The peers of a read include reads that began later but were answered earlier. So even the first
 * reads of a process can be recognised as late. */
#ifndef STORE_PEERS_H
#define STORE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct peers {
    uint64_t answered;          /* reads */
    /* average time in nanoseconds from a request to the first byte of its answer; recent answers
     * count more */
    uint64_t mean_ns;
    uint64_t deviation_ns;      /* the mean distance from that mean */
    unsigned spent;             /* quarters of extra requests, less one for each answer */
};

/* Records that the first byte of an answer has arrived after first_byte_ns nanoseconds. */
void peers_note(struct peers *peers, uint64_t first_byte_ns);
/* Returns how many nanoseconds a read may wait for its answer before its request is sent again.
 * `times` is the number of earlier repetitions of this request. Returns 0 if the read may wait
 * without limit. */
uint64_t peers_patience(const struct peers *peers, unsigned times);
/* Must be called before a late request is sent again. The credit of a server is the number of
 * requests that may still be sent again. Takes one request from the credit and returns true.
 * Returns false if the credit is used up. The credit is 16 requests at first. Every four answers of
 * the server give back one used request. So requests that are sent again hardly add load to a
 * server that answers all requests slowly. */
bool peers_pay(struct peers *peers);

/* These three functions do the work of peers_note, peers_patience and peers_pay for the server
 * `origin`, such as "https://host:port". All reads of the process from one server share one struct
 * peers, which has the average time until the server answers, and the number of requests that may
 * still be sent again (the credit). */
void peers_note_of(const char *origin, uint64_t first_byte_ns);
uint64_t peers_patience_of(const char *origin, unsigned times);
bool peers_pay_of(const char *origin);

#endif
