/* SPDX-License-Identifier: MIT
 *
 * Prints the lineage of the data that a training run reads: the data set, and the options of the
 * reader. From it, people can later find out which data the run has read, and in which order. */
#ifndef TOOLS_LINEAGE_H
#define TOOLS_LINEAGE_H

#include "sheaf.h"

/* Prints the data set and the reader's options as one JSON object on one line. `channel` is the
 * SageMaker channel from which the data comes, or NULL. */
void lineage_print(const struct sheaf_dataset *dataset, const struct sheaf_channel *channel,
                   const struct sheaf_reader_options *options);

#endif
