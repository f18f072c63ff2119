/* SPDX-License-Identifier: MIT
 *
 * Writes and reads dataset.json (the manifest of a data set) with jansson. Writing and reading use
 * the same JSON tree and the same check of the struct, so that every manifest that is written can
 * be read back.
 *
 * The fingerprint is computed from the canonical text of the tree. The file has one line for each
 * shard and class, because people read it and compare it with diff. */
#include "formats/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "formats/content.h"
#include "formats/format.h"
#include "formats/manifest_check.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"

#define VERSION 1
/* version of a manifest that records an append (member "grown"); releases that cannot append refuse
 * this version */
#define VERSION_GROWN 2
#define VERSION_EDITED 3    /* and of manifests with "edited" */

static int manifest_version_of(bool is_grown, bool is_edited)
{
    return is_edited ? VERSION_EDITED : is_grown ? VERSION_GROWN : VERSION;
}

/* Sets an error for exhausted memory. Its message states no size, because the size that jansson or
 * xxHash requested is unknown. */
static int no_memory(struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_MEMORY, "%s", sheaf_strerror(SHEAF_ERR_MEMORY));
}

/* Returns whether jansson failed because memory was exhausted. jansson's lexer reports this as an
 * invalid token, but malloc() has then set errno. The caller must have set errno to 0 before. */
static bool is_no_memory(const json_error_t *error)
{
    return json_error_code(error) == json_error_out_of_memory || errno == ENOMEM;
}

/* ---- The fingerprint ------------------------------------------------------------------------ */

static int hash_text(const char *text, size_t size, void *state)
{
    return XXH3_128bits_update(state, text, size) == XXH_OK ? 0 : -1;
}

/* Computes the fingerprint of a manifest: the XXH3-128 of its JSON tree as compact text with sorted
 * keys. */
