/* SPDX-License-Identifier: MIT
 *
 * Tests the index files for other programs. They must describe the content of the shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/format.h"
#include "formats/interop_index.h"

#define FILES 8

/* Keeps the files that the writer passes on. */
struct shelf {
    size_t count;
    char *names[FILES];
    struct buf content[FILES];
};

static int put_on_shelf(void *context, const char *name, const void *data, size_t size,
                        struct sheaf_error *err)
{
    struct shelf *s = context;

    (void)err;
    assert_true(s->count < FILES);
    s->names[s->count] = strdup(name);
    s->content[s->count] = (struct buf)BUF_INIT(SIZE_MAX);
    assert_int_equal(buf_append(&s->content[s->count], data, size, NULL), SHEAF_OK);
    assert_int_equal(buf_append(&s->content[s->count], "", 1, NULL), SHEAF_OK);
    s->content[s->count++].size--;
    return SHEAF_OK;
}

static const struct buf *on_shelf(const struct shelf *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->names[i], name) == 0)
            return &s->content[i];
    }
    fail_msg("no file %s was put", name);
    return NULL;
}

static void clear_shelf(struct shelf *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->names[i]);
        buf_free(&s->content[i]);
    }
    s->count = 0;
}

/* Encodes sample i of a shard: a key, a picture of some size, and a text. */
static void encode(enum sheaf_container container, const char *key, size_t i, struct buf *shard)
{
    char picture[2000];
    const struct sheaf_field fields[] = {
        { .name = "jpg", .suffix = "JPG", .data = picture, .size = 100 + 300 * i },
        { .name = "txt", .data = "words", .size = 5 },
    };
    const double label = 3;
    const struct sheaf_sample sample = {
        .key = key, .fields = fields, .field_count = 2, .labels = &label, .label_count = 1,
        .number = 50 + i, .record = i,
    };
    struct buf names = BUF_INIT(1 << 20);
    struct encoded encoded;

    memset(picture, (int)('A' + i), sizeof(picture));
    assert_int_equal(format_of(container)->encode(&sample, &(struct encode_context){ 0 }, shard,
                                                  &names, &encoded, NULL), SHEAF_OK);
    buf_free(&names);
}

#define SAMPLES 3

/* Makes a shard and its index files. */
static struct buf make_shard(struct interop_writer *w, const char *keys[SAMPLES],
                             uint64_t offsets[SAMPLES + 1])
{
    struct buf shard = BUF_INIT(1 << 20);

    for (size_t i = 0; i < SAMPLES; i++) {
        offsets[i] = shard.size;
        encode(w->container, keys[i], i, &shard);
        assert_int_equal(interop_add_frame(w, 50 + i, offsets[i], shard.data + offsets[i],
                                           shard.size - offsets[i], NULL), SHEAF_OK);
    }
    offsets[SAMPLES] = shard.size;
    return shard;
}

static const char *plain_keys[SAMPLES] = { "a/0", "a/1", "b/2" };

static struct buf index_shard(const char *list, enum sheaf_container container,
                              const char *name, const char *keys[SAMPLES],
                              uint64_t offsets[SAMPLES + 1], struct shelf *shelf)
{
    struct interop_writer w;
    struct buf shard;

    assert_int_equal(interop_open(&w, list, container, SHEAF_CODEC_NONE, NULL), SHEAF_OK);
    shard = make_shard(&w, keys, offsets);
    assert_int_equal(interop_finish_shard(&w, name, put_on_shelf, shelf, NULL), SHEAF_OK);
    interop_free(&w);
    return shard;
}

/* ---- One file a shard ----------------------------------------------------------------------- */

static void tfrecord_is_indexed_by_offset_and_size(void **state)
{
    struct shelf shelf = { 0 };
    uint64_t offsets[SAMPLES + 1];
    struct buf shard = index_shard("dali", SHEAF_TFRECORD, "shard-000000.tfrecord", plain_keys,
                                   offsets, &shelf);
    char expected[200];

    (void)state;
    snprintf(expected, sizeof(expected), "0 %llu\n%llu %llu\n%llu %llu\n",
             (unsigned long long)offsets[1], (unsigned long long)offsets[1],
             (unsigned long long)(offsets[2] - offsets[1]), (unsigned long long)offsets[2],
             (unsigned long long)(offsets[3] - offsets[2]));
    assert_int_equal(shelf.count, 1);
    assert_string_equal((char *)on_shelf(&shelf, "shard-000000.idx")->data, expected);
    clear_shelf(&shelf);
    buf_free(&shard);
}

