/* SPDX-License-Identifier: MIT
 *
 * The options of sheaf_pack and sheaf_packer_open. */
#include "packer/pack_options.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/sized.h"
#include "base/workers.h"
#include "formats/interop_index.h"
#include "formats/name.h"
#include "image/image.h"

#define PREFIX_LIMIT 200

void sheaf_pack_options_init(struct sheaf_pack_options *options, size_t sizeof_options)
{
    const struct sheaf_pack_options defaults = {
        .sizeof_options = sizeof_options,
        .container = SHEAF_WEBDATASET,
        .shard_bytes = 150000000,
        .prefix = "shard",
        .memory_bytes = (uint64_t)512 << 20,
        .quality = 90,
        .check_images = SHEAF_CHECK_USUAL,
    };

    sized_give(options, sizeof_options, &defaults, sizeof(defaults));
}

static int check_prefix(const char *prefix, struct sheaf_error *err)
{
    const size_t size = prefix == NULL ? 0 : strlen(prefix);

    if (size == 0 || size > PREFIX_LIMIT || prefix[0] == '.' || strchr(prefix, '/') != NULL ||
        !name_is_text(prefix, size))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the prefix must be 1 to %d bytes of UTF-8, "
                       "without slashes or control characters, and not begin with a dot",
                       PREFIX_LIMIT);
    return SHEAF_OK;
}

/* Checks the list of other readers by parsing it. */
static int pack_options_check_interop(const struct sheaf_pack_options *o, struct sheaf_error *err)
{
    struct interop_writer interop;
    const int code = interop_open(&interop, o->index, o->container, o->codec, err);

    interop_free(&interop);
    return code;
}

static int check_images(const struct sheaf_pack_options *o, struct sheaf_error *err)
{
    if (o->check_images < SHEAF_CHECK_MARKERS || o->check_images > SHEAF_CHECK_USUAL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "check_images is %d, expected SHEAF_CHECK_MARKERS, "
                       "_DECODE, _NONE or _USUAL", (int)o->check_images);
    if (o->resize > 65535)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the size of images is %u, expected at most 65535",
                       o->resize);
    if (o->resize_mode < SHEAF_SHORTER || o->resize_mode > SHEAF_EXACT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "resize_mode is %d, expected SHEAF_SHORTER, "
                       "SHEAF_LONGER or SHEAF_EXACT", (int)o->resize_mode);
    if (o->quality < 1 || o->quality > 100)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the quality is %d, expected 1 to 100",
                       o->quality);
    return SHEAF_OK;
}

static int pack_options_check(const struct sheaf_pack_options *o, struct sheaf_error *err)
{
    int code;

    if (format_of(o->container) == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "container %d is not known", (int)o->container);
    if (sheaf_codec_name(o->codec) == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "codec %d is not known", (int)o->codec);
    if (o->shard_bytes == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the shard size is 0 bytes, expected at least 1");
    if (o->label_base != 0 && o->label_base != 1)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the label base is %d, expected 0 or 1",
                       o->label_base);
    if (o->on_error != SHEAF_FAIL && o->on_error != SHEAF_SKIP)
        return err_set(err, SHEAF_ERR_ARGUMENT, "on_error is %d, expected SHEAF_FAIL or "
                       "SHEAF_SKIP", (int)o->on_error);
    if (o->resume && o->overwrite)
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "resume and overwrite exclude "
                                        "each other"), SHEAF_REASON_EXCLUSIVE);
    if (o->duplicate_keys < SHEAF_DUPLICATE_FAIL || o->duplicate_keys > SHEAF_DUPLICATE_DROP)
        return err_set(err, SHEAF_ERR_ARGUMENT, "duplicate_keys is %d, expected "
                       "SHEAF_DUPLICATE_FAIL, _NUMBER or _DROP", (int)o->duplicate_keys);
    if (o->on_change != SHEAF_FAIL && o->on_change != SHEAF_SKIP)
        return err_set(err, SHEAF_ERR_ARGUMENT, "on_change is %d, expected SHEAF_FAIL or "
                       "SHEAF_SKIP", (int)o->on_change);
    code = workers_check("jobs", o->jobs, err);
    if (code == SHEAF_OK)
        code = problems_check_limit(o->max_skipped, err);
    if (code == SHEAF_OK)
        code = check_images(o, err);
    if (code == SHEAF_OK)
        code = check_prefix(o->prefix, err);
    return code == SHEAF_OK ? pack_options_check_interop(o, err) : code;
}

