/* SPDX-License-Identifier: MIT
 *
 * sheaf.h - pack many small files into a few large shards, and stream them back shuffled.
 *
 * This header is the manual of libsheaf.  Terms: a SHARD is one container file (TFRecord, RecordIO
 * or WebDataset tar).  A SAMPLE is what training consumes: a key, named FIELDS and labels, the same
 * in every container.  A DATA SET is shards plus their manifest.  An EPOCH is one pass over it.  A
 * LANE is one of the equal sequences that an epoch is divided into.  A RANK of a WORLD SIZE reads
 * its part of an epoch; within a rank, a WORKER of WORKERS does.
 *
 * Rules for all calls:
 *  - Results.  An int result is SHEAF_OK (0), SHEAF_END (1, "no more"), or a negative SHEAF_ERR_
 *    code.  Calls without a handle for the message take a `struct sheaf_error *`, which may be
 *    NULL and is written only on failure.
 *  - Options.  An _init function stores the size and the defaults of an options struct, so that
 *    programs built against an older header keep working; `size` is that of the struct.
 *    An option `interrupt` is NULL or a flag: once it is not 0, the call ends with
 *    SHEAF_ERR_INTERRUPTED.  `progress`, `report` and `plan` are called with `context`.
 *  - Threads.  An object may be used by one thread at a time; different threads may use different
 *    objects.  An open data set never changes, and any number of readers and threads may share it.
 *    sheaf_reader_interrupt may be called from any thread.
 *  - Ownership.  Strings and arrays passed in are borrowed for the length of the call unless
 *    stated otherwise.  Pointers in an _info are valid as long as its object.  NULL may be freed.
 *  - Conservation.  What goes in comes out, or is counted and named as skipped, passed over or
 *    repeated.  At its end, an epoch compares the samples handed out plus the corrupt records with
 *    what was promised (for a stream: found).  A difference is SHEAF_ERR_MISMATCH, not SHEAF_END.
 *  - The library never prints, never exits, and installs no signal handler. */
#ifndef SHEAF_H
#define SHEAF_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define SHEAF_VERSION_MAJOR 0
#define SHEAF_VERSION_MINOR 2
#define SHEAF_VERSION_PATCH 0

/* SHEAF_CALL: a function whose result must be checked. */
#if defined(__GNUC__)
#define SHEAF_API  __attribute__((visibility("default")))
#define SHEAF_CALL __attribute__((visibility("default"), warn_unused_result))
#else
#define SHEAF_API
#define SHEAF_CALL
#endif
/* "MAJOR.MINOR.PATCH" of the library that is running. */
SHEAF_API const char *sheaf_version(void);
struct sheaf_dataset; struct sheaf_reader; struct sheaf_kept; struct sheaf_channel;
struct sheaf_pixels_pool; struct sheaf_pixels_batch;
struct sheaf_plan; struct sheaf_packer; struct sheaf_encoder; struct sheaf_read_options;

/* ---- Errors (sheaf_errors) ------------------------------------------------------------------ */
#define SHEAF_OK    0       /* success; of a reader: a sample was returned */
#define SHEAF_END   1       /* no more samples in this epoch */
/* Each error: name, value, sentence. */
#define SHEAF_ERRORS(X)                                                                         \
    X(MEMORY,      -1,  "out of memory")                                                        \
    X(ARGUMENT,    -2,  "invalid argument")                                                     \
    X(STATE,       -3,  "call not allowed in this state")                                       \
    X(IO,          -4,  "input/output error")                                                   \
    X(NETWORK,     -5,  "network error")                                                        \
    X(ACCESS,      -6,  "access denied")                                                        \
    X(NOT_FOUND,   -7,  "not found")                                                            \
    X(EXISTS,      -8,  "already exists")                                                       \
    X(CORRUPT,     -9,  "corrupt data")                                                         \
    X(TRUNCATED,   -10, "truncated data")                                                       \
    X(UNSUPPORTED, -11, "not supported")                                                        \
    X(LIMIT,       -12, "limit exceeded")                                                       \
    X(INTERRUPTED, -13, "interrupted")                                                          \
    X(CHANGED,     -14, "the data changed while it was in use")                                 \
    X(MISMATCH,    -15, "counts do not agree")
enum sheaf_error_code {
#define SHEAF_ERROR_ENUM(name, value, sentence) SHEAF_ERR_##name = value,
    SHEAF_ERRORS(SHEAF_ERROR_ENUM)
#undef SHEAF_ERROR_ENUM
    SHEAF_ERROR_CODES_END = -16
};
/* Why, where programs can act on it; the wording of messages may change. */
enum sheaf_reason {
    SHEAF_REASON_NONE = 0,
    SHEAF_REASON_DATASET,           /* EXISTS: the destination holds a data set, or is a view */
    SHEAF_REASON_UNFINISHED,        /* EXISTS, NOT_FOUND: ... or an unfinished run */
    SHEAF_REASON_OTHER_PLAN,        /* CHANGED: the unfinished run had another plan */
    SHEAF_REASON_ALTERED,           /* CHANGED: the data set there is not as its manifest says */
    SHEAF_REASON_EXCLUSIVE,         /* ARGUMENT: resume and overwrite */
    SHEAF_REASON_CONVERSION_PLAN, SHEAF_REASON_FILES_PLAN,  /* ARGUMENT: the other is expected */
    SHEAF_REASON_MEMORY, SHEAF_REASON_STREAM_MEMORY,    /* LIMIT: more memory_bytes are needed */
    SHEAF_REASON_FILE_EXISTS,       /* EXISTS: a file to be unpacked exists */
    SHEAF_REASON_NOT_DIRECT,        /* UNSUPPORTED: the channel cannot be read directly */
    SHEAF_REASON_NO_KEYS, SHEAF_REASON_NOT_INDEXED, /* UNSUPPORTED: keys cannot be found */
    SHEAF_REASON_NO_MANIFEST,       /* NOT_FOUND: the manifest of a host's objects */
    SHEAF_REASON_UNUSED_FILTER, SHEAF_REASON_ODD_FIELDS, SHEAF_REASON_BAD_FILES,    /* packing */
    SHEAF_REASON_BUCKET_POLICY,     /* ACCESS: S3 refuses to write, perhaps for want of a header */
    SHEAF_REASON_ODD_IMAGE,         /* packing: as BAD_FILES, and fix_images makes it a JPEG */
    SHEAF_REASON_CLASS_DEPTH,       /* packing: classes are directories of different depths */
    SHEAF_REASON_SIBLING_CLASSES,   /* packing: a data set beside it numbers classes otherwise */
    SHEAF_REASON_REPEATED_KEY,      /* EXISTS: another sample has the key: duplicate_keys */
    SHEAF_REASON_SOURCE_LOST,       /* packing: the source cannot be read, whatever the file */
    SHEAF_REASON_SOURCE_CHANGED,    /* packing: a file vanished or changed since the scan */
    SHEAF_REASON_TOO_MANY_SKIPPED   /* packing: max_skipped */
};
struct sheaf_error {
    int code;               /* a SHEAF_ERR_ code */
    char message[1016];     /* one line: where (shard, offset, record), found, expected */
    int reason;             /* of enum sheaf_reason */
};
SHEAF_API const char *sheaf_strerror(int code);     /* the sentence of a code; never NULL */

/* Text for display on one line: invalid UTF-8, control characters (C1 too) and those that change
 * the writing direction become \xNN, one per byte.  Messages of this library are so already; names
 * of samples, shards and classes are not.  Writes at most `size` bytes; returns the full length. */
SHEAF_API size_t sheaf_show(const char *text, char *out, size_t size);

/* ---- Samples (sheaf_sample) ----------------------------------------------------------------- */
/* The bytes of one file.  The name is what follows the first dot of the file's base name, in lower
 * case ("jpg", "seg.png"); the suffix has the file's own case ("JPG"). */
struct sheaf_field {
    const char *name;
    const char *suffix;     /* differs from name in case only; NULL on input: `name` */
    const void *data;
    size_t size;            /* bytes */
};

/* The key is the path up to that dot ("001.ak47/001_0001").  A sample may have no label.  A label
 * is a whole number of magnitude up to 2^53, or a number that a 32-bit float represents exactly.
 * On input, a whole number is never changed: it is rejected if it is neither.  Other numbers are
 * rounded to the nearest 32-bit float, so 0.1 becomes 0.10000000149011612.  The same holds for
 * labels in lists and in files called .cls, in every container.  Text is UTF-8. */
struct sheaf_sample {
    const char *key;
    const struct sheaf_field *fields; size_t field_count;
    const double *labels; size_t label_count;
    const char *class_name; /* of the label, if the data set names its classes; or NULL */
    uint64_t number;        /* 0-based, in the data set, in manifest order; `record` in streams */
    uint32_t shard;         /* 0-based, in manifest order */
    uint64_t record;        /* 0-based, within the shard */
    uint64_t ordinal;       /* of a reader: 0-based, in its part of the epoch; skipped corrupt
                               records count; not for a resumed stream */
    int repeated;           /* of a reader: 1: it pads its lane, and was returned before */
    uint64_t seed;          /* of a reader: for all that is drawn at random for the sample; a hash
                               of its options.seed, the source and its epoch, and the number
                               there (ORDER.md), the same in any container */
};

enum sheaf_container { SHEAF_TFRECORD = 1, SHEAF_RECORDIO = 2, SHEAF_WEBDATASET = 3 };
enum sheaf_codec { SHEAF_CODEC_NONE = 0, SHEAF_CODEC_GZIP = 1, SHEAF_CODEC_LZ4 = 2,
                   SHEAF_CODEC_ZSTD = 3 };

