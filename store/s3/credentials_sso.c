/* SPDX-License-Identifier: MIT
 *
 * Fetches credentials of AWS's single sign-on (IAM Identity Center). The command `aws sso login`
 * stores a token in ~/.aws/sso/cache. As long as this token is valid, the portal of AWS returns the
 * keys of a role in exchange for the token.
 *
 * In ~/.aws/config, a section [profile NAME] has the settings sso_session, sso_account_id and
 * sso_role_name. sso_session names a section [sso-session SESSION] with the settings sso_region and
 * sso_start_url. A profile without sso_session has these two settings itself. The name of the
 * token's file is a hash of the session's name. Without a session, it is a hash of the URL. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/json_answer.h"
#include "store/s3/aws_partition.h"
#include "store/s3/credentials_sources.h"
#include "store/s3/sigv4.h"

#define PATH_MOST ((size_t)4096)
#define SHA1_SIZE 20

struct sso {
    const char *profile;
    const char *session;        /* NULL: none */
    const char *region, *start_url, *account, *role;
};

/* ---- Settings -------------------------------------------------------------------------------- */

static const char *of_session(const struct profiles *p, const struct sso *s, const char *key)
{
    char section[300];

    if (s->session == NULL ||
        snprintf(section, sizeof(section), "sso-session %s", s->session) >= (int)sizeof(section))
        return NULL;
    return profiles_section_get(p, section, key);
}

/* Reads a setting of single sign-on from the profile or from its session (a section [sso-session]).
 * If both have the setting, the values must be equal. If `is_shared` is true and the profile names
 * a session, the session must have the setting. */
static int credentials_sso_read_setting(const struct profiles *p, const struct sso *s,
                                        const char *key, bool is_shared, const char **value,
                                        struct sheaf_error *err)
{
    const char *own = profiles_get(p, s->profile, key), *shared = of_session(p, s, key);

    *value = own != NULL ? own : shared;
    if (is_shared && s->session != NULL && shared == NULL)
        return err_set(err, SHEAF_ERR_ACCESS, "sso_session: no %s in [sso-session %.80s]", key,
                       s->session);
    if (*value == NULL)
        return err_set(err, SHEAF_ERR_ACCESS, "single sign-on without %s%s", key,
                       s->session != NULL ? " in the profile or its sso-session" : "");
    if (own != NULL && shared != NULL && strcmp(own, shared) != 0)
        return err_set(err, SHEAF_ERR_ACCESS, "%s is \"%.80s\" here, but \"%.80s\" in [sso-session "
                       "%.80s]", key, own, shared, s->session);
    return SHEAF_OK;
}

static int read_settings(const struct profiles *p, struct sso *s, struct sheaf_error *err)
{
    int code = credentials_sso_read_setting(p, s, "sso_region", true, &s->region, err);

    if (code == SHEAF_OK)
        code = credentials_sso_read_setting(p, s, "sso_start_url", true, &s->start_url, err);
    if (code == SHEAF_OK)
        code = credentials_sso_read_setting(p, s, "sso_account_id", false, &s->account, err);
    if (code == SHEAF_OK)
        code = credentials_sso_read_setting(p, s, "sso_role_name", false, &s->role, err);
    if (code == SHEAF_OK && !aws_region_is_name(s->region))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "invalid sso_region \"%.80s\"", s->region);
    return code;
}

/* ---- The token ------------------------------------------------------------------------------- */

static int log_in_again(const struct sso *s, const char *why, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_ACCESS, "single sign-on: %s: run "
                   "aws sso login --profile %.80s", why, s->profile);
}

static int credentials_sso_token_path(const struct sso *s, char path[PATH_MOST],
                                      struct sheaf_error *err)
{
    const char *home = getenv("HOME"), *name = s->session != NULL ? s->session : s->start_url;
    unsigned char hash[EVP_MAX_MD_SIZE];
    char hex[2 * SHA1_SIZE + 1];
    unsigned size = 0;

    if (EVP_Digest(name, strlen(name), hash, &size, EVP_sha1(), NULL) != 1 || size != SHA1_SIZE)
        return err_memory(err, 64);
    for (unsigned i = 0; i < SHA1_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    if (home == NULL || snprintf(path, PATH_MOST, "%s/.aws/sso/cache/%s.json", home, hex) >=
                        (int)PATH_MOST)
        return log_in_again(s, "no directory for its token (HOME)", err);
    return SHEAF_OK;
}

static int check_token(const struct sso *s, const json_t *root, char **token,
                       struct sheaf_error *err)
{
    const char *text = json_string_value(json_object_get(root, "accessToken"));
    const char *expires = json_string_value(json_object_get(root, "expiresAt"));
    int64_t expires_ms;

