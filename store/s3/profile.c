/* SPDX-License-Identifier: MIT
 *
 * Reads AWS's shared configuration files. Unknown settings are ignored, as in all programs that
 * read these files.
 *
 * A line that is not a section, a setting or a comment is an error, because it may be a damaged
 * section line. The credentials after it would then be taken for credentials of the section before
 * it. A section or key that occurs twice is also an error, because some programs use the first and
 * others the last. */
#include "store/s3/profile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/store.h"

#define FILE_MOST ((size_t)1 << 20)
#define NAME_MOST 256
#define BLANK " \t\r"

/* ---- Lines ----------------------------------------------------------------------------------- */

static char *profile_trim(char *text)
{
    char *end;

    text += strspn(text, BLANK);
    end = text + strlen(text);
    while (end > text && strchr(BLANK, end[-1]) != NULL)
        end--;
    *end = '\0';
    return text;
}

/* Removes the comment of a line. A comment begins with '#' or ';' at the start of the line or after
 * a blank. */
static void cut_comment(char *line)
{
    char *c = line;

    while ((c = strpbrk(c, "#;")) != NULL) {
        if (c == line || strchr(BLANK, c[-1]) != NULL) {
            *c = '\0';
            return;
        }
        c++;
    }
}

static int add_setting(struct profiles *p, enum profile_file file, const char *section,
                       const char *outer, const char *key, const char *value,
                       struct sheaf_error *err)
{
    struct profile_entry *entry;

    if (p->count == p->capacity) {
        const size_t capacity = MAX(2 * p->capacity, (size_t)16);

        entry = reallocarray(p->entries, capacity, sizeof(*entry));
        if (entry == NULL)
            return err_memory(err, capacity * sizeof(*entry));
        p->entries = entry;
        p->capacity = capacity;
    }
    entry = &p->entries[p->count];
    entry->file = file;
    entry->section = strdup(section);
    entry->value = strdup(value);
    if (asprintf(&entry->key, "%s%s%s", outer, *outer != '\0' ? "." : "", key) < 0)
        entry->key = NULL;
    p->count++;     /* so that it is freed even if incomplete */
    return entry->section == NULL || entry->key == NULL || entry->value == NULL
           ? err_memory(err, strlen(value)) : SHEAF_OK;
}

/* Removes the quotes around a name, if there are any. Returns NULL if a name without quotes has
 * blanks. */
static char *profile_unquote(char *name)
{
    const size_t size = strlen(name);

    if (size < 2 || (*name != '"' && *name != '\'') || name[size - 1] != *name)
        return strpbrk(name, BLANK) == NULL ? name : NULL;
    name[size - 1] = '\0';
    return name + 1;
}

/* Writes to `section` the name under which Sheaf keeps the section. The section of the profile "x"
 * gets the name "profile x", whether the file writes it as "[profile x]" (config) or as "[x]"
 * (credentials). The section "[default]" gets the name "profile default". In config, "[services x]"
 * and "[sso-session x]" get the text between the brackets as their name. Every other section gets a
 * name that begins with '[', so that it cannot be mistaken for a profile. */
static bool section_name(char *line, enum profile_file file, char section[NAME_MOST])
{
    static const char *const kinds[] = { "profile", "services", "sso-session" };
    char *end = strchr(line, ']');
    char *name = line + 1;

    if (end == NULL)
        return false;
    *end = '\0';
    name = profile_trim(name);
    if (file == PROFILE_CREDENTIALS || strcmp(name, "default") == 0)
        return snprintf(section, NAME_MOST, "profile %s", name) < NAME_MOST;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const size_t size = strlen(kinds[i]);
        const char *own = NULL;

        if (strncmp(name, kinds[i], size) == 0 && name[size] != '\0' &&
            strchr(BLANK, name[size]) != NULL)
            own = profile_unquote(profile_trim(name + size + 1));
        if (own != NULL)
            return snprintf(section, NAME_MOST, "%s %s", kinds[i], own) < NAME_MOST;
    }
    return snprintf(section, NAME_MOST, "[%s", name) < NAME_MOST;
}

struct parse {
    struct profiles *profiles;
    enum profile_file file;
    char section[NAME_MOST];    /* empty: none yet */
    size_t section_at;          /* its first entry */
    /* key of the last setting, if nested settings (indented lines) may follow it; otherwise "" */
    char outer[NAME_MOST];
};

/* Returns whether the file that is being parsed already has the key `key` in the section `section`.
 * The search begins at entry number `first`. */
static bool is_there(const struct parse *p, size_t first, const char *section, const char *key)
{
    for (size_t i = first; i < p->profiles->count; i++) {
        const struct profile_entry *entry = &p->profiles->entries[i];

        if (entry->file == p->file && strcmp(entry->section, section) == 0 &&
            strcmp(entry->key, key) == 0)
            return true;
    }
    return false;
}

/* Begins a section. Adds an entry that has the section's name but no key, so that a section without
 * settings can be found as well. */
static int begin_section(struct parse *p, char *text, struct sheaf_error *err)
{
    p->outer[0] = '\0';
    if (!section_name(text, p->file, p->section))
        return err_set(err, SHEAF_ERR_CORRUPT, "an unterminated section name");
    if (is_there(p, 0, p->section, ""))
        return err_set(err, SHEAF_ERR_CORRUPT, "this section is there twice: make one of them");
    p->section_at = p->profiles->count;
    return add_setting(p->profiles, p->file, p->section, "", "", "", err);
}