/* The names: "tfrecord", "recordio", "webdataset"; "none", "gzip", "lz4", "zstd"; NULL for another
 * value.  _of: the reverse, also of aliases such as "wds"; -1 for an unknown name. */
SHEAF_API const char *sheaf_container_name(enum sheaf_container container);
SHEAF_API const char *sheaf_codec_name(enum sheaf_codec codec);
SHEAF_API int sheaf_container_of(const char *name);
SHEAF_API int sheaf_codec_of(const char *name);
/* What to do about a bad file (packing) or a bad record (reading). */
enum sheaf_on_error { SHEAF_FAIL = 0, SHEAF_SKIP = 1 };

/* ---- Progress and reports (sheaf_progress) -------------------------------------------------- */
struct sheaf_progress {
    const char *stage;          /* "scan", "pack", "verify", ...; static */
    uint64_t done_bytes, total_bytes;   /* done <= total, unless total is 0: not known */
    uint64_t done_count, total_count;   /* files or samples */
};
/* Called about ten times a second, and at a stage's end, from the thread that made the call. */
typedef void sheaf_progress_fn(void *context, const struct sheaf_progress *progress);
/* Reports one bad file or record that is skipped.  `where` is the file or shard. */
typedef void sheaf_report_fn(void *context, const char *where, const struct sheaf_error *error);
/* `notice` is called, with code SHEAF_OK, for what is worth knowing and belongs to no call, as a
 * bucket in another region, a pipe without a writer.  From any thread; it makes no calls. */
SHEAF_API void sheaf_on_notice(sheaf_report_fn *notice, void *context);

/* ---- Data set (sheaf_dataset) ---------------------------------------------------------------
 * A data set is opened from one or more sources:
 *   - a directory with a dataset.json (written by the packer), or the path of that file;
 *   - foreign shards, which need no manifest: a directory of them (in byte order of names), a
 *     pattern "train-{000000..000007}.tar" or "train-*.tar", a file, several of these, "@FILE" for
 *     a text file with one path per line, or "-" for standard input.
 * Container and codec are detected from content.  Local foreign uncompressed shards are scanned at
 * open to count and locate the samples.  Compressed and remote ones and standard input are read as
 * streams: their counts are unknown until their end, so whole shards are assigned to lanes.
 *
 * Several sources form a UNION: one data set of all samples, source after source in the order
 * given.  Adjacent foreign shards are one source.  Each source keeps its manifest, index,
 * checksums, container, codec and keys, so that a key may occur in two of them: sample.shard tells
 * them apart (shard_info.source).
 *   - Classes are merged by name.  The first source keeps its numbers; a new class gets the next
 *     number, in the order of its source; label_base is that of the first source.  Labels are the
 *     merged numbers.  If a source's numbers do not change, its labels of any kind are kept; if
 *     they do, a sample whose labels are not one class of its source, or which has a field cls
 *     with the number, is SHEAF_ERR_UNSUPPORTED when it is read.
 *   - Rejected at open: a mix of sources with and without class names, and class lists that differ
 *     and contain a name twice (_UNSUPPORTED); streams (_UNSUPPORTED); the same data set twice, by
 *     fingerprint (_ARGUMENT).  Foreign shards are read as often as they are named.
 *   - The fingerprint combines those of the sources in order: positions are of one union alone. */
struct sheaf_shard_info {
    const char *name;           /* below its source's directory; of foreign shards as given */
    uint64_t bytes, payload_bytes, samples; /* as stored; of its fields' content, 0: not known */
    const char *xxh3;           /* XXH3-128 of the stored bytes, 32 hex digits; NULL: not known */
    size_t source;              /* 0-based index of its source */
};
#define SHEAF_SURVEY_DECADES 8
struct sheaf_field_info {       /* over all samples */
    const char *name, *lacking; /* the key of the first sample without it; NULL: none, unknown */
    uint64_t samples, bytes;    /* that have it; all together */
    uint64_t least_bytes, median_bytes, most_bytes;     /* the median within 5 % */
    uint64_t decades[SHEAF_SURVEY_DECADES];     /* of less than 1 kB, 10 kB, ...; and the rest */
};
/* One source of a data set, as if it were opened alone. */
struct sheaf_source_info {
    const char *url;            /* as given; the first of foreign shards */
    int has_manifest;
    enum sheaf_container container;
    enum sheaf_codec codec;
    size_t first_shard, shard_count;    /* its shards and samples in the data set */
    uint64_t first_number, samples;
    size_t class_count;
    int label_base;
    const char *fingerprint, *manifest_json;    /* the manifest's text; NULL of foreign shards */
    const char *same_as;        /* URL of an earlier source that seems to be the same, or NULL */
    uint64_t chosen; double share;  /* samples that a view chose, else all; part of an epoch */
    uint64_t weight, shared;    /* in a view; and how many an earlier source chose, too */
};
struct sheaf_dataset_info {
    const char *url;            /* the first source, as given */
    int has_manifest;           /* all of several sources have one */
    int is_stream;              /* counts are unknown, and it can only be read forward */
    enum sheaf_container container; /* 0: its sources differ */
    enum sheaf_codec codec;         /* if they differ, that of a compressed one */
    uint64_t samples;           /* 0 for a stream */
    uint64_t bytes, payload_bytes;
    size_t shard_count, class_count;    /* no classes: labels have no names */
    int label_base;             /* the number of the first class, 0 or 1 */
    const char *fingerprint;    /* 32 hex digits; "": it has no positions (standard input) */
    const char *manifest_json;  /* its text; NULL for foreign shards, or several sources */
    size_t source_count;        /* at least 1 */
    int is_view; uint64_t epoch_samples;    /* of all ranks, before the remainder */
    uint32_t host, hosts; size_t all_shards;    /* of a ShardedByS3Key channel; else 0, 0, all */
    int counts_fields, counts_classes; size_t field_count;  /* fields: 0 of over 256 names, too */
    uint64_t images_converted, images_resized;  /* by packing; 0 of a view; UINT64_MAX: unknown */
    uint64_t skipped;           /* files that packing left out; samples, if they were converted */
};
SHEAF_CALL int sheaf_dataset_open(const char *const *sources, size_t source_count,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* The identity of the samples as 32 digits: a hash of fingerprint and shards' locations, and for
 * foreign shards inodes and times, or ETags.  SHEAF_ERR_UNSUPPORTED: it can be read only once. */
SHEAF_CALL int sheaf_dataset_identity(const struct sheaf_dataset *dataset, char identity[33],
    struct sheaf_error *error);
SHEAF_API void sheaf_dataset_free(struct sheaf_dataset *dataset);   /* after its readers */
SHEAF_API void sheaf_dataset_get_info(const struct sheaf_dataset *dataset,
    struct sheaf_dataset_info *info, size_t sizeof_info);
/* A shard, and a source.  SHEAF_ERR_ARGUMENT: the index is too large. */
SHEAF_CALL int sheaf_dataset_shard(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_shard_info *info, size_t sizeof_info);
SHEAF_CALL int sheaf_dataset_source(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_source_info *info, size_t sizeof_info);
/* A field, in byte order of names, below info.field_count. */
SHEAF_CALL int sheaf_dataset_field(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_field_info *info, size_t sizeof_info);
/* How many samples each class has; unless counts_classes, the index is read (or _UNSUPPORTED). */
SHEAF_CALL int sheaf_dataset_class_samples(const struct sheaf_dataset *dataset, uint64_t *samples,
    struct sheaf_error *error);
/* The label of each sample (of a view: of its sources, chosen or not), -1 if it has none, from the
 * index; no data is read.  _UNSUPPORTED: the index has no labels (vectors, fractions). */
SHEAF_CALL int sheaf_dataset_labels(const struct sheaf_dataset *dataset, int64_t *labels,
    struct sheaf_error *error);
/* At most `count` samples (of a view: chosen), evenly over labels if the index has them. */
SHEAF_CALL int sheaf_dataset_draw(const struct sheaf_dataset *dataset, size_t count,
    uint64_t *numbers, size_t *drawn, struct sheaf_error *error);
/* The name of class number `index` (0-based, whatever the label base); NULL if there is none. */
SHEAF_API const char *sheaf_dataset_class(const struct sheaf_dataset *dataset, size_t index);

/* ---- Views (sheaf_view) ---------------------------------------------------------------------
 * A view chooses and mixes samples of sources: a JSON document (FORMATS.md) in a file *.view or
 * *.json, which opens like a data set, in version 2 of the order.  This writes `document` in its
 * canonical form to `path`, to whose directory its paths are relative, and what conditions on keys
 * chose, read as `reading` says (or NULL), to PATH.chosen.  _EXISTS, unless `overwrite`. */
SHEAF_CALL int sheaf_view_write(const char *document, const char *path, int overwrite,
    const struct sheaf_read_options *reading, struct sheaf_error *error);
/* What a source's chosen samples take in its shards, and what is read for them: small gaps along,
 * and whole blocks.  Unless all were chosen, reads the index of shards where some were. */
SHEAF_CALL int sheaf_dataset_reading(const struct sheaf_dataset *dataset, size_t source,
    uint64_t *chosen_bytes, uint64_t *read_bytes, struct sheaf_error *error);
/* After how many samples of the run stage `stage` (from 0) of a view begins, and the sources'
 * weights in it, valid as long as the data set.  SHEAF_ERR_ARGUMENT: there is none. */
SHEAF_CALL int sheaf_dataset_stage(const struct sheaf_dataset *dataset, size_t stage,
    uint64_t *samples, const uint64_t **weights);
/* Writes a file of chosen samples beside the view at `path`; name: for its condition "numbers". */
SHEAF_CALL int sheaf_view_write_numbers(const struct sheaf_dataset *source, const uint64_t *numbers,
    size_t count, const char *path, char name[48], struct sheaf_error *error);

/* ---- Random access (sheaf_random_access) ---------------------------------------------------- */
struct sheaf_read_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t memory_bytes;          /* 1 GiB: hard ceiling for reads, and frames until freed */
    sheaf_progress_fn *progress;    /* NULL; counts nothing: it is called while the call waits */
    void *context; const volatile int *interrupt;
};
SHEAF_API void sheaf_read_options_init(struct sheaf_read_options *options, size_t size);

