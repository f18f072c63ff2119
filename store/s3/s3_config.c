/* SPDX-License-Identifier: MIT
 *
 * Reads the settings of S3 from the environment and the configuration files, in the order of the
 * table in s3_config.h. */
#include "store/s3/s3_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/number.h"
#include "store/s3/aws_partition.h"

static const char *s3_config_environment(const char *name)
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
    const char *value = s3_config_environment(variable);

    return value != NULL ? value : profiles_get(&c->profiles, c->profile, key);
}

/* Reads a flag, which must be "true" or "false". AWS's own tools treat every other word as "false".
 * A user who writes 1 or yes would then wrongly believe that the flag is set, so other words are
 * refused here. */
static int read_flag(const char *what, const char *value, bool *flag, struct sheaf_error *err)
{
    if (value == NULL)
        return SHEAF_OK;
    *flag = strcasecmp(value, "true") == 0;
    if (*flag || strcasecmp(value, "false") == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: \"%.40s\" is neither true nor false", what, value);
}

/* ---- Endpoints ------------------------------------------------------------------------------- */

/* Looks for a line "services = NAME" in the profile, and then for the endpoint of `service` in the
 * section [services NAME]. In this section, "endpoint_url = ..." is indented under "s3 =". */
static int services_endpoint(const struct s3_config *c, const char *service, const char **value,
                             struct sheaf_error *err)
{
    const char *services = profiles_get(&c->profiles, c->profile, "services");
    char section[300], key[64];

    if (services == NULL)
        return SHEAF_OK;
    snprintf(section, sizeof(section), "services %s", services);
    snprintf(key, sizeof(key), "%s.endpoint_url", service);
    if (!profiles_section_has(&c->profiles, section))
        return err_set(err, SHEAF_ERR_ARGUMENT, "services = %.80s in profile \"%.80s\": no section "
                       "[services %.80s] in the AWS configuration file", services, c->profile,
                       services);
    *value = profiles_section_get(&c->profiles, section, key);
    return SHEAF_OK;
}

/* Finds the endpoint of `service` in the configuration. *value becomes NULL if none is
 * configured. */
static int configured_endpoint(const struct s3_config *c, const char *service, const char **value,
                               struct sheaf_error *err)
{
    char variable[64] = "AWS_ENDPOINT_URL_";
    const size_t used = strlen(variable);
    int code = SHEAF_OK;

    *value = NULL;
    if (c->no_endpoints)
        return SHEAF_OK;
    for (size_t i = 0; service[i] != '\0' && used + i + 1 < sizeof(variable); i++)
        variable[used + i] = (char)toupper((unsigned char)service[i]);
    *value = s3_config_environment(variable);
    if (*value == NULL)
        *value = s3_config_environment("AWS_ENDPOINT_URL");
    if (*value == NULL)
        code = services_endpoint(c, service, value, err);
    if (code == SHEAF_OK && *value == NULL)
        *value = profiles_get(&c->profiles, c->profile, "endpoint_url");
    return code;
}

static int parse_endpoint(const char *value, struct url *url, struct sheaf_error *err)
{
    int code = url_parse(value, url, err);

    if (code == SHEAF_OK && strchr(url->path, '?') != NULL) {
        url_free(url);
        code = err_set(err, SHEAF_ERR_ARGUMENT, "it may not have a query");
    }
    return code == SHEAF_OK ? code
                            : err_prefix(err, "endpoint %.*s: ", url_printable_size(value), value);
}

/* Returns whether S3 has separate hosts for FIPS in the regions of this partition. In the regions
 * of the US government, S3 without dual-stack has only one host, and this host follows FIPS. */
static bool has_fips_host(const struct aws_partition *partition, bool dual_stack)
{
    return dual_stack || strcmp(partition->name, "aws-us-gov") != 0;
}

