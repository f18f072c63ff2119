/* SPDX-License-Identifier: MIT
 *
 * Finds the host and path of a bucket by the rules of AWS's own tools.
 * tests/interop/test_botocore.py compares the results with those of AWS's library botocore. */
#include "store/s3/s3_place.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/s3/aws_partition.h"

#define HOST_MOST 300           /* bytes of a host name, including a bucket's */

struct place_search {
    const struct s3_config *config;
    const char *bucket;
    const char *region;
    struct s3_place *place;
};

/* ---- Hosts ----------------------------------------------------------------------------------- */

/* Returns whether a name belongs to a directory bucket, or to an access point of a directory
 * bucket. Such names end with the name of an availability zone and a suffix. For
 * "data--usw2-az1--x-s3" or "data--usw2-az1--xa-s3", *zone_found becomes "usw2-az1". *zone_found
 * becomes NULL if the name has no zone. */
static bool is_express(const char *name, const char **zone_found, int *size)
{
    static const char *const ends[] = { "--x-s3", "--xa-s3" };
    const size_t name_size = strlen(name);

    *zone_found = NULL;

    for (size_t i = 0; i < 2; i++) {
        const size_t end_size = strlen(ends[i]);
        const char *end = name + name_size - end_size, *zone = end;

        if (name_size <= end_size || strcmp(end, ends[i]) != 0)
            continue;
        while (zone > name + 2 && strncmp(zone - 2, "--", 2) != 0)
            zone--;
        if (zone > name + 2 && zone != end)
            *zone_found = zone;
        *size = (int)(end - zone);
        return true;
    }
    return false;
}

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Returns whether the name of a bucket can be the first part of a host name. With TLS, the name
 * must not have a dot, because the server's certificate would not match the host name. */
static bool may_be_host(const char *name, bool tls)
{
    const size_t size = strlen(name);

    for (size_t i = 0; i < size; i++) {
        const bool is_inside = i > 0 && i + 1 < size;
        const bool is_dot = name[i] == '.' && !tls && is_lower_or_digit(name[i + 1]) &&
                            is_inside && is_lower_or_digit(name[i - 1]);

        if (!is_lower_or_digit(name[i]) && !(name[i] == '-' && is_inside) && !is_dot)
            return false;
    }
    return size != 0;
}

static bool is_address(const char *host)
{
    struct in_addr address;

    return *host == '[' || inet_pton(AF_INET, host, &address) == 1;
}

static const char *fips(const struct place_search *s)
{
    return s->config->fips ? "-fips" : "";
}

static const char *dual_stack(const struct place_search *s)
{
    return s->config->dual_stack ? ".dualstack" : "";
}

static int check_partition(const struct place_search *s, struct sheaf_error *err)
{
    const struct aws_partition *partition = aws_partition_of(s->region);

    if (s->config->endpoint.host == NULL && s->config->fips && !partition->has_s3_fips)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "AWS_USE_FIPS_ENDPOINT: S3 has no FIPS "
                       "endpoints in partition %s (region %s)", partition->name, s->region);
    if (s->config->dual_stack && partition->dual_domain == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "AWS_USE_DUALSTACK_ENDPOINT: S3 has no "
                       "dual-stack endpoints in partition %s (region %s)", partition->name,
                       s->region);
    return SHEAF_OK;
}

/* ---- A place --------------------------------------------------------------------------------- */

/* Sets the host of the bucket, and the path under which the bucket is found there. The host is
 * "LABEL.HOST", or `host` if `label` is empty. The path is the path of the endpoint followed by
 * in_path. */
static int set_place(struct place_search *s, const char *label, const char *host,
                     const char *in_path, struct sheaf_error *err)
{
    const struct url *endpoint = &s->config->endpoint;
    struct s3_place *place = s->place;
    const char *base = endpoint->host != NULL ? endpoint->path : "";
    int base_size = (int)strlen(base);

    while (base_size != 0 && base[base_size - 1] == '/')
        base_size--;
    place->url.tls = endpoint->host == NULL || endpoint->tls;
    place->url.port = endpoint->port;
    if (asprintf(&place->url.host, "%s%s%s", label, *label != '\0' ? "." : "", host) < 0)
        place->url.host = NULL;
    if (asprintf(&place->prefix, "%.*s%s%s", base_size, base, *in_path != '\0' ? "/" : "",
                 in_path) < 0)
        place->prefix = NULL;
    place->region = strdup(s->region);
    return place->url.host == NULL || place->prefix == NULL || place->region == NULL
           ? err_memory(err, HOST_MOST) : SHEAF_OK;
}

