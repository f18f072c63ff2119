/* SPDX-License-Identifier: MIT
 *
 * Prints a stored plan and its progress. */
#ifndef TOOLS_PLAN_STATUS_H
#define TOOLS_PLAN_STATUS_H

/* Prints which shards of a stored plan are finished, as a JSON object if `json` is set. Returns an
 * exit status. */
int plan_status_print(const char *plan, int json);

#endif
