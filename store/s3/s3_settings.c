/* SPDX-License-Identifier: MIT
 *
 * The table of settings for S3 requests, and the functions that use it. These functions check
 * values, set headers, and name missing settings in error messages. */
#include "store/s3/s3_settings.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"

#define VALUE_MOST 2048         /* bytes of a value */
#define TAGS_MOST 10            /* S3's own limit */
#define VARIABLE "SHEAF_S3_"

/* The type of a function that checks the value of a setting, and returns whether it is valid. If
 * the header must have another value than the setting, the function sets *header to this other
 * value, in allocated memory. If it sets *header to "", the header is not sent. */
typedef bool take_fn(const char *value, char **header);

enum on { ON_NEW_OBJECTS, ON_EVERY_REQUEST, ON_BODIES };

static take_fn s3_settings_take_key, take_context, take_tags, take_owner, take_payer;

static const struct setting {
    const char *name;
    /* the possible values, separated by '|'; or, if the function `take` checks the value, a
     * description of the possible values for messages */
    const char *values;
    const char *header;
    enum on on;
    bool not_express;           /* directory buckets do not take it */
    bool may_be_demanded;       /* whether a policy may demand it of writers */
    take_fn *take;
} table[S3_SETTINGS] = {
    [S3_ENCRYPTION] = { "encryption", "AES256|aws:kms|aws:kms:dsse",
        "x-amz-server-side-encryption", ON_NEW_OBJECTS, true, true, NULL },
    [S3_KMS_KEY] = { "kms-key", "the ID, ARN or alias of a key",
        "x-amz-server-side-encryption-aws-kms-key-id", ON_NEW_OBJECTS, true, true,
            s3_settings_take_key },
    [S3_BUCKET_KEY] = { "bucket-key", "true|false",
        "x-amz-server-side-encryption-bucket-key-enabled", ON_NEW_OBJECTS, true, false, NULL },
    [S3_ENCRYPTION_CONTEXT] = { "encryption-context", "a JSON object of strings",
        "x-amz-server-side-encryption-context", ON_NEW_OBJECTS, true, false, take_context },
    [S3_STORAGE_CLASS] = { "storage-class",
        "STANDARD|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|GLACIER_IR|REDUCED_REDUNDANCY|"
        "EXPRESS_ONEZONE", "x-amz-storage-class", ON_NEW_OBJECTS, false, true, NULL },
    [S3_ACL] = { "acl",
        "bucket-owner-full-control|bucket-owner-read|private|public-read|public-read-write|"
        "authenticated-read|aws-exec-read", "x-amz-acl", ON_NEW_OBJECTS, true, true, NULL },
    [S3_TAGS] = { "tags", "KEY=VALUE, up to 10, joined by '&', percent-encoded", "x-amz-tagging",
        ON_NEW_OBJECTS, true, true, take_tags },
    [S3_OWNER] = { "owner", "the 12 digits of an account", "x-amz-expected-bucket-owner",
        ON_EVERY_REQUEST, false, false, take_owner },
    [S3_REQUESTER_PAYS] = { "requester-pays", "true|false", "x-amz-request-payer",
        ON_EVERY_REQUEST, true, false, take_payer },
    [S3_CHECKSUM] = { "checksum", "crc64nvme|crc32c|none", "x-amz-checksum-crc64nvme", ON_BODIES,
        false, true, NULL },
    [S3_CONTENT_MD5] = { "content-md5", "true|false", "content-md5", ON_BODIES, false, false,
        NULL },
};

