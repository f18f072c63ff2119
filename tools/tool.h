/* SPDX-License-Identifier: MIT
 *
 * What the subcommands of `sheaf` share: their description, and their messages.
 *
 * A subcommand is one file, cmd_NAME.c, that knows the library only through sheaf.h.  Results go
 * to standard output, everything else to standard error, where each line begins "sheaf: ".  Exit
 * status: 0, 1 for a failure, 2 for misuse. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

enum { STATUS_OK = 0, STATUS_FAILURE = 1, STATUS_MISUSE = 2 };

struct command {
    const char *name;
    const char *arguments;      /* as the usage line has them: "SRC DEST --format NAME" */
    size_t least, most;         /* arguments that are not options */
    const char *summary;        /* one line for `sheaf --help` */
    const char *text;           /* for its own --help: what it does, in a paragraph or two */
    const char *example;        /* and how it is typed: lines, each with its line feed */
    int (*run)(const struct command *command, int argc, char **argv);   /* exit status */
};

extern const struct command append_command, pack_command, cat_command, info_command, verify_command,
                            index_command, unpack_command, convert_command, plan_command,
                            commit_command, fetch_command, pipe_command, advise_command,
                            get_command, locate_command, view_command, report_command;

/* The command that runs: options_parse sets it. */
extern const char *command_name;

/* Prints "sheaf: <message>" on standard error, in place of a progress line if one is there: of an
 * error.  With --quiet, too. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same of a note: what is worth knowing and is no error.  Nothing with --quiet. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_v(const char *format, va_list arguments);

/* Says on standard error which of a data set's sources hold the same samples. */
void say_copies(const struct sheaf_dataset *dataset);

/* Says on standard error how many objects the reader could not cache, if there were any. */
void say_uncached(const struct sheaf_reader_stats *stats);

/* Text from outside as it may be printed for people: see sheaf_show.  Valid until the fourth call
 * after this one. */
const char *shown(const char *text);

/* What was complained of last, without "sheaf: "; "" at first. */
const char *last_complaint(void);

/* Complains; STATUS_MISUSE. */
int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains of a failed call; STATUS_FAILURE. */
int fail(const struct sheaf_error *error);

/* Complains of errno, at a file of this machine's; STATUS_FAILURE. */
int fail_file(const char *path);

/* Puts shard and record of a sample before a message about it.  Returns the error's code. */
int place_sample(const struct sheaf_dataset *dataset, const struct sheaf_sample *sample,
                 struct sheaf_error *error);

/* What a reader did not hand out, at its end: records that were skipped as corrupt, members of tars
 * that are no sample's. */
void say_left_out(const struct sheaf_reader_stats *stats);
void say_passed_over(uint64_t members, uint64_t samples);

/* Complains of a call that took options and could not begin: STATUS_MISUSE if they were wrong,
 * else STATUS_FAILURE. */
int refuse(const struct sheaf_error *error);

/* A sheaf_report_fn: one line for something passed over. */
void report_skipped(void *context, const char *where, const struct sheaf_error *error);

/* "1 file", "2 files": printf("%d file%s", n, plural(n)). */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The entry of `names` nearest to `name` if it is near enough to be a slip, else NULL.  Names are
 * read at `stride` bytes from each other, so that they may be the first members of structs. */
const char *nearest(const char *name, const void *names, size_t count, size_t stride);

#endif
