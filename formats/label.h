/* SPDX-License-Identifier: MIT
 *
 * Converts labels to text and back. A label is an integer that a double represents exactly, or a
 * 32-bit float. (A RecordIO record can only store labels that a 32-bit float represents exactly.)
 *
 * Numbers are read and written as in the C locale, even if the program has set another locale. The
 * text of a fraction is converted directly to the nearest 32-bit float. It is not rounded to a
 * double first, because rounding twice may give another float. */
#ifndef FORMATS_LABEL_H
#define FORMATS_LABEL_H

#include "formats/format.h"

#define CLASS_LIMIT (1 << 20)       /* numbers of classes are less */

/* Returns whether a number can be a label: an integer of magnitude up to 2^53, or a finite number
 * that a 32-bit float represents exactly. */
bool label_is_exact(double label);
bool label_is_integer(double label);

/* Returns whether a text consists of the digits of an integer, after a sign if there is one. */
bool label_text_is_integer(const char *text, size_t size);

/* Returns the label for a number from a program. A fraction is rounded to the nearest 32-bit float.
 * A whole number is returned unchanged, even if label_is_exact() would refuse it. */
double label_rounded(double number);

/* Parses one or more numbers separated by blanks, tabs or commas into `labels`. A byte order mark
 * may precede them. A fraction is rounded to the nearest 32-bit float. An integer beyond 2^53 must
 * equal a 32-bit float exactly. Returns the number of labels. Returns -1 if there are more than
 * `most`, or if the text has another form. */
long label_parse(const char *text, size_t size, double *labels, size_t most);

/* Parses a text as label_parse() does, and appends the labels to `labels`, a buffer of doubles. The
 * text may have up to LABEL_LIMIT labels. Sets *count to the result of label_parse(). If *count is
 * -1, nothing is appended. */
int label_append(struct buf *labels, const void *text, size_t size, long *count,
                 struct sheaf_error *err);

/* Parses a text that consists of one number, with blanks and newlines around it. The number is not
 * rounded to a 32-bit float. Returns false if the text has another form. */
bool label_number(const char *text, size_t size, double *number);

/* Appends the labels to `out` as the shortest text from which label_parse() reads the same labels:
 * "17", "0.25", "1 0 3". Returns SHEAF_ERR_ARGUMENT if a number cannot be a label (see
 * label_is_exact). */
int label_print(struct buf *out, const double *labels, size_t count, struct sheaf_error *err);

#endif
