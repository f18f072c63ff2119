/* SPDX-License-Identifier: MIT
 *
 * Requests temporary credentials from AWS's Security Token Service (STS), with one of two actions.
 * A request with the action AssumeRole is signed with keys. It may have session tags, by which one
 * role can give different permissions to different users. A request with the action
 * AssumeRoleWithWebIdentity has a token instead of keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/s3/aws_error.h"
#include "store/s3/credentials_sources.h"
#include "store/s3/s3_signing.h"
#include "store/s3/s3_xml.h"
#include "store/s3/sigv4.h"

#define TAGS_MOST 50            /* the service's own limit */
#define PAIRS_MOST (8 + 2 * TAGS_MOST)
#define FORM_MOST ((size_t)128 << 10)

struct sts_form {
    struct sigv4_pair pairs[PAIRS_MOST];
    size_t count;
    char names[2 * TAGS_MOST][32];      /* "Tags.member.12.Value" */
    char *tags;                         /* the tags' text, cut into pieces */
    char *token;
};

static void form_add(struct sts_form *form, const char *name, const char *value)
{
    if (value != NULL && *value != '\0')
        form->pairs[form->count++] = (struct sigv4_pair){ name, value };
}

/* "key=value,key=value" */
static int form_add_tags(struct sts_form *form, const char *tags, struct sheaf_error *err)
{
    char *rest, *tag;
    unsigned number = 0;

    if (tags == NULL || *tags == '\0')
        return SHEAF_OK;
    form->tags = strdup(tags);
    if (form->tags == NULL)
        return err_memory(err, strlen(tags));
    rest = form->tags;
    while ((tag = strsep(&rest, ",")) != NULL) {
        char *value = strchr(tag, '=');
        char (*names)[32] = &form->names[2 * number];

        if (value == NULL || value == tag)
            return err_set(err, SHEAF_ERR_ARGUMENT, "session tag \"%.80s\" is not KEY=VALUE", tag);
        if (number == TAGS_MOST)
            return err_set(err, SHEAF_ERR_LIMIT, "more than %d session tags", TAGS_MOST);
        *value++ = '\0';
        number++;
        snprintf(names[0], sizeof(names[0]), "Tags.member.%u.Key", number);
        snprintf(names[1], sizeof(names[1]), "Tags.member.%u.Value", number);
        form->pairs[form->count++] = (struct sigv4_pair){ names[0], tag };
        form->pairs[form->count++] = (struct sigv4_pair){ names[1], value };
    }
    return SHEAF_OK;
}

/* Fills in the fields of the request. A request with a web identity must not have tags, because the
 * token of the web identity already contains them. */
static int fill_form(struct sts_form *form, const struct role *role, struct sheaf_error *err)
{
    const bool web = role->token_file != NULL;
    int code = SHEAF_OK;

    if (web)
        code = credentials_read_file(role->token_file, &form->token, err);
    if (code != SHEAF_OK)
        return code;
    form_add(form, "Action", web ? "AssumeRoleWithWebIdentity" : "AssumeRole");
    form_add(form, "Version", "2011-06-15");
    form_add(form, "RoleArn", role->arn);
    form_add(form, "RoleSessionName", role->session_name != NULL ? role->session_name : "sheaf");
    form_add(form, "DurationSeconds", role->duration_seconds);
    form_add(form, "ExternalId", web ? NULL : role->external_id);
    form_add(form, "WebIdentityToken", form->token);
    return web ? SHEAF_OK : form_add_tags(form, role->tags, err);
}

int credentials_check_xml(struct request *r, struct sheaf_error *err)
{
    struct s3_xml_credentials xml;
    const int code = s3_xml_credentials(r->http.reply.data, r->http.reply.size, &xml, err);

    if (code == SHEAF_OK)
        s3_xml_credentials_free(&xml);
    return code;
}

int credentials_from_xml(const struct request *r, bool expires, struct credentials **set,
                         struct sheaf_error *err)
{
    struct s3_xml_credentials xml;
    int64_t expires_ms = CREDENTIALS_NEVER;
    int code = s3_xml_credentials(r->http.reply.data, r->http.reply.size, &xml, err);

    if (code != SHEAF_OK) {
        err_prefix(err, "%s: ", r->what);
        return code;
    }
    if (xml.expiration == NULL ? expires : !credentials_parse_time(xml.expiration, &expires_ms)) {
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: invalid time of expiration \"%.40s\"", r->what,
                       xml.expiration == NULL ? "" : xml.expiration);
    } else {
        *set = credentials_new(xml.access_key_id, xml.secret_access_key, xml.session_token,
                               expires_ms);
        code = *set == NULL ? err_memory(err, sizeof(**set)) : SHEAF_OK;
    }
    s3_xml_credentials_free(&xml);
    return code;
}

static int post(const struct target *target, const struct role *role, const struct buf *body,
                struct credentials **set, struct sheaf_error *err)
{
    struct request r;
    char *what = NULL;
    int code;

    if (asprintf(&what, "assuming role %s", role->arn) < 0)
        what = NULL;
    code = request_init(&r, target, HTTP_POST, strdup("/"), NULL, what, err);
    r.classify = aws_classify;
    r.check = credentials_check_xml;
    r.http.body = body->data;
    r.http.body_size = body->size;
    if (code == SHEAF_OK)
        code = request_set_header(&r, "content-type", "application/x-www-form-urlencoded", err);
    if (code == SHEAF_OK)
        code = request_run(&r, err);
    if (code == SHEAF_OK)
        code = credentials_from_xml(&r, false, set, err);
    if (r.http.reply.data != NULL)
        explicit_bzero(r.http.reply.data, r.http.reply.size);
    request_free(&r);
    return code;
}

int credentials_assume_role(const struct credentials_context *c, const struct role *role,
                            const struct credentials *base, struct credentials **set,
                            struct sheaf_error *err)
{
    struct target target = { .engine = c->engine, .patience = c->patience,
                             .ca_file = c->config->ca_file, .signing = &s3_signing,
                             .region = c->config->region, .service = "sts",
                             .token_header = "x-amz-security-token" };
    struct sts_form form = { .count = 0 };
    struct buf body = BUF_INIT(FORM_MOST);
    struct url url = { 0 };
    int code = s3_config_service_url(c->config, "sts", "sts", c->config->region, &url, err);

    if (code == SHEAF_OK)
        code = target_set_url(&target, &url, err);
    if (code == SHEAF_OK && base != NULL)
        code = credentials_cache_fixed(&target.credentials, base, err);
    if (code == SHEAF_OK)
        code = fill_form(&form, role, err);
    if (code == SHEAF_OK)
        code = sigv4_query(form.pairs, form.count, &body, err);
    if (code == SHEAF_OK)
        code = post(&target, role, &body, set, err);
    credentials_cache_close(target.credentials);
    target_free(&target);
    url_free(&url);
    buf_free(&body);
    free(form.tags);
    free(form.token);
    return code;
}
