/* SPDX-License-Identifier: MIT
 *
 * sheaf_verify: reads all bytes of all shards, and checks and decodes each record. Compares the
 * result with the manifest, with the index, and with the index files that other programs use
 * (peer_index.c). One job checks one shard. The thread of the caller reports the problems. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "formats/key_table.h"
#include "formats/label.h"
#include "formats/sample.h"
#include "reader/dataset/repeated_keys.h"
#include "reader/dataset/shard_walk.h"
#include "reader/load/shards.h"
#include "reader/verify/name_lines.h"
#include "reader/verify/peer_index.h"
#include "reader/verify/verify_fields.h"
#include "reader/verify/verify_keys.h"
#include "reader/verify/verify_rest.h"
#include "store/interrupt.h"

/* Largest number of problems of a shard that are reported with a message. Further problems are only
 * counted. */
#define TOLD_MOST 1000u
#define PROGRESS_NS 100000000u
/* If the shards are remote, there may be more threads than processors. But each thread must have at
 * least this memory, in bytes. */
#define THREAD_BYTES ((uint64_t)4 << 20)

/* A record with a wrong checksum. The checksum in the index covers the record and its line of the
 * .lst file. */
struct wrong_line {
    uint64_t record, offset;
    uint32_t found, expected;
    char *key;                      /* NULL if it is unknown */
};

#define WRONG_CRC "%s: offset %" PRIu64 ", record %" PRIu64 ": CRC-32C 0x%08x, but the index has " \
                  "0x%08x"
/* Format and arguments for the end of a message about a damaged record. `key` is NULL if the record
 * cannot be decoded. */
#define KEY_TOLD       "%s%.400s%s"
#define KEY_WORDS(key) (key) == NULL ? "" : " (the sample ", (key) == NULL ? "" : (key), \
                       (key) == NULL ? "" : ")"

struct check {
    struct job job;
    struct checks *owner;
    uint32_t shard;
    struct shard *held;             /* the reference to `open`, which finish_check gives up */
    /* The open shard, its index section and its .lst file. NULL if there is no index section, or if
     * the shard could not be opened. */
    struct shard *open;
    /* The error with which opening the shard has failed. Its message is empty if the shard is
     * open. */
    struct sheaf_error open_error;
    /* a part of the .lst file of a RecordIO shard */
    struct name_lines lines;
    /* At most TOLD_MOST records with a wrong checksum. A checksum covers the record and its line in
     * the .lst file. The hash of the whole shard shows which of the two is damaged, so they are
     * reported after the whole shard was read. */
    struct wrong_line *wrong;
    size_t wrong_count;
    struct decode_scratch scratch;
    struct peer_index peers;
    /* number of records that are intact, but do not count as sound, because their lines of the .lst
     * file are damaged */
    uint64_t bad_lines;
    /* The following fields are results. */
    uint64_t samples, bytes, problem_count, passed_over;
    uint64_t decoded, payload_bytes, largest;
    uint64_t labelled, unread_labels;
    /* place of the first sample without a label, as text */
    char unlabelled[512];
    bool has_cls;                   /* true if a sample has a field named "cls" */
    struct tally fields;
    /* Index of the part that contains the shard, counted through the parts of all sources of the
     * data set. (Each run that appended samples has added a part; see parts.h.) */
    size_t part;
    /* the table of keys of this part */
    struct key_table keys;
    /* `first_number` is the number of the shard's first sample within its part of the data set.
     * `key_sum` is the sum of key_table_part (a hash of key and number) over all samples of the
     * shard. */
    uint64_t first_number, key_sum;
    struct sheaf_error *problems;
    size_t told;
    /* Code of the error that has ended the check of this shard, for example SHEAF_ERR_MEMORY. It is
     * not a problem of the shard. */
    int code;
    struct sheaf_error error;
};

struct checks {
    const struct sheaf_dataset *dataset;
    const struct sheaf_verify_options *options;
    struct workers *workers;
    struct budget budget;
    struct shards shards;
    /* Largest size in bytes of a frame (stored record) that a thread may read while other threads
     * also read frames. Larger frames are read by one thread at a time. */
    size_t frame_limit;
    unsigned requests;              /* largest number of requests at a time for one remote shard */
    /* memory for frames (stored records) larger than frame_limit; only one such frame is read at a
     * time */
    struct frames_large large;
    atomic_uint_fast64_t read_bytes;
    uint32_t first, end;            /* range of the shards that are checked */
    uint64_t total_bytes, total_samples;
    struct check *list;
    atomic_uint_fast64_t *class_samples;    /* number of samples of each class, source after
                                               source */
    size_t *first_classes;          /* index of each source's first class, and the end */
    uint64_t *key_sums;             /* sum of key_table_part for each part of each source */
    struct tally *fields;           /* statistics of fields, one element for each source */
    /* counts samples with the same key; used only for sources that our packer has not made */
    struct repeated_keys repeated;
};

