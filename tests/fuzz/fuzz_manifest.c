/* SPDX-License-Identifier: MIT
 *
 * Manifests: the input as it comes, and as edits to a sound one, whose fingerprint is then made
 * right.  One that is accepted can be written, and is then read back. */
#include <jansson.h>
#include <stdio.h>
#include <xxhash.h>

#include "formats/manifest.h"
#include "tests/fuzz/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *text, size_t size)
{
    struct buf again = BUF_INIT(MANIFEST_LIMIT);
    struct manifest m, same;
    char fingerprint[sizeof(m.fingerprint)];

    if (manifest_parse(text, size, &m, NULL) != SHEAF_OK)
        return;
    memcpy(fingerprint, m.fingerprint, sizeof(fingerprint));
    if (manifest_write(&m, &again, NULL) != SHEAF_OK ||
        strcmp(fingerprint, m.fingerprint) != 0 ||
        manifest_parse((char *)again.data, again.size, &same, NULL) != SHEAF_OK ||
        strcmp(fingerprint, same.fingerprint) != 0)
        abort();
    manifest_clear(&same);
    manifest_clear(&m);
    buf_free(&again);
}

/* With the fingerprint made right. */
static void parse_sealed(const char *text, size_t size)
{
    json_t *document = json_loadb(text, size, 0, NULL);
    char hex[33], *canonical, *sealed;
    XXH128_hash_t hash;

    if (json_is_object(document)) {
        json_object_del(document, "fingerprint");
        canonical = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
        hash = XXH3_128bits(canonical, strlen(canonical));
        free(canonical);
        snprintf(hex, sizeof(hex), "%016llx%016llx", (unsigned long long)hash.high64,
                 (unsigned long long)hash.low64);
        json_object_set_new(document, "fingerprint", json_string(hex));
        sealed = json_dumps(document, 0);
        parse(sealed, strlen(sealed));
        free(sealed);
    }
    json_decref(document);
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
    struct buf text = BUF_INIT(MANIFEST_LIMIT);

    if (manifest_write(&m, &text, NULL) != SHEAF_OK)
        abort();
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = make_manifest();
    size_t copy_size;
    uint8_t *copy = patched(text.data, text.size, data, size, &copy_size);

    parse((const char *)data, size);
    parse((const char *)copy, copy_size);
    parse_sealed((const char *)copy, copy_size);
    free(copy);
    buf_free(&text);
    return 0;
}