/* Reads `count` samples by their numbers (sheaf_sample.number), in any order, with repetitions:
 * samples[i] has the number numbers[i].  Any number of threads may call it on one data set.
 * Reads run concurrently, and one read covers samples that are close together (within 64 KiB in a
 * file, 1 MiB remotely, in one block of a codec).  Each sample is checked as by a reader; if one is
 * bad, none is returned.  *samples are valid until sheaf_kept_free, while the data set is open.
 * The data set keeps the latest 64 shards and their indexes (at most 256 MiB) open for later calls;
 * a forked child opens its own.  `options` may be NULL.  SHEAF_ERR_ARGUMENT: a number that does not
 * exist, or no number; _UNSUPPORTED: a stream; _LIMIT: not enough memory. */
SHEAF_CALL int sheaf_dataset_read(const struct sheaf_dataset *dataset, const uint64_t *numbers,
    size_t count, const struct sheaf_read_options *options, const struct sheaf_sample **samples,
    struct sheaf_kept **kept, struct sheaf_error *error);
/* Finds samples by their keys and reads them as sheaf_dataset_read does.  Those with keys[i] are
 * (*samples)[(*firsts)[i]] to before [(*firsts)[i + 1]], in the order of their numbers: none if the
 * key is not there, several if it occurs several times.  A key takes two small reads of its
 * source's dataset.keys.  _UNSUPPORTED: there is none (see sheaf_index_keys); _CHANGED: another. */
SHEAF_CALL int sheaf_dataset_find(const struct sheaf_dataset *dataset, const char *const *keys,
    size_t count, const struct sheaf_read_options *options, const struct sheaf_sample **samples,
    const size_t **firsts, struct sheaf_kept **kept, struct sheaf_error *error);

/* ---- Reader (sheaf_reader) ------------------------------------------------------------------
 * To read epochs: options_init, _open (the first epoch is options.epoch), _next until SHEAF_END,
 * _begin_epoch for another epoch, and _free.
 *
 * The order of an epoch depends only on (data set, seed, epoch, lanes, shuffle buffer);
 * reader/ORDER.md specifies it.  Over all ranks and workers each sample is read exactly once per
 * epoch, except as `remainder` specifies. */

/* If the number of lanes does not divide the samples.  KEEP: lengths of lanes differ by one.  DROP:
 * the remainder, at most lanes - 1 samples, is left out.  PAD: shorter lanes repeat one sample. */
enum sheaf_remainder { SHEAF_REMAINDER_AUTO = 0, SHEAF_KEEP = 1, SHEAF_DROP = 2, SHEAF_PAD = 3 };

/* Called before the first `bytes` of options.memory are used, so that they can be made available.
 * A nonzero result means that they cannot; the reader then continues with less memory if it can. */
typedef int sheaf_memory_fn(void *context, size_t bytes);
struct sheaf_reader_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t seed;                  /* 0 */
    uint64_t epoch;                 /* 0: the first epoch to read */
    int no_shuffle;                 /* 0; 1: manifest order, no shuffling at all */
    uint64_t shuffle_buffer;        /* samples, over all lanes; 10000; 0: only permute shards */
    uint32_t lanes;                 /* 0: world_size x workers; else a multiple of that */
    uint32_t rank, world_size;      /* 0 of 1 */
    uint32_t worker, workers;       /* 0 of 1 */
    enum sheaf_remainder remainder; /* AUTO: KEEP alone, PAD if world_size > 1 */
    uint64_t memory_bytes;          /* hard ceiling for prefetch, buffer and index; 1 GiB */
    unsigned threads;               /* that read and check ahead; 0: one per processor, at most
                                       8; one less for local files, as next() works, too */
    enum sheaf_on_error on_corrupt; /* FAIL; SKIP: skip bad records, also those with over 1,024
                                       fields or 65,536 labels; CORRUPT if all are bad */
    uint64_t max_corrupt;           /* with SKIP: fail at the next one; UINT64_MAX: no limit */
    sheaf_report_fn *report; void *report_context;  /* NULL; for each record skipped, from next() */
    const char *cache_directory;    /* NULL; for remote shards; processes may share it */
    uint64_t cache_bytes;           /* its size limit, least recently used first out; 64 GB */
    void *memory;                   /* NULL; else memory_bytes of memory, page-aligned, for
                                       samples (see sheaf_reader_keep) */
    sheaf_memory_fn *memory_needed; void *memory_context;   /* NULL */
};
SHEAF_API void sheaf_reader_options_init(struct sheaf_reader_options *options, size_t size);

/* The rank and world size of this process, from the first of these in its environment: RANK and
 * WORLD_SIZE (torchrun); OMPI_COMM_WORLD_RANK and _SIZE (Open MPI); SLURM_PROCID and SLURM_NTASKS
 * (in a step of srun, which has a SLURM_STEP_ID: a batch script has them, too, but is one process);
 * SM_CURRENT_HOST and SM_HOSTS, or else resourceconfig.json in the directory `config` (SageMaker;
 * NULL: /opt/ml/input/config), where the rank is the host's index in the list.  *source, if not
 * NULL, is set to a static string that names it.  SHEAF_END: none of them.  SHEAF_ERR_ARGUMENT: an
 * invalid value, or one of torchrun's or Open MPI's two without the other (Slurm sets one alone in
 * jobs without ranks).  No other call of the library reads these variables. */
SHEAF_CALL int sheaf_world_from_environment(const char *config, uint32_t *rank,
    uint32_t *world_size, const char **source, struct sheaf_error *error);

/* Borrows the data set until sheaf_reader_free.  memory_bytes must hold the largest sample, the
 * index of its shard, and 64 bytes per sample of the shuffle buffers (with a codec, also 64 KiB,
 * remotely 1 MiB); otherwise SHEAF_ERR_LIMIT, with a size that is enough.  Other samples that do
 * not fit are read when they are drawn; with a codec, a block is unpacked again for as many as fit.
 * In addition to memory_bytes, a process takes at most 32 MiB: connections, stacks, codecs. */
SHEAF_CALL int sheaf_reader_open(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, struct sheaf_reader **reader,
    struct sheaf_error *error);
SHEAF_API void sheaf_reader_free(struct sheaf_reader *reader);
/* Starts an epoch, wherever the reader was. */
SHEAF_CALL int sheaf_reader_begin_epoch(struct sheaf_reader *reader, uint64_t epoch);
/* Starts it at sample `sample`, from 0, of this reader's part of it; earlier ones are not read.
 * SHEAF_ERR_ARGUMENT: the part has fewer samples, or it is a stream. */
SHEAF_CALL int sheaf_reader_seek(struct sheaf_reader *reader, uint64_t epoch, uint64_t sample);
/* The samples in this reader's part of the epoch, with corrupt records; UINT64_MAX for a stream. */
SHEAF_API uint64_t sheaf_reader_epoch_samples(const struct sheaf_reader *reader);
/* The next sample, valid until the next call on this reader.  SHEAF_END at the end of the epoch.
 * After SHEAF_ERR_CORRUPT or _TRUNCATED under on_corrupt = FAIL, and after any other error except
 * INTERRUPTED, only _error, _get_stats and _free may be called. */
SHEAF_CALL int sheaf_reader_next(struct sheaf_reader *reader, const struct sheaf_sample **sample);
/* Up to `max` samples (0: SHEAF_ERR_ARGUMENT), valid until the next call on this reader.  SHEAF_OK
 * with *count >= 1, or as sheaf_reader_next; an error after some samples is for the next call. */
SHEAF_CALL int sheaf_reader_next_batch(struct sheaf_reader *reader, size_t max,
    const struct sheaf_sample **samples, size_t *count);
/* Detaches the samples of the last call from the reader: *samples (*count of them) stay valid until
 * sheaf_kept_free, even after reader and data set are freed.  The pointers which that call returned
 * become invalid.  Samples of 4 KiB or more are not copied while the reader's memory budget, in
 * which they stay, has room for them and for the neighbours in the same piece of memory (about a
 * MiB; 8 for remote shards).  Others are copied to memory outside the budget, with fields of equal
 * index and size back to back.  SHEAF_ERR_STATE: there are no samples, or they were detached.
 * Samples that are not copied lie in options.memory, if it is set: another process or a device that
 * sees this memory needs no copy either.  It is the reader's until that and samples are freed. */
SHEAF_CALL int sheaf_reader_keep(struct sheaf_reader *reader, const struct sheaf_sample **samples,
    size_t *count, struct sheaf_kept **kept);
SHEAF_API void sheaf_kept_free(struct sheaf_kept *kept);    /* from any thread */
#define SHEAF_POSITION_SIZE 257     /* with its NUL */
#define SHEAF_BACK_MOST ((uint64_t)1 << 20)
/* Writes the reader's position: printable text of at most 256 bytes, with a checksum, valid on any
 * machine.  SHEAF_ERR_UNSUPPORTED for standard input, and for pipes that the platform shuffles. */
