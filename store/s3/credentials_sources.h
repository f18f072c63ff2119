/* SPDX-License-Identifier: MIT
 *
 * The sources of AWS credentials, in the order of AWS's own tools:
 *
 *     1. environment       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *     2. role              of the profile: role_arn with source_profile or credential_source
 *     3. web identity      AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (Kubernetes), each before
 *                          the profile's web_identity_token_file and role_arn
 *     4. single sign-on    of the profile, with the token that `aws sso login` left
 *     5. keys              of the profile in the credentials file
 *     6. credential_process of the profile
 *     7. keys              of the profile in the config file
 *     8. container         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, _FULL_URI (ECS, EKS, SageMaker)
 *     9. instance          the metadata service, version 2 (EC2)
 *
 * Each function below returns a set, or SHEAF_END if its source is not configured, or an error. An
 * error ends the search, because a user who names a profile does not want other keys. The functions
 * block. */
#ifndef STORE_S3_CREDENTIALS_SOURCES_H
#define STORE_S3_CREDENTIALS_SOURCES_H

#include "store/request.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_config.h"

/* The configuration and the connections that a search for credentials uses. It must outlive the
 * cache of credentials that uses it. */
struct credentials_context {
    struct http_engine *engine;
    const struct request_patience *patience;
    const struct s3_config *config;
    const char *container_origin;   /* of relative URIs: "http://169.254.170.2" */
};

/* The whole search, as a cache. */
int credentials_open(struct credentials_cache **cache, const struct credentials_context *context,
                     struct sheaf_error *err);

int credentials_from_environment(struct credentials **set, struct sheaf_error *err);
/* 2 to 7. */
int credentials_from_profile(const struct credentials_context *context, const char *profile,
                             struct credentials **set, struct sheaf_error *err);
int credentials_from_sso(const struct credentials_context *context, const char *profile,
                         struct credentials **set, struct sheaf_error *err);
int credentials_from_container(const struct credentials_context *context,
                               struct credentials **set, struct sheaf_error *err);
int credentials_from_instance(const struct credentials_context *context,
                              struct credentials **set, struct sheaf_error *err);

/* ---- Shared by them ---- */

struct role {
    const char *arn;
    const char *session_name;       /* NULL: "sheaf" */
    const char *external_id;        /* NULL: none */
    const char *duration_seconds;   /* NULL: the service's default, an hour */
    const char *tags;               /* "key=value,key=value"; NULL: none */
    const char *token_file;         /* of web identity; else NULL */
};

/* Assumes a role with the keys `base`. If `base` is NULL, assumes it with the web identity in the
 * role's token_file. */
int credentials_assume_role(const struct credentials_context *context, const struct role *role,
                            const struct credentials *base, struct credentials **set,
                            struct sheaf_error *err);

/* Reads the <Credentials> in a response. If `expires` is set, the response must state when the
 * credentials expire. */
int credentials_from_xml(const struct request *request, bool expires, struct credentials **set,
                         struct sheaf_error *err);
/* request.check: the answer has them. */
int credentials_check_xml(struct request *request, struct sheaf_error *err);

/* Parses credentials in JSON, which have the members "AccessKeyId", "SecretAccessKey", "Token" or
 * "SessionToken", and "Expiration". `from` describes the source in messages, which never contain
 * the text. `version` is the required value of the member "Version", or 0 if none is required. */
int credentials_from_json(const char *text, size_t size, const char *from, int version,
                          struct credentials **set, struct sheaf_error *err);

/* Reads a small file and removes white space at its end. The caller frees the text. */
int credentials_read_file(const char *path, char **text, struct sheaf_error *err);

/* Sends a GET or PUT request to `url` with at most one additional header (`header` is NULL for
 * none). The caller frees the response's text, which ends with a NUL. `check` is a function as in
 * struct request. */
int credentials_ask(const struct credentials_context *context, enum http_method method,
                    const char *url, const char *header, const char *value,
                    int (*check)(struct request *request, struct sheaf_error *err), char **text,
                    struct sheaf_error *err);

#endif
