/* SPDX-License-Identifier: MIT
 *
 * Makes damaged tables of keys (by which samples are found) again. */
#ifndef READER_LOOKUP_INDEX_KEYS_H
#define READER_LOOKUP_INDEX_KEYS_H

#include "sheaf.h"

/* Makes the tables of keys like sheaf_index_keys, but replaces any existing file. A damaged table
 * may look like a file of another program. */
int index_keys_again(const char *directory, const struct sheaf_verify_options *options,
                     struct sheaf_verify_result *result, struct sheaf_error *err);

#endif
