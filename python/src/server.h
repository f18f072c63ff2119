/* SPDX-License-Identifier: MIT
 *
 * The functions of server.c (the Python object that serves samples to loaders) for other files of
 * the module. */
#ifndef PYTHON_SERVER_H
#define PYTHON_SERVER_H

#include "held.h"
#include "module.h"

struct server_object;
extern PyTypeObject *server_type;

/* Returns whether other processes also read their samples from this server. */
bool server_is_shared(const struct server_object *server);
/* Returns whether records were skipped that were not reported yet. */
bool server_has_reports(const struct server_object *server);
/* Reads samples on any thread, without using Python. Returns false if the server is closed, or if
 * another thread sets *is_left. */
bool server_read(struct server_object *server, const struct serving_ask *ask,
                 const _Atomic bool *is_left, struct serving_reply *reply);
/* Makes a Batch of the samples that answered a request, and takes over the samples. `arena` is the
 * shared memory in which they lie, or NULL. */
PyObject *server_batch(struct shared_arena *arena, struct held_samples *samples);

#endif
