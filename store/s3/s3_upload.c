/* SPDX-License-Identifier: MIT
 *
 * Multipart uploads, request by request. */
#include "store/s3/s3_upload.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/etag.h"
#include "store/s3/s3_xml.h"

#define COMPLETE_MOST ((size_t)4 << 20)     /* bytes of 10000 parts in XML */

/* ---- Proofs ---------------------------------------------------------------------------------- */

static void s3_upload_hexadecimal(const unsigned char *digest, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

/* Returns whether an ETag has the form of an MD5: 32 hexadecimal digits followed by `suffix`, with
 * or without quotes. */
static bool is_md5_etag(const char *etag, const char *suffix)
{
    const size_t digits = strspn(etag + (*etag == '"'), "0123456789abcdef");
    const char *rest = etag + (*etag == '"') + digits;

    return digits == 32 && strncmp(rest, suffix, strlen(suffix)) == 0 &&
           (rest[strlen(suffix)] == '"' || rest[strlen(suffix)] == '\0');
}

static bool etag_has(const char *etag, const char *digits)
{
    return strncmp(etag + (*etag == '"'), digits, strlen(digits)) == 0;
}

/* ---- PUT ------------------------------------------------------------------------------------- */

struct s3_proving s3_proving_of(const struct s3_bucket *bucket, const char *key)
{
    const struct s3_checksum *checksum = s3_checksum_for(bucket, key);
    const char *md5 = s3_settings_for(bucket, key)->values[S3_CONTENT_MD5];

    return (struct s3_proving){
        .checksum = checksum, .of_whole = checksum == &s3_crc64nvme,
        .content_md5 = md5 != NULL && strcmp(md5, "true") == 0, .repeats = bucket->repeats,
    };
}

/* Computes the MD5 of the body. If the security rules of the machine (such as FIPS) forbid MD5,
 * md5_text stays empty, and the ETag is not compared. */
static void prove_md5(struct s3_put *put)
{
    const struct http_exchange *http = &put->request.http;

    if (EVP_Digest(http->body, http->body_size, put->proof.md5, NULL, EVP_md5(), NULL) == 1)
        s3_upload_hexadecimal(put->proof.md5, MD5_BYTES, put->proof.md5_text);
}

static int send_md5(struct s3_put *put, struct sheaf_error *err)
{
    char text[(MD5_BYTES + 2) / 3 * 4 + 1];

    if (put->proof.md5_text[0] == '\0')
        prove_md5(put);
    if (put->proof.md5_text[0] == '\0')
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the store demands a Content-MD5, but "
                       "OpenSSL of this machine has no MD5", put->request.what);
    EVP_EncodeBlock((unsigned char *)text, put->proof.md5, MD5_BYTES);
    return request_set_header(&put->request, "content-md5", text, err);
}

/* Returns whether the request was refused because it has no header Content-MD5. Buckets with Object
 * Lock require this header. */
static bool lacks_md5(const struct request *r)
{
    const struct buf *text = &r->http.reply;
    char reason[64];

    for (size_t i = 0; i < r->header_count; i++)
        if (strcmp(r->headers[i].name, "content-md5") == 0)
            return false;
    aws_error_code(r, reason);
    return r->http.status == 400 && text->size != 0 &&
           (strcmp(reason, "InvalidRequest") == 0 || strcmp(reason, "MissingContentMD5") == 0) &&
           memmem(text->data, text->size, "Content-MD5", 11) != NULL;
}

/* Adds the header Content-MD5 to the next attempt, because the store has required it. Later parts
 * of the same object send the header as well. */
static int give_md5(struct s3_put *put, bool *again, struct sheaf_error *err)
{
    const int code = err->code;
    struct sheaf_error failed;

    __atomic_store_n(&put->proving->content_md5, true, __ATOMIC_RELAXED);
    *again = send_md5(put, &failed) == SHEAF_OK;
    return code;
}

/* Returns whether the ETag in the response must be compared with the MD5 of the bytes. `crc` is the
 * checksum in the response, or NULL if the response has none. A store that returns a checksum has
 * checked the bytes itself. In that case, the ETag is compared only if the bucket requires MD5s.
 * The function also records whether the store returns checksums. */
static bool is_by_etag(struct s3_put *put, const char *crc)
{
    enum s3_repeats *repeats = put->proving->repeats;

    if (put->proving->checksum == NULL)
        return true;
    __atomic_store_n(repeats, crc != NULL ? S3_REPEATS_IT : S3_REPEATS_NOTHING, __ATOMIC_RELAXED);
    if (crc == NULL && put->proof.md5_text[0] == '\0')
        prove_md5(put);
    return crc == NULL || __atomic_load_n(&put->proving->content_md5, __ATOMIC_RELAXED);
}

