/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_packer, which packs samples that a program makes, with the engine of sheaf_pack.
 *
 * A sample is encoded at once, on the caller's thread, into the open block (a buffer for about 4
 * MiB of samples). So the sample is copied only once, and a bad sample is refused immediately.
 *
 * A full block is not submitted to the engine at once, because the last block of a shard also gets
 * the end of the shard. The block is submitted when the program appends the next sample, ends the
 * shard, or finishes. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/key_table.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/origin.h"
#include "formats/sample.h"
#include "publish/destination.h"
#include "packer/packer.h"

/* Buffers of the open block grow in such steps. */
#define RAW_STEP  ((uint64_t)4 << 20)
#define TEXT_STEP ((uint64_t)256 << 10)

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint64_t packer_round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static struct block_need round_need(const struct block_need *need)
{
    struct block_need rounded = *need;

    rounded.raw = packer_round_up(need->raw + 4096, RAW_STEP) - 4096;
    rounded.names = packer_round_up(need->names, TEXT_STEP);
    rounded.samples = packer_round_up(need->samples, TEXT_STEP);
    return rounded;
}

int packer_check_memory(const struct sheaf_packer *p, uint64_t shard_bytes,
                        struct sheaf_error *err)
{
    struct block_need need = { .raw = 1, .names = 1, .samples = 1 };
    const struct block_need rounded = round_need(&need);
    const uint64_t memory = p->options.memory_bytes -
                            setup_image_bytes(&p->setup, p->options.memory_bytes);
    uint64_t sent, least;
    int code = engine_share(p->dest, &p->setup, shard_bytes, memory, &sent, err);