static int manifest_fingerprint(const json_t *document, char hex[33], struct sheaf_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t hash;
    int failed;

    if (state == NULL)
        return no_memory(err);
    XXH3_128bits_reset(state);
    failed = json_dump_callback(document, hash_text, state, JSON_COMPACT | JSON_SORT_KEYS);
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    if (failed != 0)
        return no_memory(err);
    for (size_t i = 0; i < sizeof(hash.digest); i++)
        snprintf(hex + 2 * i, 3, "%02x", hash.digest[i]);
    return SHEAF_OK;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static int pack_error(const json_error_t *error, struct sheaf_error *err)
{
    if (is_no_memory(error))
        return no_memory(err);
    return err_set(err, SHEAF_ERR_ARGUMENT, "manifest: %s", error->text);
}

static json_t *tree_of_shard(const void *shards, size_t i, json_error_t *error)
{
    const struct manifest_shard *s = (const struct manifest_shard *)shards + i;
    json_t *shard = json_pack_ex(error, 0, "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}",
                                 "name", s->name,
                                 "samples", (json_int_t)s->samples,
                                 "bytes", (json_int_t)s->bytes,
                                 "raw_bytes", (json_int_t)s->raw_bytes,
                                 "payload_bytes", (json_int_t)s->payload_bytes,
                                 "largest", (json_int_t)s->largest,
                                 "index_offset", (json_int_t)s->index_offset,
                                 "index_bytes", (json_int_t)s->index_bytes,
                                 "names_bytes", (json_int_t)s->names_bytes,
                                 "xxh3", s->xxh3);

    if (shard != NULL && s->index_xxh3[0] != '\0' &&
        json_object_set_new(shard, "index_xxh3", json_string(s->index_xxh3)) != 0) {
        errno = ENOMEM;
        json_decref(shard);
        return NULL;
    }
    return shard;
}

/* Adds the members that only some manifests have. "class_samples" and "fields" are added if the
 * counts are known; older releases did not count when they packed samples. "repeated_keys" is added
 * if it is not 0, and "joined" if it is true. */
static json_t *add_counts(const struct manifest *m, json_t *document)
{
    bool failed = document == NULL;

    if (!failed && m->class_samples != NULL)
        failed = json_object_set_new(document, "class_samples",
                                     json_make_array(m->class_count, json_make_number,
                                                     m->class_samples, NULL)) != 0;
    if (!failed && !m->fields.is_unknown)
        failed = json_object_set_new(document, "fields", tally_tree(&m->fields)) != 0;
    if (!failed && m->repeated_keys != 0)
        failed = json_object_set_new(document, "repeated_keys",
                                     json_integer((json_int_t)m->repeated_keys)) != 0;
    if (!failed && m->joined)
        failed = json_object_set_new(document, "joined", json_true()) != 0;
    if (failed && document != NULL) {
        errno = ENOMEM;
        json_decref(document);
        return NULL;
    }
    return document;
}

static json_t *tree_of_options(const struct manifest *m, json_error_t *error)
{
    json_t *options;

    if (m->options_json == NULL)
        return json_null();
    if (json_load_text(m->options_json, strlen(m->options_json), JSON_REJECT_DUPLICATES, &options,
                       error, NULL) == SHEAF_ERR_MEMORY)
        errno = ENOMEM;
    return options;
}

/* Adds a member to the manifest's JSON document. If this fails, or if `member` is NULL because the
 * caller could not make it, frees the document and returns NULL. */
static json_t *manifest_add_member(json_t *document, const char *name, json_t *member)
{
    if (member != NULL && json_object_set_new(document, name, member) == 0)
        return document;
    errno = member == NULL ? errno : ENOMEM;
    json_decref(document);
    return NULL;
}

/* The document without its fingerprint. */
static json_t *tree_of(const struct manifest *m, const struct manifest_totals *t,
                       json_error_t *error)
{
    json_t *options = tree_of_options(m, error);
    json_t *classes = options == NULL ? NULL
                    : json_make_array(m->class_count, json_make_string, m->classes, error);
    json_t *shards = classes == NULL ? NULL
                   : json_make_array(m->shard_count, tree_of_shard, m->shards, error), *document;

    if (shards == NULL) {
        json_decref(options);
        json_decref(classes);
        return NULL;
    }
    document = add_counts(m, json_pack_ex(error, 0,
                        "{s:i, s:s, s:s, s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:i, s:o,"
                        " s:o}",
                        "sheaf", manifest_version_of(m->growth_count != 0, m->edit_count != 0),
                        "container", sheaf_container_name(m->container),
                        "codec", sheaf_codec_name(m->codec),
                        "single_member", (int)m->single_member,
                        "foreign", (int)!m->ours,
                        "cls_is_label", (int)m->cls_is_label,
                        "samples", (json_int_t)t->samples,
                        "bytes", (json_int_t)t->bytes,
                        "raw_bytes", (json_int_t)t->raw_bytes,
                        "payload_bytes", (json_int_t)t->payload_bytes,
                        "index_bytes", (json_int_t)m->index_bytes,
                        "options", options,
                        "label_base", m->label_base,
                        "classes", classes,
                        "shards", shards));
    if (document != NULL && m->growth_count != 0)
        document = manifest_add_member(document, "grown", manifest_growth_tree(m, error));
    if (document != NULL && m->edit_count != 0)
        document = manifest_add_member(document, "edited", manifest_edit_tree(m, error));
    return document;
}

static int print_value(const json_t *value, struct buf *out, struct sheaf_error *err)
{
    char *text = json_dump_text(value, JSON_ENCODE_ANY);
    int code;

    if (text == NULL)
        return no_memory(err);
    code = buf_append(out, text, strlen(text), err);
    free(text);
    return code;
}

static int print_array(const json_t *array, struct buf *out, struct sheaf_error *err)
{
    const json_t *value;
    const char *before = "\n    ";
    size_t i;
    int code;

    if (json_array_size(array) == 0)
        return buf_printf(out, err, "[]");
    code = buf_printf(out, err, "[");
    json_array_foreach(array, i, value) {
        if (code == SHEAF_OK)
            code = buf_printf(out, err, "%s", before);
        if (code == SHEAF_OK)
            code = print_value(value, out, err);
        before = ",\n    ";
    }
    return code != SHEAF_OK ? code : buf_printf(out, err, "\n  ]");
}

static int manifest_print_document(json_t *document, struct buf *out, struct sheaf_error *err)
{
    const char *key, *before = "{\n";
    json_t *value;
    int code = SHEAF_OK;

    json_object_foreach(document, key, value) {
        if (code == SHEAF_OK)
            code = buf_printf(out, err, "%s  \"%s\": ", before, key);
        if (code == SHEAF_OK)
            code = json_is_array(value) && !json_is_integer(json_array_get(value, 0))
                       ? print_array(value, out, err) : print_value(value, out, err);
        before = ",\n";
    }
    return code != SHEAF_OK ? code : buf_printf(out, err, "\n}\n");
}

int manifest_write(struct manifest *m, struct buf *out, struct sheaf_error *err)
{
    const size_t start = out->size;
    struct manifest_totals totals;
    json_error_t error;
    json_t *document;
    int code = manifest_check(m, &totals, err);

    if (code != SHEAF_OK)
        return code;
    errno = 0;
    document = tree_of(m, &totals, &error);
    if (document == NULL)
        return pack_error(&error, err);
    code = manifest_check_options(json_object_get(document, "options"), err);
    if (code == SHEAF_OK)
        code = manifest_fingerprint(document, m->fingerprint, err);
    if (code == SHEAF_OK &&
        json_object_set_new(document, "fingerprint", json_string(m->fingerprint)) != 0)
        code = no_memory(err);
    if (code == SHEAF_OK)
        code = manifest_print_document(document, out, err);
    json_decref(document);
    if (code != SHEAF_OK)
        out->size = start;
    return code;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* A JSON object of the manifest that is being read. The functions manifest_take_...() read its
 * members. The first error is stored here, and after it these functions do nothing. */
struct json_object {
    const json_t *json;
    size_t taken;
    int code;
    struct sheaf_error *err;
};

static const json_t *manifest_take_value(struct json_object *o, const char *key, json_type type)
{
    const json_t *value = json_object_get(o->json, key);

    if (o->code != SHEAF_OK)
        return NULL;
    if (value == NULL || json_typeof(value) != type) {
        o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "\"%s\" is %s", key,
                          value == NULL ? "missing" : "of the wrong type");
        return NULL;
    }
    o->taken++;
    return value;
}

static uint64_t manifest_take_number(struct json_object *o, const char *key)
{
    const json_int_t value = json_integer_value(manifest_take_value(o, key, JSON_INTEGER));

    if (value < 0)
        o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "\"%s\" is %lld, expected 0 or more", key,
                          (long long)value);
    return (uint64_t)value;
}

