/* SPDX-License-Identifier: MIT
 *
 * sheaf_convert: writes the samples of a data set to shards in another container.
 *
 * Usually each new shard has the samples of one old shard. The result is then the same as packing
 * the original files into the new container. There are two exceptions:
 * - New shards are cut by size, as in packing, if the source is standard input, a single file
 *   without a manifest, or a view (a mix of data sets).
 * - Each new shard gets an equal share of the samples or bytes, if the caller wants another size or
 *   number of shards, or a shuffled order. For this purpose, the amount of data must be known. */
#include "copy/convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/sized.h"
#include "base/workers.h"
#include "packer/field_map.h"
#include "packer/packer.h"
#include "reader/dataset/column_sets.h"
#include "reader/dataset/dataset.h"
#include "reader/reader_features.h"

/* Reports the progress of the conversion to the caller. The packer calls this function as its
 * progress callback. The packer's own numbers are ignored. */
static void convert_show(void *context, const struct sheaf_progress *packed)
{
    struct convert *c = context;

    (void)packed;
    watch_show(&c->in.watch, &c->in.progress);
}

void convert_init(struct convert *c, const struct sheaf_dataset *dataset,
                  const struct sheaf_pack_options *options,
                  const struct sheaf_reader_options *reading)
{
    struct watch watch = { .progress = NULL };

    *c = (struct convert){ .packer = NULL };
    sheaf_pack_options_init(&c->packing, sizeof(c->packing));
    sized_take(&c->packing, sizeof(c->packing), options);
    c->shard_bytes = c->packing.shard_bytes;
    sheaf_reader_options_init(&c->reading, sizeof(c->reading));
    sized_take(&c->reading, sizeof(c->reading), reading);
    c->reading.threads = c->packing.jobs;
    c->reading.memory_bytes = c->packing.memory_bytes / 2;
    c->packing.memory_bytes -= c->reading.memory_bytes;
    watch.progress = c->packing.progress;
    watch.context = c->packing.context;
    watch.interrupt = c->packing.interrupt;
    c->packing.progress = convert_show;
    c->packing.report = NULL;       /* it has no files */
    c->packing.plan = NULL;
    c->note = c->packing.note;
    c->packing.note = NULL;
    if (c->packing.check_images == SHEAF_CHECK_USUAL)
        c->packing.check_images = SHEAF_CHECK_NONE;
    c->packing.on_error = SHEAF_FAIL;       /* what is left out is decided here */
    c->packing.context = c;
    copying_init(&c->in, dataset, &watch, "convert");
}

int convert_packed(const struct convert *c, int code, struct sheaf_error *err)
{
    if (code < 0)
        *err = *sheaf_packer_error(c->packer);
    return code;
}

/* Returns whether an error concerns only the sample. */
static bool is_of_sample(int code, const struct sheaf_error *err)
{
    switch (code) {
    case SHEAF_ERR_ARGUMENT:
    case SHEAF_ERR_EXISTS:
        return true;
    case SHEAF_ERR_LIMIT:
        return err->reason != SHEAF_REASON_MEMORY;
    default:
        return err->reason == SHEAF_REASON_BAD_FILES || err->reason == SHEAF_REASON_ODD_IMAGE;
    }
}

/* Leaves out a sample because the new container cannot store the sample, or because one of its
 * images fails the check. Counts and reports the sample like a sample that could not be read. */
static int convert_leave_out(struct convert *c, const struct sheaf_sample *sample,
                             const struct sheaf_sample *mapped, struct sheaf_error *err)
{
    struct sheaf_reader_stats stats;
    int code = err->code;

    sheaf_reader_get_stats(c->in.reader, &stats, sizeof(stats));
    if (c->reading.on_corrupt != SHEAF_SKIP || code == SHEAF_ERR_EXISTS ||
        stats.corrupt + c->left_out >= c->reading.max_corrupt)
        return code;
    if (c->reading.report != NULL) {
        struct sheaf_shard_info shard = { .name = "" };
        char place[400];

        if (sheaf_dataset_shard(c->in.dataset, sample->shard, &shard, sizeof(shard)) != SHEAF_OK)
            shard.name = "";
        snprintf(place, sizeof(place), "%.300s: record %" PRIu64, shard.name, sample->record);
        c->reading.report(c->reading.report_context, place, err);
    }
    c->left_out++;
    return convert_packed(c, packer_leave_out(c->packer, mapped, mapped->key, err), err);
}