void sheaf_verify_options_init(struct sheaf_verify_options *options, size_t sizeof_options)
{
    const struct sheaf_verify_options defaults = {
        .sizeof_options = sizeof_options,
        .memory_bytes = (uint64_t)1 << 30,
    };

    sized_give(options, sizeof_options, &defaults, sizeof(defaults));
}

/* ---- One shard, on a worker ----------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
problem(struct check *c, const char *format, ...)
{
    struct sheaf_error *grown;
    char text[sizeof(grown->message)];
    va_list args;

    c->problem_count++;
    if (c->told == TOLD_MOST)
        return;
    grown = realloc(c->problems, (c->told + 1) * sizeof(*grown));
    if (grown == NULL)
        return;     /* no memory: the problem is only counted */
    c->problems = grown;
    grown = &c->problems[c->told++];
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err_set(grown, SHEAF_ERR_CORRUPT, "%s", text);
}

/* Sets *line to the line of the .lst file for a sample. The length *size does not include the
 * newline. */
static int verify_name_line(struct check *c, uint64_t sample, const char **line, size_t *size)
{
    return name_lines_read(&c->lines, c->open->names, c->open->section, sample, line, size,
                           &c->error);
}

/* Returns true if a frame (stored record) and its line of the .lst file have the checksum that the
 * index states for sample `i`. Also returns true if the index does not state a checksum. */
static bool is_right(struct check *c, uint64_t i, const struct frame *frame)
{
    const struct index_section *s = c->open == NULL ? NULL : c->open->section;
    const char *line = NULL;
    size_t size = 0;

    if (s == NULL || s->crcs == NULL || i >= s->samples ||
        (c->open->names != NULL && verify_name_line(c, i, &line, &size) != SHEAF_OK))
        return true;
    return (line == NULL ? frame->crc : crc32c(frame->crc, line, size)) == s->crcs[i];
}

/* Keeps a record with a wrong checksum, so that tell_wrong_lines can report it later. The record
 * must have a line in the .lst file. `key` may be NULL. Returns false if too many records were kept
 * already, or if memory is exhausted. */
static bool keep_wrong_line(struct check *c, uint64_t i, uint64_t offset, uint32_t found,
                            const char *key)
{
    struct wrong_line *grown = c->wrong_count == TOLD_MOST ? NULL
                             : realloc(c->wrong, (c->wrong_count + 1) * sizeof(*grown));

    if (grown == NULL)
        return false;
    c->wrong = grown;
    c->wrong[c->wrong_count++] = (struct wrong_line){ i, offset, found,
                                                      c->open->section->crcs[i],
                                                      key == NULL ? NULL : strdup(key) };
    return true;
}

/* Reports the records that keep_wrong_line has kept. If the shard as a whole has the right hash
 * (`is_shard_right`), the records are intact, and their lines in the .lst file are damaged. */
static void tell_wrong_lines(struct check *c, bool is_shard_right)
{
    const char *url = c->owner->dataset->urls[c->shard];

    for (size_t i = 0; i < c->wrong_count; i++) {
        const struct wrong_line *w = &c->wrong[i];

        if (is_shard_right)
            problem(c, "%s: line %" PRIu64 ": CRC-32C of record and line 0x%08x, but the index has "
                    "0x%08x; the shard itself is sound" KEY_TOLD, c->open->names->url,
                    w->record + 1, w->found, w->expected, KEY_WORDS(w->key));
        else
            problem(c, WRONG_CRC KEY_TOLD, url, w->offset, w->record, w->found, w->expected,
                    KEY_WORDS(w->key));
        free(w->key);
    }
    if (is_shard_right)
        c->bad_lines += c->wrong_count;
    free(c->wrong);
    c->wrong = NULL;
    c->wrong_count = 0;
}

/* Compares a frame (stored record) with entry `i` of the index. Reports a different offset, size or
 * checksum. `key` is the key of its sample, or NULL. Returns false if the record or its line of the
 * .lst file is damaged, because a reader returns no such sample. If it is not known yet which of
 * the two is damaged, tell_wrong_lines reports it later. */
