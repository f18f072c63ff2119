/* SPDX-License-Identifier: MIT
 *
 * The part of a plan that a command processes. The part is stated by the option --part I/N or by
 * the environment of a launcher. */
#ifndef TOOLS_PART_H
#define TOOLS_PART_H

#include <stdint.h>

/* The meaning of the option for its table row. */
#define PART_MEANING(what) \
    what " of part I of N, counted from 0 (without it: Slurm's, Open MPI's, AWS Batch's, " \
    "Kubernetes' or SageMaker's environment)"

/* Finds the part of the plan to process. `text` is the value of --part, or NULL without this
 * option. If there is neither the option nor a launcher, the part is 0 of 1. Returns -1 on success,
 * or the exit status after a failure. */
int part_take(const char *text, uint32_t *part, uint32_t *parts);

#endif