/* Counts a sample if its record is not a tf.train.Example, so that the sample has only one field.
 * Does not count the sample if its record is copied unchanged to a TFRecord shard, because then no
 * content is lost. */
static void count_opaque(struct convert *c, const struct sheaf_sample *sample,
                         const struct kept_features *kept)
{
    if (!c->looks || kept->count != 0 || sample->field_count != 1 ||
        (c->keeps && packer_copies_record(sample)))
        return;
    if (c->opaque++ == 0)
        sheaf_show(sample->key, c->first_opaque, sizeof(c->first_opaque));
}

static int append_sample(struct convert *c, const struct sheaf_sample *sample,
                         struct sheaf_error *err)
{
    struct sheaf_sample mapped = *sample;
    struct kept_features kept = reader_features(c->in.reader, sample);
    int code = field_map_apply(c->map, &mapped, &kept, err);
    bool is_own = code == SHEAF_ERR_UNSUPPORTED;

    count_opaque(c, sample, &kept);
    if (code == SHEAF_OK) {
        code = convert_packed(c, packer_append_kept(c->packer, &mapped, c->keeps ? &kept : NULL),
                              err);
        is_own = code != SHEAF_OK && is_of_sample(code, err);
    } else {
        mapped = *sample;
        packer_prepare_skip(c->packer);
    }
    if (is_own)
        code = convert_leave_out(c, sample, &mapped, err);
    if (is_own && code != SHEAF_OK)
        return copying_place(&c->in, sample, err);
    if (code == SHEAF_OK)
        copying_done(&c->in, sample);
    return code;
}

/* Converts or checks images on several threads. `samples` has *count samples. If their images need
 * work, the packer's memory may have room only for the first of them. Then sets *count to the
 * number of samples that were handled. The caller must append these samples to the new data set
 * before the next call. */
static int convert_prepare(struct convert *c, const struct sheaf_sample *samples, size_t *count,
                           struct sheaf_error *err)
{
    const size_t group = packer_prepare(c->packer, samples, *count);
    int code = SHEAF_OK;

    if (group == 0)
        return SHEAF_OK;
    *count = group;
    for (size_t i = 0; i < group && code == SHEAF_OK; i++) {
        struct sheaf_sample mapped = samples[i];
        struct kept_features kept = reader_features(c->in.reader, &samples[i]);
        struct sheaf_error found;

        if (!convert_split_wants(c, &samples[i]))
            continue;
        /* the error is reported when the sample is appended */
        if (field_map_apply(c->map, &mapped, &kept, &found) != SHEAF_OK)
            mapped.field_count = 0;
        code = convert_packed(c, packer_prepare_add(c->packer, &mapped), err);
    }
    if (code == SHEAF_OK)
        packer_prepare_run(c->packer);
    return code;
}

/* Returns whether Sheaf itself wrote all records of the data set. If it did, each record of a
 * TFRecord shard is a tf.train.Example with a key. */
static bool are_ours(const struct sheaf_dataset *d)
{
    bool ours = d->sources != NULL || (d->has_manifest && d->manifest.ours);

    for (size_t i = 0; d->sources != NULL && i < d->source_count; i++)
        ours &= d->sources[i]->has_manifest && d->sources[i]->manifest.ours;
    return ours;
}

void convert_keep(struct convert *c, enum sheaf_container container)
{
    c->keeps = packer_keeps(c->in.info.container, container);
    c->looks = c->in.info.container == SHEAF_TFRECORD && !are_ours(c->in.dataset);
    if (c->keeps || c->looks)
        reader_keep_features(c->in.reader);
}

static void convert_tell_opaque(const struct convert *c)
{
    struct sheaf_error note = { .code = SHEAF_OK };

    if (c->opaque == 0 || c->note == NULL)
        return;
    snprintf(note.message, sizeof(note.message), "%" PRIu64 " record%s, such as %s, %s "
             "tf.train.Example%s whose features can be fields: each is one field", c->opaque,
             plural(c->opaque), c->first_opaque, c->opaque == 1 ? "is not a" : "are not",
             plural(c->opaque));
    c->note(c->in.watch.context, c->first_opaque, &note);
}