/* Prepares another attempt after this attempt has stored damaged bytes. If the write is
 * conditional, the next attempt must replace the damaged object. So the condition becomes the
 * strong ETag of the damaged object. If the response has no strong ETag, *again becomes false. */
static int replace_damaged(struct s3_put *put, bool *again, struct sheaf_error *err)
{
    struct request *r = &put->request;
    const int code = err->code;
    const bool is_new = request_remove_header(r, "if-none-match");
    struct sheaf_error failed;

    *again = (!is_new && !request_remove_header(r, "if-match")) ||
             (etag_is_strong(put->proof.etag) &&
              request_set_header(r, "if-match", put->proof.etag, &failed) == SHEAF_OK);
    return code;
}

/* Keeps the ETag of the response, because the request that completes the upload must contain it. If
 * the response has no ETag, that request contains the MD5 of the part instead, because nearly all
 * stores use MD5s as ETags of parts. */
static void keep_etag(struct s3_put *put, const char *etag)
{
    struct s3_proof *p = &put->proof;

    p->etag[0] = '\0';
    if (etag_stamp(etag) != 0 && strlen(etag) < sizeof(p->etag) && strpbrk(etag, "<>&") == NULL)
        memcpy(p->etag, etag, strlen(etag) + 1);
    else if (p->md5_text[0] == '\0')
        prove_md5(put);
}

static int put_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct s3_put *put = (struct s3_put *)r;
    const struct s3_checksum *kind = put->proving->checksum;
    struct s3_proof *p = &put->proof;
    const char *etag = http_answer_header(&r->http, "etag");
    const char *crc = kind == NULL ? NULL : http_answer_header(&r->http, kind->header);
    int code = aws_classify(r, again, err);

    if (code != SHEAF_OK)
        return lacks_md5(r) ? give_md5(put, again, err) : code;
    /* The response says that the write has succeeded. If one of the following checks fails
     * nevertheless, the response or the object was damaged in transit. Then another attempt may
     * succeed. */
    *again = true;
    keep_etag(put, etag);
    p->is_md5 = is_by_etag(put, crc) && p->md5_text[0] != '\0' && is_md5_etag(p->etag, "") &&
                s3_etag_may_be_md5(r);
    if (crc != NULL && strcmp(crc, p->crc_text) != 0)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the store has %s %.40s, but %s was sent",
                       r->what, kind->title, crc, p->crc_text);
    else if (p->is_md5 && !etag_has(p->etag, p->md5_text))
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the store has MD5 %s, but %s was sent", r->what,
                       p->etag, p->md5_text);
    return code == SHEAF_OK ? SHEAF_OK : replace_damaged(put, again, err);
}

int s3_put_init(struct s3_put *put, const struct s3_bucket *bucket, const char *key,
                struct s3_proving *proving, const char *upload_id, unsigned number,
                const void *data, size_t size, struct sheaf_error *err)
{
    struct request *r = &put->request;
    char digits[16];
    struct sigv4_pair query[] = { { "partNumber", digits }, { "uploadId", upload_id } };
    int code;

    snprintf(digits, sizeof(digits), "%u", number);
    code = s3_request_init(r, bucket, HTTP_PUT, key, query, upload_id != NULL ? 2 : 0, "writing",
                           err);
    r->classify = put_classify;
    r->http.body = data;
    r->http.body_size = size;
    put->proving = proving;
    put->proof = (struct s3_proof){ .bytes = size };
    return code;
}

static int prove_crc(struct s3_put *put, struct sheaf_error *err)
{
    const struct s3_checksum *kind = put->proving->checksum;
    struct s3_proof *p = &put->proof;

    p->crc = kind->of(put->request.http.body, put->request.http.body_size);
    s3_checksum_text(kind, p->crc, p->crc_text);
    return request_set_header(&put->request, kind->header, p->crc_text, err);
}

int s3_put_prove(struct s3_put *put, struct sheaf_error *err)
{
    const struct s3_proving *proving = put->proving;
    const bool by_etag = proving->checksum == NULL ||
                         __atomic_load_n(proving->repeats, __ATOMIC_RELAXED) != S3_REPEATS_IT;
    const int code = proving->checksum == NULL ? SHEAF_OK : prove_crc(put, err);

    if (code != SHEAF_OK)
        return code;
    if (by_etag && put->proof.md5_text[0] == '\0')
        prove_md5(put);
    return __atomic_load_n(&proving->content_md5, __ATOMIC_RELAXED) ? send_md5(put, err)
                                                                    : SHEAF_OK;
}

