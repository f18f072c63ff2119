/* SPDX-License-Identifier: MIT
 *
 * Writes index files with which other programs read our shards. The headers of the frames (stored
 * records) and the manifest have everything that these files need, so no shard is read again. */
#include "formats/interop_index.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "formats/name.h"
#include "formats/tar.h"

/* The names of the other programs that need index files of their own. format_ops.interop tells
 * which of these programs can read a container. None of these programs can read single samples of a
 * compressed shard. */
static const struct interop_reader {
    const char *name;
    unsigned bit;
} readers[] = {
    { "dali", INTEROP_DALI }, { "mxnet", INTEROP_MXNET }, { "wids", INTEROP_WIDS },
    { "energon", INTEROP_ENERGON },
};

/* While DALI's index of a tar is being made, these bytes mark the beginning and the end of each
 * path in it. At the end of the shard, settle_paths() removes the marks. It also removes the paths
 * if one of them contains a blank, which DALI could not read. */
#define PATH_BEGINS '\x01'
#define PATH_ENDS   '\x02'

/* ---- Which ---------------------------------------------------------------------------------- */

static int add_reader(struct interop_writer *w, const char *name, size_t size,
                      struct sheaf_error *err)
{
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        const struct interop_reader *reader = &readers[i];

        if (strlen(reader->name) != size || memcmp(reader->name, name, size) != 0)
            continue;
        if ((format_of(w->container)->interop & reader->bit) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "index: %s does not read %s", reader->name,
                           sheaf_container_name(w->container));
        if (w->codec != SHEAF_CODEC_NONE)
            return err_set(err, SHEAF_ERR_ARGUMENT,
                           "index: %s reads uncompressed shards only, not %s", reader->name,
                           sheaf_codec_name(w->codec));
        w->interop |= reader->bit;
        return SHEAF_OK;
    }
    return err_set(err, SHEAF_ERR_ARGUMENT,
                   "index: unknown name \"%.*s\", expected dali, mxnet, wids or energon",
                   (int)MIN(size, 100), name);
}

int interop_open(struct interop_writer *w, const char *list, enum sheaf_container container,
                 enum sheaf_codec codec, struct sheaf_error *err)
{
    *w = (struct interop_writer){
        .container = container, .codec = codec,
        .index = BUF_INIT(SIZE_MAX), .offsets = BUF_INIT(SIZE_MAX),
    };
    for (const char *name = list; name != NULL && *list != '\0'; ) {
        const size_t size = strcspn(name, ",");
        const int code = add_reader(w, name, size, err);

        if (code != SHEAF_OK)
            return code;
        name = name[size] == ',' ? name + size + 1 : NULL;
    }
    w->interop |= format_of(container)->interop_always;
    return SHEAF_OK;
}

void interop_free(struct interop_writer *w)
{
    buf_free(&w->index);
    buf_free(&w->offsets);
}

static size_t without(const char *name, size_t size, const char *suffix)
{
    const size_t suffix_size = strlen(suffix);

    if (size > suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0)
        return size - suffix_size;
    return size;
}

size_t interop_stem(enum sheaf_container container, enum sheaf_codec codec, const char *shard_name)
{
    size_t size = strlen(shard_name);

    if (codec != SHEAF_CODEC_NONE)
        size = without(shard_name, size, codec_of(codec)->suffix);
    return without(shard_name, size, format_of(container)->suffix);
}

/* ---- Frames --------------------------------------------------------------------------------- */

/* Adds a line "EXTENSION OFFSET SIZE PATH" for a tar member to DALI's index. OFFSET is the offset
 * of the member's data in the shard. */
static int add_tar_member(struct interop_writer *w, const struct tar_member *m, uint64_t offset,
                          struct sheaf_error *err)
{
    char path[KEY_LIMIT + 1];
    const char *suffix;
    size_t key_size;

    if (m->prefix_size + 1 + m->name_size > KEY_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "index: a path of more than %d bytes", KEY_LIMIT);
    snprintf(path, sizeof(path), "%.*s%s%.*s", (int)m->prefix_size, m->prefix,
             m->prefix_size != 0 ? "/" : "", (int)m->name_size, m->name);
    if (!name_is_text(path, strlen(path)) || name_is_passed_over(path) ||
        !name_split(path, &key_size, &suffix))
        return SHEAF_OK;        /* no sample's */
    if (strchr(suffix, ' ') != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "index: dali does not support \"%.400s\": its "
                       "extension contains a space", path);
    w->has_blank |= strchr(path, ' ') != NULL;
    return buf_printf(&w->index, err, "%s%s %llu %llu%c %s%c",
                      w->index.size == 0 || w->index.data[w->index.size - 1] == '\n' ? "" : " ",
                      suffix, (unsigned long long)offset, (unsigned long long)m->bytes,
                      PATH_BEGINS, path, PATH_ENDS);
}