/* Reports samples that have no label because their field `cls` does not consist of numbers. */
static void convert_tell_words(const struct convert *c)
{
    const struct cls_words *words = packer_unread_labels(c->packer);
    struct sheaf_error note = { .code = SHEAF_OK };

    if (words->samples == 0 || c->note == NULL)
        return;
    cls_words_say(words, CLS_UNREAD_TEXT, note.message, sizeof(note.message));
    c->note(c->in.watch.context, words->first, &note);
}

void convert_tell(const struct convert *c)
{
    convert_tell_words(c);
    convert_tell_opaque(c);
}

void convert_close(struct convert *c, struct sheaf_reader_stats *stats)
{
    sheaf_packer_free(c->packer);
    field_map_free(c->map);
    free(c->split.of);
    copying_close(&c->in, stats);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Strings that the packer's options point to. */
struct source_names {
    /* text that identifies the data set, its location, and the options with which it is read; "" if
     * the data set cannot be identified */
    char identity[384];
    char origin[384];           /* the same, wherever it is */
    const char **sources;
    /* the manifest of the data set, or, for a view, the manifests of all its sources */
    const struct manifest **manifests;
};

/* Tells the packer which files it must not remove, because the conversion reads them: the sources,
 * and the files that a list or pattern names. */
static int convert_name_sources(struct convert *c, struct source_names *names,
                                struct sheaf_error *err)
{
    const struct sheaf_dataset_info *info = &c->in.info;
    const size_t given = c->packing.source_count;
    const size_t most = given + info->source_count + info->shard_count;
    size_t count = 0;

    names->sources = calloc(most, sizeof(names->sources[0]));
    if (names->sources == NULL)
        return err_memory(err, most * sizeof(names->sources[0]));
    for (; count < given; count++)
        names->sources[count] = c->packing.sources[count];
    for (size_t i = 0; i < info->source_count; i++) {
        struct sheaf_source_info source;

        if (sheaf_dataset_source(c->in.dataset, i, &source, sizeof(source)) == SHEAF_OK)
            names->sources[count++] = source.url;
    }
    for (size_t i = 0; i < info->shard_count && !info->has_manifest; i++) {
        struct sheaf_shard_info shard;

        if (sheaf_dataset_shard(c->in.dataset, i, &shard, sizeof(shard)) == SHEAF_OK)
            names->sources[count++] = shard.name;
    }
    c->packing.sources = names->sources;
    c->packing.source_count = count;
    return SHEAF_OK;
}

/* Returns whether the caller wants new shards that differ from the old shards in size, or samples
 * in another order. */
static bool is_anew(const struct convert *c)
{
    return c->packing.reshard != 0 || c->packing.reshuffle != 0 || c->packing.split != NULL;
}

/* Names the columns that are read, by their fingerprints. */
static int name_columns(const struct convert *c, char *text, size_t room, struct sheaf_error *err)
{
    char hash[HASH_TEXT_BYTES];
    int code = SHEAF_OK;

    if (c->reading.column_count == 0)
        return SHEAF_OK;
    code = columns_identify(c->in.dataset, c->reading.columns, c->reading.column_count, hash, err);
    if (code == SHEAF_OK)
        snprintf(text, room, " columns %s %d", hash, (int)c->reading.missing);
    return code;
}

/* Computes the texts that identify this conversion. A later run can resume the conversion only if
 * it has the same texts. */
static int convert_identify(struct convert *c, struct source_names *names, struct sheaf_error *err)
{
    const struct sheaf_pack_options *o = &c->packing;
    char digits[33], anew[128] = "", map[48] = "", columns[64] = "", split[48] = "";
    int code = sheaf_dataset_identity(c->in.dataset, digits, err);

    if (code != SHEAF_OK)       /* standard input can be converted, but only once */
        return code == SHEAF_ERR_UNSUPPORTED && !c->packing.resume ? SHEAF_OK : code;
    if (is_anew(c))
        snprintf(anew, sizeof(anew), " anew %" PRIu64 " %" PRIu64 " %d %" PRIu64, o->shard_bytes,
                 o->shard_count, o->reshuffle, o->seed);
    if (o->field_map != NULL) {
        memcpy(map, " map ", 5);
        hash_text(XXH3_128bits(o->field_map, strlen(o->field_map)), map + 5);
    }
    if (o->split != NULL) {
        memcpy(split, " split ", 7);
        hash_text(XXH3_128bits(o->split, strlen(o->split)), split + 7);
    }
    code = name_columns(c, columns, sizeof(columns), err);
    if (code != SHEAF_OK)
        return code;
    snprintf(names->identity, sizeof(names->identity), "%s %d%s%s%s%s%s", digits,
             (int)c->reading.on_corrupt, anew, split, map, columns,
             packer_keeps(c->in.info.container, o->container) ? " features" : "");
    snprintf(names->origin, sizeof(names->origin), "%s%s%s%s%s%s", c->in.info.fingerprint,
             c->reading.on_corrupt == SHEAF_SKIP ? " skip" : "", anew, split, map, columns);
    c->packing.identity = names->identity;
    c->packing.origin = names->origin;
    return SHEAF_OK;
}

static bool keeps_shards(const struct convert *c)
{
    return !is_anew(c) && !c->in.info.is_view &&
           (c->in.info.has_manifest || c->in.info.shard_count > 1);
}

static uint64_t sample_count(const struct convert *c)
{
    return c->in.info.is_view ? c->in.info.epoch_samples : c->in.info.samples;
}

/* Sets the number of new shards among which `samples` samples with `bytes` bytes are divided. */
static void set_shards(struct convert *c, uint64_t samples, uint64_t bytes)
{
    const struct sheaf_pack_options *o = &c->packing;

    c->payload_bytes = c->copied_bytes = 0;
    if (o->shard_count != 0) {
        c->shards = MIN(o->shard_count, MAX(samples, 1u));
        return;
    }
    c->payload_bytes = bytes;
    c->shards = MAX(bytes / c->shard_bytes +
                    (bytes % c->shard_bytes >= c->shard_bytes - c->shard_bytes / 2), 1u);
}

/* Computes the number of new shards, if the caller wants new shards of equal size and the amount of
 * data is known. Otherwise, c->shards stays 0. */
static int plan_shards(struct convert *c, struct sheaf_error *err)
{
    const struct sheaf_dataset_info *info = &c->in.info;
    const struct sheaf_pack_options *o = &c->packing;
    const bool is_known = !info->is_view && !info->is_stream && info->payload_bytes != 0;

    if (o->split != NULL) {
        const int code = convert_split_deal(c, err);

        if (code == SHEAF_OK)
            set_shards(c, c->split.samples[0], c->split.bytes[0]);
        return code;
    }
    if (!is_anew(c))
        return SHEAF_OK;
    if (o->shard_count != 0 && info->is_stream)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its samples are not counted, so that they "
                       "cannot be cut into %" PRIu64 " shards: sheaf index makes a data set of it",
                       info->url, o->shard_count);
    if (o->shard_count != 0 || (is_known && o->shard_bytes != 0))
        set_shards(c, sample_count(c), info->payload_bytes);
    return SHEAF_OK;
}

