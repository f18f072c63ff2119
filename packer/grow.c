/* SPDX-License-Identifier: MIT
 *
 * Reads facts about an existing data set; see grow.h. Appended samples must agree with these
 * facts. */
#include "packer/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/codec.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "publish/class_counts.h"

/* ---- Names ----------------------------------------------------------------------------------- */

/* Returns the number in a file name "PREFIX-NUMBER.SUFFIX": 12 for "shard-000012.tar" and the
 * prefix "shard". Returns UINT64_MAX if the name has another form. */
static uint64_t grow_number_of(const char *name, const char *prefix)
{
    const size_t size = strlen(prefix);

    if (strncmp(name, prefix, size) != 0 || name[size] != '-' ||
        strspn(name + size + 1, "0123456789") == 0)
        return UINT64_MAX;
    return strtoull(name + size + 1, NULL, 10);
}

/* Returns the number after all shards with such names. */
static uint64_t first_free(const struct manifest *m, const char *prefix)
{
    uint64_t first = m->shard_count;

    for (size_t i = 0; i < m->shard_count; i++) {
        const uint64_t number = grow_number_of(m->shards[i].name, prefix);

        if (number != UINT64_MAX)
            first = MAX(first, number + 1);
    }
    return first;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void set_plan(struct grow *g)
{
    const struct manifest *m = &g->manifest;
    struct plan_grow_split *p = &g->facts;

    *p = (struct plan_grow_split){
        .first_shard = first_free(m, g->prefix), .manifest = m, .directory = g->directory,
    };
    for (size_t i = 0; i < m->shard_count; i++)
        p->samples += m->shards[i].samples;
    g->part = m->growth_count + 1;
}

static int grow_check_kind(const struct manifest *m, struct sheaf_error *err)
{
    const struct codec_ops *codec = codec_of(m->codec);

    if (!m->ours)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "its shards were made by another program, and "
                       "only indexed: nothing can be appended to them (a view can join it with "
                       "another data set)");
    if (codec != NULL && codec->single_member != m->single_member)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "its shards were compressed by release 0.1 in "
                       "another way: convert it first");
    return SHEAF_OK;
}

int grow_open(struct grow *g, const char *directory, const char *text, size_t size, size_t part,
              struct sheaf_error *err)
{
    int code = manifest_parse(text, size, &g->manifest, err);

    g->directory = directory;
    if (code == SHEAF_OK)
        code = grow_check_kind(&g->manifest, err);
    if (code == SHEAF_OK && part != 0)
        manifest_take_growth_options(&g->manifest, part);
    if (code == SHEAF_OK)
        code = manifest_option(&g->manifest, "prefix", &g->prefix, err);
    if (code == SHEAF_OK)
        code = manifest_option(&g->manifest, "index", &g->index, err);
    if (code == SHEAF_OK)
        code = manifest_option_number(&g->manifest, "shard_bytes", &g->shard_bytes, err);
    if (code == SHEAF_OK)
        code = manifest_option_texts(&g->manifest, "field_aliases", &g->aliases, err);
    if (code == SHEAF_OK && g->prefix == NULL) {
        g->prefix = strdup("shard");
        code = g->prefix == NULL ? err_memory(err, 8) : SHEAF_OK;
    }
    if (code == SHEAF_OK)
        set_plan(g);
    return code;
}

static void forget_class_samples(struct manifest *m)
{
    free(m->class_samples);
    m->class_samples = NULL;
}

/* Subtracts the samples of the last append from the number of samples of each class. */
static int take_back_samples(struct manifest *m, const char *dest, struct sheaf_error *err)
{
    uint64_t *appended = calloc(m->class_count + 1, sizeof(*appended));
    int code = appended == NULL ? err_memory(err, m->class_count * sizeof(*appended))
             : class_counts_add_part(m, dest, m->growth_count, appended, m->class_count, err);

    for (size_t i = 0; i < m->class_count && code == SHEAF_OK; i++)
        m->class_samples[i] -= MIN(appended[i], m->class_samples[i]);
    free(appended);
    if (code == SHEAF_END) {
        forget_class_samples(m);
        code = SHEAF_OK;
    }
    return code;
}

