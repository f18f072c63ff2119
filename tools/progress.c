/* SPDX-License-Identifier: MIT
 *
 * Prints the progress line on the terminal. Its state is in static variables, because a process has
 * only one terminal. */
#include "tools/progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/size_text.h"
#include "tools/verbosity.h"

#define INTERVAL_SECONDS 0.1
/* seconds between two lines if there is no terminal, as in the log of a job */
#define LOG_SECONDS 30.0

static struct {
    const char *stage;      /* stage of the last call; NULL before the first */
    double started;         /* when this stage began */
    double next;            /* no line before then */
    bool shown;             /* whether the terminal shows the line */
    /* time in seconds at which the last line was written to a log (output that is not a terminal).
     * Before the first line, it is the time of the first call. 0 before the first call. */
    double logged;
} line;

double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Returns the fraction of the work that is done, from 0 to 1. Computes it from the number of bytes
 * if the total number of bytes is known, and otherwise from the number of items. Returns a negative
 * number if the fraction is unknown. */
static double progress_part_done(const struct sheaf_progress *p)
{
    if (p->total_bytes > 0)
        return (double)p->done_bytes / (double)p->total_bytes;
    if (p->total_count > 0)
        return (double)p->done_count / (double)p->total_count;
    return -1;
}

static void print_time_left(char *text, size_t size, double seconds)
{
    const uint64_t s = (uint64_t)(seconds + 0.5);

    if (s >= 3600)
        snprintf(text, size, "  %" PRIu64 ":%02u:%02u left", s / 3600, (unsigned)(s / 60 % 60),
                 (unsigned)(s % 60));
    else
        snprintf(text, size, "  %u:%02u left", (unsigned)(s / 60), (unsigned)(s % 60));
}

static void compose(const struct sheaf_progress *p, double elapsed, char *text, size_t size)
{
    const double part = progress_part_done(p);
    char bytes[SIZE_TEXT_ROOM], rate[SIZE_TEXT_ROOM];
    size_t n = (size_t)snprintf(text, size, "%s", p->stage);

    if (part >= 0)
        n += (size_t)snprintf(text + n, size - n, " %3.0f%%", part * 100);
    if (p->done_count > 0)
        n += (size_t)snprintf(text + n, size - n, "  %" PRIu64, p->done_count);
    if (p->done_count > 0 && p->total_count > 0)
        n += (size_t)snprintf(text + n, size - n, " of %" PRIu64, p->total_count);
    if (p->done_bytes > 0) {
        size_text((double)p->done_bytes, bytes);
        n += (size_t)snprintf(text + n, size - n, "  %s", bytes);
    }
    if (p->done_count > 0 && elapsed > 1)
        n += (size_t)snprintf(text + n, size - n, "  %.0f/s", (double)p->done_count / elapsed);
    if (p->done_bytes > 0 && part >= 0 && elapsed > 0) {    /* a scan reads no bytes */
        size_text((double)p->done_bytes / elapsed, rate);
        n += (size_t)snprintf(text + n, size - n, "  %s/s", rate);
    }
    if (part > 0.001 && part <= 1 && elapsed > 1)
        print_time_left(text + n, size - n, elapsed * (1 - part) / part);
}

/* ---- The time of each stage, with --verbose -------------------------------------------------- */

#define STAGES_MOST 8u

static struct {
    struct { const char *name; double seconds; } all[STAGES_MOST];
    size_t count;
    size_t current;         /* if there is any */
    double began;
} stages;

static void end_stage(void)
{
    const double now = seconds_now();

    if (stages.count != 0)
        stages.all[stages.current].seconds += now - stages.began;
    stages.began = now;
}

static void note_stage(const char *stage)
{
    size_t i = 0;

    if (!verbosity.verbose ||
        (stages.count != 0 && strcmp(stages.all[stages.current].name, stage) == 0))
        return;
    while (i < stages.count && strcmp(stages.all[i].name, stage) != 0)
        i++;
    if (i == STAGES_MOST)
        return;
    end_stage();
    stages.all[i].name = stage;
    stages.count += i == stages.count;
    stages.current = i;
}

const char *progress_stages(char text[STAGES_ROOM])
{
    size_t used = 0;

    end_stage();
    text[0] = '\0';
    for (size_t i = 0; i < stages.count && used < STAGES_ROOM; i++)
        used += (size_t)snprintf(text + used, STAGES_ROOM - used, "%s%s %.3f s",
                                 i == 0 ? ": " : ", ", stages.all[i].name, stages.all[i].seconds);
    return text;
}

/* ---- The line -------------------------------------------------------------------------------- */

sheaf_progress_fn *progress_also;

/* Shows a new progress line on the terminal, in place of the previous progress line. */
static void show_line(const char *text)
{
    struct winsize window = { .ws_col = 0 };

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col < 2)
        window.ws_col = 80;
    fprintf(stderr, "\r%.*s\033[K", window.ws_col - 1, text);
    fflush(stderr);
    line.shown = true;
}

/* Returns whether it is time for a line. */
static bool is_due(const struct sheaf_progress *progress, bool on_terminal, double now)
{
    const bool is_new = line.stage != progress->stage;

    if (is_new) {
        line.stage = progress->stage;
        line.started = now;
    }
    if (line.logged == 0)
        line.logged = now;
    return on_terminal ? is_new || now >= line.next : now - line.logged >= LOG_SECONDS;
}

void progress_show(void *context, const struct sheaf_progress *progress)
{
    const bool on_terminal = isatty(STDERR_FILENO);
    const double now = seconds_now();
    char text[200];

    (void)context;
    if (progress_also != NULL)
        progress_also(NULL, progress);
    note_stage(progress->stage);
    if (is_quiet() || !is_due(progress, on_terminal, now))
        return;
    line.next = now + INTERVAL_SECONDS;
    line.logged = now;
    compose(progress, now - line.started, text, sizeof(text));
    if (on_terminal)
        show_line(text);
    else
        fprintf(stderr, "sheaf: %s\n", text);
}

void progress_clear(void)
{
    if (line.shown)
        fputs("\r\033[K", stderr);
    line.shown = false;
}
