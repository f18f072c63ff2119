/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_add: adds a column (a new field) to a data set, which is called the base. The values
 * of the field come from a source, in any order. Each value names the key of its sample.
 *
 * The values are first sorted by the hash of their key. Then the number of each value's sample is
 * looked up in the table of keys, which is the file dataset.keys of the base. Finally the values
 * are sorted by this number and written. Both sorts use temporary files, so the memory does not
 * grow with the source.
 *
 * The table of keys stores only a part of each hash, so two different keys can look equal. In this
 * case, the keys of the samples are read from the base and compared. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/sort.h"
#include "base/tempfile.h"
#include "columns/column_rows.h"
#include "columns/column_write.h"
#include "formats/key_table.h"
#include "formats/name.h"
#include "reader/lookup/key_file.h"
#include "store/store.h"

/* largest number of values that are looked up in the table of keys together */
#define ROWS_ONCE  ((size_t)16384)
/* approximate limit for the bytes of values that are looked up together */
#define BYTES_ONCE ((size_t)8 << 20)
#define SHARE      8u                       /* Each sort gets 1 / SHARE of the memory. */
/* number of values between two checks for an interruption */
#define BATCH      4096u

struct add {
    struct sheaf_column_options options;
    const char *name, *source;
    struct sheaf_dataset *base;
    struct watch watch;
    char *directory;            /* directory for temporary files */
    struct sort *by_hash, *by_number;
    /* Numbers of samples. Samples before `begin` already have a record in the column. Values are
     * added to the samples `first` to `end` - 1. Usually `first` is `begin`. It is larger if other
     * machines write the samples from `begin` to `first` - 1 (see sheaf_column_plan). */
    uint64_t begin, first, end;
    /* The writer of the column. If several machines write the column, the writer is opened before
     * the values are read, and is never NULL. If a whole column is written, the writer is NULL
     * until all values are sorted. */
    struct sheaf_column_writer *writer;
    XXH128_hash_t values;       /* the sum that column_row_sum has made of all values */
    struct sheaf_column_result left_out;
    struct sheaf_error unknown; /* error for the first key that no sample of the base has */
    /* the last line of the source that was reported because no sample of the base has the line's
     * key */
    uint64_t unknown_line;
};

/* ---- Values in a sort ------------------------------------------------------------------------ */

/* A value of the source. While the values are sorted, they are stored as the bytes that
 * column_row_put writes. This struct is the decoded form of these bytes. */
struct value {
    uint64_t line;              /* line of the source that states the value */
    /* true if the value is the content of a file; `data` is then the URL of this file */
    bool is_file;
    const char *key, *extension;
    const uint8_t *data;
    size_t size;
};

static struct value value_of(const uint8_t *bytes, size_t size)
{
    struct value v = { .line = load64(bytes), .is_file = bytes[8] != 0,
                       .key = (const char *)bytes + 9 };

    v.extension = v.key + strlen(v.key) + 1;
    v.data = (const uint8_t *)v.extension + strlen(v.extension) + 1;
    v.size = size - (size_t)(v.data - bytes);
    return v;
}

static int take_row(void *context, const struct column_row *row, struct sheaf_error *err)
{
    struct add *a = context;
    uint8_t *unused, *to;
    int code = row->is_file ? SHEAF_OK : column_check_extension(row->extension, err);

    if (code != SHEAF_OK)
        return err_prefix(err, "%s: line %" PRIu64 ": ", a->source, row->line);
    code = sort_add(a->by_hash, key_hash(row->key), 0, column_row_bytes(row), &unused, &to, err);
    if (code != SHEAF_OK)
        return code;
    column_row_put(row, to);
    column_row_sum(row, to, &a->values);
    return SHEAF_OK;
}

/* Puts the place of the value before an error message: the line of the source, or the URL of the
 * file. Returns `code`. */
static int at_value(const struct add *a, const struct value *v, int code, struct sheaf_error *err)
{
    if (v->is_file)
        err_prefix(err, "%.*s: ", (int)v->size, (const char *)v->data);
    else
        err_prefix(err, "%s: line %" PRIu64 ": ", a->source, v->line);
    return code;
}