static void recordio_is_indexed_by_number_and_offset(void **state)
{
    static const char *const lists[] = { NULL, "", "mxnet", "dali,mxnet" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct shelf shelf = { 0 };
        uint64_t offsets[SAMPLES + 1];
        struct buf shard = index_shard(lists[i], SHEAF_RECORDIO, "shard-000000.rec", plain_keys,
                                       offsets, &shelf);
        char expected[200];

        snprintf(expected, sizeof(expected), "50\t0\n51\t%llu\n52\t%llu\n",
                 (unsigned long long)offsets[1], (unsigned long long)offsets[2]);
        assert_int_equal(shelf.count, 1);
        assert_string_equal((char *)on_shelf(&shelf, "shard-000000.idx")->data, expected);
        clear_shelf(&shelf);
        buf_free(&shard);
    }
}

/* Reads DALI's index as DALI does, and compares the files to which it points. */
static void check_dali_lines(const char *text, const struct buf *shard, const char *keys[SAMPLES],
                             bool has_paths)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        for (unsigned field = 0; field < 3; field++) {
            const char *extension = field == 0 ? "JPG" : field == 1 ? "cls" : "txt";
            char found[16], path[64], expected[64];
            unsigned long long offset, size;
            int used;

            assert_int_equal(sscanf(text, "%15s %llu %llu%n", found, &offset, &size, &used), 3);
            text += used;
            assert_string_equal(found, extension);
            assert_int_equal(offset % 512, 0);
            assert_true(offset + size <= shard->size);
            assert_int_equal(size, field == 0 ? 100 + 300 * i : field == 1 ? 1 : 5);
            assert_int_equal(shard->data[offset], field == 0 ? 'A' + i : field == 1 ? '3' : 'w');
            if (has_paths) {
                assert_int_equal(sscanf(text, "%63s%n", path, &used), 1);
                text += used;
                snprintf(expected, sizeof(expected), "%s.%s", keys[i], extension);
                assert_string_equal(path, expected);
            }
            assert_int_equal(*text++, field == 2 ? '\n' : ' ');
        }
    }
    assert_int_equal(*text, '\0');
}

static void webdataset_is_indexed_by_members(void **state)
{
    struct shelf shelf = { 0 };
    uint64_t offsets[SAMPLES + 1];
    struct buf shard = index_shard("dali", SHEAF_WEBDATASET, "shard-000000.tar", plain_keys,
                                   offsets, &shelf);
    const char *text = (char *)on_shelf(&shelf, "shard-000000.idx")->data;

    (void)state;
    assert_memory_equal(text, "v1.2 3\n", 7);
    check_dali_lines(text + 7, &shard, plain_keys, true);
    clear_shelf(&shelf);
    buf_free(&shard);
}

static void paths_with_blanks_are_left_out(void **state)
{
    static const char *keys[SAMPLES] = { "a/0", "golden retriever/1", "b/2" };
    struct shelf shelf = { 0 };
    uint64_t offsets[SAMPLES + 1];
    struct buf shard = index_shard("dali", SHEAF_WEBDATASET, "shard-000000.tar", keys, offsets,
                                   &shelf);
    const char *text = (char *)on_shelf(&shelf, "shard-000000.idx")->data;

    (void)state;
    assert_memory_equal(text, "v1.1 3\n", 7);
    check_dali_lines(text + 7, &shard, keys, false);
    clear_shelf(&shelf);
    buf_free(&shard);
}

static void a_shard_does_not_show_in_the_next(void **state)
{
    static const char *blank[SAMPLES] = { "a b/0", "a b/1", "a b/2" };
    struct shelf shelf = { 0 };
    struct interop_writer w;
    uint64_t offsets[SAMPLES + 1];
    struct buf shard;

    (void)state;
    assert_int_equal(interop_open(&w, "dali", SHEAF_WEBDATASET, SHEAF_CODEC_NONE, NULL), SHEAF_OK);
    shard = make_shard(&w, blank, offsets);
    assert_int_equal(interop_finish_shard(&w, "0.tar", put_on_shelf, &shelf, NULL), SHEAF_OK);
    buf_free(&shard);
    shard = make_shard(&w, plain_keys, offsets);
    assert_int_equal(interop_finish_shard(&w, "1.tar", put_on_shelf, &shelf, NULL), SHEAF_OK);
    assert_memory_equal(on_shelf(&shelf, "1.idx")->data, "v1.2 3\n", 7);
    check_dali_lines((char *)on_shelf(&shelf, "1.idx")->data + 7, &shard, plain_keys, true);
    interop_free(&w);
    clear_shelf(&shelf);
    buf_free(&shard);
}

