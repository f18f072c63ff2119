/* SPDX-License-Identifier: MIT
 *
 * Computes the origin of a data set: a hash that identifies the source and the options of a
 * conversion (see origin.h).
 *
 * The hash also covers two settings that no manifest states: whether the reader of the source
 * skipped bad samples, and whether the packer did. So when a hash is compared with a manifest, all
 * four combinations of these settings are tried. */
#include "formats/origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/json.h"

static void origin_add_text(XXH128_hash_t *sum, const char *text)
{
    hash_add(sum, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

void origin_hash(const struct sheaf_pack_options *o, const char *samples, char hash[33])
{
    uint64_t numbers[] = { (uint64_t)o->container, (uint64_t)o->codec, (uint64_t)o->label_base,
                           o->shard_bytes, (uint64_t)o->on_error };
    XXH128_hash_t sum = { 0 };

    words_le(numbers, COUNT_OF(numbers));
    hash_add(&sum, numbers, sizeof(numbers));
    origin_add_text(&sum, o->prefix);
    origin_add_text(&sum, o->index);
    origin_add_text(&sum, samples);
    snprintf(hash, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)sum.high64, (uint64_t)sum.low64);
}

/* Returns whether a data set is a conversion of the data set with the fingerprint `fingerprint`.
 * `plan` is the hash in its manifest. The hash depends on whether the reader skipped bad samples,
 * and on whether the packer did. The manifest states neither, so the four possible hashes are
 * compared. */
static bool comes_out(struct sheaf_pack_options *o, const char *plan, const char *fingerprint)
{
    for (int way = 0; way < 4; way++) {
        char samples[64], hash[33];

        o->on_error = way & 1 ? SHEAF_SKIP : SHEAF_FAIL;
        snprintf(samples, sizeof(samples), "%s%s", fingerprint, way & 2 ? " skip" : "");
        origin_hash(o, samples, hash);
        if (strcmp(hash, plan) == 0)
            return true;
    }
    return false;
}

int origin_is(const struct manifest *m, const char *fingerprint, bool *is,
              struct sheaf_error *err)
{
    const char *text = m->options_json == NULL ? "{}" : m->options_json, *plan;
    struct sheaf_pack_options o = { .container = m->container, .codec = m->codec,
                                    .label_base = m->label_base };
    json_t *options = NULL;
    json_error_t found;
    int code;

    *is = false;
    /* A conversion passes its samples to the packer as a program does, so its manifest has the
     * source "program". If the manifest's options do not contain this word, the data set is not a
     * conversion, and the options need not be parsed. This saves time in a union of many data sets,
     * which compares each pair of them. */
    if (strstr(text, "\"program\"") == NULL)
        return SHEAF_OK;
    code = json_load_text(text, strlen(text), 0, &options, &found, err);
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_MEMORY ? code : SHEAF_OK;
    plan = json_string_value(json_object_get(options, "plan"));
    o.prefix = json_string_value(json_object_get(options, "prefix"));
    o.index = json_string_value(json_object_get(options, "index"));
    o.shard_bytes = (uint64_t)json_integer_value(json_object_get(options, "shard_bytes"));
    *is = plan != NULL && comes_out(&o, plan, fingerprint);
    json_decref(options);
    return SHEAF_OK;
}
