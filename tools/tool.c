/* SPDX-License-Identifier: MIT
 *
 * Prints the messages of the command, and finds a name that the user may have meant when a name is
 * unknown. */
#include "tools/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/advice.h"
#include "tools/progress.h"
#include "tools/verbosity.h"

#define NAME_LIMIT 32   /* longer names are not compared */
#define LINE_ROOM  8192

static char last[LINE_ROOM];

const char *command_name = "";
struct verbosity verbosity;

const char *last_complaint(void)
{
    return last;
}

/* Prints a message as one line, and copies the printed text to `line`. */
static void print_line(char line[LINE_ROOM], const char *format, va_list arguments)
{
    char text[LINE_ROOM];

    vsnprintf(text, sizeof(text), format, arguments);
    (void)sheaf_show(text, line, LINE_ROOM);
    progress_clear();
    /* Flushes standard output before the message is printed on standard error. Otherwise the lines
     * could be in the wrong order if both are written to the same file. */
    fflush(stdout);
    fprintf(stderr, "sheaf: %s\n", line);
}

const char *shown(const char *text)
{
    static char *places[4];
    static unsigned next;
    char **place = &places[next++ % 4];
    const size_t size = sheaf_show(text, NULL, 0) + 1;

    free(*place);
    *place = malloc(size);
    if (*place == NULL)
        return "?";
    (void)sheaf_show(text, *place, size);
    return *place;
}

void complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(last, format, arguments);
    va_end(arguments);
}

void say_v(const char *format, va_list arguments)
{
    char line[LINE_ROOM];

    if (!is_quiet())
        print_line(line, format, arguments);
}

void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say_v(format, arguments);
    va_end(arguments);
}

int misuse(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(last, format, arguments);
    va_end(arguments);
    return STATUS_MISUSE;
}

static int fail_as(const char *command, const struct sheaf_error *error)
{
    const char *advice = advice_of(command, error);

    complain("%s%s%s", error->message[0] ? error->message : sheaf_strerror(error->code),
             advice == NULL ? "" : "; ", advice == NULL ? "" : advice);
    return STATUS_FAILURE;
}

int fail(const struct sheaf_error *error)
{
    return fail_as(command_name, error);
}

int fail_file(const char *path)
{
    if (errno == ENOENT && strstr(path, "://") != NULL)
        complain("%s: is a URL, expected a file on this machine", path);
    else
        complain("%s: %s", path, strerror(errno));
    return STATUS_FAILURE;
}

void say_copies(const struct sheaf_dataset *dataset)
{
    struct sheaf_source_info source;

    for (size_t i = 0; sheaf_dataset_source(dataset, i, &source, sizeof(source)) == SHEAF_OK; i++)
        if (source.same_as != NULL)
            say("%s: seems to hold the samples of %s once more (their manifests have the same "
                "origin, or as many samples of as many bytes): each of them comes twice",
                source.url, source.same_as);
}

void say_uncached(const struct sheaf_reader_stats *stats)
{
    if (stats->uncached_objects > 0)
        say("%" PRIu64 " object%s not cached: the server gives no strong ETag",
            stats->uncached_objects, stats->uncached_objects == 1 ? " was" : "s were");
}

int place_sample(const struct sheaf_dataset *dataset, const struct sheaf_sample *sample,
                 struct sheaf_error *error)
{
    struct sheaf_shard_info shard;
    struct sheaf_error found = *error;

    if (sheaf_dataset_shard(dataset, sample->shard, &shard, sizeof(shard)) == SHEAF_OK)
        snprintf(error->message, sizeof(error->message), "%.300s: record %" PRIu64 ": %.600s",
                 shard.name, sample->record, found.message);
    return error->code;
}

void say_passed_over(uint64_t members, uint64_t samples)
{
    if (members > 0)
        say("%s%" PRIu64 " tar member%s passed over: links, devices, directories, names "
            "without key or suffix", samples == 0 ? "no sample was found: " : "", members,
            members == 1 ? " was" : "s were");
}

void say_labels(const struct sheaf_verify_result *r)
{
    if (r->labelled != 0 && r->unlabelled[0] != '\0')
        say("labels: %" PRIu64 " of %" PRIu64 " sample%s; the first without: %s", r->labelled,
            r->samples, plural(r->samples), r->unlabelled);
    if (r->unread_labels != 0)
        say("%" PRIu64 " sample%s with a field cls that is not numbers, and so without a "
            "label%s%s", r->unread_labels, plural(r->unread_labels),
            r->labelled == 0 ? "; the first without: " : "",
            r->labelled == 0 ? r->unlabelled : "");
}

void say_repeated_keys(uint64_t samples, const char *first, bool is_complete)
{
    const bool is_named = first != NULL && first[0] != '\0';

    if (samples > 0)
        say("%" PRIu64 " sample%s the key of an earlier one%s%s%s: if the files of a sample do not "
            "lie side by side in a tar, sheaf convert --join puts them together", samples,
            samples == 1 ? " has" : "s have", is_named ? "; the first: " : "",
            is_named ? shown(first) : "",
            is_complete ? "" : " (without an index, only keys of the same tar are compared; sheaf "
                               "verify compares the keys of all shards)");
}

void say_left_out(const struct sheaf_reader_stats *stats)
{
    /* Losses are reported even with --quiet. */
    if (stats->corrupt > 0)
        complain("%" PRIu64 " corrupt record%s skipped", stats->corrupt,
                 plural(stats->corrupt));
    if (stats->lost_bytes > 0)
        complain("%" PRIu64 " byte%s behind damage, up to the ends of their shards, could not be "
                 "read: the number of samples in them is unknown", stats->lost_bytes,
                 plural(stats->lost_bytes));
    say_passed_over(stats->passed_over, stats->samples);
    say_repeated_keys(stats->repeated_keys, NULL, false);
}

int refuse_as(const char *command, const struct sheaf_error *error)
{
    const int status = fail_as(command, error);

    return error->code == SHEAF_ERR_ARGUMENT ? STATUS_MISUSE : status;
}

int refuse(const struct sheaf_error *error)
{
    return refuse_as(command_name, error);
}

void report_skipped(void *context, const char *where, const struct sheaf_error *error)
{
    const size_t length = strlen(where);

    (void)context;
    /* Most messages already begin with the place. */
    if (strncmp(error->message, where, length) == 0)
        say("skipped: %s", error->message);
    else
        say("skipped: %s: %s", where, error->message);
}

/* Returns the Levenshtein distance of two texts: the least number of characters to insert, delete
 * or replace to get from one text to the other. */
static size_t distance(const char *a, const char *b)
{
    const size_t a_size = strlen(a), b_size = strlen(b);
    size_t row[NAME_LIMIT + 1];

    if (a_size > NAME_LIMIT || b_size > NAME_LIMIT)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 0; i < a_size; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < b_size; j++) {
            size_t best = diagonal + (a[i] != b[j]);

            if (best > row[j] + 1)
                best = row[j] + 1;
            if (best > row[j + 1] + 1)
                best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[b_size];
}

const char *nearest(const char *name, const void *names, size_t count, size_t stride)
{
    const char *found = NULL;
    size_t least = 3;       /* a typing error changes at most two characters */

    for (size_t i = 0; i < count; i++) {
        const char *candidate;
        size_t d;

        memcpy(&candidate, (const char *)names + i * stride, sizeof(candidate));
        d = distance(name, candidate);
        if (d < least && d < strlen(candidate)) {
            least = d;
            found = candidate;
        }
    }
    return found;
}