int s3_put_run(struct s3_put *put, struct sheaf_error *err)
{
    int code = s3_put_prove(put, err);

    return code == SHEAF_OK ? request_run(&put->request, err) : code;
}

/* ---- Conditions ------------------------------------------------------------------------------ */

bool s3_wants_bare_etags(const struct s3_bucket *bucket)
{
    return __atomic_load_n(&bucket->known->bare_etags, __ATOMIC_RELAXED);
}

int s3_require(struct request *r, const struct store_seen *seen, bool bare,
               struct sheaf_error *err)
{
    char etag[sizeof(seen->etag)];
    size_t size;

    if (seen == NULL)
        return SHEAF_OK;
    if (!seen->is_there)
        return request_set_header(r, "if-none-match", "*", err);
    if (!etag_is_strong(seen->etag))
        return SHEAF_OK;
    size = strlen(seen->etag);
    if (size < 2 || !bare)
        return request_set_header(r, "if-match", seen->etag, err);
    snprintf(etag, sizeof(etag), "%.*s", (int)size - 2, seen->etag + 1);
    return request_set_header(r, "if-match", etag, err);
}

void s3_seen(struct store_seen *now, const char *etag, uint64_t bytes)
{
    *now = (struct store_seen){ .is_there = true, .bytes = bytes, .stamp = etag_stamp(etag) };
    if (etag != NULL && strlen(etag) < sizeof(now->etag))
        memcpy(now->etag, etag, strlen(etag) + 1);
}

/* ---- Begin and abort ------------------------------------------------------------------------- */

static int make_mark(char mark[S3_MARK_SIZE], struct sheaf_error *err)
{
    unsigned char bits[16];

    if (getrandom(bits, sizeof(bits), 0) != sizeof(bits))
        return err_errno(err, errno, "cannot get a random number for the upload");
    s3_upload_hexadecimal(bits, sizeof(bits), mark);
    return SHEAF_OK;
}

struct beginning {
    struct request base;
    struct s3_proving *proving;
    char **upload_id;
};

/* Handles the response to the request that begins an upload. Sets proving->of_whole to true if the
 * store will compute a checksum of the whole object. If the response does not name a type of
 * checksum, the store only computes a checksum of the checksums of the parts. */
static int begin_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct s3_proving *proving = ((struct beginning *)r)->proving;
    const char *type = http_answer_header(&r->http, "x-amz-checksum-type");

    proving->of_whole = proving->checksum == &s3_crc64nvme ||
                        (type != NULL && strcmp(type, "FULL_OBJECT") == 0);
    return aws_classify(r, again, err);
}

/* Checks that the response to the beginning of an upload is complete. If the response is damaged,
 * the id of the upload is unknown. The upload then stays until a later run finds and aborts it by
 * store_clean. */
static int s3_upload_begin_check(struct request *r, struct sheaf_error *err)
{
    return s3_xml_upload_id(r->http.reply.data, r->http.reply.size,
                            ((struct beginning *)r)->upload_id, err);
}

/* Asks the store to compute a checksum of the whole object. A directory bucket cannot store such a
 * checksum. Such a bucket is asked for a checksum of the checksums of the parts instead. */
static int ask_for_checksum(struct request *r, const struct s3_bucket *bucket,
                            const struct s3_proving *proving, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (proving->checksum != NULL)
        code = request_set_header(r, "x-amz-checksum-algorithm", proving->checksum->word, err);
    if (code == SHEAF_OK && proving->checksum != NULL && !bucket->is_express)
        code = request_set_header(r, "x-amz-checksum-type", "FULL_OBJECT", err);
    return code;
}

int s3_upload_begin(const struct s3_bucket *bucket, const char *key, struct s3_proving *proving,
                    char **upload_id, char mark[S3_MARK_SIZE], struct sheaf_error *err)
{
    struct sigv4_pair query[] = { { "uploads", "" } };
    struct beginning b = { .proving = proving, .upload_id = upload_id };
    struct request *r = &b.base;
    int code = s3_request_init(r, bucket, HTTP_POST, key, query, 1, "starting the upload of", err);

    r->classify = begin_classify;
    r->check = s3_upload_begin_check;
    *upload_id = NULL;
    if (code == SHEAF_OK)
        code = request_set_header(r, "content-type", "application/octet-stream", err);
    if (code == SHEAF_OK)
        code = ask_for_checksum(r, bucket, proving, err);
    if (code == SHEAF_OK)
        code = make_mark(mark, err);
    if (code == SHEAF_OK)
        code = request_set_header(r, S3_MARK, mark, err);
    if (code == SHEAF_OK)
        code = request_run(r, err);
    request_free(r);
    return code;
}

