/* SPDX-License-Identifier: MIT
 *
 * Labels as text.  A label is an integer that a double holds exactly, or a 32-bit float: what
 * all three containers can keep.  Numbers are read and written as in the C locale, whatever the
 * program has set, and a fraction is rounded once, from the text to the float. */
#ifndef FORMATS_LABEL_H
#define FORMATS_LABEL_H

#include "formats/format.h"

#define CLASS_LIMIT (1 << 20)       /* numbers of classes are less */

/* An integer of magnitude up to 2^53, or what a 32-bit float holds exactly (no infinity). */
bool label_is_exact(double label);
bool label_is_integer(double label);

/* Returns the label that a number stands for: a fraction is rounded to the nearest 32-bit float.
 * A whole number stays as it is, even if it cannot be a label. */
double label_rounded(double number);

/* Parses one or more numbers separated by blanks, tabs or commas, perhaps after a byte order mark.
 *  A fraction is rounded to the
 * nearest 32-bit float; an integer of magnitude beyond 2^53 must be one.  Returns their number, at
 * most `most`, or -1 if the text is anything else. */
long label_parse(const char *text, size_t size, double *labels, size_t most);

/* Appends the shortest text that label_parse gives back: "17", "0.25", "1 0 3".
 * SHEAF_ERR_ARGUMENT for a label that is not exact. */
int label_print(struct buf *out, const double *labels, size_t count, struct sheaf_error *err);

#endif