static void column_add_report(const struct add *a, const struct value *v, struct sheaf_error *why)
{
    if (a->options.report == NULL)
        return;
    (void)at_value(a, v, why->code, why);
    a->options.report(a->options.context, a->source, why);
}

/* ---- Which sample ---------------------------------------------------------------------------- */

/* Values that are looked up together. */
struct lookup {
    struct buf bytes;           /* copies of all values, one after another */
    struct found_value {
        size_t at, size;
        uint64_t hash;
        size_t asked;           /* index of the hash in `hashes` */
    } values[ROWS_ONCE];
    size_t count;
    uint64_t hashes[ROWS_ONCE]; /* the hashes of the values' keys, each once */
    size_t hash_count;
    struct buf matches;         /* struct key_match[], sorted by `asked` and then by `number` */
};

static int column_add_by_asked(const void *x, const void *y)
{
    const struct key_match *a = x, *b = y;

    return a->asked != b->asked ? (a->asked > b->asked) - (a->asked < b->asked)
                                : (a->number > b->number) - (a->number < b->number);
}

/* Reads the sample with this number from the base data set. Sets *has to whether the key of the
 * sample is `key`. */
static int has_key(const struct add *a, uint64_t number, const char *key, bool *has,
                   struct sheaf_error *err)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept;
    int code = sheaf_dataset_read(a->base, &number, 1, NULL, &samples, &kept, err);

    if (code != SHEAF_OK)
        return code;
    *has = strcmp(samples[0].key, key) == 0;
    sheaf_kept_free(kept);
    return SHEAF_OK;
}

static int give_number(struct add *a, uint64_t number, const uint8_t *bytes, size_t size,
                       struct sheaf_error *err)
{
    const struct value v = value_of(bytes, size);
    uint8_t *key, *value;
    int code;

    if (number < a->first || number >= a->end) {
        a->left_out.present += number < a->begin;
        a->left_out.elsewhere += number >= a->begin;
        return SHEAF_OK;
    }
    code = sort_add(a->by_number, number, strlen(v.extension), size, &key, &value, err);
    if (code != SHEAF_OK)
        return code;
    memcpy(key, v.extension, strlen(v.extension));
    memcpy(value, bytes, size);
    return SHEAF_OK;
}

/* Counts a value whose key does not occur in the base data set. If the option `on_unknown` is
 * SHEAF_SKIP, reports the value, but each line of the source only once. Otherwise stores the error
 * for the first such value in a->unknown. */
static void leave_unknown(struct add *a, const struct value *v)
{
    struct sheaf_error why;

    a->left_out.unknown++;
    err_set(&why, SHEAF_ERR_NOT_FOUND, "the data set has no sample with the key %.400s", v->key);
    if (a->options.on_unknown == SHEAF_SKIP) {
        if (v->is_file || v->line != a->unknown_line)
            column_add_report(a, v, &why);
        a->unknown_line = v->line;
    } else if (a->unknown.code == SHEAF_OK) {
        (void)at_value(a, v, why.code, &why);
        a->unknown = why;
    }
}

/* Adds a value to the second sort, which is by sample number. The value is added once for each
 * sample of the base data set that has the value's key.
 *
 * `matches` are the samples that the table of keys gives for this key. The table stores only a part
 * of each key's hash. So if there are several matches, their keys are read from the base and
 * compared. */
static int place_value(struct add *a, const struct lookup *l, const struct found_value *f,
                       const struct key_match *matches, size_t count, struct sheaf_error *err)
{
    const uint8_t *bytes = l->bytes.data + f->at;
    const struct value v = value_of(bytes, f->size);
    size_t found = 0;
    int code = SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        bool has = true;

        if (count > 1)
            code = has_key(a, matches[i].number, v.key, &has, err);
        if (code == SHEAF_OK && has) {
            found++;
            code = give_number(a, matches[i].number, bytes, f->size, err);
        }
    }
    if (code == SHEAF_OK && found == 0)
        leave_unknown(a, &v);
    return code;
}

