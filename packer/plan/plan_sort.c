/* SPDX-License-Identifier: MIT
 *
 * Sorts the files of a source by their keys, and makes the samples of a plan from the sorted
 * files. */
#include "packer/plan/plan_sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "formats/format.h"
#include "packer/plan/plan_cls.h"

/* The buffer for sorting files gets 1 / SORT_PART of the memory for packing, but at least
 * SORT_LEAST bytes. */
#define SORT_PART  8
#define SORT_LEAST ((size_t)8 << 20)

/* ---- Files into the sort --------------------------------------------------------------------- */

/* Adds a file to the sort. The sort key is the file's path, in which the dot at the end of the
 * sample's key is replaced by NUL. So files with the same key become adjacent, as plan_group()
 * needs.
 *
 * The value of an entry has these parts, in this order:
 * - a varint: label * 2 + 1 if the file is bad, and label * 2 otherwise;
 * - a varint: the origin (enum catalog_origin);
 * - a varint: the file's size;
 * - the file's stamp;
 * - the file's URL or its content, if the origin needs one of them. */
static int plan_sort_take_file(void *context, const struct catalog_found *f,
                               struct sheaf_error *err)
{
    struct plan_sort *g = context;
    const struct catalog_stat *stat = f->stat;
    const unsigned origin = stat->text != NULL ? CATALOG_TEXT
                           : stat->url != NULL ? CATALOG_OBJECT : CATALOG_BELOW;
    const uint64_t stamp = stat->stamp != 0 || stat->url != NULL ? stat->stamp
                                                                 : (uint64_t)stat->mtime_ns;
    const char *more = origin == CATALOG_TEXT ? stat->text : stat->url;
    const size_t more_size = origin == CATALOG_TEXT ? stat->bytes
                             : more == NULL ? 0 : strlen(more);
    const size_t path_size = strlen(f->path);
    const uint64_t order = g->options->no_shuffle
                               ? 0 : XXH3_64bits_withSeed(f->path, f->key_size, g->options->seed);
    uint8_t head[3 * VARINT_MOST + sizeof(stamp)], *key, *value;
    size_t size = varint_put(head, (uint64_t)f->label << 1 | f->bad);
    int code;

    size += varint_put(head + size, origin);
    size += varint_put(head + size, stat->bytes);
    store64(head + size, stamp);
    size += sizeof(stamp);
    code = sort_add(g->files, order, path_size, size + more_size, &key, &value, err);
    if (code != SHEAF_OK)
        return code;
    memcpy(key, f->path, path_size);
    key[f->key_size] = '\0';
    memcpy(value, head, size);
    if (more_size != 0)
        memcpy(value + size, more, more_size);
    g->file_count++;
    return odd_fields_count(&g->odd, f->path, f->path + f->key_size + 1, err);
}

int plan_sort_open(struct plan_sort *g, const struct sheaf_pack_options *options,
                   struct problems *problems, struct watch *watch, const char *near,
                   struct sheaf_error *err)
{
    *g = (struct plan_sort){
        .options = options, .problems = problems, .watch = watch,
        .directory = tempfile_directory(near),
        .memory_bytes = MAX((size_t)MIN(options->memory_bytes, SIZE_MAX) / SORT_PART, SORT_LEAST),
        .catalog.sink = plan_sort_take_file, .catalog.sink_context = g,
    };
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        g->streams[s].records.fd = g->streams[s].sizes.fd = -1;
    if (g->directory == NULL)
        return err_memory(err, 4096);
    return sort_open(&g->files, g->directory, g->memory_bytes, err);
}

void plan_sort_end(struct plan_sort *g)
{
    for (uint32_t s = 0; s < g->stream_count; s++)
        samples_close(&g->streams[s]);
    g->stream_count = 0;
    sort_close(g->files);
    g->files = NULL;
    odd_fields_free(&g->odd);
    free(g->label_counts);
    free(g->cls_counts);
    free(g->renamed);
    g->label_counts = g->cls_counts = NULL;
    g->renamed = NULL;
}

