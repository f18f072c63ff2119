/* SPDX-License-Identifier: MIT
 *
 * A channel whose source is a manifest file. The objects that the manifest lists form the data set,
 * as if they were in the directory into which File mode would have copied them. */
#ifndef MODES_CHANNEL_LIST_H
#define MODES_CHANNEL_LIST_H

#include "sheaf.h"

/* Opens, as one data set, the objects that are listed in the manifest file at `url`. */
int channel_list_open(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