static bool take_bool(struct json_object *o, const char *key)
{
    const bool value = json_is_true(json_object_get(o->json, key));

    manifest_take_value(o, key, value ? JSON_TRUE : JSON_FALSE);
    return value;
}

/* Never NULL. */
static const char *manifest_take_string(struct json_object *o, const char *key)
{
    const json_t *value = manifest_take_value(o, key, JSON_STRING);

    return value != NULL ? json_string_value(value) : "";
}

static int manifest_take_name(struct json_object *o, const char *key, int (*of)(const char *))
{
    const char *name = manifest_take_string(o, key);
    const int value = of(name);

    if (value < 0 && o->code == SHEAF_OK)
        o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "\"%s\" has the unknown value \"%s\"",
                                                     key, name);
    return value;
}

static char *take_copy(struct json_object *o, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL && o->code == SHEAF_OK)
        o->code = err_memory(o->err, strlen(text) + 1);
    return copy;
}

/* Allocates memory for all elements of a JSON array, each of which takes `each` bytes. Returns NULL
 * if the array is empty. */
static void *manifest_take_room(struct json_object *o, const json_t *array, size_t each)
{
    const size_t count = json_array_size(array);
    void *room = count != 0 ? calloc(count, each) : NULL;

    if (count != 0 && room == NULL && o->code == SHEAF_OK)
        o->code = err_memory(o->err, count * each);
    return room;
}