static int place_values(struct add *a, struct lookup *l, struct sheaf_error *err)
{
    const struct key_match *matches;
    size_t total, at = 0;
    int code;

    l->matches.size = 0;
    code = key_file_find(a->base, l->hashes, l->hash_count, a->options.interrupt, &l->matches, err);
    if (code != SHEAF_OK)
        return code;
    matches = (const struct key_match *)(const void *)l->matches.data;
    total = l->matches.size / sizeof(*matches);
    if (total != 0)
        qsort(l->matches.data, total, sizeof(*matches), column_add_by_asked);
    for (size_t i = 0; i < l->count && code == SHEAF_OK; i++) {
        const struct found_value *f = &l->values[i];
        size_t count = 0;

        while (at < total && matches[at].asked < f->asked)
            at++;
        while (at + count < total && matches[at + count].asked == f->asked)
            count++;
        code = place_value(a, l, f, matches + at, count, err);
    }
    l->bytes.size = l->count = l->hash_count = 0;
    return code;
}

static int look_up_entry(struct add *a, struct lookup *l, const struct sort_entry *e,
                         struct sheaf_error *err)
{
    struct found_value *f;
    int code = SHEAF_OK;

    if (l->count == ROWS_ONCE || l->bytes.size >= BYTES_ONCE)
        code = place_values(a, l, err);
    f = &l->values[l->count];
    if (l->hash_count == 0 || l->hashes[l->hash_count - 1] != e->order)
        l->hashes[l->hash_count++] = e->order;
    *f = (struct found_value){ .at = l->bytes.size, .size = e->value_size, .hash = e->order,
                               .asked = l->hash_count - 1 };
    l->count++;
    return code == SHEAF_OK ? buf_append(&l->bytes, e->value, e->value_size, err) : code;
}

/* Finds the sample number for the key of each value. Reads the values from the first sort (by hash
 * of the key) and adds them to the second sort (by sample number). */
