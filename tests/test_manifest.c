/* SPDX-License-Identifier: MIT
 *
 * Tests dataset.json: writing, reading, and refusing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "formats/manifest.h"
#include "tests/common_manifest.h"
#include "tests/common_seal.h"

#define HASH "0123456789abcdef0123456789abcdef"

static char name_0[] = "shard-000000.rec.gz", name_1[] = "shard-000001.rec.gz";
static char class_0[] = "001.ak47", class_1[] = "002.am\"\xc3\xa9\"rican-flag";
static char options[] = "{\"seed\": 0, \"split\": \"train=0.8,val=0.2\", \"label_base\": 1}";

/* A manifest with every kind of content, in memory that does not belong to it. */
struct example {
    struct manifest m;
    struct manifest_shard shards[2];
    char *classes[2];
};

static void example_fill(struct example *e)
{
    *e = (struct example){
        .m = {
            .container = SHEAF_RECORDIO, .codec = SHEAF_CODEC_GZIP, .single_member = true,
            .ours = true, .label_base = 1, .class_count = 2, .options_json = options,
            .shard_count = 2, .index_bytes = 300, .fields.is_unknown = true,
        },
        .shards = {
            { .name = name_0, .bytes = 900, .raw_bytes = 1000, .payload_bytes = 800,
              .samples = 3, .largest = 500, .xxh3 = HASH, .index_offset = 0, .index_bytes = 100,
              .index_xxh3 = "0123456789abcdef",
              .names_bytes = 60 },
            { .name = name_1, .bytes = 90, .raw_bytes = 100, .payload_bytes = 80, .samples = 1,
              .largest = 100, .xxh3 = HASH, .index_offset = 100, .index_bytes = 200,
              .names_bytes = 20 },
        },
        .classes = { class_0, class_1 },
    };
    e->m.shards = e->shards;
    e->m.classes = e->classes;
}

static struct buf example_text(void)
{
    struct example e;

    example_fill(&e);
    return manifest_text(&e.m);
}

static int parse(const void *text, size_t size)
{
    struct sheaf_error err = { 0 };
    char *copy = malloc(size != 0 ? size : 1);  /* a sanitizer notices a read past the end */
    struct manifest m;
    int code;

    assert_non_null(copy);
    memcpy(copy, text, size);
    code = manifest_parse(copy, size, &m, &err);
    free(copy);
    if (code != SHEAF_OK) {
        assert_int_equal(err.code, code);
        assert_true(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
        assert_null(m.shards);
    }
    manifest_clear(&m);
    return code;
}

/* ---- What is written is read ---------------------------------------------------------------- */

static void assert_same_shard(const struct manifest_shard *a, const struct manifest_shard *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->raw_bytes, b->raw_bytes);
    assert_int_equal(a->payload_bytes, b->payload_bytes);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->largest, b->largest);
    assert_string_equal(a->xxh3, b->xxh3);
    assert_int_equal(a->index_offset, b->index_offset);
    assert_int_equal(a->index_bytes, b->index_bytes);
    assert_string_equal(a->index_xxh3, b->index_xxh3);
    assert_int_equal(a->names_bytes, b->names_bytes);
}

