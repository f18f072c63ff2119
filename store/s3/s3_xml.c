/* SPDX-License-Identifier: MIT
 *
 * Parses the XML responses of S3 and STS with expat. For each element, a walker calls a function
 * with the name and the parent of the element, and with its text if it has no children. There are
 * five such functions, one for each kind of response. Each of them stores the values that Sheaf
 * needs. */
#include "store/s3/s3_xml.h"

#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/url.h"

#define DEPTH_MOST 12           /* S3's own replies have 5 levels */
#define NAME_MOST 64
#define TEXT_MOST ((size_t)64 << 10)

struct walker;

/* A function that the walker calls for an element `name`. `parent` is the name of the element that
 * contains it, or "" for the root element. `text` is the text of the element. For an element that
 * contains other elements, `text` is NULL, and the function is called at the end of the element. */
typedef int visit_fn(void *context, const char *parent, const char *name, const char *text,
                     struct sheaf_error *err);

struct walker {
    XML_Parser parser;
    visit_fn *visit;
    void *context;
    struct sheaf_error *err;
    int code;
    unsigned depth;
    bool had_children;
    char names[DEPTH_MOST][NAME_MOST];  /* names of the open elements without their namespace */
    struct buf text;
};

/* Stops the walker. expat may still call the walker's handlers for the element that it is parsing.
 * After the stop, these handlers do nothing. */
static void walker_stop(struct walker *w, int code)
{
    w->code = code;
    XML_StopParser(w->parser, XML_FALSE);
}

static void on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
    struct walker *w = context;
    const char *colon = strrchr(name, ':');

    (void)attributes;
    if (w->code != SHEAF_OK)
        return;
    if (w->depth == DEPTH_MOST) {
        walker_stop(w, err_set(w->err, SHEAF_ERR_CORRUPT, "an XML reply nests deeper than %d",
                               DEPTH_MOST));
        return;
    }
    /* A truncated name does not equal any known name. */
    snprintf(w->names[w->depth++], NAME_MOST, "%s", colon != NULL ? colon + 1 : name);
    w->text.size = 0;
    w->had_children = false;
}

static void on_text(void *context, const XML_Char *text, int size)
{
    struct walker *w = context;
    int code = w->code;

    if (code == SHEAF_OK)
        code = buf_append(&w->text, text, (size_t)size, w->err);
    if (code != SHEAF_OK)
        walker_stop(w, code);
}

static void on_end(void *context, const XML_Char *name)
{
    struct walker *w = context;
    int code;

    (void)name;
    if (w->code != SHEAF_OK)
        return;
    w->depth--;
    code = buf_append(&w->text, "", 1, w->err);
    if (code == SHEAF_OK)
        code = w->visit(w->context, w->depth == 0 ? "" : w->names[w->depth - 1],
                        w->names[w->depth], w->had_children ? NULL : (char *)w->text.data, w->err);
    w->had_children = true;
    w->text.size = 0;
    if (code != SHEAF_OK)
        walker_stop(w, code);
}

static void on_doctype(void *context, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int has_subset)
{
    struct walker *w = context;

    (void)name, (void)system, (void)public, (void)has_subset;
    walker_stop(w, err_set(w->err, SHEAF_ERR_CORRUPT, "an XML reply with a document type"));
}

static int s3_xml_walk(const void *data, size_t size, visit_fn *visit, void *context,
                       struct sheaf_error *err)
{
    struct walker w = { .visit = visit, .context = context, .err = err,
                        .text = BUF_INIT(TEXT_MOST) };
    const char *text = data;
    int code;

