/* SPDX-License-Identifier: MIT
 *
 * Interrupts waits for a remote server.
 *
 * Opening a shard makes several requests, through layers that do not know the caller. If a server
 * does not respond, each request waits for minutes. So a thread registers a flag, and all its waits
 * for a remote server check this flag. When the flag is set, they end within a tenth of a second
 * with SHEAF_ERR_INTERRUPTED. Asynchronous reads (store_read_start) are ended by store_read_cancel
 * instead. */
#ifndef STORE_INTERRUPT_H
#define STORE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"

#define INTERRUPT_LOOK_NS UINT64_C(50000000)

/* Registers the flag that the waits of this thread check; NULL means no flag. Returns the previous
 * flag, which the caller must restore. */
const volatile int *interrupt_watch(const volatile int *flag);

/* Return this thread's flag, and whether it is raised. */
const volatile int *interrupt_watched(void);
bool interrupt_is_raised(void);

/* Waits for the event and destroys it. If the thread's flag is set before the event happens, calls
 * `cancel` once with the context. `cancel` must make the event happen soon. */
void interrupt_wait(struct event *event, void (*cancel)(void *context), void *context);

#endif
