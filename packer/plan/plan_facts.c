/* SPDX-License-Identifier: MIT
 *
 * Converts the facts about a plan to bytes and back. Everything that is read from bytes is checked
 * here, so that other code can use labels, splits and texts without further checks. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/number.h"
#include "base/varint.h"
#include "formats/column_record.h"
#include "formats/format.h"
#include "formats/interop_index.h"
#include "formats/label.h"
#include "formats/manifest.h"
#include "image/image.h"
#include "packer/plan/plan_file.h"
#include "packer/source/problems.h"

#define TEXT_LIMIT ((uint64_t)1 << 28)

void plan_facts_take(struct plan_facts *f, const struct sheaf_pack_options *options)
{
    f->options = *options;
    if (f->options.index == NULL)
        f->options.index = "";
    f->libraries = options->fix_images || options->resize != 0 ? image_libraries() : "";
}

void plan_facts_give(const struct plan_facts *f, struct sheaf_pack_options *options)
{
    const struct sheaf_pack_options *own = &f->options;

    options->container = own->container;
    options->codec = own->codec;
    options->label_base = own->label_base;
    options->on_error = own->on_error;
    options->on_change = own->on_change;
    options->max_skipped = own->max_skipped;
    options->prefix = own->prefix;
    options->index = own->index;
    options->fix_images = own->fix_images;
    options->check_images = own->check_images;
    options->quality = own->quality;
    options->resize = own->resize;
    options->resize_mode = own->resize_mode;
}

bool plan_facts_is_column(const struct plan_facts *f)
{
    return strcmp(f->source, COLUMN_PLAN_SOURCE) == 0;
}

const struct plan_repeat *plan_facts_repeat(const struct plan_facts *f, uint64_t sample)
{
    size_t first = 0, end = f->repeat_count;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;

        if (f->repeats[middle].sample < sample)
            first = middle + 1;
        else
            end = middle;
    }
    return first < f->repeat_count && f->repeats[first].sample == sample ? &f->repeats[first]
                                                                         : NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int put_number(struct buf *out, uint64_t value, struct sheaf_error *err)
{
    const int code = buf_reserve(out, VARINT_MOST, err);

    if (code == SHEAF_OK)
        out->size += varint_put(out->data + out->size, value);
    return code;
}

static int plan_facts_put_bytes(struct buf *out, const void *data, size_t size,
                                struct sheaf_error *err)
{
    const int code = put_number(out, size, err);

    return code == SHEAF_OK ? buf_append(out, data, size, err) : code;
}

static int plan_facts_put_text(struct buf *out, const char *text, struct sheaf_error *err)
{
    return plan_facts_put_bytes(out, text, strlen(text), err);
}

static int plan_facts_put_values(struct buf *out, const struct plan_label *label,
                                 struct sheaf_error *err)
{
    int code = put_number(out, label->value_count * sizeof(double), err);

    for (size_t i = 0; i < label->value_count && code == SHEAF_OK; i++) {
        const uint64_t value = htole64(bits_of(label->values[i]));

        code = buf_append(out, &value, sizeof(value), err);
    }
    return code;
}

static int plan_facts_put_labels(const struct plan *plan, struct buf *out, struct sheaf_error *err)
{
    int code = put_number(out, plan->class_count, err);

    for (uint32_t i = 0; i < plan->class_count && code == SHEAF_OK; i++)
        code = plan_facts_put_text(out, plan->classes[i], err);
    if (code == SHEAF_OK)
        code = put_number(out, plan->label_count - 1 - plan->class_count, err);
    for (uint32_t i = plan->class_count + 1; i < plan->label_count && code == SHEAF_OK; i++)
        code = plan_facts_put_values(out, &plan->labels[i], err);
    return code;
}

static int put_split(const struct plan_split *split, const char *json, struct buf *out,
                     struct sheaf_error *err)
{
    int code = plan_facts_put_text(out, split->name, err);

    if (code == SHEAF_OK)
        code = put_number(out, split->shard_count, err);
    if (code == SHEAF_OK)
        code = put_number(out, split->cls_is_label, err);
    return code == SHEAF_OK ? plan_facts_put_text(out, json, err) : code;
}

static int put_images(const struct plan_facts *f, struct buf *out, struct sheaf_error *err)
{
    const struct sheaf_pack_options *o = &f->options;
    const uint64_t numbers[] = { o->fix_images != 0, (uint64_t)o->check_images,
                                 (uint64_t)o->quality, o->resize, (uint64_t)o->resize_mode };
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(numbers) && code == SHEAF_OK; i++)
        code = put_number(out, numbers[i], err);
    return code == SHEAF_OK ? plan_facts_put_text(out, f->libraries, err) : code;
}

/* Writes the facts that version 4 of a plan file has and version 3 does not have. */
static int put_latest(const struct plan_facts *f, struct buf *out, struct sheaf_error *err)
{
    const uint64_t numbers[] = { f->cls_looked, f->cls_words, f->repeat_count };
    const char *max_skipped = f->options.max_skipped;
    uint64_t before = 0;
    int code = put_number(out, (uint64_t)f->options.on_change, err);

    if (code == SHEAF_OK)
        code = plan_facts_put_text(out, max_skipped == NULL ? "" : max_skipped, err);
    for (size_t i = 0; i < COUNT_OF(numbers) && code == SHEAF_OK; i++)
        code = put_number(out, numbers[i], err);
    for (size_t i = 0; i < f->repeat_count && code == SHEAF_OK; i++) {
        code = put_number(out, f->repeats[i].sample - before, err);
        if (code == SHEAF_OK)
            code = put_number(out, f->repeats[i].number, err);
        before = f->repeats[i].sample;
    }
    return code;
}

