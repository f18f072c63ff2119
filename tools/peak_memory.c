/* SPDX-License-Identifier: MIT
 *
 * Finds the largest amount of memory that this process has used. Takes it from the kernel's VmHWM,
 * because getrusage() also counts memory of the program that started this process. */
#include "tools/peak_memory.h"

#include <stdio.h>

uint64_t peak_memory_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    unsigned long long kib = 0;
    char line[256];

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmHWM: %llu", &kib) == 1)
            break;
    fclose(file);
    return kib * 1024;
}
