/* SPDX-License-Identifier: MIT
 *
 * Parses the options of every subcommand by its table. */
#include "tools/options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/details.h"
#include "tools/help.h"

const struct choice on_error_choices[] = {
    { "fail", SHEAF_FAIL }, { "skip", SHEAF_SKIP }, { NULL, 0 },
};

const struct choice duplicate_keys_choices[] = {
    { "fail", SHEAF_DUPLICATE_FAIL }, { "number", SHEAF_DUPLICATE_NUMBER },
    { "drop", SHEAF_DUPLICATE_DROP }, { NULL, 0 },
};

#define GIVEN_MOST      100     /* options in a table */
#define CONTAINERS_MOST 15
#define CODECS_MOST     15

const struct choice *container_choices(void)
{
    static struct choice choices[CONTAINERS_MOST + 1];

    for (int i = 0; i < CONTAINERS_MOST; i++) {
        const char *name = sheaf_container_name((enum sheaf_container)(i + 1));

        if (name == NULL)
            break;
        choices[i] = (struct choice){ name, i + 1 };
    }
    return choices;
}

const struct choice *codec_choices(void)
{
    static struct choice choices[CODECS_MOST + 1];

    for (int i = 0; i < CODECS_MOST && sheaf_codec_name((enum sheaf_codec)i) != NULL; i++)
        choices[i] = (struct choice){ sheaf_codec_name((enum sheaf_codec)i), i };
    return choices;
}

/* "none, gzip or lz4". */
static void list_choices(const struct choice *choices, char *list, size_t room)
{
    size_t size = 0;

    for (const struct choice *c = choices; c->name && size < room; c++)
        size += (size_t)snprintf(list + size, room - size, "%s%s",
                                 c == choices ? "" : c[1].name ? ", " : " or ", c->name);
}

const char *container_names(void)
{
    static char names[200];

    list_choices(container_choices(), names, sizeof(names));
    return names;
}

const char *container_meaning(const char *before, const char *behind)
{
    static char meaning[250];

    snprintf(meaning, sizeof(meaning), "%s: %s%s", before, container_names(), behind);
    return meaning;
}

const char *codec_meaning(void)
{
    static char meaning[100] = "compression of the shards: ";
    const size_t size = strcspn(meaning, ":") + 2;

    list_choices(codec_choices(), meaning + size, sizeof(meaning) - size);
    return meaning;
}

const char *s3_meaning(void)
{
    static char meaning[400];
    const char *name;
    size_t size = (size_t)snprintf(meaning, sizeof(meaning), "a setting of what is written to S3; "
                                   "repeatable:");

    for (size_t i = 0; (name = sheaf_s3_setting(i, NULL, NULL)) != NULL && size < sizeof(meaning);
         i++)
        size += (size_t)snprintf(meaning + size, sizeof(meaning) - size, "%s %s",
                                 i == 0 ? "" : ",", name);
    return meaning;
}

/* Reads a whole decimal number at the beginning of `text` into *value. Returns the position after
 * its digits, or NULL if the text does not begin with a digit or the number is too large. */
static const char *read_digits(const char *text, uint64_t *value)
{
    const char *p = text;

    *value = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (unsigned)(*p - '0'), value))
            return NULL;
    }
    return p == text ? NULL : p;
}

/* Reads a decimal point and the digits after it as a fraction. For example, ".25" gives 25 / 100.
 * Returns the position after the digits, or `text` if the text does not begin with a point. */
static const char *read_fraction(const char *text, uint64_t *numerator, uint64_t *denominator)
{
    const char *end = *text == '.' ? read_digits(text + 1, numerator) : text;

    for (const char *p = text + 1; end && p < end; p++) {
        if (__builtin_mul_overflow(*denominator, 10u, denominator))
            return NULL;
    }
    return end;
}

bool options_size(const char *text, uint64_t *value)
{
    static const struct { const char *name; uint64_t bytes; } units[] = {
        { "", 1 }, { "kB", 1000 }, { "MB", 1000000 }, { "GB", 1000000000 },
        { "TB", 1000000000000 }, { "KiB", 1ull << 10 }, { "MiB", 1ull << 20 },
        { "GiB", 1ull << 30 }, { "TiB", 1ull << 40 },
    };
    uint64_t part = 0, of = 1;
    const char *unit = read_digits(text, value);

    if (unit)
        unit = read_fraction(unit, &part, &of);
    for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) == 0)
            return !__builtin_mul_overflow(*value, units[i].bytes, value) &&
                   !__builtin_mul_overflow(part, units[i].bytes, &part) && part % of == 0 &&
                   !__builtin_add_overflow(*value, part / of, value);
    }
    return false;
}