static int parse_line(struct parse *p, char *line, struct sheaf_error *err)
{
    const bool is_indented = *line != '\0' && strchr(BLANK, *line) != NULL;
    char *text, *equals, *key, *value;

    cut_comment(line);
    text = profile_trim(line);
    if (*text == '\0')
        return SHEAF_OK;
    if (*text == '[' && !is_indented)
        return begin_section(p, text, err);
    equals = strpbrk(text, is_indented ? "=" : "=:");
    if (equals == NULL && !is_indented)
        return err_set(err, SHEAF_ERR_CORRUPT, "neither a section nor KEY = VALUE");
    if (p->section[0] == '\0')
        return err_set(err, SHEAF_ERR_CORRUPT, "a setting before the first section");
    if (equals == NULL)
        return SHEAF_OK;        /* a continued value; none of ours has one */
    *equals = '\0';
    key = profile_trim(text);
    value = profile_trim(equals + 1);
    for (char *c = key; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!is_indented && is_there(p, p->section_at, p->section, key))
        return err_set(err, SHEAF_ERR_CORRUPT, "%.80s is there twice in its section", key);
    if (!is_indented)
        snprintf(p->outer, sizeof(p->outer), "%s", *value == '\0' ? key : "");
    if (is_indented && p->outer[0] == '\0')
        return SHEAF_OK;
    return add_setting(p->profiles, p->file, p->section, is_indented ? p->outer : "", key, value,
                       err);
}

int profiles_parse(struct profiles *profiles, enum profile_file file, const char *name,
                   char *text, struct sheaf_error *err)
{
    struct parse parse = { .profiles = profiles, .file = file };
    unsigned number = 0;
    char *line;

    while ((line = strsep(&text, "\n")) != NULL) {
        int code = parse_line(&parse, line, err);

        number++;
        if (code != SHEAF_OK) {
            err_prefix(err, "%s: line %u: ", name, number);
            return code;
        }
    }
    return SHEAF_OK;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int profile_load(struct profiles *profiles, enum profile_file file, const char *variable,
                        const char *usual, struct sheaf_error *err)
{
    const char *named = getenv(variable), *home = getenv("HOME");
    const bool is_below_home = named == NULL || strncmp(named, "~/", 2) == 0;
    char *path = NULL, *text = NULL;
    size_t size = 0;
    int code;

    if (is_below_home && home == NULL)
        return SHEAF_OK;
    if (asprintf(&path, "%s%s", is_below_home ? home : "",
                 named == NULL ? usual : is_below_home ? named + 1 : named) < 0)
        return err_memory(err, 64);
    code = store_get(path, FILE_MOST, &text, &size, err);
    if (code == SHEAF_OK)
        code = profiles_parse(profiles, file, path, text, err);
    if (text != NULL)
        explicit_bzero(text, size);
    free(text);
    free(path);
    if (code != SHEAF_ERR_NOT_FOUND)
        return code;
    return named != NULL && !is_below_home && (*named == '~' || strchr(named, '$') != NULL)
           ? err_set(err, SHEAF_ERR_ARGUMENT, "%s: no file \"%.200s\": only \"~/\" is expanded",
                     variable, named) : SHEAF_OK;
}

int profiles_load(struct profiles *profiles, struct sheaf_error *err)
{
    int code = profile_load(profiles, PROFILE_CREDENTIALS, "AWS_SHARED_CREDENTIALS_FILE",
                            "/.aws/credentials", err);

    if (code == SHEAF_OK)
        code = profile_load(profiles, PROFILE_CONFIG, "AWS_CONFIG_FILE", "/.aws/config", err);
    if (code != SHEAF_OK)
        profiles_free(profiles);
    return code;
}

void profiles_free(struct profiles *profiles)
{
    for (size_t i = 0; i < profiles->count; i++) {
        free(profiles->entries[i].section);
        free(profiles->entries[i].key);
        if (profiles->entries[i].value != NULL)
            explicit_bzero(profiles->entries[i].value, strlen(profiles->entries[i].value));
        free(profiles->entries[i].value);
    }
    free(profiles->entries);
    memset(profiles, 0, sizeof(*profiles));
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static const char *profile_get(const struct profiles *p, enum profile_file file,
                               const char *section, const char *key)
{
    for (size_t i = 0; i < p->count; i++)
        if ((file == PROFILE_ANY || p->entries[i].file == file) &&
            strcmp(p->entries[i].section, section) == 0 && strcmp(p->entries[i].key, key) == 0)
            return p->entries[i].value;
    return NULL;
}

bool profiles_section_has(const struct profiles *profiles, const char *section)
{
    return profile_get(profiles, PROFILE_ANY, section, "") != NULL;
}

const char *profiles_section_get(const struct profiles *profiles, const char *section,
                                 const char *key)
{
    return profile_get(profiles, PROFILE_ANY, section, key);
}

const char *profiles_get_from(const struct profiles *profiles, enum profile_file file,
                              const char *profile, const char *key)
{
    char section[NAME_MOST];

    if (snprintf(section, sizeof(section), "profile %s", profile) >= (int)sizeof(section))
        return NULL;
    return profile_get(profiles, file, section, key);
}

const char *profiles_get(const struct profiles *profiles, const char *profile, const char *key)
{
    return profiles_get_from(profiles, PROFILE_ANY, profile, key);
}

bool profiles_has(const struct profiles *profiles, const char *profile)
{
    return profiles_get(profiles, profile, "") != NULL;
}

const char *profile_in_use(void)
{
    const char *name = getenv("AWS_PROFILE");

    if (name == NULL || *name == '\0')
        name = getenv("AWS_DEFAULT_PROFILE");
    return name == NULL || *name == '\0' ? "default" : name;
}
