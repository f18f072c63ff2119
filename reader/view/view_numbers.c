/* SPDX-License-Identifier: MIT
 *
 * Files of chosen numbers; see view_numbers.h. Such a file has a line of text, and then one bit for
 * each sample of the data set:
 *
 *     sheaf_numbers 1 FINGERPRINT SAMPLES\n  bits
 *
 * The name of the file is the hash of its content. So a view that contains the name identifies the
 * chosen samples, and a damaged or replaced file is noticed. */
#include "reader/view/view_numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/hash_text.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "reader/order/selection.h"
#include "store/store.h"

#define SUFFIX      ".numbers"
#define HEADER_ROOM 96u

static uint64_t view_numbers_bytes_of(uint64_t samples)
{
    return samples / 8 + (samples % 8 != 0);
}

static size_t view_numbers_write_header(const struct sheaf_dataset *d, char *header)
{
    return (size_t)snprintf(header, HEADER_ROOM, "sheaf_numbers 1 %s %" PRIu64 "\n",
                            d->manifest.fingerprint, dataset_samples(d));
}

static void view_numbers_name_of(const void *data, size_t size, char name[48])
{
    char hash[33];

    hash_text(XXH3_128bits(data, size), hash);
    snprintf(name, 48, "%s%s", hash, SUFFIX);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Returns the error for a file that was made for another data set, or for this data set in another
 * state. */
static int view_numbers_refuse_other(const struct sheaf_dataset *d, const char *path,
                                     const char *data, size_t size, struct sheaf_error *err)
{
    char fingerprint[33] = "", header[HEADER_ROOM] = "";
    uint64_t before;

    memcpy(header, data, size < sizeof(header) ? size : sizeof(header) - 1);
    if (sscanf(header, "sheaf_numbers 1 %32[0-9a-f] ", fingerprint) == 1 &&
        manifest_grew_from(&d->manifest, fingerprint, sizeof(fingerprint) - 1, &before))
        return err_set(err, SHEAF_ERR_CHANGED, "%s: the data set has grown since samples of it "
                       "were chosen by number, from %" PRIu64 " to %" PRIu64 ": choose them again, "
                       "and save the view again (%s was the choice)", d->url, before,
                       dataset_samples(d), path);
    if (fingerprint[0] != '\0' &&
        manifest_edited_from(&d->manifest, fingerprint, sizeof(fingerprint) - 1))
        return err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was edited since samples of it "
                       "were chosen by number: choose them again, and save the view again (%s was "
                       "the choice)", d->url, path);
    return err_set(err, SHEAF_ERR_CHANGED, "%s: these numbers were chosen of another data set "
                   "than that with fingerprint %s: choose them again", path,
                   d->manifest.fingerprint);
}

static int check_content(const struct sheaf_dataset *d, const char *path, const char *data,
                         size_t size, size_t *header_size, struct sheaf_error *err)
{
    const char *const slash = strrchr(path, '/'), *const base = slash == NULL ? path : slash + 1;
    char header[HEADER_ROOM], name[48];

    view_numbers_name_of(data, size, name);
    *header_size = view_numbers_write_header(d, header);
    if (strcmp(base, name) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: its content has the name %s: it was changed",
                       path, name);
    if (size < *header_size || memcmp(data, header, *header_size) != 0)
        return view_numbers_refuse_other(d, path, data, size, err);
    if (size != *header_size + view_numbers_bytes_of(dataset_samples(d)))
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: %zu bytes, expected %" PRIu64, path, size,
                       *header_size + view_numbers_bytes_of(dataset_samples(d)));
    return SHEAF_OK;
}

int view_numbers_load(const struct sheaf_dataset *d, const char *path, uint64_t *bits,
                      struct sheaf_error *err)
{
    const uint64_t samples = dataset_samples(d);
    size_t size = 0, header = 0;
    char *data = NULL;
    int code = store_get(path, HEADER_ROOM + view_numbers_bytes_of(samples), &data, &size, err);

    if (code == SHEAF_OK)
        code = check_content(d, path, data, size, &header, err);
    for (uint64_t i = 0; i < samples && code == SHEAF_OK; i++)
        if (((uint8_t)data[header + i / 8] >> (i % 8) & 1) == 0)
            bits[i / 64] &= ~((uint64_t)1 << (i % 64));
    free(data);
    return code;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Returns the path of a file beside a view. */
static char *beside(const char *path, const char *name)
{
    const char *const slash = strrchr(path, '/');
    char *whole = NULL;

    if (asprintf(&whole, "%.*s%s", slash == NULL ? 0 : (int)(slash - path + 1), path, name) < 0)
        return NULL;
    return whole;
}

static int set_bits(const struct sheaf_dataset *d, const uint64_t *numbers, size_t count,
                    char *bits, struct sheaf_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] >= dataset_samples(d))
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: there is no sample %" PRIu64 ": the data "
                           "set has %" PRIu64, d->url, numbers[i], dataset_samples(d));
        bits[numbers[i] / 8] = (char)(bits[numbers[i] / 8] | 1 << (numbers[i] % 8));
    }
    return SHEAF_OK;
}

int sheaf_view_write_numbers(const struct sheaf_dataset *d, const uint64_t *numbers, size_t count,
                             const char *path, char name[48], struct sheaf_error *err)
{
    size_t size;
    char *data, *whole = NULL;
    int code = SHEAF_OK;

    if (d->is_stream || d->view != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a view or a stream, which is no source "
                       "of a view", d->url);
    data = calloc(1, HEADER_ROOM + view_numbers_bytes_of(dataset_samples(d)));
    if (data == NULL)
        return err_memory(err, view_numbers_bytes_of(dataset_samples(d)));
    size = view_numbers_write_header(d, data);
    code = set_bits(d, numbers, count, data + size, err);
    size += view_numbers_bytes_of(dataset_samples(d));
    if (code == SHEAF_OK) {
        view_numbers_name_of(data, size, name);
        whole = beside(path, name);
        code = whole == NULL ? err_memory(err, strlen(path)) : store_put(whole, data, size, err);
    }
    free(whole);
    free(data);
    return code;
}
