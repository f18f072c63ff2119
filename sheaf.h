/* SPDX-License-Identifier: MIT
 *
 * sheaf.h - pack many small files into a few large shards, and stream them back shuffled.
 *
 * This header is the manual of libsheaf. Terms:
 *
 * - A SHARD is one container file (TFRecord, RecordIO or WebDataset tar).
 * - A SAMPLE is what training consumes: a key, named FIELDS and labels, the same in every
 *   container.
 * - A DATA SET consists of shards and their manifest.
 * - An EPOCH is one pass over a data set. It is divided into equal sequences, its LANES.
 * - A RANK is one of the processes that train together, each of which reads its part of an epoch.
 *   The WORLD SIZE is their number.
 * - A rank may divide its part among several WORKERS (processes that read samples).
 *
 * Rules for all calls:
 *
 * - Results. A function that returns int returns SHEAF_OK (0), SHEAF_END (1, "no more"), or a
 *   negative SHEAF_ERR_ code. In the comments below, a code is also written without its prefix, as
 *   in _LIMIT. Some objects, such as a reader, keep the message of their last error. Functions that
 *   have no such object take a `struct sheaf_error *`, which may be NULL and is written only on
 *   failure.
 * - Options. The _init function of an options struct stores the struct's size, which is the
 *   argument `size`, and its defaults. So programs that were built with an older header can use a
 *   newer library with the same file name: libsheaf.so.MAJOR from version 1.0 on,
 *   libsheaf.so.0.MINOR before. The comment of a field states its default first. An option
 *   `interrupt` is NULL or points to a flag. Once the flag is not 0, the call ends with
 *   SHEAF_ERR_INTERRUPTED. `progress`, `report` and `plan` are functions that are called with
 *   `context`.
 * - Threads. One thread at a time may use an object. Different threads may use different objects.
 *   An open data set never changes, and any number of readers and threads may share it.
 *   sheaf_reader_interrupt may be called on any thread.
 * - Ownership. Strings and arrays that are passed in are borrowed for the length of the call unless
 *   stated otherwise. Pointers in an _info struct are valid as long as its object. Every _free
 *   function accepts NULL.
 * - Conservation. Nothing is lost silently. Everything in the input of a call is in its output, or
 *   is counted and named as skipped or ignored; repeated samples are counted too. At its end, an
 *   epoch compares the number of returned samples and corrupt records with the expected number (for
 *   a stream: with the number found). If they differ, the last call returns SHEAF_ERR_MISMATCH, not
 *   SHEAF_END.
 * - The library never prints, never exits, and installs no signal handler. */
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

/* Marks a function whose result must be checked. */
#if defined(__GNUC__)
#define SHEAF_API  __attribute__((visibility("default")))
#define SHEAF_CALL __attribute__((visibility("default"), warn_unused_result))
#else
#define SHEAF_API
#define SHEAF_CALL
#endif
/* Returns "MAJOR.MINOR.PATCH" of the running library. */
SHEAF_API const char *sheaf_version(void);
struct sheaf_dataset; struct sheaf_reader; struct sheaf_kept; struct sheaf_channel;
struct sheaf_pixels_pool; struct sheaf_pixels_batch;
struct sheaf_plan; struct sheaf_packer; struct sheaf_encoder; struct sheaf_read_options;

/* ---- Errors (sheaf_errors) ------------------------------------------------------------------ */
#define SHEAF_OK    0       /* success; a reader returned a sample */
#define SHEAF_END   1       /* no more samples in this epoch */
/* The errors: name, value, sentence. */
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
/* A reason tells a program why a call failed, so that the program can act on it. (The wording of
 * messages may change.) The comment beside each reason names the error codes that may come with
 * it. */
enum sheaf_reason {
    SHEAF_REASON_NONE = 0,
    /* code EXISTS: the destination already holds a data set, or is a view */
    SHEAF_REASON_DATASET,
    SHEAF_REASON_UNFINISHED,        /* EXISTS, NOT_FOUND: the destination holds an unfinished run */
    SHEAF_REASON_OTHER_PLAN,        /* CHANGED: the unfinished run had another plan */
    /* code CHANGED: the data set at the destination does not match its manifest */
    SHEAF_REASON_ALTERED,
    SHEAF_REASON_EXCLUSIVE,         /* ARGUMENT: both resume and overwrite were set */
    /* code ARGUMENT: the call needs a plan of another kind; the given plan is of a conversion
     * (CONVERSION_PLAN) or of packing files (FILES_PLAN) */
    SHEAF_REASON_CONVERSION_PLAN, SHEAF_REASON_FILES_PLAN,
    SHEAF_REASON_MEMORY, SHEAF_REASON_STREAM_MEMORY,    /* LIMIT: more memory_bytes are needed */
    SHEAF_REASON_FILE_EXISTS,       /* EXISTS: a file to be unpacked exists */
    SHEAF_REASON_NOT_DIRECT,        /* UNSUPPORTED: the channel cannot be read directly */
    /* code UNSUPPORTED: the data set has no table of keys, or no index */
    SHEAF_REASON_NO_KEYS, SHEAF_REASON_NOT_INDEXED,
    SHEAF_REASON_NO_MANIFEST,       /* NOT_FOUND: the manifest for a host's objects is missing */
    /* in packing: a filter matched no file (UNUSED_FILTER); only a few samples lack a field
     * (ODD_FIELDS); some files were bad (BAD_FILES) */
    SHEAF_REASON_UNUSED_FILTER, SHEAF_REASON_ODD_FIELDS, SHEAF_REASON_BAD_FILES,
    /* code ACCESS: S3 refuses to write, possibly because a request header is missing */
    SHEAF_REASON_BUCKET_POLICY,
    /* in packing: a bad file that the option fix_images would turn into a JPEG */
    SHEAF_REASON_ODD_IMAGE,
    SHEAF_REASON_CLASS_DEPTH,       /* packing: classes are directories of different depths */
    SHEAF_REASON_SIBLING_CLASSES,   /* packing: a data set beside it numbers classes otherwise */
    SHEAF_REASON_REPEATED_KEY,      /* EXISTS: another sample has the key: duplicate_keys */
    SHEAF_REASON_SOURCE_LOST,       /* packing: the source cannot be read, whatever the file */
    SHEAF_REASON_SOURCE_CHANGED,    /* packing: a file vanished or changed since the scan */
    SHEAF_REASON_TOO_MANY_SKIPPED,  /* packing: max_skipped */
    /* code UNSUPPORTED: a file to be unpacked has the same name as a directory */
    SHEAF_REASON_FILE_OR_DIRECTORY,
    SHEAF_REASON_LOST_SHARDS,       /* CHANGED: a plan's published data set lacks shards */
    SHEAF_REASON_NO_VALUE,          /* NOT_FOUND: a column has no value for a sample */
    /* code NOT_FOUND: a value for a column has a key that no sample of the data set has */
    SHEAF_REASON_NOT_IN_BASE,
    /* code NOT_FOUND: keys or files belong to no sample; the option on_unknown can skip them */
    SHEAF_REASON_UNKNOWN_KEYS,
    /* code ARGUMENT: the plan is of a column, and the call needs another kind */
    SHEAF_REASON_COLUMN_PLAN,
    SHEAF_REASON_NO_COLUMN,         /* NOT_FOUND: the data set has no column of this name */
    SHEAF_REASON_OTHER_BASE         /* CHANGED: a column was added before the data set was edited */
};
struct sheaf_error {
    int code;               /* a SHEAF_ERR_ code */
    /* one line of text: where the fault is (shard, offset, record), what was found, what was
     * expected */
    char message[1016];
    int reason;             /* of enum sheaf_reason */
};
SHEAF_API const char *sheaf_strerror(int code);     /* Returns the sentence of a code, never
                                                       NULL. */

/* Makes text safe for display on one line. Invalid UTF-8, control characters (including C1) and
 * characters that change the writing direction become \xNN, one for each byte. Messages of this
 * library are already safe; names of samples, shards and classes are not. Writes at most `size`
 * bytes and returns the full length. */
SHEAF_API size_t sheaf_show(const char *text, char *out, size_t size);

/* ---- Samples (sheaf_sample) ----------------------------------------------------------------- */
/* A field: the bytes of one file. Its name is the part of the file's base name after the first dot,
 * in lower case ("jpg", "seg.png"). Its suffix is the same part with the file's own upper and lower
 * case ("JPG"). */
struct sheaf_field {
    const char *name;
    /* the field's suffix, which differs from `name` only in case; NULL on input means that it
     * equals `name` */
    const char *suffix;
    const void *data;
    size_t size;            /* bytes */
};

/* A sample. Its key is the path up to the first dot of the base name ("001.ak47/001_0001"). Text is
 * UTF-8.
 *
 * A sample may have no label. A label is a whole number of magnitude up to 2^53, or a number that a
 * 32-bit float represents exactly. On input, a fraction is rounded to the nearest 32-bit float, so
 * 0.1 becomes 0.10000000149011612. A whole number is never rounded; if it is not a possible label,
 * it is refused. The same holds for labels in lists and in files called .cls, in every
 * container. */
struct sheaf_sample {
    const char *key;
    const struct sheaf_field *fields; size_t field_count;
    const double *labels; size_t label_count;
    /* name of the label's class; NULL if the data set does not name its classes */
    const char *class_name;
    /* number of the sample in the data set, in manifest order, from 0; in a stream it equals
     * `record` */
    uint64_t number;
    uint32_t shard;         /* from 0, in manifest order */
    uint64_t record;        /* from 0, within the shard */
    /* Set by a reader: number of the sample in the reader's part of the epoch, from 0. Skipped
     * corrupt records are counted as well. It is not set for a resumed stream. */
    uint64_t ordinal;
    /* set by a reader: 1 if this sample was already returned in the epoch, and is repeated to make
     * a shorter lane as long as the others */
    int repeated;
    /* Set by a reader: a seed for everything that is drawn at random for the sample. It is a hash
     * of the option `seed`, the source, the source's epoch, and the sample's number in the source
     * (reader/ORDER.md). The seed is the same in any container. */
    uint64_t seed;
};

enum sheaf_container { SHEAF_TFRECORD = 1, SHEAF_RECORDIO = 2, SHEAF_WEBDATASET = 3 };
enum sheaf_codec { SHEAF_CODEC_NONE = 0, SHEAF_CODEC_GZIP = 1, SHEAF_CODEC_LZ4 = 2,
                   SHEAF_CODEC_ZSTD = 3 };

/* These functions return the name of a container ("tfrecord", "recordio", "webdataset") or codec
 * ("none", "gzip", "lz4", "zstd"), or NULL for any other value. The two functions whose name ends
 * in _of return the value for a name. They also accept an alias such as "wds", and return -1 for an
 * unknown name. */
SHEAF_API const char *sheaf_container_name(enum sheaf_container container);
SHEAF_API const char *sheaf_codec_name(enum sheaf_codec codec);
SHEAF_API int sheaf_container_of(const char *name);
SHEAF_API int sheaf_codec_of(const char *name);
/* The action on a bad file (when packing) or a bad record (when reading). */
enum sheaf_on_error { SHEAF_FAIL = 0, SHEAF_SKIP = 1 };

/* ---- Progress and reports (sheaf_progress) -------------------------------------------------- */
struct sheaf_progress {
    const char *stage;          /* "scan", "pack", "verify", ...; a static string */
    uint64_t done_bytes, total_bytes;   /* done <= total; a total of 0 is unknown */
    uint64_t done_count, total_count;   /* files or samples */
};
/* Receives the progress of a call about ten times a second and at the end of a stage. It is called
 * on the thread that made the call. */
typedef void sheaf_progress_fn(void *context, const struct sheaf_progress *progress);
/* Receives a bad file or record that is skipped. `where` names the file or shard. */
typedef void sheaf_report_fn(void *context, const char *where, const struct sheaf_error *error);
/* Sets the program's function for notices. The library calls `notice`, with code SHEAF_OK, for
 * information that belongs to no call, such as a bucket in another region or a pipe without a
 * writer. `notice` may be called on any thread and must not call the library. */
SHEAF_API void sheaf_on_notice(sheaf_report_fn *notice, void *context);

/* ---- Data set (sheaf_dataset) ---------------------------------------------------------------
 * A data set is opened from one or more sources:
 *   - a directory with a dataset.json (written by the packer), or the path of that file;
 *   - foreign shards, which need no manifest: a directory of them (in byte order of names), a
 *     pattern "train-{000000..000007}.tar" or "train-*.tar", a file, several of these, "@FILE" for
 *     a text file with one path per line, or "-" for standard input.
 * Container and codec are detected from content. Local foreign uncompressed shards are scanned at
 * open to count and locate the samples. Compressed and remote ones and standard input are read as
 * streams: their counts are unknown until their end, so whole shards are assigned to lanes.
 *
 * Several sources form a UNION: one data set with the samples of all sources in the given order.
 * Adjacent foreign shards are one source. Each source keeps its manifest, index, checksums,
 * container, codec and keys. Two sources may contain the same key, and sample.shard tells the
 * samples apart (shard_info.source).
 *   - Classes are merged by name. The first source keeps its numbers and its label_base. A new
 *     class gets the next number, in the order of its source. Labels are the merged numbers. If a
 *     source's numbers do not change, all its labels are kept. If they change, reading a sample
 *     returns SHEAF_ERR_UNSUPPORTED if its labels are not one class of its source, or if it has a
 *     field cls with the number.
 *   - Opening returns _UNSUPPORTED for a mix of sources with and without class names, for class
 *     lists that differ and contain a name twice, and for streams. It returns _ARGUMENT if one data
 *     set (by its fingerprint) is named twice. Foreign shards that are named twice are read twice.
 *   - The fingerprint combines the fingerprints of the sources in order. Therefore a position is
 *     valid only for the same union. */