int plan_facts_write(const struct plan_facts *f, struct buf *out, struct sheaf_error *err)
{
    const struct sheaf_pack_options *o = &f->options;
    const char *const texts[] = { f->plan.hash, f->plan.identity, f->dest, f->root, f->source,
                                  f->fingerprint, o->prefix, o->index };
    const uint64_t numbers[] = {
        f->is_remote, (uint64_t)o->container, (uint64_t)o->codec, o->codec != SHEAF_CODEC_NONE,
        (uint64_t)o->label_base, (uint64_t)o->on_error, f->found, f->plan.split_count,
    };
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(texts) && code == SHEAF_OK; i++)
        code = plan_facts_put_text(out, texts[i], err);
    for (size_t i = 0; i < COUNT_OF(numbers) && code == SHEAF_OK; i++)
        code = put_number(out, numbers[i], err);
    for (uint32_t s = 0; s < f->plan.split_count && code == SHEAF_OK; s++)
        code = put_split(&f->plan.splits[s], f->options_json[s], out, err);
    if (code == SHEAF_OK)
        code = plan_facts_put_labels(&f->plan, out, err);
    if (code == SHEAF_OK)
        code = plan_facts_put_bytes(out, f->skipped, f->skipped_bytes, err);
    if (code == SHEAF_OK)
        code = put_images(f, out, err);
    return code == SHEAF_OK ? put_latest(f, out, err) : code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct facts_cursor {
    const uint8_t *at, *end;
    struct plan_facts *facts;
    struct sheaf_error *err;
};

static int plan_facts_malformed(struct facts_cursor *c, const char *what)
{
    return err_set(c->err, SHEAF_ERR_CORRUPT, "malformed: %s", what);
}

static int plan_facts_take_number(struct facts_cursor *c, uint64_t most, uint64_t *value,
                                  const char *what)
{
    return varint_take(&c->at, c->end, value) && *value <= most
               ? SHEAF_OK : plan_facts_malformed(c, what);
}

