/* SPDX-License-Identifier: MIT
 *
 * Foreign shards: which files the sources name, which container and codec they are, and, by
 * hopping from header to header, where their samples lie.  Nothing is decoded here. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/dataset.h"
#include "reader/scan.h"
#include "store/store.h"

#define LIST_FILE_LIMIT ((size_t)1 << 28)   /* bytes of an "@FILE" list of paths */
#define DETECT_BYTES    ((size_t)4096)

struct urls {
    char **list;
    size_t count, capacity;
};

/* Takes the string. */
static int add_url(struct urls *urls, char *url, struct sheaf_error *err)
{
    if (url == NULL)
        return err_memory(err, 1);
    if (urls->count == urls->capacity) {
        const size_t capacity = urls->capacity == 0 ? 16 : urls->capacity * 2;
        char **grown = realloc(urls->list, capacity * sizeof(grown[0]));

        if (grown == NULL) {
            free(url);
            return err_memory(err, capacity * sizeof(grown[0]));
        }
        urls->list = grown;
        urls->capacity = capacity;
    }
    if (urls->count == SHARD_LIMIT) {
        free(url);
        return err_set(err, SHEAF_ERR_LIMIT, "more than %u shards", SHARD_LIMIT);
    }
    urls->list[urls->count++] = url;
    return SHEAF_OK;
}

/* ---- Brace patterns: "a-{000..123}.tar", the width being that of the first number ----------- */

/* Parses "{lo..hi}" at text; returns its length, 0 if it is none. */
static size_t parse_braces(const char *text, uint64_t *low, uint64_t *high, int *width)
{
    int length = 0;

    if (sscanf(text, "{%20" SCNu64 "%n", low, width) != 1 || !isdigit((unsigned char)text[1]))
        return 0;
    if (sscanf(text + *width, "..%20" SCNu64 "}%n", high, &length) != 1 || length == 0)
        return 0;
    if (!isdigit((unsigned char)text[*width + 2]))
        return 0;
    length += *width;
    *width -= 1;
    return (size_t)length;
}

static bool has_braces(const char *pattern)
{
    uint64_t low, high;
    int width;

    while ((pattern = strchr(pattern, '{')) != NULL) {
        if (parse_braces(pattern, &low, &high, &width) != 0)
            return true;
        pattern++;
    }
    return false;
}

