/* SPDX-License-Identifier: MIT
 *
 * The table of a subcommand's options, from which options.c parses and help.c prints --help. */
#ifndef TOOLS_OPTION_TABLE_H
#define TOOLS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

enum option_kind {
    OPTION_FLAG,        /* no value; stores 1 */
    OPTION_TEXT,
    OPTION_TEXTS,       /* it may be given more than once, among others with the same texts */
    OPTION_NUMBER,      /* decimal, from least to most */
    OPTION_SIZE,        /* bytes, or with kB MB GB TB (1000) or KiB MiB GiB TiB (1024) after it */
    OPTION_CHOICE,      /* one of a few words */
};

#define OPTION_TEXTS_MOST 256u

struct option_texts {
    const char *texts[OPTION_TEXTS_MOST + 1];   /* with a NULL behind the last one */
    const char *names[OPTION_TEXTS_MOST];       /* of the options that they are of */
    size_t count;
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
        struct option_texts *texts;
        uint64_t *number;           /* also of a size */
        int *choice;
    };
    bool *given;                    /* set when it is given; NULL: that is of no interest */
    uint64_t least, most;           /* of a number or size; most 0: no limit */
    const struct choice *choices;
    int (*choice_of)(const char *alias);    /* the value of a name that is not listed, or -1; NULL:
                                               there are none */
    const char *meaning;
    const char *unit;               /* of the default, where --help shows one */
    const char *standard;           /* the default in words; NULL: the variable's value;
                                       "": not worth telling */
};

#endif