/* Ends the reading of a JSON object. Members that were not taken have unknown names, so they make
 * the manifest invalid. */
static int manifest_end_object(struct json_object *o)
{
    if (o->code == SHEAF_OK && json_object_size(o->json) != o->taken)
        o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "%zu key%s, expected %zu",
                          json_object_size(o->json), plural(json_object_size(o->json)), o->taken);
    return o->code;
}

/* Reads the checksum of a shard's index section from the manifest. Manifests of older releases do
 * not have it. */
static void take_section_sum(struct json_object *o, struct manifest_shard *s)
{
    const char *sum = manifest_take_string(o, "index_xxh3");

    if (o->code == SHEAF_OK && !hex_is(sum, 16))
        o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "\"index_xxh3\" is not 16 hexadecimal digits "
                          "in lower case");
    snprintf(s->index_xxh3, sizeof(s->index_xxh3), "%s", sum);
}

static int manifest_read_shard(const json_t *json, struct manifest_shard *s,
                               struct sheaf_error *err)
{
    struct json_object o = { .json = json, .err = err };

    s->name = take_copy(&o, manifest_take_string(&o, "name"));
    s->samples = manifest_take_number(&o, "samples");
    s->bytes = manifest_take_number(&o, "bytes");
    s->raw_bytes = manifest_take_number(&o, "raw_bytes");
    s->payload_bytes = manifest_take_number(&o, "payload_bytes");
    s->largest = manifest_take_number(&o, "largest");
    s->index_offset = manifest_take_number(&o, "index_offset");
    s->index_bytes = manifest_take_number(&o, "index_bytes");
    s->names_bytes = manifest_take_number(&o, "names_bytes");
    snprintf(s->xxh3, sizeof(s->xxh3), "%s", manifest_take_string(&o, "xxh3"));
    if (o.code == SHEAF_OK && json_string_length(json_object_get(json, "xxh3")) != 32)
        o.code = err_set(err, SHEAF_ERR_CORRUPT, "\"xxh3\" does not have 32 digits");
    if (json_object_get(json, "index_xxh3") != NULL)
        take_section_sum(&o, s);
    return manifest_end_object(&o);
}

static void read_shards(struct json_object *o, struct manifest *m)
{
    const json_t *array = manifest_take_value(o, "shards", JSON_ARRAY);

    m->shards = manifest_take_room(o, array, sizeof(m->shards[0]));
    for (size_t i = 0; o->code == SHEAF_OK && i < json_array_size(array); i++) {
        m->shard_count = i + 1;
        o->code = manifest_read_shard(json_array_get(array, i), &m->shards[i], o->err);
        if (o->code != SHEAF_OK)
            err_prefix(o->err, "shard %zu: ", i);
    }
}

static void read_classes(struct json_object *o, struct manifest *m)
{
    const json_t *array = manifest_take_value(o, "classes", JSON_ARRAY);

    m->classes = manifest_take_room(o, array, sizeof(m->classes[0]));
    for (size_t i = 0; o->code == SHEAF_OK && i < json_array_size(array); i++) {
        const json_t *name = json_array_get(array, i);

        if (!json_is_string(name)) {
            o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "class %zu is not a string", i);
            return;
        }
        m->class_count = i + 1;
        m->classes[i] = take_copy(o, json_string_value(name));
    }
}