static bool verify_compare(struct check *c, uint64_t i, const struct frame *frame,
                           const struct record *record, const char *key)
{
    const struct index_section *s = c->open->section;
    const char *name = c->owner->dataset->urls[c->shard], *line = record->name_line;
    const size_t line_size = record->name_line_size;
    uint32_t crc = frame->crc;

    if (frame->offset != s->offsets[i] || frame->size != index_frame_bytes(s, i))
        problem(c, "%s: record %" PRIu64 ": is at offset %" PRIu64 " with %zu byte%s, but the "
                "index says offset %" PRIu64 ", %" PRIu64 " byte%s", name, i, frame->offset,
                frame->size, plural(frame->size), s->offsets[i], index_frame_bytes(s, i),
                plural(index_frame_bytes(s, i)));
    if (s->crcs == NULL)
        return true;
    if (line != NULL)
        crc = crc32c(crc, line, line_size);
    if (line != NULL && line[line_size] != '\n') {
        problem(c, "%s: line %" PRIu64 ": does not end with a newline" KEY_TOLD,
                c->open->names->url, i + 1, KEY_WORDS(key));
        c->bad_lines += crc == s->crcs[i];
        return false;
    }
    if (crc == s->crcs[i])
        return true;
    if (line == NULL || !keep_wrong_line(c, i, frame->offset, crc, key))
        problem(c, WRONG_CRC KEY_TOLD, name, frame->offset, i, crc, s->crcs[i], KEY_WORDS(key));
    return false;
}

/* Compares a sample with the manifest, and adds it to the counts. Reports a problem if the sample
 * has a field `cls` although the manifest says that no sample has this field. Also reports a
 * problem if the name of the sample's class is wrong. */
static void verify_check_sample(struct check *c, uint64_t i, uint64_t offset,
                                const struct sheaf_sample *sample)
{
    const struct sheaf_dataset *d = c->owner->dataset;
    const struct manifest *m = &dataset_source(d, c->shard)->manifest;
    const size_t source = dataset_source_of(d, c->shard);
    double number;

    c->decoded++;
    c->key_sum += key_table_part(&c->keys, key_hash(sample->key), c->first_number + i);
    for (size_t f = 0; f < sample->field_count; f++) {
        c->payload_bytes += sample->fields[f].size;
        if (m->cls_is_label && !c->has_cls && strcmp(sample->fields[f].name, "cls") == 0) {
            c->has_cls = true;
            problem(c, "%s: offset %" PRIu64 ", record %" PRIu64 ": %.400s has a field cls, but "
                    "the manifest says that none has (cls_is_label)", d->urls[c->shard], offset, i,
                    sample->key);
        }
    }
    if (sample->label_count != 1 || !label_is_integer(sample->labels[0]))
        return;
    number = sample->labels[0] - m->label_base;
    if (number < 0 || number >= (double)m->class_count)
        return;
    atomic_fetch_add_explicit(&c->owner->class_samples[c->owner->first_classes[source] +
                                                       (size_t)number], 1, memory_order_relaxed);
    if (strcmp(sample->class_name, m->classes[(size_t)number]) != 0)
        problem(c, "%s: offset %" PRIu64 ", record %" PRIu64 ": the class of the label %.0f is "
                "\"%.100s\", but the manifest says \"%.100s\"", d->urls[c->shard], offset, i,
                sample->labels[0], sample->class_name, m->classes[(size_t)number]);
}

static void verify_count_labels(struct check *c, uint64_t i, uint64_t offset,
                                const struct sheaf_sample *sample)
{
    if (sample->label_count != 0) {
        c->labelled++;
        return;
    }
    c->unread_labels += sample_has_cls(sample);
    if (c->unlabelled[0] == '\0')
        snprintf(c->unlabelled, sizeof(c->unlabelled), "%.200s: offset %" PRIu64 ", record %" PRIu64
                 ": %.200s", dataset_shown(c->owner->dataset, c->shard), offset, i, sample->key);
}

/* Returns true if entry `i` of the index belongs to the sample that was read as number `i`. Returns
 * false after damage in a foreign shard, because the numbers may then differ. The reason is that
 * the index of a foreign shard comes from a scan of headers, which counts damaged records
 * differently. */
static bool has_place(const struct check *c, uint64_t i)
{
    return c->open != NULL && i < c->open->section->samples &&
           (c->problem_count == 0 || dataset_source(c->owner->dataset, c->shard)->has_manifest);
}

/* Checks the content of a record: compares the sample with the manifest, and adds it to the
 * counts. */
static int verify_count_sample(struct check *c, const struct record *record, uint64_t offset,
                               const struct sheaf_sample *sample)
{
    const struct sheaf_dataset *source = dataset_source(c->owner->dataset, c->shard);
    int code;

    verify_count_labels(c, record->record, offset, sample);
    code = tally_add(&c->fields, sample, &c->error);
    if (source->has_manifest)
        verify_check_sample(c, record->record, offset, sample);
    if (code == SHEAF_OK && !source->manifest.ours)
        code = repeated_keys_add(&c->owner->repeated, sample->key, c->shard, record->record,
                                 &c->error);
    return code;
}

