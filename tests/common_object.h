/* SPDX-License-Identifier: MIT
 *
 * A remote object whose content is in memory. Threads answer its reads late and in any order, as a
 * real store does. Reads are counted, and can be made to fail. */
#ifndef TESTS_COMMON_OBJECT_H
#define TESTS_COMMON_OBJECT_H

#include "store/store.h"

struct far_object {
    struct store_object base;
    const uint8_t *data;
    unsigned reads;             /* begun */
    uint64_t read_bytes;
    unsigned fail_from;         /* reads from this number on fail with `failure`; 0: none */
    int failure;
    bool is_stuck;              /* reads end only when they are cancelled */
};

/* Initialises the object. The caller still owns the object when it is closed. `url` and `version`
 * are borrowed. */
void far_object_init(struct far_object *object, const char *url, const char *version,
                     const void *data, size_t size);

#endif
