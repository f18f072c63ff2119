/* SPDX-License-Identifier: MIT
 *
 * Reads protobuf's wire format as far as tf.train.Example needs it. For any input, these functions
 * read only the bytes between the pointers `p` and `end` of struct wire. */
#ifndef FORMATS_EXAMPLE_WIRE_H
#define FORMATS_EXAMPLE_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum { TAG_VARINT_1 = 0x08, TAG_DELIMITED_1 = 0x0a, TAG_FIXED32_1 = 0x0d,
       TAG_DELIMITED_2 = 0x12, TAG_DELIMITED_3 = 0x1a };

struct wire {
    const uint8_t *p, *end;
};

static inline size_t wire_left(const struct wire *w)
{
    return (size_t)(w->end - w->p);
}

static inline bool wire_varint(struct wire *w, uint64_t *value)
{
    unsigned shift;

    if (w->p != w->end && *w->p < 0x80) {       /* as most are */
        *value = *w->p++;
        return true;
    }
    if (wire_left(w) > 1 && w->p[1] < 0x80) {
        *value = (uint64_t)(w->p[0] & 0x7f) | (uint64_t)w->p[1] << 7;
        w->p += 2;
        return true;
    }
    *value = 0;
    for (shift = 0; shift < 64 && w->p != w->end; shift += 7) {
        const uint8_t byte = *w->p++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return shift < 63 || byte <= 1;
    }
    return false;
}

/* Reads a protobuf tag of one byte into *tag. All tags in a tf.train.Example have one byte. */
static inline bool wire_tag(struct wire *w, uint8_t *tag)
{
    if (w->p == w->end)
        return false;
    *tag = *w->p++;
    return true;
}

static inline bool wire_delimited(struct wire *w, struct wire *content)
{
    uint64_t size;

    if (!wire_varint(w, &size) || size > wire_left(w))
        return false;
    content->p = w->p;
    content->end = w->p += size;
    return true;
}

/* An iterator over the numbers in an Int64List or FloatList message. It reads protobuf's packed
 * form and also the form with a tag before each number. */
struct wire_numbers {
    struct wire list, packed;
    bool floats;
    bool bad;
};

static inline bool wire_value(struct wire *w, bool is_float, uint64_t *value)
{
    if (!is_float)
        return wire_varint(w, value);
    if (wire_left(w) < 4)
        return false;
    *value = load32(w->p);
    w->p += 4;
    return true;
}

/* Sets *value to the bits of the list's next number. Returns false at the end of the list. Also
 * returns false if the list is malformed, and then sets n->bad. */
static inline bool wire_number(struct wire_numbers *n, uint64_t *value)
{
    const uint8_t alone = n->floats ? TAG_FIXED32_1 : TAG_VARINT_1;

    while (n->packed.p == n->packed.end) {
        uint8_t tag;

        if (!wire_tag(&n->list, &tag))
            return false;
        if (tag == alone) {
            n->bad = !wire_value(&n->list, n->floats, value);
            return !n->bad;
        }
        n->bad = tag != TAG_DELIMITED_1 || !wire_delimited(&n->list, &n->packed);
        if (n->bad)
            return false;
    }
    n->bad = !wire_value(&n->packed, n->floats, value);
    return !n->bad;
}

/* Converts a number of this list to a double. `bits` are the bits of the number, as wire_number()
 * has returned them. */
static inline double wire_double(const struct wire_numbers *n, uint64_t bits)
{
    return n->floats ? (double)float_of((uint32_t)bits) : (double)(int64_t)bits;
}

#endif
