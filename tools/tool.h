/* SPDX-License-Identifier: MIT
 *
 * Declarations that all subcommands of `sheaf` share: the description of a subcommand, and
 * functions that print messages.
 *
 * A subcommand is one file, cmd_NAME.c, which uses the library only through sheaf.h. It prints
 * results on standard output. Everything else goes to standard error, where each line begins with
 * "sheaf: ". The exit status is 0 for success, 1 for a failure, and 2 for wrong usage. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

enum { STATUS_OK = 0, STATUS_FAILURE = 1, STATUS_MISUSE = 2 };

struct command {
    const char *name;
    const char *arguments;      /* as in the usage line: "SRC DEST --format NAME" */
    size_t least, most;         /* arguments that are not options */
    const char *summary;        /* one line for `sheaf --help` */
    const char *text;           /* description for its own --help, one or two paragraphs */
    const char *example;        /* examples: lines, each with its line feed */
    int (*run)(const struct command *command, int argc, char **argv);   /* exit status */
};

extern const struct command append_command, edit_command, repair_command, pack_command,
                            cat_command, info_command, verify_command,
                            index_command, unpack_command, convert_command, plan_command,
                            commit_command, fetch_command, pipe_command, advise_command,
                            get_command, locate_command, view_command, report_command,
                            column_command;

/* The running command, set by options_parse. */
extern const char *command_name;

/* Prints the error "sheaf: <message>" on standard error. If a progress line is shown, removes it
 * first. Errors are printed even with --quiet. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a note, "sheaf: <note>", on standard error, unless the user gave --quiet. A note is
 * information for the user and not an error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_v(const char *format, va_list arguments);

/* Prints a note if several sources of the data set contain the same samples. */
void say_copies(const struct sheaf_dataset *dataset);

/* Prints a note with the number of objects that the reader could not store in its cache, or nothing
 * if this number is 0. */
void say_uncached(const struct sheaf_reader_stats *stats);

/* Returns a copy of a text from outside, such as a file name, in a form that is safe to print (see
 * sheaf_show). The copy is valid until the fourth following call. */
const char *shown(const char *text);

/* Returns the last message that complain() has printed, without "sheaf: ". Returns "" if there was
 * no message. */
const char *last_complaint(void);

/* Complains; STATUS_MISUSE. */
int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains about a failed call. Returns STATUS_FAILURE. */
int fail(const struct sheaf_error *error);

/* Complains about errno at a local file. Returns STATUS_FAILURE. */
int fail_file(const char *path);

/* Puts the shard and the record number of the sample before the error message. Returns the code of
 * the error. */
int place_sample(const struct sheaf_dataset *dataset, const struct sheaf_sample *sample,
                 struct sheaf_error *error);

/* Prints how many records the reader has skipped as corrupt, and how many members of tars belong to
 * no sample. Called when the command has finished reading. */
void say_left_out(const struct sheaf_reader_stats *stats);
void say_passed_over(uint64_t members, uint64_t samples);
/* Prints how many samples have a label, if only some have one, and how many have none because of
 * their field cls. */
void say_labels(const struct sheaf_verify_result *result);
/* Prints how many samples have the same key as an earlier sample, or nothing if this number is 0.
 * `first` describes the first of these samples, or is NULL or "". `is_complete` is false if only
 * the keys of each tar may have been compared, and not the keys of different tars. */
void say_repeated_keys(uint64_t samples, const char *first, bool is_complete);

/* Prints the error of a failed library call to which the user's options were passed. Returns
 * STATUS_MISUSE if the options were invalid, and otherwise STATUS_FAILURE. */
int refuse(const struct sheaf_error *error);
/* Works like refuse(), but with the advice for `command`, a name in the table of tools/advice.c. */
int refuse_as(const char *command, const struct sheaf_error *error);

/* Prints one line about a skipped file or record. A function of the type sheaf_report_fn. */
void report_skipped(void *context, const char *where, const struct sheaf_error *error);

/* "1 file", "2 files": printf("%d file%s", n, plural(n)). */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Returns the name among `names` that is most similar to the mistyped `name`, or NULL if no name is
 * similar enough. The pointers to the names are `stride` bytes apart, so they may be the first
 * members of structs in an array. */
const char *nearest(const char *name, const void *names, size_t count, size_t stride);

#endif
