/* SPDX-License-Identifier: MIT
 *
 * The options of a reader, and the order of samples that follows from them. */
#ifndef READER_READER_OPTIONS_H
#define READER_READER_OPTIONS_H

#include "reader/dataset/dataset.h"
#include "reader/order/order.h"

/* Sets *taken to the defaults. Then copies the options of the caller. If the caller was compiled
 * with an earlier version of the struct, only the options of that version are copied. */
void reader_options_take(struct sheaf_reader_options *taken,
                         const struct sheaf_reader_options *given);

/* Sets *order to the order of samples that the options state. Sets *member to the rank and the
 * worker in the options. Returns an error if the options are not valid. */
int reader_options_order(const struct sheaf_dataset *dataset,
                         const struct sheaf_reader_options *options, struct order *order,
                         struct order_member *member, struct sheaf_error *err);

#endif