/* Checks a frame (stored record). Counts its sample if it is sound. */
static int verify_check_frame(struct check *c, uint64_t i, const struct frame *frame)
{
    const struct sheaf_dataset *d = c->owner->dataset, *source = dataset_source(d, c->shard);
    const struct decode_context context = dataset_decode_context(d, c->shard);
    struct record record = { .data = frame->data, .size = frame->size, .shard = c->shard,
                             .record = i };
    struct sheaf_sample sample;
    struct sheaf_error error;
    bool is_sound = true, is_decoded;
    int code = SHEAF_OK;

    c->largest = MAX(c->largest, frame->size);
    if (has_place(c, i) && c->open->names != NULL)
        code = verify_name_line(c, i, &record.name_line, &record.name_line_size);
    if (code != SHEAF_OK)
        return code;
    if (c->open == NULL && source->manifest.ours && source->format->has_names) {
        c->samples++;
        return SHEAF_OK;    /* The name is missing, which was reported before. */
    }
    is_decoded = source->format->decode(&record, &context, &c->scratch, &sample, &error)
                 == SHEAF_OK;
    if (has_place(c, i))
        is_sound = verify_compare(c, i, frame, &record, is_decoded ? sample.key : NULL);
    if (!is_decoded && is_sound)    /* Otherwise the record is reported already. */
        problem(c, "%s: offset %" PRIu64 ", record %" PRIu64 ": %s", d->urls[c->shard],
                frame->offset, i, error.message);
    c->samples += is_sound && is_decoded;
    return is_decoded ? verify_count_sample(c, &record, frame->offset, &sample) : SHEAF_OK;
}

static int add_to_peers(struct check *c, const struct frame *frame)
{
    const int code = peer_index_add(&c->peers, frame, &c->error);

    if (code == SHEAF_OK || code == SHEAF_ERR_MEMORY)
        return code;
    problem(c, "%s: offset %" PRIu64 ": %s", c->owner->dataset->urls[c->shard], frame->offset,
            c->error.message);
    return SHEAF_OK;
}

/* Reads a frame (stored record) and its line of the .lst file again, because the checksum was
 * wrong. */
static int look_again(struct check *c, struct walk *walk, struct frame *frame,
                      struct sheaf_error *err)
{
    const int code = walk_repeat(walk, err);

    if (code != SHEAF_OK)
        return code == SHEAF_END ? SHEAF_OK : code;
    c->lines.bytes.size = 0;
    if (c->open->names != NULL)
        store_distrust(c->open->names, 0, c->open->names->bytes);
    return walk_next(walk, frame, err);
}

/* Returns true if bytes of a record are missing at the end of the shard. The record may be in a
 * codec block of which only the beginning is there. */
static bool is_cut_off(struct shard *shard, uint64_t record)
{
    const struct run run = { .shard = shard, .first = record, .count = 1 };
    const struct extent e = extent_of(&run, true);
    const struct index_block *blocks = shard->section->blocks;

    return (blocks == NULL ? e.end : blocks[e.block_end].stored_offset) > shard->object->bytes;
}

/* Reports a bad record that rest_read has found. All missing records at the end of a truncated
 * shard are reported together. */
static int verify_take_bad(struct check *c, const struct item *item)
{
    const struct sheaf_dataset *d = c->owner->dataset;
    const struct decode_context context = dataset_decode_context(d, c->shard);
    const uint64_t left = c->open->section->samples - item->record - 1;
    struct record record = { .data = item->data, .size = item->size, .shard = c->shard,
                             .record = item->record };
    const char *key = NULL;
    struct sheaf_sample sample;
    struct sheaf_error error;

    if (left != 0 && item->bad->code == SHEAF_ERR_TRUNCATED &&
        is_cut_off(c->open, item->record)) {
        problem(c, "%s; with the %" PRIu64 " record%s after it, %" PRIu64 " records are missing",
                item->bad->message, left, plural(left), left + 1);
        return SHEAF_END;
    }
    if (item->has_name && verify_name_line(c, item->record, &record.name_line,
                                           &record.name_line_size) != SHEAF_OK)
        record.name_line = NULL;
    if (item->data != NULL && dataset_source(d, c->shard)->format
                                  ->decode(&record, &context, &c->scratch, &sample, &error)
                                  == SHEAF_OK)
        key = sample.key;
    problem(c, "%s" KEY_TOLD, item->bad->message, KEY_WORDS(key));
    return SHEAF_OK;
}

