/* SPDX-License-Identifier: MIT
 *
 * The part of a plan that a command processes: from the option --part I/N, or from a launcher's
 * environment. */
#ifndef TOOLS_PART_H
#define TOOLS_PART_H

#include <stdint.h>

/* The meaning of the option for its table row. */
#define PART_MEANING(what) \
    what " of part I of N, counted from 0 (without it: Slurm's, Open MPI's, AWS Batch's, " \
    "Kubernetes' or SageMaker's environment)"

/* Finds the part. `text` is the value of --part, or NULL. Without the option and a launcher, the
 * part is 0 of 1. Returns -1, or the exit status. */
int part_take(const char *text, uint32_t *part, uint32_t *parts);

#endif