static int find_numbers(struct add *a, struct sheaf_error *err)
{
    struct lookup *l = calloc(1, sizeof(*l));
    struct sheaf_progress progress = { .stage = "match" };
    struct sort_entry entry;
    int code = l == NULL ? err_memory(err, sizeof(*l)) : sort_finish(a->by_hash, err);

    if (l != NULL)
        l->bytes.limit = l->matches.limit = SIZE_MAX / 4;
    while (code == SHEAF_OK && (code = sort_next(a->by_hash, &entry, err)) == SHEAF_OK) {
        code = look_up_entry(a, l, &entry, err);
        if (++progress.done_count % BATCH == 0 && code == SHEAF_OK) {
            code = watch_check(&a->watch, err);
            watch_show(&a->watch, &progress);
        }
    }
    if (code == SHEAF_END)
        code = place_values(a, l, err);
    if (l != NULL) {
        buf_free(&l->bytes);
        buf_free(&l->matches);
    }
    free(l);
    sort_close(a->by_hash);
    a->by_hash = NULL;
    if (code == SHEAF_OK && a->unknown.code != SHEAF_OK) {
        *err = a->unknown;
        if (a->left_out.unknown > 1)
            err_append(err, " (nor the keys of %" PRIu64 " other value%s)",
                       a->left_out.unknown - 1, plural(a->left_out.unknown - 1));
        code = err_because(err, err->code, SHEAF_REASON_NOT_IN_BASE);
    }
    return code;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The values of one sample. */
struct record_values {
    struct buf bytes;           /* copies of the values, one after another */
    /* size_t[]: for each value, the offset in `bytes` at which the value begins */
    struct buf starts;
    char **files;               /* contents of the values that are files */
    size_t file_count;
    struct sheaf_field fields[FIELD_LIMIT];
    size_t field_count;
};

static void values_clear(struct record_values *v)
{
    for (size_t i = 0; i < v->file_count; i++)
        free(v->files[i]);
    v->bytes.size = v->starts.size = v->file_count = v->field_count = 0;
}

static int keep_value(struct record_values *v, const struct sort_entry *e, struct sheaf_error *err)
{
    const size_t at = v->bytes.size;
    int code = buf_append(&v->starts, &at, sizeof(at), err);

    return code == SHEAF_OK ? buf_append(&v->bytes, e->value, e->value_size, err) : code;
}

static int leave_repeated(struct add *a, const struct value *v, struct sheaf_error *err)
{
    struct sheaf_error why;

    err_set(&why, SHEAF_ERR_EXISTS, "a second value for the field %s of the sample %.400s",
            v->extension, v->key);
    a->left_out.repeated++;
    if (a->options.on_repeated == SHEAF_SKIP) {
        column_add_report(a, v, &why);
        return SHEAF_OK;
    }
    (void)at_value(a, v, why.code, &why);
    *err = why;
    return err_because(err, err->code, SHEAF_REASON_REPEATED_KEY);
}

static int column_add_field(struct add *a, struct record_values *all, const struct value *v,
                            struct sheaf_error *err)
{
    struct sheaf_field *f = &all->fields[all->field_count];
    size_t size = v->size;
    int code = SHEAF_OK;

    if (all->field_count == FIELD_LIMIT)
        return at_value(a, v, err_set(err, SHEAF_ERR_LIMIT, "more than %d fields", FIELD_LIMIT),
                        err);
    *f = (struct sheaf_field){ .name = v->extension, .suffix = v->extension, .data = v->data };
    if (v->is_file) {
        char *url = strndup((const char *)v->data, v->size);
        char **files = realloc(all->files, (all->file_count + 1) * sizeof(files[0]));

        code = url == NULL || files == NULL ? err_memory(err, v->size) : SHEAF_OK;
        all->files = files != NULL ? files : all->files;
        if (code == SHEAF_OK)
            code = store_get(url, (size_t)COLUMN_RECORD_MOST, &files[all->file_count], &size, err);
        if (code == SHEAF_OK)
            f->data = files[all->file_count++];
        free(url);
    }
    f->size = size;
    all->field_count += code == SHEAF_OK;
    return code;
}

/* Makes the fields of the sample `number` from the values in `all`.
 *
 * The table of keys stores only a part of each hash. So values with different keys may have been
 * assigned to this sample. In this case, the key of the sample is read, and values with another key
 * are left out. If all values have the same key, the key of the sample is not read, because there
 * is nothing to choose.
 *
 * The remaining values are sorted by extension, and values with the same extension are in the order
 * of the source. A second value with the same extension is an error, or is skipped if the option
 * `on_repeated` is SHEAF_SKIP. */
static int column_add_make_fields(struct add *a, struct record_values *all, uint64_t number,
                                  struct sheaf_error *err)
{
    const size_t count = all->starts.size / sizeof(size_t);
    const size_t *starts = (const size_t *)(const void *)all->starts.data;
    const char *first_key = NULL, *last = NULL;
    bool differ = false;
    int code = SHEAF_OK;

    for (size_t i = 0; i < count; i++) {
        const struct value v = value_of(all->bytes.data + starts[i], 0);

        first_key = first_key == NULL ? v.key : first_key;
        differ |= strcmp(first_key, v.key) != 0;
    }
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const size_t end = i + 1 < count ? starts[i + 1] : all->bytes.size;
        const struct value v = value_of(all->bytes.data + starts[i], end - starts[i]);
        bool has = true;

        if (differ)
            code = has_key(a, number, v.key, &has, err);
        if (code != SHEAF_OK)
            return code;
        if (!has)
            leave_unknown(a, &v);
        else if (last != NULL && strcmp(last, v.extension) == 0)
            code = leave_repeated(a, &v, err);
        else
            code = column_add_field(a, all, &v, err);
        last = has ? v.extension : last;
    }
    return code;
}

/* Appends a record without a value for each sample before the sample `number`. The writer skips the
 * samples of shards that an earlier run has finished. */
static int append_empty(struct sheaf_column_writer *w, uint64_t number, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && sheaf_column_next(w) < number &&
           sheaf_column_next(w) != sheaf_column_end(w))
        code = sheaf_column_append(w, NULL, 0, err);
    return code;
}

/* Appends records without a value for the samples before the sample `number`, and then the record
 * of this sample. */
static int append_record(struct add *a, struct sheaf_column_writer *w, struct record_values *all,
                         uint64_t number, struct sheaf_error *err)
{
    int code = append_empty(w, number, err);
    /* false if the shard that contains the sample was already finished by an earlier run, so that
     * the sample needs no record */
    const bool is_wanted = sheaf_column_next(w) == number && sheaf_column_end(w) != number;

    if (code == SHEAF_OK && is_wanted)
        code = column_add_make_fields(a, all, number, err);
    if (code == SHEAF_OK && is_wanted)
        code = sheaf_column_append(w, all->fields, all->field_count, err);
    values_clear(all);
    return code;
}

