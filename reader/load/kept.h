/* SPDX-License-Identifier: MIT
 *
 * Detached samples, and samples that were read by number; each kind knows how it is freed. */
#ifndef READER_KEPT_H
#define READER_KEPT_H

#include "sheaf.h"

/* The first member of the kinds' structs. */
struct sheaf_kept {
    void (*release)(struct sheaf_kept *kept);   /* on any thread */
};

#endif