static int plan_facts_take_bytes(struct facts_cursor *c, const uint8_t **data, size_t *size,
                                 const char *what)
{
    uint64_t given;
    int code = plan_facts_take_number(c, TEXT_LIMIT, &given, what);

    if (code != SHEAF_OK || given > (uint64_t)(c->end - c->at))
        return plan_facts_malformed(c, what);
    *data = c->at;
    *size = (size_t)given;
    c->at += given;
    return SHEAF_OK;
}

static int plan_facts_take_text(struct facts_cursor *c, const char **text, const char *what)
{
    const uint8_t *data;
    size_t size;
    int code = plan_facts_take_bytes(c, &data, &size, what);

    if (code != SHEAF_OK || memchr(data, '\0', size) != NULL)
        return plan_facts_malformed(c, what);
    *text = arena_text(&c->facts->arena, (const char *)data, size);
    return *text == NULL ? err_memory(c->err, size) : SHEAF_OK;
}

static int take_hash(struct facts_cursor *c, char hash[PLAN_HASH_SIZE])
{
    const char *text;
    int code = plan_facts_take_text(c, &text, "the plan's hash");

    if (code == SHEAF_OK && !hex_is(text, PLAN_HASH_SIZE - 1))
        code = plan_facts_malformed(c, "the plan's hash");
    if (code == SHEAF_OK)
        memcpy(hash, text, PLAN_HASH_SIZE);
    return code;
}

/* Plans of version 1 do not store an identity (a hash that tells whether two runs have the same
 * files). Their plan hash is used as the identity. */
static int take_hashes(struct facts_cursor *c, uint32_t version)
{
    struct plan *plan = &c->facts->plan;
    int code = take_hash(c, plan->hash);

    memcpy(plan->identity, plan->hash, PLAN_HASH_SIZE);
    if (code == SHEAF_OK && version > 1)
        code = take_hash(c, plan->identity);
    if (code == SHEAF_OK && version > 1)
        memcpy(plan->origin, plan->identity, PLAN_HASH_SIZE);
    return code;
}

static int take_texts(struct facts_cursor *c)
{
    struct plan_facts *f = c->facts;
    const struct { const char **text; const char *what; } texts[] = {
        { &f->dest, "the destination" }, { &f->root, "the root" },
        { &f->source, "the kind of source" }, { &f->fingerprint, "the data set" },
        { &f->options.prefix, "the prefix of names" },
        { &f->options.index, "the list of index files" },
    };
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(texts) && code == SHEAF_OK; i++)
        code = plan_facts_take_text(c, texts[i].text, texts[i].what);
    if (code == SHEAF_OK && (f->dest[0] == '\0' || strchr(f->options.prefix, '/') != NULL ||
                             f->options.prefix[0] == '.' || f->options.prefix[0] == '\0'))
        code = plan_facts_malformed(c, "the destination, or the prefix of names");
    if (code == SHEAF_OK && (f->fingerprint[0] != '\0' || plan_facts_is_column(f)))
        f->plan.origin[0] = '\0';       /* the hash covers the input of the plan */
    return code;
}

/* A number that the facts contain: its largest valid value, and a name for messages. */
struct facts_number {
    uint64_t most;
    const char *what;
};

static int plan_facts_take_all(struct facts_cursor *c, const struct facts_number *numbers,
                               size_t count, uint64_t *values)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = plan_facts_take_number(c, numbers[i].most, &values[i], numbers[i].what);
    return code;
}

