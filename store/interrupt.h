/* SPDX-License-Identifier: MIT
 *
 * Giving up what is waited for.
 *
 * One call that opens a shard asks a server several times, through layers that know nothing of who
 * wants to have it; and a server that does not answer is waited for for minutes.  So a thread names
 * a flag, and all that it waits for remotely looks at that: it ends within a tenth of a second of
 * the flag's rising, as SHEAF_ERR_INTERRUPTED.  What goes on by itself (store_read_start) is ended
 * by store_read_cancel instead. */
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
