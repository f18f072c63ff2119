/* SPDX-License-Identifier: MIT
 *
 * The flag of each thread. */
#include "store/interrupt.h"

#include "base/flag.h"

static _Thread_local const volatile int *watched;

const volatile int *interrupt_watch(const volatile int *flag)
{
    const volatile int *before = watched;

    watched = flag;
    return before;
}

const volatile int *interrupt_watched(void)
{
    return watched;
}

bool interrupt_is_raised(void)
{
    return flag_is_raised(watched);
}

void interrupt_wait(struct event *event, void (*cancel)(void *context), void *context)
{
    while (watched != NULL && !event_wait_for(event, INTERRUPT_LOOK_NS)) {
        if (!flag_is_raised(watched))
            continue;
        cancel(context);
        break;
    }
    event_wait(event);
}