int pack_options_take_usual(const struct sheaf_pack_options *given, struct sheaf_pack_options *o,
                            struct sheaf_error *err)
{
    int code;

    sheaf_pack_options_init(o, sizeof(*o));
    code = sized_take_checked(o, sizeof(*o), given, err);
    return code == SHEAF_OK ? pack_options_check(o, err) : code;
}

int pack_options_take(const struct sheaf_pack_options *given, struct sheaf_pack_options *o,
                 struct sheaf_error *err)
{
    const int code = pack_options_take_usual(given, o, err);

    if (o->check_images == SHEAF_CHECK_USUAL)
        o->check_images = SHEAF_CHECK_MARKERS;
    return code;
}

char *pack_options_origin(const struct sheaf_pack_options *o, const char *samples)
{
    const bool converts = o->fix_images || o->resize != 0;
    char images[300] = "", keys[40] = "";
    char *text;

    if (converts)
        snprintf(images, sizeof(images), " images %d %u %d %d %s", o->fix_images != 0, o->resize,
                 o->resize == 0 ? 0 : (int)o->resize_mode, o->quality, image_libraries());
    if (o->duplicate_keys != SHEAF_DUPLICATE_FAIL)
        snprintf(keys, sizeof(keys), " keys %d", (int)o->duplicate_keys);
    return asprintf(&text, "%s%s%s", samples, images, keys) < 0 ? NULL : text;
}

char *pack_options_identity(const struct sheaf_pack_options *o)
{
    /* Release 0.2 wrote only JPEGs as image/encoded. */
    const char *version = o->container == SHEAF_TFRECORD ? " encoded 2" : "";
    char *text, *identity;

    if (asprintf(&text, "%s%s", o->identity, version) < 0)
        return NULL;
    identity = pack_options_origin(o, text);
    free(text);
    return identity;
}

void pack_options_setup(const struct sheaf_pack_options *o, struct block_setup *setup)
{
    *setup = (struct block_setup){
        .format = format_of(o->container),
        .codec = codec_of(o->codec),
        .interop = o->index,
        .context.label_base = o->label_base,
        .checks = o->check_images != SHEAF_CHECK_NONE,
        .fix_images = o->fix_images != 0,
        .decodes = o->check_images == SHEAF_CHECK_DECODE,
        .images = { o->resize, (enum image_resize)o->resize_mode, o->quality },
    };
}

void pack_options_watch(const struct sheaf_pack_options *o, struct watch *watch,
                   struct problems *problems)
{
    *watch = (struct watch){
        .progress = o->progress, .context = o->context, .interrupt = o->interrupt,
    };
    *problems = (struct problems){
        .on_error = o->on_error, .on_change = o->on_change, .max_skipped = o->max_skipped,
        .report = o->report, .note = o->note,
        .context = o->context,
    };
    problems_limit(problems, INT64_MAX);
}

/* Adds `value` to a JSON object, which takes ownership of it. If this fails, sets *failed to a
 * nonzero value. Otherwise does not change *failed. */
static void pack_options_set(json_t *object, int *failed, const char *name, json_t *value)
{
    *failed |= json_object_set_new(object, name, value);
}

/* Returns a filter as text: "+*.jpg" packs. */
static json_t *filter_json(const struct sheaf_filter *filter)
{
    const size_t size = sheaf_show(filter->pattern, NULL, 0);
    char *text = malloc(size + 2);
    json_t *json;

    if (text == NULL)
        return NULL;
    text[0] = filter->packs ? '+' : '-';
    sheaf_show(filter->pattern, text + 1, size + 1);
    json = json_string(text);
    free(text);
    return json;
}

