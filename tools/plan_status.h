/* SPDX-License-Identifier: MIT
 *
 * What a stored plan is, and how far its packing is. */
#ifndef TOOLS_PLAN_STATUS_H
#define TOOLS_PLAN_STATUS_H

/* Prints it, as one JSON object if `json`.  The exit status. */
int plan_status_print(const char *plan, int json);

#endif
