/* SPDX-License-Identifier: MIT
 *
 * The functions of server.c for other files of the module. */
#ifndef PYTHON_SERVER_H
#define PYTHON_SERVER_H

#include "held.h"
#include "module.h"

struct server_object;
extern PyTypeObject *server_type;

/* Returns whether other processes use the samples of the server as well. */
bool server_is_shared(const struct server_object *server);
/* Reads samples without Python, on any thread. Returns false if the server is closed, or if
 * *is_left is set meanwhile. */
bool server_read(struct server_object *server, const struct serving_ask *ask,
                 const _Atomic bool *is_left, struct serving_reply *reply);
/* Makes a Batch of the samples of an answer, and takes them over. `arena` is the arena in which the
 * samples lie, or NULL. */
PyObject *server_batch(struct shared_arena *arena, struct held_samples *samples);

#endif
