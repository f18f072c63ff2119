/* SPDX-License-Identifier: MIT
 *
 * Functions that measure a program: the elapsed time, the processor time of all threads, the peak
 * of resident memory, and counts. Every measuring program prints these as one line of JSON. */
#ifndef BENCH_METER_H
#define BENCH_METER_H

#include <stdint.h>

struct meter {
    uint64_t begin_ns;
    uint64_t begin_cpu_ns;
    /* time from the beginning of the measurement to the first result; 0 if there is no result
     * yet */
    uint64_t first_ns;
    uint64_t bytes;
    uint64_t items;         /* files or samples */
};

void meter_begin(struct meter *meter);
/* Records the time of the first result of the measured work. The program may call this function for
 * each result, because only the first call has an effect. */
void meter_first(struct meter *meter);
void meter_print(const struct meter *meter);

/* Prints the reason on standard error and exits. */
void meter_die(const char *what, const char *why) __attribute__((noreturn));
/* Returns the number that an argument of the command line states. Ends the program if the argument
 * is not a number. */
uint64_t meter_number(const char *text);

#endif
