/* SPDX-License-Identifier: MIT
 *
 * Opens foreign shards (shards without a manifest). Finds the files of the sources, detects their
 * container and codec, and finds the samples by reading one header after another. Does not decode
 * samples. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/notice.h"
#include "base/text.h"
#include "formats/manifest_growth.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/probe.h"
#include "reader/dataset/scan.h"
#include "reader/dataset/shard_pattern.h"
#include "store/store.h"

/* largest number of remote directories that are searched for an unfinished packing run, because
 * each search costs requests */
#define REMOTE_DIRECTORIES 4
/* largest size in bytes of a list of paths ("@FILE") */
#define LIST_FILE_LIMIT ((size_t)1 << 28)

struct urls {
    char **list;
    size_t count, capacity;
    char *lost_manifest;        /* sheaf_dataset.lost_manifest */
};

/* Adds a URL and takes ownership of it. */
static int add_url(void *context, char *url, struct sheaf_error *err)
{
    struct urls *urls = context;

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

/* ---- Directories and lists ------------------------------------------------------------------ */

struct directory {
    struct urls *urls;
    const char *url;
    bool has_files;
    bool has_index;             /* an index that sheaf has written */
    bool has_manifest;          /* sheaf index ignores a manifest that it may replace */
    struct sheaf_error *err;
};

static int dataset_foreign_add_entry(void *context, const struct store_entry *entry)
{
    struct directory *d = context;

    d->has_files = true;
    d->has_index |= manifest_part_is(entry->name, INDEX_NAME);
    d->has_manifest |= strcmp(entry->name, MANIFEST_NAME) == 0;
    if (shard_is_side_file(entry->name))
        return SHEAF_OK;
    return add_url(d->urls, store_join(d->url, entry->name), d->err);
}

struct sets {
    const char *url;
    /* names of the first subdirectories that contain data sets, such as "train, val" */
    char names[200];
    bool is_full;
    bool has_directories;
};

static int add_set(void *context, const struct store_entry *entry)
{
    struct sets *s = context;
    char *directory = store_join(s->url, entry->name);
    char *manifest = directory == NULL ? NULL : store_join(directory, MANIFEST_NAME);
    const size_t used = strlen(s->names), room = sizeof(s->names) - used - sizeof(", ...");
    const char *comma = used == 0 ? "" : ", ";
    uint64_t bytes;

    s->has_directories = true;
    if (manifest != NULL && store_size(manifest, &bytes, NULL) == SHEAF_OK && !s->is_full) {
        s->is_full = strlen(comma) + strlen(entry->name) > room;
        snprintf(s->names + used, sizeof(s->names) - used, "%s%s", comma,
                 s->is_full ? "..." : entry->name);
    }
    free(directory);
    free(manifest);
    return SHEAF_OK;
}

/* Returns the error for a directory that contains no shards. The message names the subdirectories
 * that contain data sets, such as splits.
 *
 * In an object store, a misspelt name looks like an empty directory. So if nothing was found there,
 * the message asks to check the name. */
static int no_shards(const char *url, bool has_files, struct sheaf_error *err)
{
    struct sets s = { .url = url };

    (void)store_list_directories(url, add_set, &s, NULL);
    if (s.names[0] != '\0')
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: a directory without shards, but with data "
                       "sets in it: name one of %s", url, s.names);
    if (!has_files && !s.has_directories && store_is_remote(url))
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: nothing is there: check the name", url);
    return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: a directory without shards; files must "
                   "be packed first", url);
}

/* Adds the shards in the directory `url` to the list. If `url` is not a directory, adds nothing and
 * sets *is_directory to false. */
static int add_directory(struct urls *urls, const char *url, bool *is_directory,
                         struct sheaf_error *err)
{
    struct directory d = { .urls = urls, .url = url, .err = err };
    const size_t before = urls->count;
    int code = store_list(url, dataset_foreign_add_entry, &d, err);

