/* SPDX-License-Identifier: MIT
 *
 * Writes the metrics file; see metrics.h. If the file cannot be replaced while the command runs,
 * one error message is printed, and the command goes on. */
#include "tools/metrics.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/progress.h"
#include "tools/replace.h"

#define STAGES_MOST 8u
#define TOTALS_MOST 8u
#define INTERVAL_SECONDS 1.0

static struct {
    const char *path;           /* NULL: none is kept */
    char labels[1200];          /* of every metric: command, dataset and job */
    double started, next;
    struct sheaf_progress stages[STAGES_MOST];
    size_t stage_count;
    struct sheaf_reader_stats reader;
    struct { const char *name; uint64_t value; } totals[TOTALS_MOST];
    size_t total_count;
    bool has_reader, has_failed;
} state;

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Appends NAME="VALUE" to the labels of the metrics. Escapes the value as Prometheus' text format
 * requires, and truncates a long value. */
static void metrics_put_label(const char *name, const char *value, size_t size)
{
    const size_t room = sizeof(state.labels) - 3, most = strlen(state.labels) + 500;
    size_t used = strlen(state.labels);

    used += (size_t)snprintf(state.labels + used, room - used, "%s%s=\"", used == 0 ? "" : ",",
                             name);
    for (size_t i = 0; i < size && used < most && used < room - 2; i++) {
        if (value[i] == '\n' || value[i] == '"' || value[i] == '\\')
            state.labels[used++] = '\\';
        state.labels[used++] = value[i] == '\n' ? 'n' : value[i];
    }
    state.labels[used++] = '"';
    state.labels[used] = '\0';
}

/* Returns the value of the label "job". It is the value of the variable SHEAF_JOB, if the variable
 * is set. Otherwise it is the name of the metrics file, because this name differs between the
 * commands that write metrics to one directory. */
static const char *job_name(const char *path, size_t *size)
{
    const char *job = getenv("SHEAF_JOB"), *slash = strrchr(path, '/');

    if (job == NULL || job[0] == '\0') {
        job = slash == NULL ? path : slash + 1;
        *size = strcspn(job + (job[0] == '.'), ".") + (job[0] == '.');
    } else {
        *size = strlen(job);
    }
    return job;
}

/* Appends the label with the name of the data set. If the name is a URL, leaves out its user and
 * its query, because they may be secrets. */
static void put_dataset(const char *dataset)
{
    const char *rest = strstr(dataset, "://"), *at = NULL;
    const size_t scheme = rest == NULL ? 0 : (size_t)(rest + 3 - dataset);
    char text[500];

    if (rest != NULL)
        at = memchr(rest + 3, '@', strcspn(rest + 3, "/?#"));
    snprintf(text, sizeof(text), "%.*s%s", (int)scheme, dataset,
             at != NULL ? at + 1 : dataset + scheme);
    metrics_put_label("dataset", text, rest == NULL ? strlen(text) : strcspn(text, "?#"));
}

static void set_labels(const char *path, const char *dataset)
{
    size_t size;
    const char *job = job_name(path, &size);

    state.labels[0] = '\0';
    metrics_put_label("command", command_name, strlen(command_name));
    put_dataset(dataset);
    metrics_put_label("job", job, size);
}

/* ---- The text -------------------------------------------------------------------------------- */

static void metrics_put(FILE *f, const char *name, const char *type, uint64_t value)
{
    fprintf(f, "# TYPE sheaf_%s %s\nsheaf_%s{%s} %" PRIu64 "\n", name, type, name, state.labels,
            value);
}

static void put_stages(FILE *f, const char *name, size_t offset)
{
    if (state.stage_count != 0)
        fprintf(f, "# TYPE sheaf_stage_%s gauge\n", name);
    for (size_t i = 0; i < state.stage_count; i++)
        fprintf(f, "sheaf_stage_%s{%s,stage=\"%s\"} %" PRIu64 "\n", name, state.labels,
                state.stages[i].stage,
                *(const uint64_t *)(const void *)((const char *)&state.stages[i] + offset));
}

/* Writes the reader's counts to the metrics file, with the names that reader.stats() in Python
 * uses. */