int grow_undo(struct grow *g, const char *dest, bool counts, struct sheaf_error *err)
{
    struct manifest *m = &g->manifest;
    int code = SHEAF_OK;

    if (m->growth_count == 0 || manifest_edit_is_last(m))
        return SHEAF_OK;
    if (!counts)
        forget_class_samples(m);
    else if (m->class_samples != NULL)
        code = take_back_samples(m, dest, err);
    if (code != SHEAF_OK)
        return code;
    manifest_undo_growth(m);
    if (m->class_count == 0)
        forget_class_samples(m);
    set_plan(g);
    return SHEAF_OK;
}

void grow_close(struct grow *g)
{
    manifest_clear(&g->manifest);
    free(g->prefix);
    free(g->index);
    for (size_t i = 0; g->aliases != NULL && g->aliases[i] != NULL; i++)
        free(g->aliases[i]);
    free(g->aliases);
    *g = (struct grow){ .prefix = NULL };
}

/* ---- Several splits -------------------------------------------------------------------------- */

/* Checks that the splits `split` and `first` have the same container, the same codec and the same
 * numbers for their classes. One split may have more classes than another. The plan gets the
 * longest list of classes. */
static int join_split(const struct grow *first, const struct grow *split, struct plan_grow *plan,
                      struct sheaf_error *err)
{
    const struct manifest *a = &first->manifest, *b = &split->manifest;
    const size_t both = MIN(plan->classes.count, b->class_count);

    if (a->container != b->container || a->codec != b->codec || a->label_base != b->label_base)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "the splits differ in container, codec or label "
                       "base: append to each split");
    for (size_t i = 0; i < both; i++)
        if (strcmp(plan->classes.names[i], b->classes[i]) != 0)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "the splits number classes differently: %zu "
                           "is \"%.200s\" in one of them and \"%.200s\" in another: append to each "
                           "split", i + (size_t)plan->label_base, plan->classes.names[i],
                           b->classes[i]);
    if (b->class_count > plan->classes.count)
        plan->classes = (struct plan_classes){ .names = (const char *const *)b->classes,
                                               .count = b->class_count };
    return SHEAF_OK;
}

int grow_join(const struct grow *splits, uint32_t count, struct plan_grow *plan,
              struct sheaf_error *err)
{
    struct buf text = BUF_INIT(SIZE_MAX / 4);
    int code = SHEAF_OK;

    plan->classes = (struct plan_classes){ .count = 0 };
    plan->label_base = splits[0].manifest.label_base;
    plan->split_count = count;
    plan->samples = 0;
    for (uint32_t s = 0; s < count && code == SHEAF_OK; s++) {
        plan->splits[s] = splits[s].facts;
        plan->samples += splits[s].facts.samples;
        code = join_split(&splits[0], &splits[s], plan, err);
        if (code == SHEAF_OK)
            code = buf_printf(&text, err, "%s%s", s == 0 ? "" : "\n",
                              splits[s].manifest.fingerprint);
    }
    free(plan->fingerprint);
    plan->fingerprint = code == SHEAF_OK ? strndup((const char *)text.data, text.size) : NULL;
    buf_free(&text);
    return code == SHEAF_OK && plan->fingerprint == NULL ? err_memory(err, text.size) : code;
}

/* ---- Options --------------------------------------------------------------------------------- */

/* Sets the options for images to the values with which the data set was packed, unless the caller
 * has set them. `resize` and `resize_mode` are either both set or both left as they are. */
static int grow_take_images(const struct grow *g, struct sheaf_pack_options *o,
                            struct sheaf_error *err)
{
    static const char *const modes[] = { "shorter", "longer", "exact" };
    struct sheaf_pack_options usual;
    uint64_t resize = 0, quality = 0;
    bool fixes = false;
    char *mode = NULL;
    int code = manifest_has_option(&g->manifest, "fix_images", &fixes, err);