int s3_config_service_url(const struct s3_config *c, const char *service, const char *host,
                          const char *region, struct url *url, struct sheaf_error *err)
{
    const struct aws_partition *partition = aws_partition_of(region);
    const char *value;
    char own[300];
    int code = configured_endpoint(c, service, &value, err);

    if (code != SHEAF_OK)
        return code;
    if (value != NULL)
        return parse_endpoint(value, url, err);
    if (c->dual_stack && partition->dual_domain == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "AWS_USE_DUALSTACK_ENDPOINT: partition %s has "
                       "no dual-stack endpoints", partition->name);
    snprintf(own, sizeof(own), "https://%s%s.%s.%s", host,
             c->fips && has_fips_host(partition, c->dual_stack) ? "-fips" : "", region,
             c->dual_stack ? partition->dual_domain : partition->domain);
    return parse_endpoint(own, url, err);
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

bool s3_config_is_amazon(const struct s3_config *c)
{
    return c->endpoint.host == NULL || strstr(c->endpoint.host, ".amazonaws.com") != NULL;
}

/* Decides whether checksums are sent. By default they are sent to Amazon's service only, because
 * many compatible stores refuse unknown headers. */
static int load_checksums(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = setting(c, "AWS_REQUEST_CHECKSUM_CALCULATION",
                                "request_checksum_calculation");

    if (value == NULL)
        c->checksums = s3_config_is_amazon(c);
    else if (strcasecmp(value, "when_supported") == 0)
        c->checksums = true;
    else if (strcasecmp(value, "when_required") == 0)
        c->checksums = false;
    else
        return err_set(err, SHEAF_ERR_ARGUMENT, "checksum calculation \"%.40s\" is neither "
                       "when_supported nor when_required", value);
    return SHEAF_OK;
}

/* Reads the region. Also accepts names such as "fips-us-west-2", "us-west-2-fips" and "aws-global".
 * They are names of endpoints, but older configurations use them as regions. */
static int load_region(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = s3_config_environment("AWS_REGION");
    size_t size;

    if (value == NULL)
        value = setting(c, "AWS_DEFAULT_REGION", "region");
    if (value == NULL || strcmp(value, "aws-global") == 0) {
        c->is_global = value != NULL || c->is_regional;
        value = "us-east-1";
        c->is_regional = false;
    }
    if (!aws_region_is_name(value))
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid region \"%.80s\"", value);
    size = strlen(value);
    if (strncmp(value, "fips-", 5) == 0) {
        c->fips = true;
        value += 5;
        size -= 5;
    } else if (size > 5 && strcmp(value + size - 5, "-fips") == 0) {
        c->fips = true;
        size -= 5;
    }
    c->region = strndup(value, size);
    return c->region == NULL ? err_memory(err, size) : SHEAF_OK;
}

/* Reads the flags that choose between host names. The environment takes precedence over the
 * profile. In the profile, s3_use_arn_region takes precedence over the nested setting
 * s3.use_arn_region. Dual-stack hosts are used if use_dualstack_endpoint or the nested setting
 * s3.use_dualstack_endpoint is true. */
static int load_flags(struct s3_config *c, struct sheaf_error *err)
{
    bool is_s3_dual = false;
    const struct {
        const char *variable, *key, *s3_key;
        bool *flag;
    } flags[] = {
        { "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint", NULL, &c->fips },
        { "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint", NULL, &c->dual_stack },
        { NULL, NULL, "s3.use_dualstack_endpoint", &is_s3_dual },
        { NULL, NULL, "s3.use_accelerate_endpoint", &c->accelerate },
        { "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "s3_disable_express_session_auth", NULL,
          &c->no_sessions },
        { "AWS_S3_USE_ARN_REGION", "s3_use_arn_region", "s3.use_arn_region", &c->use_arn_region },
        { "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls", NULL,
          &c->no_endpoints },
    };
    int code = SHEAF_OK;

    c->use_arn_region = true;
    for (size_t i = 0; i < COUNT_OF(flags) && code == SHEAF_OK; i++) {
        const char *what = flags[i].variable, *value = what != NULL ? s3_config_environment(what)
            : NULL;

        if (value == NULL && flags[i].key != NULL)
            value = profiles_get(&c->profiles, c->profile, what = flags[i].key);
        if (value == NULL && flags[i].s3_key != NULL)
            value = profiles_get(&c->profiles, c->profile, what = flags[i].s3_key);
        code = read_flag(what, value, flags[i].flag, err);
    }
    c->dual_stack |= is_s3_dual;
    return code;
}

