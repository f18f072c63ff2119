/* SPDX-License-Identifier: MIT
 *
 * Hashes the bytes of a fetched file, and compares the hash with the manifest or with the object's
 * ETag. */
#include <string.h>

#include "base/error.h"
#include "base/hash_text.h"
#include "modes/fetch.h"

int fetch_hash_open(struct fetch_file *f, struct sheaf_error *err)
{
    struct fetch_destination *p = f->to;
    bool no_md5;

    pthread_mutex_lock(&p->lock);
    no_md5 = p->locked.md5_is_none;
    pthread_mutex_unlock(&p->lock);
    if (f->xxh3 != NULL) {
        f->hash = XXH3_createState();
        if (f->hash == NULL || XXH3_128bits_reset(f->hash) != XXH_OK)
            return err_memory(err, 1024);
    } else if (f->object->md5 != NULL && !no_md5) {
        f->md5 = EVP_MD_CTX_new();
        if (f->md5 == NULL)
            return err_memory(err, 1);
        if (EVP_DigestInit_ex(f->md5, EVP_md5(), NULL) != 1) {
            EVP_MD_CTX_free(f->md5);    /* this machine's rules forbid MD5 */
            f->md5 = NULL;
        }
    }
    return SHEAF_OK;
}

void fetch_hash_add(struct fetch_file *f, const uint8_t *data, size_t size)
{
    if (f->hash != NULL)
        XXH3_128bits_update(f->hash, data, size);
    else if (f->md5 != NULL && EVP_DigestUpdate(f->md5, data, size) != 1) {
        EVP_MD_CTX_free(f->md5);
        f->md5 = NULL;
    }
}

static int check_xxh3(const struct fetch_file *f, struct sheaf_error *err)
{
    char found[HASH_TEXT_BYTES];

    hash_text(XXH3_128bits_digest(f->hash), found);
    if (strcmp(found, f->xxh3) == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: the fetched bytes have XXH3 %s, the data set's "
                   "manifest says %s", f->source->url, found, f->xxh3);
}

/* Compares the MD5 of the file with the object's ETag. Sets *checked to true if they are equal. If
 * they differ, the result depends on the store. If the store states that its ETags are MD5s,
 * returns an error. Otherwise sets *checked to false, because the ETag may not be an MD5. */
static int check_md5(struct fetch_file *f, bool *checked, struct sheaf_error *err)
{
    unsigned char found[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    int code;

    *checked = false;
    if (EVP_DigestFinal_ex(f->md5, found, &size) != 1 || size != 16)
        return SHEAF_OK;
    *checked = memcmp(found, f->object->md5, 16) == 0;
    if (*checked)
        return SHEAF_OK;
    code = store_etag_is_md5(f->source->url, checked, err);
    if (code != SHEAF_OK)
        return code;
    if (*checked)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: the MD5 of the fetched bytes differs from "
                                               "the ETag", f->source->url);
    pthread_mutex_lock(&f->to->lock);
    f->to->locked.md5_is_none = true;
    pthread_mutex_unlock(&f->to->lock);
    return SHEAF_OK;
}

int fetch_hash_check(struct fetch_file *f, bool *checked, struct sheaf_error *err)
{
    *checked = f->hash != NULL;
    if (f->hash != NULL)
        return check_xxh3(f, err);
    return f->md5 != NULL ? check_md5(f, checked, err) : SHEAF_OK;
}

void fetch_hash_close(struct fetch_file *f)
{
    XXH3_freeState(f->hash);
    EVP_MD_CTX_free(f->md5);
}