const char *sheaf_s3_setting(size_t index, const char **values, const char **header)
{
    if (index >= S3_SETTINGS)
        return NULL;
    if (values != NULL)
        *values = table[index].values;
    if (header != NULL)
        *header = table[index].header;
    return table[index].name;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool s3_settings_take_key(const char *value, char **header)
{
    (void)header;
    for (; isalnum((unsigned char)*value) || (*value != '\0' && strchr("-_/:", *value)); value++)
        ;
    return *value == '\0';
}

/* Checks a flag. "false" counts as not set. */
static bool take_payer(const char *value, char **header)
{
    const bool is_false = strcmp(value, "false") == 0;

    *header = strdup(is_false ? "" : "requester");
    return is_false || strcmp(value, "true") == 0;
}

static bool take_owner(const char *value, char **header)
{
    (void)header;
    return strlen(value) == 12 && strspn(value, "0123456789") == 12;
}

/* Checks the value of the setting for tags, a percent-encoded text such as "k=v&k=v". No key may be
 * empty. */
static bool take_tags(const char *value, char **header)
{
    unsigned count = 1;

    (void)header;
    for (const char *c = value; *c != '\0'; c++) {
        if (*c <= ' ' || *c == 0x7f || (*c == '&' && ++count > TAGS_MOST))
            return false;
        if ((c == value || c[-1] == '&') && (*c == '=' || *c == '&'))
            return false;
    }
    return value[strlen(value) - 1] != '&';
}

static bool take_context(const char *value, char **header)
{
    json_t *object, *each;
    const char *name;
    char *text = NULL;
    bool fits = json_load_text(value, strlen(value), JSON_REJECT_DUPLICATES, &object, NULL,
                               NULL) == SHEAF_OK && json_is_object(object);

    json_object_foreach(object, name, each)
        fits = fits && json_is_string(each);
    if (fits)
        text = json_dump_text(object, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS);
    if (text != NULL)
        *header = malloc(strlen(text) / 3 * 4 + 5);
    fits = text != NULL && *header != NULL;
    if (fits)
        EVP_EncodeBlock((unsigned char *)*header, (const unsigned char *)text, (int)strlen(text));
    free(text);
    json_decref(object);
    return fits;
}

static bool is_listed(const char *values, const char *value)
{
    const size_t size = strlen(value);

    for (; strcspn(values, "|") != size || strncmp(values, value, size) != 0; values++) {
        values += strcspn(values, "|");
        if (*values == '\0')
            return false;
    }
    return true;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int s3_settings_refuse_name(const char *name, size_t size, struct sheaf_error *err)
{
    const int code = err_set(err, SHEAF_ERR_ARGUMENT, "invalid S3 setting \"%.*s\": expected one "
                             "of", (int)MIN(size, 80u), name);

    for (size_t i = 0; i < S3_SETTINGS; i++)
        err_append(err, "%s%s", i == 0 ? " " : ", ", table[i].name);
    return code;
}

static int refuse_value(const struct setting *s, const char *value, struct sheaf_error *err)
{
    if (s == &table[S3_STORAGE_CLASS] &&
        (strcmp(value, "GLACIER") == 0 || strcmp(value, "DEEP_ARCHIVE") == 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "S3 setting storage-class: objects of %s cannot be "
                       "read before they are restored", value);
    return err_set(err, SHEAF_ERR_ARGUMENT, "invalid S3 setting %s \"%.80s\": expected %s",
                   s->name, value, s->values);
}

static int set_value(struct s3_settings *to, size_t i, const char *value,
                     struct sheaf_error *err)
{
    const struct setting *s = &table[i];
    char *header = NULL;

    free(to->values[i]);
    to->values[i] = NULL;
    if (*value == '\0')
        return SHEAF_OK;
    if (strlen(value) > VALUE_MOST ||
        !(s->take != NULL ? s->take(value, &header) : is_listed(s->values, value))) {
        free(header);
        return refuse_value(s, value, err);
    }
    if (header == NULL && (header = strdup(value)) == NULL)
        return err_memory(err, strlen(value));
    if (*header != '\0')
        to->values[i] = header;
    else
        free(header);
    return SHEAF_OK;
}

static int set_text(struct s3_settings *to, const char *text, struct sheaf_error *err)
{
    const size_t size = strcspn(text, "=");

    for (size_t i = 0; i < S3_SETTINGS; i++)
        if (strlen(table[i].name) == size && strncmp(table[i].name, text, size) == 0)
            return text[size] == '=' ? set_value(to, i, text + size + 1, err)
                                     : err_set(err, SHEAF_ERR_ARGUMENT, "invalid S3 setting "
                                               "\"%.80s\": expected %s=VALUE", text, text);
    return s3_settings_refuse_name(text, size, err);
}

/* Rejects settings that are valid alone but not together. */
static int check_together(const struct s3_settings *set, struct sheaf_error *err)
{
    static const enum s3_setting of_kms[] = { S3_KMS_KEY, S3_BUCKET_KEY, S3_ENCRYPTION_CONTEXT };
    const char *how = set->values[S3_ENCRYPTION] != NULL ? set->values[S3_ENCRYPTION] : "";

    for (size_t i = 0; i < COUNT_OF(of_kms); i++)
        if (set->values[of_kms[i]] != NULL && strncmp(how, "aws:kms", 7) != 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "S3 setting %s: expected encryption=aws:kms "
                           "or aws:kms:dsse with it", table[of_kms[i]].name);
    if (set->values[S3_BUCKET_KEY] != NULL && strcmp(how, "aws:kms:dsse") == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "S3 setting bucket-key: is not for "
                       "encryption=aws:kms:dsse");
    return SHEAF_OK;
}

/* ---- Sets of them ---------------------------------------------------------------------------- */

bool s3_settings_are_same(const struct s3_settings *a, const struct s3_settings *b)
{
    for (size_t i = 0; i < S3_SETTINGS; i++)
        if (a->values[i] != b->values[i] &&
            (a->values[i] == NULL || b->values[i] == NULL ||
             strcmp(a->values[i], b->values[i]) != 0))
            return false;
    return true;
}

void s3_settings_free(struct s3_settings *settings)
{
    for (size_t i = 0; i < S3_SETTINGS; i++)
        free(settings->values[i]);
    memset(settings, 0, sizeof(*settings));
}

int s3_settings_with(const struct s3_settings *base, const char *const *texts,
                     struct s3_settings *settings, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    memset(settings, 0, sizeof(*settings));
    for (size_t i = 0; i < S3_SETTINGS && code == SHEAF_OK; i++)
        if (base->values[i] != NULL && (settings->values[i] = strdup(base->values[i])) == NULL)
            code = err_memory(err, strlen(base->values[i]));
    for (; *texts != NULL && code == SHEAF_OK; texts++)
        code = set_text(settings, *texts, err);
    return code == SHEAF_OK ? check_together(settings, err) : code;
}

/* "storage-class" -> "STORAGE_CLASS" */
static bool is_variable(const char *name, const char *variable, size_t size)
{
    if (strlen(name) != size)
        return false;
    while (size-- != 0)
        if (variable[size] != (name[size] == '-' ? '_' : toupper((unsigned char)name[size])))
            return false;
    return true;
}

static int set_variable(struct s3_settings *to, const char *variable, struct sheaf_error *err)
{
    const char *name = variable + strlen(VARIABLE);
    const size_t size = strcspn(name, "=");
    size_t i = 0;
    int code;

    while (i < S3_SETTINGS && !is_variable(table[i].name, name, size))
        i++;
    if (i < S3_SETTINGS)
        code = set_value(to, i, name + size + (name[size] == '='), err);
    else if (is_variable("addressing", name, size))     /* s3_config.h has it */
        return SHEAF_OK;
    else
        code = s3_settings_refuse_name(name, size, err);
    return code == SHEAF_OK ? code : err_prefix(err, "%.*s: ", (int)(size + strlen(VARIABLE)),
                                                variable);
}

int s3_settings_of_environment(struct s3_settings *settings, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    memset(settings, 0, sizeof(*settings));
    for (char **each = environ; each != NULL && *each != NULL && code == SHEAF_OK; each++)
        if (strncmp(*each, VARIABLE, strlen(VARIABLE)) == 0)
            code = set_variable(settings, *each, err);
    return code == SHEAF_OK ? check_together(settings, err) : code;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool has_header(const struct request *r, const char *name, size_t size)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strncmp(r->headers[i].name, name, size) == 0)
            return true;
    return false;
}

/* Returns whether the request creates an object or begins a multipart upload. Some headers are sent
 * only with these requests. */
static bool makes_object(const struct request *r)
{
    return (r->http.method == HTTP_PUT && r->query == NULL) ||
           (r->http.method == HTTP_POST && r->query != NULL &&
            strncmp(r->query, "uploads=", 8) == 0);
}

int s3_settings_apply(const struct s3_settings *settings, struct request *r, bool is_express,
                      struct sheaf_error *err)
{
    const bool makes = makes_object(r);
    int code = SHEAF_OK;

    for (size_t i = 0; i < S3_SETTINGS && code == SHEAF_OK; i++) {
        const struct setting *s = &table[i];
        const bool unfit = is_express && s->not_express;

        if (settings->values[i] == NULL || s->on == ON_BODIES)
            continue;
        if (makes && unfit)
            code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: S3 setting %s: directory buckets do not "
                           "take it", r->what, s->name);
        else if (makes || (s->on == ON_EVERY_REQUEST && !unfit))
            code = request_set_header(r, s->header, settings->values[i], err);
    }
    return code;
}

/* Adds to the error's message the names of the headers that this request did not have, although a
 * bucket's policy may require them. Returns whether there are such headers. */
static bool s3_settings_name_missing(const struct request *r, struct sheaf_error *err)
{
    bool any = false;

    for (size_t i = 0; i < S3_SETTINGS; i++) {
        const size_t size = i == S3_CHECKSUM ? strlen("x-amz-checksum-")    /* any will do */
                                             : strlen(table[i].header) + 1;

        if (!table[i].may_be_demanded || has_header(r, table[i].header, size))
            continue;
        err_append(err, "%s%s", any ? ", " : "; the bucket's policy may demand headers that were "
                   "not sent: ", table[i].header);
        any = true;
    }
    return any;
}

void s3_settings_explain(const struct request *r, const char *code, struct sheaf_error *err)
{
    const char *payer = table[S3_REQUESTER_PAYS].header, *owner = table[S3_OWNER].header;
    const bool is_denied = strcmp(code, "AccessDenied") == 0;

    if (err == NULL || r->target->service == NULL || strcmp(r->target->service, "s3") != 0 ||
        (!is_denied && strcmp(code, "InvalidRequest") != 0))
        return;
    if (is_denied && has_header(r, owner, strlen(owner) + 1))
        err_append(err, ", nor may anybody if the bucket is not of the account in %s", owner);
    if (makes_object(r)) {
        if (s3_settings_name_missing(r, err))
            (void)err_because(err, err->code, SHEAF_REASON_BUCKET_POLICY);
    } else if (is_denied && !has_header(r, payer, strlen(payer) + 1)) {
        err_append(err, "; if the bucket's requester pays, set SHEAF_S3_REQUESTER_PAYS=true");
    }
}
