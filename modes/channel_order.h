/* SPDX-License-Identifier: MIT
 *
 * What a job's hyperparameters say of the order.  Pure: text in, values out. */
#ifndef MODES_CHANNEL_ORDER_H
#define MODES_CHANNEL_ORDER_H

#include "sheaf.h"

/* sheaf_channel_order, of the text of hyperparameters. */
int channel_order_parse(const char *text, size_t size, struct sheaf_reader_options *options,
                        struct sheaf_error *err);

#endif
