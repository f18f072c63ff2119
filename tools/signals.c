/* SPDX-License-Identifier: MIT
 *
 * Handles signals. The handler sets a flag, interrupts the reader, and restores the default action
 * of the signal. */
#include "tools/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static const int caught_signals[] = { SIGINT, SIGTERM, SIGHUP };
#define CAUGHT_COUNT (sizeof(caught_signals) / sizeof(caught_signals[0]))

volatile int signals_caught;
static struct sheaf_reader *volatile watched;
static bool pipe_kills;

static void on_signal(int number)
{
    struct sheaf_reader *reader = watched;

    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        signal(caught_signals[i], SIG_DFL);
    signals_caught = number;
    if (reader)
        sheaf_reader_interrupt(reader);
}

void signals_catch(void)
{
    for (size_t i = 0; i < CAUGHT_COUNT; i++) {
        struct sigaction action;

        if (sigaction(caught_signals[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = (struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART };
        sigaction(caught_signals[i], &action, NULL);
    }
}

void signals_watch(struct sheaf_reader *reader)
{
    watched = reader;
    /* If a signal arrived before the reader was set, the handler had no reader to interrupt. So the
     * reader is interrupted here. */
    if (reader && signals_caught)
        sheaf_reader_interrupt(reader);
}

void signals_hold_pipe(void)
{
    pipe_kills = signal(SIGPIPE, SIG_IGN) != SIG_IGN;
}

void signals_die_of_pipe(void)
{
    if (pipe_kills) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
}

void signals_die(void)
{
    if (signals_caught) {
        signal(signals_caught, SIG_DFL);
        raise(signals_caught);
    }
}