    /* Skip blanks before the XML. A store sends blanks while it is still working on a request, even
     * before an XML declaration. */
    while (size != 0 && strchr(" \t\r\n", *text) != NULL && *text != '\0')
        text++, size--;
    if (size > INT32_MAX)
        return err_set(err, SHEAF_ERR_LIMIT, "an XML reply of %zu byte%s", size, plural(size));
    w.parser = XML_ParserCreate(NULL);
    if (w.parser == NULL)
        return err_memory(err, sizeof(w));
    XML_SetUserData(w.parser, &w);
    XML_SetElementHandler(w.parser, on_start, on_end);
    XML_SetCharacterDataHandler(w.parser, on_text);
    XML_SetStartDoctypeDeclHandler(w.parser, on_doctype);
    if (XML_Parse(w.parser, text, (int)size, XML_TRUE) != XML_STATUS_OK && w.code == SHEAF_OK)
        w.code = err_set(err, SHEAF_ERR_CORRUPT, "a reply of %zu byte%s is not XML: %s at byte "
                         "%ld", size, plural(size), XML_ErrorString(XML_GetErrorCode(w.parser)),
                         (long)XML_GetCurrentByteIndex(w.parser));
    code = w.code;
    XML_ParserFree(w.parser);
    buf_free(&w.text);
    return code;
}

static int s3_xml_keep_text(char **field, const char *text, struct sheaf_error *err)
{
    free(*field);
    *field = strdup(text);
    return *field == NULL ? err_memory(err, strlen(text)) : SHEAF_OK;
}

/* ---- Error ----------------------------------------------------------------------------------- */

struct error_parse {
    struct s3_xml_error *out;
    bool is_error;
};

static int error_visit(void *context, const char *parent, const char *name, const char *text,
                       struct sheaf_error *err)
{
    struct error_parse *p = context;
    const struct { const char *name; char *field; size_t size; } wanted[] = {
        { "Code", p->out->code, sizeof(p->out->code) },
        { "Message", p->out->message, sizeof(p->out->message) },
        { "Region", p->out->region, sizeof(p->out->region) },
        { "RequestTime", p->out->request_time, sizeof(p->out->request_time) },
        { "ServerTime", p->out->server_time, sizeof(p->out->server_time) },
    };

    (void)err;
    if (strcmp(name, "Error") == 0 &&
        (parent[0] == '\0' || strcmp(parent, "ErrorResponse") == 0))
        p->is_error = true;
    if (text == NULL || strcmp(parent, "Error") != 0)
        return SHEAF_OK;
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (strcmp(name, wanted[i].name) == 0)
            snprintf(wanted[i].field, wanted[i].size, "%s", text);
    return SHEAF_OK;
}

int s3_xml_error(const void *data, size_t size, struct s3_xml_error *out)
{
    struct error_parse parse = { .out = out };
    int code;

    memset(out, 0, sizeof(*out));
    code = s3_xml_walk(data, size, error_visit, &parse, NULL);
    if (code != SHEAF_OK)
        return SHEAF_ERR_CORRUPT;
    return parse.is_error ? SHEAF_OK : SHEAF_END;
}

/* ---- Listing --------------------------------------------------------------------------------- */

struct list_parse {
    s3_xml_entry_fn *each;
    void *context;
    struct s3_xml_page *page;
    struct s3_xml_entry entry;      /* being read */
    bool has_bytes;
};

static int parse_bytes(const char *text, uint64_t *bytes, struct sheaf_error *err)
{
    uint64_t value = 0;
    const char *c = text;

    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
            break;
    if (c == text || *c != '\0')
        return err_set(err, SHEAF_ERR_CORRUPT, "a listing has an object of size \"%.40s\"", text);
    *bytes = value;
    return SHEAF_OK;
}

/* Returns whether a key may be percent-encoded text. A percent-encoded key has no blanks, no
 * control characters and no bytes that are not ASCII. */
static bool may_be_encoded(const char *text)
{
    while (*text > ' ' && *text < 0x7f)
        text++;
    return *text == '\0';
}

/* Stores a key in *field, and decodes it if is_encoded is set. Returns SHEAF_ERR_CORRUPT if
 * is_encoded is set and the key cannot be an encoded text. This happens with servers (s3s-fs) that
 * say that keys are encoded, but send them without encoding. */
static int s3_xml_keep_key(char **field, const char *text, bool is_encoded, struct sheaf_error *err)
{
    int code = s3_xml_keep_text(field, text, err);

    if (code == SHEAF_OK && is_encoded && (!may_be_encoded(text) || !url_decode(*field, true)))
        return err_set(err, SHEAF_ERR_CORRUPT, "a listing says that its keys are encoded, but has "
                       "\"%.200s\": this server cannot list such keys", text);
    return code;
}

