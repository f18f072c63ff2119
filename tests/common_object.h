/* SPDX-License-Identifier: MIT
 *
 * An object from afar that is in memory: reads are answered by threads, late and in any order, as
 * a store answers them; they are counted, and can be made to fail. */
#ifndef TESTS_COMMON_OBJECT_H
#define TESTS_COMMON_OBJECT_H

#include "store/store.h"

struct far_object {
    struct store_object base;
    const uint8_t *data;
    unsigned reads;             /* begun */
    uint64_t read_bytes;
    unsigned fail_from;         /* reads from this one on fail with `failure`; 0: none */
    int failure;
    bool is_stuck;              /* reads end only when they are cancelled */
};

/* The object stays the caller's when it is closed; `url` and `version` are borrowed. */
void far_object_init(struct far_object *object, const char *url, const char *version,
                     const void *data, size_t size);

#endif
