/* SPDX-License-Identifier: MIT
 *
 * Interrupts waits for a remote server. Opening a shard sends several requests, and each of them
 * may wait for minutes if the server does not answer. The functions that send these requests do not
 * have the caller's interrupt flag as an argument. Therefore a thread registers its flag. If the
 * flag is set, all waits of this thread for remote servers end within a tenth of a second, with
 * SHEAF_ERR_INTERRUPTED.
 *
 * An asynchronous read (store_read_start) is ended by store_read_cancel instead. */
#ifndef STORE_INTERRUPT_H
#define STORE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"

#define INTERRUPT_LOOK_NS UINT64_C(50000000)

/* Registers a flag for this thread: its waits for remote servers end when the flag is set. NULL
 * means no flag. Returns the flag that was registered before. At the end, the caller must register
 * the previous flag again. */
const volatile int *interrupt_watch(const volatile int *flag);

/* interrupt_watched returns the flag that this thread has registered, or NULL. interrupt_is_raised
 * returns whether this flag is set. */
const volatile int *interrupt_watched(void);
bool interrupt_is_raised(void);

/* Waits until the event happens, and then destroys the event. If the flag of this thread
 * (interrupt_watch) is set during the wait, calls `cancel` once with the context. `cancel` must
 * then make the event happen soon. */
void interrupt_wait(struct event *event, void (*cancel)(void *context), void *context);

#endif
