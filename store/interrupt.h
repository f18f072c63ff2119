/* SPDX-License-Identifier: MIT
 *
 * Interrupts waits for a remote server.
 *
 * Opening a shard makes several requests through layers that do not know the caller, and a server
 * that does not respond is waited for for minutes. So a thread registers a flag that all its remote
 * waits check. They end within a tenth of a second after the flag is raised, with
 * SHEAF_ERR_INTERRUPTED. Asynchronous reads (store_read_start) are ended by store_read_cancel
 * instead. */
#ifndef STORE_INTERRUPT_H
#define STORE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"

#define INTERRUPT_LOOK_NS UINT64_C(50000000)

/* Makes this thread's waits check the caller's flag, or none if it is NULL. Returns the previous
 * flag, which the caller must restore. */
const volatile int *interrupt_watch(const volatile int *flag);

/* Return this thread's flag, and whether it is raised. */
const volatile int *interrupt_watched(void);
bool interrupt_is_raised(void);

/* Waits for the event and destroys it. If the flag is raised first, `cancel` is called once with
 * the context; it must make the event happen soon. */
void interrupt_wait(struct event *event, void (*cancel)(void *context), void *context);

#endif
