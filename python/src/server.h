/* SPDX-License-Identifier: MIT
 *
 * Declares the functions of the Python type Server (server.c) that other files of the module call.
 * A Server reads samples for the workers of a loader. */
#ifndef PYTHON_SERVER_H
#define PYTHON_SERVER_H

#include "held.h"
#include "module.h"

struct server_object;
extern PyTypeObject *server_type;

/* Returns whether other processes also read their samples from this server. */
bool server_is_shared(const struct server_object *server);
/* Returns whether the program must still be told about records that the server's reader has
 * skipped. */
bool server_has_reports(const struct server_object *server);
/* Reads the samples of a request, without using Python. May be called on any thread. Returns false
 * if the server is closed, or if another thread sets *is_left. */
bool server_read(struct server_object *server, const struct serving_ask *ask,
                 const _Atomic bool *is_left, struct serving_reply *reply);
/* Makes a Batch of the samples that server_read has returned, and takes over `samples`. `arena` is
 * the shared memory in which the samples are, or NULL. */
PyObject *server_batch(struct shared_arena *arena, struct held_samples *samples);

#endif