/* Returns an error if the program wids would not read the member's name completely. wids reads the
 * name only from the first 100 bytes of the header, so it would assign a member with a longer name
 * to a wrong sample. */
static int check_for_wids(const struct tar_member *m, struct sheaf_error *err)
{
    if (m->prefix_size == 0 && m->header_bytes == TAR_BLOCK)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "index: wids does not support \"%.*s%s%.*s\": its "
                   "name is longer than the 100 bytes that wids reads, or has a pax or GNU header",
                   (int)m->prefix_size, m->prefix, m->prefix_size != 0 ? "/" : "",
                   (int)MIN(m->name_size, (size_t)400), m->name);
}

static int add_tar_frame(struct interop_writer *w, uint64_t offset, const uint8_t *frame,
                         size_t size, struct sheaf_error *err)
{
    size_t at = 0;

    while (at < size) {
        struct tar_member m;
        uint64_t step;
        size_t need;
        int code = tar_parse(frame + at, size - at, &m, &need, err);

        if (code != SHEAF_OK)
            return code;
        if (need != 0 || __builtin_add_overflow(m.header_bytes, tar_padded(m.bytes), &step) ||
            step > size - at || m.bytes > size)
            return err_set(err, SHEAF_ERR_CORRUPT, "index: a frame that ends inside a member");
        if (m.kind == TAR_FILE && w->interop & INTEROP_WIDS)
            code = check_for_wids(&m, err);
        if (code == SHEAF_OK && m.kind == TAR_FILE && w->interop & INTEROP_DALI)
            code = add_tar_member(w, &m, offset + at + m.header_bytes, err);
        if (code != SHEAF_OK)
            return code;
        at += step;
    }
    return w->interop & INTEROP_DALI ? buf_append(&w->index, "\n", 1, err) : SHEAF_OK;
}

static int add_to_index(struct interop_writer *w, uint64_t number, uint64_t offset,
                        const uint8_t *frame, size_t size, struct sheaf_error *err)
{
    const struct format_ops *format = format_of(w->container);

    return format->has_members ? add_tar_frame(w, offset, frame, size, err)
                               : format->index_line(&w->index, number, offset, size, err);
}

static int add_offset(struct interop_writer *w, uint64_t offset, struct sheaf_error *err)
{
    offset = htole64(offset);
    return buf_append(&w->offsets, &offset, sizeof(offset), err);
}

int interop_add_frame(struct interop_writer *w, uint64_t number, uint64_t offset,
                      const uint8_t *frame, size_t size, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (w->interop & (INTEROP_DALI | INTEROP_MXNET | INTEROP_WIDS))
        code = add_to_index(w, number, offset, frame, size, err);
    if (code == SHEAF_OK && w->interop & INTEROP_ENERGON)
        code = add_offset(w, offset, err);
    w->samples++;
    w->end = offset + size;
    return code;
}

/* ---- Files of a shard ----------------------------------------------------------------------- */

/* Finishes DALI's index. While it is written, each path is put between two marks. Removes the
 * marks. If `keep` is false, also removes the paths. Version 1.2 of this index has paths, which
 * must not contain blanks. If a path of the shard contains a blank, version 1.1 without paths is
 * written. */
static void settle_paths(struct buf *index, bool keep)
{
    size_t kept = 0;
    bool inside = false;

    for (size_t i = 0; i < index->size; i++) {
        const char c = (char)index->data[i];

        if (c == PATH_BEGINS || c == PATH_ENDS)
            inside = c == PATH_BEGINS;
        else if (keep || !inside)
            index->data[kept++] = index->data[i];
    }
    index->size = kept;
}

static int put_tar_index(struct interop_writer *w, const char *name, interop_put_fn *put,
                         void *context, struct sheaf_error *err)
{
    struct buf file = BUF_INIT(SIZE_MAX);
    int code;

    settle_paths(&w->index, !w->has_blank);
    code = buf_printf(&file, err, "v1.%d %llu\n", w->has_blank ? 1 : 2,
                      (unsigned long long)w->samples);
    if (code == SHEAF_OK)
        code = buf_append(&file, w->index.data, w->index.size, err);
    if (code == SHEAF_OK)
        code = put(context, name, file.data, file.size, err);
    buf_free(&file);
    return code;
}

static int interop_index_put(struct interop_writer *w, const char *shard_name, interop_put_fn *put,
                             void *context, struct sheaf_error *err)
{
    const int stem = (int)interop_stem(w->container, w->codec, shard_name);
    char *name;
    int code;

    if (asprintf(&name, "%.*s.idx", stem, shard_name) < 0)
        return err_memory(err, strlen(shard_name));
    if (format_of(w->container)->has_members)
        code = put_tar_index(w, name, put, context, err);
    else
        code = put(context, name, w->index.data, w->index.size, err);
    free(name);
    return code;
}

/* Passes the index file for the program energon to `put`. The file has the offset of each sample,
 * and the offset at which the last sample ends. */
