/* SPDX-License-Identifier: MIT
 *
 * The options of a reader, and the order that they specify. */
#ifndef READER_READER_OPTIONS_H
#define READER_READER_OPTIONS_H

#include "reader/dataset/dataset.h"
#include "reader/order/order.h"

/* Sets the defaults, and then copies the caller's options. Only options that the caller's version
 * of the struct has are copied. */
void reader_options_take(struct sheaf_reader_options *taken,
                         const struct sheaf_reader_options *given);

/* Makes the order that the options specify. Also sets the rank and the worker in the struct
 * order_member. Checks both. */
int reader_options_order(const struct sheaf_dataset *dataset,
                         const struct sheaf_reader_options *options, struct order *order,
                         struct order_member *member, struct sheaf_error *err);

#endif
