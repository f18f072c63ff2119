/* SPDX-License-Identifier: MIT
 *
 * The verbosity is global, because it belongs to the process. All output functions depend on this
 * file. */
#include "tools/verbosity.h"

struct verbosity verbosity;
