/* SPDX-License-Identifier: MIT
 *
 * The sources of AWS credentials. As in AWS's own tools, they are asked in this order:
 *
 * - The environment has AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
 * - The profile names a role: role_arn with source_profile or credential_source.
 * - A web identity (as in Kubernetes) is given by AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or
 *   else by web_identity_token_file and role_arn in the profile.
 * - The profile uses single sign-on, with the token that `aws sso login` has stored.
 * - The profile has keys in the credentials file.
 * - The profile names a program: credential_process.
 * - The profile has keys in the config file.
 * - A container (ECS, EKS, SageMaker) has AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI.
 * - An instance (EC2) has a metadata service, of which version 2 is used.
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
