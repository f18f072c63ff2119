/* SPDX-License-Identifier: MIT
 *
 * A channel whose source is a manifest file. The objects that the manifest lists form the data set,
 * as if they were in the directory into which File mode would have copied them. */
#ifndef MODES_CHANNEL_LIST_H
#define MODES_CHANNEL_LIST_H

#include "sheaf.h"

/* Opens the objects that the manifest file at `url` lists as a data set. */
int channel_list_open(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