static void an_extension_with_a_blank_is_refused(void **state)
{
    static const struct sheaf_field field = { .name = "a b", .data = "", .size = 0 };
    const struct sheaf_sample sample = { .key = "k", .fields = &field, .field_count = 1 };
    struct buf shard = BUF_INIT(1 << 20);
    struct encoded encoded;
    struct interop_writer w;

    (void)state;
    assert_int_equal(webdataset_ops.encode(&sample, &(struct encode_context){ 0 }, &shard, NULL,
                                           &encoded, NULL), SHEAF_OK);
    assert_int_equal(interop_open(&w, "dali", SHEAF_WEBDATASET, SHEAF_CODEC_NONE, NULL), SHEAF_OK);
    assert_int_equal(interop_add_frame(&w, 0, 0, shard.data, shard.size, NULL),
                     SHEAF_ERR_UNSUPPORTED);
    interop_free(&w);
    buf_free(&shard);
}

/* wids reads only the first 100 bytes of a name, so it would assign a longer name to another
 * sample. */
static void wids_refuses_long_paths(void **state)
{
    static const struct sheaf_field field = { .name = "txt", .data = "", .size = 0 };
    char key[140];

    (void)state;
    for (size_t size = 90; size < sizeof(key); size++) {
        const struct sheaf_sample sample = { .key = key, .fields = &field, .field_count = 1 };
        struct buf shard = BUF_INIT(1 << 20);
        struct encoded encoded;
        struct sheaf_error err;
        struct interop_writer w;

        memset(key, 'k', size);
        key[size] = '\0';
        key[30] = '/';
        assert_int_equal(webdataset_ops.encode(&sample, &(struct encode_context){ 0 }, &shard,
                                               NULL, &encoded, NULL), SHEAF_OK);
        assert_int_equal(interop_open(&w, "wids", SHEAF_WEBDATASET, SHEAF_CODEC_NONE, NULL),
                         SHEAF_OK);
        assert_int_equal(interop_add_frame(&w, 0, 0, shard.data, shard.size, &err),
                         size + 4 <= 100 ? SHEAF_OK : SHEAF_ERR_UNSUPPORTED);
        if (size + 4 > 100)
            assert_non_null(strstr(err.message, "wids does not support"));
        interop_free(&w);
        buf_free(&shard);
    }
}

static void a_cut_frame_is_refused(void **state)
{
    struct buf shard = BUF_INIT(1 << 20);

    (void)state;
    encode(SHEAF_WEBDATASET, "k", 1, &shard);
    for (size_t size = 1; size < shard.size; size++) {
        uint8_t *copy = malloc(size);       /* a sanitizer notices a read past the end */
        struct interop_writer w;
        int code;

        assert_non_null(copy);
        memcpy(copy, shard.data, size);
        assert_int_equal(interop_open(&w, "dali", SHEAF_WEBDATASET, SHEAF_CODEC_NONE, NULL),
                         SHEAF_OK);
        code = interop_add_frame(&w, 0, 0, copy, size, NULL);
        if (size != 1024 && size != 2048)   /* where a member ends */
            assert_int_equal(code, SHEAF_ERR_CORRUPT);
        interop_free(&w);
        free(copy);
    }
    buf_free(&shard);
}

static void energon_has_the_offsets_and_the_end(void **state)
{
    struct shelf shelf = { 0 };
    uint64_t offsets[SAMPLES + 1];
    struct buf shard = index_shard("energon", SHEAF_WEBDATASET, "shard-000000.tar", plain_keys,
                                   offsets, &shelf);
    const struct buf *file = on_shelf(&shelf, "shard-000000.tar.idx");

    (void)state;
    assert_int_equal(shelf.count, 1);
    assert_int_equal(file->size, sizeof(offsets));
    words_le(offsets, COUNT_OF(offsets));
    assert_memory_equal(file->data, offsets, sizeof(offsets));
    clear_shelf(&shelf);
    buf_free(&shard);
}

/* ---- Files of the data set ------------------------------------------------------------------ */

