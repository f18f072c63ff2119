/* SPDX-License-Identifier: MIT
 *
 * Prints the help text of a command: its usage, a description, and the options in two columns. */
#include "tools/help.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/details.h"
#define COLUMNS      79
#define MEANING_AT   24     /* column where the meanings begin */

/* Prints the words of a text, beginning at column `at`, and wraps the lines at the right margin.
 * All lines except the first are indented by `indent` blanks. */
static void print_wrapped(const char *text, size_t at, size_t indent)
{
    size_t column = at;

    while (*text) {
        const size_t space = strspn(text, " ");
        const size_t word = strcspn(text + space, " \n");

        if (column > indent && column + space + word > COLUMNS) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else {
            printf("%.*s", (int)space, text);
            column += space;
        }
        printf("%.*s", (int)word, text + space);
        column += word;
        text += space + word;
        if (*text == '\n') {
            printf("\n%*s", text[1] && text[1] != '\n' ? (int)indent : 0, "");
            column = indent;
            text++;
        }
    }
    putchar('\n');
}

/* Writes a size in the largest unit that divides it: "150MB" for 150000000, "512MiB" for
 * 536870912. */
static void size_text(uint64_t bytes, char *text, size_t size)
{
    static const struct { const char *name; uint64_t bytes; } units[] = {
        { "TiB", 1ull << 40 }, { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 },
        { "GB", 1000000000 }, { "MB", 1000000 }, { "", 1 },
    };
    size_t i = 0;

    while (bytes % units[i].bytes != 0)
        i++;
    snprintf(text, size, "%" PRIu64 "%s", bytes / units[i].bytes, units[i].name);
}

static void default_text(const struct option *option, char *text, size_t size)
{
    text[0] = '\0';
    if (option->standard) {
        snprintf(text, size, "%s", option->standard);
    } else if (option->kind == OPTION_TEXT && *option->text) {
        snprintf(text, size, "%s", *option->text);
    } else if (option->kind == OPTION_NUMBER) {
        snprintf(text, size, "%" PRIu64 "%s%s", *option->number, option->unit ? " " : "",
                 option->unit ? option->unit : "");
    } else if (option->kind == OPTION_COUNT) {
        snprintf(text, size, "%u", *option->count);
    } else if (option->kind == OPTION_SIZE) {
        size_text(*option->number, text, size);
    } else if (option->kind == OPTION_CHOICE) {
        for (const struct choice *c = option->choices; c->name; c++) {
            if (c->value == *option->choice)
                snprintf(text, size, "%s", c->name);
        }
    }
}

static void print_option(const struct option *option)
{
    char standard[100], text[600];
    int column = printf("  --%s%s%s", option->name, option->argument ? " " : "",
                        option->argument ? option->argument : "");

    if (option->letter)
        column += printf(", -%c %s", option->letter, option->argument);
    if (column > MEANING_AT - 2) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", MEANING_AT - column, "");
    default_text(option, standard, sizeof(standard));
    snprintf(text, sizeof(text), "%s%s%s%s", option->meaning, standard[0] ? " (default: " : "",
             standard, standard[0] ? ")" : "");
    print_wrapped(text, MEANING_AT, MEANING_AT);
}

void help_print(const struct command *command, const struct option *options)
{
    int sizes = 0;

    printf("Usage: sheaf %s ", command->name);
    print_wrapped(command->arguments, 13 + strlen(command->name), 13 + strlen(command->name));
    putchar('\n');
    print_wrapped(command->text, 0, 0);
    printf("\nOptions:\n");
    for (const struct option *o = options; o->name; o++) {
        print_option(o);
        sizes |= o->kind == OPTION_SIZE;
    }
    for (const struct option *o = verbosity_options; o->name; o++)
        print_option(o);
    printf("  --help%*sprint this text\n", MEANING_AT - 8, "");
    if (sizes)
        printf("\nA SIZE is a number of bytes, or has kB, MB, GB, TB (powers of 1000) or KiB,\n"
               "MiB, GiB, TiB (powers of 1024) after it.\n");
    printf("\nExample:\n%s", command->example);
    printf("\nThe manual page sheaf-%s(1) says more.\n", command->name);
}
