/* SPDX-License-Identifier: MIT
 *
 * Computes the identity of a data set's samples. A program stores the identity. When the program
 * resumes, the stored identity must be equal to the present identity.
 *
 * The identity depends on more than the fingerprint. It also depends on the locations of the
 * shards, because a copy of a data set has the same fingerprint. For foreign shards (shards without
 * a manifest), it also depends on the times of the files, because their fingerprint does not depend
 * on their content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/sample_seed.h"
#include "reader/dataset/dataset.h"
#include "store/store.h"

static int dataset_identity_add_shard(const struct sheaf_dataset *d, size_t i, XXH128_hash_t *sum,
                                      struct sheaf_error *err)
{
    char *path = realpath(d->urls[i], NULL);    /* NULL if the file does not exist here */
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
        code = dataset_identity_add_shard(d, i, &hash, err);
    snprintf(identity, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return code;
}

/* ---- What the seeds of samples depend on ----------------------------------------------------- */

/* In a stream, the samples of each shard are numbered from 0. So the seed of a sample is computed
 * from this number: number of the shard << SHARD_SHIFT | number of the sample in the shard. */
#define SHARD_SHIFT 40

static uint64_t samples_of(const struct sheaf_dataset *d, size_t i)
{
    const struct sheaf_dataset *source = dataset_source_at(d, i);

    return d->is_stream ? 0 : source->end_number - source->first_number;
}

int dataset_seed_sources(const struct sheaf_dataset *d, uint64_t **ids, struct sheaf_error *err)
{
    const size_t count = dataset_source_count(d);

    *ids = calloc(count, sizeof((*ids)[0]));
    if (*ids == NULL)
        return err_memory(err, count * sizeof((*ids)[0]));
    for (size_t i = 0; i < count; i++) {
        uint64_t before = 0;

        for (size_t k = 0; k < i; k++)
            before += samples_of(d, k) == samples_of(d, i);
        (*ids)[i] = sample_seed_source(samples_of(d, i), before, d->host, d->hosts);
    }
    return SHEAF_OK;
}

uint64_t dataset_sample_seed(const struct sheaf_dataset *d, const uint64_t *ids,
                             const struct sheaf_sample *sample, uint64_t seed,
                             uint64_t source_epoch)
{
    const size_t i = dataset_source_of(d, sample->shard);
    const struct sheaf_dataset *source = dataset_source_at(d, i);
    const uint64_t number = d->is_stream
        ? (uint64_t)(sample->shard - source->first_shard) << SHARD_SHIFT | sample->record
        : sample->number - source->first_number;

    return sample_seed(seed, ids[i], source_epoch, number);
}
