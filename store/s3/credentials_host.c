/* SPDX-License-Identifier: MIT
 *
 * Fetches credentials from the machine on which the process runs. The credentials come from the
 * endpoint of a container (ECS, SageMaker, EKS Pod Identity), or from the metadata service of an
 * EC2 instance. Only version 2 of the metadata service is used. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "store/json_answer.h"
#include "store/s3/credentials_sources.h"

/* ---- Container ------------------------------------------------------------------------------- */

/* Returns whether a token may be sent to this host without encryption. The host must be this
 * machine, or one of the fixed addresses at which containers get their credentials. */
static bool may_be_plain(const char *host)
{
    static const char *const allowed[] = {
        "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
    };
    struct in_addr address;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (strcasecmp(host, allowed[i]) == 0)
            return true;
    return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

static int container_url(const struct credentials_context *c, char **out,
                         struct sheaf_error *err)
{
    const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    struct url url;
    bool allowed;
    int code;

    *out = NULL;
    if (relative != NULL && *relative != '\0')
        return asprintf(out, "%s%s", c->container_origin, relative) < 0 ? err_memory(err, 64)
                                                                        : SHEAF_OK;
    if (full == NULL || *full == '\0')
        return SHEAF_END;
    code = url_parse(full, &url, err);
    if (code != SHEAF_OK) {
        err_prefix(err, "AWS_CONTAINER_CREDENTIALS_FULL_URI: ");
        return code;
    }
    allowed = url.tls || may_be_plain(url.host);
    code = allowed ? SHEAF_OK
                   : err_set(err, SHEAF_ERR_ACCESS, "AWS_CONTAINER_CREDENTIALS_FULL_URI: http to "
                             "host %.80s is not allowed: it must be https", url.host);
    url_free(&url);
    if (code == SHEAF_OK && (*out = strdup(full)) == NULL)
        code = err_memory(err, strlen(full));
    return code;
}

/* Reads the token for the container's endpoint. If the token is in a file, the file is read each
 * time, because the platform renews it. *token becomes NULL if there is no token. */
static int container_token(char **token, struct sheaf_error *err)
{
    const char *path = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *text = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");

    *token = NULL;
    if (path != NULL && *path != '\0')
        return credentials_read_file(path, token, err);
    if (text == NULL || *text == '\0')
        return SHEAF_OK;
    *token = strdup(text);
    return *token == NULL ? err_memory(err, strlen(text)) : SHEAF_OK;
}

int credentials_from_container(const struct credentials_context *c, struct credentials **set,
                               struct sheaf_error *err)
{
    char *url = NULL, *token = NULL, *text = NULL;
    int code = container_url(c, &url, err);

    if (code != SHEAF_OK)
        return code;
    code = container_token(&token, err);
    if (code == SHEAF_OK)
        code = credentials_ask(c, HTTP_GET, url, token != NULL ? "authorization" : NULL, token,
                               json_answer_check, &text, err);
    if (code == SHEAF_OK)
        code = credentials_from_json(text, strlen(text), "the container's credentials", 0, set,
                                     err);
    if (token != NULL)
        explicit_bzero(token, strlen(token));
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(url);
    free(token);
    free(text);
    return code;
}

/* ---- Instance -------------------------------------------------------------------------------- */

#define ROLES "/latest/meta-data/iam/security-credentials/"

static int ask_instance(const struct credentials_context *c, const char *token, const char *path,
                        const char *last,
                        int (*check)(struct request *request, struct sheaf_error *err),
                        char **text, struct sheaf_error *err)
{
    const char *origin = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    size_t size;
    char *url;
    int code;

    *text = NULL;
    if (origin == NULL || *origin == '\0')
        origin = "http://169.254.169.254";
    size = strlen(origin);
    while (size != 0 && origin[size - 1] == '/')
        size--;
    if (asprintf(&url, "%.*s%s%s", (int)size, origin, path, last) < 0)
        return err_memory(err, 64);
    if (token == NULL)
        code = credentials_ask(c, HTTP_PUT, url, "x-aws-ec2-metadata-token-ttl-seconds", "21600",
                               check, text, err);
    else
        code = credentials_ask(c, HTTP_GET, url, "x-aws-ec2-metadata-token", token, check, text,
                               err);
    free(url);
    return code;
}

/* Requests a token from the metadata service of an EC2 instance. On any other machine, the request
 * gets no response or is refused. In both cases the function returns SHEAF_END, which is not an
 * error. */
static int instance_token(const struct credentials_context *c, char **token,
                          struct sheaf_error *err)
{
    static const struct request_patience once = {
        .retry = { .attempts = 1 }, .stall_ns = 2000000000, .stall_bytes = 1,
    };
    struct credentials_context hasty = *c;
    int code;

    hasty.patience = &once;
    code = ask_instance(&hasty, NULL, "/latest/api/token", "", NULL, token, err);
    return code == SHEAF_ERR_NETWORK || code == SHEAF_ERR_ACCESS || code == SHEAF_ERR_UNSUPPORTED
           ? SHEAF_END : code;
}

int credentials_from_instance(const struct credentials_context *c, struct credentials **set,
                              struct sheaf_error *err)
{
    const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
    char *token = NULL, *role = NULL, *text = NULL;
    int code;

    if (disabled != NULL && strcasecmp(disabled, "true") == 0)
        return SHEAF_END;
    code = instance_token(c, &token, err);
    if (code == SHEAF_OK)
        code = ask_instance(c, token, ROLES, "", NULL, &role, err);
    if (code == SHEAF_ERR_NOT_FOUND)
        code = SHEAF_END;       /* an instance without a role */
    if (code == SHEAF_OK) {
        role[strcspn(role, "\r\n")] = '\0';
        code = ask_instance(c, token, ROLES, role, json_answer_check, &text, err);
    }
    if (code == SHEAF_OK)
        code = credentials_from_json(text, strlen(text), "the instance's credentials", 0, set,
                                     err);
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(token);
    free(role);
    free(text);
    return code;
}