/* Implements rest.take. */
static int verify_take_item(void *context, const struct item *item, struct sheaf_error *err)
{
    struct check *c = context;
    const struct index_section *s = c->open->section;
    struct frame frame = { .data = item->data, .size = item->size,
                           .offset = s->offsets[item->record] };
    int code;

    if (item->is_bad)
        return verify_take_bad(c, item);
    (void)dataset_source(c->owner->dataset, c->shard)
        ->format->check(item->data, item->size, &frame.crc, err);   /* The reader has checked it. */
    code = verify_check_frame(c, item->record, &frame);
    if (code != SHEAF_OK)
        *err = c->error;
    return code;
}

/* Reports the damage outside of the records that the walk has found. `error` is its error, with the
 * name of the shard before the message. */
static void tell_outside(struct check *c, const struct framing *w, const struct sheaf_error *error)
{
    static const char text[] = "all of its samples can be read, but other bytes are damaged";
    const char *url = c->owner->dataset->urls[c->shard];

    if (w->fault.message[0] == '\0')    /* The error is not about a header or the stream. */
        problem(c, "%s: %s%s", url, text, error->message + strlen(url));
    else if (w->dead)
        problem(c, "%s: %s: %s", url, text, w->fault.message);
    else
        problem(c, "%s: %s: offset %" PRIu64 ": %s", url, text, w->fault_offset,
                w->fault.message);
}

/* Reads the rest of the shard, from record `first` on, as a reader reads it, because the walk has
 * found damage, whose error is `error`. Reports the records that a reader would lose. If no record
 * is damaged, reports the damage outside of the records. */
static int verify_rest(struct check *c, struct walk *walk, uint64_t first,
                       const struct sheaf_error *error)
{
    const struct checks *all = c->owner;
    const struct rest rest = {
        .dataset = all->dataset, .shard = c->open, .limit = all->frame_limit,
        .large = &c->owner->large, .interrupt = all->options->interrupt,
        .take = verify_take_item, .context = c,
    };
    int code;

    frames_close(&walk->frames);        /* gives its memory back */
    code = rest_read(&rest, first, &c->error);
    if (code == SHEAF_OK && c->problem_count + c->wrong_count == 0)
        tell_outside(c, &walk->frames.framing, error);
    return code;
}

/* Returns true if the rest of a damaged shard can be read by the index, from record `first` on. */
static bool has_rest(const struct check *c, uint64_t first)
{
    return c->open != NULL && c->open->section->crcs != NULL && first < c->open->section->samples &&
           dataset_source(c->owner->dataset, c->shard)->has_manifest;
}

/* Checks all frames (stored records) of the shard. Sets c->samples to the number of sound ones. */
static int check_frames(struct check *c, struct walk *walk)
{
    for (;;) {
        struct frame frame;
        struct sheaf_error error;
        int code = walk_next(walk, &frame, &error);

        if (code == SHEAF_OK && !is_right(c, walk->frames.given, &frame))
            code = look_again(c, walk, &frame, &error);
        if (code == SHEAF_END)
            return SHEAF_OK;
        if (framing_is_damage(code) && has_rest(c, walk->frames.given))
            return verify_rest(c, walk, walk->frames.given, &error);
        if (framing_is_damage(code)) {
            problem(c, "%s", error.message);
        } else if (code != SHEAF_OK) {
            c->error = error;
            return code;
        } else {
            code = verify_check_frame(c, walk->frames.framing.records - 1, &frame);
            if (code == SHEAF_OK)
                code = add_to_peers(c, &frame);
            if (code != SHEAF_OK)
                return code;
        }
    }
}

static void check_totals(struct check *c, const struct walk *walk, const char *hash)
{
    const struct sheaf_dataset *d = c->owner->dataset;
    const struct manifest_shard *m = &d->manifest.shards[c->shard];

    if (!dataset_source(d, c->shard)->has_manifest) {
        if (c->problem_count == 0 && c->open != NULL && c->samples != m->samples)
            problem(c, "%s: has %" PRIu64 " sample%s when read through, but %" PRIu64 " when it "
                    "was scanned", d->urls[c->shard], c->samples, plural(c->samples), m->samples);
        return;
    }
    if (walk->stored_bytes != m->bytes)
        problem(c, "%s: has %" PRIu64 " byte%s, but the manifest says %" PRIu64, d->urls[c->shard],
                walk->stored_bytes, plural(walk->stored_bytes), m->bytes);
    if (c->samples + c->bad_lines != m->samples)
        problem(c, "%s: has %" PRIu64 " sound sample%s, but the manifest says %" PRIu64,
                d->urls[c->shard], c->samples, plural(c->samples), m->samples);
    if (c->samples + c->bad_lines == m->samples && c->largest != m->largest)
        problem(c, "%s: its largest sample has %" PRIu64 " byte%s, but the manifest says %" PRIu64,
                d->urls[c->shard], c->largest, plural(c->largest), m->largest);
    if (c->decoded == m->samples && c->payload_bytes != m->payload_bytes)
        problem(c, "%s: its fields have %" PRIu64 " byte%s, but the manifest says %" PRIu64,
                d->urls[c->shard], c->payload_bytes, plural(c->payload_bytes), m->payload_bytes);
    if (m->xxh3[0] != '\0' && walk->stored_bytes == m->bytes && strcmp(hash, m->xxh3) != 0)
        problem(c, "%s: XXH3-128 is %s, but the manifest says %s", d->urls[c->shard], hash,
                m->xxh3);
}

