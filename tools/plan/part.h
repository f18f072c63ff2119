/* SPDX-License-Identifier: MIT
 *
 * Finds out which part of a plan a command must process. The user states the part with the option
 * --part I/N. Otherwise a launcher such as Slurm states it in environment variables. */
#ifndef TOOLS_PART_H
#define TOOLS_PART_H

#include <stdint.h>

/* The meaning of the option for its table row. */
#define PART_MEANING(what) \
    what " of part I of N, counted from 0 (without it: Slurm's, Open MPI's, AWS Batch's, " \
    "Kubernetes' or SageMaker's environment)"

/* Finds the number of the part to process, and the number of parts. `text` is the value of --part,
 * or NULL without this option. Without the option and without a launcher, the part is 0 of 1.
 * Returns -1 on success. On failure, prints an error and returns the exit status. */
int part_take(const char *text, uint32_t *part, uint32_t *parts);

#endif
