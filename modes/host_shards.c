/* SPDX-License-Identifier: MIT
 *
 * Opens the shards that one host has; see host_shards.h. SageMaker's documentation says only that
 * each of n hosts gets about 1/n of the objects. So the files in the directory show which shards a
 * host has.
 *
 * All hosts must have epochs of the same length. Each host computes this length from the manifest
 * and the number n of hosts, which all hosts know. If S shards are distributed evenly, each host
 * has floor(S/n) or ceil(S/n) shards. The reader's option `remainder` selects one of two rules:
 * - With `pad`, the length is the number of samples in the ceil(S/n) largest shards. A host with
 *   fewer samples repeats some of its own samples.
 * - With `drop`, the length is the number of samples in the floor(S/n) smallest shards. A host with
 *   more samples leaves out the rest.
 *
 * A host may have too many samples for the rule `pad`, or too few for `drop`. It then gets an error
 * when it reads (check_host in reader_options.c). Otherwise the hosts would have epochs of
 * different lengths, and the job would hang. */
#include "modes/host_shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/shard_pattern.h"
#include "store/store.h"

/* seed of the hash that is the fingerprint of one host's part of a data set */
#define HOST_SEED 0x686f7374u

/* ---- Which shards are here ------------------------------------------------------------------ */

struct here {
    const struct sheaf_dataset *dataset;    /* the data set with all shards of the manifest */
    const char *directory;
    uint32_t *by_name;          /* shard numbers, sorted by name */
    bool *is_here;
    size_t count;
    struct sheaf_error *err;
};

static int host_shards_compare_names(const void *a, const void *b, void *context)
{
    const struct manifest_shard *shards = context;

    return strcmp(shards[*(const uint32_t *)a].name, shards[*(const uint32_t *)b].name);
}

static int sort_names(struct here *h)
{
    const struct manifest *m = &h->dataset->manifest;

    h->by_name = calloc(m->shard_count + 1, sizeof(h->by_name[0]));
    h->is_here = calloc(m->shard_count + 1, sizeof(h->is_here[0]));
    if (h->by_name == NULL || h->is_here == NULL)
        return err_memory(h->err, m->shard_count * sizeof(h->by_name[0]));
    for (size_t i = 0; i < m->shard_count; i++)
        h->by_name[i] = (uint32_t)i;
    qsort_r(h->by_name, m->shard_count, sizeof(h->by_name[0]), host_shards_compare_names,
            m->shards);
    return SHEAF_OK;
}

/* Returns the number of the shard with the name `name` in the manifest, or UINT32_MAX if the
 * manifest has no such shard. */
static uint32_t host_shards_find_shard(const struct here *h, const char *name)
{
    size_t low = 0, high = h->dataset->manifest.shard_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint32_t number = h->by_name[middle];
        const int order = strcmp(name, h->dataset->manifest.shards[number].name);

        if (order == 0)
            return number;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return UINT32_MAX;
}

static int host_shards_add_entry(void *context, const struct store_entry *entry)
{
    struct here *h = context;
    const uint32_t number = host_shards_find_shard(h, entry->name);

    if (number == UINT32_MAX && shard_is_side_file(entry->name))
        return SHEAF_OK;
    if (number == UINT32_MAX)
        return err_set(h->err, SHEAF_ERR_UNSUPPORTED, "%s/%s: not a shard of the data set %s: with "
                       "ShardedByS3Key only its shards can be told from what another host lacks",
                       h->directory, entry->name, h->dataset->url);
    h->count += !h->is_here[number];
    h->is_here[number] = true;
    return SHEAF_OK;
}

/* ---- How many samples an epoch has ----------------------------------------------------------- */

static int compare_counts(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int count_samples(struct sheaf_dataset *d, uint32_t hosts, struct sheaf_error *err)
{
    const size_t shards = d->manifest.shard_count;
    const size_t least = shards / hosts, most = least + (shards % hosts != 0);
    uint64_t *counts = calloc(shards + 1, sizeof(counts[0]));

    if (counts == NULL)
        return err_memory(err, shards * sizeof(counts[0]));
    for (size_t i = 0; i < shards; i++)
        counts[i] = d->manifest.shards[i].samples;
    qsort(counts, shards, sizeof(counts[0]), compare_counts);
    for (size_t i = 0; i < least; i++)
        d->host_drop += counts[i];
    for (size_t i = shards - most; i < shards; i++)
        d->host_pad += counts[i];
    free(counts);
    return SHEAF_OK;
}

/* ---- The data set of this host --------------------------------------------------------------- */

/* Removes from the manifest in memory all shards that are not on this host. The remaining shards
 * keep their order and their sections in the index. */
static int keep_shards(struct sheaf_dataset *d, const struct here *h)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        struct manifest_shard *shard = &d->manifest.shards[i];

        free(d->urls[i]);
        d->urls[i] = NULL;
        if (!h->is_here[i]) {
            free(shard->name);
            *shard = (struct manifest_shard){ .name = NULL };
            continue;
        }
        if (kept != i) {
            d->manifest.shards[kept] = *shard;
            *shard = (struct manifest_shard){ .name = NULL };
        }
        d->urls[kept] = store_join(h->directory, d->manifest.shards[kept].name);
        if (d->urls[kept++] == NULL)
            return err_memory(h->err, strlen(h->directory));
    }
    d->manifest.shard_count = kept;
    return SHEAF_OK;
}