/* Opens the caller's map of old field names to new field names. If the manifest of the data set
 * lists the fields, checks that each old name in the map is in this list. So a wrong name causes an
 * error before any file is written. */
static int open_map(struct convert *c, struct sheaf_error *err)
{
    const struct sheaf_dataset_info *info = &c->in.info;
    int code = SHEAF_OK;

    if (c->packing.field_map == NULL)
        return SHEAF_OK;
    code = field_map_open(c->packing.field_map, &c->map, err);
    for (size_t i = 0; i < info->field_count && code == SHEAF_OK; i++) {
        struct sheaf_field_info field;

        code = sheaf_dataset_field(c->in.dataset, i, &field, sizeof(field));
        if (code == SHEAF_OK)
            field_map_meet(c->map, field.name);
    }
    return code == SHEAF_OK && info->field_count != 0 ? field_map_check(c->map, err) : code;
}

/* Reads from the manifests of the sources how their samples were made, for example the size to
 * which images were resized. The new data set states the same options. */
static int inherit(struct convert *c, struct source_names *names, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = c->in.dataset;
    const size_t count = d->sources == NULL ? 1 : d->source_count;

    names->manifests = calloc(count, sizeof(names->manifests[0]));
    if (names->manifests == NULL)
        return err_memory(err, count * sizeof(names->manifests[0]));
    for (size_t i = 0; i < count; i++)
        names->manifests[i] = d->sources == NULL ? &d->manifest : &d->sources[i]->manifest;
    packer_inherit(c->packer, names->manifests, count,
                   !c->in.info.is_view && c->reading.on_corrupt == SHEAF_FAIL &&
                   c->packing.split == NULL);
    return SHEAF_OK;
}