/* Expands the first braces and then, by recursion, those behind. */
static int expand_braces(struct urls *urls, const char *pattern, struct sheaf_error *err)
{
    const char *brace = pattern;
    uint64_t low, high;
    size_t length = 0;
    int width;

    while ((brace = strchr(brace, '{')) != NULL) {
        length = parse_braces(brace, &low, &high, &width);
        if (length != 0)
            break;
        brace++;
    }
    if (brace == NULL)
        return add_url(urls, strdup(pattern), err);
    if (high < low || high - low >= SHARD_LIMIT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: from %" PRIu64 " to %" PRIu64 " is no range "
                       "of 1 to %u shards", pattern, low, high, SHARD_LIMIT);
    for (uint64_t i = low; i <= high; i++) {
        char *one = NULL;
        int code;

        if (asprintf(&one, "%.*s%0*" PRIu64 "%s", (int)(brace - pattern), pattern, width, i,
                     brace + length) < 0)
            return err_memory(err, strlen(pattern));
        code = expand_braces(urls, one, err);
        free(one);
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* ---- Directories and lists ------------------------------------------------------------------ */

/* Files that are found beside shards and are none. */
static bool is_side_file(const char *name)
{
    static const char *const suffixes[] = {
        ".idx", ".lst", ".tfindex", ".index", ".json", ".jsonl", ".txt", ".tsv", ".csv", ".md",
        ".yaml", ".yml", ".sqlite", ".uuid", ".html", ".sha256", ".md5",
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot != NULL && i < COUNT_OF(suffixes); i++)
        if (strcasecmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

struct directory {
    struct urls *urls;
    const char *url;
    struct sheaf_error *err;
};

static int add_entry(void *context, const char *name, uint64_t bytes)
{
    struct directory *d = context;

    (void)bytes;
    if (is_side_file(name))
        return SHEAF_OK;
    return add_url(d->urls, store_join(d->url, name), d->err);
}

/* Lists `url` if it is a directory. */
static int add_directory(struct urls *urls, const char *url, bool *is_directory,
                         struct sheaf_error *err)
{
    struct directory d = { .urls = urls, .url = url, .err = err };
    const size_t before = urls->count;
    int code = store_list(url, add_entry, &d, err);

    *is_directory = code == SHEAF_OK;
    if (code == SHEAF_OK && urls->count == before)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: a directory without shards", url);
    return code;
}

static int add_list_file(struct urls *urls, const char *path, struct sheaf_error *err)
{
    char *text, *line, *rest;
    size_t size;
    int code = store_get(path, LIST_FILE_LIMIT, &text, &size, err);

    if (code != SHEAF_OK)
        return code;
    rest = text;
    while (code == SHEAF_OK && (line = strsep(&rest, "\n")) != NULL) {
        const size_t length = strlen(line);

        if (length != 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (line[0] != '\0' && line[0] != '#')
            code = expand_braces(urls, line, err);
    }
    free(text);
    return code;
}

/* What is no object is a directory, a pattern, or nothing. */
static int add_other(struct urls *urls, const char *source, const struct sheaf_error *why,
                     struct sheaf_error *err)
{
    bool is_directory;
    int code = add_directory(urls, source, &is_directory, err);

    if (code == SHEAF_OK)
        return code;
    if (has_braces(source) && (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED))
        return expand_braces(urls, source, err);
    if (code == SHEAF_ERR_UNSUPPORTED && source[strlen(source) - 1] != '/')
        return err_set(err, why->code, "%s (if it is a directory, name its shards: it cannot be "
                       "listed)", why->message);
    if (is_directory || code != SHEAF_ERR_NOT_FOUND)
        return code;
    return add_url(urls, strdup(source), err);      /* a pipe, or nothing: opening it will tell */
}

static int add_source(struct urls *urls, const char *source, struct sheaf_error *err)
{
    struct sheaf_error why;
    uint64_t bytes;

    if (source[0] == '@')
        return add_list_file(urls, source + 1, err);
    if (store_size(source, &bytes, &why) == SHEAF_OK)
        return add_url(urls, strdup(source), err);
    return add_other(urls, source, &why, err);
}

int foreign_expand(const char *const *sources, size_t source_count, char ***list, size_t *count,
                   struct sheaf_error *err)
{
    struct urls urls = { 0 };
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < source_count; i++)
        code = add_source(&urls, sources[i], err);
    if (code == SHEAF_OK && urls.count == 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: names no shard", sources[0]);
    if (code != SHEAF_OK) {
        for (size_t i = 0; i < urls.count; i++)
            free(urls.list[i]);
        free(urls.list);
        return code;
    }
    *list = urls.list;
    *count = urls.count;
    return SHEAF_OK;
}

/* ---- What they are -------------------------------------------------------------------------- */

/* The first bytes behind the codec, at most *size of them. */
static int unpack_start(enum sheaf_codec codec, const uint8_t *data, size_t size, uint8_t *raw,
                        size_t *raw_size, struct sheaf_error *err)
{
    struct codec_stream *stream;
    int code = codec_stream_open(codec, &stream, err);

    if (code != SHEAF_OK)
        return code;
    code = codec_stream_push(stream, data, &size, raw, raw_size, err);
    codec_stream_free(stream);
    return code;
}

static int detect(struct store_object *object, enum sheaf_codec *codec,
                  const struct format_ops **format, struct sheaf_error *err)
{
    uint8_t stored[DETECT_BYTES], raw[DETECT_BYTES];
    size_t size = (size_t)MIN(object->bytes, sizeof(stored)), raw_size = sizeof(raw);
    int code = store_read(object, 0, stored, size, err);

    if (code != SHEAF_OK)
        return code;
    *codec = codec_detect(stored, size);
    if (*codec == SHEAF_CODEC_NONE) {
        *format = format_detect(stored, size, object->url);
    } else {
        code = unpack_start(*codec, stored, size, raw, &raw_size, err);
        if (code != SHEAF_OK)
            return err_prefix(err, "%s: ", object->url);
        *format = format_detect(raw, raw_size, object->url);
    }
    if (*format == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: begins like no TFRecord, RecordIO or tar "
                       "file, plain or packed by gzip or LZ4", object->url);
    return SHEAF_OK;
}

static int add_damage(struct sheaf_dataset *d, uint32_t shard, const struct sheaf_error *error,
                      struct sheaf_error *err)
{
    struct damage *grown = realloc(d->damages, (d->damage_count + 1) * sizeof(*grown));

    if (grown == NULL)
        return err_memory(err, (d->damage_count + 1) * sizeof(*grown));
    d->damages = grown;
    grown[d->damage_count].shard = shard;
    grown[d->damage_count++].error = *error;
    return SHEAF_OK;
}

static int scan_shard(struct sheaf_dataset *d, uint32_t i, struct store_object *object,
                      struct sheaf_error *err)
{
    struct manifest_shard *shard = &d->manifest.shards[i];
    struct scan scan;
    int code = SHEAF_OK;

    scan_open(&scan, d->format, object);
    while (code == SHEAF_OK) {
        struct sheaf_error damage;

        code = scan_run(&scan, &damage);
        if (code == SHEAF_END)
            break;
        if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED) {
            code = add_damage(d, i, &damage, err);
        } else {
            *err = damage;
        }
    }
    if (code == SHEAF_END)
        code = scan_section(&scan, &d->sections[i], err);
    if (code == SHEAF_OK) {
        shard->samples = d->sections[i]->samples;
        for (uint64_t s = 0; s < shard->samples; s++)
            shard->largest = MAX(shard->largest, index_frame_bytes(d->sections[i], s));
    }
    scan_close(&scan);
    return code;
}

/* A pipe is opened, and its container found, when it is read: it can be opened once only. */
static int examine_pipe(struct sheaf_dataset *d, uint32_t i, struct sheaf_error *err)
{
    d->is_stream = true;
    if (d->manifest.shard_count != 1)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe must be the only source",
                       d->urls[i]);
    return SHEAF_OK;
}

static int examine_shard(struct sheaf_dataset *d, uint32_t i, struct sheaf_error *err)
{
    struct manifest_shard *shard = &d->manifest.shards[i];
    const struct format_ops *format = NULL;
    enum sheaf_codec codec = SHEAF_CODEC_NONE;
    struct store_object *object;
    uint64_t bytes;
    int code = store_size(d->urls[i], &bytes, err);

    if (code == SHEAF_OK && bytes == UINT64_MAX)
        return examine_pipe(d, i, err);
    if (code == SHEAF_OK)
        code = store_open(d->urls[i], &object, err);
    if (code != SHEAF_OK)
        return code;
    shard->bytes = shard->raw_bytes = object->bytes;
    code = detect(object, &codec, &format, err);
    if (code != SHEAF_OK)
        goto out;
    if (d->format != NULL && (d->format != format || d->manifest.codec != codec)) {
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is %s (%s), but the shards before it are "
                       "%s (%s)", d->urls[i], format->name, sheaf_codec_name(codec),
                       d->format->name, sheaf_codec_name(d->manifest.codec));
        goto out;
    }
    d->format = format;
    d->codec = codec_of(codec);
    d->manifest.codec = codec;
    d->manifest.container = format->id;
    if (codec != SHEAF_CODEC_NONE || object->is_remote)
        d->is_stream = true;
    else
        code = scan_shard(d, i, object, err);
out:
    store_close(object);
    return code;
}

/* The fingerprint of foreign shards: of what is known of them without reading them. */
static int fingerprint(struct sheaf_dataset *d, struct sheaf_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t canonical;

    if (state == NULL)
        return err_set(err, SHEAF_ERR_MEMORY, "no memory for a hash");
    XXH3_128bits_reset(state);
    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        const struct manifest_shard *shard = &d->manifest.shards[i];
        const char *slash = strrchr(shard->name, '/');
        const char *name = slash != NULL ? slash + 1 : shard->name;
        const uint64_t numbers[2] = { shard->bytes, shard->samples };

        XXH3_128bits_update(state, name, strlen(name) + 1);
        XXH3_128bits_update(state, numbers, sizeof(numbers));
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    for (size_t i = 0; i < sizeof(canonical.digest); i++)
        snprintf(d->manifest.fingerprint + 2 * i, 3, "%02x", canonical.digest[i]);
    return SHEAF_OK;
}

int foreign_examine(struct sheaf_dataset *d, struct sheaf_error *err)
{
    d->sections = calloc(d->manifest.shard_count, sizeof(d->sections[0]));
    if (d->sections == NULL)
        return err_memory(err, d->manifest.shard_count * sizeof(d->sections[0]));
    for (uint32_t i = 0; i < d->manifest.shard_count; i++) {
        int code = examine_shard(d, i, err);

        if (code != SHEAF_OK)
            return code;
    }
    return d->format == NULL ? SHEAF_OK : fingerprint(d, err);
}
