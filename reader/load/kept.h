/* SPDX-License-Identifier: MIT
 *
 * Structs for samples that stay valid after the next call: detached samples, and samples that were
 * read by number. Each kind has its own function to free it. */
#ifndef READER_KEPT_H
#define READER_KEPT_H

#include "sheaf.h"

/* The first member of the structs of both kinds. */
struct sheaf_kept {
    void (*release)(struct sheaf_kept *kept);   /* may be called on any thread */
};

#endif
