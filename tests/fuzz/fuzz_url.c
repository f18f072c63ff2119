/* SPDX-License-Identifier: MIT
 *
 * Fuzzes URLs, AWS's shared configuration files, and credentials in JSON: texts from users and
 * services. Parts of an accepted URL must be fit for a request line, and an encoded text must
 * decode to the original. */
#include <stdlib.h>
#include <string.h>

#include "store/s3/credentials_sources.h"
#include "store/s3/profile.h"
#include "store/s3/s3_place.h"
#include "store/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Checks a bucket's name. Only the ARN of an access point may contain a slash. The name of the host
 * must contain only valid characters. */
static void check_place(const char *bucket)
{
    char region[] = "eu-west-1";
    const struct s3_config config = { .region = region, .use_arn_region = true };
    const char *slash = strchr(bucket, '/');
    struct s3_place place;

    require(slash == NULL || (strncmp(bucket, "arn:", 4) == 0 && strchr(slash + 1, '/') == NULL));
    if (s3_place_find(&config, bucket, NULL, &place, NULL) != SHEAF_OK)
        return;
    for (const char *c = place.url.host; *c != '\0'; c++)
        require(url_is_unreserved((unsigned char)*c) && *c != '~');
    s3_place_free(&place);
}

static void check_parse(const char *text)
{
    struct url url;
    char *bucket, *key;

    if (url_parse(text, &url, NULL) == SHEAF_OK) {
        require(url.path[0] == '/' || url.path[0] == '?');
        for (const char *c = url.path; *c != '\0'; c++)
            require(*c > 0x20 && *c < 0x7f && *c != '#');
        for (const char *c = url.host; *c != '\0'; c++)
            require(*c > 0x20 && *c < 0x7f && *c != '/' && *c != '@');
        url_free(&url);
    }
    if (url_parse_s3(text, &bucket, &key, NULL) == SHEAF_OK) {
        require(strlen(key) <= URL_KEY_MOST);
        check_place(bucket);
        free(bucket);
        free(key);
    }
}

static void check_encoding(const char *text)
{
    struct buf out = BUF_INIT((size_t)1 << 20);

    require(url_encode(&out, text, true, NULL) == SHEAF_OK);
    require(buf_append(&out, "", 1, NULL) == SHEAF_OK);
    require(url_decode((char *)out.data, true));
    require(strcmp((const char *)out.data, text) == 0);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profiles profiles = { 0 };
    struct credentials *set = NULL;
    char *text = malloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    check_parse(text);
    check_encoding(text);
    if (credentials_from_json(text, size, "fuzz", size % 2, &set, NULL) == SHEAF_OK)
        credentials_release(set);
    (void)profiles_parse(&profiles, PROFILE_CONFIG, "fuzz", text, NULL);
    (void)profiles_get(&profiles, "default", "region");
    profiles_free(&profiles);
    memcpy(text, data, size);
    (void)url_decode(text, false);
    free(text);
    return 0;
}