static int append_all(struct add *a, struct sheaf_column_writer *w, struct record_values *all,
                      struct sheaf_error *err)
{
    struct sheaf_progress progress = { .stage = "write", .total_count = a->end };
    struct sort_entry entry;
    uint64_t number = UINT64_MAX;
    int code = sort_finish(a->by_number, err);

    while (code == SHEAF_OK && (code = sort_next(a->by_number, &entry, err)) == SHEAF_OK) {
        if (number != entry.order && number != UINT64_MAX)
            code = append_record(a, w, all, number, err);
        if (code == SHEAF_OK)
            code = keep_value(all, &entry, err);
        number = entry.order;
        progress.done_count = sheaf_column_next(w);
        if (code == SHEAF_OK && progress.done_count % BATCH == 0) {
            code = watch_check(&a->watch, err);
            watch_show(&a->watch, &progress);
        }
    }
    if (code != SHEAF_END)
        return code;
    code = number == UINT64_MAX ? SHEAF_OK : append_record(a, w, all, number, err);
    return code == SHEAF_OK ? append_empty(w, a->end, err) : code;
}

/* Returns the error that leave_unknown has stored, or SHEAF_OK if it has stored none. It stores an
 * error if a value has a key that no sample of the base data set has. */
static int check_unknown(const struct add *a, struct sheaf_error *err)
{
    if (a->unknown.code == SHEAF_OK)
        return SHEAF_OK;
    *err = a->unknown;
    return err_because(err, err->code, SHEAF_REASON_NOT_IN_BASE);
}

/* Opens the writer of the column. Appends the hash of all values to the option `version`. An
 * interrupted run is resumed only if its version is the same, so values that have changed are
 * noticed. */
static int column_add_open_writer(const struct add *a, const char *dataset,
                                  struct sheaf_column_writer **w, struct sheaf_error *err)
{
    struct sheaf_column_options options = a->options;
    char hash[HASH_TEXT_BYTES], *version = NULL;
    int code;

    hash_text(a->values, hash);
    if (asprintf(&version, "%s %s", options.version == NULL ? "" : options.version, hash) < 0)
        return err_memory(err, sizeof(hash));
    options.version = version;
    code = sheaf_column_open(dataset, a->name, &options, w, err);
    free(version);
    return code;
}

static int write_records(struct add *a, const char *dataset, struct sheaf_column_result *result,
                         struct sheaf_error *err)
{
    struct record_values *all = calloc(1, sizeof(*all));
    int code = all == NULL ? err_memory(err, sizeof(*all)) : SHEAF_OK;

    if (all != NULL)
        all->bytes.limit = all->starts.limit = SIZE_MAX / 4;
    if (code == SHEAF_OK && a->writer == NULL) {
        code = column_add_open_writer(a, dataset, &a->writer, err);
        if (code == SHEAF_OK &&
            strcmp(a->writer->facts.base, a->base->manifest.fingerprint) != 0)
            code = err_set(err, SHEAF_ERR_CHANGED, "%s: the data set changed while the column was "
                           "made", dataset);
    }
    if (code == SHEAF_OK)
        code = append_all(a, a->writer, all, err);
    if (code == SHEAF_OK)
        code = check_unknown(a, err);
    if (code == SHEAF_OK)
        code = sheaf_column_finish(a->writer, result, err);
    if (all != NULL) {
        values_clear(all);
        buf_free(&all->bytes);
        buf_free(&all->starts);
        free(all->files);
    }
    free(all);
    return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int open_sorts(struct add *a, struct sheaf_error *err)
{
    const size_t bytes = (size_t)(a->options.memory_bytes / SHARE);
    int code;

    a->directory = tempfile_directory(NULL);
    if (a->directory == NULL)
        return err_memory(err, strlen(a->source));
    code = sort_open(&a->by_hash, a->directory, bytes, err);
    return code == SHEAF_OK ? sort_open(&a->by_number, a->directory, bytes, err) : code;
}

/* Returns SHEAF_ERR_CHANGED if the hash of the source's values is not `expected`, the hash in the
 * plan. */
static int column_add_check_values(const struct add *a, const char *expected,
                                   struct sheaf_error *err)
{
    char hash[HASH_TEXT_BYTES];

