/* SPDX-License-Identifier: MIT
 *
 * Prints a stored plan and its progress. */
#ifndef TOOLS_PLAN_STATUS_H
#define TOOLS_PLAN_STATUS_H

/* Prints the state of a stored plan, as a JSON object if `json` is set. Returns the exit status. */
int plan_status_print(const char *plan, int json);

#endif