static int place_plain(struct place_search *s, struct sheaf_error *err)
{
    const struct s3_config *c = s->config;
    const struct url *endpoint = &c->endpoint;
    const bool is_own = endpoint->host == NULL;
    const bool wants_host = c->style == S3_STYLE_VIRTUAL || (c->style == S3_STYLE_AUTO && is_own);
    const bool in_host = wants_host && may_be_host(s->bucket, is_own || endpoint->tls) &&
                         (is_own || !is_address(endpoint->host));
    char own[HOST_MOST];
    int code = check_partition(s, err);

    if (code != SHEAF_OK)
        return code;
    if (!is_own && c->accelerate)
        return err_set(err, SHEAF_ERR_ARGUMENT, "use_accelerate_endpoint: the endpoint %s has no "
                       "S3 Accelerate", endpoint->host);
    if (c->accelerate && strcmp(aws_partition_of(s->region)->name, "aws-cn") == 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "use_accelerate_endpoint: region %s has no S3 "
                       "Accelerate", s->region);
    if (c->accelerate && !in_host)
        return err_set(err, SHEAF_ERR_ARGUMENT, "use_accelerate_endpoint needs a bucket whose name "
                       "can be part of a host's: not \"%.80s\"", s->bucket);
    if (c->accelerate && c->dual_stack && c->is_global)
        return err_set(err, SHEAF_ERR_ARGUMENT, "use_accelerate_endpoint: there is no global dual-"
                       "stack host: set AWS_REGION to a region");
    if (c->accelerate && c->fips)
        return err_set(err, SHEAF_ERR_ARGUMENT, "use_accelerate_endpoint: S3 Accelerate has no "
                       "FIPS endpoints");
    if (c->accelerate)
        snprintf(own, sizeof(own), "s3-accelerate%s.%s", dual_stack(s),
                 aws_partition_of(s->region)->domain);
    else if (strcmp(s->region, "us-east-1") == 0 && !c->is_regional && !c->fips && !c->dual_stack)
        snprintf(own, sizeof(own), "s3.amazonaws.com");
    else
        snprintf(own, sizeof(own), "s3%s%s.%s.%s", fips(s), dual_stack(s), s->region,
                 aws_partition_of(s->region)->domain);
    s->place->may_move = true;
    return set_place(s, in_host ? s->bucket : "", is_own ? own : endpoint->host,
                     in_host ? "" : s->bucket, err);
}

static int check_express(const struct place_search *s, const char *zone, struct sheaf_error *err)
{
    if (zone == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"%.80s\": a directory bucket's name ends in "
                       "--ZONE--x-s3, that of its access point in --ZONE--xa-s3", s->bucket);
    if (s->config->is_global)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.80s: a directory bucket has no global endpoint: "
                       "set AWS_REGION to its region", s->bucket);
    if (s->config->accelerate)
        return err_set(err, SHEAF_ERR_ARGUMENT, "use_accelerate_endpoint: a directory bucket has "
                       "no S3 Accelerate");
    return check_partition(s, err);
}

static int place_express(struct place_search *s, const char *zone, int zone_size,
                         struct sheaf_error *err)
{
    const struct url *endpoint = &s->config->endpoint;
    const bool is_own = endpoint->host == NULL;
    const bool in_host = is_own || !is_address(endpoint->host);     /* whatever the style is */
    char own[HOST_MOST];
    int code = check_express(s, zone, err);

    if (code != SHEAF_OK)
        return code;
    snprintf(own, sizeof(own), "s3express%s-%.*s%s.%s.%s", fips(s), zone_size, zone, dual_stack(s),
             s->region, aws_partition_of(s->region)->domain);
    s->place->service = "s3express";
    s->place->is_express = true;
    return set_place(s, in_host ? s->bucket : "", is_own ? own : endpoint->host,
                     in_host ? "" : s->bucket, err);
}

/* ---- ARNs ------------------------------------------------------------------------------------ */

enum { ARN_PARTITION = 1, ARN_SERVICE, ARN_REGION, ARN_ACCOUNT, ARN_RESOURCE, ARN_FIELDS };

static bool is_account(const char *text)
{
    return strlen(text) == 12 && strspn(text, "0123456789") == 12;
}

/* Divides a copy of an ARN (the full name of an AWS resource) into ARN_FIELDS fields at its colons.
 * The last field is the rest of the text, which may contain further colons. */