static int put_offsets(struct interop_writer *w, const char *shard_name, interop_put_fn *put,
                       void *context, struct sheaf_error *err)
{
    const int stem = (int)interop_stem(w->container, w->codec, shard_name);
    char *name;
    int code = add_offset(w, w->end, err);

    if (code != SHEAF_OK)
        return code;
    if (shard_name[stem] == '\0' || strpbrk(shard_name, "{}") != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED,
                       "index: energon reads shards named *.tar, without braces, not \"%s\"",
                       shard_name);
    if (asprintf(&name, "%s.idx", shard_name) < 0)
        return err_memory(err, strlen(shard_name));
    code = put(context, name, w->offsets.data, w->offsets.size, err);
    free(name);
    return code;
}

int interop_finish_shard(struct interop_writer *w, const char *shard_name, interop_put_fn *put,
                         void *context, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (w->interop & (INTEROP_DALI | INTEROP_MXNET))
        code = interop_index_put(w, shard_name, put, context, err);
    if (code == SHEAF_OK && w->interop & INTEROP_ENERGON)
        code = put_offsets(w, shard_name, put, context, err);
    w->index.size = w->offsets.size = 0;
    w->samples = w->end = 0;
    w->has_blank = false;
    return code;
}

/* ---- Files of a data set -------------------------------------------------------------------- */

/* Passes a JSON tree as a file to `put` and frees the tree. Returns an error if `tree` is NULL,
 * because the caller then had not enough memory to make the tree. */
static int put_tree(json_t *tree, const char *name, interop_put_fn *put, void *context,
                    struct sheaf_error *err)
{
    char *text = tree != NULL ? json_dump_text(tree, JSON_INDENT(2)) : NULL;
    int code;

    json_decref(tree);
    if (text == NULL)
        return err_set(err, SHEAF_ERR_MEMORY, "%s: out of memory", name);
    code = put(context, name, text, strlen(text), err);
    free(text);
    return code;
}

static int put_wids(const struct manifest *m, interop_put_fn *put, void *context,
                    struct sheaf_error *err)
{
    json_t *shards = json_array();
    int failed = 0;

    for (size_t i = 0; i < m->shard_count; i++) {
        const struct manifest_shard *s = &m->shards[i];

        failed |= json_array_append_new(shards, json_pack("{s:s, s:I, s:I}", "url", s->name,
                                                          "nsamples", (json_int_t)s->samples,
                                                          "filesize", (json_int_t)s->bytes));
    }
    if (failed) {
        json_decref(shards);
        shards = NULL;
    }
    return put_tree(shards == NULL ? NULL
                                   : json_pack("{s:s, s:i, s:o}", "__kind__",
                                               "wids-shard-index-v1", "wids_version", 1,
                                               "shardlist", shards),
                    "shardindex.json", put, context, err);
}

static int put_shard_counts(const struct manifest *m, interop_put_fn *put, void *context,
                            struct sheaf_error *err)
{
    json_t *counts = json_object();
    int failed = 0;

    for (size_t i = 0; i < m->shard_count; i++)
        failed |= json_object_set_new(counts, m->shards[i].name,
                                      json_integer((json_int_t)m->shards[i].samples));
    if (failed) {
        json_decref(counts);
        counts = NULL;
    }
    return put_tree(counts == NULL ? NULL : json_pack("{s:o}", "shard_counts", counts),
                    ".nv-meta/.info.json", put, context, err);
}

/* JSON is YAML too. */
static int put_splits(const struct manifest *m, const char *split, interop_put_fn *put,
                      void *context, struct sheaf_error *err)
{
    json_t *names = json_array();
    int failed = 0;

    for (size_t i = 0; i < m->shard_count; i++)
        failed |= json_array_append_new(names, json_string(m->shards[i].name));
    if (failed) {
        json_decref(names);
        names = NULL;
    }
    return put_tree(names == NULL ? NULL
                                  : json_pack("{s:{s:o}, s:[]}", "split_parts",
                                              split != NULL ? split : "train", names, "exclude"),
                    ".nv-meta/split.yaml", put, context, err);
}

int interop_finish_dataset(const struct interop_writer *w, const struct manifest *m,
                           const char *split, interop_put_fn *put, void *context,
                           struct sheaf_error *err)
{
    static const char crude[] = "__module__: megatron.energon\n__class__: CrudeWebdataset\n";
    int code = SHEAF_OK;

    if (w->interop & INTEROP_WIDS)
        code = put_wids(m, put, context, err);
    if (code != SHEAF_OK || (w->interop & INTEROP_ENERGON) == 0)
        return code;
    code = put_shard_counts(m, put, context, err);
    if (code == SHEAF_OK)
        code = put_splits(m, split, put, context, err);
    if (code == SHEAF_OK)
        code = put(context, ".nv-meta/dataset.yaml", crude, sizeof(crude) - 1, err);
    return code;
}
