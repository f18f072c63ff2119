/* SPDX-License-Identifier: MIT
 *
 * The table of a command's options. options.c uses it for parsing, and help.c for printing
 * --help. */
#ifndef TOOLS_OPTION_TABLE_H
#define TOOLS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

enum option_kind {
    OPTION_FLAG,        /* no value; stores 1 */
    OPTION_TEXT,
    /* a text that may be given repeatedly; several options may share the variable for their
     * texts */
    OPTION_TEXTS,
    OPTION_NUMBER,      /* decimal, from least to most */
    OPTION_COUNT,       /* like OPTION_NUMBER, stored in an unsigned int */
    /* a number of bytes, optionally followed by kB MB GB TB (1000) or KiB MiB GiB TiB (1024) */
    OPTION_SIZE,
    OPTION_CHOICE,      /* one of a few words */
};

#define OPTION_TEXTS_MOST 256u

struct option_texts {
    const char *texts[OPTION_TEXTS_MOST + 1];   /* ended by NULL */
    /* names[i] is the name of the option with which the user gave texts[i] */
    const char *names[OPTION_TEXTS_MOST];
    size_t count;
};

struct choice {
    const char *name;   /* NULL ends the list */
    int value;
};

struct option {
    const char *name;               /* without the dashes; NULL ends the table */
    enum option_kind kind;
    /* name of the option's value in --help; NULL for an option without a value */
    const char *argument;
    char letter;
    union {                         /* where the value is stored, by kind */
        int *flag;
        const char **text;
        struct option_texts *texts;
        uint64_t *number;           /* also of a size */
        unsigned *count;
        int *choice;
    };
    bool *given;                    /* set if the option is given; may be NULL */
    /* limits of a number or size; if `most` is 0, there is no upper limit */
    uint64_t least, most;
    const struct choice *choices;
    /* returns the value for a word that is not in `choices`, or -1 if there is no such value; may
     * be NULL */
    int (*choice_of)(const char *alias);
    const char *meaning;
    const char *unit;               /* unit of the default, where --help shows one */
    /* the default in words; NULL shows the value of the variable, "" shows nothing */
    const char *standard;
};

#endif