SHEAF_CALL int sheaf_reader_position(const struct sheaf_reader *reader,
    char text[SHEAF_POSITION_SIZE]);
/* The same, `back` samples ago, for programs that read ahead: `back` reaches to where the epoch was
 * started or resumed, and at most SHEAF_BACK_MOST (else SHEAF_ERR_ARGUMENT). */
SHEAF_CALL int sheaf_reader_position_back(const struct sheaf_reader *reader, uint64_t back,
    char text[SHEAF_POSITION_SIZE]);
/* Resumes at a position; seed, epoch, lanes, buffer and remainder come from the text.  A position
 * after a whole round of the lanes fits any world_size x workers that divides lanes; any other fits
 * only the same rank and worker.  SHEAF_ERR_CHANGED: the position is of another data set.
 * SHEAF_ERR_ARGUMENT: it is damaged, or outside the epoch (of a stream: from _next). */
SHEAF_CALL int sheaf_reader_resume(struct sheaf_reader *reader, const char *text);
/* The fingerprint in a position after `samples` samples of all ranks of options->epoch: of a view
 * that of its stages up to there, so that one which is appended leaves earlier positions valid. */
SHEAF_CALL int sheaf_dataset_fingerprint_at(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, uint64_t samples, char fingerprint[33],
    struct sheaf_error *error);
/* Makes a blocked or the next sheaf_reader_next return SHEAF_ERR_INTERRUPTED, once; the reader
 * then continues normally.  From any thread, and from a signal handler. */
SHEAF_API void sheaf_reader_interrupt(struct sheaf_reader *reader);
struct sheaf_reader_stats {
    uint64_t samples, payload_bytes;    /* handed out, over all epochs; of their fields */
    uint64_t read_bytes;            /* of shards and indices, from the store or the cache */
    uint64_t corrupt;               /* records skipped; <= samples of the data set x epochs */
    uint64_t stall_ns;              /* time in which next() waited for data */
    uint64_t first_sample_ns;       /* from open to the first sample */
    uint64_t memory_bytes, memory_peak_bytes;   /* in use <= peak <= options.memory_bytes */
    uint64_t cached_bytes;          /* from the cache instead of the store, in whole blocks */
    uint64_t epoch;                 /* the current one */
    uint64_t uncached_objects;      /* opened but not cached: they have no strong ETag */
    uint64_t passed_over;           /* members of foreign tars that are no sample's: links, ... */
    uint64_t repeated;              /* samples repeated to pad a lane; <= samples */
    uint64_t lost_bytes;            /* of foreign shards: behind damage, no record up to the end */
    uint64_t chosen_bytes;          /* of shards, for the samples alone; read_bytes has gaps, too */
    uint64_t requests, retries;     /* HTTP, of the whole process; reader NULL: only these */
};
SHEAF_API void sheaf_reader_get_stats(const struct sheaf_reader *reader,
    struct sheaf_reader_stats *stats, size_t sizeof_stats);
/* The last error of this reader; valid until the next call on it. */
SHEAF_API const struct sheaf_error *sheaf_reader_error(const struct sheaf_reader *reader);

/* ---- Channels (sheaf_channel) ---------------------------------------------------------------
 * A channel is a data set that a platform gives to a training job under a name.  SageMaker's
 * containers have them below /opt/ml; the same layout can be created anywhere.  The first of these
 * that exists decides how channel NAME is read:
 *   1) ROOT/input/data/NAME is a directory (File and FastFile mode, FSx for Lustre, EFS): a source
 *      like any other;
 *   2) ROOT/input/data/NAME_0 or a later number is a named pipe (Pipe mode): the reader's epochs
 *      come from the pipes NAME_0, NAME_1, ... in the platform's order, shuffled by our buffer;
 *   3) the variable SM_CHANNEL_NAME (in capitals) names a directory;
 *   4) ROOT/input/config/inputdataconfig.json, or else the variable SM_INPUT_DATA_CONFIG, has a
 *      "TrainingInputMode" of "Pipe" for NAME: the library waits for the pipe;
 *   5) it has a "DataSource": {"S3DataSource": {"S3Uri": ...}}, as in a SageMaker training job; the
 *      URI may name any source, which is read directly ("S3DataType": "S3Prefix", or
 *      "ManifestFile", whose objects are read as if in a directory).
 *
 * Pipes.  Epoch E is the pipe NAME_E; if the first epoch requested has none, but another is being
 * written to, that one is read, and later epochs follow it.  Objects of any container come one
 * after another, plain or compressed by gzip.  There is no manifest: a tar's `cls` members are
 * fields, RecordIO's keys are generated, and only damage to the stream itself is detected.  One
 * process can read a pipe; in a world of hosts, each reads its own pipe to the end and takes its
 * share of the samples (lanes equal the world size; workers is 1).  A feeder that ends in the
 * middle of a record is SHEAF_ERR_TRUNCATED.  A sample of an augmented manifest has a field for
 * each NAME-ref, whose name is detected from its content, and for each other attribute.  But a
 * `label` (or else `class`) that is a number or an array of numbers is the label.  Positions work
 * if the platform does not shuffle (no "ShuffleConfig"): resuming reads forward. */
enum sheaf_channel_kind { SHEAF_CHANNEL_DIRECTORY = 1, SHEAF_CHANNEL_PIPE = 2,
                          SHEAF_CHANNEL_DIRECT = 3 };   /* from S3 or another store */
struct sheaf_channel_options {
    size_t sizeof_options;          /* set by _init */
    const char *root;               /* "/opt/ml" */
    uint64_t wait_seconds;          /* 600: for a pipe, and then for its first byte */
    const char *attributes;         /* NULL: as configured; "image-ref,label": of an augmented
                                       manifest in a pipe: each a RecordIO record, in order */
    const char *manifest;           /* dataset.json of a host's part, path or URL; NULL: there */
};
/* Strings that are not specified are "". */
struct sheaf_channel_info {
    const char *name;
    enum sheaf_channel_kind kind;
    const char *location;           /* directory; prefix of the pipes' names; or source */
    const char *file_system;        /* of a directory: "local", "FUSE", "Lustre" or "NFS" */
    const char *mode;               /* "File", "FastFile" or "Pipe", as the platform says: a hint */
    const char *content_type;
    const char *compression;        /* "None" or "Gzip" */
    const char *record_wrapper;     /* "None" or "RecordIO" */
    const char *distribution;       /* "FullyReplicated" or "ShardedByS3Key" */
    int has_shuffle_seed;           /* the platform shuffles whole objects, with this seed: */
    int64_t shuffle_seed;
    const char *description;        /* one line: what was found, and how it will be read */
};
SHEAF_API void sheaf_channel_options_init(struct sheaf_channel_options *options, size_t size);
/* Detects the channel.  `options` may be NULL.  _NOT_FOUND: there is none of that name (the message
 * lists others); _ARGUMENT: not 1 to 64 of A-Z a-z 0-9 . - _; _CORRUPT: invalid configuration. */
SHEAF_CALL int sheaf_channel_open(const char *name, const struct sheaf_channel_options *options,
    struct sheaf_channel **channel, struct sheaf_error *error);
SHEAF_API void sheaf_channel_free(struct sheaf_channel *channel);
SHEAF_API void sheaf_channel_get_info(const struct sheaf_channel *channel,
    struct sheaf_channel_info *info, size_t sizeof_info);
/* Opens the channel as a data set, which outlives it.  Of a host's part of the objects
 * (ShardedByS3Key) positions are this host's, and epochs are as long as on other hosts (PAD, the
 * default, or DROP; ORDER.md, section 3), or _UNSUPPORTED. */
