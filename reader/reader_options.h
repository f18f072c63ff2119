/* SPDX-License-Identifier: MIT
 *
 * The options of a reader, and the order that they specify. */
#ifndef READER_READER_OPTIONS_H
#define READER_READER_OPTIONS_H

#include "reader/dataset/dataset.h"
#include "reader/order/order.h"

/* The caller's options over the defaults, as far as the caller's header knew them. */
void reader_options_take(struct sheaf_reader_options *taken,
                         const struct sheaf_reader_options *given);

/* What they say of order and member, checked. */
int reader_options_order(const struct sheaf_dataset *dataset,
                         const struct sheaf_reader_options *options, struct order *order,
                         struct order_member *member, struct sheaf_error *err);

#endif