static void tell_fault(void *check, const char *file, const char *fault)
{
    problem(check, "%s: %s", file, fault);
}

/* Checks the index files that other programs need to read the shard. Such a file has one line for
 * each record. If the shard is damaged, the files are not checked. If a record is missing, each
 * line after it would be compared with the wrong record, and would be reported. */
static int check_peers(struct check *c)
{
    return c->problem_count != 0 ? SHEAF_OK
                                 : peer_index_end(&c->peers, tell_fault, c, &c->error);
}

/* Waits until the job that opens the shard's index section has ended. This wait always ends,
 * because that job was submitted before the job that calls this function. So another thread runs
 * it, or has already run it.
 *
 * If the section could not be opened, stores the error, and the check goes on. The check reads the
 * shard, and may find a more exact reason, for example that the shard is missing or too long. */
static void await_section(struct check *c)
{
    if (c->held == NULL)
        return;
    workers_wait(c->owner->workers, &c->held->job);
    if (c->held->code == SHEAF_OK)
        c->open = c->held;
    else
        c->open_error = c->held->error;
}

static void verify_check_shard(struct job *job)
{
    struct check *c = (struct check *)(void *)job;
    struct checks *all = c->owner;
    const volatile int *before = interrupt_watch(all->options->interrupt);
    const char *expected = all->dataset->manifest.shards[c->shard].xxh3;
    struct walk walk;
    char hash[33];
    int code;

    await_section(c);
    code = walk_open(&walk, all->dataset, c->shard, c->open == NULL ? NULL : c->open->section,
                     all->frame_limit, all->requests, &all->read_bytes, all->options->interrupt,
                     &c->error);
    if (code == SHEAF_OK) {
        walk_use_large(&walk, &all->large);
        if (c->open_error.message[0] != '\0' &&
            walk.stored_bytes <= all->dataset->manifest.shards[c->shard].bytes)
            problem(c, "%s", c->open_error.message);
        code = peer_index_begin(&c->peers, all->dataset, c->shard, &c->error);
        if (code == SHEAF_OK)
            code = check_frames(c, &walk);
        c->passed_over = framing_passed_over(&walk.frames.framing);
        if (code == SHEAF_OK)
            code = walk_hash(&walk, expected[0] == '\0' ? NULL : expected, hash, &c->error);
        tell_wrong_lines(c, code == SHEAF_OK && expected[0] != '\0' &&
                            strcmp(hash, expected) == 0);
        if (code == SHEAF_OK)
            check_totals(c, &walk, hash);
        if (code == SHEAF_OK)
            code = check_peers(c);
        c->bytes = walk.offset;
        walk_close(&walk);
    }
    /* If an error concerns only this shard, it is reported as a problem of the shard, and the other
     * shards are still checked. */
    if (code < 0 && code != SHEAF_ERR_INTERRUPTED && code != SHEAF_ERR_MEMORY &&
        c->error.reason != SHEAF_REASON_STREAM_MEMORY) {
        problem(c, "%s", c->error.message);
        code = SHEAF_OK;
    }
    buf_free(&c->lines.bytes);
    decode_scratch_free(&c->scratch);
    peer_index_free(&c->peers);
    c->code = code;
    interrupt_watch(before);
}

/* ---- All of them ---------------------------------------------------------------------------- */

static void verify_report(const struct checks *all, const struct check *c,
                          struct sheaf_verify_result *result)
{
    result->shards++;
    result->samples += c->samples;
    result->bytes += c->bytes;
    result->problems += c->problem_count;
    result->passed_over += c->passed_over;
    result->labelled += c->labelled;
    result->unread_labels += c->unread_labels;
    all->key_sums[c->part] += c->key_sum;
    if (result->unlabelled[0] == '\0')
        memcpy(result->unlabelled, c->unlabelled, sizeof(c->unlabelled));
    for (size_t i = 0; all->options->report != NULL && i < c->told; i++)
        all->options->report(all->options->context, dataset_shown(all->dataset, c->shard),
                             &c->problems[i]);
}