static int plan_facts_take_numbers(struct facts_cursor *c)
{
    static const struct facts_number numbers[] = {
        { 1, "where the files are" }, { 100, "the container" }, { 100, "the codec" },
        { 1, "the members of a shard" }, { 1, "the label base" }, { 10, "what an error does" },
        { UINT64_MAX, "the files found" }, { SPLIT_LIMIT, "the number of splits" },
    };
    struct plan_facts *f = c->facts;
    struct sheaf_pack_options *o = &f->options;
    uint64_t n[COUNT_OF(numbers)];
    const int code = plan_facts_take_all(c, numbers, COUNT_OF(numbers), n);

    if (code != SHEAF_OK)
        return code;
    f->is_remote = n[0] != 0;
    o->container = (enum sheaf_container)n[1];
    o->codec = (enum sheaf_codec)n[2];
    o->label_base = (int)n[4];
    o->on_error = (enum sheaf_on_error)n[5];
    f->found = n[6];
    f->plan.split_count = (uint32_t)n[7];
    if (sheaf_container_name(o->container) == NULL || sheaf_codec_name(o->codec) == NULL ||
        (o->on_error != SHEAF_FAIL && o->on_error != SHEAF_SKIP) || f->plan.split_count == 0)
        return plan_facts_malformed(c, "the container, the codec, or the splits");
    if (o->codec != SHEAF_CODEC_NONE && n[3] == 0)
        return err_set(c->err, SHEAF_ERR_UNSUPPORTED, "an older release's plan of shards with "
                       "many %s members or frames, which are no longer written: make a new plan",
                       sheaf_codec_name(o->codec));
    return SHEAF_OK;
}

/* Returns whether a text can be the name of a split, which becomes the name of a directory. In a
 * plan without splits, the name must be "". */
static bool is_split_name(const char *name, uint32_t split_count)
{
    return split_count == 1 && name[0] == '\0' ? true
           : name[0] != '\0' && name[0] != '.' && strlen(name) < SPLIT_NAME_BYTES &&
             strchr(name, '/') == NULL;
}

static int take_splits(struct facts_cursor *c)
{
    struct plan_facts *f = c->facts;
    uint64_t shards = 0;

    for (uint32_t s = 0; s < f->plan.split_count; s++) {
        struct plan_split *split = &f->plan.splits[s];
        const char *name;
        uint64_t count, cls;
        int code = plan_facts_take_text(c, &name, "a split's name");

        if (code == SHEAF_OK && !is_split_name(name, f->plan.split_count))
            code = plan_facts_malformed(c, "a split's name");
        if (code == SHEAF_OK)
            code = plan_facts_take_number(c, SHARD_LIMIT, &count, "a split's shards");
        if (code == SHEAF_OK)
            code = plan_facts_take_number(c, 1, &cls, "a split's labels");
        if (code == SHEAF_OK)
            code = plan_facts_take_text(c, &f->options_json[s], "a split's options");
        if (code != SHEAF_OK)
            return code;
        memcpy(split->name, name, strlen(name) + 1);
        split->shard = (uint32_t)shards;
        split->shard_count = (uint32_t)count;
        split->cls_is_label = cls != 0;
        shards += count;
    }
    f->plan.shard_count = shards;
    return shards == 0 ? plan_facts_malformed(c, "no shards") : SHEAF_OK;
}

static int plan_facts_take_classes(struct facts_cursor *c, uint64_t *numeric)
{
    struct plan *plan = &c->facts->plan;
    uint64_t count;
    int code = plan_facts_take_number(c, (uint64_t)(c->end - c->at), &count,
                                      "the number of classes");

    if (code != SHEAF_OK)
        return code;
    plan->classes = calloc((size_t)count + 1, sizeof(plan->classes[0]));
    plan->class_values = calloc((size_t)count + 1, sizeof(plan->class_values[0]));
    if (plan->classes == NULL || plan->class_values == NULL)
        return err_memory(c->err, count * sizeof(double));
    plan->class_count = (uint32_t)count;
    for (uint32_t i = 0; i < count && code == SHEAF_OK; i++) {
        code = plan_facts_take_text(c, &plan->classes[i], "the name of a class");
        plan->class_values[i] = (double)c->facts->options.label_base + (double)i;
    }
    if (code == SHEAF_OK)
        code = plan_facts_take_number(c, (uint64_t)(c->end - c->at), numeric,
                                      "the number of labels");
    if (code == SHEAF_OK && count + *numeric >= UINT32_MAX)
        code = plan_facts_malformed(c, "the number of labels");
    return code;
}