static void everything_is_found_again(void **state)
{
    struct example e;
    struct buf text;
    struct manifest m;

    (void)state;
    example_fill(&e);
    text = manifest_text(&e.m);
    assert_int_equal(manifest_parse((char *)text.data, text.size, &m, NULL), SHEAF_OK);
    assert_int_equal(m.container, SHEAF_RECORDIO);
    assert_int_equal(m.codec, SHEAF_CODEC_GZIP);
    assert_true(m.single_member && m.ours && !m.cls_is_label);
    assert_int_equal(m.label_base, 1);
    assert_int_equal(m.class_count, 2);
    assert_string_equal(m.classes[0], class_0);
    assert_string_equal(m.classes[1], class_1);
    assert_non_null(strstr(m.options_json, "\"train=0.8,val=0.2\""));
    assert_int_equal(m.index_bytes, 300);
    assert_int_equal(m.shard_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_same_shard(&m.shards[i], &e.shards[i]);
    assert_string_equal(m.fingerprint, e.m.fingerprint);
    manifest_clear(&m);
    assert_null(m.classes);
    buf_free(&text);
}

/* Tests counts that older releases did not write. */
static void counts_are_found_again(void **state)
{
    const struct sheaf_field fields[] = { { .name = "jpg", .size = 12345 },
                                          { .name = "json", .size = 7 } };
    const struct sheaf_sample sample = { .key = "k/\xc3\xa9", .fields = fields, .field_count = 2 };
    const struct sheaf_sample lacking = { .key = "last", .fields = fields, .field_count = 1 };
    uint64_t class_samples[] = { 4, 0 };
    struct example e;
    struct buf text;
    struct manifest m;

    (void)state;
    example_fill(&e);
    e.m.fields.is_unknown = false;
    e.m.class_samples = class_samples;
    for (int i = 0; i < 4; i++)
        assert_int_equal(tally_add(&e.m.fields, i < 3 ? &sample : &lacking, NULL), SHEAF_OK);
    text = manifest_text(&e.m);
    assert_int_equal(manifest_parse((char *)text.data, text.size, &m, NULL), SHEAF_OK);
    assert_int_equal(m.class_samples[0], 4);
    assert_int_equal(m.class_samples[1], 0);
    assert_int_equal(m.fields.count, 2);
    assert_int_equal(m.fields.samples, 4);
    assert_int_equal(m.fields.fields[0].bytes, 4 * 12345);
    assert_null(m.fields.fields[0].lacking);
    assert_int_equal(m.fields.fields[1].samples, 3);
    assert_string_equal(m.fields.fields[1].lacking, "last");
    manifest_clear(&m);
    tally_clear(&e.m.fields);
    buf_free(&text);
}

static void the_bare_minimum_is_found_again(void **state)
{
    struct manifest none = { .container = SHEAF_TFRECORD }, m;
    struct buf text = manifest_text(&none);

    (void)state;
    assert_int_equal(manifest_parse((char *)text.data, text.size, &m, NULL), SHEAF_OK);
    assert_null(m.options_json);
    assert_null(m.classes);
    assert_null(m.shards);
    assert_false(m.ours || m.single_member || m.cls_is_label);
    manifest_clear(&m);
    buf_free(&text);
}

static void what_was_read_is_written_to_the_same_text(void **state)
{
    struct buf text = example_text(), again;
    struct manifest m;

    (void)state;
    assert_int_equal(manifest_parse((char *)text.data, text.size, &m, NULL), SHEAF_OK);
    again = manifest_text(&m);
    assert_int_equal(again.size, text.size);
    assert_memory_equal(again.data, text.data, text.size);
    manifest_clear(&m);
    buf_free(&again);
    buf_free(&text);
}

static void the_text_is_as_documented(void **state)
{
    static const char expected[] =
        "{\n"
        "  \"sheaf\": 1,\n"
        "  \"container\": \"recordio\",\n"
        "  \"codec\": \"gzip\",\n"
        "  \"single_member\": true,\n"
        "  \"foreign\": false,\n"
        "  \"cls_is_label\": false,\n"
        "  \"samples\": 4,\n"
        "  \"bytes\": 990,\n"
        "  \"raw_bytes\": 1100,\n"
        "  \"payload_bytes\": 880,\n"
        "  \"index_bytes\": 300,\n"
        "  \"options\": {\"seed\": 0, \"split\": \"train=0.8,val=0.2\", \"label_base\": 1},\n"
        "  \"label_base\": 1,\n"
        "  \"classes\": [\n"
        "    \"001.ak47\",\n"
        "    \"002.am\\\"\xc3\xa9\\\"rican-flag\"\n"
        "  ],\n"
        "  \"shards\": [\n"
        "    {\"name\": \"shard-000000.rec.gz\", \"samples\": 3, \"bytes\": 900, "
        "\"raw_bytes\": 1000, \"payload_bytes\": 800, \"largest\": 500, \"index_offset\": 0, "
        "\"index_bytes\": 100, \"names_bytes\": 60, \"xxh3\": \"" HASH "\", "
        "\"index_xxh3\": \"0123456789abcdef\"},\n"
        "    {\"name\": \"shard-000001.rec.gz\", \"samples\": 1, \"bytes\": 90, "
        "\"raw_bytes\": 100, \"payload_bytes\": 80, \"largest\": 100, \"index_offset\": 100, "
        "\"index_bytes\": 200, \"names_bytes\": 20, \"xxh3\": \"" HASH "\"}\n"
        "  ],\n"
        "  \"fingerprint\": \"";
    struct buf text = example_text();

    (void)state;
    assert_true(text.size == strlen(expected) + 32 + strlen("\"\n}\n"));
    assert_memory_equal(text.data, expected, strlen(expected));
    buf_free(&text);
}

/* In Python: xxhash.xxh3_128_hexdigest(json.dumps(d, sort_keys=True, separators=(",", ":"),
 * ensure_ascii=False).encode()) of the document without its fingerprint. */
static void the_fingerprint_is_of_the_sorted_compact_text(void **state)
{
    static const char canonical[] =
        "{\"bytes\":0,\"classes\":[],\"cls_is_label\":false,\"codec\":\"none\","
        "\"container\":\"webdataset\",\"fields\":[],\"foreign\":true,\"index_bytes\":0,"
        "\"label_base\":0,\"options\":null,\"payload_bytes\":0,\"raw_bytes\":0,\"samples\":0,"
        "\"shards\":[],\"sheaf\":1,\"single_member\":false}";
    const XXH128_hash_t hash = XXH3_128bits(canonical, sizeof(canonical) - 1);
    struct manifest m = { .container = SHEAF_WEBDATASET };
    struct buf text = manifest_text(&m);
    char expected[33];

    (void)state;
    snprintf(expected, sizeof(expected), "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    assert_string_equal(m.fingerprint, expected);
    buf_free(&text);
}

static void layout_is_no_part_of_the_fingerprint(void **state)
{
    struct buf text = example_text();
    json_t *document = json_loadb((char *)text.data, text.size, 0, NULL);
    char *other = json_dumps(document, JSON_INDENT(7) | JSON_SORT_KEYS | JSON_ENSURE_ASCII);

    (void)state;
    assert_int_equal(parse(other, strlen(other)), SHEAF_OK);
    free(other);
    json_decref(document);
    buf_free(&text);
}

static void ten_thousand_shards_are_no_problem(void **state)
{
    const size_t count = 10000;
    struct manifest m = { .container = SHEAF_TFRECORD, .shard_count = count };
    struct buf text;

    (void)state;
    m.shards = calloc(count, sizeof(m.shards[0]));
    assert_non_null(m.shards);
    for (size_t i = 0; i < count; i++) {
        m.shards[i] = (struct manifest_shard){ .bytes = i, .raw_bytes = i, .xxh3 = HASH };
        assert_true(asprintf(&m.shards[i].name, "shard-%06zu.tfrecord", i) > 0);
    }
    text = manifest_text(&m);
    assert_int_equal(parse(text.data, text.size), SHEAF_OK);
    manifest_clear(&m);
    buf_free(&text);
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void every_prefix_is_refused(void **state)
{
    struct buf text = example_text();

    (void)state;
    for (size_t size = 0; size < text.size - 1; size++)     /* the last newline is not needed */
        assert_int_equal(parse(text.data, size), SHEAF_ERR_CORRUPT);
    buf_free(&text);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void every_flipped_bit_is_found(void **state)
{
    struct buf text = example_text();

    (void)state;
    for (size_t bit = 0; bit < 8 * text.size; bit++) {
        uint8_t *byte = &text.data[bit / 8];
        const uint8_t right = *byte;

        *byte ^= (uint8_t)(1 << bit % 8);
        if (!is_blank(right) || !is_blank(*byte))
            assert_int_not_equal(parse(text.data, text.size), SHEAF_OK);
        *byte = right;
    }
    assert_int_equal(parse(text.data, text.size), SHEAF_OK);
    buf_free(&text);
}

/* Changes the document, corrects its fingerprint, and parses it. */
static int parse_changed(void (*change)(json_t *document, json_t *shard, const void *with),
                         const void *with)
{
    struct buf text = example_text();
    json_t *document = json_loadb((char *)text.data, text.size, 0, NULL);
    char *sealed;
    int code;

    change(document, json_array_get(json_object_get(document, "shards"), 1), with);
    sealed = seal_manifest(document);
    code = parse(sealed, strlen(sealed));
    free(sealed);
    json_decref(document);
    buf_free(&text);
    return code;
}

struct change {
    bool in_shard;
    const char *key, *value;    /* JSON; NULL removes the key */
};

static void set_key(json_t *document, json_t *shard, const void *with)
{
    const struct change *c = with;
    json_t *object = c->in_shard ? shard : document;

    if (c->value == NULL)
        assert_int_equal(json_object_del(object, c->key), 0);
    else
        assert_int_equal(json_object_set_new(object, c->key,
                                             json_loads(c->value, JSON_DECODE_ANY, NULL)), 0);
}

static void nothing_may_be_missing(void **state)
{
    static const char *const keys[] = {
        "sheaf", "container", "codec", "single_member", "foreign", "cls_is_label", "samples",
        "bytes", "raw_bytes", "payload_bytes", "index_bytes", "options", "label_base", "classes",
        "shards",
    };
    static const char *const shard_keys[] = {
        "name", "samples", "bytes", "raw_bytes", "payload_bytes", "largest", "index_offset",
        "index_bytes", "names_bytes", "xxh3",
    };
    struct change c = { .in_shard = false };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        c.key = keys[i];
        assert_int_equal(parse_changed(set_key, &c), SHEAF_ERR_CORRUPT);
    }
    c.in_shard = true;
    for (size_t i = 0; i < COUNT_OF(shard_keys); i++) {
        c.key = shard_keys[i];
        assert_int_equal(parse_changed(set_key, &c), SHEAF_ERR_CORRUPT);
    }
}

static void what_does_not_hold_is_refused(void **state)
{
    static const struct change changes[] = {
        { false, "more", "1" }, { true, "more", "1" },
        { false, "container", "\"zip\"" }, { false, "codec", "\"xz\"" },
        { false, "codec", "1" }, { false, "codec", "\"none\"" }, { false, "foreign", "0" },
        { false, "samples", "5" }, { false, "samples", "4.0" }, { false, "samples", "-4" },
        { false, "samples", "\"4\"" }, { false, "bytes", "989" }, { false, "raw_bytes", "1" },
        { false, "payload_bytes", "881" }, { false, "index_bytes", "301" },
        { false, "label_base", "2" }, { false, "label_base", "-1" },
        { false, "classes", "[1]" }, { false, "classes", "{}" }, { false, "classes", "[\"\\t\"]" },
        { false, "options", "[]" }, { false, "options", "{\"a\": [{\"b\": 0.5}]}" },
        { false, "shards", "{}" }, { false, "shards", "[1]" }, { false, "shards", "[]" },
        { true, "name", "\"\"" }, { true, "name", "\".\"" }, { true, "name", "\"..\"" },
        { true, "name", "\"a/b\"" }, { true, "name", "\"/etc/passwd\"" },
        { true, "name", "\"a\\nb\"" }, { true, "name", "\"a\\u007f\"" },
        { true, "name", "\"shard-000000.rec.gz\"" }, { true, "name", "7" },
        { true, "samples", "2" }, { true, "samples", "9223372036854775807" },
        { true, "bytes", "9223372036854775807" }, { true, "index_bytes", "9223372036854775807" },
        { true, "index_offset", "99" }, { true, "index_offset", "0" },
        { true, "largest", "101" }, { true, "largest", "0" },
        { true, "xxh3", "\"0123456789abcdef0123456789abcde\"" },
        { true, "xxh3", "\"0123456789abcdef0123456789abcdef0\"" },
        { true, "xxh3", "\"0123456789ABCDEF0123456789abcdef\"" },
        { true, "index_xxh3", "\"0123456789abcde\"" }, { true, "index_xxh3", "\"\"" },
        { true, "index_xxh3", "\"0123456789abcdeF\"" }, { true, "index_xxh3", "1" },
        { false, "grown", "1" }, { false, "grown", "[]" }, { false, "grown", "[{}]" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        const int code = parse_changed(set_key, &changes[i]);

        if (code != SHEAF_ERR_CORRUPT)
            fail_msg("\"%s\": %s gives %d", changes[i].key, changes[i].value, code);
    }
}

static void another_version_is_not_supported(void **state)
{
    const struct change c = { false, "sheaf", "4" };

    (void)state;
    assert_int_equal(parse_changed(set_key, &c), SHEAF_ERR_UNSUPPORTED);
}

static void what_is_no_document_is_refused(void **state)
{
    static const char *const texts[] = {
        "", " ", "null", "[]", "{}", "{\"sheaf\": 1}", "{\"sheaf\": 1, \"sheaf\": 1}",
        "{\"sheaf\": 1} {}", "\xff\xfe", "{\"sheaf\": 99999999999999999999}",
    };
    struct buf text = example_text();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(parse(texts[i], strlen(texts[i])), SHEAF_ERR_CORRUPT);
    text.data[text.size - 2] = ',';     /* adds a repeated key at the end */
    text.size--;
    assert_int_equal(buf_append(&text, "\"sheaf\": 1}", 11, NULL), SHEAF_OK);
    assert_int_equal(parse(text.data, text.size), SHEAF_ERR_CORRUPT);
    buf_free(&text);
}

/* ---- What is not written -------------------------------------------------------------------- */

static void what_would_not_be_read_is_not_written(void **state)
{
    static char slash[] = "a/b", not_utf8[] = "\xff", no_json[] = "{", no_object[] = "3";
    struct example e;
    struct buf out = BUF_INIT(MANIFEST_LIMIT);

    (void)state;
    example_fill(&e);
    e.shards[0].name = slash;
    assert_int_not_equal(manifest_write(&e.m, &out, NULL), SHEAF_OK);
    example_fill(&e);
    e.classes[0] = not_utf8;
    assert_int_not_equal(manifest_write(&e.m, &out, NULL), SHEAF_OK);
    example_fill(&e);
    e.shards[1].name = name_0;
    assert_int_not_equal(manifest_write(&e.m, &out, NULL), SHEAF_OK);
    example_fill(&e);
    e.m.options_json = no_json;
    assert_int_not_equal(manifest_write(&e.m, &out, NULL), SHEAF_OK);
    e.m.options_json = no_object;
    assert_int_not_equal(manifest_write(&e.m, &out, NULL), SHEAF_OK);
    example_fill(&e);
    e.shards[0].bytes = (uint64_t)INT64_MAX + 1;
    assert_int_not_equal(manifest_write(&e.m, &out, NULL), SHEAF_OK);
    assert_int_equal(out.size, 0);
    buf_free(&out);
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    struct example e;
    struct buf out = BUF_INIT(500);

    (void)state;
    example_fill(&e);
    assert_int_equal(buf_append(&out, "before", 6, NULL), SHEAF_OK);
    assert_int_equal(manifest_write(&e.m, &out, NULL), SHEAF_ERR_LIMIT);
    assert_int_equal(out.size, 6);
    buf_free(&out);
}

static unsigned malloc_calls, malloc_fails_at;

static void *failing_malloc(size_t size)
{
    if (++malloc_calls < malloc_fails_at)
        return malloc(size);
    errno = ENOMEM;
    return NULL;
}

/* Makes all allocations from a certain one on fail, for each allocation in turn. */
static void want_of_memory_changes_nothing_that_is_written(void **state)
{
    static char many[] = "{\"plan\": \"d17ee6633f2578b4544405372895743b\", \"seed\": 1}";
    struct sheaf_error err = { 0 };
    struct example e;
    struct buf whole;
    int code = SHEAF_ERR_MEMORY;

    (void)state;
    example_fill(&e);
    e.m.options_json = many;
    whole = manifest_text(&e.m);
    for (malloc_fails_at = 1; code != SHEAF_OK || malloc_calls >= malloc_fails_at;
         malloc_fails_at++) {
        struct buf out = BUF_INIT(MANIFEST_LIMIT);

        malloc_calls = 0;
        json_set_alloc_funcs(failing_malloc, free);
        code = manifest_write(&e.m, &out, &err);
        json_set_alloc_funcs(malloc, free);
        if (code == SHEAF_OK) {
            assert_int_equal(out.size, whole.size);
            assert_memory_equal(out.data, whole.data, whole.size);
        } else {
            assert_int_equal(code, SHEAF_ERR_MEMORY);
        }
        buf_free(&out);
    }
    buf_free(&whole);
}

static void want_of_memory_is_not_damage(void **state)
{
    struct sheaf_error err = { 0 };
    struct example e;
    struct buf text;
    int code = SHEAF_ERR_MEMORY;

    (void)state;
    example_fill(&e);
    text = manifest_text(&e.m);
    for (malloc_fails_at = 1; code != SHEAF_OK || malloc_calls >= malloc_fails_at;
         malloc_fails_at++) {
        struct manifest m;

        malloc_calls = 0;
        json_set_alloc_funcs(failing_malloc, free);
        code = manifest_parse((const char *)text.data, text.size, &m, &err);
        json_set_alloc_funcs(malloc, free);
        if (code != SHEAF_OK)
            assert_int_equal(code, SHEAF_ERR_MEMORY);
        else
            assert_string_equal(m.fingerprint, e.m.fingerprint);
        manifest_clear(&m);
    }
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_found_again),
        cmocka_unit_test(counts_are_found_again),
        cmocka_unit_test(the_bare_minimum_is_found_again),
        cmocka_unit_test(what_was_read_is_written_to_the_same_text),
        cmocka_unit_test(the_text_is_as_documented),
        cmocka_unit_test(the_fingerprint_is_of_the_sorted_compact_text),
        cmocka_unit_test(layout_is_no_part_of_the_fingerprint),
        cmocka_unit_test(ten_thousand_shards_are_no_problem),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(nothing_may_be_missing),
        cmocka_unit_test(what_does_not_hold_is_refused),
        cmocka_unit_test(another_version_is_not_supported),
        cmocka_unit_test(what_is_no_document_is_refused),
        cmocka_unit_test(what_would_not_be_read_is_not_written),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
        cmocka_unit_test(want_of_memory_changes_nothing_that_is_written),
        cmocka_unit_test(want_of_memory_is_not_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
