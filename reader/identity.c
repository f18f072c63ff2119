/* SPDX-License-Identifier: MIT
 *
 * The identity of a data set's samples, which a program compares when it resumes.  The
 * fingerprint is not enough: a copy has the same one, and that of foreign shards does not cover
 * their content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "reader/dataset.h"
#include "store/store.h"

static int add_shard(const struct sheaf_dataset *d, size_t i, XXH128_hash_t *sum,
                     struct sheaf_error *err)
{
    char *path = realpath(d->urls[i], NULL);    /* NULL: it is not here */
    const char *url = path != NULL ? path : d->urls[i];
    uint64_t bytes, stamp = 0;
    int code = d->has_manifest ? SHEAF_OK : store_identify(d->urls[i], &bytes, &stamp, err);

    hash_add(sum, url, strlen(url));
    stamp = htole64(stamp);
    hash_add(sum, &stamp, sizeof(stamp));
    free(path);
    return code;
}

int sheaf_dataset_identity(const struct sheaf_dataset *d, char identity[33],
                           struct sheaf_error *err)
{
    XXH128_hash_t hash = { 0 };
    int code = SHEAF_OK;

    if (d->manifest.fingerprint[0] == '\0' || d->pipes != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "it can be read only once");
    hash_add(&hash, d->manifest.fingerprint, strlen(d->manifest.fingerprint));
    for (size_t i = 0; i < d->manifest.shard_count && code == SHEAF_OK; i++)
        code = add_shard(d, i, &hash, err);
    snprintf(identity, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return code;
}
