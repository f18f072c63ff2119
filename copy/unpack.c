/* SPDX-License-Identifier: MIT
 *
 * sheaf_unpack: writes each field of each sample of a data set as a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "copy/copying.h"
#include "copy/extract.h"
#include "base/keyset.h"

#define PATH_LIMIT 8192     /* bytes of a key and a suffix */

void sheaf_unpack_options_init(struct sheaf_unpack_options *options, size_t size)
{
    memset(options, 0, size);
    options->sizeof_options = size;
}

/* The state of sheaf_unpack, including the keys of all samples that were already unpacked. */
struct unpacking {
    struct copying in;
    struct extract *extract;
    enum sheaf_duplicate_keys duplicate_keys;
    struct keyset seen;         /* keys; empty if repeated keys are allowed */
    char key[PATH_LIMIT];       /* new key for a sample with a repeated key */
    struct sheaf_unpack_result *result;
};

static int write_field(struct extract *extract, const struct sheaf_sample *sample,
                       const struct sheaf_field *field, struct sheaf_error *err)
{
    char path[PATH_LIMIT];
    const int n = snprintf(path, sizeof(path), "%s.%s", sample->key, field->suffix);

    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(err, SHEAF_ERR_LIMIT, "sample %" PRIu64 ": the path has %d bytes; the "
                       "limit is %d", sample->number, n, PATH_LIMIT - 1);
    return extract_file(extract, path, field->data, field->size, err);
}

/* Gives the sample a new key if an earlier sample has the same key. Returns SHEAF_END if the sample
 * must be left out instead. */
static int unpack_take_key(struct unpacking *u, struct sheaf_sample *sample,
                           struct sheaf_error *err)
{
    const char *key = sample->key;
    int code;

    if (u->duplicate_keys == SHEAF_DUPLICATE_FAIL)
        return SHEAF_OK;            /* but no file is written twice */
    code = keyset_check(&u->seen, key, err);
    u->result->duplicates += code == SHEAF_ERR_EXISTS;
    if (code == SHEAF_ERR_EXISTS && u->duplicate_keys == SHEAF_DUPLICATE_DROP)
        return SHEAF_END;
    for (uint64_t number = 2; code == SHEAF_ERR_EXISTS; number++) {
        const int n = snprintf(u->key, sizeof(u->key), "%s-%" PRIu64, key, number);

        if (n < 0 || (size_t)n >= sizeof(u->key))
            return err_set(err, SHEAF_ERR_LIMIT, "sample %" PRIu64 ": the key has %d bytes; the "
                           "limit is %d", sample->number, n, PATH_LIMIT - 1);
        sample->key = u->key;
        code = keyset_check(&u->seen, sample->key, err);
    }
    if (code == SHEAF_OK)
        keyset_add(&u->seen, sample->key);
    return code;
}

static int unpack_sample(struct unpacking *u, const struct sheaf_sample *given,
                         struct sheaf_error *err)
{
    struct sheaf_sample sample = *given;
    int code = unpack_take_key(u, &sample, err);

    if (code == SHEAF_END) {
        copying_done(&u->in, given);
        return SHEAF_OK;
    }
    for (size_t i = 0; i < sample.field_count && code == SHEAF_OK; i++) {
        code = write_field(u->extract, &sample, &sample.fields[i], err);
        if (code == SHEAF_OK) {
            u->result->files++;
            u->result->bytes += sample.fields[i].size;
        }
    }
    if (code != SHEAF_OK)
        return copying_place(&u->in, given, err);
    u->result->samples++;
    copying_done(&u->in, given);
    return SHEAF_OK;
}

static int unpack_all(struct unpacking *u, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        const struct sheaf_sample *samples;
        size_t count = 0;

        code = copying_next(&u->in, 0, &samples, &count, err);
        for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
            code = unpack_sample(u, &samples[i], err);
            if (code == SHEAF_OK)
                code = watch_check(&u->in.watch, err);
        }
    }
    return code == SHEAF_END ? extract_sync(u->extract, err) : code;
}

/* Checks that every sample that the reader returned was either written or left out. The reader
 * itself checks that it returned or reported every sample of the data set. */
static int unpack_check_sum(const struct unpacking *u, struct sheaf_error *err)
{
    const struct sheaf_unpack_result *r = u->result;
    const uint64_t left_out = u->duplicate_keys == SHEAF_DUPLICATE_DROP ? r->duplicates : 0;
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(u->in.reader, &stats, sizeof(stats));
    if (stats.samples == r->samples + left_out &&
        (stats.payload_bytes == r->bytes || (left_out != 0 && stats.payload_bytes > r->bytes)))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_MISMATCH, "unpack: %" PRIu64 " sample%s (%" PRIu64 " byte%s) "
                   "were read, but %" PRIu64 " (%" PRIu64 " byte%s) written", stats.samples,
                   plural(stats.samples), stats.payload_bytes, plural(stats.payload_bytes),
                   r->samples, r->bytes, plural(r->bytes));
}

int sheaf_unpack(const struct sheaf_dataset *dataset, const char *directory,
                 const struct sheaf_unpack_options *options,
                 const struct sheaf_reader_options *reading, struct sheaf_unpack_result *result,
                 struct sheaf_reader_stats *stats, struct sheaf_error *error)
{
    struct sheaf_unpack_options o = { .resume = 0 };
    struct sheaf_unpack_result own_result;
    struct sheaf_error own_error;
    struct unpacking u = { .result = result != NULL ? result : &own_result };
    int code;

    error = error != NULL ? error : &own_error;
    *u.result = (struct sheaf_unpack_result){ .samples = 0 };
    sized_take(&o, sizeof(o), options);
    u.duplicate_keys = o.duplicate_keys;
    copying_init(&u.in, dataset, &(struct watch){ .progress = o.progress, .context = o.context,
                                                  .interrupt = o.interrupt }, "unpack");
    code = copying_open(&u.in, reading, error);
    if (code == SHEAF_OK && !o.resume && o.duplicate_keys != SHEAF_DUPLICATE_DROP &&
        (reading == NULL || reading->on_corrupt == SHEAF_FAIL))
        code = copying_check_space(&u.in, directory, u.in.info.samples, error);
    if (code == SHEAF_OK)
        code = extract_open(directory, o.resume != 0, &u.extract, error);
    if (code == SHEAF_OK)
        code = unpack_all(&u, error);
    if (code == SHEAF_OK)
        code = unpack_check_sum(&u, error);
    extract_close(u.extract, code != SHEAF_OK);
    keyset_free(&u.seen);
    copying_close(&u.in, stats);
    return code;
}

int sheaf_unpack_samples(const struct sheaf_sample *samples, size_t count, const char *field,
                         const char *directory, struct sheaf_error *error)
{
    struct extract *extract = NULL;
    int code = extract_open(directory, false, &extract, error);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        for (size_t f = 0; f < samples[i].field_count && code == SHEAF_OK; f++)
            if (field == NULL || strcmp(samples[i].fields[f].name, field) == 0)
                code = write_field(extract, &samples[i], &samples[i].fields[f], error);
    if (code == SHEAF_OK)
        code = extract_sync(extract, error);
    extract_close(extract, code != SHEAF_OK);
    return code;
}