static json_t *filters_json(const struct sheaf_pack_options *o)
{
    json_t *list = json_array();
    int failed = list == NULL;

    for (size_t i = 0; i < o->filter_count && !failed; i++)
        failed = json_array_append_new(list, filter_json(&o->filters[i]));
    if (failed)
        json_decref(list);
    return failed ? NULL : list;
}

static json_t *aliases_json(const struct sheaf_pack_options *o)
{
    json_t *list = json_array();
    int failed = list == NULL;

    for (size_t i = 0; o->field_aliases[i] != NULL && !failed; i++)
        failed = json_array_append_new(list, json_string(o->field_aliases[i]));
    if (failed)
        json_decref(list);
    return failed ? NULL : list;
}

/* Adds the options that determine the bytes of images. */
static void set_images(const struct sheaf_pack_options *o, json_t *object, int *failed)
{
    static const char *const modes[] = { "shorter", "longer", "exact" };

    if (o->check_images == SHEAF_CHECK_DECODE)
        pack_options_set(object, failed, "check_images", json_string("decode"));
    if (o->fix_images)
        pack_options_set(object, failed, "fix_images", json_true());
    if (o->resize != 0) {
        pack_options_set(object, failed, "resize", json_integer((json_int_t)o->resize));
        pack_options_set(object, failed, "resize_mode", json_string(modes[o->resize_mode]));
    }
    if (!o->fix_images && o->resize == 0)
        return;
    pack_options_set(object, failed, "quality", json_integer(o->quality));
    pack_options_set(object, failed, "image_libraries", json_string(image_libraries()));
}

char *pack_options_json(const struct sheaf_pack_options *o, const char *source,
                   const char *plan_hash, const char *split_name)
{
    const bool is_program = strcmp(source, "program") == 0;
    json_t *object = json_object();
    char seed[24], *text = NULL;
    int failed = object == NULL;

    pack_options_set(object, &failed, "source", json_string(source));
    pack_options_set(object, &failed, "prefix", json_string(o->prefix));
    if (o->shard_count != 0)
        pack_options_set(object, &failed, "shard_count", json_integer((json_int_t)o->shard_count));
    else
        pack_options_set(object, &failed, "shard_bytes", json_integer((json_int_t)o->shard_bytes));
    if (o->index != NULL && o->index[0] != '\0')
        pack_options_set(object, &failed, "index", json_string(o->index));
    if (o->filter_count != 0)
        pack_options_set(object, &failed, "filters", filters_json(o));
    if (o->field_aliases != NULL && o->field_aliases[0] != NULL)
        pack_options_set(object, &failed, "field_aliases", aliases_json(o));
    if (o->class_depth != 0)
        pack_options_set(object, &failed, "class_depth", json_integer((json_int_t)o->class_depth));
    if (o->key_end == SHEAF_LAST_DOT)
        pack_options_set(object, &failed, "key_end", json_string("last-dot"));
    set_images(o, object, &failed);
    if (plan_hash != NULL)
        pack_options_set(object, &failed, "plan", json_string(plan_hash));
    if (!is_program || split_name[0] != '\0') {
        /* The seed has 64 bits and is stored as text, because many JSON libraries read numbers as
         * doubles. */
        snprintf(seed, sizeof(seed), "%" PRIu64, o->seed);
        pack_options_set(object, &failed, "seed", json_string(seed));
    }
    if (!is_program) {
        pack_options_set(object, &failed, "order", json_string(o->no_shuffle ? "sorted"
                                                               : "shuffled"));
        pack_options_set(object, &failed, "label_base", json_integer(o->label_base));
    }
    if (!is_program && o->check_images == SHEAF_CHECK_NONE)
        pack_options_set(object, &failed, "check_images", json_string("none"));
    if (split_name[0] != '\0') {
        pack_options_set(object, &failed, "split", json_string(o->split));
        pack_options_set(object, &failed, "split_name", json_string(split_name));
    }
    if (!failed)
        text = json_dump_text(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}
