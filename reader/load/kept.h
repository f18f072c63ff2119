/* SPDX-License-Identifier: MIT
 *
 * Structs for samples that stay valid after the next call. There are two kinds: samples detached
 * from a reader, and samples that were read by their numbers. Each kind has its own function that
 * frees them. */
#ifndef READER_KEPT_H
#define READER_KEPT_H

#include "sheaf.h"

/* The first member of the structs of both kinds. */
struct sheaf_kept {
    void (*release)(struct sheaf_kept *kept);   /* may be called on any thread */
};

#endif
