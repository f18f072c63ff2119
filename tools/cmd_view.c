/* SPDX-License-Identifier: MIT
 *
 * sheaf view: writes a JSON document that describes a view (a selection or mixture of data sets).
 * The options of the command become members of the document. The library checks the document. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"

enum until { UNTIL_NONE, UNTIL_FIRST, UNTIL_ALL };

static const struct choice until_choices[] = {
    { "first", UNTIL_FIRST }, { "all", UNTIL_ALL }, { NULL, 0 },
};

enum unknown_keys { UNKNOWN_SAY, UNKNOWN_FAIL };

static const struct choice unknown_keys_choices[] = {
    { "say", UNKNOWN_SAY }, { "fail", UNKNOWN_FAIL }, { NULL, 0 },
};

struct settings {
    const char *output, *weights, *repeats, *keys, *not_keys, *fields;
    uint64_t samples;
    const char *classes;
    int until, overwrite, unknown_keys;
    struct option_texts where;
};

/* ---- Lists ---------------------------------------------------------------------------------- */

/* Finds the next element of a list whose elements are separated by commas. Sets *piece to the
 * element, moves *at to the next element, and returns the length of the found element. */
static size_t next_piece(const char **at, const char **piece)
{
    const size_t size = strcspn(*at, ",");

    *piece = *at;
    *at += size + ((*at)[size] == ',');
    return size;
}

static size_t cmd_view_pieces_of(const char *list)
{
    size_t count = 1;

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}

static void print_piece(FILE *file, const char *piece, size_t size)
{
    char *copy = strndup(piece, size);

    print_json_string(file, copy != NULL ? copy : "");
    free(copy);
}

/* Prints a list of names as JSON. */
static void print_names(FILE *file, const char *list)
{
    const char *piece;

    putc('[', file);
    for (const char *at = list;;) {
        const size_t size = next_piece(&at, &piece);

        print_piece(file, piece, size);
        if (piece[size] == '\0')
            break;
        putc(',', file);
    }
    putc(']', file);
}

/* Prints element number i of a list of numbers, as the user gave it. The library checks the number
 * later. */
static void cmd_view_print_number(FILE *file, const char *list, size_t i)
{
    const char *piece = list;
    size_t size = 0;

    for (size_t n = 0; n <= i; n++)
        size = next_piece(&list, &piece);
    fprintf(file, "%.*s", (int)size, piece);
}

static bool are_numbers(const char *list)
{
    for (; *list != '\0'; list++)
        if (!isdigit((unsigned char)*list) && *list != '.' && *list != ',')
            return false;
    return true;
}

/* ---- Conditions ----------------------------------------------------------------------------- */

/* Prints two numbers in `text` as a JSON array. In `text`, the numbers are separated by
 * `between`. */
static bool cmd_view_print_pair(FILE *file, const char *text, const char *between)
{
    uint64_t a, b;
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    a = strtoull(text, &end, 10);
    if (strncmp(end, between, strlen(between)) != 0
        || !isdigit((unsigned char)end[strlen(between)]))
        return false;
    b = strtoull(end + strlen(between), &end, 10);
    fprintf(file, "[%" PRIu64 ",%" PRIu64 "]", a, b);
    return *end == '\0';
}

/* Prints the condition on labels for a list such as "3,5..9". If the list is a single range, prints
 * it as a pair of numbers, which release 0.2 can also read. */
static bool cmd_view_print_labels(FILE *file, const char *list)
{
    const char *piece;
    bool valid = true;

    if (strchr(list, ',') == NULL && strstr(list, "..") != NULL) {
        fputs("\"labels\":", file);
        return cmd_view_print_pair(file, list, "..");
    }
    fputs("\"label\":[", file);
    for (const char *at = list; valid;) {
        const size_t size = next_piece(&at, &piece);
        char *copy = strndup(piece, size);

        if (copy != NULL && size != 0 && strspn(copy, "0123456789") == size)
            fputs(copy, file);
        else
            valid = copy != NULL && cmd_view_print_pair(file, copy, "..");
        free(copy);
        if (piece[size] == '\0')
            break;
        putc(',', file);
    }
    putc(']', file);
    return valid;
}