void plan_sort_close(struct plan_sort *g)
{
    plan_sort_end(g);
    catalog_free(&g->catalog);
    free(g->directory);
    g->directory = NULL;
}

/* ---- Groups out of it ------------------------------------------------------------------------ */

/* The files with one key. */
struct file_group {
    uint64_t order;
    size_t key_size;
    /* array of struct catalog_file. While the group grows, each pointer to a text is an offset into
     * `texts` instead, because `texts` may move. */
    struct buf files;
    struct buf texts;
    struct buf record;
};

static size_t plan_sort_count_of(const struct file_group *g)
{
    return g->files.size / sizeof(struct catalog_file);
}

/* Appends a copy of a text and a NUL to g->texts, and sets *offset to its position there. The
 * position is a multiple of 8, because `text` may also be a struct that must be aligned. */
static int plan_sort_add_text(struct file_group *g, const void *text, size_t size, uint64_t *offset,
                              struct sheaf_error *err)
{
    int code = buf_reserve(&g->texts, size + 8, err);

    if (code != SHEAF_OK)
        return code;
    g->texts.size = (g->texts.size + 7) & ~(size_t)7;
    *offset = g->texts.size;
    buf_put(&g->texts, text, size);
    g->texts.data[g->texts.size++] = '\0';
    return SHEAF_OK;
}

/* Appends to g->texts the struct catalog_object of a file that is a remote object. */
static int plan_sort_add_object(struct file_group *g, uint64_t stamp, const uint8_t *url,
                                size_t size, uint64_t *offset, struct sheaf_error *err)
{
    int code = buf_reserve(&g->texts, sizeof(stamp) + size + 9, err);

    if (code == SHEAF_OK)
        code = plan_sort_add_text(g, &stamp, sizeof(stamp), offset, err);
    if (code != SHEAF_OK)
        return code;
    g->texts.size--;
    buf_put(&g->texts, url, size);
    g->texts.data[g->texts.size++] = '\0';
    return SHEAF_OK;
}

static int unsound(struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file was read back with different bytes");
}

/* Adds the file of an entry to the group. */
static int plan_sort_add_file(struct file_group *g, const struct sort_entry *e,
                              struct sheaf_error *err)
{
    const uint8_t *at = e->value, *end = e->value + e->value_size;
    struct catalog_file f = { .key_size = (uint16_t)g->key_size };
    uint64_t label, origin, path, stamp;
    int code;

    if (!varint_take(&at, end, &label) || !varint_take(&at, end, &origin) ||
        origin > CATALOG_TEXT || !varint_take(&at, end, &f.bytes) ||
        (size_t)(end - at) < sizeof(stamp))
        return unsound(err);
    stamp = load64(at);
    at += sizeof(stamp);
    f.label = (uint32_t)(label >> 1);
    f.bad = (label & 1) != 0;
    f.origin = (uint8_t)origin;
    f.stamp = stamp;
    code = plan_sort_add_text(g, e->key, e->key_size, &path, err);
    if (code == SHEAF_OK && origin == CATALOG_OBJECT)
        code = plan_sort_add_object(g, stamp, at, (size_t)(end - at), &f.stamp, err);
    if (code == SHEAF_OK && origin == CATALOG_TEXT)
        code = plan_sort_add_text(g, at, (size_t)(end - at), &f.stamp, err);
    if (code != SHEAF_OK)
        return code;
    g->texts.data[path + g->key_size] = '.';
    f.path = (const char *)(uintptr_t)path;
    return buf_append(&g->files, &f, sizeof(f), err);
}

/* Turns offsets into pointers. */
static struct catalog_file *plan_sort_settle(struct file_group *g)
{
    struct catalog_file *files = (struct catalog_file *)(void *)g->files.data;

    for (size_t i = 0; i < plan_sort_count_of(g); i++) {
        struct catalog_file *f = &files[i];

        f->path = (const char *)g->texts.data + (uintptr_t)f->path;
        if (f->origin == CATALOG_OBJECT)
            f->object = (const void *)(g->texts.data + f->stamp);
        else if (f->origin == CATALOG_TEXT)
            f->text = (const char *)g->texts.data + f->stamp;
    }
    return files;
}