static void put_reader(FILE *f)
{
    const struct sheaf_reader_stats *s = &state.reader;
    const struct { const char *name; uint64_t value; } counters[] = {
        { "samples", s->samples }, { "payload_bytes", s->payload_bytes },
        { "read_bytes", s->read_bytes }, { "chosen_bytes", s->chosen_bytes },
        { "cached_bytes", s->cached_bytes }, { "uncached_objects", s->uncached_objects },
        { "corrupt", s->corrupt }, { "passed_over", s->passed_over },
        { "lost_bytes", s->lost_bytes }, { "repeated", s->repeated }, { "stall_ns", s->stall_ns },
    };

    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        metrics_put(f, counters[i].name, "counter", counters[i].value);
    metrics_put(f, "memory_bytes", "gauge", s->memory_bytes);
    metrics_put(f, "memory_peak_bytes", "gauge", s->memory_peak_bytes);
}

static void put_all(FILE *f, int status)
{
    struct sheaf_reader_stats traffic;

    sheaf_reader_get_stats(NULL, &traffic, sizeof(traffic));
    metrics_put(f, "running", "gauge", status < 0);
    if (status >= 0)
        metrics_put(f, "exit_status", "gauge", (uint64_t)status);
    fprintf(f, "# TYPE sheaf_seconds gauge\nsheaf_seconds{%s} %.3f\n", state.labels,
            seconds_now() - state.started);
    put_stages(f, "bytes", offsetof(struct sheaf_progress, done_bytes));
    put_stages(f, "expected_bytes", offsetof(struct sheaf_progress, total_bytes));
    put_stages(f, "count", offsetof(struct sheaf_progress, done_count));
    put_stages(f, "expected_count", offsetof(struct sheaf_progress, total_count));
    if (state.has_reader)
        put_reader(f);
    for (size_t i = 0; i < state.total_count; i++)
        metrics_put(f, state.totals[i].name, "counter", state.totals[i].value);
    metrics_put(f, "requests", "counter", traffic.requests);
    metrics_put(f, "retries", "counter", traffic.retries);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Writes the metrics file. `status` is the exit status of the command, or -1 while the command is
 * still running. */
static int metrics_write_file(int status)
{
    struct replacement file;
    int result;

    state.next = seconds_now() + INTERVAL_SECONDS;
    result = replace_begin(&file, state.path, state.has_failed);
    if (result == STATUS_OK) {
        put_all(file.file, status);
        file.is_volatile = true;
        result = replace_end(&file);
    }
    state.has_failed |= result != STATUS_OK;
    return result;
}

static void note_progress(void *context, const struct sheaf_progress *p)
{
    size_t i = 0;

    (void)context;
    while (i < state.stage_count && state.stages[i].stage != p->stage)
        i++;
    if (i == STAGES_MOST)
        return;
    state.stages[i] = *p;
    state.stage_count += i == state.stage_count;
    if (seconds_now() >= state.next)
        (void)metrics_write_file(-1);
}

int metrics_begin(const char *path, const char *dataset)
{
    int status = path == NULL ? -1 : replace_check(path, "a file of metrics of sheaf", "sheaf_");

    if (path == NULL || status >= 0)
        return status;
    state.path = path;
    set_labels(path, dataset);
    state.started = seconds_now();
    progress_also = note_progress;
    status = metrics_write_file(-1);
    if (status == STATUS_OK)
        return -1;
    progress_also = NULL;
    state.path = NULL;
    return status;
}

int metrics_refuse_in(const char *path, char *const *sources, size_t count)
{
    char *copy = path == NULL ? NULL : strdup(path);
    char *place = copy == NULL ? NULL : realpath(dirname(copy), NULL);
    int status = -1;

    for (size_t i = 0; i < count && place != NULL && status < 0; i++) {
        char *source = realpath(sources[i], NULL);
        const size_t size = source == NULL || source[1] == '\0' ? 0 : strlen(source);

        if (source != NULL && strncmp(place, source, size) == 0 &&
            (place[size] == '/' || place[size] == '\0'))
            status = misuse("%s: is inside the source %s: choose a place outside", path,
                            sources[i]);
        free(source);
    }
    free(place);
    free(copy);
    return status;
}

void metrics_reader(const struct sheaf_reader *reader, bool last)
{
    if (state.path == NULL || reader == NULL || (!last && seconds_now() < state.next))
        return;
    sheaf_reader_get_stats(reader, &state.reader, sizeof(state.reader));
    state.has_reader = true;
    if (!last)
        (void)metrics_write_file(-1);
}

void metrics_total(const char *name, uint64_t value)
{
    if (state.total_count == TOTALS_MOST)
        return;
    state.totals[state.total_count].name = name;
    state.totals[state.total_count++].value = value;
}

void metrics_end(int status)
{
    progress_also = NULL;
    if (state.path != NULL)
        (void)metrics_write_file(status);
    state.path = NULL;
}