static void entry_free(struct list_parse *p)
{
    free(p->entry.key);
    free(p->entry.upload_id);
    free(p->entry.etag);
    free(p->entry.modified);
}

static int entry_end(struct list_parse *p, bool is_upload, struct sheaf_error *err)
{
    int code;

    if (p->entry.key == NULL || (is_upload ? p->entry.upload_id == NULL : !p->has_bytes))
        return err_set(err, SHEAF_ERR_CORRUPT, "a listing has an entry without key or %s",
                       is_upload ? "upload" : "size");
    if (p->page->first_key == NULL && (p->page->first_key = strdup(p->entry.key)) == NULL)
        return err_memory(err, strlen(p->entry.key));
    code = p->each(p->context, &p->entry, err);
    entry_free(p);
    memset(&p->entry, 0, sizeof(p->entry));
    p->has_bytes = false;
    return code;
}

static int prefix_visit(struct list_parse *p, const char *text, struct sheaf_error *err)
{
    int code = s3_xml_keep_key(&p->entry.key, text, p->page->is_encoded, err);

    p->entry.is_prefix = p->has_bytes = true;
    return code == SHEAF_OK ? entry_end(p, false, err) : code;
}

static int entry_visit(void *context, const char *parent, const char *name, const char *text,
                       struct sheaf_error *err)
{
    struct list_parse *p = context;
    const bool is_upload = strcmp(text == NULL ? name : parent, "Upload") == 0;

    if (text != NULL && strcmp(parent, "CommonPrefixes") == 0 && strcmp(name, "Prefix") == 0)
        return prefix_visit(p, text, err);
    if (!is_upload && strcmp(text == NULL ? name : parent, "Contents") != 0)
        return SHEAF_OK;
    if (text == NULL)
        return entry_end(p, is_upload, err);
    if (strcmp(name, "Key") == 0)
        return s3_xml_keep_key(&p->entry.key, text, p->page->is_encoded, err);
    if (strcmp(name, "UploadId") == 0)
        return s3_xml_keep_text(&p->entry.upload_id, text, err);
    if (strcmp(name, "ETag") == 0)
        return s3_xml_keep_text(&p->entry.etag, text, err);
    if (strcmp(name, "LastModified") == 0)
        return s3_xml_keep_text(&p->entry.modified, text, err);
    if (strcmp(name, "Size") == 0) {
        p->has_bytes = true;
        return parse_bytes(text, &p->entry.bytes, err);
    }
    return SHEAF_OK;
}

/* Returns whether `root` is the name of the root element of a listing: <ListBucketResult>,
 * <ListMultipartUploadsResult>, or a name that some servers use instead. */
static bool is_listing(const char *root)
{
    return strncmp(root, "List", strlen("List")) == 0;
}

/* Stores a value that belongs to a whole page of a listing. A page is parsed twice, once for these
 * values and once for the entries, because some servers send these values before the entries and
 * others after them. */
static int page_visit(void *context, const char *parent, const char *name, const char *text,
                      struct sheaf_error *err)
{
    struct s3_xml_page *page = context;

    if (parent[0] == '\0' && !is_listing(name))
        return err_set(err, SHEAF_ERR_CORRUPT, "the reply to a listing is a <%s>", name);
    if (text == NULL || !is_listing(parent))
        return SHEAF_OK;
    if (strcmp(name, "EncodingType") == 0)
        page->is_encoded = strcmp(text, "url") == 0;
    else if (strcmp(name, "IsTruncated") == 0)
        page->is_truncated = strcmp(text, "true") == 0;
    else if (strcmp(name, "NextContinuationToken") == 0)
        return s3_xml_keep_text(&page->token, text, err);
    else if (strcmp(name, "NextKeyMarker") == 0)
        return s3_xml_keep_text(&page->key_marker, text, err);
    else if (strcmp(name, "NextUploadIdMarker") == 0)
        return s3_xml_keep_text(&page->id_marker, text, err);
    return SHEAF_OK;
}

void s3_xml_page_free(struct s3_xml_page *page)
{
    free(page->token);
    free(page->key_marker);
    free(page->id_marker);
    free(page->first_key);
    memset(page, 0, sizeof(*page));
}

