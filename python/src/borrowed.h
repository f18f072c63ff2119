/* SPDX-License-Identifier: MIT
 *
 * Makes samples of Python objects, for packing, without copying their bytes (see packer.c). */
#ifndef PYTHON_BORROWED_H
#define PYTHON_BORROWED_H

#include "module.h"

/* A sample whose key, fields and labels are in the memory of Python objects. The struct holds
 * references to these objects. */
struct borrowed {
    struct sheaf_sample sample;
    struct sheaf_field *fields;
    char *names;                    /* in lower case; the fields' suffixes are as given */
    Py_buffer *buffers;
    size_t buffer_count;
    double *labels;
    PyObject *items;
};

/* Sets the fields of `b` from a mapping, such as a dict of field names and bytes-like objects,
 * without copying the bytes. Returns -1 with an exception on failure. The struct must be
 * zero-initialised before the call, and must be freed even after a failure. */
int borrowed_fields(struct borrowed *b, PyObject *mapping);
void borrowed_free(struct borrowed *b);

#endif