/* Reads the counts, which older releases do not have. */
static void read_counts(struct json_object *o, struct manifest *m, uint64_t samples)
{
    const json_t *classes = json_object_get(o->json, "class_samples");
    const json_t *fields = json_object_get(o->json, "fields");

    m->fields.is_unknown = fields == NULL;
    o->taken += (classes != NULL) + (fields != NULL);
    if (o->code == SHEAF_OK && classes != NULL) {
        m->class_samples = manifest_take_room(o, classes, sizeof(m->class_samples[0]));
        if (json_array_size(classes) != m->class_count || m->class_count == 0)
            o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "\"class_samples\" are %zu, expected %zu",
                              json_array_size(classes), m->class_count);
        if (o->code == SHEAF_OK)
            o->code = tally_numbers_of_tree(classes, m->class_samples, o->err);
    }
    if (o->code == SHEAF_OK && fields != NULL)
        o->code = tally_of_tree(fields, samples, &m->fields, o->err);
    if (json_object_get(o->json, "joined") != NULL)
        m->joined = take_bool(o, "joined");
    if (o->code != SHEAF_OK || json_object_get(o->json, "repeated_keys") == NULL)
        return;
    m->repeated_keys = manifest_take_number(o, "repeated_keys");
    if (o->code == SHEAF_OK && (m->repeated_keys == 0 || m->repeated_keys >= samples))
        o->code = err_set(o->err, SHEAF_ERR_CORRUPT, "\"repeated_keys\" is %" PRIu64 ", expected 1 "
                          "or more, and fewer than the %" PRIu64 " samples", m->repeated_keys,
                          samples);
}

static void read_options(struct json_object *o, struct manifest *m)
{
    const json_t *options = json_object_get(o->json, "options");

    manifest_take_value(o, "options", json_is_null(options) ? JSON_NULL : JSON_OBJECT);
    if (o->code != SHEAF_OK || json_is_null(options))
        return;
    o->code = manifest_check_options(options, o->err);
    if (o->code != SHEAF_OK)
        return;
    m->options_json = json_dump_text(options, JSON_COMPACT);
    if (m->options_json == NULL)
        o->code = no_memory(o->err);
}

static int read_document(const json_t *document, struct manifest *m, struct sheaf_error *err)
{
    struct json_object o = { .json = document, .err = err };
    struct manifest_totals stated, totals;
    uint64_t label_base;
    int code;

    manifest_take_number(&o, "sheaf");
    m->container = (enum sheaf_container)manifest_take_name(&o, "container", format_id_of);
    m->codec = (enum sheaf_codec)manifest_take_name(&o, "codec", sheaf_codec_of);
    m->single_member = take_bool(&o, "single_member");
    m->ours = !take_bool(&o, "foreign");
    m->cls_is_label = take_bool(&o, "cls_is_label");
    stated.samples = manifest_take_number(&o, "samples");
    stated.bytes = manifest_take_number(&o, "bytes");
    stated.raw_bytes = manifest_take_number(&o, "raw_bytes");
    stated.payload_bytes = manifest_take_number(&o, "payload_bytes");
    m->index_bytes = manifest_take_number(&o, "index_bytes");
    read_options(&o, m);
    label_base = manifest_take_number(&o, "label_base");
    m->label_base = (int)MIN(label_base, 2);        /* only 0 and 1 pass the check */
    read_classes(&o, m);
    read_counts(&o, m, stated.samples);
    read_shards(&o, m);
    if (json_object_get(document, "grown") != NULL && o.code == SHEAF_OK) {
        o.taken++;
        o.code = manifest_growth_read(json_object_get(document, "grown"), m, err);
    }
    if (json_object_get(document, "edited") != NULL && o.code == SHEAF_OK) {
        o.taken++;
        o.code = manifest_edit_read(json_object_get(document, "edited"), m, err);
    }
    code = manifest_end_object(&o);
    if (code == SHEAF_OK)
        code = manifest_check(m, &totals, err);
    return code != SHEAF_OK ? code : manifest_check_totals(&stated, &totals, err);
}

