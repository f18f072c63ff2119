/* SPDX-License-Identifier: MIT
 *
 * The table of a subcommand's options. options.c parses by it, and help.c prints --help from it. */
#ifndef TOOLS_OPTION_TABLE_H
#define TOOLS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

enum option_kind {
    OPTION_FLAG,        /* no value; stores 1 */
    OPTION_TEXT,
    OPTION_TEXTS,       /* may be given repeatedly, also mixed with other options that share its
                           texts */
    OPTION_NUMBER,      /* decimal, from least to most */
    OPTION_SIZE,        /* bytes, optionally followed by kB MB GB TB (1000) or KiB MiB GiB TiB
                           (1024) */
    OPTION_CHOICE,      /* one of a few words */
};

#define OPTION_TEXTS_MOST 256u

struct option_texts {
    const char *texts[OPTION_TEXTS_MOST + 1];   /* ended by NULL */
    const char *names[OPTION_TEXTS_MOST];       /* name of the option that each text was given
                                                   with */
    size_t count;
};

struct choice {
    const char *name;   /* NULL ends the list */
    int value;
};

struct option {
    const char *name;               /* without the dashes; NULL ends the table */
    enum option_kind kind;
    const char *argument;           /* name of the value in --help; NULL for a flag */
    char letter;
    union {                         /* where the value is stored, by kind */
        int *flag;
        const char **text;
        struct option_texts *texts;
        uint64_t *number;           /* also of a size */
        int *choice;
    };
    bool *given;                    /* set if the option is given; may be NULL */
    uint64_t least, most;           /* limits of a number or size; `most` 0 means no limit */
    const struct choice *choices;
    int (*choice_of)(const char *alias);    /* returns the value of a name that is not listed, or
                                               -1; may be NULL */
    const char *meaning;
    const char *unit;               /* unit of the default, where --help shows one */
    const char *standard;           /* the default in words; NULL shows the variable's value, ""
                                       shows nothing */
};

#endif
