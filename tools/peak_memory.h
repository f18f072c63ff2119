/* SPDX-License-Identifier: MIT
 *
 * The memory of the process itself, for the command's reports and for the benchmark programs. */
#ifndef TOOLS_PEAK_MEMORY_H
#define TOOLS_PEAK_MEMORY_H

#include <stdint.h>

/* Returns the largest number of bytes that the process has held in memory; 0 if the system does not
 * say. */
uint64_t peak_memory_bytes(void);

#endif