static bool is_same_text(const struct catalog_file *a, const struct catalog_file *b)
{
    return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

/* Merges texts of a sample that have the same field name, such as captions. Several lines of a list
 * may name files of the same sample, and each line may have such a text. If these texts are equal,
 * keeps one of them. If they differ, each text describes a file and not the sample, so all of them
 * are left out and counted. Files with the same name must be adjacent. Returns the number of files
 * that remain. */
static uint32_t merge_texts(struct plan_sort *x, struct catalog_file *files, uint32_t count)
{
    uint32_t kept = 0, end;

    for (uint32_t i = 0; i < count; i = end) {
        const struct catalog_file first = files[i];
        bool same = true;

        for (end = i + 1; first.origin == CATALOG_TEXT && end < count &&
                          files[end].origin == CATALOG_TEXT &&
                          strcmp(files[end].path, first.path) == 0; end++)
            same &= is_same_text(&files[end], &first);
        x->merged += end - i - same;
        if (same)
            files[kept++] = first;
        else if (x->differing++ == 0)
            snprintf(x->first_differing, sizeof(x->first_differing), "%s", first.path);
    }
    return kept;
}

#define CLS_LOOKS 16u

/* Counts a file .cls that was examined. `has_label` is whether its sample also has a label from a
 * directory or list. */
static void count_cls(struct plan_sort *x, const struct catalog_file *files, bool is_number,
                      bool has_label)
{
    x->cls_looked++;
    if (!is_number && x->cls_words++ == 0)
        snprintf(x->first_cls_word, sizeof(x->first_cls_word), "%.*s", (int)files->key_size,
                 files->path);
    if (is_number && has_label && x->cls_replacing++ == 0)
        snprintf(x->first_cls_replacing, sizeof(x->first_cls_replacing), "%.*s",
                 (int)files->key_size, files->path);
}

/* Reads the file .cls of a sample if planning needs its content, and records whether it consists of
 * numbers. The content is needed for two purposes:
 *
 * - It decides whether files .cls replace labels from directories and lists; see
 *   plan_sort_number_labels(). For this decision, a few files of samples that also have such a
 *   label are enough.
 * - If `tells_cls` is set, the run reports how many files .cls do not consist of numbers. For this
 *   report, all files of a local source are read. In a store, only a few files are read, because
 *   each needs a request. */
static int look_at_cls(struct plan_sort *x, const struct catalog_file *files,
                       const struct plan_sample *sample, struct sheaf_error *err)
{
    const bool decides = sample->label != LABEL_NONE && !x->cls_is_number &&
                         x->cls_decisions < CLS_LOOKS;
    const bool tells = x->tells_cls && (x->source == NULL || !x->source->is_remote ||
                                        x->cls_looked < CLS_LOOKS);
    bool is_number;
    int code;

    if (!sample->has_cls || x->source == NULL || (!decides && !tells))
        return SHEAF_OK;
    code = plan_cls_is_number(x->source, files, sample->file_count, &is_number, err);
    if (code != SHEAF_OK)
        return code;
    count_cls(x, files, is_number, sample->label != LABEL_NONE);
    if (decides) {
        x->cls_decisions++;
        *(is_number ? &x->cls_is_number : &x->cls_is_word) = true;
    }
    return SHEAF_OK;
}

/* Reports how many of the files .cls that were read do not consist of numbers. */
static void tell_cls(const struct plan_sort *x)
{
    if (x->tells_cls && x->cls_words != 0)
        problems_note(x->problems, SHEAF_REASON_NONE, x->first_cls_word, "%llu of %llu field%s cls "
                      "that were looked at, such as that of %s, %s not numbers",
                      (unsigned long long)x->cls_words, (unsigned long long)x->cls_looked,
                      plural(x->cls_looked), x->first_cls_word, x->cls_words == 1 ? "is" : "are");
}

/* Reports how many of the examined files .cls consist of numbers that replace a label: the sample
 * also has a label from its directory or list. Reports nothing if the plan has no classes. */
static void tell_replaced(const struct plan_sort *x, const struct plan *plan)
{
    if (x->tells_cls && x->cls_replacing != 0 && plan->class_count != 0)
        problems_note(x->problems, SHEAF_REASON_NONE, x->first_cls_replacing, "%llu of %llu "
                      "field%s cls that were looked at, such as that of %s, %s numbers: these are "
                      "the label, and not the class of the directory or list",
                      (unsigned long long)x->cls_replacing, (unsigned long long)x->cls_looked,
                      plural(x->cls_looked), x->first_cls_replacing,
                      x->cls_replacing == 1 ? "is" : "are");
}

/* Ends a group (the files with one key). Writes the group as a sample to the stream `out`, or
 * records its files as problems. Empties the group. */
static int plan_sort_end_group(struct plan_sort *x, struct file_group *g, struct sample_stream *out,
                               struct sheaf_error *err)
{
    struct catalog_file *files = plan_sort_settle(g);
    const uint32_t count = merge_texts(x, files, (uint32_t)plan_sort_count_of(g));
    struct plan_sample sample;
    /* Files that will be converted are not checked against the container's size limit, because they
     * may become smaller. */
    const bool converts = x->options->fix_images || x->options->resize != 0;
    bool good = false;
    int code = count == 0 ? SHEAF_OK
             : plan_check_group(files, count,
                                converts ? NULL : format_of(x->options->container), x->problems,
                                &good, err);

    if (code == SHEAF_OK && good && x->refuses_empty)
        code = plan_check_empty(files, count, x->problems, &good, err);
    if (code == SHEAF_OK && good) {
        plan_make_sample(files, count, &sample);
        g->record.size = 0;
        code = plan_record_write(&sample, files, &g->record, err);
        if (code == SHEAF_OK)
            code = samples_put(out, g->record.data, g->record.size, sample.payload_bytes,
                              sample.has_cls, err);
        *plan_sort_count(x, sample.label, sample.has_cls) += 1;
        if (code == SHEAF_OK)
            code = look_at_cls(x, files, &sample, err);
    }
    g->files.size = g->texts.size = 0;
    return code;
}

static bool is_of_group(const struct file_group *g, const struct sort_entry *e)
{
    return plan_sort_count_of(g) != 0 && g->order == e->order && e->key_size > g->key_size &&
           e->key[g->key_size] == '\0' && memcmp(g->texts.data, e->key, g->key_size) == 0;
}

static void plan_sort_show(struct plan_sort *x, uint64_t done)
{
    const struct sheaf_progress progress = {
        .stage = "sort", .done_count = done, .total_count = x->file_count,
    };

    watch_show(x->watch, &progress);
}

static int make_groups(struct plan_sort *x, struct file_group *g, struct sample_stream *out,
                       struct sheaf_error *err)
{
    struct sort_entry e;
    uint64_t done = 0;
    int code;

    while ((code = sort_next(x->files, &e, err)) == SHEAF_OK) {
        if (!is_of_group(g, &e)) {
            if (plan_sort_count_of(g) != 0)
                code = plan_sort_end_group(x, g, out, err);
            g->order = e.order;
            g->key_size = strnlen((const char *)e.key, e.key_size);
        }
        if (code == SHEAF_OK)
            code = plan_sort_add_file(g, &e, err);
        if (code == SHEAF_OK && ++done % 4096 == 0) {
            plan_sort_show(x, done);
            code = watch_check(x->watch, err);
        }
        if (code != SHEAF_OK)
            return code;
    }
    return code == SHEAF_END ? plan_sort_count_of(g) != 0 ? plan_sort_end_group(x, g, out, err)
        : SHEAF_OK : code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int count_classes(const struct plan_sort *x, struct plan *plan, struct sheaf_error *err)
{
    plan->class_samples = calloc((size_t)plan->class_count + 1, sizeof(plan->class_samples[0]));
    if (plan->class_samples == NULL)
        return err_memory(err, plan->class_count * sizeof(plan->class_samples[0]));
    for (uint32_t i = 1; i < x->catalog.label_count; i++) {
        const struct plan_label *l = &plan->labels[x->renamed[i]];

        if (l->class_name != NULL)
            plan->class_samples[l->values - plan->class_values] += x->label_counts[i];
    }
    return SHEAF_OK;
}

/* Gives the labels their final indexes. All labels from directories and lists are dropped if two
 * conditions hold: each sample with such a label also has a file .cls, and at least one of these
 * files contains numbers. The numbers then replace the labels.
 *
 * For example, the files of an extracted data set meet both conditions: each sample has a file
 * .cls, and the directories are not classes. */
static int plan_sort_number_labels(struct plan_sort *x, struct plan *plan, struct sheaf_error *err)
{
    bool *used = calloc((size_t)x->catalog.label_count + 1, sizeof(*used));
    bool with_cls = x->cls_is_word && !x->cls_is_number;
    int code;

    if (used == NULL)
        return err_memory(err, x->catalog.label_count);
    for (uint32_t i = 1; i < x->catalog.label_count; i++)
        with_cls |= x->label_counts[i] != 0;
    for (uint32_t i = 0; i < x->catalog.label_count; i++)
        used[i] = x->label_counts[i] != 0 || (with_cls && x->cls_counts[i] != 0);
    code = plan_rank_labels(plan, &x->catalog, used, x->options->label_base, x->grow, x->classes,
                            &x->renamed, err);
    free(used);
    return code == SHEAF_OK ? count_classes(x, plan, err) : code;
}

static int sort_all(struct plan_sort *x, struct sample_stream *all, struct sheaf_error *err)
{
    const size_t no_limit = SIZE_MAX / 4;
    struct file_group g = { .files.limit = no_limit, .texts.limit = no_limit,
                       .record.limit = no_limit };
    int code = SHEAF_OK;

    x->label_counts = calloc((size_t)x->catalog.label_count + 1, sizeof(x->label_counts[0]));
    x->cls_counts = calloc((size_t)x->catalog.label_count + 1, sizeof(x->cls_counts[0]));
    if (x->label_counts == NULL || x->cls_counts == NULL)
        return err_memory(err, x->catalog.label_count * sizeof(x->label_counts[0]));
    odd_fields_tell(&x->odd, x->problems);
    code = sort_finish(x->files, err);
    if (code == SHEAF_OK)
        code = make_groups(x, &g, all, err);
    if (code == SHEAF_OK)
        tell_cls(x);
    x->problems->left_out_values += x->differing;
    if (code == SHEAF_OK && x->differing != 0)
        problems_note(x->problems, SHEAF_REASON_NONE, x->first_differing, "%llu field%s left out, "
                      "such as %s: the lines of a list that name files of one sample say it "
                      "differently", (unsigned long long)x->differing, plural(x->differing),
                      x->first_differing);
    buf_free(&g.files);
    buf_free(&g.texts);
    buf_free(&g.record);
    x->memory_peak = catalog_memory(&x->catalog) + sort_memory(x->files) +
                     all->records.capacity + all->sizes.capacity;
    sort_close(x->files);       /* because its space may be needed */
    x->files = NULL;
    return code;
}

int plan_sort_samples(struct plan_sort *x, struct plan *plan, struct sheaf_error *err)
{
    struct sample_stream all;
    int code = samples_open(&all, x->directory, x->memory_bytes, err);

    if (code == SHEAF_OK)
        code = sort_all(x, &all, err);
    if (code == SHEAF_OK && x->grow != NULL)
        code = plan_sort_known(x, &all, err);
    if (code == SHEAF_OK && x->places != NULL)
        code = plan_sort_place(x, &all, plan, err);
    if (code == SHEAF_OK)
        code = plan_sort_number_labels(x, plan, err);
    if (code == SHEAF_OK)
        tell_replaced(x, plan);
    if (code == SHEAF_OK && x->options->split != NULL)
        return plan_sort_split(x, &all, plan, err);
    x->streams[0] = all;
    x->stream_count = plan->split_count = 1;
    return code;
}