static int plan_facts_take_values(struct facts_cursor *c, struct plan_label *label)
{
    const uint8_t *data;
    size_t size;
    double *values;
    int code = plan_facts_take_bytes(c, &data, &size, "a label");

    if (code != SHEAF_OK || size == 0 || size % sizeof(double) != 0 ||
        size / sizeof(double) > LABEL_LIMIT)
        return plan_facts_malformed(c, "a label");
    values = arena_take(&c->facts->arena, size);
    if (values == NULL)
        return err_memory(c->err, size);
    label->values = values;
    label->value_count = size / sizeof(double);
    for (size_t i = 0; i < label->value_count; i++) {
        values[i] = load_double(data + i * sizeof(double));
        if (!label_is_exact(values[i]))
            return plan_facts_malformed(c, "a label that is neither an integer nor a 32-bit float");
    }
    return SHEAF_OK;
}

static int plan_facts_take_labels(struct facts_cursor *c)
{
    struct plan *plan = &c->facts->plan;
    uint64_t numeric = 0;
    int code = plan_facts_take_classes(c, &numeric);

    if (code != SHEAF_OK)
        return code;
    plan->label_count = plan->class_count + (uint32_t)numeric + 1;
    plan->labels = calloc(plan->label_count, sizeof(plan->labels[0]));
    if (plan->labels == NULL)
        return err_memory(c->err, plan->label_count * sizeof(plan->labels[0]));
    for (uint32_t i = 0; i < plan->class_count; i++)
        plan->labels[i + 1] = (struct plan_label){ plan->classes[i], &plan->class_values[i], 1 };
    for (uint32_t i = plan->class_count + 1; i < plan->label_count && code == SHEAF_OK; i++)
        code = plan_facts_take_values(c, &plan->labels[i]);
    return code;
}

static int take_skipped(struct facts_cursor *c)
{
    const uint8_t *data;
    int code = plan_facts_take_bytes(c, &data, &c->facts->skipped_bytes, "the skipped files");

    if (code != SHEAF_OK)
        return code;
    c->facts->skipped = arena_text(&c->facts->arena, (const char *)data,
                                   c->facts->skipped_bytes);
    if (c->facts->skipped == NULL)
        return err_memory(c->err, c->facts->skipped_bytes);
    return SHEAF_OK;
}

/* Plans of earlier versions do not convert images. */
static int plan_facts_take_images(struct facts_cursor *c, uint32_t version)
{
    static const struct facts_number numbers[] = {
        { 1, "whether images are converted" }, { SHEAF_CHECK_NONE, "how images are checked" },
        { 100, "the quality of images" }, { IMAGE_SIDE_MOST, "the size of images" },
        { SHEAF_EXACT, "which side is of that size" },
    };
    struct sheaf_pack_options *o = &c->facts->options;
    uint64_t n[COUNT_OF(numbers)];
    int code;

    c->facts->libraries = "";
    if (version < 3)
        return SHEAF_OK;
    code = plan_facts_take_all(c, numbers, COUNT_OF(numbers), n);
    if (code != SHEAF_OK)
        return code;
    o->fix_images = n[0] != 0;
    o->check_images = (enum sheaf_check_images)n[1];
    o->quality = (int)n[2];
    o->resize = (uint32_t)n[3];
    o->resize_mode = (enum sheaf_resize_mode)n[4];
    return plan_facts_take_text(c, &c->facts->libraries, "the libraries of images");
}

/* Reads the options about skipped files. If the plan is of an earlier version without these
 * options, they get defaults: files that vanished or changed may be skipped, and the number of
 * skipped files is not limited. */
static int take_skipping(struct facts_cursor *c, uint32_t version)
{
    struct sheaf_pack_options *o = &c->facts->options;
    uint64_t on_change;
    int code;

    o->on_change = SHEAF_SKIP;
    if (version < 4)
        return SHEAF_OK;
    code = plan_facts_take_number(c, SHEAF_SKIP, &on_change, "what a changed file does");
    if (code == SHEAF_OK)
        code = plan_facts_take_text(c, &o->max_skipped, "how many files may be skipped");
    if (code != SHEAF_OK)
        return code;
    o->on_change = (enum sheaf_on_error)on_change;
    if (o->max_skipped[0] == '\0')
        o->max_skipped = NULL;
    return problems_check_limit(o->max_skipped, c->err);
}