int s3_xml_page(const void *data, size_t size, struct s3_xml_page *page, struct sheaf_error *err)
{
    memset(page, 0, sizeof(*page));
    return s3_xml_walk(data, size, page_visit, page, err);
}

int s3_xml_entries(const void *data, size_t size, struct s3_xml_page *page, s3_xml_entry_fn *each,
                   void *context, struct sheaf_error *err)
{
    struct list_parse p = { .each = each, .context = context, .page = page };
    const int code = s3_xml_walk(data, size, entry_visit, &p, err);

    entry_free(&p);
    return code;
}

/* ---- Uploads --------------------------------------------------------------------------------- */

/* Stores the id of an upload. Servers use different names for the root element of this response,
 * but the same name for the element with the id. */
static int upload_id_visit(void *context, const char *parent, const char *name, const char *text,
                           struct sheaf_error *err)
{
    if (text == NULL || strcmp(name, "UploadId") != 0 || strcmp(parent, "Error") == 0)
        return SHEAF_OK;
    return s3_xml_keep_text(context, text, err);
}

int s3_xml_upload_id(const void *data, size_t size, char **id, struct sheaf_error *err)
{
    int code;

    *id = NULL;
    code = s3_xml_walk(data, size, upload_id_visit, id, err);
    if (code == SHEAF_OK && (*id == NULL || **id == '\0'))
        code = err_set(err, SHEAF_ERR_CORRUPT, "the reply that begins an upload has no UploadId");
    if (code == SHEAF_OK)
        return code;
    free(*id);
    *id = NULL;
    return code;
}

static int completed_visit(void *context, const char *parent, const char *name, const char *text,
                           struct sheaf_error *err)
{
    static const char root[] = "CompleteMultipartUpload";

    (void)context, (void)text;
    if (parent[0] == '\0' && strncmp(name, root, strlen(root)) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "the reply that ends an upload is a <%s>", name);
    return SHEAF_OK;
}

int s3_xml_completed(const void *data, size_t size, struct sheaf_error *err)
{
    return s3_xml_walk(data, size, completed_visit, NULL, err);
}

/* ---- Credentials ----------------------------------------------------------------------------- */

static int credentials_visit(void *context, const char *parent, const char *name,
                             const char *text, struct sheaf_error *err)
{
    struct s3_xml_credentials *out = context;

    if (text == NULL || strcmp(parent, "Credentials") != 0)
        return SHEAF_OK;
    if (strcmp(name, "AccessKeyId") == 0)
        return s3_xml_keep_text(&out->access_key_id, text, err);
    if (strcmp(name, "SecretAccessKey") == 0)
        return s3_xml_keep_text(&out->secret_access_key, text, err);
    if (strcmp(name, "SessionToken") == 0)
        return s3_xml_keep_text(&out->session_token, text, err);
    if (strcmp(name, "Expiration") == 0)
        return s3_xml_keep_text(&out->expiration, text, err);
    return SHEAF_OK;
}

void s3_xml_credentials_free(struct s3_xml_credentials *out)
{
    char *const secret[] = { out->access_key_id, out->secret_access_key, out->session_token };

    for (size_t i = 0; i < COUNT_OF(secret); i++) {
        if (secret[i] != NULL)
            explicit_bzero(secret[i], strlen(secret[i]));
        free(secret[i]);
    }
    free(out->expiration);
    memset(out, 0, sizeof(*out));
}

int s3_xml_credentials(const void *data, size_t size, struct s3_xml_credentials *out,
                       struct sheaf_error *err)
{
    int code;

    memset(out, 0, sizeof(*out));
    code = s3_xml_walk(data, size, credentials_visit, out, err);
    if (code == SHEAF_OK && (out->access_key_id == NULL || out->secret_access_key == NULL ||
                             out->session_token == NULL))
        code = err_set(err, SHEAF_ERR_CORRUPT, "a reply with credentials lacks %s",
                       out->access_key_id == NULL ? "AccessKeyId"
                       : out->secret_access_key == NULL ? "SecretAccessKey" : "SessionToken");
    if (code != SHEAF_OK)
        s3_xml_credentials_free(out);
    return code;
}
