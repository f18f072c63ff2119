/* SPDX-License-Identifier: MIT
 *
 * Structs for samples that stay valid after the next call of the reader. These are samples that
 * were detached from a reader, or samples that were read by their numbers. The function `release`
 * of a struct frees it. */
#ifndef READER_KEPT_H
#define READER_KEPT_H

#include "sheaf.h"

/* The first member of each of these structs. */
struct sheaf_kept {
    void (*release)(struct sheaf_kept *kept);   /* may be called on any thread */
};

#endif