/* Sets the fingerprint of this host's part of the data set. It is a hash of the data set's
 * fingerprint, this host's shards, and the number of hosts. A position that was saved on another
 * host has another fingerprint and is refused. */
static void host_shards_name_fingerprint(struct sheaf_dataset *d)
{
    const uint32_t hosts = htole32(d->hosts);
    XXH128_hash_t hash = XXH3_128bits_withSeed(&hosts, sizeof(hosts), HOST_SEED);

    hash_add(&hash, d->manifest.fingerprint, strlen(d->manifest.fingerprint));
    for (size_t i = 0; i < d->manifest.shard_count; i++)
        hash_add(&hash, d->manifest.shards[i].name, strlen(d->manifest.shards[i].name));
    hash_text(hash, d->manifest.fingerprint);
}

static int host_shards_check(const struct here *h, const struct host *host)
{
    const struct manifest *m = &h->dataset->manifest;
    size_t missing = 0;

    if (h->count == 0)
        return err_set(h->err, SHEAF_ERR_NOT_FOUND, "%s: none of the %zu shard%s of %s is here, on "
                       "host %" PRIu32 " of %" PRIu32 ": use fewer hosts than shards, or "
                       "FullyReplicated", h->directory, m->shard_count, plural(m->shard_count),
                       h->dataset->url, host->number, host->count);
    while (missing < m->shard_count && h->is_here[missing])
        missing++;
    if (host->count == 1 && missing != m->shard_count)
        return err_set(h->err, SHEAF_ERR_NOT_FOUND, "%s/%s: not found, and there is no other host "
                       "that could have this shard", h->directory, m->shards[missing].name);
    return SHEAF_OK;
}

/* Removes the shards of other hosts from the data set. If there is only one host, the data set does
 * not change. */
static int host_shards_take(struct sheaf_dataset *d, struct here *h, const struct host *host)
{
    int code = sort_names(h);

    if (code == SHEAF_OK)
        code = store_list(h->directory, host_shards_add_entry, h, h->err);
    if (code == SHEAF_OK)
        code = host_shards_check(h, host);
    if (code == SHEAF_OK && host->count > 1) {
        d->host = host->number;
        d->hosts = host->count;
        d->all_shards = d->manifest.shard_count;
        code = count_samples(d, host->count, h->err);
    }
    if (code == SHEAF_OK)
        code = keep_shards(d, h);
    if (code == SHEAF_OK && host->count > 1) {
        host_shards_name_fingerprint(d);
        dataset_forget_counts(d);
        /* The file dataset.keys maps keys to sample numbers in the whole data set. On this host the
         * samples have other numbers, so the file cannot be used. */
        d->has_keys = false;
    }
    if (code == SHEAF_OK)
        code = dataset_move(d, h->directory, h->err);
    if (code == SHEAF_OK && d->host_pad != 0 && dataset_samples(d) == 0)
        return err_set(h->err, SHEAF_ERR_NOT_FOUND, "%s: the shards that are here, on host %" PRIu32
                       " of %" PRIu32 ", have no samples", d->url, d->host, d->hosts);
    return code;
}

/* Checks that this host has the index file of the data set. SageMaker may have given this file to
 * another host. */
static int host_shards_check_index(const struct sheaf_dataset *d, struct sheaf_error *err)
{
    uint64_t bytes;
    int code = SHEAF_OK;

    for (size_t i = 0; i < d->part_count && code == SHEAF_OK; i++) {
        code = store_size(d->parts[i].index_url, &bytes, err);
        if (code == SHEAF_ERR_NOT_FOUND)
            err_set(err, code, "%s: not found: the index must lie beside the manifest",
                    d->parts[i].index_url);
    }
    return code;
}

int host_shards_open(const char *directory, const char *manifest, const struct host *host,
                     struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct here here = { .directory = directory, .err = err };
    struct sheaf_dataset *d = NULL;
    int code = dataset_refuse_unfinished(directory, err);

    if (code == SHEAF_OK)
        code = dataset_open_manifest(manifest != NULL ? manifest : directory, &d, err);
    if (code == SHEAF_OK && d == NULL)
        return err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no " MANIFEST_NAME ": with "
                                        "ShardedByS3Key it may be with another host",
                                        manifest != NULL ? manifest : directory),
                           SHEAF_REASON_NO_MANIFEST);
    here.dataset = d;
    if (code == SHEAF_OK)
        code = host_shards_check_index(d, err);
    if (code == SHEAF_OK)
        code = host_shards_take(d, &here, host);
    free(here.by_name);
    free(here.is_here);
    if (code == SHEAF_OK)
        *dataset = d;
    else
        sheaf_dataset_free(d);
    return code;
}
