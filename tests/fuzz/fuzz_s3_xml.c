/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the parsers of responses from S3 and STS. Every parser gets every input. The values from a
 * listing must be consistent. No value may be passed on twice or never freed. */
#include <stdlib.h>
#include <string.h>

#include "store/s3/s3_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static int each(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    (void)err;
    ++*(size_t *)context;
    require(entry->key != NULL && strlen(entry->key) < 100000);
    require(entry->upload_id == NULL || entry->bytes == 0 || strlen(entry->upload_id) < 100000);
    return SHEAF_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct s3_xml_credentials credentials;
    struct s3_xml_error error;
    struct s3_xml_page page;
    size_t entries = 0;
    char *id = NULL;
    int code;

    code = s3_xml_error(data, size, &error);
    require(code == SHEAF_OK || code == SHEAF_END || code == SHEAF_ERR_CORRUPT);
    require(memchr(error.code, '\0', sizeof(error.code)) != NULL);
    require(memchr(error.message, '\0', sizeof(error.message)) != NULL);
    if (s3_xml_page(data, size, &page, NULL) == SHEAF_OK)
        (void)s3_xml_entries(data, size, &page, each, &entries, NULL);
    require(entries <= size);
    s3_xml_page_free(&page);
    code = s3_xml_upload_id(data, size, &id, NULL);
    require((code == SHEAF_OK) == (id != NULL));
    free(id);
    (void)s3_xml_completed(data, size, NULL);
    code = s3_xml_credentials(data, size, &credentials, NULL);
    require((code == SHEAF_OK) == (credentials.secret_access_key != NULL));
    if (code == SHEAF_OK)
        s3_xml_credentials_free(&credentials);
    return 0;
}