int s3_upload_abort(const struct s3_bucket *bucket, const char *key, const char *upload_id,
                    struct sheaf_error *err)
{
    struct sigv4_pair query[] = { { "uploadId", upload_id } };
    struct request r;
    int code = s3_request_init(&r, bucket, HTTP_DELETE, key, query, 1, "aborting the upload of",
                               err);

    if (code == SHEAF_OK)
        code = request_run(&r, err);
    request_free(&r);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* ---- Complete -------------------------------------------------------------------------------- */

/* Checks that the response to the completion of an upload is complete. Completing an upload may
 * take minutes. To keep the connection alive, the store may send the status 200 first, and only
 * later an error. aws_classify finds such an error. */
static int complete_check(struct request *r, struct sheaf_error *err)
{
    return s3_xml_completed(r->http.reply.data, r->http.reply.size, err);
}

/* Appends the ETag of a part to the request that completes an upload. Leaves out the prefix W/ of a
 * weak ETag, because S3 itself has only strong ETags, and a proxy has added the prefix. If the ETag
 * is unknown, appends the MD5 of the part. */
static int complete_etag(const struct s3_proof *part, struct buf *body, struct sheaf_error *err)
{
    if (part->etag[0] != '\0')
        return buf_printf(body, err, "<ETag>%s</ETag>", etag_without_weak(part->etag));
    if (part->md5_text[0] == '\0')
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "the store does not tell the ETags of the parts "
                       "of an upload, and OpenSSL of this machine has no MD5 to replace them");
    return buf_printf(body, err, "<ETag>\"%s\"</ETag>", part->md5_text);
}

static int complete_body(const struct s3_completion *u, struct buf *body, struct sheaf_error *err)
{
    const struct s3_proof *parts = u->parts;
    int code = buf_printf(body, err, "<CompleteMultipartUpload "
                          "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");

    for (unsigned i = 0; i < u->count && code == SHEAF_OK; i++) {
        code = buf_printf(body, err, "<Part><PartNumber>%u</PartNumber>", i + 1);
        if (code == SHEAF_OK)
            code = complete_etag(&parts[i], body, err);
        if (code == SHEAF_OK && u->proving->checksum != NULL)
            code = buf_printf(body, err, "<%s>%s</%s>", u->proving->checksum->element,
                              parts[i].crc_text, u->proving->checksum->element);
        if (code == SHEAF_OK)
            code = buf_printf(body, err, "</Part>");
    }
    return code == SHEAF_OK ? buf_printf(body, err, "</CompleteMultipartUpload>") : code;
}

enum proof { PROVEN, DISPROVEN, NOT_SAID };

/* Checks the ETag of an object that was uploaded in parts. The expected ETag is the MD5 of the MD5s
 * of the parts. */
static enum proof check_etag(const struct s3_proof *parts, unsigned count, const char *etag,
                             char *expected, size_t expected_size)
{
    unsigned char *all = malloc((size_t)count * MD5_BYTES);
    unsigned char digest[MD5_BYTES];
    char digits[33], suffix[16];
    bool is_md5 = all != NULL && etag != NULL;

    for (unsigned i = 0; i < count && is_md5; i++) {
        is_md5 = parts[i].is_md5;
        memcpy(all + (size_t)i * MD5_BYTES, parts[i].md5, MD5_BYTES);
    }
    snprintf(suffix, sizeof(suffix), "-%u", count);
    is_md5 = is_md5 && is_md5_etag(etag, suffix) &&
             EVP_Digest(all, (size_t)count * MD5_BYTES, digest, NULL, EVP_md5(), NULL) == 1;
    free(all);
    if (!is_md5)
        return NOT_SAID;
    s3_upload_hexadecimal(digest, MD5_BYTES, digits);
    snprintf(expected, expected_size, "ETag \"%s%s\"", digits, suffix);
    return etag_has(etag, digits) ? PROVEN : DISPROVEN;
}

/* Checks `answered`, the checksum of an object as the store states it. If this text ends with "-N",
 * it is compared with the checksum of the checksums of the N parts. Otherwise it is compared with
 * the checksum of the object's bytes. */
