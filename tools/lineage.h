/* SPDX-License-Identifier: MIT
 *
 * The lineage of the data: the data set and the options of the reader. A training run records it,
 * so that people can later find out which data the run read and in which order. */
#ifndef TOOLS_LINEAGE_H
#define TOOLS_LINEAGE_H

#include "sheaf.h"

/* Prints the lineage as one JSON object on one line. `channel` may be NULL. */
void lineage_print(const struct sheaf_dataset *dataset, const struct sheaf_channel *channel,
                   const struct sheaf_reader_options *options);

#endif