/* Prints the condition that the user gave with one option --where, as a member of the JSON object
 * "where". Returns false if the condition is invalid. */
static bool print_condition(FILE *file, const char *text)
{
    if (strncmp(text, "class=", 6) == 0 && text[6] != '\0') {
        fputs("\"classes\":", file);
        print_names(file, text + 6);
        return true;
    }
    if (strncmp(text, "label=", 6) == 0)
        return cmd_view_print_labels(file, text + 6);
    if (strncmp(text, "key=", 4) == 0 && text[4] != '\0') {
        fputs("\"key_glob\":", file);
        print_json_string(file, text + 4);
        return true;
    }
    if (strncmp(text, "every=", 6) == 0) {
        fputs("\"every\":", file);
        return cmd_view_print_pair(file, text + 6, "/");
    }
    fputs("\"range\":", file);
    return strncmp(text, "range=", 6) == 0 && cmd_view_print_pair(file, text + 6, "..");
}

/* Returns the position of the comparison in a condition on a column, such as ">" in
 * quality.score>0.3. Returns NULL if the text is another kind of condition. */
static const char *find_comparison(const char *text)
{
    const char *sign = strpbrk(text, "<>=!");

    return sign != NULL && memchr(text, '.', (size_t)(sign - text)) != NULL ? sign : NULL;
}

/* Prints quality.score>0.3 as ["quality.score", ">", 0.3]. */
static bool print_comparison(FILE *file, const char *text)
{
    const char *sign = find_comparison(text);
    const size_t size = sign[1] == '=' ? 2 : 1;
    char *end;
    const double number = strtod(sign + size, &end);

    if ((size == 1 && *sign != '<' && *sign != '>') || end == sign + size || *end != '\0' ||
        !isfinite(number))
        return false;
    putc('[', file);
    print_piece(file, text, (size_t)(sign - text));
    fprintf(file, ",\"%.*s\",%.17g]", (int)size, sign, number);
    return true;
}

/* Prints all conditions on columns as one member of the JSON object "where". Returns the first
 * invalid condition, or NULL if all are valid. */
static const char *print_comparisons(FILE *file, const struct settings *s, const char **comma)
{
    size_t count = 0;

    for (size_t i = 0; i < s->where.count; i++) {
        if (find_comparison(s->where.texts[i]) == NULL)
            continue;
        fprintf(file, count++ == 0 ? "%s\"columns\":[" : ",", *comma);
        if (!print_comparison(file, s->where.texts[i]))
            return s->where.texts[i];
    }
    if (count != 0) {
        putc(']', file);
        *comma = ",";
    }
    return NULL;
}

/* Prints the path `path` of the user, converted to a path relative to the directory of the view's
 * document. The conversion is needed because the user's path is relative to the current directory
 * of the command. */
static void print_path(FILE *file, const struct settings *s, const char *path)
{
    char *directory;
    char *whole = NULL;

    if (path[0] == '/' || strstr(path, "://") != NULL || strchr(s->output, '/') == NULL) {
        print_json_string(file, path);
        return;
    }
    directory = getcwd(NULL, 0);
    if (directory == NULL || asprintf(&whole, "%s/%s", directory, path) < 0)
        whole = NULL;
    print_json_string(file, whole != NULL ? whole : path);
    free(directory);
    free(whole);
}

/* Returns whether an earlier option --where has the same kind of condition as option number i. */
static bool is_given_before(const struct settings *s, size_t i)
{
    const size_t kind = strcspn(s->where.texts[i], "=") + 1;

    for (size_t k = 0; k < i; k++)
        if (strncmp(s->where.texts[k], s->where.texts[i], kind) == 0)
            return true;
    return false;
}

static int refuse_condition(const char *text)
{
    return misuse("view: --where: \"%s\" is not a condition: expected class=NAME,..., "
                  "label=N,A..B,..., key=GLOB, COLUMN.FIELD>NUMBER, range=A..B or every=N/R", text);
}

