/* SPDX-License-Identifier: MIT
 *
 * The table of the options of a command. options.c uses the table to parse the command line, and
 * help.c uses it to print --help. */
#ifndef TOOLS_OPTION_TABLE_H
#define TOOLS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

enum option_kind {
    OPTION_FLAG,        /* no value; stores 1 */
    OPTION_TEXT,
    /* a text; the option may be given several times, and several options may store their texts in
     * one struct option_texts */
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
    /* names[i] is the name of the option with which the user has given texts[i], such as
     * "include" */
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
    /* word that stands for the option's value in the output of --help, such as "FILE"; NULL for an
     * option without a value */
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
    /* Options of the table without which this option has no effect and is refused. NULL if this
     * option needs no others. "--plan" means that --plan must be given, "--on-corrupt skip" that
     * this option must have this value, and "--keys or --not-keys" that one of two options must be
     * given. An option with choices must be last, with its value. */
    const char *needs;
    /* smallest and largest allowed value of a number or size; if `most` is 0, there is no upper
     * limit */
    uint64_t least, most;
    const struct choice *choices;
    /* Returns the value for a word that is not in `choices`, such as another name of a container.
     * Returns -1 if the word is unknown. `choice_of` is NULL if only the words in `choices` are
     * allowed. */
    int (*choice_of)(const char *alias);
    const char *meaning;
    const char *unit;               /* unit of the default, where --help shows one */
    /* the default as a text for the output of --help; NULL if --help shows the value of the
     * variable; "" if --help shows no default */
    const char *standard;
};

#endif
