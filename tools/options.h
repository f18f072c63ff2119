/* SPDX-License-Identifier: MIT
 *
 * Parses the options of a command with a table. The table lists each option with its name,
 * argument, meaning and unit. --help prints the same table. The default of an option is the value
 * that its variable has before parsing. So the defaults of the library are used.
 *
 * `--name VALUE` and `--name=VALUE` are the same. Options and arguments may be mixed. `--` ends the
 * options. `-` is an argument. If an option is given twice, the last one counts.
 *
 * Every command has --help, --quiet and --verbose, although its table does not list them. */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include "tools/option_table.h"

/* Makes an int pointer to a member that is an enum, because an option of the kind OPTION_CHOICE
 * stores its value through an int pointer. */
#define CHOICE_IN(member) ((int *)&(member))

extern const struct choice on_error_choices[];

/* Returns the names of the containers (such as "tfrecord") as the choices for an option. */
const struct choice *container_choices(void);
const char *container_names(void);      /* "tfrecord, recordio or webdataset" */
/* Returns one text for --help: `before`, then the list of the containers' names, then `behind`. The
 * text is valid until the next call. */
const char *container_meaning(const char *before, const char *behind);
#define CONTAINER_ROW(options, is_given)                                                        \
    { "format", OPTION_CHOICE, "NAME", .choice = CHOICE_IN((options)->container),               \
      .given = (is_given), .standard = "",                                                      \
      .choices = container_choices(), .choice_of = sheaf_container_of,                          \
      .meaning = container_meaning("container", " (required)") }

/* The library's codecs, in the same way. */
const struct choice *codec_choices(void);
const char *codec_meaning(void);
#define CODEC_ROW(options)                                                                      \
    { "codec", OPTION_CHOICE, "NAME", .choice = CHOICE_IN((options)->codec),                    \
      .choices = codec_choices(), .meaning = codec_meaning() }

/* Rows of a command's table of options: the options that say what the command does when it reads a
 * bad record. `reader` is a pointer to a struct sheaf_reader_options. The values of the options are
 * stored in this struct. */
#define CORRUPT_ROWS(reader)                                                                    \
    { "on-corrupt", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN((reader)->on_corrupt),           \
      .choices = on_error_choices,                                                              \
      .meaning = "at a bad record: fail, or skip it with a line on standard error" },           \
    { "max-corrupt", OPTION_NUMBER, "N", .number = &(reader)->max_corrupt,                      \
      .needs = "--on-corrupt skip", .standard = "no limit",                                     \
      .meaning = "with skip: fail at the first bad record after N" }

/* The words that the option --duplicate-keys accepts. They say what happens to a sample if an
 * earlier sample has the same key. */
extern const struct choice duplicate_keys_choices[];
#define DUPLICATE_KEYS_ROW(options)                                                             \
    { "duplicate-keys", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN((options)->duplicate_keys),  \
      .choices = duplicate_keys_choices,                                                        \
      .meaning = "at a sample whose key an earlier sample has: fail, give it a free key such "  \
                 "as KEY-2, or leave it out" }

#define THREADS_ROW(options, what)                                                              \
    { "threads", OPTION_COUNT, "N", .count = &(options)->threads,                               \
      .most = SHEAF_THREADS_MOST, .standard = "one per processor, at most 8", .meaning = (what) }
#define JOBS_ROW(options, what)                                                                 \
    { "jobs", OPTION_COUNT, "N", .letter = 'j', .count = &(options)->jobs,                      \
      .most = SHEAF_THREADS_MOST, .standard = "one per processor, at most 8", .meaning = (what) }
#define MEMORY_ROW(options, what)                                                               \
    { "memory", OPTION_SIZE, "SIZE", .number = &(options)->memory_bytes, .meaning = (what) }

/* Rows of a command's table of options: the options for the local cache of remote shards. `reader`
 * is a pointer to a struct sheaf_reader_options, in which the values are stored. */
#define CACHE_ROWS(reader)                                                                      \
    { "cache", OPTION_TEXT, "DIR", .text = &(reader)->cache_directory, .standard = "none",      \
      .meaning = "local cache for remote shards" },                                             \
    { "cache-size", OPTION_SIZE, "SIZE", .number = &(reader)->cache_bytes, .needs = "--cache",  \
      .meaning = "size limit of the cache; the least recently used shards are removed first" }

/* Returns the help text of the option --s3, which sets headers of requests to S3. S3_ROW(given)
 * makes the row of this option. The values of the option are stored in `given`, a pointer to a
 * struct option_texts. */
const char *s3_meaning(void);
#define S3_ROW(given)                                                                           \
    { "s3", OPTION_TEXTS, "NAME=VALUE", .texts = (given), .meaning = s3_meaning() }

/* Parses the command line and stores the values of options. Returns -1 if the command should
 * continue. The arguments that are not options are then in argv[0] to argv[*count-1]. Otherwise the
 * function has printed --help or an error message, and returns the exit status. */
int options_parse(const struct command *command, const struct option *options, int argc,
                  char **argv, size_t *count);

/* Checks a command line that has the option `name`. This option allows no arguments, and only
 * certain other options. `count` is the number of arguments that the user gave.
 *
 * Two texts are for the error message. `replaced` names the arguments that the option makes
 * unnecessary. `allowed` lists the options that may be used together with it.
 *
 * Returns -1 if the command line is valid. Otherwise prints the error and returns the exit
 * status. */
int options_only(const char *name, const char *replaced, size_t count, const char *allowed);

/* Refuses two options that exclude each other, if the user gave both. Otherwise returns -1. */
int options_exclude(const char *one, const char *other);

/* Checks that the user gave only options in the text `allowed`, such as "--json", which may be "".
 * Otherwise prints an error that begins with `what`, a part of the command line that leaves the
 * other options without effect. If `what` is an option, such as "--warm", it is allowed as well.
 * Returns -1 if the command line is valid, or the exit status. */
int options_allow(const char *what, const char *allowed);

/* Parses a size such as "150", "150MB" or "1.5MB". Returns false unless the text is a whole number
 * of bytes. */
bool options_size(const char *text, uint64_t *value);

/* ---- Columns that are read with the samples: `cat`, `convert` and `unpack` ------------------- */

#define COLUMN_NAMES_MOST 100u

struct column_options {
    const char *list;               /* "a,b"; NULL: none */
    int missing;
    /* copy of the user's list of columns, in which a NUL ends each name */
    char *text;
    const char *names[COLUMN_NAMES_MOST];
};

extern const struct choice missing_choices[];

/* Rows of a command's table of options: the options about columns. `columns` is a pointer to a
 * struct column_options, in which the values are stored. */
#define COLUMNS_ROWS(columns)                                                                   \
    { "columns", OPTION_TEXT, "NAMES", .text = &(columns)->list, .standard = "none",            \
      .meaning = "columns to read with the samples, separated by commas" },                     \
    { "missing", OPTION_CHOICE, "WHAT", .choice = &(columns)->missing,                          \
      .choices = missing_choices, .needs = "--columns",                                         \
      .meaning = "at a sample for which a column has no value: fail, skip the sample, or go on " \
                 "with none" }

/* Stores in the options of the reader the columns that the user wants. Returns -1 on success. On
 * failure, prints an error message and returns the exit status. */
int column_options_give(struct column_options *columns, struct sheaf_reader_options *reader);
void column_options_free(struct column_options *columns);

/* Reports the values that were missing. */
void say_missing(const struct column_options *columns, const struct sheaf_reader_stats *stats);

#endif
