/* SPDX-License-Identifier: MIT
 *
 * Options as a table.  A subcommand lists its options once: name, argument, meaning, unit; the
 * default is what the variable holds before parsing, so it is the library's own.  Parsing and
 * --help follow from the table.
 *
 * `--name VALUE` and `--name=VALUE` are the same; options and arguments may be mixed; `--` ends
 * the options; `-` is an argument.  Of an option given twice the last counts. */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

enum option_kind {
    OPTION_FLAG,        /* no value; stores 1 */
    OPTION_TEXT,
    OPTION_NUMBER,      /* decimal, from least to most */
    OPTION_SIZE,        /* bytes, or with kB MB GB TB (1000) or KiB MiB GiB TiB (1024) after it */
    OPTION_CHOICE,      /* one of a few words */
};

struct choice {
    const char *name;   /* NULL ends the list */
    int value;
};

struct option {
    const char *name;               /* without the dashes; NULL ends the table */
    enum option_kind kind;
    const char *argument;           /* what --help calls the value; NULL for a flag */
    char letter;                    /* -LETTER VALUE is the same; 0: there is none */
    union {                         /* where the value goes, by kind */
        int *flag;
        const char **text;
        uint64_t *number;           /* also of a size */
        int *choice;
    };
    bool *given;                    /* set when it is given; NULL: that is of no interest */
    uint64_t least, most;           /* of a number or size; most 0: no limit */
    const struct choice *choices;
    const char *meaning;
    const char *unit;               /* of the default, where --help shows one */
    const char *standard;           /* the default in words; NULL: the variable's value;
                                       "": not worth telling */
};

extern const struct choice container_choices[], on_error_choices[];

/* Those that the library has, and the row of an option for them; a pointer to an int. */
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

/* The local cache of remote shards; `reader`: a pointer to a struct sheaf_reader_options. */
#define CACHE_ROWS(reader)                                                                      \
    { "cache", OPTION_TEXT, "DIR", .text = &(reader)->cache_directory, .standard = "none",      \
      .meaning = "local cache for remote shards" },                                             \
    { "cache-size", OPTION_SIZE, "SIZE", .number = &(reader)->cache_bytes,                      \
      .meaning = "size limit of the cache; the least recently used shards are removed first" }

/* Parses argv[1..].  Returns -1 to continue, with the arguments that are not options moved to
 * argv[0..*count-1]; or the status to exit with: --help was printed, or misuse complained of. */
int options_parse(const struct command *command, const struct option *options, int argc,
                  char **argv, size_t *count);

#endif