    if (text == NULL || expires == NULL || !credentials_parse_time(expires, &expires_ms))
        return log_in_again(s, "its token's file is not valid", err);
    if (expires_ms <= credentials_now_ms())
        return log_in_again(s, "its token has expired", err);
    *token = strdup(text);
    return *token == NULL ? err_memory(err, strlen(text)) : SHEAF_OK;
}

static int credentials_sso_read_token(const struct sso *s, char **token, struct sheaf_error *err)
{
    char path[PATH_MOST], *text = NULL;
    json_t *root = NULL;
    int code = credentials_sso_token_path(s, path, err);

    if (code == SHEAF_OK)
        code = credentials_read_file(path, &text, err);
    if (code == SHEAF_ERR_NOT_FOUND)
        code = log_in_again(s, "nobody is logged in", err);
    if (code == SHEAF_OK)
        code = json_answer(text, strlen(text), &root, err);
    if (code == SHEAF_OK)
        code = check_token(s, root, token, err);
    json_decref(root);
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
    return code;
}

/* ---- The portal ------------------------------------------------------------------------------ */

static int credentials_sso_take_keys(const char *text, size_t size, struct credentials **set,
                                     struct sheaf_error *err)
{
    json_t *root;
    int code = json_answer(text, size, &root, err);
    const json_t *keys = json_object_get(root, "roleCredentials");
    const char *id = json_string_value(json_object_get(keys, "accessKeyId"));
    const char *secret = json_string_value(json_object_get(keys, "secretAccessKey"));
    const json_int_t expires_ms = json_integer_value(json_object_get(keys, "expiration"));

    if (code == SHEAF_OK && (id == NULL || secret == NULL || expires_ms == 0))
        code = err_set(err, SHEAF_ERR_CORRUPT, "single sign-on: the response has no credentials");
    if (code == SHEAF_OK) {
        *set = credentials_new(id, secret,
                               json_string_value(json_object_get(keys, "sessionToken")),
                               expires_ms);
        code = *set == NULL ? err_memory(err, sizeof(**set)) : SHEAF_OK;
    }
    json_decref(root);
    return code;
}

static int ask_portal(const struct target *target, const struct sso *s, const char *token,
                      struct credentials **set, struct sheaf_error *err)
{
    struct sigv4_pair pairs[] = { { "account_id", s->account }, { "role_name", s->role } };
    struct buf query = BUF_INIT(PATH_MOST);
    struct request r;
    char *what = NULL;
    int code = sigv4_query(pairs, 2, &query, err), made;

    if (code == SHEAF_OK)
        code = buf_append(&query, "", 1, err);
    if (asprintf(&what, "getting keys of role %s by single sign-on", s->role) < 0)
        what = NULL;
    made = request_init(&r, target, HTTP_GET, strdup("/federation/credentials"),
                        (char *)query.data, what, err);
    if (code == SHEAF_OK)
        code = made;
    if (code == SHEAF_OK)
        code = request_set_header(&r, "x-amz-sso_bearer_token", token, err);
    r.check = json_answer_check;
    if (code == SHEAF_OK)
        code = request_run(&r, err);
    if (code != SHEAF_OK && r.http.status == 401)
        code = log_in_again(s, "the portal does not take its token any more", err);
    if (code == SHEAF_OK)
        code = credentials_sso_take_keys((const char *)r.http.reply.data, r.http.reply.size, set,
                                         err);
    if (r.http.reply.data != NULL)
        explicit_bzero(r.http.reply.data, r.http.reply.size);
    request_free(&r);
    return code;
}

int credentials_from_sso(const struct credentials_context *c, const char *profile,
                         struct credentials **set, struct sheaf_error *err)
{
    const struct profiles *p = &c->config->profiles;
    struct sso s = { .profile = profile, .session = profiles_get(p, profile, "sso_session") };
    struct target target = { .engine = c->engine, .patience = c->patience,
                             .ca_file = c->config->ca_file };
    struct url url = { 0 };
    char *token = NULL;
    int code;

    if (profiles_get(p, profile, "sso_account_id") == NULL &&
        profiles_get(p, profile, "sso_role_name") == NULL)
        return SHEAF_END;
    code = read_settings(p, &s, err);
    if (code == SHEAF_OK)
        code = credentials_sso_read_token(&s, &token, err);
    if (code == SHEAF_OK)
        code = s3_config_service_url(c->config, "sso", "portal.sso", s.region, &url, err);
    if (code == SHEAF_OK)
        code = target_set_url(&target, &url, err);
    if (code == SHEAF_OK)
        code = ask_portal(&target, &s, token, set, err);
    if (token != NULL)
        explicit_bzero(token, strlen(token));
    free(token);
    target_free(&target);
    url_free(&url);
    return code;
}