/* Compares a file with `expected`, and frees `expected`. */
static void assert_json(const struct shelf *shelf, const char *name, json_t *expected)
{
    json_t *found = json_loads((char *)on_shelf(shelf, name)->data, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(found);
    assert_non_null(expected);
    assert_true(json_equal(found, expected));
    json_decref(found);
    json_decref(expected);
}

static void data_set_files_list_the_shards(void **state)
{
    static char names[2][20] = { "shard-000000.tar", "shard-\"\xc3\xa9\".tar" };
    struct manifest_shard shards[2] = {
        { .name = names[0], .samples = 7, .bytes = 5000 },
        { .name = names[1], .samples = 8, .bytes = 6000 },
    };
    const struct manifest m = { .shards = shards, .shard_count = 2 };
    struct shelf shelf = { 0 };
    struct interop_writer w;

    (void)state;
    assert_int_equal(interop_open(&w, "energon,wids", SHEAF_WEBDATASET, SHEAF_CODEC_NONE, NULL),
                     SHEAF_OK);
    assert_int_equal(interop_finish_dataset(&w, &m, "val", put_on_shelf, &shelf, NULL), SHEAF_OK);
    assert_int_equal(shelf.count, 4);
    assert_json(&shelf, "shardindex.json",
                json_pack("{s:s, s:i, s:[{s:s, s:i, s:i}, {s:s, s:i, s:i}]}",
                          "__kind__", "wids-shard-index-v1", "wids_version", 1, "shardlist",
                          "url", names[0], "nsamples", 7, "filesize", 5000,
                          "url", names[1], "nsamples", 8, "filesize", 6000));
    assert_json(&shelf, ".nv-meta/.info.json",
                json_pack("{s:{s:i, s:i}}", "shard_counts", names[0], 7, names[1], 8));
    assert_json(&shelf, ".nv-meta/split.yaml",
                json_pack("{s:{s:[s, s]}, s:[]}", "split_parts", "val", names[0], names[1],
                          "exclude"));
    assert_string_equal((char *)on_shelf(&shelf, ".nv-meta/dataset.yaml")->data,
                        "__module__: megatron.energon\n__class__: CrudeWebdataset\n");
    clear_shelf(&shelf);
    interop_free(&w);
}

/* ---- Which ---------------------------------------------------------------------------------- */

static void readers_that_cannot_read_it_are_refused(void **state)
{
    static const struct {
        const char *list;
        enum sheaf_container container;
        enum sheaf_codec codec;
        const char *message;
    } cases[] = {
        { "wids", SHEAF_RECORDIO, SHEAF_CODEC_NONE, "index: wids does not read recordio" },
        { "dali,energon", SHEAF_TFRECORD, SHEAF_CODEC_NONE,
          "index: energon does not read tfrecord" },
        { "mxnet", SHEAF_WEBDATASET, SHEAF_CODEC_NONE, "index: mxnet does not read webdataset" },
        { "dali", SHEAF_WEBDATASET, SHEAF_CODEC_LZ4,
          "index: dali reads uncompressed shards only, not lz4" },
        { "dal", SHEAF_WEBDATASET, SHEAF_CODEC_NONE,
          "index: unknown name \"dal\", expected dali, mxnet, wids or energon" },
        { "dali,", SHEAF_WEBDATASET, SHEAF_CODEC_NONE,
          "index: unknown name \"\", expected dali, mxnet, wids or energon" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct sheaf_error err = { 0 };
        struct interop_writer w;

        assert_int_equal(interop_open(&w, cases[i].list, cases[i].container, cases[i].codec, &err),
                         SHEAF_ERR_ARGUMENT);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void nothing_asked_for_is_nothing_written(void **state)
{
    struct shelf shelf = { 0 };
    uint64_t offsets[SAMPLES + 1];
    struct buf shard = index_shard(NULL, SHEAF_WEBDATASET, "shard-000000.tar", plain_keys,
                                   offsets, &shelf);

    (void)state;
    assert_int_equal(shelf.count, 0);
    buf_free(&shard);
}

static void no_two_shards_share_a_file(void **state)
{
    (void)state;
    assert_int_equal(interop_stem(SHEAF_WEBDATASET, SHEAF_CODEC_NONE, "a.b-000000.tar"), 10);
    assert_int_equal(interop_stem(SHEAF_RECORDIO, SHEAF_CODEC_GZIP, "shard-000000.rec.gz"), 12);
    assert_int_equal(interop_stem(SHEAF_RECORDIO, SHEAF_CODEC_LZ4, "my.records-0.rec.lz4"), 12);
    assert_int_equal(interop_stem(SHEAF_TFRECORD, SHEAF_CODEC_NONE, "a.tfrecord-00001-of-00008"),
                     25);
    assert_int_equal(interop_stem(SHEAF_WEBDATASET, SHEAF_CODEC_NONE, ".tar"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tfrecord_is_indexed_by_offset_and_size),
        cmocka_unit_test(recordio_is_indexed_by_number_and_offset),
        cmocka_unit_test(webdataset_is_indexed_by_members),
        cmocka_unit_test(paths_with_blanks_are_left_out),
        cmocka_unit_test(a_shard_does_not_show_in_the_next),
        cmocka_unit_test(an_extension_with_a_blank_is_refused),
        cmocka_unit_test(wids_refuses_long_paths),
        cmocka_unit_test(a_cut_frame_is_refused),
        cmocka_unit_test(energon_has_the_offsets_and_the_end),
        cmocka_unit_test(data_set_files_list_the_shards),
        cmocka_unit_test(readers_that_cannot_read_it_are_refused),
        cmocka_unit_test(nothing_asked_for_is_nothing_written),
        cmocka_unit_test(no_two_shards_share_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
