/* SPDX-License-Identifier: MIT
 *
 * Takes the settings for the order of samples from the hyperparameters of a SageMaker job. The
 * functions convert text to values and have no side effects. */
#ifndef MODES_CHANNEL_ORDER_H
#define MODES_CHANNEL_ORDER_H

#include "sheaf.h"

/* Parses the text of the hyperparameters, for sheaf_channel_order. */
int channel_order_parse(const char *text, size_t size, struct sheaf_reader_options *options,
                        struct sheaf_error *err);

#endif
