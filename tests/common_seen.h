/* SPDX-License-Identifier: MIT
 *
 * Checks what a reader sees of a data set in the memory store (common_model_store.h). The following
 * must hold at any time:
 *
 *     a manifest        all shards, sides and the index are there, as the manifest says
 *     no manifest       there are no shards either, or a claim says that a run is at work
 *     a view            the whole document is there, and no data set has the view's name */
#ifndef TESTS_COMMON_SEEN_H
#define TESTS_COMMON_SEEN_H

#include "tests/common_model_store.h"

#define SEEN_TEXT 200u

/* seen_fault is the first fault that was found, or empty. seen_now describes the present test case,
 * for this message. */
extern char seen_fault[2000], seen_now[SEEN_TEXT];
void seen_blame(const char *what, const char *name);

/* Returns an object of the data set, or NULL. */
const struct model_object *seen_find(const char *name);
/* Checks the data set, and reports the first fault in seen_fault. */
void seen_check(void);

/* Returns the manifest of the column `cap`, or NULL if there is none. */
const struct model_object *seen_column(void);
/* Returns the number of samples without a value in the column, or -1 if there is no column. */
int seen_column_missing(void);

/* Returns the object of the view, or NULL if it does not exist. */
const struct model_object *seen_view(void);
/* Returns which view is there: 1 if it has a condition on keys, and otherwise 0. Returns -1 if
 * there is no view. */
int seen_view_tree(void);

/* seen_plans are the plan hashes of the two trees. seen_plan returns which of them the data set
 * has, or -1 if there is no data set. */
extern char seen_plans[2][33];
int seen_tree(void);
/* Returns how many times samples were appended to the data set, or -1 if there is none. */
int seen_growths(void);
/* Returns how many times the data set was edited, or -1 if there is none. */
int seen_edits(void);

#endif