static int print_where(FILE *file, const struct settings *s)
{
    const char *comma = "", *invalid;

    fputs(",\"where\":{", file);
    for (size_t i = 0; i < s->where.count; i++) {
        if (find_comparison(s->where.texts[i]) != NULL)
            continue;
        fputs(comma, file);
        if (!print_condition(file, s->where.texts[i]))
            return refuse_condition(s->where.texts[i]);
        if (is_given_before(s, i))
            return misuse("view: --where: \"%s\" is the second condition of its kind: expected one "
                          "of each, such as class=cat,dog", s->where.texts[i]);
        comma = ",";
    }
    invalid = print_comparisons(file, s, &comma);
    if (invalid != NULL)
        return refuse_condition(invalid);
    if (s->keys != NULL) {
        fprintf(file, "%s\"keys\":", comma);
        print_path(file, s, s->keys);
        comma = ",";
    }
    if (s->not_keys != NULL) {
        fprintf(file, "%s\"not_keys\":", comma);
        print_path(file, s, s->not_keys);
    }
    putc('}', file);
    return STATUS_OK;
}

/* ---- The document --------------------------------------------------------------------------- */

static int print_source(FILE *file, const struct settings *s, const char *source, size_t i)
{
    int status = STATUS_OK;

    fputs("{\"source\":", file);
    print_path(file, s, source);
    if (s->weights != NULL) {
        fputs(",\"weight\":", file);
        cmd_view_print_number(file, s->weights, i);
    }
    if (s->repeats != NULL) {
        fputs(",\"repeat\":", file);
        cmd_view_print_number(file, s->repeats, i);
    }
    if (s->where.count != 0 || s->keys != NULL || s->not_keys != NULL)
        status = print_where(file, s);
    if (s->fields != NULL) {
        fputs(",\"fields\":", file);
        print_names(file, s->fields);
    }
    putc('}', file);
    return status;
}

/* Prints the member "classes" of the document, which says how the classes of the sources are
 * merged. `how` is a word or the name of a file with a map of classes. */
static int cmd_view_print_classes(FILE *file, const char *how)
{
    FILE *map;
    int c;
    bool failed;

    fputs(",\"classes\":", file);
    if (strcmp(how, "by-name") == 0 || strcmp(how, "by-number") == 0) {
        print_json_string(file, how);
        return STATUS_OK;
    }
    map = fopen(how, "r");
    if (map == NULL)
        return misuse("view: --classes: %s: %s: expected by-name, by-number or a file with a map",
                      how, strerror(errno));
    while ((c = getc(map)) != EOF)
        putc(c, file);
    failed = ferror(map);
    (void)fclose(map);
    return !failed ? STATUS_OK : misuse("view: --classes: %s: cannot be read", how);
}

static int cmd_view_print_document(FILE *file, const struct settings *s, char **sources,
                                   size_t count)
{
    int status = STATUS_OK;

    fputs("{\"sheaf_view\":1", file);
    if (s->samples != 0)
        fprintf(file, ",\"samples\":%" PRIu64, s->samples);
    if (s->until != UNTIL_NONE)
        fprintf(file, ",\"until\":\"%s\"", s->until == UNTIL_FIRST ? "first" : "all");
    if (s->classes != NULL)
        status = cmd_view_print_classes(file, s->classes);
    fputs(",\"sources\":[", file);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        fputs(i == 0 ? "" : ",", file);
        status = print_source(file, s, sources[i], i);
    }
    fputs("]}", file);
    return status;
}

static int check_list(const char *name, const char *list, size_t count)
{
    if (list == NULL)
        return STATUS_OK;
    if (!are_numbers(list) || cmd_view_pieces_of(list) != count)
        return misuse("view: --%s: \"%s\" is not a list of %zu number%s, one for each source",
                      name, list, count, plural(count));
    return STATUS_OK;
}

static int cmd_view_check(const struct settings *s, size_t count)
{
    int status;

    if (s->output == NULL)
        return misuse("view: --output is required");
    if (s->weights != NULL && s->repeats != NULL)
        return misuse("view: --weights and --repeat exclude each other");
    if (s->weights != NULL && (s->samples != 0) == (s->until != UNTIL_NONE))
        return misuse("view: with --weights, either --samples or --until says how long an epoch "
                      "is");
    if (s->weights == NULL && (s->samples != 0 || s->until != UNTIL_NONE))
        return misuse("view: --samples and --until are for --weights: without them, an epoch is as "
                      "long as its sources");
    status = check_list("weights", s->weights, count);
    return status == STATUS_OK ? check_list("repeat", s->repeats, count) : status;
}

