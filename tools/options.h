/* SPDX-License-Identifier: MIT
 *
 * Options as a table.  A subcommand lists its options once: name, argument, meaning, unit; the
 * default is what the variable holds before parsing, so it is the library's own.  Parsing and
 * --help follow from the table.
 *
 * `--name VALUE` and `--name=VALUE` are the same; options and arguments may be mixed; `--` ends
 * the options; `-` is an argument.  Of an option given twice the last counts.
 *
 * --help, --quiet and --verbose belong to every command, and are in no table of one. */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include "tools/option_table.h"

extern const struct choice on_error_choices[];

/* Those that the library has, and the row of an option for them; a pointer to an int. */
const struct choice *container_choices(void);
const char *container_names(void);      /* "tfrecord, recordio or webdataset" */
/* With text around them; until the next call. */
const char *container_meaning(const char *before, const char *behind);
#define CONTAINER_ROW(container)                                                                \
    { "format", OPTION_CHOICE, "NAME", .choice = (container), .choices = container_choices(),   \
      .choice_of = sheaf_container_of,                                                          \
      .meaning = container_meaning("container", " (required)") }

/* The same of codecs. */
const struct choice *codec_choices(void);
const char *codec_meaning(void);
#define CODEC_ROW(codec)                                                                        \
    { "codec", OPTION_CHOICE, "NAME", .choice = (codec), .choices = codec_choices(),            \
      .meaning = codec_meaning() }

/* What becomes of bad records; pointers to an int and to a struct sheaf_reader_options. */
#define CORRUPT_ROWS(what, reader)                                                              \
    { "on-corrupt", OPTION_CHOICE, "WHAT", .choice = (what), .choices = on_error_choices,       \
      .meaning = "at a bad record: fail, or skip it with a line on standard error" },           \
    { "max-corrupt", OPTION_NUMBER, "N", .number = &(reader)->max_corrupt,                      \
      .standard = "no limit", .meaning = "with skip: fail at the first bad record after N" }

/* `threads`: a uint64_t. */
#define THREADS_ROW(threads, what)                                                              \
    { "threads", OPTION_NUMBER, "N", .number = (threads), .most = 1024,                         \
      .standard = "one per processor, at most 8", .meaning = (what) }

/* The local cache of remote shards; `reader`: a pointer to a struct sheaf_reader_options. */
#define CACHE_ROWS(reader)                                                                      \
    { "cache", OPTION_TEXT, "DIR", .text = &(reader)->cache_directory, .standard = "none",      \
      .meaning = "local cache for remote shards" },                                             \
    { "cache-size", OPTION_SIZE, "SIZE", .number = &(reader)->cache_bytes,                      \
      .meaning = "size limit of the cache; the least recently used shards are removed first" }

/* Settings of S3's requests; a pointer to a struct option_texts. */
const char *s3_meaning(void);
#define S3_ROW(given)                                                                           \
    { "s3", OPTION_TEXTS, "NAME=VALUE", .texts = (given), .meaning = s3_meaning() }

/* Parses argv[1..].  Returns -1 to continue, with the arguments that are not options moved to
 * argv[0..*count-1]; or the status to exit with: --help was printed, or misuse complained of. */
int options_parse(const struct command *command, const struct option *options, int argc,
                  char **argv, size_t *count);

/* "150", "150MB" or "1.5MB"; false unless it is a whole number of bytes. */
bool options_size(const char *text, uint64_t *value);

#endif