static int store_number(const struct option *option, const char *text)
{
    const uint64_t most = option->most ? option->most
                        : option->kind == OPTION_COUNT ? UINT_MAX : UINT64_MAX;
    uint64_t value;

    if (option->kind == OPTION_SIZE) {
        if (!options_size(text, &value))
            return misuse("--%s: invalid size \"%s\", expected a number of bytes, or a number "
                          "followed by kB, MB, GB, TB, KiB, MiB, GiB or TiB", option->name, text);
    } else {
        const char *end = read_digits(text, &value);

        if (!end || *end)
            return misuse("--%s: invalid number \"%s\", expected a whole number below 2^64",
                          option->name, text);
    }
    if (value < option->least || value > most)
        return misuse("--%s: %" PRIu64 " is out of range, expected %" PRIu64 " to %" PRIu64,
                      option->name, value, option->least, most);
    if (option->kind == OPTION_COUNT)
        *option->count = (unsigned)value;
    else
        *option->number = value;
    return -1;
}

static int store_choice(const struct option *option, const char *text)
{
    int value = option->choice_of ? option->choice_of(text) : -1;
    char list[200];

    for (const struct choice *c = option->choices; c->name && value < 0; c++) {
        if (strcmp(text, c->name) == 0)
            value = c->value;
    }
    if (value >= 0) {
        *option->choice = value;
        return -1;
    }
    list_choices(option->choices, list, sizeof(list));
    return misuse("--%s: \"%s\" is not %s", option->name, text, list);
}

/* Names of the options that the user has given, each name once. Options that every command has,
 * such as --quiet, are left out. */
static const char *given_names[GIVEN_MOST];
static size_t given_count;

/* Returns whether the user has given the option `name`. */
static bool options_has(const char *name)
{
    for (size_t i = 0; i < given_count; i++)
        if (strcmp(given_names[i], name) == 0)
            return true;
    return false;
}

static void note_given(const char *name)
{
    for (const struct option *o = verbosity_options; o->name; o++) {
        if (o->name == name)
            return;
    }
    if (!options_has(name) && given_count < GIVEN_MOST)
        given_names[given_count++] = name;
}

/* Returns the place of the option `name` in the text `list`, such as "--jobs, --cache and
 * --cache-size", or NULL if the text does not contain the option. */
static const char *names_option(const char *list, const char *name)
{
    const size_t size = strlen(name);

    for (const char *at = list; (at = strstr(at, "--")) != NULL;) {
        at += 2;
        if (strncmp(at, name, size) == 0 && strchr(", ", at[size]) != NULL)
            return at;
    }
    return NULL;
}

/* Returns whether the user has given an option that is neither `name` nor in the text `allowed`. */
static bool options_has_others(const char *name, const char *allowed)
{
    for (size_t i = 0; i < given_count; i++)
        if (strcmp(given_names[i], name) != 0 && names_option(allowed, given_names[i]) == NULL)
            return true;
    return false;
}

int options_exclude(const char *one, const char *other)
{
    return options_has(one) && options_has(other)
           ? misuse("%s: --%s and --%s exclude each other", command_name, one, other) : -1;
}

int options_allow(const char *what, const char *allowed)
{
    if (!options_has_others(strncmp(what, "--", 2) == 0 ? what + 2 : "", allowed))
        return -1;
    return allowed[0] == '\0' ? misuse("%s: %s allows no options", command_name, what)
                              : misuse("%s: %s allows no options but %s", command_name, what,
                                       allowed);
}

int options_only(const char *name, const char *replaced, size_t count, const char *allowed)
{
    const bool refused = count != 0 || options_has_others(name, allowed);

    return refused ? misuse("%s: --%s replaces %s, and allows no options but %s", command_name,
                            name, replaced, allowed) : -1;
}

/* Returns whether the value of an option is the choice `word`. */
static bool has_choice(const struct option *option, const char *word)
{
    for (const struct choice *c = option->choices; c->name; c++)
        if (strcmp(c->name, word) == 0)
            return c->value == *option->choice;
    return false;
}

/* Returns whether the user has given one of the options in `needs` (see struct option). */
static bool has_needed(const struct option *options, const char *needs)
{
    for (const struct option *o = options; o->name; o++) {
        const char *at = names_option(needs, o->name);

        if (at != NULL && options_has(o->name) &&
            (o->kind != OPTION_CHOICE || has_choice(o, at + strlen(o->name) + 1)))
            return true;
    }
    return false;
}

/* Refuses an option that has no effect, because the user has not given another option. */
static int check_needs(const struct option *options)
{
    for (const struct option *o = options; o->name; o++)
        if (o->needs != NULL && options_has(o->name) && !has_needed(options, o->needs))
            return misuse("%s: --%s requires %s", command_name, o->name, o->needs);
    return -1;
}

static int store(const struct option *option, const char *text)
{
    if (option->given)
        *option->given = true;
    note_given(option->name);
    switch (option->kind) {
    case OPTION_FLAG:
        *option->flag = 1;
        return -1;
    case OPTION_TEXT:
        *option->text = text;
        return -1;
    case OPTION_TEXTS:
        if (option->texts->count == OPTION_TEXTS_MOST)
            return misuse("--%s: given more than %u times", option->name, OPTION_TEXTS_MOST);
        option->texts->names[option->texts->count] = option->name;
        option->texts->texts[option->texts->count++] = text;
        return -1;
    case OPTION_NUMBER:
    case OPTION_COUNT:
    case OPTION_SIZE:
        return store_number(option, text);
    case OPTION_CHOICE:
        return store_choice(option, text);
    }
    return STATUS_MISUSE;
}