static void verify_show_progress(struct checks *all, const struct sheaf_verify_result *result)
{
    const struct sheaf_progress progress = {
        .stage = "verify",
        .done_bytes = atomic_load(&all->read_bytes), .total_bytes = all->total_bytes,
        .done_count = result->samples, .total_count = all->total_samples,
    };

    if (all->options->progress != NULL)
        all->options->progress(all->options->context, &progress);
}

static int begin_keys(struct check *c, const struct sheaf_dataset *d)
{
    const struct sheaf_dataset *source = dataset_source(d, c->shard);
    const struct dataset_part *part;

    if (!source->has_manifest)
        return SHEAF_OK;
    part = dataset_part(d, c->shard);
    c->part = source->first_part + (size_t)(part - source->parts);
    c->first_number = d->first_numbers[c->shard] - source->first_number - part->first_number;
    return key_table_make(&c->keys, part->fingerprint, part->samples, part->keyed, &c->error);
}

/* Begins the check of shard `i`. Starts the job that opens the shard with its index section, and
 * the job that checks the shard. */
static int verify_begin_check(struct checks *all, uint32_t i)
{
    struct check *c = &all->list[i];
    int code = SHEAF_OK;

    c->owner = all;
    c->shard = i;
    c->job.run = verify_check_shard;
    code = begin_keys(c, all->dataset);
    if (code != SHEAF_OK)
        return code;
    if (dataset_source(all->dataset, i)->has_manifest || all->dataset->sections[i] != NULL) {
        code = shards_use(&all->shards, i, false, &c->held, &c->error);
        if (code != SHEAF_OK)
            return code;
    }
    workers_submit(all->workers, &c->job);
    return SHEAF_OK;
}

static int finish_check(struct checks *all, struct check *c, struct sheaf_verify_result *result,
                        struct sheaf_error *err)
{
    while (!workers_wait_for(all->workers, &c->job, PROGRESS_NS))
        verify_show_progress(all, result);
    shards_drop(&all->shards, c->held);
    c->held = c->open = NULL;
    verify_report(all, c, result);
    if (c->code == SHEAF_OK)
        c->code = tally_merge(&all->fields[dataset_source_of(all->dataset, c->shard)], &c->fields,
                              &c->error);
    tally_clear(&c->fields);
    verify_show_progress(all, result);
    if (c->code != SHEAF_OK && err != NULL)
        *err = c->error;
    free(c->problems);
    c->problems = NULL;
    return c->code;
}

static int run_checks(struct checks *all, unsigned window, struct sheaf_verify_result *result,
                      struct sheaf_error *err)
{
    uint32_t begun = all->first;
    int code = SHEAF_OK;

    for (uint32_t i = all->first; code == SHEAF_OK && i < all->end; i++) {
        for (; code == SHEAF_OK && begun < all->end && begun < i + window; begun++) {
            code = verify_begin_check(all, begun);
            if (code != SHEAF_OK && err != NULL)
                *err = all->list[begun].error;
        }
        if (code == SHEAF_OK)
            code = finish_check(all, &all->list[i], result, err);
    }
    workers_cancel(all->workers);
    for (uint32_t i = all->first; i < begun; i++) {
        shards_drop(&all->shards, all->list[i].held);
        free(all->list[i].problems);
        tally_clear(&all->list[i].fields);
    }
    return code;
}

/* Returns the largest size of a frame (stored record) that a thread may read while all other
 * threads also read frames. */
static size_t verify_frame_limit(const struct sheaf_verify_options *own, unsigned threads)
{
    return (size_t)(own->memory_bytes / (2 * threads));
}

/* Chooses the shards that are checked, if the options request only a part of the data set. Each
 * part has about the same number of shards. Shards have about the same size, so each part takes
 * about the same time. */
static void choose_part(struct checks *all)
{
    const struct manifest *m = &all->dataset->manifest;
    const uint64_t count = m->shard_count, parts = MAX(all->options->parts, 1u);

    all->first = (uint32_t)(count * all->options->part / parts);
    all->end = (uint32_t)(count * (all->options->part + (uint64_t)1) / parts);
    all->total_bytes = all->dataset->total_bytes;
    all->total_samples = dataset_samples(all->dataset);
    if (parts == 1)
        return;
    all->total_bytes = all->total_samples = 0;
    for (uint32_t i = all->first; i < all->end; i++) {
        all->total_bytes += m->shards[i].bytes;
        all->total_samples += m->shards[i].samples;
    }
}

/* Returns the number of requests for a remote shard that run at the same time. The requests are
 * divided among the threads, so that all threads together have about AHEAD_PIECES_MOST. */
static unsigned verify_requests(const struct checks *all, unsigned threads)
{
    const unsigned shards = MAX(MIN(threads, all->end - all->first), 1u);

    return (AHEAD_PIECES_MOST + shards - 1) / shards;
}