SHEAF_CALL int sheaf_channel_dataset(const struct sheaf_channel *channel,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* sheaf_world_from_environment for readers of this channel.  If each host has its own
 * objects (ShardedByS3Key), the world is the processes of this host: LOCAL_RANK, LOCAL_WORLD_SIZE;
 * OMPI_COMM_WORLD_LOCAL_RANK, _SIZE; in a step SLURM_LOCALID, SLURM_NTASKS_PER_NODE; else 0 of 1.
 * _ARGUMENT: the world is neither this host's nor that of equally many on each. */
SHEAF_CALL int sheaf_channel_world(const struct sheaf_channel *channel, uint32_t *rank,
    uint32_t *world_size, const char **source, struct sheaf_error *error);
/* Sets `options` (initialised) from the job's hyperparameters sheaf_seed, sheaf_epoch,
 * sheaf_shuffle_buffer and sheaf_lanes, each the text of a whole number, in
 * ROOT/input/config/hyperparameters.json or else the variable SM_HPS; others stay unchanged.
 * SHEAF_ERR_ARGUMENT: another name that begins with sheaf_, an invalid number, no JSON object. */
SHEAF_CALL int sheaf_channel_order(const struct sheaf_channel *channel,
    struct sheaf_reader_options *options, struct sheaf_error *error);
/* Tells the platform why the job fails: writes the message (at most 1024 bytes) to
 * ROOT/output/failure.  `root` NULL: /opt/ml.  SHEAF_ERR_NOT_FOUND: no ROOT. */
SHEAF_CALL int sheaf_channel_report_failure(const char *root, const char *message,
    struct sheaf_error *error);

/* ---- The plan of an epoch, without reading data (sheaf_epoch) -------------------------------
 * A range of one shard that one worker of one rank reads, in one lane. */
struct sheaf_stretch {
    uint32_t rank, worker, lane;
    uint32_t shard;             /* in manifest order */
    uint64_t first_record;
    uint64_t samples;
};
typedef void sheaf_stretch_fn(void *context, const struct sheaf_stretch *stretch);

/* Calls `each` for every stretch of every lane of options->epoch, in the order of (rank, worker,
 * lane, sequence).  rank and worker are ignored.  _UNSUPPORTED: a stream. */
SHEAF_CALL int sheaf_dataset_plan(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, sheaf_stretch_fn *each, void *context,
    struct sheaf_error *error);

/* A coming of a sample in an epoch; all numbers are 0-based. */
struct sheaf_coming {
    size_t asked;               /* whose: of numbers[asked] */
    uint64_t sample;            /* which of the epoch's, over all ranks */
    uint32_t rank;
    uint64_t ordinal;           /* which of the rank's; in its step ordinal / B, of batches of B */
};
typedef void sheaf_coming_fn(void *context, const struct sheaf_coming *coming);
/* When samples come in options->epoch: calls `each` for every coming of the samples with these
 * numbers, in the order of the epoch.  One that is dropped does not come; one that pads a lane
 * comes again.  rank and worker are ignored; lanes are replayed.  _UNSUPPORTED: a stream. */
SHEAF_CALL int sheaf_dataset_locate(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, const uint64_t *numbers, size_t count,
    sheaf_coming_fn *each, void *context, struct sheaf_error *error);
enum { SHEAF_MIXING_POINTS = 1000, SHEAF_MIXING_BATCH = 256 };
/* How well options->epoch is shuffled, compared with an ideal shuffle of the manifest's order. */
struct sheaf_mixing {
    uint64_t samples;                   /* of the epoch, over all ranks */
    double displacement, ideal_displacement;    /* mean distance from the manifest position */
    double neighbours, ideal_neighbours;        /* share within 100 steps of its next */
    int has_labels;                     /* the index knows the labels; else zeros follow */
    double label_run, ideal_label_run;  /* mean length of runs of one label */
    uint64_t longest_label_run;
    double batch_labels, ideal_batch_labels;    /* mean number in SHEAF_MIXING_BATCH samples */
    size_t point_count;                 /* for a plot: samples at equal steps of the epoch; their */
    double came[SHEAF_MIXING_POINTS], lay[SHEAF_MIXING_POINTS]; /* positions, in [0, 1) */
};
SHEAF_CALL int sheaf_dataset_mixing(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, struct sheaf_mixing *mixing, size_t sizeof_mixing,
    struct sheaf_error *error);

/* ---- Packing a source (sheaf_pack) ----------------------------------------------------------
 * sheaf_pack makes a data set from files, in one call.  The source is one of
 *   - a directory tree: a file's directory is its class;
 *   - s3://BUCKET/PREFIX: a tree of objects;
 *   - a list, by its name: *.lst (MXNet: index, label[s], path), *.csv and *.tsv (path, label[s]),
 *     *.jsonl, any other file (a path per line; the directory is the class).  Columns of a header
 *     and members of JSON Lines are the path if they are called path, file, file_name, filename or
 *     image, and the label if they are called label, labels, class or class_name, in upper or lower
 *     case; a class beside a label that is a number is its name; others become fields;
 *   - SageMaker's manifest file or augmented manifest (packer/source/augmented.h), *.manifest,
 *     *.json or *.jsonl, by its content;
 *   - an archive, *.tar, *.zip, *.tar.gz, ..., if remote copied first: the directory it unpacks to.
 * Files whose paths agree up to the first dot of the base name are one sample.  The plan (keys,
 * labels, order, shards), made before any file is read, and the files determine every byte. */
/* One shard of a plan. */
struct sheaf_plan_shard {
    const char *split;          /* the split's name; "" without splits */
    const char *name;           /* "shard-000000.tar" */
    uint64_t samples, payload_bytes;
};
typedef void sheaf_plan_fn(void *context, const struct sheaf_plan_shard *shard);
/* A class of a plan, and how many samples have it (not counting those with a file .cls). */
struct sheaf_class_count { const char *name; int64_t number; uint64_t samples; };
typedef void sheaf_class_count_fn(void *context, const struct sheaf_class_count *count);
enum sheaf_key_end { SHEAF_FIRST_DOT = 0, SHEAF_LAST_DOT = 1 };    /* of the base name */
/* Paths below the source, by a pattern as in a .gitignore, and whether they are packed. */
struct sheaf_filter { const char *pattern; int packs; };
enum sheaf_resize_mode { SHEAF_SHORTER = 0, SHEAF_LONGER = 1, SHEAF_EXACT = 2 };
enum sheaf_check_images { SHEAF_CHECK_MARKERS = 0, SHEAF_CHECK_DECODE = 1, SHEAF_CHECK_NONE = 2,
                          SHEAF_CHECK_USUAL = 3 };
/* A sample whose key another sample of the data set has: it is an error, or it gets the first free
 * key of KEY-2, KEY-3, ..., or it is left out. */
enum sheaf_duplicate_keys { SHEAF_DUPLICATE_FAIL = 0, SHEAF_DUPLICATE_NUMBER = 1,
                            SHEAF_DUPLICATE_DROP = 2 };
struct sheaf_pack_options {
    size_t sizeof_options;          /* set by _init */
    enum sheaf_container container; /* SHEAF_WEBDATASET */
    enum sheaf_codec codec;         /* NONE; a shard is a gzip member, LZ4 frame or zstd frames */
    uint64_t shard_bytes;           /* target payload of a shard; 150000000 */
    uint64_t shard_count;           /* 0: from shard_bytes; else of each split (at most samples) */
    const char *prefix;             /* "shard" */
    const char *root;               /* NULL: the list's directory; the whole archive */
    int no_shuffle;                 /* 0; 1: samples stay in byte order of keys */
    uint64_t seed;                  /* 0: of the shuffle and of splits */
    int label_base;                 /* 0 or 1: the number of the first class */
    const char *split;              /* NULL; "train=0.8,val=0.2" or "train=60/class,val=rest" */
    enum sheaf_on_error on_error;   /* FAIL */
    int resume;                     /* 0; 1: keep finished shards of files with the same stamps */
    const char *identity;           /* NULL; for sheaf_packer: resume requires the same one */
    int overwrite;                  /* 0; 1: remove the existing data set first */
    int dry_run;                    /* 0; 1: only plan; *error: why dest would be refused, or OK */
    const char *index;              /* NULL; index files of "dali,mxnet,wids,energon" */
    unsigned jobs;                  /* threads; 0: the processors, 8 at most */
    uint64_t memory_bytes;          /* 512 MiB: hard limit, without the plan; a quarter, or a part
                                       (8 MiB; 1/5000 of shards beyond 40 GB), for data to S3 */
    sheaf_progress_fn *progress;    /* NULL */
    sheaf_report_fn *report;        /* NULL; called for each bad file */
    sheaf_plan_fn *plan;            /* NULL; with dry_run, called for each shard of the plan */
    void *context; const volatile int *interrupt;
    const char *const *sources;     /* NULL; for sheaf_packer_open: sources, which must not be in */
    size_t source_count;            /*   `dest`, as overwrite would delete them */
    const char *origin;             /* NULL: identity; names the samples without place and time */
    const struct sheaf_filter *filters;     /* NULL: all is packed; else by the last that matches */
    size_t filter_count;                    /*   (if none does: unless the first one packs) */
    sheaf_report_fn *note;          /* NULL; called with code SHEAF_OK for what is worth knowing */
    const char *const *field_aliases;   /* NULL; "jpeg=jpg", ..., up to a NULL */
    enum sheaf_key_end key_end;     /* FIRST_DOT; LAST_DOT: earlier dots become '_' in the key */
    int fix_images;                 /* 0; 1: odd files named .jpg, .jpeg become plain JPEGs */
    enum sheaf_check_images check_images;   /* USUAL: NONE in sheaf_convert, MARKERS elsewhere;
                                       DECODE: every pixel must decode */
    int quality;                    /* 90: of JPEGs that are made, 1 to 100 */
    const char *const *s3;          /* NULL; "acl=private", ..., up to a NULL, of what is written */
    uint32_t resize; enum sheaf_resize_mode resize_mode;    /* 0; N: of larger images a side is N */
    int reshard, reshuffle;         /* 0; 1, for sheaf_convert: new shards; new order, of seed */
    const char *field_map;          /* NULL; for sheaf_convert: "image=jpg,y=label", y the label */
    uint32_t class_depth;           /* 0: a class is a whole directory path; N: its first N parts */
    const char *classes;            /* NULL; a file (a name a line, or a JSON array), or a data set:
                                       classes have its numbers, and there are no others */
    sheaf_class_count_fn *class_count;  /* NULL; called for each class of a plan (with dry_run, or
                                       by sheaf_plan_make) */
    enum sheaf_duplicate_keys duplicate_keys;   /* FAIL; for sheaf_packer_open and sheaf_convert */
    enum sheaf_on_error on_change;  /* FAIL; SKIP: on_error SKIP also leaves out files that vanished
                                       or changed since the scan */
    const char *max_skipped;        /* NULL: no limit; "10" or "0.5%" of the files: if on_error SKIP
                                       would leave out more, the call fails */
};
SHEAF_API void sheaf_pack_options_init(struct sheaf_pack_options *options, size_t size);
/* A name of options->s3 (doc/s3.md), what it takes and its header; NULL: no more.  NULL is fine. */
SHEAF_API const char *sheaf_s3_setting(size_t index, const char **values, const char **header);
struct sheaf_pack_result {
    uint64_t files;             /* in the source, or part; of sheaf_packer, fields; files ==
                                   files_packed + skipped, or the call fails */
    uint64_t files_packed;      /* fields in the shards */
    uint64_t samples, payload_bytes;    /* packed (with dry_run: planned); of their fields */
    uint64_t stored_bytes;      /* of the shards */
    uint64_t shards, shards_kept;   /* kept by resume; of a part: 0 and its own, if published */
    uint64_t skipped;           /* files, each in the report file; of sheaf_packer, samples */
    uint64_t multipart_records; /* RecordIO: records that contain the magic, stored in parts */
    uint64_t memory_peak_bytes, plan_bytes; /* buffers, parts to S3, <= memory_bytes; the plan */
    uint64_t passed_over;       /* S3: marks of directories; old versions, objects elsewhere */
    uint64_t left_out;          /* ignored: hidden directories, .DS_Store, ._*, Thumbs.db, ... */
    uint64_t unlabelled;        /* samples without a label, where others have one */
    char first_unlabelled[512]; /* the first of their keys in byte order, or its beginning */
    uint64_t filtered;          /* left out by filters: files, and directories with all in them */
    uint64_t converted, resized;    /* images in converted.tsv; others that became smaller */
    uint64_t duplicates;        /* samples with a repeated key: numbered, or in the report file */
};
/* Writes shards, dataset.index, dataset.keys and, last, dataset.json to the directory `dest`, which
 * is created if needed (each split in a directory of its own below it).  A failed call leaves no
 * dataset.json; finished shards remain for `resume`.  Local shards bypass the page cache. */
SHEAF_CALL int sheaf_pack(const char *source, const char *dest,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Several sources: directories and lists, or prefixes of one bucket and lists.  Keys are relative
 * to what these have in common, classes to their source (of a file right in it: its name). */
SHEAF_CALL int sheaf_pack_sources(const char *const *sources, size_t count, const char *dest,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Appends such samples to the data set `dataset`, in its way, as new shards (shard_bytes 0, the
 * default here: its own).  Known classes keep numbers, new ones follow.  Readers go on; others see
 * it as it was, or with all new ones; earlier positions are _CHANGED.  A key that it has is a bad
 * file's; if bad ones alone were new, OK without shards.  overwrite removes what an unfinished one
 * has left; resume is OK, too, if it grew by these last.  _UNSUPPORTED: views, foreign shards. */
SHEAF_CALL int sheaf_append(const char *const *sources, size_t count, const char *dataset,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);

/* ---- Packing on many machines (sheaf_plan) --------------------------------------------------
 *   1) sheaf_plan_make, once: lists the sources and stores a plan
 *   2) sheaf_pack_part, for each part 0 .. parts - 1: anywhere, in any order, any number of times
 *   3) sheaf_commit, once all parts are done
 * The result is byte for byte that of sheaf_pack.  A plan is one file or S3 object, specified by
 * packer/PLAN.md.  A part may run twice, concurrently or after it was killed: the result is the
 * same, and finished shards are not packed again. */

/* Makes the plan of `count` sources (as above; or of one data set, to be converted by
 * sheaf_convert_part), prepares the directory `dest` for it (as options->resume and
 * overwrite specify), and stores it at `plan`, a path or an s3:// URL.  Local paths are stored as
 * absolute paths and must mean the same on every machine.  Sorting uses temporary files, in TMPDIR,
 * or beside the plan, or in /var/tmp.  With dry_run `dest` stays as it is.  The result has what is
 * planned.  SHEAF_ERR_LIMIT: packing a sample needs more than memory_bytes, or a shard of this size
 * cannot be sent with it.  _EXISTS: also, `plan` is another destination's, or something else. */
SHEAF_CALL int sheaf_plan_make(const char *const *sources, size_t count, const char *dest,
    const char *plan, const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Packs part `part` of `parts`: a range of the plan's shards with about its share of the bytes.
 * Only jobs, memory_bytes, progress, report and interrupt of the options are used.
 * SHEAF_ERR_CHANGED: a file has changed since the plan was made (with on_change FAIL), or `dest` is
 * for another plan.  SHEAF_ERR_LIMIT: a sample needs more than memory_bytes. */
SHEAF_CALL int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Checks that all shards exist as they were packed, and publishes the data set: index, report, and
 * the manifest last.  Shards with their original ETag, or inode and time, are not read; others, for
 * example copies, are compared by hash.  SHEAF_ERR_NOT_FOUND, or _CORRUPT if any was altered: the
 * message names the shards and their parts, and nothing was published.  Repeating a commit is
 * SHEAF_OK; _EXISTS: `dest` has another plan's data set.  Options as for sheaf_pack_part. */
SHEAF_CALL int sheaf_commit(const char *plan, const struct sheaf_pack_options *options,
    struct sheaf_pack_result *result, struct sheaf_error *error);
/* The part and the number of parts of this process, from the first of these in its environment:
 * SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT and _STEP; AWS_BATCH_JOB_ARRAY_INDEX and _SIZE;
 * JOB_COMPLETION_INDEX with JOB_COMPLETIONS; OMPI_COMM_WORLD_RANK and _SIZE; SLURM_PROCID and
 * SLURM_NTASKS (in a step); SM_CURRENT_HOST and SM_HOSTS, or else resourceconfig.json in `config`
 * (NULL: /opt/ml/config and /opt/ml/input/config).  Otherwise as sheaf_world_from_environment. */
SHEAF_CALL int sheaf_part_from_environment(const char *config, uint32_t *part, uint32_t *parts,
    const char **source, struct sheaf_error *error);
/* A stored plan, and the progress of its packing. */
struct sheaf_plan_info {
    const char *dest;
    const char *source;             /* its kind: "tree", "list", ... */
    const char *root;               /* what the files' paths are relative to */
    const char *fingerprint;        /* of the data set to convert at `root`; "": of files */
    const char *hash;               /* 32 digits, of all that determines the data set's bytes */
    enum sheaf_container container;
    enum sheaf_codec codec;
    uint64_t plan_bytes, files, samples, payload_bytes, shards; /* of the plan; planned */
    uint64_t done_shards;           /* of those: exist as they were packed */
    uint64_t done_samples, done_payload_bytes;
    int committed;                  /* the data set is published */
    uint32_t parts;                 /* in the latest packing; 0: not known */
    size_t class_count; int label_base;     /* the names are given by sheaf_plan_class */
};
/* Reads a plan and checks the state of its data set; works while parts run.  A shard without its
 * original ETag, or inode and time, is read. */
SHEAF_CALL int sheaf_plan_open(const char *plan, struct sheaf_plan **opened,
    struct sheaf_error *error);
/* The name of class number `index` (0-based, whatever the label base); NULL if there is none. */
SHEAF_API const char *sheaf_plan_class(const struct sheaf_plan *plan, size_t index);
SHEAF_API int sheaf_is_plan(const char *url);   /* judged by the first bytes of what is there */
SHEAF_API void sheaf_plan_get_info(const struct sheaf_plan *plan, struct sheaf_plan_info *info,
    size_t sizeof_info);
/* Shard `index`, below info.shards; its name is valid until the next call.  *done: it is packed. */
SHEAF_CALL int sheaf_plan_shard(const struct sheaf_plan *plan, uint64_t index,
    struct sheaf_plan_shard *shard, int *done, struct sheaf_error *error);
/* The shards of part `part` of `parts`: from *first to before *end. */
SHEAF_CALL int sheaf_plan_part(const struct sheaf_plan *plan, uint32_t part, uint32_t parts,
    uint64_t *first, uint64_t *end, struct sheaf_error *error);
SHEAF_API void sheaf_plan_free(struct sheaf_plan *plan);
/* The samples of a stored plan of files, for programs that pack what they make of them. */
struct sheaf_planned;
struct sheaf_planned_info {
    const char *identity, *hash;    /* of plan and files; of what determines the bytes */
    uint64_t samples, shards; size_t class_count, split_count; int label_base;
};
SHEAF_CALL int sheaf_planned_open(const char *plan, struct sheaf_planned **planned,
    struct sheaf_planned_info *info, size_t sizeof_info, struct sheaf_error *error);
SHEAF_API const char *sheaf_planned_class(const struct sheaf_planned *planned, size_t index);
/* Reads the samples from number *at on, some 4 MiB of one shard, valid until the next call, and
 * sets *at to the number after them (`samples` NULL: only that).  Fields are not checked.  A sample
 * with a bad file is left out if `report` is there, which is told, and otherwise an error. */
SHEAF_CALL int sheaf_planned_read(struct sheaf_planned *planned, uint64_t *at,
    const struct sheaf_sample **samples, size_t *count, sheaf_report_fn *report, void *context,
    struct sheaf_error *error);
SHEAF_API void sheaf_planned_free(struct sheaf_planned *planned);

/* ---- Packing samples made by a program (sheaf_packer) ---------------------------------------
 *   1) options_init  2) sheaf_packer_open  3) sheaf_packer_append ...
 *   4) sheaf_packer_finish, or _abort  5) sheaf_packer_free
 * Samples are packed in the order of the calls.  The options about sources, labels, splits, order
 * and dry_run are ignored.  resume requires the same identity as that of the interrupted run: then
 * append all samples again; those of finished shards are skipped. */
SHEAF_CALL int sheaf_packer_open(const char *dest, const struct sheaf_pack_options *options,
    struct sheaf_packer **packer, struct sheaf_error *error);
/* Names the classes of the labels label_base, label_base + 1, ...; call it before the first sample.
 * Without it, the manifest lists the class names of the samples (from label 0, or 1 if that is the
 * smallest; an unnamed label between them is named by its number).  TFRecords also keep each
 * sample's own name; in other containers, a sample whose name does not fit such a list is rejected
 * (_ARGUMENT): its label has another name already, or is not an integer from 0 to 2^20 - 1. */
SHEAF_CALL int sheaf_packer_set_classes(struct sheaf_packer *packer, const char *const *names,
    size_t count);
/* Copies the sample.  Blocks while the memory budget is used up. */
SHEAF_CALL int sheaf_packer_append(struct sheaf_packer *packer, const struct sheaf_sample *sample);
/* The next sample starts a new shard; repeated cuts create no empty shards.  Without cuts, a shard
 * ends when its payload reaches shard_bytes. */
SHEAF_CALL int sheaf_packer_cut(struct sheaf_packer *packer);
/* The same; `place`, not 0, is noted with the shard that ends: how far the program is in its input.
 * _skip, before the first sample, gives the place of the last finished shard (with resume), and the
 * samples of finished shards must not be appended again; 0: append all.  Classes must be set. */
SHEAF_CALL int sheaf_packer_cut_at(struct sheaf_packer *packer, uint64_t place);
SHEAF_CALL int sheaf_packer_skip(struct sheaf_packer *packer, uint64_t *place);
/* 1: an earlier run has finished the data set (with resume), or the part.  Samples need not be
 * appended then; those that are appended are only counted, and finish returns what exists. */
SHEAF_API int sheaf_packer_is_there(const struct sheaf_packer *packer);
/* Waits for everything, then writes the manifest.  `result` may be NULL. */
SHEAF_CALL int sheaf_packer_finish(struct sheaf_packer *packer, struct sheaf_pack_result *result);
/* Leaves nothing behind, but finished shards if it has an identity.  Keeps the first error. */
SHEAF_API void sheaf_packer_abort(struct sheaf_packer *packer);
SHEAF_API const struct sheaf_error *sheaf_packer_error(const struct sheaf_packer *packer);
SHEAF_API void sheaf_packer_free(struct sheaf_packer *packer);  /* aborts unless finished */

/* ---- Samples as the bytes of one shard, for the caller to write (sheaf_encoder) ------------- */
SHEAF_CALL int sheaf_encoder_open(enum sheaf_container container, struct sheaf_encoder **encoder,
    struct sheaf_error *error);
/* *data is valid until the next call on the encoder.  _end: what ends the shard, if anything.
 * _EXISTS, of a tar: left out, as readers would merge it with the last sample of this key. */
SHEAF_CALL int sheaf_encoder_add(struct sheaf_encoder *encoder, const struct sheaf_sample *sample,
    const void **data, size_t *size, struct sheaf_error *error);
SHEAF_CALL int sheaf_encoder_end(struct sheaf_encoder *encoder, const void **data, size_t *size,
    struct sheaf_error *error);
SHEAF_API void sheaf_encoder_free(struct sheaf_encoder *encoder);

/* ---- Copying: to another container, or to files (sheaf_convert) -----------------------------
 * Of `reading` (NULL: defaults), these calls use on_corrupt, max_corrupt, report and the cache.
 * `result` and `stats` (the reader's) may be NULL.  A sample that does not fit is _UNSUPPORTED.
 *
 * Writes the samples, in data set order, as a data set of options->container and codec in `dest`:
 * keys, fields, labels, class names and (TFRecord to TFRecord) types of features stay, and shards
 * keep their samples (one foreign file, standard input or a view is cut by shard_bytes), but for
 * options->reshard and reshuffle.  Half of the memory is for reading; jobs threads read.  Others
 * that sheaf_packer_open ignores, label_base and identity are ignored. */
SHEAF_CALL int sheaf_convert(const struct sheaf_dataset *dataset, const char *dest,
    const struct sheaf_pack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_pack_result *result, struct sheaf_reader_stats *stats, struct sheaf_error *error);
/* Part `part` of `parts` of a plan of a data set (sheaf_plan_make); sheaf_commit publishes it. */
SHEAF_CALL int sheaf_convert_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_pack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_pack_result *result, struct sheaf_error *error);

struct sheaf_unpack_options {
    size_t sizeof_options;
    int resume;                     /* 0; 1: existing files stay, if they are identical */
    sheaf_progress_fn *progress; void *context; const volatile int *interrupt;  /* NULL */
    enum sheaf_duplicate_keys duplicate_keys;   /* FAIL: only if a file would be overwritten */
};
SHEAF_API void sheaf_unpack_options_init(struct sheaf_unpack_options *options, size_t size);
struct sheaf_unpack_result { uint64_t samples, files, bytes;   /* that were written */
    uint64_t duplicates; };     /* samples with a repeated key: numbered, or left out */
/* Writes each field as the file `directory`/KEY.SUFFIX; `directory` is created.  Nothing is written
 * outside it.  _EXISTS: so does a file.  `reading` also has memory_bytes and threads. */
SHEAF_CALL int sheaf_unpack(const struct sheaf_dataset *dataset, const char *directory,
    const struct sheaf_unpack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_unpack_result *result, struct sheaf_reader_stats *stats,
    struct sheaf_error *error);
/* Writes a field of each sample, or (NULL) all of them, in the same way. */
SHEAF_CALL int sheaf_unpack_samples(const struct sheaf_sample *samples, size_t count,
    const char *field, const char *directory, struct sheaf_error *error);

/* ---- Checking and indexing (sheaf_verify) --------------------------------------------------- */
typedef void sheaf_field_fn(void *context, const struct sheaf_field_info *field, uint64_t samples);
struct sheaf_verify_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t memory_bytes;          /* 1 GiB */
    unsigned threads;               /* 0: the processors, 8 at most */
    sheaf_progress_fn *progress; sheaf_report_fn *report;       /* NULL; report: each problem */
    void *context; const volatile int *interrupt;
    uint32_t part, parts;           /* 0 of 0: all; else a range of the shards, for many machines */
    sheaf_field_fn *field;          /* NULL; called at the end, for each field of what was read */
};
SHEAF_API void sheaf_verify_options_init(struct sheaf_verify_options *options, size_t size);
struct sheaf_verify_result {
    uint64_t shards, samples, bytes;    /* read */
    uint64_t problems, passed_over; /* 0: it is sound; as in sheaf_reader_stats, no directories */
    uint64_t unused_classes;    /* classes without samples; 0 of a part, or with problems */
    uint64_t labelled, unread_labels;   /* samples with a label; with a cls that is not numbers */
    char unlabelled[512];       /* the first sample without a label, and its location; "": none */
};
/* Reads everything and checks each shard's size and hash, each record's framing and checksums, the
 * counts, and the index, dataset.keys, and other readers' .idx files, against the shards.  Problems
 * are reported and counted, and the result is SHEAF_OK; an error: the check itself failed. */
SHEAF_CALL int sheaf_verify(const struct sheaf_dataset *dataset,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);
/* Makes foreign shards a data set: reads them once and writes dataset.index, dataset.keys and
 * dataset.json beside them.  _EXISTS: it has one, not `overwrite`.  `index`: as for sheaf_pack. */
SHEAF_CALL int sheaf_index(const char *directory, const char *index, int overwrite,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);
/* Reads a data set once and writes its dataset.keys, also where there is one: for data sets of
 * releases that wrote none.  Nothing else is changed.  SHEAF_ERR_NOT_FOUND: it has no manifest. */
SHEAF_CALL int sheaf_index_keys(const char *directory, const struct sheaf_verify_options *options,
    struct sheaf_verify_result *result, struct sheaf_error *error);

/* ---- SageMaker's File mode, outside SageMaker (sheaf_fetch) --------------------------------- */
struct sheaf_fetch_options {
    size_t sizeof_options;          /* set by _init */
    uint32_t host, hosts;           /* 0 of 1: every object; else each n-th (ShardedByS3Key) */
    uint64_t memory_bytes;          /* 256 MiB: hard limit, without the list of objects */
    unsigned threads;               /* that write and check; 0: one per processor, at most 8 */
    sheaf_progress_fn *progress; void *context; const volatile int *interrupt;  /* NULL */
};
SHEAF_API void sheaf_fetch_options_init(struct sheaf_fetch_options *options, size_t size);
struct sheaf_fetch_result {
    uint64_t objects, bytes;            /* in total */
    uint64_t kept, kept_bytes;          /* present before; bytes include partial files */
    uint64_t fetched, fetched_bytes;
    uint64_t verified;                  /* of those fetched: by hash or MD5 */
    uint64_t repeated;                  /* objects that a manifest names again */
    uint64_t unfinished;                /* files of an unfinished run: the source is refused */
    uint64_t memory_peak_bytes;         /* <= memory_bytes */
};
/* Copies a prefix, the objects of a manifest file or of an augmented manifest, or one object, as
 * they are, into `directory`, which is created; names are relative to the prefix.  Objects of an
 * augmented manifest are named by their keys; the manifest is written too, with this host's lines.
 *
 * Before anything is fetched, names that are invalid as files below the directory, or collide, are
 * rejected (_UNSUPPORTED, _EXISTS), and so is a lack of space (_LIMIT).  A file
 * gets its final name once it is complete and checked: a shard of a data set against the hash in
 * the manifest, another object against its ETag if that is an MD5.  It gets its object's time; the
 * next call keeps a file with that time and size, and replaces one that differs.  Other files are
 * left alone.  A failed call leaves the finished files and the partial large ones, which the next
 * call resumes if the object's ETag is the same.  `result` is always written. */
SHEAF_CALL int sheaf_fetch(const char *source, const char *directory,
    const struct sheaf_fetch_options *options, struct sheaf_fetch_result *result,
    struct sheaf_error *error);
struct sheaf_warm_result { uint64_t files, bytes; };
/* Reads every file below `path`, or the file `path`, once and completely, several at a time, so
 * that a lazy file system (Lustre, NFS, FUSE) has it.  host, hosts, memory_bytes are ignored. */
SHEAF_CALL int sheaf_warm(const char *path, const struct sheaf_fetch_options *options,
    struct sheaf_warm_result *result, struct sheaf_error *error);

/* ---- SageMaker's Pipe mode, the feeding end (sheaf_feed) ------------------------------------
 * Writes to named pipes what SageMaker writes: a source's objects, with nothing between. */
struct sheaf_feed_options {
    size_t sizeof_options;          /* set by _init */
    const char *channel;            /* "train"; 1 to 64 letters, digits, '.', '-', '_' */
    uint64_t first_epoch;           /* 0 */
    uint64_t epochs;                /* 0: unlimited */
    int shuffle; uint64_t seed;     /* 0; 1: objects, or lines, in an order of (seed, epoch) */
    uint32_t host, hosts;           /* 0 of 1: every object; else each n-th of the order */
    int record_wrapper;             /* 0; 1: each object becomes a RecordIO record */
    int gunzip;                     /* 0; 1: unpack the objects, which are gzip streams */
    const char *attributes;         /* for an augmented manifest: "source-ref,label" */
    uint64_t memory_bytes;          /* hard limit for read-ahead and for records (a quarter each),
                                       without the list of objects; 256 MiB */
    sheaf_progress_fn *progress;    /* NULL; counts objects and bytes of an epoch */
    void *context; const volatile int *interrupt;
};
SHEAF_API void sheaf_feed_options_init(struct sheaf_feed_options *options, size_t size);
struct sheaf_feed_result {
    uint64_t epochs;            /* that had a reader */
    uint64_t closed_early;      /* of those: the reader closed the pipe early */
    uint64_t objects, bytes;    /* written completely; written; over all epochs */
    uint64_t left_out;          /* files in a data set's directory that are not its shards */
    uint64_t memory_peak_bytes; /* of the read-ahead */
};
/* Creates the named pipes `directory`/CHANNEL_EPOCH, one epoch after the other, waits for the
 * reader of each, and writes the source to it.  The source is a directory or prefix (in byte order
 * of names; if nothing is below the prefix, the objects whose names start with it), a manifest
 * file, an augmented manifest (of each line the attributes, in the order given: for a NAME-ref its
 * object's bytes, for a string its text, anything else as in the line), or one object.  Of a data
 * set's directory or prefix, only the shards are written.  A reader that closes its pipe early gets
 * the next epoch next.  Pipes are removed when they are done, also after a failure.  A stream that
 * a failure cuts short never ends at the end of an object.  _EXISTS: another process feeds the
 * channel; _CHANGED: an object changed during the call.  `result` is always written. */
SHEAF_CALL int sheaf_feed(const char *source, const char *directory,
    const struct sheaf_feed_options *options, struct sheaf_feed_result *result,
    struct sheaf_error *error);

/* ---- Survey of a source: what it consists of (sheaf_survey) --------------------------------- */
struct sheaf_survey {
    uint64_t objects, bytes;
    uint64_t smallest_bytes, median_bytes, largest_bytes;   /* of an object */
    /* Objects of less than 1 kB, 10 kB, ... 1 GB; and the rest. */
    struct { uint64_t objects, bytes; } decades[SHEAF_SURVEY_DECADES];
    int is_dataset;                 /* it has a dataset.json that the packer wrote */
    uint64_t samples;               /* of the data set; else 0 */
    char place[16];                 /* "S3", "local disk", "FUSE", "Lustre", "NFS" */
};
/* Examines objects (as for sheaf_fetch) without reading; only the last three options are used. */
SHEAF_CALL int sheaf_survey(const char *source, const struct sheaf_fetch_options *options,
    struct sheaf_survey *survey, size_t sizeof_survey, struct sheaf_error *error);
struct sheaf_image { const char *format; uint32_t width, height; };     /* "JPEG", "PNG", ... */
/* What an image is, by its header (SHEAF_END: none).  And a small JPEG of a JPEG: its longer side
 * has at most `side` (to 1024) pixels; *room are the bytes at `thumbnail`, then those used. */
SHEAF_CALL int sheaf_image_look(const void *data, size_t size, struct sheaf_image *image);
SHEAF_CALL int sheaf_thumbnail(const void *image, size_t size, unsigned side, void *thumbnail,
    size_t *room, struct sheaf_error *error);

/* ---- Pixels: crops of pictures, at a size -----------------------------------------------------
 * What a crop is depends on the bytes of the picture, the options and a seed (sheaf_sample.seed),
 * and on nothing else; image/PIXELS.md specifies it.  Pixels are RGB, 8 bits, and those of Pillow:
 * crop(box).resize(size, filter) of the decoded picture, byte for byte, on any machine. */
enum sheaf_crop {
    SHEAF_CROP_RANDOM = 0,          /* torchvision's RandomResizedCrop, and its mirror image */
    SHEAF_CROP_CENTER = 1,          /* its Resize(resize) of the shorter side, then CenterCrop */
    SHEAF_CROP_WHOLE = 2            /* all of the picture; its ratio is not kept */
};
enum sheaf_resampling { SHEAF_BILINEAR = 0, SHEAF_BICUBIC = 1, SHEAF_LANCZOS = 2 };
enum sheaf_layout { SHEAF_NCHW = 0, SHEAF_NHWC = 1 };
/* Which of the two passes of resizing comes first: as in Pillow up to 12.3, or from 13.0 on. */
enum sheaf_pillow { SHEAF_PILLOW12 = 0, SHEAF_PILLOW13 = 1 };
/* Several random crops of one decoded picture. */
struct sheaf_pixels_view { uint32_t count, width, height; double scale[2]; };
struct sheaf_pixels_options {
    size_t sizeof_options;          /* set by _init */
    uint32_t width, height;         /* 224 x 224: of the result */
    enum sheaf_crop crop;
    uint32_t resize;                /* 0: the longer side of the result; for CENTER */
    double scale[2], ratio[2];      /* 0.08 to 1 of the area; 3/4 to 4/3, width by height */
    double flip;                    /* 0.5: probability of a mirror image, of a random crop */
    enum sheaf_resampling filter; enum sheaf_layout layout; enum sheaf_pillow order;   /* 0 */
    const struct sheaf_pixels_view *views; size_t view_count;   /* NULL: one, as above */
    int decodes_whole;              /* 0; 1: decode all of a JPEG: slower, and the same pixels */
};
SHEAF_API void sheaf_pixels_options_init(struct sheaf_pixels_options *options, size_t size);
/* In pixels of the upright picture.  For CENTER it is rounded to whole pixels. */
struct sheaf_crop_box { int32_t top, left, height, width, flipped; };
/* Writes the crops of the image (JPEG, PNG, WebP, GIF or BMP) to `out`, width x height x 3 bytes
 * each, those of a view side by side; and to `crops`, if it is not NULL, where each was.  Grey
 * becomes RGB, CMYK too; transparency is dropped, of 16 bits the upper 8 count, and the picture is
 * turned as its EXIF orientation says.  SHEAF_ERR_CORRUPT, _UNSUPPORTED: of the image; over
 * 178,956,970 pixels, or 65,535 on a side, are refused before memory is taken. */
SHEAF_CALL int sheaf_pixels(const void *data, size_t size,
    const struct sheaf_pixels_options *options, uint64_t seed, void *out,
    struct sheaf_crop_box *crops, struct sheaf_error *error);

/* Threads that make the crops of batches of samples.  Any number of batches may be under way, and
 * may be waited for in any order.  memory_bytes is a hard ceiling for the memory that decoding
 * takes, without the results; threads 0: one for each processor. */
SHEAF_CALL int sheaf_pixels_pool_open(const struct sheaf_pixels_options *options, unsigned threads,
    uint64_t memory_bytes, struct sheaf_pixels_pool **pool, struct sheaf_error *error);
SHEAF_API void sheaf_pixels_pool_free(struct sheaf_pixels_pool *pool);  /* after its batches */
/* The bytes of a sample's crops of view `view` (0: there is none); and its crops of all views. */
SHEAF_API size_t sheaf_pixels_bytes(const struct sheaf_pixels_pool *pool, size_t view);
SHEAF_API size_t sheaf_pixels_crops(const struct sheaf_pixels_pool *pool);
/* Begins to make the crops of each sample's image, drawn by its seed.  `field` is the name of the
 * image's field; NULL: the first one whose name ends in jpg, jpeg, png, webp, gif or bmp.  Sample
 * i's crops of view v go to out[v] + i * sheaf_pixels_bytes(pool, v), and their places to
 * crops + i * sheaf_pixels_crops(pool), unless `crops` is NULL.  The memory may be a framework's,
 * or pinned.  It and the samples (see sheaf_reader_keep) must stay until the batch is freed. */
SHEAF_CALL int sheaf_pixels_begin(struct sheaf_pixels_pool *pool,
    const struct sheaf_sample *samples, size_t count, const char *field, void *const *out,
    struct sheaf_crop_box *crops, struct sheaf_pixels_batch **batch, struct sheaf_error *error);
/* Waits for the batch, and returns the number of samples without crops. */
SHEAF_API size_t sheaf_pixels_wait(struct sheaf_pixels_batch *batch);
/* After that: why sample `index` has no crops; NULL if it has.  _CORRUPT and _UNSUPPORTED: because
 * of its image; _ARGUMENT: it has no such field; _LIMIT: the image needs more than memory_bytes. */
SHEAF_API const struct sheaf_error *sheaf_pixels_error(const struct sheaf_pixels_batch *batch,
    size_t index);
SHEAF_API void sheaf_pixels_batch_free(struct sheaf_pixels_batch *batch);   /* waits, too */
#ifdef __cplusplus
}
#endif
#endif