/* Returns whether a sample has a field with this name. The suffix of the field may be in upper or
 * lower case. */
static bool has_field(const struct sheaf_sample *sample, const char *name, size_t size)
{
    for (size_t i = 0; i < sample->field_count; i++)
        if ((strlen(sample->fields[i].name) == size
             && strncmp(sample->fields[i].name, name, size) == 0)
            || (strlen(sample->fields[i].suffix) == size
                && strncmp(sample->fields[i].suffix, name, size) == 0))
            return true;
    return false;
}

/* Prints a note about each field name that does not occur in the first sample of any source,
 * because the name may be mistyped. */
static void say_odd_fields(const char *fields, const struct sheaf_sample *samples,
                           size_t count)
{
    const char *piece;

    while (*fields != '\0') {
        const size_t size = next_piece(&fields, &piece);
        size_t i = 0;

        while (i < count && !has_field(&samples[i], piece, size))
            i++;
        if (i == count)
            say("--fields: the first sample of %s has no field \"%.*s\"",
                count == 1 ? "the source" : "each source", (int)size, piece);
    }
}

/* Checks the names of fields that the user gave, with the first sample of each source. A source
 * that cannot be read is ignored here, because it causes an error later. */
static void cmd_view_check_fields(const struct settings *s)
{
    const struct sheaf_sample *samples;
    struct sheaf_dataset *view;
    struct sheaf_kept *kept = NULL;
    struct sheaf_source_info source;
    struct sheaf_dataset_info info;
    uint64_t *firsts;

    if (s->fields == NULL || sheaf_dataset_open(&s->output, 1, &view, NULL) != SHEAF_OK)
        return;
    sheaf_dataset_get_info(view, &info, sizeof(info));
    firsts = calloc(info.source_count, sizeof(firsts[0]));
    for (size_t i = 0; firsts != NULL && i < info.source_count; i++)
        firsts[i] = sheaf_dataset_source(view, i, &source, sizeof(source)) == SHEAF_OK
                    ? source.first_number : 0;
    if (firsts != NULL && sheaf_dataset_read(view, firsts, info.source_count, NULL, &samples,
                                             &kept, NULL) == SHEAF_OK)
        say_odd_fields(s->fields, samples, info.source_count);
    sheaf_kept_free(kept);
    free(firsts);
    sheaf_dataset_free(view);
}

/* ---- Unknown keys --------------------------------------------------------------------------- */

#define NAMED 5             /* unknown keys that are named */
/* number of keys that are looked up in one call; each key takes two small reads of the file
 * dataset.keys */
#define AT_ONCE ((size_t)256)

struct key_list {
    char *text;
    const char **keys;
    bool *known;
    size_t count;
};

static void cmd_view_free_list(struct key_list *l)
{
    free(l->text);
    free(l->keys);
    free(l->known);
}

/* Reads a whole local file into memory, which `l` then owns. Returns false on failure. */
static bool cmd_view_read_text(struct key_list *l, const char *path, size_t *size)
{
    FILE *from = fopen(path, "r"), *to = open_memstream(&l->text, size);
    char piece[65536];
    bool ok = from != NULL && to != NULL;
    size_t got;

    while (ok && (got = fread(piece, 1, sizeof(piece), from)) > 0)
        ok = fwrite(piece, 1, got, to) == got;
    ok = ok && ferror(from) == 0;
    if (from != NULL)
        fclose(from);
    if (to != NULL)
        ok = fclose(to) == 0 && ok;
    return ok;
}

