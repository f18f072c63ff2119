/* SPDX-License-Identifier: MIT
 *
 * How much is said belongs to the process: hence global.  It is below all that says something. */
#include "tools/verbosity.h"

struct verbosity verbosity;
