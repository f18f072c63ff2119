/* SPDX-License-Identifier: MIT
 *
 * What every measuring program here tells of a piece of work: one line of JSON on standard output,
 * with its time, its processor time (of all threads), its peak of resident memory, and what came
 * of it. */
#ifndef BENCH_METER_H
#define BENCH_METER_H

#include <stdint.h>

struct meter {
    uint64_t begin_ns;
    uint64_t begin_cpu_ns;
    uint64_t first_ns;      /* from the begin to the first result; 0: none yet */
    uint64_t bytes;
    uint64_t items;         /* files or samples */
};

void meter_begin(struct meter *meter);
/* Call when there is a result: notes the moment of the first. */
void meter_first(struct meter *meter);
void meter_print(const struct meter *meter);

/* Says why on standard error, and exits. */
void meter_die(const char *what, const char *why) __attribute__((noreturn));
/* A number of a command line; what is none ends the program. */
uint64_t meter_number(const char *text);

#endif
