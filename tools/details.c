/* SPDX-License-Identifier: MIT
 *
 * Prints the output of the option --verbose; see details.h. Prints only the names of environment
 * variables, because their values may be secrets. */
#include "tools/details.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/peak_memory.h"
#include "tools/progress.h"
#include "tools/size_text.h"

static double started;

const struct option verbosity_options[] = {
    { "quiet", OPTION_FLAG, .flag = &verbosity.quiet,
      .meaning = "print only results and errors: no notes, no progress, no summary of what was "
                 "written" },
    { "verbose", OPTION_FLAG, .flag = &verbosity.verbose,
      .meaning = "also print the names of the variables that configure remote access, and at the "
                 "end time, memory and requests" },
    { .name = NULL },
};

void detail(const char *format, ...)
{
    va_list arguments;

    if (!verbosity.verbose)
        return;
    va_start(arguments, format);
    say_v(format, arguments);
    va_end(arguments);
}

/* ---- The beginning --------------------------------------------------------------------------- */

/* Returns whether the variable influences how objects are reached. */
static bool is_setting(const char *name, size_t size)
{
    static const char *const prefixes[] = { "AWS_", "SHEAF_", "HF_" };
    static const char *const proxies[] = { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY" };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
        if (strlen(proxies[i]) == size && strncasecmp(name, proxies[i], size) == 0)
            return true;
    return false;
}

static void detail_environment(void)
{
    char text[2000] = "";
    size_t used = 0;

    for (char **variable = environ; *variable != NULL; variable++) {
        const size_t size = strcspn(*variable, "=");

        if (!is_setting(*variable, size) || size + 3 > sizeof(text) - used)
            continue;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s",
                                 used == 0 ? "" : ", ", (int)size, *variable);
    }
    if (used != 0)
        detail("set in the environment: %s", text);
}

int verbosity_begin(void)
{
    if (verbosity.quiet && verbosity.verbose)
        return misuse("%s: --quiet and --verbose exclude each other", command_name);
    started = seconds_now();
    if (verbosity.verbose) {
        detail("version %s, process %ld", sheaf_version(), (long)getpid());
        detail_environment();
    }
    return -1;
}

/* ---- The work -------------------------------------------------------------------------------- */

void detail_reading(const struct sheaf_reader_stats *s)
{
    char read[SIZE_TEXT_ROOM], cached[SIZE_TEXT_ROOM], peak[SIZE_TEXT_ROOM];

    detail("read %s, %s of it from the cache; first sample after %.3f s, waited %.3f s in all; "
           "buffers at most %s", size_text((double)s->read_bytes, read),
           size_text((double)s->cached_bytes, cached), (double)s->first_sample_ns * 1e-9,
           (double)s->stall_ns * 1e-9, size_text((double)s->memory_peak_bytes, peak));
}

void detail_packing(const struct sheaf_pack_result *result)
{
    char peak[SIZE_TEXT_ROOM], plan[SIZE_TEXT_ROOM];

    detail("buffers at most %s, plan %s", size_text((double)result->memory_peak_bytes, peak),
           size_text((double)result->plan_bytes, plan));
}

/* ---- The end --------------------------------------------------------------------------------- */

void verbosity_end(void)
{
    struct sheaf_reader_stats traffic;
    char memory[SIZE_TEXT_ROOM], stages[STAGES_ROOM];

    if (!verbosity.verbose)
        return;
    detail("time %.3f s%s", seconds_now() - started, progress_stages(stages));
    detail("memory of the process at most %s", size_text((double)peak_memory_bytes(), memory));
    sheaf_reader_get_stats(NULL, &traffic, sizeof(traffic));
    if (traffic.requests > 0)
        detail("%" PRIu64 " HTTP request%s, %" PRIu64 " of them repeated", traffic.requests,
               plural(traffic.requests), traffic.retries);
}
