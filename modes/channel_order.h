/* SPDX-License-Identifier: MIT
 *
 * The order of reading that a job's hyperparameters specify. Pure: text in, values out. */
#ifndef MODES_CHANNEL_ORDER_H
#define MODES_CHANNEL_ORDER_H

#include "sheaf.h"

/* Does the work of sheaf_channel_order on the text of the hyperparameters. */
int channel_order_parse(const char *text, size_t size, struct sheaf_reader_options *options,
                        struct sheaf_error *err);

#endif