static const char *nearest_option(const char *name, const struct option *options)
{
    size_t count = 0;

    while (options[count].name)
        count++;
    return nearest(name, options, count, sizeof(*options));
}

static int options_unknown(const struct command *command, const struct option *options,
                           const char *word)
{
    const char *hint = NULL;
    char name[64] = "";

    if (strncmp(word, "--", 2) == 0) {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        hint = nearest_option(name, options);
        hint = hint ? hint : nearest_option(name, verbosity_options);
    }
    if (strcmp(name, "s3") == 0)
        return misuse("%s: unknown option %s: settings of what is read from S3 are variables, such "
                      "as SHEAF_S3_REQUESTER_PAYS=true", command->name, word);
    if (hint)
        return misuse("%s: unknown option %s; did you mean --%s?", command->name, word, hint);
    return misuse("%s: unknown option %s; see sheaf %s --help", command->name, word,
                  command->name);
}

#define NOT_THERE -2    /* the option is not in this table */

/* Parses the option in argv[*at] and stores its value. If the value is in argv[*at + 1], increments
 * *at. */
static int take_from(const struct option *options, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    const size_t size = strcspn(word, "=");

    for (const struct option *o = options; o->name; o++) {
        if (o->letter && word[1] == o->letter && word[2] != '\0')
            return store(o, word + 2);
        if (o->letter && word[1] == o->letter)
            return *at + 1 < argc ? store(o, argv[++*at])
                                  : misuse("-%c: %s is missing", o->letter, o->argument);
        if (strncmp(word, "--", 2) != 0 || strlen(o->name) != size - 2 ||
            strncmp(word + 2, o->name, size - 2) != 0)
            continue;
        if (o->kind == OPTION_FLAG && word[size])
            return misuse("--%s takes no value", o->name);
        if (o->kind == OPTION_FLAG || word[size])
            return store(o, word + size + 1);
        if (*at + 1 >= argc)
            return misuse("--%s: %s is missing", o->name, o->argument);
        return store(o, argv[++*at]);
    }
    return NOT_THERE;
}

static int options_take_options(const struct command *command, const struct option *options,
                                int argc, char **argv, int *at)
{
    int status = take_from(options, argc, argv, at);

    if (status == NOT_THERE)
        status = take_from(verbosity_options, argc, argv, at);
    return status == NOT_THERE ? options_unknown(command, options, argv[*at]) : status;
}

int options_parse(const struct command *command, const struct option *options, int argc,
                  char **argv, size_t *count)
{
    bool ended = false;
    int status;

    command_name = command->name;
    *count = 0;
    for (int i = 1; i < argc; i++) {
        if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[(*count)++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            help_print(command, options);
            return STATUS_OK;
        } else {
            status = options_take_options(command, options, argc, argv, &i);
            if (status >= 0)
                return status;
        }
    }
    if (*count < command->least || *count > command->most)
        return misuse("%s: %s; usage: sheaf %s %s", command->name,
                      *count < command->least ? "an argument is missing" : "too many arguments",
                      command->name, command->arguments);
    status = check_needs(options);
    return status >= 0 ? status : verbosity_begin();
}

/* ---- Columns --------------------------------------------------------------------------------- */

const struct choice missing_choices[] = {
    { "fail", SHEAF_MISSING_FAIL }, { "skip", SHEAF_MISSING_SKIP },
    { "none", SHEAF_MISSING_NONE }, { NULL, 0 },
};

int column_options_give(struct column_options *c, struct sheaf_reader_options *reader)
{
    size_t count = 0;
    char *rest = NULL;

    reader->missing = (enum sheaf_missing)c->missing;
    if (c->list == NULL)
        return -1;
    c->text = strdup(c->list);
    if (c->text == NULL) {
        complain("out of memory");
        return STATUS_FAILURE;
    }
    for (char *name = strtok_r(c->text, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        if (count == COLUMN_NAMES_MOST)
            return misuse("--columns: more than %u names", COLUMN_NAMES_MOST);
        c->names[count++] = name;
    }
    if (count == 0)
        return misuse("--columns: expected names, separated by commas");
    reader->columns = c->names;
    reader->column_count = count;
    return -1;
}

void column_options_free(struct column_options *c)
{
    free(c->text);
    c->text = NULL;
}

void say_missing(const struct column_options *c, const struct sheaf_reader_stats *stats)
{
    const uint64_t n = stats->missing;

    if (n != 0 && c->missing == SHEAF_MISSING_SKIP)
        say("%" PRIu64 " sample%s left out, because a column has no value for %s", n,
            n == 1 ? " was" : "s were", n == 1 ? "it" : "them");
    else if (n != 0)
        say("columns have no value in %" PRIu64 " case%s", n, plural(n));
}