/* Reads a text file into a list of its lines, and leaves out empty lines, as the library does. */
static bool read_list(struct key_list *l, const char *path)
{
    size_t size = 0, lines = 1;
    const char *begin;
    char *at;

    if (!cmd_view_read_text(l, path, &size))
        return false;
    for (size_t i = 0; i < size; i++)
        lines += l->text[i] == '\n';
    l->keys = calloc(lines, sizeof(l->keys[0]));
    l->known = calloc(lines, sizeof(l->known[0]));
    if (l->keys == NULL || l->known == NULL)
        return false;
    begin = l->text;
    utf8_pass_mark(&begin, &size);
    at = l->text + (begin - l->text);
    while (at != NULL && *at != '\0') {
        char *line = strsep(&at, "\n");
        const size_t length = strlen(line);

        if (length != 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (line[0] != '\0')
            l->keys[l->count++] = line;
    }
    return true;
}

/* Looks up keys of the list in the data set, and marks each key that belongs to a sample. Returns a
 * result code of the library. */
static int cmd_view_look_up(struct key_list *l, const struct sheaf_dataset *dataset, size_t first,
                            size_t count, struct sheaf_error *error)
{
    const struct sheaf_sample *samples;
    const size_t *firsts;
    struct sheaf_kept *kept;
    int code = sheaf_dataset_find(dataset, l->keys + first, count, NULL, &samples, &firsts, &kept,
                                  error);

    if (code == SHEAF_ERR_LIMIT && count > 1) {
        code = cmd_view_look_up(l, dataset, first, count / 2, error);
        return code != SHEAF_OK ? code : cmd_view_look_up(l, dataset, first + count / 2,
                                                          count - count / 2, error);
    }
    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        l->known[first + i] |= firsts[i] < firsts[i + 1];
    sheaf_kept_free(kept);
    return SHEAF_OK;
}

static int look_in_source(struct key_list *l, const char *source, struct sheaf_error *error)
{
    struct sheaf_dataset *dataset = NULL;
    int code = sheaf_dataset_open(&source, 1, &dataset, error);

    for (size_t i = 0; i < l->count && code == SHEAF_OK; i += AT_ONCE)
        code = cmd_view_look_up(l, dataset, i, l->count - i < AT_ONCE ? l->count - i : AT_ONCE,
                                error);
    sheaf_dataset_free(dataset);
    return code;
}

static size_t say_unknown(const struct key_list *l, const char *file)
{
    char names[600] = "";
    size_t unknown = 0, used = 0;

    for (size_t i = 0; i < l->count; i++) {
        unknown += !l->known[i];
        if (!l->known[i] && unknown <= NAMED)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.100s",
                                     used == 0 ? "" : ", ", shown(l->keys[i]));
    }
    if (unknown != 0)
        say("%zu of %zu key%s of %s %s in no source: %s%s", unknown, l->count, plural(l->count),
            file, unknown == 1 ? "is" : "are", names, unknown > NAMED ? ", ..." : "");
    return unknown;
}

/* Looks up all keys of the file in the sources. Prints the number of keys that no source has, with
 * some examples, and returns this number. If a source cannot be searched, prints a note and returns
 * 0. */
static size_t say_unknown_keys(const char *file, char **sources, size_t count)
{
    struct key_list list = { .count = 0 };
    struct sheaf_error error;
    size_t unknown = 0;
    bool told = false;

    if (!read_list(&list, file)) {
        say("%s: its keys are not compared with the sources: %s", file, strerror(errno));
        told = true;
    }
    for (size_t i = 0; i < count && !told; i++)
        if (look_in_source(&list, sources[i], &error) != SHEAF_OK) {
            say("%s: its keys are not compared with the sources: %s", file, error.message);
            told = true;
        }
    if (!told)
        unknown = say_unknown(&list, file);
    cmd_view_free_list(&list);
    return unknown;
}

/* Looks up the keys in the files that the user gave with --keys and --not-keys. A key that no
 * source has is unknown. Returns a failure status if there are unknown keys, and the user wants the
 * command to fail in this case. Otherwise returns STATUS_OK. */
static int check_keys(const struct settings *s, char **sources, size_t count)
{
    const char *const files[] = { s->keys, s->not_keys };
    size_t unknown = 0;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i] != NULL)
            unknown += say_unknown_keys(files[i], sources, count);
    if (unknown == 0 || s->unknown_keys == UNKNOWN_SAY)
        return STATUS_OK;
    complain("%zu unknown key%s: nothing was written", unknown, plural(unknown));
    return STATUS_FAILURE;
}

/* ---- The command ---------------------------------------------------------------------------- */

