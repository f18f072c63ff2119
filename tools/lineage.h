/* SPDX-License-Identifier: MIT
 *
 * What a training run must note to know later which data it has seen, in which order. */
#ifndef TOOLS_LINEAGE_H
#define TOOLS_LINEAGE_H

#include "sheaf.h"

/* One JSON object on one line.  `channel` may be NULL. */
void lineage_print(const struct sheaf_dataset *dataset, const struct sheaf_channel *channel,
                   const struct sheaf_reader_options *options);

#endif