    *is_directory = code == SHEAF_OK;
    if (code == SHEAF_OK && urls->count == before)
        return no_shards(url, d.has_files, err);
    if (code == SHEAF_OK && d.has_index && !d.has_manifest) {
        free(urls->lost_manifest);
        urls->lost_manifest = text_shown_url(url);
        if (urls->lost_manifest == NULL)
            return err_memory(err, strlen(url));
        notice_say(url, MANIFEST_NAME " is missing, although there is a " INDEX_NAME ": the shards "
                   "are read like those of other software, without class names and checksums, and "
                   "with samples that edits have deleted; copy " MANIFEST_NAME ", too");
    }
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
            code = pattern_expand_braces(line, add_url, urls, err);
    }
    free(text);
    return code;
}

/* Adds the shards of a source that is a directory or a pattern. Returns an error if the source does
 * not exist. */
static int add_other(struct urls *urls, const char *source, struct sheaf_error *err)
{
    struct sheaf_error why;
    uint64_t bytes;
    bool is_directory;
    int code = add_directory(urls, source, &is_directory, err);

    if (code == SHEAF_OK)
        return code;
    /* SHEAF_ERR_ACCESS may also mean that the object does not exist. S3 answers "access denied" for
     * such an object if the program may not list the bucket. */
    if (pattern_has_braces(source) && (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ACCESS ||
                                       code == SHEAF_ERR_UNSUPPORTED))
        return pattern_expand_braces(source, add_url, urls, err);
    if (store_names_one(source))
        return store_size(source, &bytes, err);
    if (pattern_has_wildcard(source) && (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ACCESS))
        return pattern_expand_wildcards(source, add_url, urls, err);
    if (code == SHEAF_ERR_UNSUPPORTED && source[strlen(source) - 1] != '/'
        && store_size(source, &bytes, &why) != SHEAF_OK)
        return err_set(err, why.code, "%s (if it is a directory, name its shards: it cannot be "
                       "listed)", why.message);
    if (is_directory || code != SHEAF_ERR_NOT_FOUND)
        return code;
    /* The source is a pipe, or it does not exist. Opening it will show which. */
    return add_url(urls, strdup(source), err);
}

static int add_source(struct urls *urls, const char *source, bool is_file,
                      struct sheaf_error *err)
{
    if (source[0] == '@')
        return add_list_file(urls, source + 1, err);
    return is_file ? add_url(urls, strdup(source), err) : add_other(urls, source, err);
}

int foreign_find_files(const char *const *sources, size_t source_count, bool *is_file,
                       struct sheaf_error *err)
{
    struct look *looks = malloc(LOOKS_MOST * sizeof(looks[0]));
    int code = looks == NULL ? err_memory(err, LOOKS_MOST * sizeof(looks[0])) : SHEAF_OK;

    for (size_t first = 0, n; first < source_count && code == SHEAF_OK; first += n) {
        n = look_count(sources + first, source_count - first);
        for (size_t i = 0; i < n; i++)
            looks[i] = (struct look){ .url = sources[first + i] };
        code = look_sizes(looks, n, err);
        for (size_t i = 0; i < n; i++)
            is_file[first + i] = sources[first + i][0] != '@' && looks[i].code == SHEAF_OK;
    }
    free(looks);
    return code;
}

/* Returns the directory that contains the shard `url`. The caller must free the result. */
static char *dataset_foreign_directory_of(const char *url)
{
    const char *slash = strrchr(url, '/');

    return slash == NULL ? strdup(".") : strndup(url, (size_t)(slash - url) + (slash == url));
}

/* Returns whether two shards are in the same directory. */
static bool is_beside(const char *a, const char *b)
{
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    const size_t size_a = slash_a == NULL ? 0 : (size_t)(slash_a - a) + 1;
    const size_t size_b = slash_b == NULL ? 0 : (size_t)(slash_b - b) + 1;

    return size_a == size_b && memcmp(a, b, size_a) == 0;
}