static int cut_arn(char *text, char *fields[ARN_FIELDS], const char *bucket,
                   struct sheaf_error *err)
{
    char *name;

    for (int i = 0; i < ARN_FIELDS; i++)
        fields[i] = i + 1 < ARN_FIELDS ? strsep(&text, ":") : text;
    if (fields[ARN_RESOURCE] == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid ARN \"%.150s\"", bucket);
    if (strcmp(fields[ARN_SERVICE], "s3") != 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%.150s: ARNs of %.40s are not supported, only "
                       "those of S3 access points", bucket, fields[ARN_SERVICE]);
    name = fields[ARN_RESOURCE];
    if (strncmp(name, "accesspoint", 11) != 0 || (name[11] != '/' && name[11] != ':') ||
        !is_account(fields[ARN_ACCOUNT]))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.150s: is not the ARN of an access point "
                       "(arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME)", bucket);
    fields[ARN_RESOURCE] = name + 12;
    if (*fields[ARN_REGION] == '\0')
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%.150s: multi-region access points need "
                       "signatures of version 4A, which are not supported: name a region's "
                       "access point or bucket", bucket);
    return aws_region_is_name(fields[ARN_REGION]) && may_be_host(fields[ARN_RESOURCE], true)
           ? SHEAF_OK : err_set(err, SHEAF_ERR_ARGUMENT, "invalid ARN \"%.150s\"", bucket);
}

static int place_arn(struct place_search *s, char *fields[ARN_FIELDS], struct sheaf_error *err)
{
    const struct s3_config *c = s->config;
    const char *own_partition = aws_partition_of(c->region)->name;
    char label[HOST_MOST], host[HOST_MOST];
    int code;

    if (strcmp(fields[ARN_PARTITION], own_partition) != 0 ||
        strcmp(aws_partition_of(fields[ARN_REGION])->name, own_partition) != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.150s: is in another partition than region %s: "
                       "set AWS_REGION=%s", s->bucket, c->region, fields[ARN_REGION]);
    if (!c->use_arn_region && (c->is_global || strcmp(fields[ARN_REGION], c->region) != 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.150s: is in another region than %s: set "
                       "AWS_REGION=%s, or AWS_S3_USE_ARN_REGION=true", s->bucket, c->region,
                       fields[ARN_REGION]);
    if (c->accelerate)
        return err_set(err, SHEAF_ERR_ARGUMENT, "use_accelerate_endpoint: an access point has no "
                       "S3 Accelerate");
    if (c->endpoint.host != NULL && is_address(c->endpoint.host))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.150s: an access point is part of a host's name: "
                       "the endpoint must have a name, not the address %s", s->bucket,
                       c->endpoint.host);
    s->region = fields[ARN_REGION];
    code = check_partition(s, err);
    if (code != SHEAF_OK)
        return code;
    snprintf(label, sizeof(label), "%s-%s", fields[ARN_RESOURCE], fields[ARN_ACCOUNT]);
    snprintf(host, sizeof(host), "s3-accesspoint%s%s.%s.%s", fips(s), dual_stack(s), s->region,
             aws_partition_of(s->region)->domain);
    return set_place(s, label, c->endpoint.host != NULL ? c->endpoint.host : host, "", err);
}

static int place_access_point(struct place_search *s, struct sheaf_error *err)
{
    char *fields[ARN_FIELDS], *copy = strdup(s->bucket);
    int code;

    if (copy == NULL)
        return err_memory(err, strlen(s->bucket));
    code = cut_arn(copy, fields, s->bucket, err);
    if (code == SHEAF_OK)
        code = place_arn(s, fields, err);
    free(copy);
    return code;
}

int s3_place_find(const struct s3_config *c, const char *bucket, const char *region,
                  struct s3_place *place, struct sheaf_error *err)
{
    struct place_search s = { .config = c, .bucket = bucket, .place = place,
                        .region = region != NULL ? region : c->region };
    int zone_size = 0, code;
    const char *zone;

    *place = (struct s3_place){ .service = "s3" };
    if (strncmp(bucket, "arn:", 4) == 0)
        code = place_access_point(&s, err);
    else if (is_express(bucket, &zone, &zone_size))
        code = place_express(&s, zone, zone_size, err);
    else
        code = place_plain(&s, err);
    if (code != SHEAF_OK)
        s3_place_free(place);
    return code;
}

void s3_place_free(struct s3_place *place)
{
    url_free(&place->url);
    free(place->prefix);
    free(place->region);
    place->prefix = place->region = NULL;
}
