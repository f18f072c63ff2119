/* SPDX-License-Identifier: MIT
 *
 * Measures the memory of the process itself, for the output of the command and for the benchmark
 * programs. */
#ifndef TOOLS_PEAK_MEMORY_H
#define TOOLS_PEAK_MEMORY_H

#include <stdint.h>

/* Returns the largest number of bytes that the process has had in memory, or 0 if the system does
 * not report it. */
uint64_t peak_memory_bytes(void);

#endif