/* Reads the samples with repeated keys. A sample is stored as the difference between its number and
 * the number of the sample before it. A difference of 0 is refused. So the samples are in ascending
 * order, and each occurs once. */
static int take_repeats(struct facts_cursor *c)
{
    struct plan_facts *f = c->facts;
    struct plan_repeat *repeats;
    uint64_t count, before = 0;
    int code = plan_facts_take_number(c, (uint64_t)(c->end - c->at) / 2, &count,
                                      "the number of repeated keys");

    if (code != SHEAF_OK || count == 0)
        return code;
    repeats = arena_take(&f->arena, count * sizeof(*repeats));
    if (repeats == NULL)
        return err_memory(c->err, count * sizeof(*repeats));
    for (uint64_t i = 0; i < count && code == SHEAF_OK; i++) {
        uint64_t more;

        code = plan_facts_take_number(c, UINT64_MAX - before, &more, "a repeated key's sample");
        if (code == SHEAF_OK)
            code = plan_facts_take_number(c, UINT64_MAX, &repeats[i].number,
                                          "a repeated key's number");
        if (code == SHEAF_OK && (more == 0 || repeats[i].number == 1))
            code = plan_facts_malformed(c, "a repeated key");
        before += more;
        repeats[i].sample = before;
    }
    f->repeats = repeats;
    f->repeat_count = (size_t)count;
    return code;
}

/* Reads two facts about the samples: how many fields `cls` were examined, and which samples have
 * repeated keys. Plans of earlier versions have neither. */
static int take_samples_facts(struct facts_cursor *c, uint32_t version)
{
    struct plan_facts *f = c->facts;
    int code;

    if (version < 4)
        return SHEAF_OK;
    code = plan_facts_take_number(c, UINT64_MAX, &f->cls_looked, "the number of fields cls");
    if (code == SHEAF_OK)
        code = plan_facts_take_number(c, f->cls_looked, &f->cls_words,
                                      "the number of fields cls that are not numbers");
    return code == SHEAF_OK ? take_repeats(c) : code;
}

/* The list of index files has its own parser. */
static int plan_facts_check_interop(struct facts_cursor *c)
{
    const struct sheaf_pack_options *o = &c->facts->options;
    struct interop_writer interop;
    const int code = interop_open(&interop, o->index, o->container, o->codec, c->err);

    interop_free(&interop);
    return code;
}

int plan_facts_read(const uint8_t *data, size_t size, uint32_t version, struct plan_facts *facts,
                    struct sheaf_error *err)
{
    struct facts_cursor c = { data, data + size, facts, err };
    int code;

    *facts = (struct plan_facts){ .found = 0 };
    code = take_hashes(&c, version);
    if (code == SHEAF_OK)
        code = take_texts(&c);
    if (code == SHEAF_OK)
        code = plan_facts_take_numbers(&c);
    if (code == SHEAF_OK)
        code = plan_facts_check_interop(&c);
    if (code == SHEAF_OK)
        code = take_splits(&c);
    if (code == SHEAF_OK)
        code = plan_facts_take_labels(&c);
    if (code == SHEAF_OK)
        code = take_skipped(&c);
    if (code == SHEAF_OK)
        code = plan_facts_take_images(&c, version);
    if (code == SHEAF_OK)
        code = take_skipping(&c, version);
    if (code == SHEAF_OK)
        code = take_samples_facts(&c, version);
    if (code == SHEAF_OK && c.at != c.end)
        code = plan_facts_malformed(&c, "something after the end of its facts");
    if (code != SHEAF_OK)
        plan_facts_free(facts);
    return code;
}

void plan_facts_free(struct plan_facts *facts)
{
    plan_free(&facts->plan);
    arena_free(&facts->arena);
}