static int check_version(const json_t *document, struct sheaf_error *err)
{
    struct json_object o = { .json = document, .err = err };
    const uint64_t version = manifest_take_number(&o, "sheaf");
    const bool is_grown = json_object_get(document, "grown") != NULL;
    const bool is_edited = json_object_get(document, "edited") != NULL;

    if (json_object_get(document, "sheaf") == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "no manifest of a data set: \"sheaf\" is missing, "
                       "so another program wrote the file; shards beside it can be read by their "
                       "own names, as in \"DIRECTORY/*.tar\"");      /* advice */
    if (o.code == SHEAF_OK && (version < VERSION || version > VERSION_EDITED))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "version %llu, expected %d to %d",
                       (unsigned long long)version, VERSION, VERSION_EDITED);
    if (o.code == SHEAF_OK && version != VERSION_EDITED &&
        (version == VERSION_GROWN) != is_grown)
        return err_set(err, SHEAF_ERR_CORRUPT, "version %llu %s \"grown\"",
                       (unsigned long long)version, is_grown ? "with" : "without");
    if (o.code == SHEAF_OK && (version == VERSION_EDITED) != is_edited)
        return err_set(err, SHEAF_ERR_CORRUPT, "version %llu %s \"edited\"",
                       (unsigned long long)version, is_edited ? "with" : "without");
    return o.code;
}

/* Removes the fingerprint from the manifest's JSON tree. Returns SHEAF_ERR_CORRUPT if it is not the
 * fingerprint of the rest of the tree. */
static int check_fingerprint(json_t *document, struct manifest *m, struct sheaf_error *err)
{
    struct json_object o = { .json = document, .err = err };
    char stated[sizeof(m->fingerprint)];
    int code;

    snprintf(stated, sizeof(stated), "%s", manifest_take_string(&o, "fingerprint"));
    if (o.code != SHEAF_OK)
        return o.code;
    json_object_del(document, "fingerprint");
    code = manifest_fingerprint(document, m->fingerprint, err);
    if (code == SHEAF_OK && strcmp(stated, m->fingerprint) != 0)
        code = err_set(err, SHEAF_ERR_CORRUPT,
                       "the text was changed: its fingerprint is %s, expected \"%s\"",
                       m->fingerprint, stated);
    return code;
}

static int load_error(const json_error_t *error, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "line %d, column %d: %s", error->line, error->column,
                   error->text);
}

int manifest_parse(const char *text, size_t size, struct manifest *m, struct sheaf_error *err)
{
    json_error_t error;
    json_t *document;
    int code;

    *m = (struct manifest){ 0 };
    if (size > MANIFEST_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "a manifest of %zu bytes, expected at most %zu", size,
                       MANIFEST_LIMIT);
    code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &document, &error, err);
    if (code == SHEAF_ERR_CORRUPT && content_check(text, size, "a manifest", err) == SHEAF_OK)
        code = load_error(&error, err);
    if (code != SHEAF_OK)
        return code;
    if (json_is_string(json_object_get(document, "unfinished"))) {
        json_decref(document);
        return err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, MANIFEST_HOLDS_UNFINISHED),
                           SHEAF_REASON_UNFINISHED);
    }
    code = check_version(document, err);
    if (code == SHEAF_OK)
        code = check_fingerprint(document, m, err);
    if (code == SHEAF_OK)
        code = read_document(document, m, err);
    json_decref(document);
    if (code != SHEAF_OK)
        manifest_clear(m);
    return code;
}

void manifest_clear(struct manifest *m)
{
    for (size_t i = 0; i < m->class_count; i++)
        free(m->classes[i]);
    for (size_t i = 0; i < m->shard_count; i++)
        free(m->shards[i].name);
    free(m->classes);
    free(m->class_samples);
    tally_clear(&m->fields);
    free(m->shards);
    free(m->options_json);
    manifest_growth_clear(m);
    manifest_edit_clear(m);
    *m = (struct manifest){ 0 };
}

