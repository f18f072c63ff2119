/* SPDX-License-Identifier: MIT
 *
 * A channel (an input of a SageMaker job) whose source is a manifest file, which lists objects.
 * These objects form the data set, as if File mode had copied them into one directory. */
#ifndef MODES_CHANNEL_LIST_H
#define MODES_CHANNEL_LIST_H

#include "sheaf.h"

/* Opens a data set that consists of the objects in a SageMaker manifest file. `url` is the URL of
 * this file. */
int channel_list_open(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
