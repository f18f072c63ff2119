/* SPDX-License-Identifier: MIT
 *
 * Prints a sample as one line of text, key TAB labels [TAB name:bytes]..., or as a line of JSON. */
#ifndef TOOLS_LIST_H
#define TOOLS_LIST_H

#include "sheaf.h"
#include "tools/output.h"

/* Prints the line of text for a sample. Labels are separated by blanks. If the sample has no
 * labels, the place for the labels after the first TAB is empty. Control characters, which occur
 * only in keys and names of shards that other software wrote, are written as \xHH. So a sample is
 * always one line. Returns 0 or an errno value. */
int list_sample(struct output *out, const struct sheaf_sample *sample);
/* Prints the first two columns of that line. */
int list_key_and_labels(struct output *out, const struct sheaf_sample *sample);
/* The sample as a line of JSON. */
int list_json(struct output *out, const struct sheaf_sample *sample);

#endif