/* Checks that the destination has enough free space. Does nothing if the new data set may be much
 * smaller than the old one, for example because of compression. A new destination is checked before
 * it is made. If the conversion replaces a data set, the caller has already removed the old shards,
 * so their space counts as free. */
static int convert_check_space(const struct convert *c, const char *dest, struct sheaf_error *err)
{
    const struct sheaf_pack_options *o = &c->packing;

    if (o->codec != SHEAF_CODEC_NONE || o->fix_images || o->resize != 0 || o->resume ||
        o->field_map != NULL || o->duplicate_keys == SHEAF_DUPLICATE_DROP ||
        c->reading.on_corrupt == SHEAF_SKIP)
        return SHEAF_OK;
    return copying_check_space(&c->in, dest, c->in.info.shard_count, err);
}

static int convert_open_packer(struct convert *c, struct source_names *names, const char *dest,
                               struct sheaf_error *err)
{
    int code = workers_check("jobs", c->packing.jobs, err);

    if (code == SHEAF_OK)
        code = open_map(c, err);
    if (code == SHEAF_OK)
        code = convert_name_sources(c, names, err);
    if (code == SHEAF_OK)
        code = convert_identify(c, names, err);
    if (code == SHEAF_OK)
        code = plan_shards(c, err);
    c->packing.label_base = c->in.info.label_base;
    c->in.shuffles = c->packing.reshuffle != 0;
    c->in.seed = c->packing.seed;
    if (keeps_shards(c) || c->shards != 0)
        c->packing.shard_bytes = INT64_MAX;     /* nothing else ends a shard */
    if (code == SHEAF_OK)
        code = copying_open(&c->in, &c->reading, err);
    if (code == SHEAF_OK)
        convert_keep(c, c->packing.container);
    if (code == SHEAF_OK && !c->packing.overwrite)
        code = convert_check_space(c, dest, err);
    if (code == SHEAF_OK)
        code = (c->packing.split != NULL ? packer_open_splits : sheaf_packer_open)(
            dest, &c->packing, &c->packer, err);
    if (code == SHEAF_OK && c->packing.overwrite)
        code = convert_check_space(c, dest, err);
    return code == SHEAF_OK ? inherit(c, names, err) : code;
}

static int copy_class_names(const struct convert *c, struct sheaf_error *err)
{
    const size_t count = c->in.info.class_count;
    const char **names;
    int code;

    if (count == 0)
        return SHEAF_OK;
    names = calloc(count, sizeof(names[0]));
    if (names == NULL)
        return err_memory(err, count * sizeof(names[0]));
    for (size_t i = 0; i < count; i++)
        names[i] = sheaf_dataset_class(c->in.dataset, i);
    code = convert_packed(c, sheaf_packer_set_classes(c->packer, names, count), err);
    free(names);
    return code;
}

/* Returns the number of the new shard for a sample. If each new shard gets an equal share of the
 * samples, this number follows from the sample's number. If each new shard gets an equal share of
 * the bytes, the sample goes into the shard whose share contains the middle of the sample's
 * bytes. */
static uint64_t shard_of(struct convert *c, const struct sheaf_sample *s)
{
    const bool is_split = c->split.spec.count != 0;
    uint64_t whole = is_split ? MAX(c->split.samples[c->split.current], 1u) : sample_count(c);
    uint64_t at = is_split ? c->split.copied++ : s->ordinal, bytes = 0;

    if (c->shards == 0)
        return keeps_shards(c) ? s->shard : 0;
    for (size_t i = 0; i < s->field_count; i++)
        bytes += s->fields[i].size;
    if (c->payload_bytes != 0) {
        whole = c->payload_bytes;
        at = c->copied_bytes + bytes / 2;
    }
    c->copied_bytes += bytes;
    return MIN((uint64_t)((unsigned __int128)at * c->shards / whole), c->shards - 1);
}

static int copy_sample(struct convert *c, const struct sheaf_sample *s, uint64_t *shard,
                       struct sheaf_error *err)
{
    const uint64_t its = shard_of(c, s);
    const int code = its == *shard ? SHEAF_OK
                                   : convert_packed(c, sheaf_packer_cut(c->packer), err);

    *shard = its;
    return code == SHEAF_OK ? append_sample(c, s, err) : code;
}