    need = rounded;
    least = block_need_total(&need, &p->setup);
    if (code != SHEAF_OK || least <= memory - sent)
        return code;
    return err_set(err, SHEAF_ERR_LIMIT, "the memory limit is %llu bytes, but at least %llu are "
                   "needed, even for small samples", (unsigned long long)memory,
                   (unsigned long long)(least + sent));
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Releases the destination, so that others may write there. */
static void let_go(struct sheaf_packer *p)
{
    output_close(&p->output);
    scopes_close(&p->scopes);
}

int packer_copy_texts(struct sheaf_packer *p, const char *dest, struct sheaf_error *err)
{
    p->dest = strdup(dest);
    p->prefix = strdup(p->options.prefix);
    p->index = strdup(p->options.index == NULL ? "" : p->options.index);
    p->split = p->spec.count == 0 ? NULL : strdup(p->options.split);
    if (p->dest == NULL || p->prefix == NULL || p->index == NULL ||
        (p->spec.count != 0 && p->split == NULL))
        return err_memory(err, strlen(dest));
    p->options.prefix = p->prefix;
    p->options.index = p->index;
    p->options.split = p->split;
    p->options.root = NULL;
    p->can_resume = p->options.identity != NULL && p->spec.count == 0;
    return scopes_open(&p->scopes, dest, NULL, p->options.s3, err);
}

static void packer_give_up(struct sheaf_packer *p)
{
    if (p->state != PACKER_OPEN && !p->engine_open)
        return;
    packer_stop(p);
    if (!p->is_part && !p->is_there)
        output_abandon(&p->output, p->can_resume && p->engine.result.shards != 0);
    let_go(p);
    p->state = PACKER_FAILED;
    if (p->error.code == SHEAF_OK)
        err_set(&p->error, SHEAF_ERR_STATE, "the packer was aborted");
}

int packer_open_engine(struct sheaf_packer *p, uint64_t shard_bytes, struct sheaf_error *err)
{
    const uint64_t images = packer_images_share(&p->setup, p->options.memory_bytes);

    p->engine_open = true;
    p->resumed.converts = setup_converts(&p->setup);
    p->converted.on_error = p->problems.on_error = SHEAF_SKIP;     /* decided sample by sample */
    if (setup_converts(&p->setup))
        p->problems.converted = &p->converted;
    if (setup_converts(&p->setup) || p->setup.decodes) {
        p->images = calloc(1, sizeof(*p->images));
        if (p->images == NULL)
            return err_memory(err, sizeof(*p->images));
    }
    return engine_open(&p->engine, &p->setup, &p->output, &p->problems, &p->watch,
                       p->options.jobs, shard_bytes, p->options.memory_bytes - images, err);
}

/* Computes the hashes that identify this run. With them, a later run recognises this run's journal
 * and data set. */
static int packer_identify(struct sheaf_packer *p, struct sheaf_error *err)
{
    const struct sheaf_pack_options *o = &p->options;
    char *identity = pack_options_identity(o);
    char *origin = pack_options_origin(o, o->origin != NULL ? o->origin : o->identity);
    int code = SHEAF_OK;

    if (identity == NULL || origin == NULL)
        code = err_memory(err, strlen(o->identity));
    else {
        origin_hash(o, identity, p->output.journal.plan.hash);
        origin_hash(o, origin, p->output.plan_hash);
    }
    free(identity);
    free(origin);
    return code;
}

static int packer_begin(struct sheaf_packer *p, struct sheaf_error *err)
{
    const bool resume = p->can_resume && p->options.resume;
    int code;

    pack_options_setup(&p->options, &p->setup);
    pack_options_watch(&p->options, &p->watch, &p->problems);
    code = packer_check_memory(p, 0, err);      /* before anything there is touched */
    if (code == SHEAF_OK)
        code = packer_open_output(p, err);
    p->output.sources = p->options.sources;
    p->output.source_count = p->options.source_count;
    if (code == SHEAF_OK && p->options.identity != NULL)
        code = packer_identify(p, err);
    if (code == SHEAF_OK)
        code = output_claim(&p->output, output_ask(resume, p->options.overwrite != 0, false),
                            &p->is_there, err);
    if (code == SHEAF_OK && p->is_there)
        return SHEAF_OK;
    if (code == SHEAF_OK && (resume || p->options.overwrite))
        code = output_clean(&p->output, err);
    if (code != SHEAF_OK)
        return code;
    code = packer_open_engine(p, 0, err);
    if (code == SHEAF_OK && resume)
        code = resumed_find(&p->resumed, &p->output, &p->engine, err);
    p->has_cls = p->resumed.has_cls;
    if (code != SHEAF_OK)
        packer_give_up(p);
    return code;
}

int sheaf_packer_open(const char *dest, const struct sheaf_pack_options *options,
                      struct sheaf_packer **packer, struct sheaf_error *error)
{
    return packer_open_column(dest, options, NULL, packer, error);
}

/* Opens the packer `p`, which is zero-initialised except for facts that the caller knows. Frees `p`
 * on failure. */
static int packer_open(struct sheaf_packer *p, const char *dest,
                       const struct sheaf_pack_options *options, bool has_splits,
                       struct sheaf_packer **packer, struct sheaf_error *error)
{
    struct sheaf_error found;
    int code = pack_options_take(options, &p->options, &found);

