/* SPDX-License-Identifier: MIT
 *
 * The part that a command processes: --part I/N, or a launcher's environment. */
#ifndef TOOLS_PART_H
#define TOOLS_PART_H

#include <stdint.h>

/* The meaning of the option for its table row. */
#define PART_MEANING(what) \
    what " of part I of N, counted from 0 (without it: Slurm's, Open MPI's, AWS Batch's, " \
    "Kubernetes' or SageMaker's environment)"

/* Takes the text of --part, or NULL. Without the option and a launcher, the part is 0 of 1. Returns
 * -1, or the exit status. */
int part_take(const char *text, uint32_t *part, uint32_t *parts);

#endif