    sheaf_pack_options_init(&usual, sizeof(usual));
    if (code == SHEAF_OK)
        code = manifest_option_number(&g->manifest, "resize", &resize, err);
    if (code == SHEAF_OK)
        code = manifest_option_number(&g->manifest, "quality", &quality, err);
    if (code == SHEAF_OK)
        code = manifest_option(&g->manifest, "resize_mode", &mode, err);
    o->fix_images |= fixes;
    if (o->quality == usual.quality && quality >= 1 && quality <= 100)
        o->quality = (int)quality;
    if (o->resize == 0 && resize <= 65535) {
        o->resize = (uint32_t)resize;
        for (size_t i = 0; mode != NULL && i < COUNT_OF(modes); i++)
            if (strcmp(mode, modes[i]) == 0)
                o->resize_mode = (enum sheaf_resize_mode)i;
    }
    free(mode);
    return code;
}

/* Takes the options for keys, fields and classes. */
static int grow_take_names(const struct grow *g, struct sheaf_pack_options *o,
                           struct sheaf_error *err)
{
    uint64_t depth = 0;
    char *end = NULL;
    int code = manifest_option_number(&g->manifest, "class_depth", &depth, err);

    if (code == SHEAF_OK)
        code = manifest_option(&g->manifest, "key_end", &end, err);
    if (o->class_depth == 0 && depth <= UINT32_MAX)
        o->class_depth = (uint32_t)depth;
    if (end != NULL && strcmp(end, "last-dot") == 0)
        o->key_end = SHEAF_LAST_DOT;
    if (o->field_aliases == NULL || o->field_aliases[0] == NULL)
        o->field_aliases = (const char *const *)g->aliases;
    free(end);
    return code;
}

/* If the caller has set a split but no seed, sets the seed with which the data set was split. */
static int take_seed(const struct grow *g, struct sheaf_pack_options *o, struct sheaf_error *err)
{
    char *seed = NULL;
    const int code = o->split == NULL || o->seed != 0
                         ? SHEAF_OK : manifest_option(&g->manifest, "seed", &seed, err);

    if (seed != NULL)
        o->seed = strtoull(seed, NULL, 10);
    free(seed);
    return code;
}

int grow_options(const struct grow *g, struct sheaf_pack_options *o, struct sheaf_error *err)
{
    struct sheaf_pack_options usual;
    int code;

    sheaf_pack_options_init(&usual, sizeof(usual));
    o->container = g->manifest.container;
    o->codec = g->manifest.codec;
    o->label_base = g->manifest.label_base;
    o->prefix = g->prefix;
    o->index = g->index;
    if (o->shard_bytes == 0)            /* INT64_MAX: not the size ended the shards */
        o->shard_bytes = g->shard_bytes == 0 || g->shard_bytes >= INT64_MAX
                             ? usual.shard_bytes : g->shard_bytes;
    code = take_seed(g, o, err);
    if (code == SHEAF_OK)
        code = grow_take_images(g, o, err);
    return code == SHEAF_OK ? grow_take_names(g, o, err) : code;
}

int grow_tell(const struct grow *g, const struct sheaf_pack_options *o, struct sheaf_error *err)
{
    struct sheaf_error note = { .code = SHEAF_OK };
    uint64_t had = 0;
    int code = manifest_option_number(&g->manifest, "resize", &had, err);

    if (code != SHEAF_OK || had == 0 || had == o->resize || o->note == NULL)
        return code;
    snprintf(note.message, sizeof(note.message), "the data set was packed with resize %llu, but "
             "what is appended with %u", (unsigned long long)had, (unsigned)o->resize);
    o->note(o->context, "", &note);
    return SHEAF_OK;
}

int grow_tell_classes(const struct grow *g, const struct plan *plan,
                      const struct sheaf_pack_options *o, struct sheaf_error *err)
{
    const size_t known = g->manifest.class_count;
    struct sheaf_error note = { .code = SHEAF_OK };
    char *split = NULL;
    int code;

    if (o->note == NULL || known == 0 || plan->class_count <= known)
        return SHEAF_OK;
    code = manifest_option(&g->manifest, "split_name", &split, err);
    if (code == SHEAF_OK && split != NULL) {
        snprintf(note.message, sizeof(note.message), "the data set is the split %.100s, and has "
                 "new classes now: %.200s has number %zu here, which another split may give to "
                 "another class", split, plan->classes[known],
                 known + (size_t)g->manifest.label_base);
        o->note(o->context, "", &note);
    }
    free(split);
    return code;
}