/* Returns the number of threads. Each thread checks one shard at a time. For a small remote shard,
 * a thread sends only a few requests at a time. In that case there are more threads, until about
 * AHEAD_PIECES_MOST requests run at the same time. */
static unsigned verify_threads(const struct checks *all, const struct sheaf_verify_options *own)
{
    const uint64_t shard_bytes = all->total_bytes / MAX(all->end - all->first, 1u);
    const uint64_t most = MIN(own->memory_bytes / THREAD_BYTES, (uint64_t)AHEAD_PIECES_MOST);
    unsigned threads = own->threads != 0 ? own->threads : MIN(workers_processors(), 8u);

    if (own->threads != 0 || !all->dataset->is_remote)
        return threads;
    while (threads < most
           && threads * walk_requests(shard_bytes, verify_frame_limit(own, threads),
                                      verify_requests(all, threads)) < AHEAD_PIECES_MOST)
        threads++;
    return threads;
}

static int verify_allocate(struct checks *all, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = all->dataset;
    const size_t sources = dataset_source_count(d);

    all->list = calloc(d->manifest.shard_count + 1, sizeof(all->list[0]));
    all->first_classes = calloc(sources + 1, sizeof(all->first_classes[0]));
    all->key_sums = calloc(dataset_part_total(all->dataset) + 1, sizeof(all->key_sums[0]));
    all->fields = calloc(sources, sizeof(all->fields[0]));
    if (all->list == NULL || all->first_classes == NULL || all->key_sums == NULL ||
        all->fields == NULL)
        return err_memory(err, d->manifest.shard_count * sizeof(all->list[0]));
    for (size_t i = 0; i < sources; i++)
        all->first_classes[i + 1] = all->first_classes[i]
                                  + dataset_source_at(d, i)->manifest.class_count;
    all->class_samples = calloc(all->first_classes[sources] + 1, sizeof(all->class_samples[0]));
    return all->class_samples != NULL ? SHEAF_OK : err_memory(err, all->first_classes[sources]);
}

int sheaf_verify(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                 struct sheaf_verify_result *result, struct sheaf_error *err)
{
    struct sheaf_verify_options own;
    struct checks all = { .dataset = dataset, .options = &own };
    unsigned threads;
    int code;

    sheaf_verify_options_init(&own, sizeof(own));
    sized_take(&own, sizeof(own), options);
    memset(result, 0, sizeof(*result));
    code = workers_check("threads", own.threads, err);
    if (code != SHEAF_OK)
        return code;
    if (own.part >= MAX(own.parts, 1u))
        return err_set(err, SHEAF_ERR_ARGUMENT, "part %u of %u: parts are counted from 0 to one "
                       "less than their number", own.part, own.parts);
    if (dataset->format == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe cannot be verified", dataset->url);
    choose_part(&all);
    all.budget.limit = own.memory_bytes;
    threads = verify_threads(&all, &own);
    all.frame_limit = verify_frame_limit(&own, threads);
    all.requests = verify_requests(&all, threads);
    all.large.limit = (size_t)(own.memory_bytes / 2);
    pthread_mutex_init(&all.large.lock, NULL);
    code = verify_allocate(&all, err);
    if (code == SHEAF_OK)
        code = workers_open(&all.workers, threads, err);
    if (code == SHEAF_OK)
        code = repeated_keys_open(&all.repeated, own.memory_bytes, err);
    if (code == SHEAF_OK)
        code = shards_init(&all.shards, dataset, all.workers, &all.budget, NULL, err);
    all.shards.keep_short = true;
    if (code == SHEAF_OK)
        /* The number of checks is twice the number of threads. With fewer checks, threads would be
         * idle while the slowest shard is checked. */
        code = run_checks(&all, 2 * threads, result, err);
    if (code == SHEAF_OK)
        code = verify_keys(dataset, &own, all.key_sums, result, err);
    if (code == SHEAF_OK)
        code = repeated_keys_end(&all.repeated, dataset, &result->repeated_keys,
                                 result->repeated_key, err);
    if (code == SHEAF_OK && own.parts <= 1 && result->problems == 0)
        result->unused_classes = verify_unused(all.class_samples,
                                               all.first_classes[dataset_source_count(dataset)]);
    if (code == SHEAF_OK)
        code = verify_fields(dataset, &own, all.fields, all.class_samples, result, err);
    workers_close(all.workers);
    pthread_mutex_destroy(&all.large.lock);
    repeated_keys_close(&all.repeated);
    verify_fields_free(dataset, all.fields);
    if (all.shards.dataset != NULL)
        shards_free(&all.shards);
    free(all.list);
    free(all.first_classes);
    free(all.key_sums);
    free(all.class_samples);
    return code;
}
