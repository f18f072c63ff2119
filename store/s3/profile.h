/* SPDX-License-Identifier: MIT
 *
 * Reads AWS's shared configuration: the files ~/.aws/config and ~/.aws/credentials. A file consists
 * of sections, and a section of settings such as "region = eu-west-1".
 *
 * The profile "train" has the section [profile train] in config and the section [train] in
 * credentials. If both have a setting, credentials takes precedence. A name with blanks is quoted,
 * as in [profile "two words"].
 *
 * After a line "s3 =", an indented line "addressing_style = path" is a nested setting. In the
 * functions below, its key is "s3.addressing_style". Other kinds of sections, such as [services
 * minio], are found by their whole text, "services minio". Keys may be in upper or lower case. */
#ifndef STORE_S3_PROFILE_H
#define STORE_S3_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "sheaf.h"

enum profile_file { PROFILE_CONFIG, PROFILE_CREDENTIALS, PROFILE_ANY };

struct profile_entry {
    enum profile_file file;     /* that it is from */
    char *section;              /* "profile train", "services minio", ... */
    char *key;
    char *value;
};

struct profiles {
    struct profile_entry *entries;  /* of the credentials file first */
    size_t count, capacity;
};

/* Adds the settings of a file to `profiles`. `text` is the content of the file, and `name` its name
 * in messages. The function has no side effects. */
int profiles_parse(struct profiles *profiles, enum profile_file file, const char *name,
                   char *text, struct sheaf_error *err);

/* Reads the credentials file and the config file. Their paths come from AWS_SHARED_CREDENTIALS_FILE
 * and AWS_CONFIG_FILE, and may begin with "~/". If these variables are not set, the files are in
 * ~/.aws. A missing file counts as empty. */
int profiles_load(struct profiles *profiles, struct sheaf_error *err);
void profiles_free(struct profiles *profiles);

/* profiles_section_has returns whether a section exists. profiles_section_get returns the value of
 * a key in a section, or NULL if the section or the key does not exist. */
bool profiles_section_has(const struct profiles *profiles, const char *section);
const char *profiles_section_get(const struct profiles *profiles, const char *section,
                                 const char *key);
/* Returns the value of a key of the profile `profile`, or NULL if the profile does not set the key.
 * For the profile "x", the config file has the section [profile x], and the credentials file has
 * the section [x]. */
const char *profiles_get(const struct profiles *profiles, const char *profile, const char *key);
/* Returns the value of a key in a profile like profiles_get, but looks only into one of the two
 * files (config or credentials). */
const char *profiles_get_from(const struct profiles *profiles, enum profile_file file,
                              const char *profile, const char *key);
bool profiles_has(const struct profiles *profiles, const char *profile);

/* Returns the profile in use: AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default". */
const char *profile_in_use(void);

#endif