    hash_text(a->values, hash);
    if (strcmp(hash, expected) == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: its values have changed since the plan was made: "
                   "expected the hash %s, found %s", a->source, expected, hash);
}

/* Reads the values from the source, sorts them by sample number, and writes them as a column of the
 * data set `dataset`.
 *
 * If only one part of a planned column is written, the writer is already open, and `dataset` is
 * NULL. `expected` is the hash that the values had when the plan was made. If a whole column is
 * written, `expected` is NULL. */
static int add_values(struct add *a, const char *dataset, const char *expected,
                      struct sheaf_column_result *result, struct sheaf_error *err)
{
    int code = open_sorts(a, err);

    if (code == SHEAF_OK)
        code = column_rows_read(a->source, &a->watch, take_row, a, err);
    if (code == SHEAF_OK && expected != NULL)
        code = column_add_check_values(a, expected, err);
    if (code == SHEAF_OK)
        code = find_numbers(a, err);
    if (code == SHEAF_OK)
        code = write_records(a, dataset, result, err);
    result->unknown = a->left_out.unknown;
    result->repeated = a->left_out.repeated;
    result->present = a->left_out.present;
    result->elsewhere = a->left_out.elsewhere;
    sort_close(a->by_hash);
    sort_close(a->by_number);
    free(a->directory);
    return code;
}

static int add_column(struct add *a, const char *dataset, struct sheaf_column_result *result,
                      struct sheaf_error *err)
{
    size_t layer;
    int code = column_base_open(dataset, &a->base, err);

    if (code == SHEAF_OK)
        code = column_check_name(a->name, err);
    /* Check whether the column can be written before the source is read, because reading may take
     * long. */
    if (code == SHEAF_OK)
        code = column_write_begins(a->base, a->name, &a->options, &a->first, &layer, err);
    a->begin = a->first;
    a->end = code == SHEAF_OK ? dataset_samples(a->base) : 0;
    if (code == SHEAF_OK)
        code = add_values(a, dataset, NULL, result, err);
    sheaf_column_free(a->writer);
    sheaf_dataset_free(a->base);
    return code;
}

/* Checks and copies the options of the caller, and sets the result to zero. */
static int column_add_begin(struct add *a, const struct sheaf_column_options *options,
                            struct sheaf_column_result *result, struct sheaf_error *err)
{
    const int code = column_options_take(options, &a->options, err);

    *result = (struct sheaf_column_result){ .samples = 0 };
    a->watch = (struct watch){ .progress = a->options.progress, .context = a->options.context,
                               .interrupt = a->options.interrupt };
    return code;
}

int sheaf_column_add(const char *dataset, const char *name, const char *source,
                     const struct sheaf_column_options *options,
                     struct sheaf_column_result *result, struct sheaf_error *error)
{
    struct add a = { .name = name, .source = source };
    struct sheaf_column_result own_result;
    struct sheaf_error own_error;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    code = column_add_begin(&a, options, result, error);
    return code == SHEAF_OK ? add_column(&a, dataset, result, error) : code;
}

int sheaf_column_add_part(const char *plan, uint32_t part, uint32_t parts,
                          const struct sheaf_column_options *options,
                          struct sheaf_column_result *result, struct sheaf_error *error)
{
    struct add a = { .name = NULL };
    struct sheaf_column_result own_result;
    struct sheaf_error own_error;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    code = column_add_begin(&a, options, result, error);
    if (code == SHEAF_OK)
        code = sheaf_column_open_part(plan, part, parts, &a.options, &a.writer, error);
    if (code != SHEAF_OK)
        return code;
    a.base = a.writer->base;
    a.source = a.writer->values.source;
    a.begin = a.writer->facts.first;
    column_part_range(a.writer, &a.first, &a.end);
    if (a.source == NULL)
        code = err_set(error, SHEAF_ERR_ARGUMENT, "%s: is a plan without a source of values: a "
                       "program must write its parts", plan);
    /* All shards of the part are finished. */
    else if (sheaf_column_next(a.writer) == sheaf_column_end(a.writer))
        code = sheaf_column_finish(a.writer, result, error);
    else
        code = add_values(&a, NULL, a.writer->values.hash, result, error);
    sheaf_column_free(a.writer);
    return code;
}
