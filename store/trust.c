/* SPDX-License-Identifier: MIT
 *
 * Finds the certificates of the system; see trust.h. */
#include "store/trust.h"

#include <curl/curl.h>
#include <stddef.h>
#include <unistd.h>

static const char *const PLACES[] = {
    "/etc/ssl/certs/ca-certificates.crt",                   /* Debian, Ubuntu, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",                     /* Fedora, RHEL, Amazon Linux */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",    /* the same file without the old name */
    "/etc/ssl/ca-bundle.pem",                               /* SUSE */
    NULL,
};

const char *trust_first(const char *built_in, const char *const *places)
{
    if (built_in != NULL && access(built_in, R_OK) == 0)
        return NULL;
    while (*places != NULL && access(*places, R_OK) != 0)
        places++;
    return *places;
}

static const char *built_in_place(void)
{
    const curl_version_info_data *libcurl = curl_version_info(CURLVERSION_NOW);

    return libcurl->cainfo != NULL ? libcurl->cainfo : libcurl->capath;
}

const char *trust_file(void)
{
    return trust_first(built_in_place(), PLACES);
}

bool trust_is_missing(void)
{
    const char *built_in = built_in_place();

    return trust_file() == NULL && (built_in == NULL || access(built_in, R_OK) != 0);
}