struct sheaf_shard_info {
    /* name of the shard in its source's directory; for a foreign shard, the path that the caller
     * gave */
    const char *name;
    /* stored bytes, bytes of the fields' content, and number of samples; 0 if unknown */
    uint64_t bytes, payload_bytes, samples;
    /* XXH3-128 of the stored bytes as 32 hexadecimal digits; NULL if unknown */
    const char *xxh3;
    size_t source;              /* index of its source, from 0 */
};
#define SHEAF_SURVEY_DECADES 8
struct sheaf_field_info {       /* statistics of a field over all samples */
    /* `lacking` is the key of the first sample without the field; NULL if no sample lacks it or
     * the key is unknown */
    const char *name, *lacking;
    /* number of samples that have the field, and bytes of the field in all these samples */
    uint64_t samples, bytes;
    /* smallest, median and largest size of the field in bytes; the median has an error of at
     * most 5 % */
    uint64_t least_bytes, median_bytes, most_bytes;
    /* number of samples in which the field has less than 1 kB, from 1 kB to less than 10 kB, from
     * 10 kB to less than 100 kB, and so on; the last element has no upper limit */
    uint64_t decades[SHEAF_SURVEY_DECADES];
};
/* Information about one source of a data set, as if the source were opened alone. */
struct sheaf_source_info {
    const char *url;            /* as given; for foreign shards the first one */
    int has_manifest;
    enum sheaf_container container;
    enum sheaf_codec codec;
    /* index of the source's first shard among all shards of the data set; and the number of shards
     * that the source has */
    size_t first_shard, shard_count;
    uint64_t first_number, samples;
    size_t class_count;
    int label_base;
    const char *fingerprint, *manifest_json;    /* manifest_json is the manifest's text, NULL for
                                                   foreign shards */
    /* URL of an earlier source that appears to be the same data set, or NULL */
    const char *same_as;
    /* number of the source's samples that the view chose, or of all its samples if there is no
     * view; and the share of an epoch that comes from this source */
    uint64_t chosen; double share;
    /* The first field is the source's weight in the first stage of the view. The second is for a
     * source that is the same data set as an earlier source: the number of samples that the view
     * chose from both. */
    uint64_t weight, shared;
};
struct sheaf_dataset_info {
    const char *url;            /* the first source, as given */
    /* 1 if the source has a manifest; if there are several sources, 1 if every source has a
     * manifest */
    int has_manifest;
    /* 1 if the data set can only be read forward, so that its counts are unknown */
    int is_stream;
    enum sheaf_container container; /* 0 if its sources have different ones */
    /* codec of the shards; if the sources have different codecs, one of these codecs other than
     * NONE */
    enum sheaf_codec codec;
    uint64_t samples;           /* 0 for a stream */
    /* stored bytes, and bytes of the fields' content; payload_bytes is unknown if it is 0 and
     * has_manifest is 0 */
    uint64_t bytes, payload_bytes;
    size_t shard_count, class_count;    /* class_count 0: labels have no names */
    int label_base;             /* number of the first class, 0 or 1 */
    /* 32 hexadecimal digits that identify the data set in saved positions; "" for standard input,
     * in which no position can be saved */
    const char *fingerprint;
    /* text of the manifest; NULL for foreign shards or several sources */
    const char *manifest_json;
    size_t source_count;        /* at least 1 */
    int is_view; uint64_t epoch_samples;    /* epoch_samples counts all ranks, before the
                                               remainder is handled */
    /* For a channel whose objects are divided among hosts (ShardedByS3Key): number of this host,
     * number of hosts, and number of shards on all hosts. Otherwise 0, 0, and the number of
     * shards. */
    uint32_t host, hosts; size_t all_shards;
    /* counts_fields is nonzero if the data set's fields were counted, and counts_classes if its
     * classes were counted. field_count is 0 if the fields were not counted, or if there are more
     * than 256 field names. */
    int counts_fields, counts_classes; size_t field_count;
    /* when the data set was packed: number of images that were converted, and number of images that
     * were only made smaller; 0 for a view, UINT64_MAX if unknown */
    uint64_t images_converted, images_resized;
    /* number of files that were left out when the data set was packed; if it was converted from
     * another data set, number of samples that were left out */
    uint64_t skipped;
    /* repeated_keys is the number of samples that have the same key as an earlier sample, and
     * repeated_key is the first such key or NULL. In foreign tars, keys are compared only within a
     * shard, and a repeated key may also mean that the files of one sample are not next to each
     * other. In a data set with an index, keys are compared across all shards. */
    uint64_t repeated_keys; const char *repeated_key;
    /* number of samples with a repeated key that were joined to the earlier sample with this key */
    uint64_t joined_keys;
    /* number of values in list files (such as the columns of a CSV) that could not become fields
     * when the data set was packed */
    uint64_t left_out_values;
    /* when the data set was packed: number of samples whose file .cls had a word instead of
     * numbers; they have the label of their directory, or none */
    uint64_t cls_words;
};
SHEAF_CALL int sheaf_dataset_open(const char *const *sources, size_t source_count,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Opens a data set like sheaf_dataset_open, but without a request to its servers. A reader with a
 * cache keeps the manifests of remote data sets in its cache_directory; this call takes them from
 * there. Readers of the data set use this cache, whatever their options say, and so do reads by
 * number. If the cache lacks a manifest, or a block that a reader needs, the call returns
 * SHEAF_ERR_UNSUPPORTED; so does a read by key. Whether the data set has changed on the server is
 * not noticed. */
SHEAF_CALL int sheaf_dataset_open_offline(const char *const *sources, size_t source_count,
    const char *cache_directory, struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Opens a data set like sheaf_dataset_open. In foreign tars, however, all files with the same key
 * become one sample, wherever they are in the shard. Returns SHEAF_ERR_UNSUPPORTED if such a shard
 * is compressed, remote or a pipe. */
SHEAF_CALL int sheaf_dataset_open_joined(const char *const *sources, size_t source_count,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Writes the identity of the samples as 32 hexadecimal digits. It is a hash of the fingerprint and
 * the locations of the shards; for foreign shards it also covers inodes and times, or ETags.
 * Returns SHEAF_ERR_UNSUPPORTED if the data set can be read only once. */
SHEAF_CALL int sheaf_dataset_identity(const struct sheaf_dataset *dataset, char identity[33],
    struct sheaf_error *error);
SHEAF_API void sheaf_dataset_free(struct sheaf_dataset *dataset);   /* must come after the free
                                                                       of its readers */
SHEAF_API void sheaf_dataset_get_info(const struct sheaf_dataset *dataset,
    struct sheaf_dataset_info *info, size_t sizeof_info);
/* sheaf_dataset_shard returns information about the shard with this index, and sheaf_dataset_source
 * about the source with this index. They return SHEAF_ERR_ARGUMENT if the index is too large. */
SHEAF_CALL int sheaf_dataset_shard(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_shard_info *info, size_t sizeof_info);
SHEAF_CALL int sheaf_dataset_source(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_source_info *info, size_t sizeof_info);
/* Returns the statistics of a field. Fields are in byte order of their names. `index` must be less
 * than info.field_count. */
SHEAF_CALL int sheaf_dataset_field(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_field_info *info, size_t sizeof_info);
/* Writes the number of samples of each class. If they were not counted when the data set was packed
 * (counts_classes is 0), the function reads the index. Returns SHEAF_ERR_UNSUPPORTED if the index
 * has no labels either. */
SHEAF_CALL int sheaf_dataset_class_samples(const struct sheaf_dataset *dataset, uint64_t *samples,
    struct sheaf_error *error);
/* Writes the label of each sample, or -1 for a sample without a label. The labels come from the
 * index; no shard is read. For a view, all samples of the sources are included, chosen or not.
 * Returns SHEAF_ERR_UNSUPPORTED if the index has no labels, because they are vectors or
 * fractions. */
SHEAF_CALL int sheaf_dataset_labels(const struct sheaf_dataset *dataset, int64_t *labels,
    struct sheaf_error *error);
/* Selects at most `count` samples of the data set, or of the samples that a view has chosen. They
 * are spread evenly over the labels if the index has labels. */
SHEAF_CALL int sheaf_dataset_draw(const struct sheaf_dataset *dataset, size_t count,
    uint64_t *numbers, size_t *drawn, struct sheaf_error *error);
/* Returns the name of the class with this index, or NULL if there is no such class. Indices count
 * from 0, whatever the label base is. */
SHEAF_API const char *sheaf_dataset_class(const struct sheaf_dataset *dataset, size_t index);

/* ---- Views (sheaf_view) ---------------------------------------------------------------------
 * A view selects and mixes samples of sources. It is a JSON document (FORMATS.md) in a file *.view
 * or *.json, which is opened like a data set, with version 2 of the order.
 *
 * Writes `document` in its canonical form to `path`. Paths in it are relative to the directory of
 * `path`. The samples that conditions on keys selected are written to PATH.chosen. `reading` has
 * the options for reading the sources, or is NULL. Returns _EXISTS if the file exists, unless
 * `overwrite` is set. */
SHEAF_CALL int sheaf_view_write(const char *document, const char *path, int overwrite,
    const struct sheaf_read_options *reading, struct sheaf_error *error);
/* Computes two sizes for a source of a view: the bytes of its chosen samples in the shards, and the
 * bytes that a reader reads for them. The second size includes small gaps and whole codec blocks.
 * Unless all samples were chosen, the call reads the index of the shards that contain chosen
 * samples. */
SHEAF_CALL int sheaf_dataset_reading(const struct sheaf_dataset *dataset, size_t source,
    uint64_t *chosen_bytes, uint64_t *read_bytes, struct sheaf_error *error);
/* Describes stage `stage` (from 0) of a view. Sets *samples to the number of samples that are read
 * before the stage begins, counted from the first epoch on. Sets *weights to the weights of the
 * sources in this stage; they are valid as long as the data set. Returns SHEAF_ERR_ARGUMENT if
 * there is no such stage. */
SHEAF_CALL int sheaf_dataset_stage(const struct sheaf_dataset *dataset, size_t stage,
    uint64_t *samples, const uint64_t **weights);
/* Helps to write a view that chooses samples by their numbers. Writes `count` sample numbers to a
 * file in the directory of the view `path`, and the name of this file to `name`. The program must
 * then put this name into the member "numbers" of the view's document. */
SHEAF_CALL int sheaf_view_write_numbers(const struct sheaf_dataset *source, const uint64_t *numbers,
    size_t count, const char *path, char name[48], struct sheaf_error *error);

/* ---- Random access (sheaf_random_access) ---------------------------------------------------- */
/* Actions on a sample for which a column has no value (see struct sheaf_reader_options). */
enum sheaf_missing { SHEAF_MISSING_FAIL = 0, SHEAF_MISSING_SKIP = 1, SHEAF_MISSING_NONE = 2 };
struct sheaf_read_options {
    size_t sizeof_options;          /* set by _init */
    /* default 1 GiB; hard limit of the memory for reads, and for samples until they are freed */
    uint64_t memory_bytes;
    /* default NULL; called from time to time while sheaf_dataset_read waits for data; all counts
     * that it gets are 0 */
    sheaf_progress_fn *progress;
    void *context; const volatile int *interrupt;
    /* default NULL, 0; columns whose fields are added to the samples, as in a reader. The records
     * of a column are read after the samples. */
    const char *const *columns; size_t column_count;
    enum sheaf_missing missing;     /* default FAIL; or NONE, as in a reader. SKIP is refused. */
};
SHEAF_API void sheaf_read_options_init(struct sheaf_read_options *options, size_t size);

/* Reads `count` samples by their numbers (sheaf_sample.number), in any order and with repetitions:
 * samples[i] has the number numbers[i]. `options` may be NULL. Any number of threads may call the
 * function on one data set.
 *
 * The reads run concurrently. Samples that are close together (within 64 KiB in a file, within 1
 * MiB in a remote object, or in one block of a codec) are read at once. The checksum of each sample
 * is verified. If one sample is bad, no sample is returned. *samples are valid until
 * sheaf_kept_free, while the data set is open.
 *
 * For later calls, the data set keeps the 64 shards used last open. It also keeps their indexes,
 * which take at most 256 MiB. A forked child process opens the shards again.
 *
 * Returns SHEAF_ERR_ARGUMENT if `count` is 0 or a number does not exist, _UNSUPPORTED for a stream,
 * and _LIMIT if options.memory_bytes is too small for the samples. */
SHEAF_CALL int sheaf_dataset_read(const struct sheaf_dataset *dataset, const uint64_t *numbers,
    size_t count, const struct sheaf_read_options *options, const struct sheaf_sample **samples,
    struct sheaf_kept **kept, struct sheaf_error *error);
/* Finds samples by their keys and reads them like sheaf_dataset_read. The samples with the key
 * keys[i] are the elements of *samples from index (*firsts)[i] up to, but not including, index
 * (*firsts)[i + 1], in the order of their numbers. A key may have no samples, or several if it is
 * repeated. Finding a key takes two small reads of the file dataset.keys of its source.
 *
 * Returns SHEAF_ERR_UNSUPPORTED if there is no such file (see sheaf_index_keys), and _CHANGED if
 * the file belongs to another state of the data set. */
SHEAF_CALL int sheaf_dataset_find(const struct sheaf_dataset *dataset, const char *const *keys,
    size_t count, const struct sheaf_read_options *options, const struct sheaf_sample **samples,
    const size_t **firsts, struct sheaf_kept **kept, struct sheaf_error *error);

/* ---- Reader (sheaf_reader) ------------------------------------------------------------------
 * To read epochs: options_init, _open (the first epoch is options.epoch), _next until SHEAF_END,
 * _begin_epoch for another epoch, and _free.
 *
 * The order of an epoch depends only on (data set, seed, epoch, lanes, shuffle buffer);
 * reader/ORDER.md specifies it. Over all ranks and workers each sample is read exactly once per
 * epoch, except as `remainder` specifies. */

/* An epoch is divided among lanes, the sequences of samples that the workers read. If the number of
 * lanes does not divide the number of samples, this option says what happens to the remainder.
 * KEEP: some lanes have one sample more than the others. DROP: the remainder, at most lanes - 1
 * samples, is left out. PAD: each lane that has one sample less than the others repeats a sample.
 * AUTO: KEEP if there is one rank, otherwise PAD. */
enum sheaf_remainder { SHEAF_REMAINDER_AUTO = 0, SHEAF_KEEP = 1, SHEAF_DROP = 2, SHEAF_PAD = 3 };

/* The reader calls this function before it uses the first `bytes` bytes of options.memory, so that
 * the program can make these bytes available. The function returns nonzero if the program cannot do
 * so. The reader then continues with less memory if possible. */
typedef int sheaf_memory_fn(void *context, size_t bytes);
struct sheaf_reader_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t seed;                  /* 0 */
    uint64_t epoch;                 /* 0; the first epoch to read */
    int no_shuffle;                 /* 0; 1 reads in manifest order, without any shuffling */
    /* default 10000; total number of samples in the shuffle buffers of all lanes; 0 only permutes
     * the shards */
    uint64_t shuffle_buffer;
    /* default 0, which stands for world_size x workers; number of lanes. Another value must be a
     * multiple of world_size x workers. */
    uint32_t lanes;
    uint32_t rank, world_size;      /* 0 of 1 */
    uint32_t worker, workers;       /* 0 of 1 */
    /* default AUTO, which stands for KEEP if there is one rank, and for PAD if there are several;
     * the action on the remainder of an epoch (see enum sheaf_remainder) */
    enum sheaf_remainder remainder;
    /* default 1 GiB; hard limit of the memory for reading ahead, the shuffle buffers and the
     * index */
    uint64_t memory_bytes;
    /* default 0; number of threads that read and check samples ahead of time. 0 means one per
     * processor, at most 8. For local files it means one thread less, because sheaf_reader_next
     * does part of the work. */
    unsigned threads;
    /* default FAIL; SKIP skips bad records. Records with more than 1,024 fields or 65,536 labels
     * are bad as well. If all records are bad, the epoch ends with SHEAF_ERR_CORRUPT. */
    enum sheaf_on_error on_corrupt;
    /* default UINT64_MAX (no limit); largest number of bad records that SKIP may skip; one more bad
     * record is an error */
    uint64_t max_corrupt;
    sheaf_report_fn *report; void *report_context;  /* NULL; called in next() for each skipped
                                                       record */
    const char *cache_directory;    /* NULL; directory for remote shards, which processes may
                                       share */
    /* default 64 GB; size limit of the cache, from which the least recently used blocks are removed
     * first */
    uint64_t cache_bytes;
    /* default NULL; memory of the program in which the reader puts samples: memory_bytes bytes,
     * aligned to a page (see sheaf_reader_keep) */
    void *memory;
    sheaf_memory_fn *memory_needed; void *memory_context;   /* NULL */
    /* default NULL, 0; names of the columns (see sheaf_column_add) that are read with the samples.
     * A column NAME with values of the type EXT, such as "txt", adds the field NAME.EXT to each
     * sample. If a sample already has a field NAME.EXT, the reader returns SHEAF_ERR_EXISTS.
     * Columns do not change the order of the samples or the reader's positions. */
    const char *const *columns; size_t column_count;
    /* default FAIL; what to do with a sample for which a column has no value. FAIL: return
     * SHEAF_ERR_NOT_FOUND. SKIP: leave out and count the sample. NONE: return the sample without
     * the field. */
    enum sheaf_missing missing;
};
SHEAF_API void sheaf_reader_options_init(struct sheaf_reader_options *options, size_t size);

/* Finds the rank and world size of this process. It uses the first of these launchers whose
 * variables are set in the environment:
 *
 * - RANK and WORLD_SIZE (torchrun);
 * - OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE (Open MPI);
 * - SLURM_PROCID and SLURM_NTASKS, if SLURM_STEP_ID is set as well (srun sets all three; a batch
 *   script without srun has only the first two, and is a single process);
 * - SM_CURRENT_HOST and SM_HOSTS, or else the file resourceconfig.json in the directory `config`,
 *   which is /opt/ml/input/config if `config` is NULL (SageMaker). The rank is the index of the
 *   current host in the list of hosts.
 *
 * If `source` is not NULL, *source is set to a static string that names the launcher. Returns
 * SHEAF_END if the variables of no launcher are set. Returns SHEAF_ERR_ARGUMENT if a value is
 * invalid, or if only one of the two variables of torchrun or Open MPI is set. (Slurm itself sets
 * only one of its variables in jobs without ranks.) No other function of the library reads these
 * variables. */
SHEAF_CALL int sheaf_world_from_environment(const char *config, uint32_t *rank,
    uint32_t *world_size, const char **source, struct sheaf_error *error);

/* Opens a reader. It borrows the data set until sheaf_reader_free. memory_bytes must hold the
 * largest sample, the index of its shard, and 64 bytes per sample of the shuffle buffers (in
 * addition 64 KiB with a codec, and 1 MiB for remote shards). Otherwise the call returns
 * SHEAF_ERR_LIMIT with a size that is enough. If the memory has no room for all samples of the
 * shuffle buffer, the other samples are read only when they are drawn. With a codec, the reader
 * then decompresses a whole block, and keeps as many of its samples as the memory has room for. In
 * addition to memory_bytes, a process takes at most 32 MiB for connections, stacks and codecs. */
SHEAF_CALL int sheaf_reader_open(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, struct sheaf_reader **reader,
    struct sheaf_error *error);
SHEAF_API void sheaf_reader_free(struct sheaf_reader *reader);
/* Starts an epoch at its beginning, whatever the reader's position. */
SHEAF_CALL int sheaf_reader_begin_epoch(struct sheaf_reader *reader, uint64_t epoch);
/* Starts an epoch at sample number `sample`, counted from 0, of this reader's part of the epoch.
 * Earlier samples are not read. Returns SHEAF_ERR_ARGUMENT if the part has fewer samples, or if the
 * data set is a stream. */
SHEAF_CALL int sheaf_reader_seek(struct sheaf_reader *reader, uint64_t epoch, uint64_t sample);
/* Returns the number of samples in this reader's part of the epoch, including corrupt records, or
 * UINT64_MAX for a stream. */
SHEAF_API uint64_t sheaf_reader_epoch_samples(const struct sheaf_reader *reader);
/* Returns the next sample, which is valid until the next call on this reader, or SHEAF_END at the
 * end of the epoch. After SHEAF_ERR_CORRUPT or _TRUNCATED with on_corrupt = FAIL, and after any
 * other error except SHEAF_ERR_INTERRUPTED, only _error, _get_stats and _free may be called. */
SHEAF_CALL int sheaf_reader_next(struct sheaf_reader *reader, const struct sheaf_sample **sample);
/* Returns between 1 and `max` samples, which are valid until the next call on this reader. If there
 * is no sample, returns the same codes as sheaf_reader_next. An error that follows some samples is
 * returned by the next call. If `max` is 0, returns SHEAF_ERR_ARGUMENT. */
SHEAF_CALL int sheaf_reader_next_batch(struct sheaf_reader *reader, size_t max,
    const struct sheaf_sample **samples, size_t *count);
/* Detaches the samples of the last call from the reader. *samples (*count of them) stay valid until
 * sheaf_kept_free, even after the reader and the data set are freed. The pointers that the last
 * call returned become invalid. Returns SHEAF_ERR_STATE if there are no samples, or if they were
 * detached already.
 *
 * Samples of 4 KiB or more are not copied if the reader's memory budget (memory_bytes) has room for
 * them. Such a sample keeps its whole read buffer (about 1 MiB; 8 MiB for remote shards), which
 * still counts in the budget. Other samples are copied to memory that does not count in the budget.
 * Among the copied samples, the first fields of all samples are next to each other, then the second
 * fields, and so on.
 *
 * If options.memory is set, samples that are not copied lie in this memory. Another process or a
 * device that has access to the memory can then use the samples without a copy. The memory belongs
 * to the reader until the reader and these samples are freed. */
SHEAF_CALL int sheaf_reader_keep(struct sheaf_reader *reader, const struct sheaf_sample **samples,
    size_t *count, struct sheaf_kept **kept);
SHEAF_API void sheaf_kept_free(struct sheaf_kept *kept);    /* may be called on any thread */
#define SHEAF_POSITION_SIZE 257     /* including the NUL */
#define SHEAF_BACK_MOST ((uint64_t)1 << 20)
/* Writes the reader's position: printable text of at most 256 bytes with a checksum, valid on any
 * machine. Returns SHEAF_ERR_UNSUPPORTED for standard input, and for pipes that the platform
 * shuffles. */
SHEAF_CALL int sheaf_reader_position(const struct sheaf_reader *reader,
    char text[SHEAF_POSITION_SIZE]);
/* Writes the position that the reader had before it returned the last `back` samples, for programs
 * that read ahead. Returns SHEAF_ERR_ARGUMENT if `back` is greater than SHEAF_BACK_MOST, or reaches
 * back further than the sample at which the epoch was started or resumed. */
SHEAF_CALL int sheaf_reader_position_back(const struct sheaf_reader *reader, uint64_t back,
    char text[SHEAF_POSITION_SIZE]);
/* Resumes at a position. Seed, epoch, lanes, buffer size and remainder come from the text. If each
 * lane has returned the same number of samples before the position, the position fits any
 * world_size x workers that divides the number of lanes. Any other position fits only the same rank
 * and worker. Returns SHEAF_ERR_CHANGED if the position belongs to another data set, and
 * SHEAF_ERR_ARGUMENT if the text is damaged or the position is outside of the epoch. (For a stream,
 * it is sheaf_reader_next that returns SHEAF_ERR_ARGUMENT if the position is outside of the
 * epoch.) */
SHEAF_CALL int sheaf_reader_resume(struct sheaf_reader *reader, const char *text);
/* Writes the fingerprint that sheaf_reader_position stores in a position of options->epoch after
 * all ranks together have read `samples` samples. For a view, the fingerprint covers only the
 * stages up to this position. So positions stay valid when another stage is appended to the
 * view. */
SHEAF_CALL int sheaf_dataset_fingerprint_at(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, uint64_t samples, char fingerprint[33],
    struct sheaf_error *error);
/* Makes the current or the next sheaf_reader_next return SHEAF_ERR_INTERRUPTED once. The reader
 * then continues normally. May be called on any thread and in a signal handler. */
SHEAF_API void sheaf_reader_interrupt(struct sheaf_reader *reader);
struct sheaf_reader_stats {
    uint64_t samples, payload_bytes;    /* returned over all epochs; content of their fields */
    /* number of bytes of shards and indexes that were read, from the store or from the cache */
    uint64_t read_bytes;
    /* number of records that were skipped as corrupt; a record counts once in every epoch */
    uint64_t corrupt;
    uint64_t stall_ns;              /* time in which next() waited for data */
    uint64_t first_sample_ns;       /* from open to the first sample */
    uint64_t memory_bytes, memory_peak_bytes;   /* in use <= peak <= options.memory_bytes */
    /* number of bytes that came from the cache instead of the store, counted in whole blocks of the
     * cache */
    uint64_t cached_bytes;
    uint64_t epoch;                 /* the current one */
    /* number of objects that were not cached because they have no strong ETag */
    uint64_t uncached_objects;
    /* number of members of foreign tars that belong to no sample, such as links */
    uint64_t passed_over;
    uint64_t repeated;              /* samples repeated to pad a lane; <= samples */
    /* for foreign shards: number of bytes that were skipped after damaged places, up to the next
     * record that was found */
    uint64_t lost_bytes;
    uint64_t chosen_bytes;          /* bytes of the chosen samples alone; read_bytes includes
                                       gaps */
    /* number of HTTP requests of the whole process, and number of those that were repeated; if the
     * reader is NULL, only these two fields are set */
    uint64_t requests, retries;
    uint64_t repeated_keys;         /* as in sheaf_dataset_info, and of streams that were read */
    /* how often a column had no value for a sample: with `missing` SKIP, the number of samples left
     * out; with NONE, the number of fields left out */
    uint64_t missing;
};
SHEAF_API void sheaf_reader_get_stats(const struct sheaf_reader *reader,
    struct sheaf_reader_stats *stats, size_t sizeof_stats);
/* Returns the last error of this reader. The error is valid until the next call on the reader. */
SHEAF_API const struct sheaf_error *sheaf_reader_error(const struct sheaf_reader *reader);

/* ---- Channels (sheaf_channel) ---------------------------------------------------------------
 * A channel is a data set that a platform gives to a training job under a name. SageMaker's
 * containers have them below /opt/ml; the same layout can be created anywhere. The first of these
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
 * Pipes. Epoch E is the pipe NAME_E; if the first epoch requested has none, but another is being
 * written to, that one is read, and later epochs follow it. Objects of any container come one
 * after another, plain or compressed by gzip. There is no manifest: a tar's `cls` members are
 * fields, RecordIO's keys are generated, and only damage to the stream itself is detected. One
 * process can read a pipe; in a world of hosts, each reads its own pipe to the end and takes its
 * share of the samples (lanes equal the world size; workers is 1). A feeder that ends in the
 * middle of a record is SHEAF_ERR_TRUNCATED. A sample of an augmented manifest has a field for
 * each NAME-ref, whose name is detected from its content, and for each other attribute. But a
 * `label` (or else `class`) that is a number or an array of numbers is the label. Positions work
 * if the platform does not shuffle (no "ShuffleConfig"): resuming reads forward. */
enum sheaf_channel_kind { SHEAF_CHANNEL_DIRECTORY = 1, SHEAF_CHANNEL_PIPE = 2,
                          SHEAF_CHANNEL_DIRECT = 3 };   /* from S3 or another store */
struct sheaf_channel_options {
    size_t sizeof_options;          /* set by _init */
    const char *root;               /* "/opt/ml" */
    /* default 600; largest number of seconds to wait until a pipe appears, and the same again until
     * its first byte arrives */
    uint64_t wait_seconds;
    /* for an augmented manifest in Pipe mode: the names of its attributes, such as
     * "image-ref,label". For each line of the manifest, the pipe has one RecordIO record for each
     * attribute, in the order of these names. default NULL: the names are in the platform's
     * configuration. */
    const char *attributes;
    /* default NULL: the manifest is in the channel's directory. Otherwise the path or URL of
     * dataset.json. It is needed if each host has only a part of the shards, because the manifest
     * may be on another host. */
    const char *manifest;
};
/* Information about a channel. Strings that the platform does not specify are "". */
struct sheaf_channel_info {
    const char *name;
    enum sheaf_channel_kind kind;
    const char *location;           /* directory; prefix of the pipes' names; or source */
    const char *file_system;        /* of a directory: "local", "FUSE", "Lustre" or "NFS" */
    /* "File", "FastFile" or "Pipe", as the platform states it; only a hint */
    const char *mode;
    const char *content_type;
    const char *compression;        /* "None" or "Gzip" */
    const char *record_wrapper;     /* "None" or "RecordIO" */
    const char *distribution;       /* "FullyReplicated" or "ShardedByS3Key" */
    int has_shuffle_seed;           /* whether the platform shuffles whole objects with this
                                       seed: */
    int64_t shuffle_seed;
    /* one line that says what the channel contains and how it will be read */
    const char *description;
};
SHEAF_API void sheaf_channel_options_init(struct sheaf_channel_options *options, size_t size);
/* Detects the channel. `options` may be NULL. Returns SHEAF_ERR_NOT_FOUND if there is no such
 * channel (the message lists the existing ones), and _CORRUPT if the configuration is invalid.
 * Returns _ARGUMENT unless the name consists of 1 to 64 characters of A-Z a-z 0-9 . - _. */
SHEAF_CALL int sheaf_channel_open(const char *name, const struct sheaf_channel_options *options,
    struct sheaf_channel **channel, struct sheaf_error *error);
SHEAF_API void sheaf_channel_free(struct sheaf_channel *channel);
SHEAF_API void sheaf_channel_get_info(const struct sheaf_channel *channel,
    struct sheaf_channel_info *info, size_t sizeof_info);
/* Opens the channel as a data set, which stays valid after the channel is freed. The host may have
 * only a part of the objects (ShardedByS3Key). Then positions belong to this host, and epochs have
 * the same length on all hosts. For this, the remainder must be PAD, which is the default, or DROP
 * (ORDER.md, section 3). Returns SHEAF_ERR_UNSUPPORTED if equal lengths are impossible. */
SHEAF_CALL int sheaf_channel_dataset(const struct sheaf_channel *channel,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Finds the rank and world size for readers of this channel. Usually they are those of
 * sheaf_world_from_environment. If each host has its own objects (ShardedByS3Key), the world
 * consists of the processes of this host only. Then the variables are LOCAL_RANK and
 * LOCAL_WORLD_SIZE; or OMPI_COMM_WORLD_LOCAL_RANK and OMPI_COMM_WORLD_LOCAL_SIZE; or, in a step of
 * srun, SLURM_LOCALID and SLURM_NTASKS_PER_NODE. If none of these is set, the rank is 0 and the
 * world size is 1. Returns SHEAF_ERR_ARGUMENT unless the world consists of this host only, or has
 * the same number of processes on each host. */
SHEAF_CALL int sheaf_channel_world(const struct sheaf_channel *channel, uint32_t *rank,
    uint32_t *world_size, const char **source, struct sheaf_error *error);
/* Sets some fields of initialised `options` from the job's hyperparameters sheaf_seed, sheaf_epoch,
 * sheaf_shuffle_buffer and sheaf_lanes. Each is the text of a whole number in
 * ROOT/input/config/hyperparameters.json, or else in the variable SM_HPS. Other options are
 * unchanged. Returns SHEAF_ERR_ARGUMENT if another hyperparameter begins with sheaf_, a number is
 * invalid, or the text is not a JSON object. */
SHEAF_CALL int sheaf_channel_order(const struct sheaf_channel *channel,
    struct sheaf_reader_options *options, struct sheaf_error *error);
/* Tells the platform why the job fails: writes the message (at most 1024 bytes) to
 * ROOT/output/failure. `root` is the directory ROOT; NULL means /opt/ml. Returns
 * SHEAF_ERR_NOT_FOUND if this directory does not exist. */
SHEAF_CALL int sheaf_channel_report_failure(const char *root, const char *message,
    struct sheaf_error *error);

/* ---- The plan of an epoch, without reading data (sheaf_epoch) -------------------------------
 * A range of samples of one shard. One worker of one rank reads it, in one lane (a sequence of
 * samples; see enum sheaf_remainder). */
struct sheaf_stretch {
    uint32_t rank, worker, lane;
    uint32_t shard;             /* in manifest order */
    uint64_t first_record;
    uint64_t samples;
};
typedef void sheaf_stretch_fn(void *context, const struct sheaf_stretch *stretch);

/* Calls `each` for every range of samples (struct sheaf_stretch) that is read in options->epoch.
 * The ranges are ordered by rank, worker and lane, and within a lane as they are read. rank and
 * worker in the options are ignored. Returns SHEAF_ERR_UNSUPPORTED for a stream. */
SHEAF_CALL int sheaf_dataset_plan(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, sheaf_stretch_fn *each, void *context,
    struct sheaf_error *error);

/* One occurrence of a sample in an epoch. All numbers in it count from 0. */
struct sheaf_coming {
    size_t asked;               /* the sample is numbers[asked] */
    /* position of this occurrence in the epoch, counted over the samples of all ranks */
    uint64_t sample;
    uint32_t rank;
    /* number of the occurrence in the rank's part of the epoch; with batches of B samples, it is
     * in step ordinal / B */
    uint64_t ordinal;
};
typedef void sheaf_coming_fn(void *context, const struct sheaf_coming *coming);
/* Finds when samples occur in options->epoch. Calls `each` for every occurrence of the samples with
 * these numbers, in the order of the epoch. A sample that is dropped does not occur. A sample that
 * pads a lane occurs again. rank and worker in the options are ignored, because the call replays
 * all lanes. Returns SHEAF_ERR_UNSUPPORTED for a stream. */
SHEAF_CALL int sheaf_dataset_locate(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, const uint64_t *numbers, size_t count,
    sheaf_coming_fn *each, void *context, struct sheaf_error *error);
enum { SHEAF_MIXING_POINTS = 1000, SHEAF_MIXING_BATCH = 256 };
/* Measures of how well options->epoch is shuffled, compared with an ideal shuffle of the
 * samples. */
struct sheaf_mixing {
    uint64_t samples;                   /* number of samples in the epoch, over all ranks */
    double displacement, ideal_displacement;    /* mean distance from the manifest position */
    /* Measures how close together in the epoch samples stay that are neighbours in the manifest.
     * Each sample has two neighbours: the samples directly before and after it in the manifest. The
     * value is the mean number of neighbours (0 to 2) that are among the 100 samples before the
     * sample in the epoch. */
    double neighbours, ideal_neighbours;
    /* 1 if the index has labels; if it is 0, the following fields about labels are 0 as well */
    int has_labels;
    double label_run, ideal_label_run;  /* mean length of runs of one label */
    uint64_t longest_label_run;
    double batch_labels, ideal_batch_labels;    /* mean number of labels in SHEAF_MIXING_BATCH
                                                   samples */
    /* Data for a plot: the positions of point_count samples, which are equally far apart in the
     * epoch. `came` has each sample's position in the epoch, and `lay` its position in the data
     * set. Both are fractions from 0 up to 1. */
    size_t point_count;
    double came[SHEAF_MIXING_POINTS], lay[SHEAF_MIXING_POINTS];
};
SHEAF_CALL int sheaf_dataset_mixing(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, struct sheaf_mixing *mixing, size_t sizeof_mixing,
    struct sheaf_error *error);

/* ---- Packing a source (sheaf_pack) ----------------------------------------------------------
 * sheaf_pack makes a data set from files, in one call. The source is one of
 *   - a directory tree: a file's directory is its class;
 *   - s3://BUCKET/PREFIX: a tree of objects;
 *   - a list, by its name: *.lst (MXNet: index, label[s], path), *.csv and *.tsv (path, label[s]),
 *     *.jsonl, any other file (a path per line; the directory is the class). Columns of a header
 *     and members of JSON Lines are the path if they are called path, file, file_name, filename or
 *     image, and the label if they are called label, labels, class or class_name, in upper or lower
 *     case; a class beside a label that is a number is its name; others become fields;
 *   - SageMaker's manifest file or augmented manifest (packer/source/augmented.h), *.manifest,
 *     *.json or *.jsonl, by its content;
 *   - an archive, *.tar, *.zip, *.tar.gz, ..., if remote copied first: the directory it unpacks to.
 * Files whose paths agree up to the first dot of the base name are one sample. The plan (keys,
 * labels, order, shards), made before any file is read, and the files determine every byte. */
/* One shard of a plan. */
struct sheaf_plan_shard {
    const char *split;          /* the split's name; "" without splits */
    const char *name;           /* "shard-000000.tar" */
    uint64_t samples, payload_bytes;
};
typedef void sheaf_plan_fn(void *context, const struct sheaf_plan_shard *shard);
/* A class of a plan, its number, and the number of its samples. Samples whose label is in a file
 * .cls are not counted. */
struct sheaf_class_count { const char *name; int64_t number; uint64_t samples; };
typedef void sheaf_class_count_fn(void *context, const struct sheaf_class_count *count);
/* which dot of the base name ends the key, so that the suffix begins after it */
enum sheaf_key_end { SHEAF_FIRST_DOT = 0, SHEAF_LAST_DOT = 1 };
/* A filter: a pattern for paths under the source, as in a .gitignore. `packs` tells whether
 * matching files are packed or left out. */
struct sheaf_filter { const char *pattern; int packs; };
enum sheaf_resize_mode { SHEAF_SHORTER = 0, SHEAF_LONGER = 1, SHEAF_EXACT = 2 };
enum sheaf_check_images { SHEAF_CHECK_MARKERS = 0, SHEAF_CHECK_DECODE = 1, SHEAF_CHECK_NONE = 2,
                          SHEAF_CHECK_USUAL = 3 };
/* The action on a sample whose key another sample of the data set also has. FAIL: return an
 * error. NUMBER: give it the first free key of KEY-2, KEY-3, ... DROP: leave it out. */
enum sheaf_duplicate_keys { SHEAF_DUPLICATE_FAIL = 0, SHEAF_DUPLICATE_NUMBER = 1,
                            SHEAF_DUPLICATE_DROP = 2 };
struct sheaf_pack_options {
    size_t sizeof_options;          /* set by _init */
    enum sheaf_container container; /* SHEAF_WEBDATASET */
    /* default NONE; a compressed shard consists of one gzip member, one LZ4 frame, or several zstd
     * frames */
    enum sheaf_codec codec;
    uint64_t shard_bytes;           /* 150000000; target payload of a shard */
    /* default 0: shard_bytes determines the number of shards. Otherwise the number of shards in
     * each split. A split that has fewer samples gets one shard for each sample. */
    uint64_t shard_count;
    const char *prefix;             /* "shard" */
    /* If the source is a list file: the directory to which its paths are relative; default NULL,
     * the directory of the list file. If the source is an archive: the directory in the archive
     * that is packed; default NULL, the whole archive. */
    const char *root;
    /* default 0; with 1, samples are in byte order of their keys instead of shuffled */
    int no_shuffle;
    uint64_t seed;                  /* 0; seed of the shuffle and of splits */
    int label_base;                 /* 0; number of the first class, 0 or 1 */
    const char *split;              /* NULL; "train=0.8,val=0.2" or "train=60/class,val=rest" */
    enum sheaf_on_error on_error;   /* FAIL */
    /* default 0; with 1, shards that an earlier run finished are kept if their files have the same
     * sizes and times */
    int resume;
    const char *identity;           /* NULL; for sheaf_packer: resume requires the same identity */
    int overwrite;                  /* 0; 1 removes the existing data set first */
    /* default 0; with 1, only a plan is made, and *error tells whether and why `dest` would be
     * refused */
    int dry_run;
    const char *index;              /* NULL; readers whose index files are written:
                                       "dali,mxnet,wids,energon" */
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    /* default 512 MiB; hard limit of the memory for buffers. Memory for the sorted list of files
     * and samples (the plan) is not included. A quarter of memory_bytes is for data on its way to
     * S3, or more if a single part of an upload is larger than this quarter. A part has 8 MiB; if a
     * shard has more than 40 GB, its parts have 1/5000 of the shard. */
    uint64_t memory_bytes;
    sheaf_progress_fn *progress;    /* NULL */
    sheaf_report_fn *report;        /* NULL; called for each bad file */
    /* default NULL; with dry_run, this function is called for each shard of the plan */
    sheaf_plan_fn *plan;
    void *context; const volatile int *interrupt;
    /* default NULL; only for sheaf_packer_open: source_count paths of sources from which the
     * program reads. The sources must not be in `dest`, because the option overwrite would delete
     * them. */
    const char *const *sources;
    size_t source_count;
    /* default NULL, which stands for the option `identity`; a text that identifies the samples
     * independently of their location and time */
    const char *origin;
    /* default NULL: everything is packed. Otherwise filter_count filters. The last filter that
     * matches a path decides whether the file is packed. If no filter matches the path, the file is
     * left out if the first filter packs files, and packed if the first filter leaves files out. */
    const struct sheaf_filter *filters;
    size_t filter_count;
    /* default NULL; called with code SHEAF_OK for information about the run that does not concern
     * an error */
    sheaf_report_fn *note;
    const char *const *field_aliases;   /* NULL; "jpeg=jpg", ..., ended by NULL */
    /* default FIRST_DOT; with LAST_DOT, the suffix begins at the last dot, and earlier dots become
     * '_' in the key */
    enum sheaf_key_end key_end;
    /* default 0; with 1, unusual images named .jpg or .jpeg are turned into plain JPEGs */
    int fix_images;
    /* default USUAL; how images are checked. MARKERS: the markers of JPEGs are checked. DECODE:
     * every pixel of an image must be decodable. NONE: images are not checked. USUAL stands for
     * NONE in sheaf_convert and for MARKERS in other calls. */
    enum sheaf_check_images check_images;
    /* default 90; quality (1 to 100) of the JPEGs that packing makes */
    int quality;
    /* default NULL; settings for objects that are written to S3: strings such as "acl=private",
     * ended by NULL */
    const char *const *s3;
    /* default 0, which keeps the size; with a number N, larger images are made smaller, so that the
     * side that resize_mode selects has N pixels */
    uint32_t resize; enum sheaf_resize_mode resize_mode;
    /* default 0; only for sheaf_convert: `reshard` 1 cuts new shards, and `reshuffle` 1 makes a new
     * order from `seed` */
    int reshard, reshuffle;
    const char *field_map;          /* NULL; for sheaf_convert: "image=jpg,y=label" makes y the
                                       label */
    /* default 0: the whole path of a file's directory is its class. With a number N, the class is
     * only the first N parts of this path. */
    uint32_t class_depth;
    /* default NULL; a data set, or a file that lists class names (one per line, or a JSON array).
     * Classes get the numbers that they have in this data set or list. A class that is missing
     * there is an error. sheaf_append refuses it, because the data set's classes are used. */
    const char *classes;
    /* default NULL; called for each class of a plan, by sheaf_plan_make, and by other calls if
     * dry_run is set */
    sheaf_class_count_fn *class_count;
    enum sheaf_duplicate_keys duplicate_keys;   /* FAIL; for sheaf_packer_open and sheaf_convert */
    /* default FAIL; the action on a file that has vanished or changed since the scan of the source.
     * SKIP leaves the file out if on_error is SKIP as well. */
    enum sheaf_on_error on_change;
    /* default NULL (no limit); the largest number of files that on_error SKIP may leave out, as in
     * "10", or their share of all files, as in "0.5%". If there are more bad files, the call
     * fails. */
    const char *max_skipped;
};
SHEAF_API void sheaf_pack_options_init(struct sheaf_pack_options *options, size_t size);
/* Returns the name of a possible setting in options->s3 (see doc/s3.md), with its values and its
 * header. Returns NULL if `index` is too large. `values` and `header` may be NULL. */
SHEAF_API const char *sheaf_s3_setting(size_t index, const char **values, const char **header);
struct sheaf_pack_result {
    /* number of files in the source, or in the part of the plan that was packed; for sheaf_packer,
     * number of appended fields. If the call succeeds, files == files_packed + skipped. */
    uint64_t files;
    uint64_t files_packed;      /* fields in the shards */
    uint64_t samples, payload_bytes;    /* packed, or planned with dry_run; content of their
                                           fields */
    uint64_t stored_bytes;      /* bytes of the shards */
    /* `shards` is the number of shards, and shards_kept the number of shards that the option
     * `resume` kept. For a part that was already published, `shards` is 0 and shards_kept is the
     * number of the part's shards. */
    uint64_t shards, shards_kept;
    /* number of skipped files (for sheaf_packer: of samples); the report file lists each of them */
    uint64_t skipped;
    /* for RecordIO: number of records that contain the magic number, so that they are stored in
     * several parts */
    uint64_t multipart_records;
    /* memory_peak_bytes is the largest amount of memory that buffers and parts sent to S3 took; it
     * is at most options.memory_bytes. plan_bytes is the memory that the sorted list of files and
     * samples (the plan) took in addition. */
    uint64_t memory_peak_bytes, plan_bytes;
    uint64_t passed_over;       /* S3: marks of directories, old versions, objects elsewhere */
    uint64_t left_out;          /* ignored files: hidden directories, .DS_Store, ._*, Thumbs.db,
                                   ... */
    /* number of samples without a label, in a source in which other samples have a label */
    uint64_t unlabelled;
    /* the first key, in byte order, of a sample without a label; may be truncated */
    char first_unlabelled[512];
    /* number of files that filters left out; a whole directory that is left out counts as one */
    uint64_t filtered;
    uint64_t converted, resized;    /* images listed in converted.tsv; other images that became
                                       smaller */
    /* number of samples with a repeated key; they were renamed, or left out and listed in the
     * report file */
    uint64_t duplicates;
};
/* Packs a source. Writes shards, dataset.index, dataset.keys and finally dataset.json to the
 * directory `dest`, which is created if necessary. Each split gets a directory of its own in
 * `dest`. After a failed call there is no dataset.json, and the finished shards stay for `resume`.
 * Local shards are written without filling the kernel's page cache. */
SHEAF_CALL int sheaf_pack(const char *source, const char *dest,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Packs several sources together. Each source is a directory or a list file of local files; or else
 * each source is a prefix or a list file of objects, all in the same bucket. Keys are relative to
 * the common directory of all sources. Classes are relative to their source; a file directly in a
 * source has the source's name as its class. */
SHEAF_CALL int sheaf_pack_sources(const char *const *sources, size_t count, const char *dest,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Appends the samples of sources, which are given as in sheaf_pack_sources, to the data set
 * `dataset`. The samples become new shards with the same container and codec. If shard_bytes is 0,
 * the default in this call, the new shards have about the same size as the existing ones. Known
 * classes keep their numbers, and new classes get the next numbers. Open readers continue
 * undisturbed. A reader that is opened meanwhile sees the data set as before the append or as after
 * it. Resuming at a position from before the append returns SHEAF_ERR_CHANGED.
 *
 * A file whose key the data set already has counts as a bad file. If the sources have no files but
 * such bad files, the call returns SHEAF_OK and makes no new shards. `overwrite` removes the shards
 * of an unfinished append. With `resume`, the call also returns SHEAF_OK if the last append added
 * exactly these samples. Returns SHEAF_ERR_UNSUPPORTED for views and foreign shards.
 *
 * `dataset` may also be a directory of splits. Then the samples are divided among all splits, as
 * the option `split` says or, if it is NULL, as sheaf_pack divided the data. A key that one split
 * has is not appended to another one. No split changes before the shards of all splits are
 * complete. */
SHEAF_CALL int sheaf_append(const char *const *sources, size_t count, const char *dataset,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);

/* ---- Editing a data set (sheaf_edit) --------------------------------------------------------
 * sheaf_edit deletes samples, gives samples other labels, and replaces files of samples. It writes
 * the shards that have such samples under new names, copies the other records of these shards as
 * they are, and then replaces the manifest. All other shards keep their bytes and names.
 *
 * Samples keep their order. After a deletion, the samples after it have lower numbers. The data
 * set has another fingerprint, so earlier positions, states, and views of chosen numbers are
 * SHEAF_ERR_CHANGED. Open readers continue with the data set as it was. */
struct sheaf_edit_options {
    size_t sizeof_options;          /* set by _init */
    const char *delete_keys;        /* NULL; a file with a key in each line */
    /* default NULL; a list of keys or paths with a new label or labels for each (*.csv, *.tsv,
     * *.jsonl, *.lst). A new class gets the next free number. */
    const char *labels;
    /* default NULL; a source of files as in sheaf_pack. Each file replaces the field with the same
     * key and suffix. */
    const char *replace;
    /* default FAIL; with SKIP, keys and files that belong to no sample are reported and left out */
    enum sheaf_on_error on_unknown;
    int resume;                     /* 0; 1 keeps finished shards of an interrupted edit */
    int overwrite;                  /* 0; 1 removes what an interrupted run has left */
    /* default 0; with 1, after the manifest is published, the shards that this edit and earlier
     * ones have replaced are removed */
    int purge;
    int dry_run;                    /* 0; 1 only finds the samples and shards */
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    uint64_t memory_bytes;          /* 512 MiB; hard limit, without the lists */
    sheaf_progress_fn *progress;    /* NULL */
    /* default NULL; called for each key or file that belongs to no sample */
    sheaf_report_fn *report;
    void *context;
    const volatile int *interrupt;  /* NULL */
    const char *const *s3;          /* NULL; as in sheaf_pack_options */
};
struct sheaf_edit_result {
    uint64_t samples;               /* samples afterwards */
    uint64_t deleted, relabelled, replaced;     /* samples */
    uint64_t unknown;               /* keys and files of no sample */
    uint64_t shards;                /* shards afterwards */
    uint64_t shards_written;        /* of them written again by this call, */
    uint64_t shards_kept;           /* or before by an interrupted one */
    uint64_t stored_bytes;          /* of these shards */
    uint64_t memory_peak_bytes;
    int is_done;                    /* whether the last edit was this one already */
};
SHEAF_API void sheaf_edit_options_init(struct sheaf_edit_options *options, size_t size);
/* Edits the data set `dataset`, which is a directory or URL. Returns SHEAF_ERR_NOT_FOUND if a key
 * in the options, or a file of the source options->replace, belongs to no sample. Returns
 * _UNSUPPORTED for views and foreign shards, and _CORRUPT if a shard that must be written again is
 * damaged. If delete_keys, labels and replace are all NULL, the call only removes replaced shards
 * (option `purge`). */
SHEAF_CALL int sheaf_edit(const char *dataset, const struct sheaf_edit_options *options,
    struct sheaf_edit_result *result, size_t sizeof_result, struct sheaf_error *error);

/* ---- Repairing a data set (sheaf_repair) ----------------------------------------------------
 * sheaf_repair finds files of a data set that are damaged or lost, and makes them again: shards
 * from the files that were packed, or all files from a copy of the data set. The bytes must be
 * those that the manifest states. Otherwise the file is reported and nothing is replaced. */
struct sheaf_repair_options {
    size_t sizeof_options;          /* set by _init */
    /* default NULL: all files are checked, and the damaged ones are repaired. Otherwise file_count
     * names of files of the data set. These files are made again without a check. */
    const char *const *files;
    size_t file_count;
    /* default NULL; directory to which paths are relative if the source is a list, as in
     * sheaf_pack_options */
    const char *root;
    /* default 0; with 1, damaged files are only found and reported by `note` */
    int dry_run;
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    uint64_t memory_bytes;          /* 512 MiB; hard limit, without the plan */
    sheaf_progress_fn *progress;    /* NULL */
    /* default NULL; called for each damaged file that could not be repaired */
    sheaf_report_fn *report;
    sheaf_report_fn *note;          /* NULL; called with code SHEAF_OK for each repaired file */
    void *context;
    const volatile int *interrupt;  /* NULL */
    const char *const *s3;          /* NULL; as in sheaf_pack_options */
};
struct sheaf_repair_result {
    uint64_t files;                 /* files that were checked or named */
    uint64_t damaged, repaired;     /* files */
    uint64_t memory_peak_bytes;
    /* 1 if the source was a copy of the data set, 0 if it consisted of source files */
    int is_copy;
};
SHEAF_API void sheaf_repair_options_init(struct sheaf_repair_options *options, size_t size);
/* Repairs the data set `dataset`, which is a directory or URL with an intact manifest. `from` has
 * `count` sources as in sheaf_pack_sources, or one data set with the same fingerprint (a copy). If
 * a file cannot be repaired, the call still repairs all other files. It then returns the error of
 * the first file that could not be repaired: SHEAF_ERR_CHANGED if the source of the file has
 * changed, _UNSUPPORTED if only a copy can repair it. */
SHEAF_CALL int sheaf_repair(const char *dataset, const char *const *from, size_t count,
    const struct sheaf_repair_options *options, struct sheaf_repair_result *result,
    size_t sizeof_result, struct sheaf_error *error);

/* ---- Packing on many machines (sheaf_plan) --------------------------------------------------
 *   1) sheaf_plan_make, once: lists the sources and stores a plan
 *   2) sheaf_pack_part, for each part 0 .. parts - 1: anywhere, in any order, any number of times
 *   3) sheaf_commit, once all parts are done
 * The result is byte for byte that of sheaf_pack. A plan is one file or S3 object, specified by
 * packer/PLAN.md. A part may run twice, concurrently or after it was killed: the result is the
 * same, and finished shards are not packed again. */

/* Makes a plan for `count` sources and stores it at `plan`, a path or an s3:// URL. The sources are
 * those of sheaf_pack_sources, or one data set, which sheaf_convert_part then converts. Also
 * prepares the directory `dest`, as options->resume and overwrite specify; with dry_run, `dest` is
 * unchanged. Local paths are stored as absolute paths and must mean the same on every machine.
 * Sorting uses temporary files. They are in TMPDIR if it is set, otherwise beside the plan if
 * possible, otherwise in /var/tmp. *result contains the planned numbers of files, samples and
 * shards.
 *
 * Returns SHEAF_ERR_LIMIT if packing a sample needs more than memory_bytes, or if a shard of the
 * planned size cannot be sent to S3 with memory_bytes. Returns SHEAF_ERR_EXISTS if `dest` has a
 * data set or the shards of an unfinished run, and the options do not allow replacing them. Also
 * returns SHEAF_ERR_EXISTS if a file at `plan` belongs to another destination or is not a plan. */
SHEAF_CALL int sheaf_plan_make(const char *const *sources, size_t count, const char *dest,
    const char *plan, const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Packs part `part` of `parts`, which is a range of the plan's shards with about 1 / `parts` of the
 * bytes. Of the options, only jobs, memory_bytes, progress, report and interrupt are used. Returns
 * SHEAF_ERR_CHANGED if a file has changed since the plan was made (with on_change FAIL) or if
 * `dest` belongs to another plan, and SHEAF_ERR_LIMIT if a sample needs more than memory_bytes. */
SHEAF_CALL int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Checks that all shards exist as they were packed, and publishes the data set: index, report, and
 * finally the manifest. A shard that still has its original ETag, or inode and time, is not read.
 * Other shards, for example copies, are compared by their hash. The options used are those of
 * sheaf_pack_part. Returns SHEAF_ERR_NOT_FOUND if shards are missing, or _CORRUPT if a shard was
 * altered. The message then names the shards and their parts, and nothing is published. A repeated
 * commit returns SHEAF_OK. Returns SHEAF_ERR_EXISTS if `dest` has the data set of another plan. */
SHEAF_CALL int sheaf_commit(const char *plan, const struct sheaf_pack_options *options,
    struct sheaf_pack_result *result, struct sheaf_error *error);
/* Finds the part and the number of parts of this process, in the same way as
 * sheaf_world_from_environment finds a rank. It uses the first of these in the environment:
 * SLURM_ARRAY_TASK_ID with SLURM_ARRAY_TASK_MIN, _MAX, _COUNT and _STEP; AWS_BATCH_JOB_ARRAY_INDEX
 * and _SIZE; JOB_COMPLETION_INDEX with JOB_COMPLETIONS; OMPI_COMM_WORLD_RANK and _SIZE;
 * SLURM_PROCID and SLURM_NTASKS (in a step of srun); SM_CURRENT_HOST and SM_HOSTS, or else
 * resourceconfig.json in `config` (NULL means /opt/ml/config and /opt/ml/input/config). */
SHEAF_CALL int sheaf_part_from_environment(const char *config, uint32_t *part, uint32_t *parts,
    const char **source, struct sheaf_error *error);
/* A stored plan and the progress of its packing. */
struct sheaf_plan_info {
    const char *dest;
    const char *source;             /* kind of the source: "tree", "list", ... */
    const char *root;               /* the base of the files' paths */
    /* for a conversion: fingerprint of the data set at `root` that is converted; "" if files are
     * packed */
    const char *fingerprint;
    /* 32 hexadecimal digits: a hash of everything that determines the bytes of the data set */
    const char *hash;
    enum sheaf_container container;
    enum sheaf_codec codec;
    uint64_t plan_bytes, files, samples, payload_bytes, shards; /* size of the plan, and the
                                                                   planned numbers */
    uint64_t done_shards;           /* shards that exist as they were packed */
    uint64_t done_samples, done_payload_bytes;
    int committed;                  /* whether the data set is published */
    /* number of parts into which the plan was last divided for packing; 0 if unknown */
    uint32_t parts;
    size_t class_count; int label_base;     /* sheaf_plan_class returns the names */
};
/* Reads a plan and checks which of its shards are packed, even while parts run. A shard that no
 * longer has its original ETag, or inode and time, is read and compared. */
SHEAF_CALL int sheaf_plan_open(const char *plan, struct sheaf_plan **opened,
    struct sheaf_error *error);
/* Returns the name of the class with this index, or NULL if there is no such class. Indices count
 * from 0, whatever the label base is. */
SHEAF_API const char *sheaf_plan_class(const struct sheaf_plan *plan, size_t index);
/* Returns whether the file or object at `url` begins with the bytes of a plan. */
SHEAF_API int sheaf_is_plan(const char *url);
SHEAF_API void sheaf_plan_get_info(const struct sheaf_plan *plan, struct sheaf_plan_info *info,
    size_t sizeof_info);
/* Returns information about the shard with this index, which must be less than info.shards. The
 * shard's name is valid until the next call. *done tells whether the shard is packed. */
SHEAF_CALL int sheaf_plan_shard(const struct sheaf_plan *plan, uint64_t index,
    struct sheaf_plan_shard *shard, int *done, struct sheaf_error *error);
/* Returns which shards belong to part `part` of `parts`: the shards from *first up to, but not
 * including, *end. */
SHEAF_CALL int sheaf_plan_part(const struct sheaf_plan *plan, uint32_t part, uint32_t parts,
    uint64_t *first, uint64_t *end, struct sheaf_error *error);
SHEAF_API void sheaf_plan_free(struct sheaf_plan *plan);
/* The samples of a stored plan for packing files. It serves programs that change the samples and
 * then pack them. */
struct sheaf_planned;
struct sheaf_planned_info {
    /* `identity` is a hash of the plan and its files. `hash` is a hash of everything that
     * determines the bytes of the data set. */
    const char *identity, *hash;
    uint64_t samples, shards; size_t class_count, split_count; int label_base;
};
SHEAF_CALL int sheaf_planned_open(const char *plan, struct sheaf_planned **planned,
    struct sheaf_planned_info *info, size_t sizeof_info, struct sheaf_error *error);
SHEAF_API const char *sheaf_planned_class(const struct sheaf_planned *planned, size_t index);
/* Reads about 4 MiB of samples of one shard, beginning with the sample that has the number *at.
 * Sets *at to the number of the sample after the last one that was read. The samples are valid
 * until the next call. If `samples` is NULL, only *at is set. The call does not check the fields'
 * content. A sample with a bad file is passed to `report` and left out; if `report` is NULL, it is
 * an error. */
SHEAF_CALL int sheaf_planned_read(struct sheaf_planned *planned, uint64_t *at,
    const struct sheaf_sample **samples, size_t *count, sheaf_report_fn *report, void *context,
    struct sheaf_error *error);
SHEAF_API void sheaf_planned_free(struct sheaf_planned *planned);

/* ---- Packing samples made by a program (sheaf_packer) ---------------------------------------
 *   1) options_init  2) sheaf_packer_open  3) sheaf_packer_append ...
 *   4) sheaf_packer_finish, or _abort  5) sheaf_packer_free
 * Samples are packed in the order of the calls. The options about sources, labels, splits, order
 * and dry_run are ignored. To resume an interrupted run, set `resume` and the same identity, and
 * append all samples again. Samples of finished shards are skipped. */
SHEAF_CALL int sheaf_packer_open(const char *dest, const struct sheaf_pack_options *options,
    struct sheaf_packer **packer, struct sheaf_error *error);
/* Names the classes of the labels label_base, label_base + 1, ... It must be called before the
 * first sample is appended.
 *
 * If this function is not called, the manifest lists the class names of the samples. The list
 * begins with label 0, or with label 1 if that is the smallest label. If a label has no name, the
 * list has its number as the name. TFRecords also keep each sample's own class name. In the other
 * containers, sheaf_packer_append returns SHEAF_ERR_ARGUMENT for a sample with a class name if an
 * earlier sample gave its label another class name, or if its label is not an integer from 0 to
 * 2^20 - 1. */
SHEAF_CALL int sheaf_packer_set_classes(struct sheaf_packer *packer, const char *const *names,
    size_t count);
/* Appends a copy of the sample. The call blocks while the memory budget is used up. */
SHEAF_CALL int sheaf_packer_append(struct sheaf_packer *packer, const struct sheaf_sample *sample);
/* Ends the current shard, so that the next sample starts a new one. If the current shard is empty,
 * the call has no effect. If a program makes no cuts, a shard ends when its payload reaches
 * shard_bytes. */
SHEAF_CALL int sheaf_packer_cut(struct sheaf_packer *packer);
/* These two functions let a resumed run continue in the middle of its input. sheaf_packer_cut_at
 * ends the current shard like sheaf_packer_cut, and stores `place` for this shard. `place` is the
 * program's position in its input, and must not be 0. In a run with the option `resume`,
 * sheaf_packer_skip sets *place to the value of the last shard that an earlier run finished, and
 * the program then appends only the samples after this position. *place becomes 0 if all samples
 * must be appended. sheaf_packer_skip must be called before the first sample and after
 * sheaf_packer_set_classes. */
SHEAF_CALL int sheaf_packer_cut_at(struct sheaf_packer *packer, uint64_t place);
SHEAF_CALL int sheaf_packer_skip(struct sheaf_packer *packer, uint64_t *place);
/* Returns 1 if an earlier run has already finished the data set (only with the option `resume`).
 * The program then need not append samples. If the program appends samples nevertheless, they are
 * only counted. In both cases sheaf_packer_finish returns the existing result. */
SHEAF_API int sheaf_packer_is_there(const struct sheaf_packer *packer);
/* Waits until all samples are written, then writes the manifest. `result` may be NULL. */
SHEAF_CALL int sheaf_packer_finish(struct sheaf_packer *packer, struct sheaf_pack_result *result);
/* Ends packing without publishing anything, and removes what was written. If the option `identity`
 * was given, finished shards stay, so that a later run can resume. sheaf_packer_error still returns
 * the packer's first error. */
SHEAF_API void sheaf_packer_abort(struct sheaf_packer *packer);
SHEAF_API const struct sheaf_error *sheaf_packer_error(const struct sheaf_packer *packer);
SHEAF_API void sheaf_packer_free(struct sheaf_packer *packer);  /* aborts unless finished */

/* ---- Samples as the bytes of one shard, for the caller to write (sheaf_encoder) ------------- */
SHEAF_CALL int sheaf_encoder_open(enum sheaf_container container, struct sheaf_encoder **encoder,
    struct sheaf_error *error);
/* sheaf_encoder_add encodes a sample, and sheaf_encoder_end encodes the end of the shard, which may
 * be empty. *data is valid until the next call on the encoder. For a tar, sheaf_encoder_add returns
 * SHEAF_ERR_EXISTS and leaves a sample out if the previous sample has the same key, because readers
 * would merge the two. */
SHEAF_CALL int sheaf_encoder_add(struct sheaf_encoder *encoder, const struct sheaf_sample *sample,
    const void **data, size_t *size, struct sheaf_error *error);
SHEAF_CALL int sheaf_encoder_end(struct sheaf_encoder *encoder, const void **data, size_t *size,
    struct sheaf_error *error);
SHEAF_API void sheaf_encoder_free(struct sheaf_encoder *encoder);

/* ---- Copying: to another container, or to files (sheaf_convert) -----------------------------
 * These calls use the options on_corrupt, max_corrupt, report and the cache of `reading` (NULL
 * means defaults). `result` and `stats`, the statistics of the reader, may be NULL. A sample that
 * the container cannot store is an error, _UNSUPPORTED.
 *
 * sheaf_convert writes the samples, in data set order, to a data set in `dest` with the container
 * and codec of the options. Keys, fields, labels, class names and (TFRecord to TFRecord) types of
 * features do not change. Each shard keeps its samples, unless options->reshard or reshuffle is
 * set. A single foreign file, standard input and a view are cut by shard_bytes. Half of the memory
 * is for reading, and `jobs` threads read. Options that sheaf_packer_open ignores, label_base and
 * identity are ignored. */
SHEAF_CALL int sheaf_convert(const struct sheaf_dataset *dataset, const char *dest,
    const struct sheaf_pack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_pack_result *result, struct sheaf_reader_stats *stats, struct sheaf_error *error);
/* Converts part `part` of `parts` of a plan that sheaf_plan_make made for a data set. sheaf_commit
 * then publishes the result. */
SHEAF_CALL int sheaf_convert_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_pack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_pack_result *result, struct sheaf_error *error);

struct sheaf_unpack_options {
    size_t sizeof_options;
    int resume;                     /* 0; 1 keeps existing files if they are identical */
    sheaf_progress_fn *progress; void *context; const volatile int *interrupt;  /* NULL */
    enum sheaf_duplicate_keys duplicate_keys;   /* FAIL: only if a file would be overwritten */
};
SHEAF_API void sheaf_unpack_options_init(struct sheaf_unpack_options *options, size_t size);
struct sheaf_unpack_result { uint64_t samples, files, bytes;   /* that were written */
    uint64_t duplicates; };     /* samples with a repeated key: renamed, or left out */
/* Writes each field as a file `directory`/KEY.SUFFIX. The directory is created, and nothing is
 * written outside of it. Returns SHEAF_ERR_EXISTS if a file exists already. Of the options
 * `reading`, memory_bytes and threads are used as well, in addition to those named above. */
SHEAF_CALL int sheaf_unpack(const struct sheaf_dataset *dataset, const char *directory,
    const struct sheaf_unpack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_unpack_result *result, struct sheaf_reader_stats *stats,
    struct sheaf_error *error);
/* Writes the field `field` of each of these samples to a file, like sheaf_unpack. If `field` is
 * NULL, writes all fields of the samples. */
SHEAF_CALL int sheaf_unpack_samples(const struct sheaf_sample *samples, size_t count,
    const char *field, const char *directory, struct sheaf_error *error);

/* ---- Checking and indexing (sheaf_verify) --------------------------------------------------- */
typedef void sheaf_field_fn(void *context, const struct sheaf_field_info *field, uint64_t samples);
struct sheaf_verify_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t memory_bytes;          /* 1 GiB */
    unsigned threads;               /* 0 (the processors, at most 8) */
    sheaf_progress_fn *progress; sheaf_report_fn *report;       /* NULL; `report` is called for
                                                                   each problem */
    void *context; const volatile int *interrupt;
    /* default 0 and 0: all shards are read. Otherwise only the shards of part `part` of `parts` are
     * read, so that many machines can share the work. */
    uint32_t part, parts;
    /* default NULL; called at the end, once for each field of the samples that were read */
    sheaf_field_fn *field;
    int join;                       /* 0; 1 makes sheaf_index join as sheaf_dataset_open_joined */
};
SHEAF_API void sheaf_verify_options_init(struct sheaf_verify_options *options, size_t size);
struct sheaf_verify_result {
    uint64_t shards, samples, bytes;    /* numbers read */
    /* number of problems (0 means that the data set is sound), and number of members of foreign
     * tars that belong to no sample (directories are not counted) */
    uint64_t problems, passed_over;
    /* number of classes that have no samples; 0 if only a part was read, or if there are
     * problems */
    uint64_t unused_classes;
    /* number of samples that have a label, and number of samples that have a field cls with content
     * other than numbers */
    uint64_t labelled, unread_labels;
    /* key and location of the first sample without a label; "" if there is none */
    char unlabelled[512];
    /* number of samples whose key an earlier sample also has; 0 if our packer wrote the shards */
    uint64_t repeated_keys;
    /* location and key of the first sample with a repeated key; "" if there is none */
    char repeated_key[512];
};
/* Reads the whole data set. Checks the size and hash of each shard, the framing and checksums of
 * each record, and the counts; and compares the index, dataset.keys and other readers' .idx files
 * with the shards. Problems are reported and counted, and the result is still SHEAF_OK. An error
 * code means that the check itself failed. */
SHEAF_CALL int sheaf_verify(const struct sheaf_dataset *dataset,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);
/* Turns foreign shards into a data set: reads them once and writes dataset.index, dataset.keys and
 * dataset.json to their directory. Returns SHEAF_ERR_EXISTS if the directory has a manifest and
 * `overwrite` is 0. `index` has the same meaning as in struct sheaf_pack_options. */
SHEAF_CALL int sheaf_index(const char *directory, const char *index, int overwrite,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);
/* Reads a data set once and writes its dataset.keys, which replaces an existing one. It is meant
 * for data sets of older releases, which wrote no such file. Nothing else is changed. Returns
 * SHEAF_ERR_NOT_FOUND if there is no manifest. */
SHEAF_CALL int sheaf_index_keys(const char *directory, const struct sheaf_verify_options *options,
    struct sheaf_verify_result *result, struct sheaf_error *error);

/* ---- Columns (sheaf_column) -----------------------------------------------------------------
 * A column adds fields to the samples of a data set without touching its shards. It is a data set
 * of its own in the directory columns/NAME of the base, bound to it by its fingerprint. Record i
 * belongs to the base's sample i and has its number and CRC-32C, so a wrong pairing is found.
 * A column never changes once it is published. doc/columns.md has the format. */
struct sheaf_column_options {
    size_t sizeof_options;          /* set by _init */
    /* default 0; with 1, values are added only for samples that were appended to the base data set
     * after the column was written */
    int only_missing;
    int resume;                     /* 0; 1 keeps the shards of an interrupted run */
    /* default FAIL; what to do with a value whose key the base data set does not have. FAIL: return
     * SHEAF_ERR_NOT_FOUND. SKIP: leave out, report and count the value. */
    enum sheaf_on_error on_unknown;
    /* default FAIL; what to do with a second value for the same field of a sample. FAIL: return
     * SHEAF_ERR_EXISTS. SKIP: leave out, report and count the value. */
    enum sheaf_on_error on_repeated;
    uint64_t memory_bytes;          /* 1 GiB; hard limit, besides one value */
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    /* default NULL; version of the function that makes the values; a run with `resume` must have
     * the same version */
    const char *version;
    sheaf_progress_fn *progress; sheaf_report_fn *report;   /* NULL */
    void *context; const volatile int *interrupt;
    const char *const *s3;          /* NULL; as in struct sheaf_pack_options */
};
SHEAF_API void sheaf_column_options_init(struct sheaf_column_options *options, size_t size);
struct sheaf_column_result {
    uint64_t samples;               /* samples == with_values + missing */
    uint64_t with_values, missing;
    uint64_t values, payload_bytes; /* fields; their bytes */
    /* numbers of values left out: values whose key the base does not have, second values for a
     * field, and (with only_missing) values of samples that already have a value */
    uint64_t unknown, repeated, present;
    uint64_t stored_bytes, shards, shards_kept, memory_peak_bytes;
    uint64_t elsewhere;             /* for a part of a plan: number of values of other parts */
};
/* Adds a column from a source. The source is a JSON Lines or CSV file, or a directory or prefix of
 * files KEY.EXT. In JSON Lines, the member `key` is the key of a sample; in CSV, the column `key`.
 * Each other member or column becomes a field with its name, except `value`, which becomes the
 * field txt, or json if the value is an object or array. Keys may come in any order. The file
 * dataset.keys stores only parts of the keys' hashes. If two keys have the same part, the shards
 * are read to distinguish their samples; otherwise no shard is read. Returns SHEAF_ERR_EXISTS if
 * the column exists already. */
SHEAF_CALL int sheaf_column_add(const char *dataset, const char *name, const char *source,
    const struct sheaf_column_options *options, struct sheaf_column_result *result,
    struct sheaf_error *error);
/* Writes a column sample by sample, in the order of the base's numbers: call _open, then _append
 * for each sample from the number that _next returns up to the last sample, then _finish and _free.
 * A sample without fields has no value. _free before _finish leaves nothing visible. Finished
 * shards stay for `resume`. */
struct sheaf_column_writer;
SHEAF_CALL int sheaf_column_open(const char *dataset, const char *name,
    const struct sheaf_column_options *options, struct sheaf_column_writer **writer,
    struct sheaf_error *error);
/* Returns the number of the sample whose fields must be appended next. */
SHEAF_API uint64_t sheaf_column_next(const struct sheaf_column_writer *writer);
/* The samples to append are one or several ranges of numbers, because the samples of shards that an
 * earlier run has finished are skipped. Returns the end of the current range: the number after its
 * last sample. After this sample, the next range is the current one. After the last range,
 * sheaf_column_next returns the same number as sheaf_column_end. */
SHEAF_API uint64_t sheaf_column_end(const struct sheaf_column_writer *writer);
SHEAF_CALL int sheaf_column_append(struct sheaf_column_writer *writer,
    const struct sheaf_field *fields, size_t count, struct sheaf_error *error);
SHEAF_CALL int sheaf_column_finish(struct sheaf_column_writer *writer,
    struct sheaf_column_result *result, struct sheaf_error *error);
SHEAF_API void sheaf_column_free(struct sheaf_column_writer *writer);       /* NULL is fine */

/* Stores a plan for writing a column in parts, on any number of machines:
 *   1) sheaf_column_plan  2) sheaf_column_add_part or _open_part for each part  3) sheaf_commit
 * The column is not visible before sheaf_commit. `source` is as for sheaf_column_add; it is NULL if
 * programs make the values and write them by sheaf_column_open_part. The options only_missing,
 * resume, version and s3 are used. In *result, `samples` and `shards` are set. If every sample has
 * a record already, both are 0, and no plan is stored. */
SHEAF_CALL int sheaf_column_plan(const char *dataset, const char *name, const char *source,
    const char *plan, const struct sheaf_column_options *options,
    struct sheaf_column_result *result, struct sheaf_error *error);
/* Writes part `part` (counted from 0) of `parts`. Keeps the shards that this or another run has
 * finished already. Returns SHEAF_ERR_CHANGED if the source has other values than when the plan
 * was made. The counts in *result are those of the part, except that `unknown` counts the values in
 * the whole source. */
SHEAF_CALL int sheaf_column_add_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_column_options *options, struct sheaf_column_result *result,
    struct sheaf_error *error);
/* Opens a writer for a part, as sheaf_column_open does for a whole column. */
SHEAF_CALL int sheaf_column_open_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_column_options *options, struct sheaf_column_writer **writer,
    struct sheaf_error *error);

struct sheaf_column_info {
    const char *name;
    uint64_t samples, missing;      /* records; of these without a value */
    uint64_t uncovered;             /* samples that were appended to the base later */
    uint64_t stored_bytes, shards, layers;
    const char *fields;             /* "txt,json": extensions; "" if unknown */
    int code;                       /* SHEAF_OK, or why the column cannot be read: `error` */
    const struct sheaf_error *error;
};
typedef void sheaf_column_fn(void *context, const struct sheaf_column_info *column);
/* Calls `each` for each column of an opened data set (of all its sources), in byte order of the
 * columns' names. A column that was not completely written has the code SHEAF_ERR_NOT_FOUND. */
SHEAF_CALL int sheaf_column_list(const struct sheaf_dataset *dataset, sheaf_column_fn *each,
    void *context, struct sheaf_error *error);
/* Removes a column, or the remains of an unfinished one. A reader that has the column open fails
 * when it next reads a record of the column. */
SHEAF_CALL int sheaf_column_drop(const char *dataset, const char *name, struct sheaf_error *error);
/* Reads a column of a data set and checks it as sheaf_verify does. Also checks, by the index, that
 * each record of the column belongs to its sample of the base. The counts are added to *result. */
SHEAF_CALL int sheaf_column_verify(const struct sheaf_dataset *dataset, const char *name,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);

/* ---- SageMaker's File mode, outside SageMaker (sheaf_fetch) --------------------------------- */
struct sheaf_fetch_options {
    size_t sizeof_options;          /* set by _init */
    /* default 0 and 1: the number of this host, from 0, and how many hosts there are. With one
     * host, every object is fetched. With N hosts, a host gets every N-th object
     * (ShardedByS3Key). */
    uint32_t host, hosts;
    uint64_t memory_bytes;          /* 256 MiB; hard limit, without the list of objects */
    /* default 0, which stands for one per processor, at most 8; number of threads that write and
     * check files */
    unsigned threads;
    sheaf_progress_fn *progress; void *context; const volatile int *interrupt;  /* NULL */
};
SHEAF_API void sheaf_fetch_options_init(struct sheaf_fetch_options *options, size_t size);
struct sheaf_fetch_result {
    uint64_t objects, bytes;            /* in total */
    uint64_t kept, kept_bytes;          /* present before the call; bytes include partial files */
    uint64_t fetched, fetched_bytes;
    /* number of fetched objects whose content was verified by hash or MD5 */
    uint64_t verified;
    uint64_t repeated;                  /* objects that a manifest names repeatedly */
    /* number of files in the source that belong to an unfinished run; if there are any, the
     * source is refused */
    uint64_t unfinished;
    uint64_t memory_peak_bytes;         /* <= memory_bytes */
};
/* Copies objects unchanged into `directory`, which is created. The source is a prefix, a manifest
 * file, an augmented manifest, or one object. Files of a prefix are named relative to the prefix.
 * Files of an augmented manifest are named by the objects' keys, and the lines of the augmented
 * manifest for this host are written to a file as well. *result is set even if the call fails.
 *
 * Before anything is fetched, the call returns SHEAF_ERR_UNSUPPORTED if an object's name cannot be
 * a file name, _EXISTS if two names collide, and _LIMIT if there is not enough disk space. A file
 * gets its final name once it is complete and checked. A shard of a data set is checked by the hash
 * in its manifest, and another object by its ETag if that is an MD5. A file gets the modification
 * time of its object.
 *
 * A later call keeps a file that has the time and size of its object, and replaces a file that
 * differs. Files that belong to no object are not touched. After a failed call, finished files
 * stay, and so do partly written large files. The next call continues a partly written file if its
 * object still has the same ETag. */
SHEAF_CALL int sheaf_fetch(const char *source, const char *directory,
    const struct sheaf_fetch_options *options, struct sheaf_fetch_result *result,
    struct sheaf_error *error);
struct sheaf_warm_result { uint64_t files, bytes; };
/* Reads every file under `path` (or the file `path`) once and completely, several files at a time.
 * Afterwards a file system that loads files on demand (Lustre, NFS, FUSE) has them in its cache.
 * host, hosts and memory_bytes are ignored. */
SHEAF_CALL int sheaf_warm(const char *path, const struct sheaf_fetch_options *options,
    struct sheaf_warm_result *result, struct sheaf_error *error);

/* ---- SageMaker's Pipe mode, the feeding end (sheaf_feed) ------------------------------------
 * Writes the objects of a source to named pipes, one after another with nothing between them, as
 * SageMaker does. */
struct sheaf_feed_options {
    size_t sizeof_options;          /* set by _init */
    const char *channel;            /* "train"; 1 to 64 letters, digits, '.', '-', '_' */
    uint64_t first_epoch;           /* 0 */
    uint64_t epochs;                /* 0, which means unlimited */
    /* default 0; with 1, objects or lines are shuffled, in an order that depends on (seed,
     * epoch) */
    int shuffle; uint64_t seed;
    /* default 0 and 1; this host's number from 0, and how many hosts there are. With 1 host, every
     * object is fed to the pipe. With N hosts, a host feeds every N-th object of the order. */
    uint32_t host, hosts;
    int record_wrapper;             /* 0; 1 wraps each object in a RecordIO record */
    /* default 0; with 1, the objects are decompressed; they must be gzip streams */
    int gunzip;
    const char *attributes;         /* NULL; for an augmented manifest: "source-ref,label" */
    /* default 256 MiB; hard limit of the memory for reading ahead and for records (a quarter for
     * each); the list of objects is not included */
    uint64_t memory_bytes;
    sheaf_progress_fn *progress;    /* NULL; counts objects and bytes of an epoch */
    void *context; const volatile int *interrupt;
};
SHEAF_API void sheaf_feed_options_init(struct sheaf_feed_options *options, size_t size);
struct sheaf_feed_result {
    uint64_t epochs;            /* epochs that had a reader */
    /* number of epochs in which the program at the other end closed the pipe early */
    uint64_t closed_early;
    uint64_t objects, bytes;    /* objects written completely, and bytes written, over all epochs */
    /* number of files in a data set's directory that were not fed because they are not its
     * shards */
    uint64_t left_out;
    uint64_t memory_peak_bytes; /* of reading ahead */
};
/* Creates the named pipes `directory`/CHANNEL_EPOCH, one epoch after the other, waits for a reader
 * of each pipe, and writes the source to the pipe. The source is one of:
 *
 * - a directory or prefix, in byte order of names (if nothing is under the prefix, the objects
 *   whose names start with it). If the directory is a data set, only its shards are written;
 * - a manifest file;
 * - an augmented manifest. The attributes that options->attributes names are written for each line,
 *   in the order of these names. An attribute NAME-ref becomes the bytes of its object, a string
 *   becomes its text, and any other value is written as in the line;
 * - one object.
 *
 * If a reader closes its pipe early, the next pipe has the next epoch. A pipe is removed when its
 * epoch is done, even after a failure. If a failure cuts a stream short, the stream ends in the
 * middle of an object, so that its reader notices. `result` is always written. Returns
 * SHEAF_ERR_EXISTS if another process feeds the channel, and _CHANGED if an object changed during
 * the call. */
SHEAF_CALL int sheaf_feed(const char *source, const char *directory,
    const struct sheaf_feed_options *options, struct sheaf_feed_result *result,
    struct sheaf_error *error);

/* ---- Survey of a source: what it consists of (sheaf_survey) --------------------------------- */
struct sheaf_survey {
    uint64_t objects, bytes;
    uint64_t smallest_bytes, median_bytes, largest_bytes;   /* sizes of an object */
    /* Element 0 counts the objects of less than 1 kB and their bytes, element 1 the larger objects
     * of less than 10 kB, and so on up to 1 GB. The last element counts all larger objects. */
    struct { uint64_t objects, bytes; } decades[SHEAF_SURVEY_DECADES];
    int is_dataset;                 /* whether it has a dataset.json written by the packer */
    uint64_t samples;               /* samples of the data set, otherwise 0 */
    char place[16];                 /* "S3", "local disk", "FUSE", "Lustre", "NFS" */
};
/* Counts and measures the objects that sheaf_fetch would copy from a source, without reading them.
 * Of the options, only progress, context and interrupt are used. */
SHEAF_CALL int sheaf_survey(const char *source, const struct sheaf_fetch_options *options,
    struct sheaf_survey *survey, size_t sizeof_survey, struct sheaf_error *error);
struct sheaf_image { const char *format; uint32_t width, height; };     /* "JPEG", "PNG", ... */
/* sheaf_image_look returns the kind and size of an image from its header, or SHEAF_END if the data
 * is not an image of a known kind. sheaf_thumbnail makes a small JPEG from a JPEG. The longer side
 * of the thumbnail has at most `side` pixels (up to 1024). The caller sets *room to the number of
 * bytes at `thumbnail`; the call sets it to the number of bytes used. */
SHEAF_CALL int sheaf_image_look(const void *data, size_t size, struct sheaf_image *image);
SHEAF_CALL int sheaf_thumbnail(const void *image, size_t size, unsigned side, void *thumbnail,
    size_t *room, struct sheaf_error *error);

/* ---- Pixels: crops of pictures, at a size (sheaf_pixels) --------------------------------------
 * A crop depends only on the bytes of the picture, the options and a seed (sheaf_sample.seed).
 * image/PIXELS.md specifies it. Pixels are 8-bit RGB, and equal Pillow's crop(box).resize(size,
 * filter) of the decoded picture, byte for byte, on any machine. */
enum sheaf_crop {
    SHEAF_CROP_RANDOM = 0,          /* torchvision's RandomResizedCrop, and its mirror image */
    SHEAF_CROP_CENTER = 1,          /* its Resize(resize) of the shorter side, then CenterCrop */
    SHEAF_CROP_WHOLE = 2            /* all of the picture; its ratio is not kept */
};
enum sheaf_resampling { SHEAF_BILINEAR = 0, SHEAF_BICUBIC = 1, SHEAF_LANCZOS = 2 };
enum sheaf_layout { SHEAF_NCHW = 0, SHEAF_NHWC = 1 };
/* The order of the two passes of resizing: as in Pillow up to 12.3, or as in Pillow from 13.0
 * on. */
enum sheaf_pillow { SHEAF_PILLOW12 = 0, SHEAF_PILLOW13 = 1 };
/* Several random crops of one decoded picture. */
struct sheaf_pixels_view { uint32_t count, width, height; double scale[2]; };
struct sheaf_pixels_options {
    size_t sizeof_options;          /* set by _init */
    uint32_t width, height;         /* 224 x 224: of the result */
    enum sheaf_crop crop;
    uint32_t resize;                /* 0: the longer side of the result; for CENTER */
    /* default 0.08 to 1 and 3/4 to 4/3; for random crops, the range of a crop's share of the
     * picture's area, and the range of the crop's width divided by its height */
    double scale[2], ratio[2];
    double flip;                    /* 0.5; probability that a random crop is mirrored */
    enum sheaf_resampling filter; enum sheaf_layout layout; enum sheaf_pillow order;   /* 0 */
    const struct sheaf_pixels_view *views; size_t view_count;   /* NULL: one, as above */
    /* default 0: only the part of a JPEG that the crops need is decoded. With 1, the whole JPEG is
     * decoded, which is slower and gives the same pixels. */
    int decodes_whole;
    const char *const *masks; size_t mask_count;    /* NULL, 0; fields with masks of the image */
};
SHEAF_API void sheaf_pixels_options_init(struct sheaf_pixels_options *options, size_t size);
/* The box of a crop, in pixels of the upright picture. For the mode CENTER, the box is rounded to
 * whole pixels. */
struct sheaf_crop_box { int32_t top, left, height, width, flipped; };
/* Writes the crops of the image (JPEG, PNG, WebP, GIF or BMP) to `out`, with width x height x 3
 * bytes for each crop. The crops of each element of options->views are next to each other, in the
 * order of the views. If `crops` is not NULL, the box of each crop is written to it. Grey and CMYK
 * images become RGB. Transparency is dropped. Of 16 bits, the upper 8 are used. The picture is
 * turned as its EXIF orientation says.
 *
 * Returns SHEAF_ERR_CORRUPT or _UNSUPPORTED if the image is faulty. An image of more than
 * 178,956,970 pixels, or of more than 65,535 pixels on a side, is refused before memory is
 * allocated. */
SHEAF_CALL int sheaf_pixels(const void *data, size_t size,
    const struct sheaf_pixels_options *options, uint64_t seed, void *out,
    struct sheaf_crop_box *crops, struct sheaf_error *error);
/* Crops the mask of a picture at the same positions as sheaf_pixels crops the picture. Writes width
 * x height bytes to `out` for each crop. A mask is a PNG of the picture's size, with a palette or
 * with grey values of at most 8 bits. Each pixel of a crop has the nearest value of the mask, as
 * with Pillow's NEAREST filter. */
SHEAF_CALL int sheaf_pixels_mask(const void *data, size_t size,
    const struct sheaf_pixels_options *options, uint64_t seed, void *out,
    struct sheaf_error *error);

/* Starts threads that make the crops of batches of samples. The program may begin any number of
 * batches, and wait for them in any order. memory_bytes is a hard limit for the memory of decoding;
 * the results are not included. `threads` 0 means one thread per processor. */
SHEAF_CALL int sheaf_pixels_pool_open(const struct sheaf_pixels_options *options, unsigned threads,
    uint64_t memory_bytes, struct sheaf_pixels_pool **pool, struct sheaf_error *error);
SHEAF_API void sheaf_pixels_pool_free(struct sheaf_pixels_pool *pool);  /* after its batches */
/* sheaf_pixels_bytes returns the number of bytes of all crops of one sample for the view `view`, or
 * 0 if there is no such view. The views are numbered: first the V views of the image (the elements
 * of options.views, or 1 view if that is NULL), then the V views of the mask options.masks[0], then
 * the V views of options.masks[1], and so on. sheaf_pixels_crops returns the number of crops of one
 * sample. */
SHEAF_API size_t sheaf_pixels_bytes(const struct sheaf_pixels_pool *pool, size_t view);
SHEAF_API size_t sheaf_pixels_crops(const struct sheaf_pixels_pool *pool);
/* Begins to make the crops of each sample's image. Each sample's seed determines its crops. `field`
 * is the name of the image's field. NULL means the first field that is not a mask and whose name
 * ends in jpg, jpeg, png, webp, gif or bmp. The crops of view v of sample i are written to out[v] +
 * i * sheaf_pixels_bytes(pool, v). If `crops` is not NULL, their boxes are written to crops + i *
 * sheaf_pixels_crops(pool). The memory may belong to a framework or be pinned. The memory and the
 * samples (see sheaf_reader_keep) must remain valid until the batch is freed. */
SHEAF_CALL int sheaf_pixels_begin(struct sheaf_pixels_pool *pool,
    const struct sheaf_sample *samples, size_t count, const char *field, void *const *out,
    struct sheaf_crop_box *crops, struct sheaf_pixels_batch **batch, struct sheaf_error *error);
/* Waits for the batch, and returns the number of samples without crops. */
SHEAF_API size_t sheaf_pixels_wait(struct sheaf_pixels_batch *batch);
/* Waits for the batch for at most this time. Returns 1 if its crops are made, otherwise 0. */
SHEAF_API int sheaf_pixels_wait_for(struct sheaf_pixels_batch *batch, uint64_t timeout_ns);
/* Returns why the sample with this index has no crops, or NULL if it has crops. May be called after
 * sheaf_pixels_wait. The code is _CORRUPT or _UNSUPPORTED for a bad image or mask, _ARGUMENT if the
 * sample has no such field, and _LIMIT if the image needs more than memory_bytes. */
SHEAF_API const struct sheaf_error *sheaf_pixels_error(const struct sheaf_pixels_batch *batch,
    size_t index);
/* Waits until the threads no longer use the batch, and frees it. If not all its crops are made, the
 * threads make only those that they have begun. */
SHEAF_API void sheaf_pixels_batch_free(struct sheaf_pixels_batch *batch);
/* Returns the processor time in nanoseconds that the pool's threads have spent on images. */
SHEAF_API uint64_t sheaf_pixels_busy_ns(const struct sheaf_pixels_pool *pool);
/* Returns the version of the crops' specification and the libraries that decode images, as in
 * "pixels1, libjpeg-turbo 2.1.5, libwebp 1.2.4, resample 2". A program that needs equal pixels
 * stores this text with its state. The text belongs to the calling thread. */
SHEAF_API const char *sheaf_pixels_version(void);
/* Encodes one crop of an image (3 channels, in the order `layout`) or one crop of a mask (1
 * channel) as a PNG. The caller sets *room to the number of bytes at `png`; the call sets it to the
 * number of bytes used. A PNG takes at most SHEAF_PNG_ROOM bytes. */
#define SHEAF_PNG_ROOM(width, height, channels)                                                 \
    (((size_t)(width) * (channels) + 1) * (height) * 129 / 128 + 4096)
SHEAF_CALL int sheaf_pixels_png(const void *pixels, uint32_t width, uint32_t height,
    unsigned channels, enum sheaf_layout layout, void *png, size_t *room,
    struct sheaf_error *error);
#ifdef __cplusplus
}
#endif
#endif
