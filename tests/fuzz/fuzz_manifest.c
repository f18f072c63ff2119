/* SPDX-License-Identifier: MIT
 *
 * Fuzzes manifests. The input is used as it is, as edits to an intact manifest, and as edits to one
 * with two appends; the fingerprints are then corrected. An accepted manifest can be written and
 * read back, and its appends can be undone. */
#include <stdlib.h>
#include <string.h>

#include "formats/manifest.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "tests/common_seal.h"
#include "tests/fuzz/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- What was accepted ----------------------------------------------------------------------- */

static void read_again(struct manifest *m)
{
    struct buf again = BUF_INIT(MANIFEST_LIMIT);
    char fingerprint[sizeof(m->fingerprint)];
    struct manifest same;

    memcpy(fingerprint, m->fingerprint, sizeof(fingerprint));
    require(manifest_write(m, &again, NULL) == SHEAF_OK);
    require(strcmp(fingerprint, m->fingerprint) == 0);
    require(manifest_parse((char *)again.data, again.size, &same, NULL) == SHEAF_OK);
    require(strcmp(fingerprint, same.fingerprint) == 0);
    manifest_clear(&same);
    buf_free(&again);
}

static void ask_options(const struct manifest *m)
{
    struct manifest_images images;
    char *value;

    require(manifest_images(m, &images, NULL) == SHEAF_OK);
    require(manifest_option(m, "seed", &value, NULL) == SHEAF_OK);
    free(value);
    require(manifest_change_plan(m, &value, NULL) == SHEAF_OK);
    free(value);
}

/* Undoes the last append, and checks the result. */
static void undo_growth(struct manifest *m)
{
    const struct manifest_growth before = m->growths[m->growth_count - 1];
    uint64_t samples, sum = 0;

    require(manifest_grew_from(m, before.fingerprint, 32, &samples));
    require(manifest_undo_growth(m));
    require(strcmp(m->fingerprint, before.fingerprint) == 0);
    require(m->shard_count == before.shards && m->class_count == before.classes);
    for (size_t i = 0; i < m->shard_count; i++)
        sum += m->shards[i].samples;
    require(sum == samples);
}

static void parse(const char *text, size_t size)
{
    char name[GROWN_NAME_BYTES];
    struct manifest m;

    if (manifest_parse(text, size, &m, NULL) != SHEAF_OK)
        return;
    read_again(&m);
    ask_options(&m);
    manifest_part_name(INDEX_NAME, m.growth_count, m.edit_count, name);
    require(manifest_part_is(name, INDEX_NAME));
    require((strcmp(name, INDEX_NAME) == 0) == (m.growth_count + m.edit_count == 0));
    while (m.growth_count != 0 && !manifest_edit_is_last(&m))
        undo_growth(&m);
    require(!manifest_undo_growth(&m));
    manifest_clear(&m);
}

/* ---- What is tried --------------------------------------------------------------------------- */

static void parse_sealed(const void *text, size_t size)
{
    char *sealed = seal_manifest_text(text, size);

    if (sealed != NULL)
        parse(sealed, strlen(sealed));
    free(sealed);
}

static void parse_edited(const struct buf *sound, const uint8_t *edits, size_t edits_size)
{
    size_t size;
    uint8_t *copy = patched(sound->data, sound->size, edits, edits_size, &size);

    parse((const char *)copy, size);
    parse_sealed(copy, size);
    free(copy);
}

static struct buf text_of(struct manifest *m)
{
    struct buf text = BUF_INIT(MANIFEST_LIMIT);

    require(manifest_write(m, &text, NULL) == SHEAF_OK);
    return text;
}

static struct buf make_manifest(void)
{
    static char name[] = "shard-000000.rec.gz", class[] = "001.ak47", options[] = "{\"a\": [1]}";
    static char *classes[] = { class };
    struct manifest_shard shard = {
        .name = name, .bytes = 90, .raw_bytes = 100, .payload_bytes = 80, .samples = 3,
        .largest = 50, .xxh3 = "0123456789abcdef0123456789abcdef", .index_bytes = 10,
        .names_bytes = 60,
    };
    struct manifest m = {
        .container = SHEAF_RECORDIO, .codec = SHEAF_CODEC_GZIP, .ours = true, .classes = classes,
        .class_count = 1, .options_json = options, .shards = &shard, .shard_count = 1,
        .index_bytes = 10,
    };

    return text_of(&m);
}

/* Makes a manifest with one packed shard and two appends, and with counts of fields and classes. */
static struct buf make_grown(void)
{
    static char names[][8] = { "0.tar", "1.tar", "2.tar" }, cat[] = "cat", dog[] = "dog";
    static char *classes[] = { cat, dog }, options[] = "{\"seed\": \"7\", \"images_resized\": 2}";
    static uint64_t class_samples[] = { 4, 2 };
    static struct sheaf_field fields[] = { { .name = "cls", .size = 1 },
                                           { .name = "jpg", .size = 1234 } };
    struct manifest_growth growths[] = {
        { .fingerprint = "fedcba9876543210fedcba9876543210", .shards = 1, .classes = 1,
          .options_json = options },
        { .fingerprint = "0123456789abcdef0123456789abcdef", .shards = 2, .classes = 2,
          .options_json = options },
    };
    struct manifest_shard shards[3];
    struct manifest m = {
        .container = SHEAF_WEBDATASET, .ours = true, .classes = classes, .class_count = 2,
        .class_samples = class_samples, .options_json = options, .shards = shards,
        .shard_count = 3, .index_bytes = 30, .growths = growths, .growth_count = 2,
    };
    struct buf text;

    for (size_t i = 0; i < 3; i++)
        shards[i] = (struct manifest_shard){
            .name = names[i], .bytes = 3000, .raw_bytes = 3000, .payload_bytes = 2470,
            .samples = 2, .largest = 1500, .xxh3 = "0123456789abcdef0123456789abcdef",
            .index_offset = 10 * i, .index_bytes = 10, .index_xxh3 = "0123456789abcdef",
        };
    for (size_t i = 0; i < 6; i++) {
        const struct sheaf_sample sample = { .key = "a/1", .fields = fields,
                                             .field_count = i < 4 ? 2 : 1 };

        require(tally_add(&m.fields, &sample, NULL) == SHEAF_OK);
    }
    text = text_of(&m);
    tally_clear(&m.fields);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buf plain, grown;

    if (plain.size == 0) {
        plain = make_manifest();
        grown = make_grown();
    }
    parse((const char *)data, size);
    parse_sealed(data, size);
    parse_edited(&plain, data, size);
    parse_edited(&grown, data, size);
    return 0;
}
