/* SPDX-License-Identifier: MIT
 *
 * Options of the commands `fetch` and `pipe` that select which objects of a source this host
 * gets. */
#ifndef TOOLS_HOSTS_H
#define TOOLS_HOSTS_H

#include <stdbool.h>

#include "tools/options.h"

#define HOST_NOT_GIVEN UINT64_MAX

struct hosts_options {
    int sharded;
    uint64_t host, hosts;           /* HOST_NOT_GIVEN: the environment's */
};

extern const struct choice distribution_choices[];

#define HOSTS_INIT { .host = HOST_NOT_GIVEN, .hosts = HOST_NOT_GIVEN }

/* Table rows that fill a struct hosts_options. */
#define HOSTS_ROWS(options)                                                                     \
    { "distribution", OPTION_CHOICE, "HOW", .choice = &(options)->sharded,                      \
      .choices = distribution_choices,                                                          \
      .meaning = "replicated: every object on every host (FullyReplicated); sharded: each on "  \
                 "one host (ShardedByS3Key)" },                                                 \
    { "host", OPTION_NUMBER, "I", .number = &(options)->host,                                   \
      .standard = "the environment's, or 0", .meaning = "with sharded: this is host I, from 0" }, \
    { "hosts", OPTION_NUMBER, "N", .number = &(options)->hosts, .least = 1, .most = 1 << 20,    \
      .standard = "the environment's, or 1", .meaning = "of N hosts" }

/* Sets *host to the number of this host and *hosts to the number of hosts, from the options or from
 * the environment. If the numbers come from the environment and there are several hosts, prints the
 * numbers on standard error. Returns -1 on success. On failure, prints an error and returns the
 * exit status. */
int hosts_options_take(const struct hosts_options *options, uint32_t *host, uint32_t *hosts);

#endif
