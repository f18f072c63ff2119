/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tools/bench/meter.h"
#include "tools/peak_memory.h"

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

void meter_begin(struct meter *meter)
{
    memset(meter, 0, sizeof(*meter));
    meter->begin_cpu_ns = cpu_ns();
    meter->begin_ns = now_ns();
}

void meter_first(struct meter *meter)
{
    if (meter->first_ns == 0)
        meter->first_ns = now_ns() - meter->begin_ns;
}

void meter_print(const struct meter *meter)
{
    const double seconds = (double)(now_ns() - meter->begin_ns) * 1e-9;

    printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"first_seconds\": %.6f, "
           "\"bytes\": %" PRIu64 ", \"items\": %" PRIu64 ", \"peak_bytes\": %" PRIu64 "}\n",
           seconds, (double)(cpu_ns() - meter->begin_cpu_ns) * 1e-9,
           (double)meter->first_ns * 1e-9, meter->bytes, meter->items, peak_memory_bytes());
}

void meter_die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

uint64_t meter_number(const char *text)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9')
        meter_die(text, "is no number");
    return value;
}