static int write_view(const struct settings *s, char **sources, size_t count)
{
    struct sheaf_read_options reading;
    struct sheaf_error error;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    int status, code;

    if (file == NULL)
        return misuse("view: out of memory");
    status = cmd_view_print_document(file, s, sources, count);
    if (fclose(file) != 0)
        status = misuse("view: out of memory");
    if (status == STATUS_OK && s->unknown_keys == UNKNOWN_FAIL)
        status = check_keys(s, sources, count);
    if (status == STATUS_OK) {
        sheaf_read_options_init(&reading, sizeof(reading));
        reading.progress = progress_show;
        reading.interrupt = &signals_caught;
        signals_catch();
        code = sheaf_view_write(text, s->output, s->overwrite, &reading, &error);
        progress_clear();
        signals_die();
        status = code == SHEAF_OK ? STATUS_OK : refuse(&error);
        if (code == SHEAF_OK)
            cmd_view_check_fields(s);
        if (code == SHEAF_OK && s->unknown_keys == UNKNOWN_SAY)
            (void)check_keys(s, sources, count);
    }
    free(text);
    return status;
}

static int cmd_view(const struct command *command, int argc, char **argv)
{
    struct settings s = { .until = UNTIL_NONE };
    int status;
    size_t count;

    {
        const struct option table[] = {
            { "output", OPTION_TEXT, "VIEW", .letter = 'o', .text = &s.output,
              .meaning = "the document to write, *.view or *.json (required)" },
            { "weights", OPTION_TEXT, "W,W,...", .text = &s.weights, .standard = "none",
              .meaning = "each source's share of an epoch, in whole numbers" },
            { "repeat", OPTION_TEXT, "R,R,...", .text = &s.repeats, .standard = "1 for each",
              .meaning = "without weights: how often each source comes in an epoch" },
            { "samples", OPTION_NUMBER, "N", .number = &s.samples, .standard = "",
              .meaning = "with weights: samples of an epoch" },
            { "until", OPTION_CHOICE, "WHICH", .choice = &s.until, .choices = until_choices,
              .standard = "", .meaning = "with weights: an epoch ends when the first source, or "
                                         "all, came once" },
            { "where", OPTION_TEXTS, "EXPR", .texts = &s.where, .standard = "",
              .meaning = "choose samples; several conditions may be given: class=NAME,..., "
                         "label=A..B (B included), key=GLOB, COLUMN.FIELD>NUMBER (or <, <=, "
                         ">=, ==, !=), range=A..B (B excluded) or every=N/R" },
            { "keys", OPTION_TEXT, "FILE", .text = &s.keys, .standard = "",
              .meaning = "choose the samples whose keys are lines of FILE" },
            { "not-keys", OPTION_TEXT, "FILE", .text = &s.not_keys, .standard = "",
              .meaning = "leave out the samples whose keys are lines of FILE" },
            { "unknown-keys", OPTION_CHOICE, "WHAT", .choice = &s.unknown_keys,
              .choices = unknown_keys_choices, .needs = "--keys or --not-keys",
              .meaning = "at keys of these files that no source has: say how many, or fail" },
            { "fields", OPTION_TEXT, "NAME,...", .text = &s.fields, .standard = "all",
              .meaning = "fields that samples keep" },
            { "classes", OPTION_TEXT, "HOW", .text = &s.classes, .standard = "by-name",
              .meaning = "which classes of the sources are the same: by-name, by-number, or as a "
                         "file says, a JSON object of names to names or numbers to numbers" },
            { "overwrite", OPTION_FLAG, .flag = &s.overwrite,
              .meaning = "replace an existing document" },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    status = cmd_view_check(&s, count);
    return status != STATUS_OK ? status : write_view(&s, argv, count);
}

const struct command view_command = {
    .name = "view",
    .arguments = "SRC... -o VIEW [OPTION]...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "choose, weigh and mix the samples of data sets",
    .text = "Writes a view: a small document that opens wherever a data set does. Without weights, "
            "each chosen sample comes once an epoch (or as often as --repeat says); with them, "
            "each source has its share of every stretch of the epoch. Conditions hold for every "
            "source; a document for which they differ is written by hand.",
    .example = "  sheaf view s3://b/photos/ drawings/ -o mix.view --weights 3,1 --until all\n"
               "  sheaf view photos/ -o cats.view --where class=cat --where every=10/0\n",
    .run = cmd_view,
};