    p->output.lock = -1;
    if (code == SHEAF_OK && has_splits)
        code = split_parse(options->split, &p->spec, &found);
    if (code == SHEAF_OK)
        code = packer_copy_texts(p, dest, &found);
    if (code == SHEAF_OK)
        code = packer_begin(p, &found);
    if (code != SHEAF_OK) {
        p->state = PACKER_FAILED;
        sheaf_packer_free(p);
        if (error != NULL)
            *error = found;
        return code;
    }
    *packer = p;
    return SHEAF_OK;
}

int packer_open_column(const char *dest, const struct sheaf_pack_options *options,
                       const struct column_facts *facts, struct sheaf_packer **packer,
                       struct sheaf_error *error)
{
    struct sheaf_packer *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return err_memory(error, sizeof(*p));
    p->column = facts;
    p->keys_differ = p->resumed.drops_keys = facts != NULL;
    return packer_open(p, dest, options, false, packer, error);
}

int packer_open_splits(const char *dest, const struct sheaf_pack_options *options,
                       struct sheaf_packer **packer, struct sheaf_error *error)
{
    struct sheaf_packer *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return err_memory(error, sizeof(*p));
    return packer_open(p, dest, options, true, packer, error);
}

/* Gives up the run. If a later run can resume it, shards that already have all their samples are
 * finished first. */
void sheaf_packer_abort(struct sheaf_packer *p)
{
    struct sheaf_error ignored;

    if (p->state == PACKER_OPEN && p->engine_open && p->can_resume && !p->is_part) {
        if (p->slot != NULL && p->shard_done)
            packer_submit(p, true);
        (void)engine_drain(&p->engine, &ignored);
    }
    packer_give_up(p);
}

int sheaf_packer_is_there(const struct sheaf_packer *p)
{
    return p->is_there;
}

const struct sheaf_error *sheaf_packer_error(const struct sheaf_packer *p)
{
    return &p->error;
}

void sheaf_packer_free(struct sheaf_packer *p)
{
    if (p == NULL)
        return;
    packer_give_up(p);
    let_go(p);
    plan_file_close(&p->file);
    problems_free(&p->problems);
    problems_free(&p->converted);
    packer_images_free(p->images);
    buf_free(&p->new_key);
    keyset_free(&p->keys);
    keyset_free(&p->kept_keys);
    resumed_free(&p->resumed);
    for (size_t i = 0; i < p->class_count; i++)
        free(p->classes[i]);
    free(p->classes);
    class_names_free(&p->class_names);
    buf_free(&p->labels);
    buf_free(&p->numbers);
    free(p->dest);
    free(p->prefix);
    free(p->index);
    free(p->split);
    free(p);
}

/* Marks the packer as failed. The packer gives up its destination, which another run may then
 * claim, so it cannot continue. Returns `code`, the code of the error. */
static int packer_fail(struct sheaf_packer *p, int code)
{
    packer_give_up(p);
    return code;
}

/* ---- Classes --------------------------------------------------------------------------------- */

int sheaf_packer_set_classes(struct sheaf_packer *p, const char *const *names, size_t count)
{
    int code = packer_check_open(p);

    if (code != SHEAF_OK)
        return code;
    if (p->samples != 0 || p->class_count != 0)
        return err_set(&p->error, SHEAF_ERR_STATE, "classes must be set once, before the first "
                       "sample");
    for (size_t i = 0; i < count; i++)
        if (names[i] == NULL || names[i][0] == '\0' || !name_is_text(names[i], strlen(names[i])))
            return err_set(&p->error, SHEAF_ERR_ARGUMENT,
                           "the name of class %zu is not UTF-8 text", i);
    p->classes = calloc(MAX(count, (size_t)1), sizeof(p->classes[0]));
    if (p->classes == NULL)
        return packer_fail(p, err_memory(&p->error, count * sizeof(p->classes[0])));
    for (; p->class_count < count; p->class_count++) {
        p->classes[p->class_count] = strdup(names[p->class_count]);
        if (p->classes[p->class_count] == NULL)
            return packer_fail(p, err_memory(&p->error, strlen(names[p->class_count])));
        p->longest_class = MAX(p->longest_class, strlen(names[p->class_count]));
    }
    p->setup.context.classes = (const char *const *)p->classes;
    p->setup.context.class_count = p->class_count;
    return SHEAF_OK;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Makes sure that p->slot is a block that can take another sample. If the current block is full, or
 * if its shard is complete, submits the block and takes an empty one. */
static int packer_open_block(struct sheaf_packer *p)
{
    int code;

    if (p->slot != NULL && p->shard_done)
        packer_submit(p, true);
    else if (p->slot != NULL && p->block_cost >= BLOCK_BYTES)
        packer_submit(p, false);
    if (p->slot != NULL)
        return SHEAF_OK;
    if (p->shard.number >= SHARD_LIMIT)
        return err_set(&p->error, SHEAF_ERR_LIMIT, "more than %u shards", SHARD_LIMIT);
    code = engine_take(&p->engine, &p->slot, &p->error);
    if (code != SHEAF_OK)
        return packer_fail(p, code);
    p->slot->shard = p->shard;
    p->slot->begins_shard = p->shard.sample_count == 0;
    p->block_cost = 0;
    p->need = (struct block_need){ 0 };
    return SHEAF_OK;
}

static struct block_need need_with(const struct sheaf_packer *p,
                                   const struct sheaf_sample *sample, uint64_t payload,
                                   enum block_guess guess)
{
    struct block_need need = p->need;
    uint64_t text = 32 * sample->label_count, longest = 0;

    text += sample->class_name != NULL ? strlen(sample->class_name) : p->longest_class;
    for (size_t i = 0; i < sample->field_count; i++) {
        const struct sheaf_field *f = &sample->fields[i];
        const uint64_t size = strlen(sample->key) + 1 +
                              strlen(f->suffix != NULL ? f->suffix : f->name);

        text += size;
        longest = MAX(longest, size);
    }
    block_need_sample(&need, guess, payload, sample->field_count, text, longest);
    need.scratch = 0;
    need.raw += packer_kept_bytes(p->kept);
    return need;
}

/* Gets memory for one more sample. */
static int packer_make_room(struct sheaf_packer *p, const struct block_need *need)
{
    struct block_need rounded = round_need(need);

    return engine_charge(&p->engine, p->slot, &rounded, &p->error);
}

/* Names the field that an error blames. */
static int blame(struct sheaf_packer *p, const struct sheaf_sample *sample,
                 const struct sheaf_field *field, int code)
{
    if (p->error.reason == SHEAF_REASON_NONE)
        err_because(&p->error, code, SHEAF_REASON_BAD_FILES);
    err_prefix(&p->error, "%s.%s: ", sample->key, field_suffix(field));
    return code;
}

/* Notes what became of the sample's images. */
static int note_images(struct sheaf_packer *p, const struct sheaf_sample *sample)
{
    const struct ready_sample *r = p->ready;
    struct block *b = &p->slot->block;
    struct buf path = BUF_INIT(SIZE_MAX / 4);
    int code = SHEAF_OK;

    for (size_t i = 0; r != NULL && i < r->field_count && code == SHEAF_OK; i++) {
        if (r->changes[i].why[0] == '\0')
            continue;
        path.size = 0;
        code = buf_printf(&path, &p->error, "%s.%s", sample->key, field_suffix(&r->fields[i]));
        if (code == SHEAF_OK)
            code = block_note(b, (const char *)path.data, NULL, r->changes[i].why, &p->error);
    }
    if (r != NULL)
        b->resized += r->resized;
    buf_free(&path);
    return code;
}

static int add_to_block(struct sheaf_packer *p, const struct sheaf_sample *sample)
{
    struct block *b = &p->slot->block;
    int code;

    b->kept = p->kept;
    b->has_decoded = p->ready != NULL;
    code = block_add(b, sample, &p->error);
    if (code != SHEAF_OK && b->refused != NULL)
        return blame(p, sample, b->refused, code);
    return code == SHEAF_OK ? note_images(p, sample) : code;
}

static int encode_sample(struct sheaf_packer *p, const struct sheaf_sample *sample,
                         uint64_t payload)
{
    struct block_need need = need_with(p, sample, payload, BLOCK_USUAL);
    int code = packer_make_room(p, &need);

    if (code == SHEAF_OK)
        code = add_to_block(p, sample);
    if (code == SHEAF_ERR_LIMIT) {
        need = need_with(p, sample, payload, BLOCK_WORST);
        code = packer_make_room(p, &need);
        if (code == SHEAF_OK)
            code = add_to_block(p, sample);
    }
    if (code == SHEAF_OK)
        p->need = need;
    return code;
}

/* ---- Images ---------------------------------------------------------------------------------- */

size_t packer_prepare(struct sheaf_packer *p, const struct sheaf_sample *samples, size_t count)
{
    if (p->images == NULL || p->state != PACKER_OPEN || p->is_there ||
        resumed_has_next(&p->resumed))
        return 0;
    p->images->count = p->images->next = 0;
    return packer_images_group(samples, count,
                               packer_images_share(&p->setup, p->options.memory_bytes));
}

int packer_prepare_add(struct sheaf_packer *p, const struct sheaf_sample *sample)
{
    return packer_images_add(p->images, &p->engine, sample, &p->error);
}

void packer_prepare_run(struct sheaf_packer *p)
{
    packer_images_run(p->images, &p->engine);
}

void packer_prepare_skip(struct sheaf_packer *p)
{
    if (p->images != NULL)
        (void)packer_images_next(p->images);
}

/* Sets p->ready to the checked or converted images of the sample that is being appended. Prepares
 * these images now if they were not prepared in a group before. */
static int take_ready(struct sheaf_packer *p, const struct sheaf_sample *s)
{
    int code = SHEAF_OK;

    p->ready = NULL;
    if (p->images == NULL || resumed_has_next(&p->resumed))
        return SHEAF_OK;
    p->ready = packer_images_next(p->images);
    if (p->ready != NULL)
        return SHEAF_OK;
    code = packer_prepare_add(p, s);
    if (code == SHEAF_OK) {
        packer_prepare_run(p);
        p->ready = packer_images_next(p->images);
    }
    return code;
}

/* Replaces the fields of a sample by fields whose images are checked or converted. */
static int use_ready(struct sheaf_packer *p, struct sheaf_sample *s, uint64_t *payload)
{
    const struct ready_sample *r = p->ready;

    if (r == NULL)
        return SHEAF_OK;
    if (r->code != SHEAF_OK) {
        p->error = r->error;
        return r->refused == SIZE_MAX ? err_prefix(&p->error, "%s: ", s->key)
                                      : blame(p, s, &s->fields[r->refused], r->code);
    }
    s->fields = r->fields;
    *payload = 0;
    for (size_t i = 0; i < s->field_count; i++)
        *payload += s->fields[i].size;
    return SHEAF_OK;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int packer_check_sample(struct sheaf_packer *p, const struct sheaf_sample *s,
                               uint64_t *payload)
{
    *payload = 0;
    if (s->key == NULL)
        return err_set(&p->error, SHEAF_ERR_ARGUMENT, "a sample without a key");
    for (size_t i = 0; i < s->field_count; i++) {
        const struct sheaf_field *f = &s->fields[i];

        if (f->name == NULL || (f->data == NULL && f->size != 0) ||
            __builtin_add_overflow(*payload, f->size, payload) || *payload > FRAME_LIMIT)
            return err_set(&p->error, SHEAF_ERR_ARGUMENT,
                           "%s: field %zu has no name or no data, or the fields have more than "
                           "%llu bytes", s->key, i, (unsigned long long)FRAME_LIMIT);
    }
    return SHEAF_OK;
}

/* Counts a sample, which uses up the next number. A sample that is left out also uses up a
 * number. */
static void packer_count_sample(struct sheaf_packer *p, const struct sheaf_sample *s,
                                uint64_t payload)
{
    const bool has_cls = sample_has_cls(s);

    p->samples++;
    p->appended++;
    p->files += s->field_count;
    p->block_cost += payload + s->field_count * BLOCK_FILE_BYTES;
    p->shard.sample_count++;
    p->shard.payload_bytes += payload;
    p->has_cls |= has_cls;
    if (p->slot == NULL)        /* of a shard that is kept */
        return;
    p->shard_done = p->shard.payload_bytes >= p->options.shard_bytes;
    p->slot->block.has_cls |= has_cls;
}

/* A sample of a shard that is kept. */
static int pass_kept(struct sheaf_packer *p, const struct sheaf_sample *s, uint64_t payload)
{
    bool ends;
    int code;

    packer_remember_key(p, s->key);
    packer_count_sample(p, s, payload);
    code = resumed_take(&p->resumed, &p->shard, &ends, &p->error);
    if (code != SHEAF_OK)
        return packer_fail(p, code);
    if (ends)
        packer_next_shard(p);
    return SHEAF_OK;
}

/* Rounds labels that are fractions to 32-bit floats. Labels in list files are rounded in the same
 * way. */
static int round_labels(struct sheaf_packer *p, struct sheaf_sample *s)
{
    int code;

    p->labels.size = 0;
    p->labels.limit = LABEL_LIMIT * sizeof(double);
    if (s->label_count > LABEL_LIMIT)       /* refused as it is encoded */
        return SHEAF_OK;
    code = buf_reserve(&p->labels, s->label_count * sizeof(double), &p->error);
    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < s->label_count; i++) {
        const double label = label_rounded(s->labels[i]);

        buf_put(&p->labels, &label, sizeof(label));
    }
    if (s->label_count != 0)
        s->labels = (const double *)(const void *)p->labels.data;
    return SHEAF_OK;
}

int packer_leave_out(struct sheaf_packer *p, const struct sheaf_sample *s, const char *path,
                     const struct sheaf_error *why)
{
    const struct sheaf_error found = *why;
    uint64_t payload;
    int code = packer_check_open(p);

    p->appended += code == SHEAF_OK && p->is_there;
    if (code != SHEAF_OK || p->is_there)
        return code;
    if (resumed_has_next(&p->resumed))
        return packer_fail(p, err_set(&p->error, SHEAF_ERR_CHANGED, "finished shard %u lacks no "
                                      "sample, but %.400s would be left out of it now",
                                      p->shard.number, s->key));
    code = packer_check_sample(p, s, &payload);
    if (code == SHEAF_OK)
        code = packer_open_block(p);
    if (code == SHEAF_OK)
        code = packer_make_room(p, &p->need);
    if (code == SHEAF_OK)
        code = block_note(&p->slot->block, path, &found, found.message, &p->error);
    if (code != SHEAF_OK)
        return packer_fail(p, code);
    if (keyset_check(&p->keys, s->key, &p->error) == SHEAF_OK)      /* its key is taken, too */
        keyset_add(&p->keys, s->key);
    packer_count_sample(p, s, payload);
    p->error = (struct sheaf_error){ 0 };
    return SHEAF_OK;
}

int sheaf_packer_append(struct sheaf_packer *p, const struct sheaf_sample *sample)
{
    return packer_append_kept(p, sample, NULL);
}

/* Returns whether an error is the fault of an image in the sample, and not of the destination. */
static bool is_refused(const struct sheaf_packer *p, int code)
{
    return block_blames_image(code) && (p->error.reason == SHEAF_REASON_BAD_FILES ||
                                        p->error.reason == SHEAF_REASON_ODD_IMAGE);
}

/* Returns an error if the container cannot store a sample of this size. Called before memory for
 * the sample is reserved. Otherwise the user might be told to give more memory, which would not
 * help. */
static int packer_check_fits(struct sheaf_packer *p, const struct sheaf_sample *s,
                             uint64_t payload)
{
    const int code = format_check_content(p->setup.format, payload, &p->error);

    if (code == SHEAF_OK)
        return code;
    err_because(&p->error, code, SHEAF_REASON_BAD_FILES);
    return err_prefix(&p->error, "%s: ", s->key);
}

/* A sample of an open shard. */
static int append_new(struct sheaf_packer *p, struct sheaf_sample *s, uint64_t payload)
{
    struct sheaf_sample packed = *s;
    uint64_t packed_bytes = payload;
    bool is_word = false;
    int code = use_ready(p, &packed, &packed_bytes);

    if (code == SHEAF_OK)
        code = packer_check_fits(p, s, packed_bytes);
    if (code == SHEAF_OK)
        code = packer_look_at_cls(p, s, &is_word);
    if (code == SHEAF_OK)
        code = packer_open_block(p);
    if (code == SHEAF_OK) {
        packed.number = p->samples;
        packed.shard = p->shard.number;
        packed.record = p->shard.sample_count;
        code = encode_sample(p, &packed, packed_bytes);
    }
    if (code == SHEAF_OK) {
        struct block *b = &p->slot->block;

        if (is_word)
            cls_words_count(s->label_count == 0 ? &b->unread : &b->kept_labels, s->key);
        packer_remember_key(p, s->key);
        packer_count_sample(p, s, payload);
    } else if (is_refused(p, code) && p->options.on_error == SHEAF_SKIP)
        code = packer_leave_out(p, s, s->key, &p->error);
    return code;
}

int packer_append_kept(struct sheaf_packer *p, const struct sheaf_sample *sample,
                       const struct kept_features *kept)
{
    struct sheaf_sample s = *sample;
    uint64_t payload;
    int code = packer_check_open(p);

    p->kept = kept;
    p->appended += code == SHEAF_OK && p->is_there;
    if (code != SHEAF_OK || p->is_there)
        return code;
    code = take_ready(p, sample);
    if (code == SHEAF_OK)
        code = packer_check_sample(p, &s, &payload);
    if (code == SHEAF_OK)
        code = packer_take_key(p, &s);
    if (code == SHEAF_END)
        return packer_leave_out(p, &s, s.key, &p->error);
    if (code == SHEAF_OK)
        code = round_labels(p, &s);
    if (code == SHEAF_OK)
        code = class_names_check(&p->class_names, &p->setup.context,
                                 p->setup.format->keeps_class, !p->is_part, &s,
                                 &p->error);
    if (code == SHEAF_OK && resumed_has_next(&p->resumed))
        return pass_kept(p, &s, payload);
    if (code != SHEAF_OK)
        return code;
    code = append_new(p, &s, payload);
    /* After an error that is not the fault of the sample, the packer cannot continue. */
    if (code != SHEAF_OK && code != SHEAF_ERR_ARGUMENT && code != SHEAF_ERR_LIMIT &&
        !is_refused(p, code))
        code = packer_unless_finished(p, code) == SHEAF_OK ? SHEAF_OK : packer_fail(p, code);
    return code;
}

int sheaf_packer_cut(struct sheaf_packer *p)
{
    int code = packer_check_open(p);

    if (code == SHEAF_OK && resumed_has_next(&p->resumed) && p->shard.sample_count != 0)
        return packer_fail(p, err_set(&p->error, SHEAF_ERR_CHANGED, "finished shard %u has more "
                                      "samples than the %llu appended to it now", p->shard.number,
                                      (unsigned long long)p->shard.sample_count));
    if (code == SHEAF_OK)
        p->shard_done = p->shard.sample_count != 0;
    return code;
}

/* ---- End ------------------------------------------------------------------------------------- */

/* Makes the list of classes from the class names of the samples. Does nothing if the program has
 * set a list of classes itself. */
static int list_classes(struct sheaf_packer *p)
{
    int base, code;

    if (p->class_count != 0 || p->class_names.count == 0 || p->class_names.unlistable)
        return SHEAF_OK;
    free(p->classes);
    p->classes = NULL;
    code = class_names_give(&p->class_names, &p->classes, &p->class_count, &base, &p->error);
    if (code == SHEAF_OK)
        p->options.label_base = base;
    return code;
}

/* Ends a run whose data set was finished before. */
static int finish_there(struct sheaf_packer *p, struct sheaf_pack_result *result)
{
    struct sheaf_pack_result there = { .files = p->files };
    int code = destination_result(&p->output, &there, &p->error);

    if (code == SHEAF_OK && !p->is_part && p->appended != 0 &&
        p->appended != there.samples + there.skipped)
        code = err_set(&p->error, SHEAF_ERR_CHANGED, "%s: the existing data set was made of %llu "
                       "sample%s, but %llu were appended now", p->dest,
                       (unsigned long long)(there.samples + there.skipped),
                       plural((there.samples + there.skipped)), (unsigned long long)p->appended);
    if (code != SHEAF_OK)
        return packer_fail(p, code);
    if (result != NULL)
        *result = there;
    let_go(p);
    p->state = PACKER_FINISHED;
    return SHEAF_OK;
}

static int packer_finish(struct sheaf_packer *p)
{
    int code;

    packer_end_split(p);
    code = engine_drain(&p->engine, &p->error);
    problems_limit(&p->problems, p->appended);
    if (code == SHEAF_OK)
        code = problems_verdict(&p->problems, &p->error);
    if (code == SHEAF_OK)
        code = problems_conserve(&p->problems, p->appended, p->engine.result.samples, &p->error);
    if (code == SHEAF_OK && !p->is_part)
        code = list_classes(p);
    if (code == SHEAF_OK && !p->is_part)
        code = packer_publish(p);
    return packer_unless_finished(p, code);
}

int sheaf_packer_finish(struct sheaf_packer *p, struct sheaf_pack_result *result)
{
    int code = packer_check_open(p);

    if (code == SHEAF_OK && p->is_there)
        return finish_there(p, result);
    if (code == SHEAF_OK && p->is_part)
        code = packer_check_shard(p);
    if (code == SHEAF_OK)
        code = resumed_check_end(&p->resumed, &p->error);
    if (code != SHEAF_OK)
        return code;
    code = packer_finish(p);
    if (code != SHEAF_OK)
        return packer_fail(p, code);
    if (p->is_there)
        return finish_there(p, result);
    if (result != NULL) {
        *result = p->engine.result;
        result->files = p->files;
        result->skipped = p->problems.count;
        result->converted = p->converted.count;
        result->duplicates = p->duplicates;
        result->memory_peak_bytes = engine_peak(&p->engine) +
                                    (p->images == NULL ? 0 : p->images->peak);
    }
    packer_stop(p);
    let_go(p);
    p->state = PACKER_FINISHED;
    return SHEAF_OK;
}
