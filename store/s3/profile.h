/* SPDX-License-Identifier: MIT
 *
 * AWS's shared configuration: ~/.aws/config and ~/.aws/credentials. A file consists of sections,
 * whose settings have the form "region = eu-west-1". A profile "train" has the section [profile
 * train] in ~/.aws/config and the section [train] in ~/.aws/credentials; the second one takes
 * precedence. A name with blanks is quoted, as in [profile "two words"].
 *
 * After a line "s3 =", an indented line "addressing_style = path" is a nested setting, which the
 * functions below name "s3.addressing_style". Sections of other kinds, such as [services minio],
 * are named by their whole text, as in "services minio".
 *
 * Keys are the same in upper and lower case. */
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

/* Adds the settings in the text of a file. The function has no side effects. `name` is the file's
 * name for messages. */
int profiles_parse(struct profiles *profiles, enum profile_file file, const char *name,
                   char *text, struct sheaf_error *err);

/* Reads both files: those in AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE, whose paths may begin
 * with "~/", or else those in ~/.aws. A missing file counts as empty. */
int profiles_load(struct profiles *profiles, struct sheaf_error *err);
void profiles_free(struct profiles *profiles);

/* NULL for what is not there. */
bool profiles_section_has(const struct profiles *profiles, const char *section);
const char *profiles_section_get(const struct profiles *profiles, const char *section,
                                 const char *key);
/* Returns the value of a key in a profile. The profile's section is "profile NAME". */
const char *profiles_get(const struct profiles *profiles, const char *profile, const char *key);
/* Returns the value of a key in a profile, from only one of the two files. */
const char *profiles_get_from(const struct profiles *profiles, enum profile_file file,
                              const char *profile, const char *key);
bool profiles_has(const struct profiles *profiles, const char *profile);

/* Returns the profile in use: AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default". */
const char *profile_in_use(void);

#endif