/* Returns an error if a packing run has not finished in the directory of one of the shards, because
 * then some shards are missing. Called for shards that were named one by one.
 *
 * Stores to which nothing can be written are not checked, because no run packs there. In remote
 * stores only the first few directories are checked, because each check costs requests. */
static int refuse_unfinished(const struct urls *urls, struct sheaf_error *err)
{
    unsigned left = REMOTE_DIRECTORIES;
    int code = SHEAF_OK;

    for (size_t i = 0; i < urls->count && code == SHEAF_OK && left > 0; i++) {
        const char *url = urls->list[i];
        const bool is_local = store_is_local(url);
        char *directory;

        if ((i != 0 && is_beside(url, urls->list[i - 1])) || strcmp(url, "-") == 0 ||
            !store_is_writable(url))
            continue;
        directory = dataset_foreign_directory_of(url);
        code = directory == NULL ? err_memory(err, strlen(url))
                                 : dataset_refuse_unfinished(directory, err);
        free(directory);
        left -= !is_local;
    }
    return code;
}

int foreign_expand(struct sheaf_dataset *d, const char *const *sources, const bool *is_file,
                   size_t source_count, size_t *count, struct sheaf_error *err)
{
    struct urls urls = { 0 };
    int code = SHEAF_OK;

    for (size_t i = 0; i < source_count && code == SHEAF_OK; i++)
        code = add_source(&urls, sources[i], is_file[i], err);
    if (code == SHEAF_OK && urls.count == 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: names no shard", sources[0]);
    if (code == SHEAF_OK)
        code = refuse_unfinished(&urls, err);
    if (code != SHEAF_OK) {
        for (size_t i = 0; i < urls.count; i++)
            free(urls.list[i]);
        free(urls.list);
        free(urls.lost_manifest);
        return code;
    }
    d->urls = urls.list;
    d->lost_manifest = urls.lost_manifest;
    *count = urls.count;
    return SHEAF_OK;
}

/* ---- What they are -------------------------------------------------------------------------- */

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
    struct header_scan scan;
    struct key_seen *keys;
    int code = SHEAF_OK;

    scan_open(&scan, d->format, object);
    scan.joins = d->joins && d->format->has_members;
    while (code == SHEAF_OK) {
        struct sheaf_error damage;

        code = scan_run(&scan, &damage);
        if (code == SHEAF_END)
            break;
        if (framing_is_damage(code)) {
            code = add_damage(d, i, &damage, err);
        } else if (framing_is_of_data(code)) {
            code = add_damage(d, i, &damage, err);      /* Reading stops at this damage. */
            if (code == SHEAF_OK)
                code = SHEAF_END;
            break;
        } else {
            *err = damage;
        }
    }
    keys = &scan.framing.scan.keys;
    d->passed_over += framing_passed_over(&scan.framing);
    if (scan.joins)
        d->joined += keys->repeated;
    else
        d->repeated_keys += keys->repeated;
    if (!scan.joins && d->repeated_key == NULL && keys->first != NULL) {
        d->repeated_key = keys->first;
        keys->first = NULL;
    }
    d->lost_bytes += scan.framing.lost_bytes;
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

/* Accepts a pipe as a shard. A pipe can be opened only once, so its container is detected later,
 * when the pipe is read. */
static int examine_pipe(struct sheaf_dataset *d, uint32_t i, struct sheaf_error *err)
{
    d->is_stream = true;
    if (d->joins)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a pipe: the files of a sample can "
                       "only be put together in a tar that is a file", d->urls[i]);
    if (d->manifest.shard_count != 1)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe must be the only source",
                       d->urls[i]);
    return SHEAF_OK;
}

/* Stores in the data set the facts that were detected about shard `i`. Scans the headers of the
 * shard if it is an uncompressed file on this machine. */
static int take_shard(struct sheaf_dataset *d, uint32_t i, const struct look *look,
                      struct sheaf_error *err)
{
    struct manifest_shard *shard = &d->manifest.shards[i];

