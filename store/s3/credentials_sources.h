/* SPDX-License-Identifier: MIT
 *
 * The sources of AWS credentials. As in AWS's own tools, they are asked in this order:
 * - the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
 * - the profile, if it names a role: role_arn with source_profile or credential_source;
 * - a web identity (as in Kubernetes): AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or else
 *   web_identity_token_file and role_arn of the profile;
 * - the profile, if it uses single sign-on, with the token that `aws sso login` has stored;
 * - the keys of the profile in the credentials file;
 * - the program that the profile names: credential_process;
 * - the keys of the profile in the config file;
 * - a container (ECS, EKS, SageMaker): AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI;
 * - the metadata service of an instance (EC2), version 2.
 *
 * Each function below returns a set of credentials, or SHEAF_END if its source is not configured,
 * or an error. An error ends the search: if a user has named a profile and it fails, keys from
 * another source would be the wrong keys. The functions may wait for the network. */
#ifndef STORE_S3_CREDENTIALS_SOURCES_H
#define STORE_S3_CREDENTIALS_SOURCES_H

#include "store/request.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_config.h"

/* The configuration and the connections for a search for credentials. Both must exist longer than
 * the cache of credentials that uses them. */
struct credentials_context {
    struct http_engine *engine;
    const struct request_patience *patience;
    const struct s3_config *config;
    const char *container_origin;   /* of relative URIs: "http://169.254.170.2" */
};

/* Opens a cache that asks all sources in order whenever it needs credentials. */
int credentials_open(struct credentials_cache **cache, const struct credentials_context *context,
                     struct sheaf_error *err);

int credentials_from_environment(struct credentials **set, struct sheaf_error *err);
/* Looks for credentials in the sources that a profile configures: the second to the seventh source
 * of the list at the top of this file. The sources are asked in the order of this list. */
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

/* Assumes a role: asks AWS for temporary credentials of the role. The request is signed with the
 * keys `base`. If `base` is NULL, the request is not signed, and contains the web identity from the
 * role's token_file instead. */
int credentials_assume_role(const struct credentials_context *context, const struct role *role,
                            const struct credentials *base, struct credentials **set,
                            struct sheaf_error *err);

/* Reads a set of credentials from the <Credentials> element of a response. If `expires` is set, the
 * response must say when the set expires. */
int credentials_from_xml(const struct request *request, bool expires, struct credentials **set,
                         struct sheaf_error *err);
/* A request.check function: checks that the response contains credentials. */
int credentials_check_xml(struct request *request, struct sheaf_error *err);

/* Parses credentials in JSON. The members are "AccessKeyId", "SecretAccessKey", "Token" or
 * "SessionToken", and "Expiration". `version` is the required value of the member "Version", or 0
 * if this member is not required. `from` describes the source in messages. Error messages never
 * quote the text, because it contains secrets. */
int credentials_from_json(const char *text, size_t size, const char *from, int version,
                          struct credentials **set, struct sheaf_error *err);

/* Reads a small file, and removes white space at the end of its text. The caller must free the
 * text. */
int credentials_read_file(const char *path, char **text, struct sheaf_error *err);

/* Sends a GET or PUT request to `url`, with one additional header if `header` is not NULL. *text
 * becomes the text of the response with a NUL after it; the caller must free it. `check` is as in
 * struct request. */
int credentials_ask(const struct credentials_context *context, enum http_method method,
                    const char *url, const char *header, const char *value,
                    int (*check)(struct request *request, struct sheaf_error *err), char **text,
                    struct sheaf_error *err);

#endif
