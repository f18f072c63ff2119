/* SPDX-License-Identifier: MIT
 *
 * The settings, looked up in the order that the header's table has. */
#include "store/s3/s3_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

static bool is_true(const char *value)
{
    return value != NULL && (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0 ||
                             strcasecmp(value, "yes") == 0);
}

static const char *setting(const struct s3_config *c, const char *variable, const char *key)
{
    const char *value = environment(variable);

    return value != NULL ? value : profiles_get(&c->profiles, c->profile, key);
}

/* A setting that ends up in a host name or a signature. */
static int copy_name(const char *value, const char *what, char **copy, struct sheaf_error *err)
{
    for (const char *c = value; *c != '\0'; c++)
        if (!url_is_unreserved((unsigned char)*c))
            return err_set(err, SHEAF_ERR_ARGUMENT, "invalid %s \"%.80s\"", what, value);
    *copy = strdup(value);
    return *copy == NULL ? err_memory(err, strlen(value)) : SHEAF_OK;
}

const char *s3_config_domain(const char *region)
{
    return strncmp(region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";
}

/* ---- Endpoints ------------------------------------------------------------------------------- */

/* "services = NAME" in the profile, and then "s3 = / endpoint_url = ..." in [services NAME]. */
static const char *services_endpoint(const struct s3_config *c, const char *service)
{
    const char *services = profiles_get(&c->profiles, c->profile, "services");
    char section[300], key[64];

    if (services == NULL ||
        snprintf(section, sizeof(section), "services %s", services) >= (int)sizeof(section))
        return NULL;
    snprintf(key, sizeof(key), "%s.endpoint_url", service);
    return profiles_section_get(&c->profiles, section, key);
}

static const char *configured_endpoint(const struct s3_config *c, const char *service)
{
    char variable[64] = "AWS_ENDPOINT_URL_";
    const size_t used = strlen(variable);
    const char *value;

    if (is_true(environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")))
        return NULL;
    for (size_t i = 0; service[i] != '\0' && used + i + 1 < sizeof(variable); i++)
        variable[used + i] = (char)toupper((unsigned char)service[i]);
    value = environment(variable);
    if (value == NULL)
        value = environment("AWS_ENDPOINT_URL");
    if (value == NULL)
        value = services_endpoint(c, service);
    return value != NULL ? value : profiles_get(&c->profiles, c->profile, "endpoint_url");
}

static int parse_endpoint(const char *value, struct url *url, struct sheaf_error *err)
{
    int code = url_parse(value, url, err);

    if (code == SHEAF_OK && strcmp(url->path, "/") != 0) {
        url_free(url);
        code = err_set(err, SHEAF_ERR_ARGUMENT, "it may not have a path");
    }
    return code == SHEAF_OK ? code
                            : err_prefix(err, "endpoint %.*s: ", url_printable_size(value), value);
}

int s3_config_service_url(const struct s3_config *c, const char *service, struct url *url,
                          struct sheaf_error *err)
{
    const char *value = configured_endpoint(c, service);
    char own[300];

    if (value == NULL) {
        snprintf(own, sizeof(own), "https://%s.%s.%s", service, c->region,
                 s3_config_domain(c->region));
        value = own;
    }
    return parse_endpoint(value, url, err);
}

/* ---- Loading --------------------------------------------------------------------------------- */

static int load_style(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = setting(c, "SHEAF_S3_ADDRESSING", "s3.addressing_style");

    if (value == NULL || strcmp(value, "auto") == 0)
        c->style = S3_STYLE_AUTO;
    else if (strcmp(value, "path") == 0)
        c->style = S3_STYLE_PATH;
    else if (strcmp(value, "virtual") == 0)
        c->style = S3_STYLE_VIRTUAL;
    else
        return err_set(err, SHEAF_ERR_ARGUMENT, "S3 addressing style \"%.40s\" is not one of "
                       "auto, path, virtual", value);
    return SHEAF_OK;
}

/* On for Amazon, off elsewhere, since many a compatible store refuses what it does not know. */
static int load_checksums(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = setting(c, "AWS_REQUEST_CHECKSUM_CALCULATION",
                                "request_checksum_calculation");

    if (value == NULL)
        c->checksums = c->endpoint.host == NULL;
    else if (strcasecmp(value, "when_supported") == 0)
        c->checksums = true;
    else if (strcasecmp(value, "when_required") == 0)
        c->checksums = false;
    else
        return err_set(err, SHEAF_ERR_ARGUMENT, "checksum calculation \"%.40s\" is neither "
                       "when_supported nor when_required", value);
    return SHEAF_OK;
}

static int load_region(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = environment("AWS_REGION");

    if (value == NULL)
        value = setting(c, "AWS_DEFAULT_REGION", "region");
    return copy_name(value != NULL ? value : "us-east-1", "region", &c->region, err);
}

static int load_ca_file(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = setting(c, "AWS_CA_BUNDLE", "ca_bundle");

    if (value == NULL)
        return SHEAF_OK;
    c->ca_file = strdup(value);
    return c->ca_file == NULL ? err_memory(err, strlen(value)) : SHEAF_OK;
}

static int load(struct s3_config *c, struct sheaf_error *err)
{
    const char *endpoint;
    int code = profiles_load(&c->profiles, err);

    if (code != SHEAF_OK)
        return code;
    if (strcmp(c->profile, "default") != 0 && !profiles_has(&c->profiles, c->profile))
        return err_set(err, SHEAF_ERR_ARGUMENT, "AWS_PROFILE: no profile \"%.80s\" in the AWS "
                       "configuration files", c->profile);
    code = load_region(c, err);
    endpoint = configured_endpoint(c, "s3");
    if (code == SHEAF_OK && endpoint != NULL)
        code = parse_endpoint(endpoint, &c->endpoint, err);
    if (code == SHEAF_OK)
        code = load_style(c, err);
    if (code == SHEAF_OK)
        code = load_checksums(c, err);
    if (code == SHEAF_OK)
        code = load_ca_file(c, err);
    c->anonymous = is_true(environment("AWS_NO_SIGN_REQUEST"));
    return code;
}

int s3_config_load(struct s3_config *c, struct sheaf_error *err)
{
    int code;

    memset(c, 0, sizeof(*c));
    c->profile = strdup(profile_in_use());
    code = c->profile == NULL ? err_memory(err, 64) : load(c, err);
    if (code != SHEAF_OK)
        s3_config_free(c);
    return code;
}

void s3_config_free(struct s3_config *c)
{
    profiles_free(&c->profiles);
    url_free(&c->endpoint);
    free(c->profile);
    free(c->region);
    free(c->ca_file);
    memset(c, 0, sizeof(*c));
}
