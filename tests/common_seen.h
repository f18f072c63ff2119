/* SPDX-License-Identifier: MIT
 *
 * What whoever looks at a data set in the store in memory (common_model_store.h) sees there, and
 * what must hold of it at any time:
 *
 *     a manifest        all shards, sides and the index are there, as the manifest says
 *     no manifest       there are no shards either, or a claim says that a run is at work */
#ifndef TESTS_COMMON_SEEN_H
#define TESTS_COMMON_SEEN_H

#include "tests/common_model_store.h"

#define SEEN_TEXT 200u

/* The first thing that was wrong; empty if nothing was.  seen_now: what is under way, for it. */
extern char seen_fault[2000], seen_now[SEEN_TEXT];
void seen_blame(const char *what, const char *name);

/* An object of the data set, or NULL. */
const struct model_object *seen_find(const char *name);
/* Blames what must not be. */
void seen_check(void);

/* The manifest of the column cap, or NULL if there is none. */
const struct model_object *seen_column(void);
/* How many samples have no value in the column; -1: there is none. */
int seen_column_missing(void);

/* The plans of the two trees; of which of them the data set is that is there, -1: there is none. */
extern char seen_plans[2][33];
int seen_tree(void);
/* How often the data set has grown; -1: there is none. */
int seen_growths(void);
/* How many times it was edited; -1: there is none. */
int seen_edits(void);

#endif