static int load_regional(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = setting(c, "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT",
                                "s3_us_east_1_regional_endpoint");

    if (value == NULL)
        value = profiles_get(&c->profiles, c->profile, "s3.us_east_1_regional_endpoint");
    c->is_regional = value != NULL && strcmp(value, "regional") == 0;
    if (value == NULL || c->is_regional || strcmp(value, "legacy") == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT: \"%.40s\" is "
                   "neither regional nor legacy", value);
}

/* Reads the number of attempts. In AWS's own tools, the retry mode also determines the waits
 * between attempts. In Sheaf, the waits do not depend on the mode: they are random, become longer
 * each time, and are at least as long as the server requests. */
static int load_attempts(struct s3_config *c, struct sheaf_error *err)
{
    const char *mode = setting(c, "AWS_RETRY_MODE", "retry_mode");
    const char *value = setting(c, "AWS_MAX_ATTEMPTS", "max_attempts");
    uint64_t attempts = 0;

    if (mode != NULL && strcmp(mode, "legacy") != 0 && strcmp(mode, "standard") != 0 &&
        strcmp(mode, "adaptive") != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "AWS_RETRY_MODE: \"%.40s\" is not one of legacy, "
                       "standard, adaptive", mode);
    if (value != NULL && (!number_parse(value, 1000, &attempts) || attempts < 1))
        return err_set(err, SHEAF_ERR_ARGUMENT, "AWS_MAX_ATTEMPTS: \"%.40s\" is not a number of 1 "
                       "to 1000", value);
    c->attempts = (unsigned)attempts;
    return SHEAF_OK;
}

static int load_ca_file(struct s3_config *c, struct sheaf_error *err)
{
    const char *value = setting(c, "AWS_CA_BUNDLE", "ca_bundle");

    if (value == NULL)
        return SHEAF_OK;
    c->ca_file = strdup(value);
    return c->ca_file == NULL ? err_memory(err, strlen(value)) : SHEAF_OK;
}

static int s3_config_do_load(struct s3_config *c, struct sheaf_error *err)
{
    const char *endpoint;
    int code = profiles_load(&c->profiles, err);

    if (code != SHEAF_OK)
        return code;
    if ((s3_config_environment("AWS_PROFILE") != NULL
         || s3_config_environment("AWS_DEFAULT_PROFILE") != NULL) && !profiles_has(&c->profiles,
                                                                                   c->profile))
        return err_set(err, SHEAF_ERR_ARGUMENT, "AWS_PROFILE: no profile \"%.80s\" in the AWS "
                       "configuration files", c->profile);
    code = load_flags(c, err);
    if (code == SHEAF_OK)
        code = load_regional(c, err);
    if (code == SHEAF_OK)
        code = load_region(c, err);
    if (code == SHEAF_OK)
        code = load_attempts(c, err);
    if (code == SHEAF_OK)
        code = configured_endpoint(c, "s3", &endpoint, err);
    if (code == SHEAF_OK && endpoint != NULL)
        code = parse_endpoint(endpoint, &c->endpoint, err);
    if (code == SHEAF_OK)
        code = load_style(c, err);
    if (code == SHEAF_OK)
        code = load_checksums(c, err);
    if (code == SHEAF_OK)
        code = load_ca_file(c, err);
    c->anonymous = is_true(s3_config_environment("AWS_NO_SIGN_REQUEST"));
    return code;
}

int s3_config_load(struct s3_config *c, struct sheaf_error *err)
{
    int code;

    memset(c, 0, sizeof(*c));
    c->profile = strdup(profile_in_use());
    code = c->profile == NULL ? err_memory(err, 64) : s3_config_do_load(c, err);
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
