/* SPDX-License-Identifier: MIT
 *
 * A channel whose source is a manifest file. The objects that the manifest lists are the data set,
 * as if they lay in the directory where File mode would have put them. */
#ifndef MODES_CHANNEL_LIST_H
#define MODES_CHANNEL_LIST_H

#include "sheaf.h"

/* Opens the objects that the manifest file at `url` lists. */
int channel_list_open(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