static enum proof check_crc(const struct s3_completion *u, const char *answered, char *expected,
                            size_t expected_size)
{
    const struct s3_checksum *kind = u->proving->checksum;
    const size_t title = kind == NULL ? 0 : strlen(kind->title) + 1;
    const bool is_nested = answered != NULL && strchr(answered, '-') != NULL;
    char digits[S3_CRC_SIZE], suffix[16] = "";
    uint64_t crc = 0;

    if (kind == NULL || answered == NULL)
        return NOT_SAID;
    for (unsigned i = 0; i < u->count; i++)
        crc = is_nested ? s3_checksum_nest(kind, crc, u->parts[i].crc)
                        : s3_checksum_add(kind, crc, u->parts[i].crc, u->parts[i].bytes);
    s3_checksum_text(kind, crc, digits);
    if (is_nested)
        snprintf(suffix, sizeof(suffix), "-%u", u->count);
    snprintf(expected, expected_size, "%s %s%s", kind->title, digits, suffix);
    return strcmp(answered, expected + title) == 0 ? PROVEN : DISPROVEN;
}

/* Requests the size, ETag, checksum and mark of the object, and checks them after the upload was
 * completed. (The mark is a number that only this upload has stored in the object's metadata.) The
 * response to the request that completes the upload is not enough: it may be lost, and some stores
 * send an empty response. */
static int s3_upload_check_object(const struct s3_completion *u, const char *what,
                                  enum proof *proof, struct store_seen *now,
                                  struct sheaf_error *err)
{
    struct s3_head head;
    char expected[64];
    int code = s3_head(u->bucket, u->key, &head, err);

    if (code != SHEAF_OK)
        return code;
    *proof = check_etag(u->parts, u->count, head.etag, expected, sizeof(expected));
    if (*proof == NOT_SAID)
        *proof = check_crc(u, head.crc, expected, sizeof(expected));
    if (*proof == NOT_SAID && head.mark != NULL && strcmp(head.mark, u->mark) == 0)
        *proof = PROVEN;
    s3_seen(now, *proof == PROVEN ? head.etag : NULL, head.bytes);
    if (head.bytes != u->bytes)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the object has %llu byte%s, %llu were written",
                       what, (unsigned long long)head.bytes, plural(head.bytes),
                       (unsigned long long)u->bytes);
    else if (*proof == DISPROVEN)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the object has ETag %s and checksum %s, its "
                       "parts make %s", what, head.etag != NULL ? head.etag : "none",
                       head.crc != NULL ? head.crc : "none", expected);
    s3_head_free(&head);
    return code;
}

/* Sends the checksum of the whole object when the upload is completed. The store then refuses to
 * complete the upload if its parts differ from the parts that were sent. */
static int send_checksum(struct request *r, const struct s3_completion *u, struct sheaf_error *err)
{
    const struct s3_checksum *kind = u->proving->checksum;
    char text[S3_CRC_SIZE];
    uint64_t crc = 0;
    int code;

    if (kind == NULL || !u->proving->of_whole || u->bucket->is_express)
        return SHEAF_OK;
    for (unsigned i = 0; i < u->count; i++)
        crc = s3_checksum_add(kind, crc, u->parts[i].crc, u->parts[i].bytes);
    s3_checksum_text(kind, crc, text);
    code = request_set_header(r, kind->header, text, err);
    return code == SHEAF_OK ? request_set_header(r, "x-amz-checksum-type", "FULL_OBJECT", err)
                            : code;
}

int s3_upload_complete(struct s3_completion *u, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err)
{
    struct sigv4_pair query[] = { { "uploadId", u->upload_id } };
    struct request r;
    enum proof proof = NOT_SAID;
    struct buf body = BUF_INIT(COMPLETE_MOST);
    int code = s3_request_init(&r, u->bucket, HTTP_POST, u->key, query, 1,
                               "completing the upload of", err);

    r.check = complete_check;
    r.is_patient = true;
    if (code == SHEAF_OK)
        code = complete_body(u, &body, err);
    r.http.body = body.data;
    r.http.body_size = body.size;
    if (code == SHEAF_OK)
        code = request_set_header(&r, "content-type", "application/xml", err);
    if (code == SHEAF_OK)
        code = send_checksum(&r, u, err);
    if (code == SHEAF_OK)
        code = s3_require(&r, seen, u->bare_etags, err);
    if (code == SHEAF_OK)
        code = request_run(&r, err);
    /* If the upload no longer exists, check the object. The object exists if an earlier attempt has
     * completed the upload and the response was lost (libcurl may repeat a request by itself). The
     * object does not exist if another process has aborted the upload. */
    u->is_done = code == SHEAF_OK;
    if (code == SHEAF_OK)
        code = s3_upload_check_object(u, r.what, &proof, now, err);
    else if ((code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_CHANGED) &&
             s3_upload_check_object(u, r.what, &proof, now, NULL) == SHEAF_OK && proof == PROVEN)
        code = SHEAF_OK;
    request_free(&r);
    buf_free(&body);
    return code;
}
