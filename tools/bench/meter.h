/* SPDX-License-Identifier: MIT
 *
 * The result of a measured piece of work, which every measuring program prints as one line of JSON:
 * its time, its processor time over all threads, its peak of resident memory, and its counts. */
#ifndef BENCH_METER_H
#define BENCH_METER_H

#include <stdint.h>

struct meter {
    uint64_t begin_ns;
    uint64_t begin_cpu_ns;
    uint64_t first_ns;      /* time from the beginning to the first result; 0 if there is none
                               yet */
    uint64_t bytes;
    uint64_t items;         /* files or samples */
};

void meter_begin(struct meter *meter);
/* Records the time of the first result. Must be called when there is a result. */
void meter_first(struct meter *meter);
void meter_print(const struct meter *meter);

/* Prints the reason on standard error and exits. */
void meter_die(const char *what, const char *why) __attribute__((noreturn));
/* Parses a number of the command line. Ends the program if the text is not one. */
uint64_t meter_number(const char *text);

#endif