int convert_append_all(struct convert *c, const struct sheaf_sample *samples, size_t count,
                       uint64_t *shard, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0, end; i < count && code == SHEAF_OK; ) {
        size_t group = count - i;

        code = convert_prepare(c, &samples[i], &group, err);
        for (end = i + group; i < end && code == SHEAF_OK; i++)
            if (convert_split_wants(c, &samples[i]))
                code = shard == NULL ? append_sample(c, &samples[i], err)
                                     : copy_sample(c, &samples[i], shard, err);
    }
    return code;
}

/* Reads the data set once, and appends its samples to the new data set. If the samples are divided
 * among splits, appends only the samples of the current split. */
static int copy_pass(struct convert *c, struct sheaf_error *err)
{
    uint64_t shard = 0;
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        const struct sheaf_sample *samples;
        size_t count = 0;

        code = copying_next(&c->in, 0, &samples, &count, err);
        if (code == SHEAF_OK)
            code = convert_append_all(c, samples, count, &shard, err);
    }
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* Begins to read the samples again, for the split number `split`. */
static int begin_split(struct convert *c, uint32_t split, struct sheaf_error *err)
{
    const struct sheaf_progress progress = c->in.progress;
    struct sheaf_reader_options reading = c->reading;
    struct copying *in = &c->in;
    const struct watch watch = in->watch;
    const bool shuffles = in->shuffles;
    const uint64_t seed = in->seed;
    int code = convert_packed(c, packer_begin_split(c->packer, split), err);

    if (code != SHEAF_OK)
        return code;
    c->split.current = split;
    c->split.copied = 0;
    set_shards(c, c->split.samples[split], c->split.bytes[split]);
    if (split == 0)
        return SHEAF_OK;
    /* bad records were already reported when the first split was read */
    reading.report = NULL;
    copying_close(in, NULL);
    copying_init(in, in->dataset, &watch, progress.stage);
    in->progress = progress;
    in->shuffles = shuffles;
    in->seed = seed;
    code = copying_open(in, &reading, err);
    if (code == SHEAF_OK)
        convert_keep(c, c->packing.container);
    return code;
}

static int copy_all(struct convert *c, struct sheaf_error *err)
{
    const uint32_t passes = MAX(c->split.spec.count, 1u);
    int code = copy_class_names(c, err);

    for (uint32_t s = 0; s < passes && code == SHEAF_OK; s++) {
        if (c->split.spec.count != 0)
            code = begin_split(c, s, err);
        if (code == SHEAF_OK)
            code = copy_pass(c, err);
    }
    return code;
}

/* Checks that every sample that the reader returned was either packed or skipped. The reader itself
 * checks that it returned or reported every sample of the data set. */
static int convert_check_sum(const struct convert *c, const struct sheaf_pack_result *result,
                             struct sheaf_error *err)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(c->in.reader, &stats, sizeof(stats));
    if (stats.samples == result->samples + result->skipped || sheaf_packer_is_there(c->packer))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_MISMATCH, "convert: %" PRIu64 " sample%s read, but %" PRIu64
                   " packed and %" PRIu64 " skipped", stats.samples, plural(stats.samples),
                   result->samples, result->skipped);
}

int sheaf_convert(const struct sheaf_dataset *dataset, const char *dest,
                  const struct sheaf_pack_options *options,
                  const struct sheaf_reader_options *reading, struct sheaf_pack_result *result,
                  struct sheaf_reader_stats *stats, struct sheaf_error *error)
{
    struct sheaf_pack_result own_result;
    struct sheaf_error own_error;
    struct source_names names = { .identity = "" };
    struct convert c;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    convert_init(&c, dataset, options, reading);
    code = convert_open_packer(&c, &names, dest, error);
    if (code == SHEAF_OK && !sheaf_packer_is_there(c.packer))
        code = copy_all(&c, error);
    if (code == SHEAF_OK && !sheaf_packer_is_there(c.packer))
        code = field_map_check(c.map, error);
    if (code == SHEAF_OK)
        code = convert_packed(&c, sheaf_packer_finish(c.packer, result), error);
    if (code == SHEAF_OK)
        code = convert_check_sum(&c, result, error);
    if (code == SHEAF_OK)
        convert_tell(&c);
    convert_close(&c, stats);
    free(names.sources);
    free(names.manifests);
    return code;
}