    if (look->code == SHEAF_ERR_UNSUPPORTED && d->manifest.shard_count > 1)
        return err_set(err, look->code, "%s; if it is not a shard, name the shards alone, such as "
                       "'train-*.tar'", look->error.message);
    if (look->code != SHEAF_OK) {
        *err = look->error;
        return look->code;
    }
    if (look->bytes == UINT64_MAX)
        return examine_pipe(d, i, err);
    if (d->format != NULL && (d->format != look->format || d->manifest.codec != look->codec))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is %s (%s), but the shards before it are "
                       "%s (%s)", d->urls[i], look->format->name, sheaf_codec_name(look->codec),
                       d->format->name, sheaf_codec_name(d->manifest.codec));
    shard->bytes = shard->raw_bytes = look->bytes;
    d->format = look->format;
    d->codec = codec_of(look->codec);
    d->manifest.codec = look->codec;
    d->manifest.container = look->format->id;
    if (look->codec == SHEAF_CODEC_NONE && look->object != NULL)
        return scan_shard(d, i, look->object, err);
    if (d->joins)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is %s: the files of a sample can only be "
                       "put together in a tar on this machine that is not compressed", d->urls[i],
                       look->codec != SHEAF_CODEC_NONE ? "compressed" : "remote");
    d->is_stream = true;
    return SHEAF_OK;
}

/* Detects the container, codec and size of the next shards, beginning with shard `first`. Sets
 * *count to the number of these shards. `looks` must have room for LOOKS_MOST elements. */
static int examine_some(struct sheaf_dataset *d, uint32_t first, struct look *looks, size_t *count,
                        struct sheaf_error *err)
{
    const size_t n = look_count((const char *const *)d->urls + first,
                                d->manifest.shard_count - first);
    int code;

    for (size_t i = 0; i < n; i++)
        looks[i] = (struct look){ .url = d->urls[first + i] };
    code = look_inside(looks, n, err);
    for (size_t i = 0; i < n && code == SHEAF_OK; i++)
        code = take_shard(d, first + (uint32_t)i, &looks[i], err);
    for (size_t i = 0; i < n; i++)
        store_close(looks[i].object);
    *count = n;
    return code;
}

/* Computes the fingerprint of foreign shards (shards without a manifest) from their names, their
 * sizes and their numbers of samples. The content of the shards is not read. */
static int dataset_foreign_fingerprint(struct sheaf_dataset *d, struct sheaf_error *err)
{
    XXH3_state_t *state = XXH3_createState();

    if (state == NULL)
        return err_set(err, SHEAF_ERR_MEMORY, "no memory for a hash");
    XXH3_128bits_reset(state);
    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        const struct manifest_shard *shard = &d->manifest.shards[i];
        const char *slash = strrchr(shard->name, '/');
        const char *name = slash != NULL ? slash + 1 : shard->name;
        const uint64_t numbers[2] = { htole64(shard->bytes), htole64(shard->samples) };

        XXH3_128bits_update(state, name, strlen(name) + 1);
        XXH3_128bits_update(state, numbers, sizeof(numbers));
    }
    hash_text(XXH3_128bits_digest(state), d->manifest.fingerprint);
    XXH3_freeState(state);
    return SHEAF_OK;
}

int foreign_examine(struct sheaf_dataset *d, struct sheaf_error *err)
{
    struct look *looks;
    int code = SHEAF_OK;

    d->sections = calloc(d->manifest.shard_count, sizeof(d->sections[0]));
    if (d->sections == NULL)
        return err_memory(err, d->manifest.shard_count * sizeof(d->sections[0]));
    looks = malloc(LOOKS_MOST * sizeof(looks[0]));
    if (looks == NULL)
        return err_memory(err, LOOKS_MOST * sizeof(looks[0]));
    for (size_t i = 0, count; i < d->manifest.shard_count && code == SHEAF_OK; i += count)
        code = examine_some(d, (uint32_t)i, looks, &count, err);
    free(looks);
    if (code != SHEAF_OK)
        return code;
    return d->format == NULL ? SHEAF_OK : dataset_foreign_fingerprint(d, err);
}
