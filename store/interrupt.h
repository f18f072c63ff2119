/* SPDX-License-Identifier: MIT
 *
 * Interrupts waits for a remote server.
 *
 * Opening a shard makes several requests, through layers that do not know the caller, and a server
 * that does not answer is waited for for minutes.  So a thread registers a flag, and all its remote
 * waits check it: they end within a tenth of a second after the flag is raised, with
 * SHEAF_ERR_INTERRUPTED. Reads that run on their own (store_read_start) are ended by
 * store_read_cancel instead. */
#ifndef STORE_INTERRUPT_H
#define STORE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"

#define INTERRUPT_LOOK_NS UINT64_C(50000000)

/* From now on this thread's waits look at the flag, of the caller's; NULL: at none.  Returns the
 * one before, to be set again. */
const volatile int *interrupt_watch(const volatile int *flag);

/* The flag of this thread, and whether it is raised. */
const volatile int *interrupt_watched(void);
bool interrupt_is_raised(void);

/* Waits for the event, and ends it.  When the flag rises first, `cancel` is called with the context
 * once, which is to make the event happen soon. */
void interrupt_wait(struct event *event, void (*cancel)(void *context), void *context);

#endif
