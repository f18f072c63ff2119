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
 * - A VIEW is a selection of samples from one or more data sets. It is opened like a data set.
 * - A COLUMN is a field that was added to the samples of a data set after packing.
 * - An EPOCH is one pass over a data set. The samples of an epoch are divided into sequences of
 *   equal length, its LANES.
 * - A RANK is one of the processes that train together. Each rank reads its part of an epoch. The
 *   WORLD SIZE is the number of ranks.
 * - A rank may divide its part among several WORKERS (processes that read samples). */
/* Rules for results and options:
 *
 * - Results. A function that returns int returns SHEAF_OK (0), SHEAF_END (1, "no more"), or a
 *   negative SHEAF_ERR_ code. In the comments below, a code is also written without its prefix, as
 *   in _LIMIT.
 * - Messages. Some objects, such as a reader, keep the message of their last error. Functions that
 *   have no such object take a `struct sheaf_error *`, which may be NULL and is written only on
 *   failure.
 * - Options. The _init function of an options struct sets the defaults, and stores the struct's
 *   size, which the caller passes as `size`. So programs that were built with an older header can
 *   use a newer library with the same file name: libsheaf.so.MAJOR from version 1.0 on,
 *   libsheaf.so.0.MINOR before. The comment of a field states its default first.
 * - Flags and functions. An option `interrupt` is NULL or points to a flag. Once the flag is not 0,
 *   the call ends with SHEAF_ERR_INTERRUPTED. `progress`, `report` and `plan` are functions that
 *   are called with `context`. */
/* Rules for all calls:
 *
 * - Threads. One thread at a time may use an object. Different threads may use different objects.
 *   An open data set never changes, and any number of readers and threads may share it.
 *   sheaf_reader_interrupt may be called on any thread.
 * - Ownership. Strings and arrays that are passed in are borrowed for the length of the call unless
 *   stated otherwise. Pointers in an _info struct are valid as long as its object. Every _free
 *   function accepts NULL.
 * - Conservation. Nothing is lost silently. Everything in the input of a call is in its output, or
 *   is counted and named as skipped or ignored; repeated samples are counted too. At the end of an
 *   epoch, the number of returned samples and corrupt records is compared with the expected number.
 *   For a stream, it is compared with the number that was found. If the numbers differ, the last
 *   call returns SHEAF_ERR_MISMATCH, not SHEAF_END.
 * - The library never prints, never exits, and installs no signal handler. */
#ifndef SHEAF_H
#define SHEAF_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define SHEAF_VERSION_MAJOR 0
#define SHEAF_VERSION_MINOR 3
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
/* The limit of each option `threads` and `jobs`. A larger number returns SHEAF_ERR_ARGUMENT. */
#define SHEAF_THREADS_MOST 1024u

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
/* A reason tells a program why a call failed, so that the program can react to it. Programs must
 * not parse messages for this, because their wording may change. The comment of a reason names the
 * error code (SHEAF_ERR_...) with which the reason occurs. */
enum sheaf_reason {
    SHEAF_REASON_NONE = 0,
    /* With the code EXISTS: the destination of the call already holds a data set, or a view (a
     * selection of samples from data sets). */
    SHEAF_REASON_DATASET,
    SHEAF_REASON_UNFINISHED,        /* EXISTS, NOT_FOUND: the destination holds an unfinished run */
    SHEAF_REASON_OTHER_PLAN,        /* CHANGED: the unfinished run had another plan */
    /* With the code CHANGED: the data set at the destination differs from its own manifest. */
    SHEAF_REASON_ALTERED,
    SHEAF_REASON_EXCLUSIVE,         /* ARGUMENT: both resume and overwrite were set */
    /* With the code ARGUMENT: the plan that was passed is of the wrong kind for this function. It
     * is a plan for converting a data set (CONVERSION_PLAN) or for packing files (FILES_PLAN). */
    SHEAF_REASON_CONVERSION_PLAN, SHEAF_REASON_FILES_PLAN,
    SHEAF_REASON_MEMORY, SHEAF_REASON_STREAM_MEMORY,    /* LIMIT: more memory_bytes are needed */
    SHEAF_REASON_FILE_EXISTS,       /* EXISTS: a file to be unpacked exists */
    SHEAF_REASON_NOT_DIRECT,        /* UNSUPPORTED: the channel cannot be read directly */
    /* With the code UNSUPPORTED: the data set has no file dataset.keys (NO_KEYS) or no file
     * dataset.index (NOT_INDEXED). */
    SHEAF_REASON_NO_KEYS, SHEAF_REASON_NOT_INDEXED,
    SHEAF_REASON_NO_MANIFEST,       /* NOT_FOUND: the manifest for a host's objects is missing */
    /* Reasons for which packing fails. UNUSED_FILTER: a filter matched no file. ODD_FIELDS: a few
     * samples lack a field that all other samples have, or a sample of the data set that is
     * converted has an invalid key or field name. BAD_FILES: some files could not be packed. */
    SHEAF_REASON_UNUSED_FILTER, SHEAF_REASON_ODD_FIELDS, SHEAF_REASON_BAD_FILES,
    /* With the code ACCESS: S3 refuses to write, possibly because the policy of the bucket requires
     * a request header that was not sent. */
    SHEAF_REASON_BUCKET_POLICY,
    /* A reason for which packing fails: an image file is bad. With the option fix_images, the call
     * would convert it to a valid JPEG. */
    SHEAF_REASON_ODD_IMAGE,
    SHEAF_REASON_CLASS_DEPTH,       /* packing: classes are directories of different depths */
    SHEAF_REASON_SIBLING_CLASSES,   /* packing: a data set beside it numbers classes otherwise */
    SHEAF_REASON_REPEATED_KEY,      /* EXISTS: another sample has the key: duplicate_keys */
    SHEAF_REASON_SOURCE_LOST,       /* packing: the source cannot be read, whatever the file */
    SHEAF_REASON_SOURCE_CHANGED,    /* packing: a file vanished or changed since the scan */
    SHEAF_REASON_TOO_MANY_SKIPPED,  /* packing: max_skipped */
    /* With the code UNSUPPORTED: two files cannot both be unpacked, because the name of one is the
     * directory of the other. For example, `a` cannot be a file if there is a file `a/b`. */
    SHEAF_REASON_FILE_OR_DIRECTORY,
    SHEAF_REASON_LOST_SHARDS,       /* CHANGED: a plan's published data set lacks shards */
    SHEAF_REASON_NO_VALUE,          /* NOT_FOUND: a column has no value for a sample */
    /* With the code NOT_FOUND: a value for a column has a key, but no sample of the data set has
     * this key. */
    SHEAF_REASON_NOT_IN_BASE,
    /* With the code NOT_FOUND: some keys or files that were passed to the call belong to no sample.
     * With the option on_unknown SKIP, the call would leave them out. */
    SHEAF_REASON_UNKNOWN_KEYS,
    /* With the code ARGUMENT: a plan for writing a column was passed to a function for other
     * plans. */
    SHEAF_REASON_COLUMN_PLAN,
    SHEAF_REASON_NO_COLUMN,         /* NOT_FOUND: no column has this name */
    /* With the code CHANGED: the data set was edited after the column (a field added to it after
     * packing) had been written. So the column belongs to an earlier state of the data set. */
    SHEAF_REASON_OTHER_BASE,
    /* With the code EXISTS: the destination is claimed for a stored plan (sheaf_plan_make), whose
     * parts are still to be packed or published. */
    SHEAF_REASON_STORED_PLAN
};
struct sheaf_error {
    int code;               /* a SHEAF_ERR_ code */
    /* one line of text that says where the fault is (shard, offset, record), what was found there,
     * and what was expected */
    char message[1016];
    int reason;             /* of enum sheaf_reason */
};
SHEAF_API const char *sheaf_strerror(int code);     /* Returns the sentence of a code, never
                                                       NULL. */

/* Makes text safe for display on one line. Each byte of invalid UTF-8, of control characters
 * (including C1), and of characters that change the writing direction becomes \xNN. A program
 * should call this function for names of samples, shards and classes before it shows them. Messages
 * of this library are already safe. Writes at most `size` bytes and returns the length of the full
 * result, like snprintf. */
SHEAF_API size_t sheaf_show(const char *text, char *out, size_t size);

/* ---- Samples (sheaf_sample) ----------------------------------------------------------------- */
/* A field of a sample: the content of one file. The name of the field is the part of the file's
 * base name after its first dot, in lower case. For example, the file `a/b.Seg.PNG` becomes the
 * field "seg.png" of the sample `a/b`. */
struct sheaf_field {
    const char *name;
    /* the name as the file spells it, such as "Seg.PNG" for the name "seg.png". A program that
     * passes a sample to the library may set `suffix` to NULL if the spelling is that of `name`. */
    const char *suffix;
    const void *data;
    size_t size;            /* bytes */
};

/* A sample. Its key is the path of its files up to the first dot of the base name. For example,
 * "001.ak47/001_0001.jpg" has the key "001.ak47/001_0001". All text is UTF-8.
 *
 * A sample may have no label. A label is a whole number from -2^53 to 2^53, or a fraction that a
 * 32-bit float can represent. When samples are packed, a fraction is rounded to the nearest 32-bit
 * float, so 0.1 becomes 0.10000000149011612. A whole number that is out of range is refused. These
 * rules are the same for all containers, and for labels in list files and in files named .cls. */
struct sheaf_sample {
    const char *key;
    const struct sheaf_field *fields; size_t field_count;
    const double *labels; size_t label_count;
    /* name of the class that the label stands for; NULL if the data set does not name its
     * classes */
    const char *class_name;
    /* number of the sample in the data set, counted from 0 in the order of the manifest; in a
     * stream, number of the record in its shard */
    uint64_t number;
    uint32_t shard;         /* from 0, in manifest order */
    uint64_t record;        /* from 0, within the shard */
    /* Number of the sample in this reader's part of the epoch, counted from 0 and set by the
     * reader. Corrupt records that the reader skips are counted as well. The field is not set in a
     * stream that was resumed. */
    uint64_t ordinal;
    /* 1 if the reader returns this sample a second time in the epoch, otherwise 0. The reader
     * repeats a sample to fill up a lane (one of the sequences of an epoch) that is one sample
     * shorter than other lanes. */
    int repeated;
    /* A seed from which a program should draw everything random about the sample. The reader
     * computes the seed as a hash of its option `seed`, the source, the number of the pass through
     * the source, and the sample's number in the source (reader/ORDER.md). The container does not
     * influence the seed. */
    uint64_t seed;
};

enum sheaf_container { SHEAF_TFRECORD = 1, SHEAF_RECORDIO = 2, SHEAF_WEBDATASET = 3 };
enum sheaf_codec { SHEAF_CODEC_NONE = 0, SHEAF_CODEC_GZIP = 1, SHEAF_CODEC_LZ4 = 2,
                   SHEAF_CODEC_ZSTD = 3 };

/* sheaf_container_name returns the name of a container ("tfrecord", "recordio", "webdataset"), and
 * sheaf_codec_name the name of a codec ("none", "gzip", "lz4", "zstd"). Both return NULL for an
 * unknown value. sheaf_container_of and sheaf_codec_of return the value for a name, or -1 for an
 * unknown name. Both also accept other common names, such as "wds" for "webdataset". */
SHEAF_API const char *sheaf_container_name(enum sheaf_container container);
SHEAF_API const char *sheaf_codec_name(enum sheaf_codec codec);
SHEAF_API int sheaf_container_of(const char *name);
SHEAF_API int sheaf_codec_of(const char *name);
/* Says what a call does with a bad file (when packing) or a bad record (when reading): FAIL: the
 * call fails. SKIP: the file or record is skipped. */
enum sheaf_on_error { SHEAF_FAIL = 0, SHEAF_SKIP = 1 };

/* ---- Progress and reports (sheaf_progress) -------------------------------------------------- */
struct sheaf_progress {
    const char *stage;          /* "scan", "pack", "verify", ...; a static string */
    uint64_t done_bytes, total_bytes;   /* done <= total; a total of 0 is unknown */
    uint64_t done_count, total_count;   /* files or samples */
};
/* A function of the program that receives the progress of a library call. It is called about ten
 * times a second, and at the end of each stage, on the thread that made the library call. */
typedef void sheaf_progress_fn(void *context, const struct sheaf_progress *progress);
/* A function of the program that is called for each bad file or record that is skipped. `where`
 * names the file or shard. */
typedef void sheaf_report_fn(void *context, const char *where, const struct sheaf_error *error);
/* Sets the function of the program that receives notices. A notice is information that belongs to
 * no call, for example that a bucket is in another region, or that a pipe has no writer. The
 * library calls `notice` with the code SHEAF_OK, possibly on another thread. `notice` must not call
 * the library. */
SHEAF_API void sheaf_on_notice(sheaf_report_fn *notice, void *context);

/* ---- Data set (sheaf_dataset) ---------------------------------------------------------------
 * A data set is opened from one or more sources:
 * - a directory with a dataset.json (written by the packer), or the path of that file;
 * - foreign shards, which need no manifest: a directory of them (in byte order of names), a
 *   pattern "train-{000000..000007}.tar" or "train-*.tar", a file, several of these, "@FILE" for
 *   a text file with one path per line, or "-" for standard input.
 *
 * Foreign shards are shards that other software has written. Container and codec are detected from
 * the content. If foreign shards are local and not compressed, they are scanned when the data set
 * is opened, to count and locate the samples. Compressed or remote foreign shards and standard
 * input are read as streams, from start to end. The number of samples in a stream is unknown until
 * its end, so whole shards are assigned to lanes.
 *
 * Several sources form a UNION: one data set with the samples of all sources in the given order.
 * Adjacent foreign shards are one source. Each source keeps its manifest, index, checksums,
 * container, codec and keys. Two sources may contain the same key. The shard of a sample
 * (sample.shard) then tells from which source it is (sheaf_shard_info.source).
 *
 * - Classes are merged by name. The first source keeps its numbers and its label_base. A class that
 *   only a later source has gets the next number. Labels of samples are the merged numbers. If the
 *   numbers of a source do not change, all its labels are kept. If they change, reading
 *   returns SHEAF_ERR_UNSUPPORTED for a sample whose labels are not one class of the source, and
 *   for a sample that has the number in a field cls.
 * - Opening returns _UNSUPPORTED if only some of the sources have class names, if lists of classes
 *   differ and one of them contains a name twice, or if a source is a stream. It returns _ARGUMENT
 *   if two sources have the same fingerprint. Foreign shards that are named twice are read twice.
 * - The fingerprint of a union combines the fingerprints of its sources in order. Therefore a
 *   position is valid only for the same union. */
struct sheaf_shard_info {
    /* name of the shard in the directory of its source; if the shard is foreign (written by other
     * software), the path that the caller gave */
    const char *name;
    /* size of the stored shard in bytes, total size of the content of its fields in bytes, and
     * number of samples; each is 0 if unknown */
    uint64_t bytes, payload_bytes, samples;
    /* XXH3-128 of the stored bytes as 32 hexadecimal digits; NULL if unknown */
    const char *xxh3;
    size_t source;              /* index of its source, from 0 */
};
#define SHEAF_SURVEY_DECADES 8
struct sheaf_field_info {       /* statistics of a field over all samples */
    /* `name` is the name of the field, and `lacking` the key of the first sample that lacks the
     * field. `lacking` is NULL if every sample has the field, or if this key is unknown. */
    const char *name, *lacking;
    /* number of samples that have the field, and total size in bytes of the field in these
     * samples */
    uint64_t samples, bytes;
    /* smallest, median and largest size of the field in bytes; the median may be wrong by up to
     * 5% */
    uint64_t least_bytes, median_bytes, most_bytes;
    /* histogram of the field's size. Element 0 counts samples with less than 1 kB in this field,
     * element 1 samples with 1 kB to less than 10 kB, and so on by powers of ten. The last element
     * has no upper limit. */
    uint64_t decades[SHEAF_SURVEY_DECADES];
};
/* Information about one source of a data set. All numbers are the same as if this source were
 * opened alone. */
struct sheaf_source_info {
    const char *url;            /* as given; for foreign shards the first one */
    int has_manifest;
    enum sheaf_container container;
    enum sheaf_codec codec;
    /* first_shard is the index of the source's first shard among all shards of the data set.
     * shard_count is the number of the source's shards. */
    size_t first_shard, shard_count;
    uint64_t first_number, samples;
    size_t class_count;
    int label_base;
    const char *fingerprint, *manifest_json;    /* manifest_json is the manifest's text, NULL for
                                                   foreign shards */
    /* URL of a source that comes earlier in the list of sources and appears to have the same
     * content as this source; NULL if no earlier source has the same content */
    const char *same_as;
    /* `chosen` is the number of samples that the view (a selection of samples) selects from this
     * source. If the data set is not a view, it is the number of all samples of this source.
     * `share` is the fraction of an epoch's samples that comes from this source. */
    uint64_t chosen; double share;
    /* A stage of a view is a part of the training in which the sources have fixed weights. `weight`
     * is the weight of this source in the first stage. `shared` is the number of samples that the
     * view selects from this source and also from the earlier source `same_as`, which has the same
     * content. */
    uint64_t weight, shared;
};
struct sheaf_dataset_info {
    const char *url;            /* the first source, as given */
    /* 1 if every source of the data set has a manifest, otherwise 0 */
    int has_manifest;
    /* 1 if the data set can only be read from its start to its end (a stream), so that its number
     * of samples is unknown */
    int is_stream;
    enum sheaf_container container; /* 0 if its sources have different ones */
    /* codec of the shards; if the sources have different codecs, one of these codecs other than
     * NONE */
    enum sheaf_codec codec;
    uint64_t samples;           /* 0 for a stream */
    /* `bytes` is the total size of all shards. payload_bytes is the total size of the content of
     * all fields. payload_bytes may be 0 if the data set has no manifest (has_manifest is 0); the
     * size of the content is then unknown. */
    uint64_t bytes, payload_bytes;
    size_t shard_count, class_count;    /* class_count 0: labels have no names */
    int label_base;             /* number of the first class, 0 or 1 */
    /* 32 hexadecimal digits that identify the data set in saved positions; "" for standard input,
     * for which positions cannot be saved */
    const char *fingerprint;
    /* text of the manifest; NULL for foreign shards (written by other software) or several
     * sources */
    const char *manifest_json;
    size_t source_count;        /* at least 1 */
    int is_view; uint64_t epoch_samples;    /* epoch_samples counts all ranks, before the
                                               remainder is handled */
    /* These fields are for an input channel of a SageMaker job that divides its objects among hosts
     * (ShardedByS3Key). `host` is the number of this host, `hosts` the number of hosts, and
     * all_shards the number of shards on all hosts. For other data sets, `host` and `hosts` are 0,
     * and all_shards is the number of shards. */
    uint32_t host, hosts; size_t all_shards;
    /* counts_fields is nonzero if the packer counted the fields of the samples, and counts_classes
     * is nonzero if it counted the classes. field_count is the number of field names. field_count
     * is 0 if fields were not counted, or if there are more than 256 names. */
    int counts_fields, counts_classes; size_t field_count;
    /* images_converted is the number of images that packing has converted (option fix_images).
     * images_resized is the number of images that packing has only made smaller. Both are
     * UINT64_MAX if unknown, and 0 for a view (a selection of samples). */
    uint64_t images_converted, images_resized;
    /* number of files that were left out when the data set was packed; if the data set was
     * converted from another data set, the number of samples that were left out */
    uint64_t skipped;
    /* repeated_keys is the number of samples with the key of an earlier sample. repeated_key is the
     * first repeated key, or NULL if no key is repeated. In a data set with an index, keys of all
     * shards are compared. In foreign tars (written by other software), only keys of the same tar
     * are compared. If the files of one key are not next to each other in a foreign tar, this key
     * also counts as repeated. */
    uint64_t repeated_keys; const char *repeated_key;
    /* number of samples whose files were added to an earlier sample with the same key */
    uint64_t joined_keys;
    /* number of values, such as cells of a CSV list file, that the packer has left out because it
     * could not store them as fields */
    uint64_t left_out_values;
    /* number of samples whose .cls file contained a word instead of numbers when the data set was
     * packed or indexed; such a sample has the label of its directory, or no label */
    uint64_t cls_words;
    /* damages is the number of damaged places that were found when the headers of foreign shards
     * (written by other software) were read. The samples that were lost there are not counted.
     * damage is a message about the first of these places, or NULL if damages is 0. */
    uint64_t damages; const char *damage;
};
SHEAF_CALL int sheaf_dataset_open(const char *const *sources, size_t source_count,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Opens a data set like sheaf_dataset_open, but sends no request to its servers. The manifests of
 * remote data sets come from `cache_directory`, the cache in which an earlier reader has stored
 * them. Returns SHEAF_ERR_UNSUPPORTED if the cache lacks a manifest.
 *
 * Readers of this data set use only this cache, whatever their options say. The same is true for
 * reads of samples by number. Both return SHEAF_ERR_UNSUPPORTED if the cache lacks data that they
 * need. Reads by key are not supported. Changes of the data set on its server are not noticed. */
SHEAF_CALL int sheaf_dataset_open_offline(const char *const *sources, size_t source_count,
    const char *cache_directory, struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Opens a data set like sheaf_dataset_open. The difference concerns foreign tars (written by other
 * software): all files with the same key become one sample, even if they are not next to each other
 * in the tar. Returns SHEAF_ERR_UNSUPPORTED if such a tar is compressed, remote or a pipe. */
SHEAF_CALL int sheaf_dataset_open_joined(const char *const *sources, size_t source_count,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Writes a hash that identifies the samples, as 32 hexadecimal digits. The hash covers the
 * fingerprint of the data set and the locations of its shards. For foreign shards (written by other
 * software), the hash also covers inodes and times, or ETags. Returns SHEAF_ERR_UNSUPPORTED if the
 * data set can be read only once. */
SHEAF_CALL int sheaf_dataset_identity(const struct sheaf_dataset *dataset, char identity[33],
    struct sheaf_error *error);
SHEAF_API void sheaf_dataset_free(struct sheaf_dataset *dataset);   /* must come after the free
                                                                       of its readers */
SHEAF_API void sheaf_dataset_get_info(const struct sheaf_dataset *dataset,
    struct sheaf_dataset_info *info, size_t sizeof_info);
/* sheaf_dataset_shard returns information about shard number `index`, and sheaf_dataset_source
 * about source number `index`. Both count from 0, and return SHEAF_ERR_ARGUMENT if `index` is too
 * large. */
SHEAF_CALL int sheaf_dataset_shard(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_shard_info *info, size_t sizeof_info);
SHEAF_CALL int sheaf_dataset_source(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_source_info *info, size_t sizeof_info);
/* Returns the statistics of field number `index` in the byte order of field names. `index` must be
 * less than info.field_count. */
SHEAF_CALL int sheaf_dataset_field(const struct sheaf_dataset *dataset, size_t index,
    struct sheaf_field_info *info, size_t sizeof_info);
/* Writes the number of samples of each class to `samples`. If the packer did not count the classes
 * (counts_classes is 0), the function counts them in the index. Returns SHEAF_ERR_UNSUPPORTED if
 * the index has no labels either. */
SHEAF_CALL int sheaf_dataset_class_samples(const struct sheaf_dataset *dataset, uint64_t *samples,
    struct sheaf_error *error);
/* Writes the label of each sample to `labels`, or -1 for a sample without a label. The labels come
 * from the index; no shard is read. For a view (a selection of samples), `labels` covers all
 * samples of the sources, even samples that the view does not select. Returns SHEAF_ERR_UNSUPPORTED
 * if the index has no labels, for example because the labels are vectors or fractions. */
SHEAF_CALL int sheaf_dataset_labels(const struct sheaf_dataset *dataset, int64_t *labels,
    struct sheaf_error *error);
/* Selects up to `count` samples of the data set. For a view (a selection of samples), selects them
 * from the samples of the view. If the index has labels, each label gets about the same number of
 * samples. */
SHEAF_CALL int sheaf_dataset_draw(const struct sheaf_dataset *dataset, size_t count,
    uint64_t *numbers, size_t *drawn, struct sheaf_error *error);
/* Returns the name of class number `index`, or NULL if there is no such class. The first class has
 * index 0, even if label_base is 1. */
SHEAF_API const char *sheaf_dataset_class(const struct sheaf_dataset *dataset, size_t index);

/* ---- Views (sheaf_view) ---------------------------------------------------------------------
 * A view selects and mixes samples of sources. It is a JSON document (FORMATS.md) in a file *.view
 * or *.json. The file is opened like a data set, and is read in version 2 of the order.
 *
 * sheaf_view_write writes `document` in its canonical form to `path`. Paths in the document are
 * relative to the directory of `path`. Samples that are selected by conditions on keys are written
 * to PATH.chosen. `reading` has the options for reading the sources, or is NULL. Returns _EXISTS if
 * the file exists and `overwrite` is 0. */
SHEAF_CALL int sheaf_view_write(const char *document, const char *path, int overwrite,
    const struct sheaf_read_options *reading, struct sheaf_error *error);
/* Computes two sizes for a source of a view (a selection of samples). The first is the total size
 * of the samples that the view selects. The second is the number of bytes that a reader must read
 * for these samples. This number includes small gaps between these samples, because the gaps are
 * read as well. If the shards are compressed, it includes each whole block that contains such a
 * sample. Unless all samples are selected, the call reads the index of the shards that contain
 * selected samples. */
SHEAF_CALL int sheaf_dataset_reading(const struct sheaf_dataset *dataset, size_t source,
    uint64_t *chosen_bytes, uint64_t *read_bytes, struct sheaf_error *error);
/* Describes stage number `stage` (from 0) of a view, which is a selection of samples from several
 * sources. A stage is a part of the training in which the sources have fixed weights. Sets *samples
 * to the number of samples that are read before the stage begins, over all epochs. Sets *weights to
 * the weights of the sources, which stay valid as long as the data set. Returns SHEAF_ERR_ARGUMENT
 * if there is no such stage. */
SHEAF_CALL int sheaf_dataset_stage(const struct sheaf_dataset *dataset, size_t stage,
    uint64_t *samples, const uint64_t **weights);
/* Writes `count` sample numbers to a new file in the directory of the view `path`, and writes the
 * name of this file to `name`. A program calls this function before it writes a view that selects
 * samples by number. The program then puts `name` into the member "numbers" of the view's
 * document. */
SHEAF_CALL int sheaf_view_write_numbers(const struct sheaf_dataset *source, const uint64_t *numbers,
    size_t count, const char *path, char name[48], struct sheaf_error *error);

/* ---- Random access (sheaf_random_access) ---------------------------------------------------- */
/* Says what a reader does with a sample for which a column (a field added after packing) has no
 * value (see `missing` in struct sheaf_reader_options). */
enum sheaf_missing { SHEAF_MISSING_FAIL = 0, SHEAF_MISSING_SKIP = 1, SHEAF_MISSING_NONE = 2 };
struct sheaf_read_options {
    size_t sizeof_options;          /* set by _init */
    /* Default 1 GiB. Hard limit of the memory for reads in progress and for the returned samples
     * that were not yet freed (sheaf_kept_free), both together. */
    uint64_t memory_bytes;
    /* Default NULL. Called from time to time while sheaf_dataset_read waits for data. In these
     * calls, all counts of the progress are 0. */
    sheaf_progress_fn *progress;
    void *context; const volatile int *interrupt;
    /* Default NULL, 0. Names of columns (fields added to the data set after packing) whose values
     * are read together with the samples, as in a reader (see struct sheaf_reader_options). The
     * call first reads the samples, and then the records of the columns. */
    const char *const *columns; size_t column_count;
    enum sheaf_missing missing;     /* default FAIL; NONE is possible, SKIP is refused */
};
SHEAF_API void sheaf_read_options_init(struct sheaf_read_options *options, size_t size);

/* Reads `count` samples by their numbers (sheaf_sample.number). samples[i] becomes the sample with
 * the number numbers[i]. Numbers may be in any order and may be repeated. `options` may be NULL.
 * Any number of threads may call this function for one data set.
 *
 * Samples that are close together are read with one request: within 8 KiB in a local file, within
 * 256 KiB on a network file system, within 1 MiB in a remote object, or in one block of a codec.
 * Requests run concurrently. The checksum of each sample is verified. If one sample is bad, the
 * call fails and returns no sample.
 *
 * The samples are valid until sheaf_kept_free, but only while the data set is open. For later
 * calls, the data set keeps its 64 most recently used shards open, and up to 256 MiB of their
 * indexes. A forked child process opens the shards again.
 *
 * Returns SHEAF_ERR_ARGUMENT if `count` is 0 or a number does not exist, _UNSUPPORTED for a stream,
 * and _LIMIT if the samples need more than options.memory_bytes. */
SHEAF_CALL int sheaf_dataset_read(const struct sheaf_dataset *dataset, const uint64_t *numbers,
    size_t count, const struct sheaf_read_options *options, const struct sheaf_sample **samples,
    struct sheaf_kept **kept, struct sheaf_error *error);
/* Finds samples by their keys, and reads them like sheaf_dataset_read. The samples with the key
 * keys[i] are samples[firsts[i]] to samples[firsts[i + 1] - 1], in the order of their numbers. A
 * key may belong to no sample, or to several samples.
 *
 * Finding a key takes two small reads of the file dataset.keys of a source. Returns
 * SHEAF_ERR_UNSUPPORTED if this file does not exist (see sheaf_index_keys), and _CHANGED if the
 * file belongs to another state of the data set. */
SHEAF_CALL int sheaf_dataset_find(const struct sheaf_dataset *dataset, const char *const *keys,
    size_t count, const struct sheaf_read_options *options, const struct sheaf_sample **samples,
    const size_t **firsts, struct sheaf_kept **kept, struct sheaf_error *error);

/* ---- Reader (sheaf_reader) ------------------------------------------------------------------
 * To read epochs, call sheaf_reader_options_init, sheaf_reader_open, and sheaf_reader_next until it
 * returns SHEAF_END. The first epoch is options.epoch. Call sheaf_reader_begin_epoch for each
 * further epoch, and finally sheaf_reader_free.
 *
 * The order of an epoch depends only on (data set, seed, epoch, lanes, shuffle buffer);
 * reader/ORDER.md specifies it. Over all ranks and workers each sample is read exactly once per
 * epoch, except as `remainder` specifies. */

/* Says what a reader does if the number of samples is not a multiple of the number of lanes (the
 * sequences into which an epoch is divided). KEEP: some lanes have one sample more than others.
 * DROP: the last samples, at most lanes - 1, are left out. PAD: each shorter lane repeats one
 * sample. AUTO: like KEEP if there is one rank, otherwise like PAD. */
enum sheaf_remainder { SHEAF_REMAINDER_AUTO = 0, SHEAF_KEEP = 1, SHEAF_DROP = 2, SHEAF_PAD = 3 };

/* A function of the program that makes the first `bytes` bytes of options.memory usable. The reader
 * calls this function before it uses these bytes. If the function returns nonzero, the bytes cannot
 * be used, and the reader continues with less memory if possible. */
typedef int sheaf_memory_fn(void *context, size_t bytes);
struct sheaf_reader_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t seed;                  /* 0 */
    uint64_t epoch;                 /* 0; the first epoch to read */
    int no_shuffle;                 /* 0; 1 reads in manifest order, without any shuffling */
    /* Default 10000. Number of samples in all shuffle buffers of the reader together. With 0, only
     * the order of the shards is shuffled. */
    uint64_t shuffle_buffer;
    /* Default 0, which means world_size x workers. Number of lanes (sequences) into which an epoch
     * is divided. The number must be a multiple of world_size x workers. */
    uint32_t lanes;
    uint32_t rank, world_size;      /* 0 of 1 */
    uint32_t worker, workers;       /* 0 of 1 */
    /* Default AUTO, which means KEEP if there is one rank, and PAD if there are several. Says what
     * happens if the number of samples is not a multiple of the number of lanes (see enum
     * sheaf_remainder). */
    enum sheaf_remainder remainder;
    /* Default 1 GiB. Hard limit of the memory for reading ahead, for the shuffle buffers and for
     * the index, all together. */
    uint64_t memory_bytes;
    /* Default 0, which means one per processor, at most 8. For local files, the default is one
     * fewer, because the thread that calls sheaf_reader_next then does part of the work. Number of
     * threads that read and check samples ahead of time. */
    unsigned threads;
    /* Default FAIL, so a bad record ends the epoch with an error. SKIP leaves bad records out. A
     * record with more than 1,024 fields or 65,536 labels is also bad. If all records are bad, the
     * epoch ends with SHEAF_ERR_CORRUPT. */
    enum sheaf_on_error on_corrupt;
    /* Default UINT64_MAX (no limit). Largest number of bad records that may be skipped. If there is
     * one more bad record, the reader returns an error. */
    uint64_t max_corrupt;
    sheaf_report_fn *report; void *report_context;  /* NULL; called in next() for each skipped
                                                       record */
    const char *cache_directory;    /* NULL; directory for remote shards, which processes may
                                       share */
    /* Default 64 GB. Size limit of the cache. If the cache is full, the least recently used blocks
     * are removed. */
    uint64_t cache_bytes;
    /* Default NULL. Memory of the program into which the reader reads samples. This memory must
     * have memory_bytes bytes and begin at a page boundary (see sheaf_reader_keep). */
    void *memory;
    sheaf_memory_fn *memory_needed; void *memory_context;   /* NULL */
    /* Default NULL, 0. Names of columns (fields added to the data set after packing) to read
     * together with the samples (see sheaf_column_add). The column NAME adds the field NAME.EXT to
     * each sample, where EXT is the type of its values, such as "txt". If a sample already has this
     * field, the reader returns SHEAF_ERR_EXISTS. Columns change neither the order of the samples
     * nor the reader's positions. */
    const char *const *columns; size_t column_count;
    /* Default FAIL. Says what the reader does with a sample for which a column (a field added after
     * packing) has no value. FAIL: return SHEAF_ERR_NOT_FOUND. SKIP: leave the sample out, and
     * count it in the field `missing` of the statistics. NONE: return the sample without the field,
     * and count the absent field in `missing`. */
    enum sheaf_missing missing;
};
SHEAF_API void sheaf_reader_options_init(struct sheaf_reader_options *options, size_t size);

/* Finds the rank and world size of this process in environment variables. Uses the first of these
 * launchers whose variables are set:
 *
 * - RANK and WORLD_SIZE (torchrun);
 * - OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE (Open MPI);
 * - SLURM_PROCID and SLURM_NTASKS, if SLURM_STEP_ID is set as well. srun sets all three. A batch
 *   script without srun has only the first two, and is a single process;
 * - SM_CURRENT_HOST and SM_HOSTS (SageMaker), or else the file resourceconfig.json in the directory
 *   `config`. If `config` is NULL, the directory is /opt/ml/input/config. The rank is the index of
 *   the current host in the list of hosts.
 *
 * If `source` is not NULL, *source becomes a static string that names the launcher. Returns
 * SHEAF_END if there are neither such variables nor this file. Returns SHEAF_ERR_ARGUMENT if a
 * value is invalid, or if only one of the two variables of torchrun or Open MPI is set. For Slurm,
 * a single variable is allowed, because Slurm itself sets only one of its variables in jobs without
 * ranks.
 *
 * sheaf_reader_open does not read these variables: the program must copy rank and world size into
 * the reader's options. */
SHEAF_CALL int sheaf_world_from_environment(const char *config, uint32_t *rank,
    uint32_t *world_size, const char **source, struct sheaf_error *error);

/* Opens a reader. The data set must stay open until sheaf_reader_free.
 *
 * memory_bytes must be enough for the largest sample, the index of its shard, and 64 bytes per
 * sample of the shuffle buffers. Compressed shards need 64 KiB more, and remote shards need 1 MiB
 * more. If memory_bytes is too small, the call returns SHEAF_ERR_LIMIT, and the message names a
 * sufficient size. The process needs at most 32 MiB more than memory_bytes for connections, stacks
 * and codecs.
 *
 * If memory_bytes has no room for the content of all samples in the shuffle buffer, the reader
 * reads some samples only when the shuffle selects them. If the shards are compressed, the reader
 * must decompress a whole block for such a sample. The reader keeps the other samples of the block
 * as far as memory_bytes allows. */
SHEAF_CALL int sheaf_reader_open(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, struct sheaf_reader **reader,
    struct sheaf_error *error);
SHEAF_API void sheaf_reader_free(struct sheaf_reader *reader);
/* Starts an epoch at its beginning, even if the reader is in the middle of another epoch. */
SHEAF_CALL int sheaf_reader_begin_epoch(struct sheaf_reader *reader, uint64_t epoch);
/* Starts an epoch at sample number `sample` (from 0) of this reader's part of the epoch, without
 * reading the earlier samples. Returns SHEAF_ERR_ARGUMENT if the part has no sample of this number,
 * or if the data set is a stream. */
SHEAF_CALL int sheaf_reader_seek(struct sheaf_reader *reader, uint64_t epoch, uint64_t sample);
/* Returns the number of samples in this reader's part of the epoch. Corrupt records are counted as
 * well. Returns UINT64_MAX for a stream, because its number of samples is unknown. */
SHEAF_API uint64_t sheaf_reader_epoch_samples(const struct sheaf_reader *reader);
/* Returns the next sample in *sample, or SHEAF_END at the end of the epoch. The sample is valid
 * until the next call on this reader. After an error, only sheaf_reader_error, _get_stats and _free
 * may be called. SHEAF_ERR_INTERRUPTED is an exception: reading can continue after it. */
SHEAF_CALL int sheaf_reader_next(struct sheaf_reader *reader, const struct sheaf_sample **sample);
/* Returns between 1 and `max` samples, which are valid until the next call on this reader. If no
 * sample is left, returns the same codes as sheaf_reader_next. If an error follows some good
 * samples, these samples are returned first, and the next call returns the error. Returns
 * SHEAF_ERR_ARGUMENT if `max` is 0. */
SHEAF_CALL int sheaf_reader_next_batch(struct sheaf_reader *reader, size_t max,
    const struct sheaf_sample **samples, size_t *count);
/* Detaches from the reader the samples that the last call on it has returned. The *count samples in
 * *samples stay valid until sheaf_kept_free, even after the reader and the data set are freed. The
 * pointers from the last call become invalid. Returns SHEAF_ERR_STATE if there are no samples, or
 * if they were already detached.
 *
 * A sample of 4 KiB or more stays in the buffer into which it was read, if memory_bytes has room
 * for this buffer. (The buffer has about 1 MiB, or 8 MiB for remote shards.) The buffer then counts
 * in memory_bytes until the sample is freed. All other samples are copied to memory that does not
 * count in memory_bytes. The copies are sorted by field: first the first field of every copied
 * sample, then the second fields, and so on.
 *
 * If options.memory is set, samples that are not copied lie in this memory. Another process or a
 * device can then use them without a copy. The memory must stay valid until the reader and these
 * samples are freed. */
SHEAF_CALL int sheaf_reader_keep(struct sheaf_reader *reader, const struct sheaf_sample **samples,
    size_t *count, struct sheaf_kept **kept);
SHEAF_API void sheaf_kept_free(struct sheaf_kept *kept);    /* may be called on any thread */
#define SHEAF_POSITION_SIZE 257     /* including the NUL */
#define SHEAF_BACK_MOST ((uint64_t)1 << 20)
/* Writes the reader's position to `text`, as printable text of at most 256 bytes with a checksum.
 * The text is valid on any machine. Returns SHEAF_ERR_UNSUPPORTED for standard input, and for pipes
 * whose content the platform shuffles. */
SHEAF_CALL int sheaf_reader_position(const struct sheaf_reader *reader,
    char text[SHEAF_POSITION_SIZE]);
/* Writes the position that the reader had before it returned the last `back` samples. A program
 * that reads ahead needs this function to save the position after the last sample that it has used.
 * Returns SHEAF_ERR_ARGUMENT if `back` is greater than SHEAF_BACK_MOST, or greater than the number
 * of samples since the epoch was started or resumed. */
SHEAF_CALL int sheaf_reader_position_back(const struct sheaf_reader *reader, uint64_t back,
    char text[SHEAF_POSITION_SIZE]);
/* Continues an epoch at a saved position. Seed, epoch, lanes, buffer size and remainder come from
 * the position, not from the options.
 *
 * Usually only the same rank and worker can use the position. But if all lanes (the sequences of an
 * epoch) had returned the same number of samples when the position was saved, any rank and worker
 * can use it. The number of lanes must then be a multiple of world_size x workers.
 *
 * Returns SHEAF_ERR_CHANGED if the position belongs to another data set. Returns SHEAF_ERR_ARGUMENT
 * if the text is damaged, or if the position is outside of the epoch. For a stream, this call
 * cannot know whether the position is outside of the epoch. If the position is outside,
 * sheaf_reader_next returns SHEAF_ERR_ARGUMENT later. */
SHEAF_CALL int sheaf_reader_resume(struct sheaf_reader *reader, const char *text);
/* Writes the fingerprint that sheaf_reader_position stores in a position of options->epoch. At this
 * position, all ranks together have read `samples` samples.
 *
 * A view (a selection of samples) may have stages, which are parts of the training with fixed
 * weights. For a view, the fingerprint covers only the stages up to this position. So the position
 * stays valid when another stage is appended to the view. */
SHEAF_CALL int sheaf_dataset_fingerprint_at(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, uint64_t samples, char fingerprint[33],
    struct sheaf_error *error);
/* Makes sheaf_reader_next return SHEAF_ERR_INTERRUPTED once: in the call that is running now, or in
 * the next call if no call is running. After this, reading can continue. The function may be called
 * on any thread and in a signal handler. */
SHEAF_API void sheaf_reader_interrupt(struct sheaf_reader *reader);
struct sheaf_reader_stats {
    uint64_t samples, payload_bytes;    /* returned over all epochs; content of their fields */
    /* number of bytes of shards and indexes that the reader read from the store or from the
     * cache */
    uint64_t read_bytes;
    /* number of corrupt records that were skipped; the same record counts again in each epoch */
    uint64_t corrupt;
    uint64_t stall_ns;              /* time in which next() waited for data */
    uint64_t first_sample_ns;       /* from open to the first sample */
    uint64_t memory_bytes, memory_peak_bytes;   /* in use <= peak <= options.memory_bytes */
    /* number of bytes that the reader read from the cache instead of the store; whole blocks are
     * counted */
    uint64_t cached_bytes;
    uint64_t epoch;                 /* the current one */
    /* number of objects that the cache could not store because they have no strong ETag */
    uint64_t uncached_objects;
    /* number of members of foreign tars (written by other software) that belong to no sample, for
     * example links */
    uint64_t passed_over;
    uint64_t repeated;              /* samples repeated to pad a lane; <= samples */
    /* for foreign shards (written by other software): number of bytes that the reader skipped after
     * damaged places, up to the next valid record */
    uint64_t lost_bytes;
    uint64_t chosen_bytes;          /* bytes of the chosen samples alone; read_bytes includes
                                       gaps */
    /* number of HTTP requests of the whole process, and number of requests that were repeated.
     * These two fields are also set if sheaf_reader_get_stats is called with `reader` NULL; all
     * other fields are not. */
    uint64_t requests, retries;
    uint64_t repeated_keys;         /* as in sheaf_dataset_info, and of streams that were read */
    /* with `missing` SKIP: number of samples that were left out; with `missing` NONE: number of
     * fields that were left out. In both cases, the reason is that a column (a field added after
     * packing) has no value for the sample. */
    uint64_t missing;
};
SHEAF_API void sheaf_reader_get_stats(const struct sheaf_reader *reader,
    struct sheaf_reader_stats *stats, size_t sizeof_stats);
/* Returns the last error of this reader. The returned pointer and the message are valid until the
 * next call on the reader. */
SHEAF_API const struct sheaf_error *sheaf_reader_error(const struct sheaf_reader *reader);

/* ---- Channels (sheaf_channel) ---------------------------------------------------------------
 * A channel is a data set that a platform gives to a training job under a name. In SageMaker's
 * containers, channels are in ROOT = /opt/ml. The same layout can be created anywhere else. The
 * first of these conditions that is true decides how the channel NAME is read:
 * 1) ROOT/input/data/NAME is a directory (File and FastFile mode, FSx for Lustre, EFS). It is read
 *    like any other source.
 * 2) ROOT/input/data/NAME_0, or the name with a later number, is a named pipe (Pipe mode). The
 *    reader's epochs come from the pipes NAME_0, NAME_1 and so on. Samples come in the platform's
 *    order, and the reader's shuffle buffer shuffles them.
 * 3) The variable SM_CHANNEL_NAME (with NAME in capitals) names a directory.
 * 4) The configuration has a "TrainingInputMode" of "Pipe" for NAME. The library then waits for the
 *    pipe. The configuration is ROOT/input/config/inputdataconfig.json, or else the variable
 *    SM_INPUT_DATA_CONFIG.
 * 5) The configuration has a "DataSource": {"S3DataSource": {"S3Uri": ...}} for NAME, as in a
 *    SageMaker training job. The URI may name any source, which is read directly. "S3DataType" is
 *    "S3Prefix", or "ManifestFile", whose objects are read as if they were in a directory.
 *
 * Pipes. Epoch E is the pipe NAME_E. If the first requested epoch has no pipe, but another pipe is
 * being written to, that pipe is read, and later epochs follow it. A pipe has objects of any
 * container one after another, plain or compressed by gzip. There is no manifest. So `cls` members
 * of a tar are fields, keys of RecordIO are generated, and only damage to the stream itself is
 * detected. If the writer of a pipe ends in the middle of a record, the reader returns
 * SHEAF_ERR_TRUNCATED.
 *
 * One process can read a pipe. If there are several hosts, each host reads its own pipe to the end
 * and takes its share of the samples (`lanes` is the world size, and `workers` is 1). Positions can
 * be used if the platform does not shuffle (no "ShuffleConfig"). Resuming reads forward.
 *
 * A sample of an augmented manifest has a field for each attribute. The name of the field for an
 * attribute NAME-ref is detected from its content. An attribute `label` (or else `class`) that is a
 * number or an array of numbers is the label and not a field. */
enum sheaf_channel_kind { SHEAF_CHANNEL_DIRECTORY = 1, SHEAF_CHANNEL_PIPE = 2,
                          SHEAF_CHANNEL_DIRECT = 3 };   /* from S3 or another store */
struct sheaf_channel_options {
    size_t sizeof_options;          /* set by _init */
    const char *root;               /* "/opt/ml" */
    /* Default 600. Number of seconds to wait until a pipe appears. When the pipe has appeared, the
     * reader waits up to the same time for the first byte. */
    uint64_t wait_seconds;
    /* Default NULL: the names come from the platform's configuration. Otherwise, the names of the
     * attributes of an augmented manifest in Pipe mode, such as "image-ref,label". For each line of
     * the manifest, the pipe has one RecordIO record for each attribute, in the order of these
     * names. */
    const char *attributes;
    /* Default NULL: the manifest is in the channel's directory. Path or URL of the data set's
     * dataset.json. The option is needed if each host has only a part of the shards, because the
     * manifest may then be on another host. */
    const char *manifest;
};
/* Information about a channel. A string is "" if the platform does not specify its value. */
struct sheaf_channel_info {
    const char *name;
    enum sheaf_channel_kind kind;
    const char *location;           /* directory; prefix of the pipes' names; or source */
    const char *file_system;        /* of a directory: "local", "FUSE", "Lustre" or "NFS" */
    /* "File", "FastFile" or "Pipe", as the platform states it. The library does not rely on it. */
    const char *mode;
    const char *content_type;
    const char *compression;        /* "None" or "Gzip" */
    const char *record_wrapper;     /* "None" or "RecordIO" */
    const char *distribution;       /* "FullyReplicated" or "ShardedByS3Key" */
    int has_shuffle_seed;           /* whether the platform shuffles whole objects with this
                                       seed: */
    int64_t shuffle_seed;
    /* one line of text that says what the channel contains and how the library will read it */
    const char *description;
};
SHEAF_API void sheaf_channel_options_init(struct sheaf_channel_options *options, size_t size);
/* Detects how a channel must be read. `options` may be NULL. Returns SHEAF_ERR_NOT_FOUND if there
 * is no channel with this name; the message lists the existing channels. Returns _CORRUPT if the
 * platform's configuration is invalid. Returns _ARGUMENT unless `name` has 1 to 64 characters of
 * the set A-Z a-z 0-9 . - _. */
SHEAF_CALL int sheaf_channel_open(const char *name, const struct sheaf_channel_options *options,
    struct sheaf_channel **channel, struct sheaf_error *error);
SHEAF_API void sheaf_channel_free(struct sheaf_channel *channel);
SHEAF_API void sheaf_channel_get_info(const struct sheaf_channel *channel,
    struct sheaf_channel_info *info, size_t sizeof_info);
/* Opens the channel as a data set. The data set stays valid after the channel is freed.
 *
 * If the platform gives each host only a part of the objects (ShardedByS3Key), two things are
 * different. A saved position is valid only on the host that saved it. The ranks train together, so
 * epochs must have the same length on all hosts. Therefore the reader's option `remainder` must be
 * PAD, which is the default, or DROP (ORDER.md, section 3). Returns SHEAF_ERR_UNSUPPORTED if equal
 * lengths are impossible. */
SHEAF_CALL int sheaf_channel_dataset(const struct sheaf_channel *channel,
    struct sheaf_dataset **dataset, struct sheaf_error *error);
/* Finds the rank and world size for readers of this channel. Usually these are the results of
 * sheaf_world_from_environment.
 *
 * If each host has its own objects (ShardedByS3Key), the world consists only of the processes of
 * this host. Rank and world size then come from the first of these pairs of variables that is set:
 * - LOCAL_RANK and LOCAL_WORLD_SIZE;
 * - OMPI_COMM_WORLD_LOCAL_RANK and OMPI_COMM_WORLD_LOCAL_SIZE;
 * - SLURM_LOCALID and SLURM_NTASKS_PER_NODE (in a step of srun).
 *
 * If no pair is set, the rank is 0 and the world size is 1. The variables of
 * sheaf_world_from_environment may also be set. The world size that they state must then be the
 * number of processes on this host, or this number times the number of hosts. Otherwise the call
 * returns SHEAF_ERR_ARGUMENT. */
SHEAF_CALL int sheaf_channel_world(const struct sheaf_channel *channel, uint32_t *rank,
    uint32_t *world_size, const char **source, struct sheaf_error *error);
/* Sets the fields seed, epoch, shuffle_buffer and lanes of `options` from the hyperparameters
 * sheaf_seed, sheaf_epoch, sheaf_shuffle_buffer and sheaf_lanes of the training job. Other fields,
 * and fields without a hyperparameter, stay as they are, so `options` must be initialised. The
 * hyperparameters are in ROOT/input/config/hyperparameters.json, or else in the variable SM_HPS.
 * Each is a whole number in the form of a text. Returns SHEAF_ERR_ARGUMENT if another
 * hyperparameter begins with sheaf_, if a number is invalid, or if the file or variable is not a
 * JSON object. */
SHEAF_CALL int sheaf_channel_order(const struct sheaf_channel *channel,
    struct sheaf_reader_options *options, struct sheaf_error *error);
/* Tells the platform why the job fails, by writing the message (at most 1024 bytes) to
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

/* Calls `each` for every range of samples (struct sheaf_stretch) that the readers of all ranks read
 * in options->epoch. The ranges are sorted by rank, then by worker, then by lane (a sequence of the
 * epoch). Within a lane, they come in reading order. The fields `rank` and `worker` of the options
 * are ignored. Returns SHEAF_ERR_UNSUPPORTED for a stream. */
SHEAF_CALL int sheaf_dataset_plan(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, sheaf_stretch_fn *each, void *context,
    struct sheaf_error *error);

/* One occurrence of a sample in an epoch. All numbers in the struct count from 0. */
struct sheaf_coming {
    size_t asked;               /* the sample is numbers[asked] */
    /* position of this occurrence in the epoch, from 0, counted over the samples of all ranks */
    uint64_t sample;
    uint32_t rank;
    /* number of this occurrence in its rank's part of the epoch. For example, if the rank reads
     * batches of B samples, the sample is in batch number `ordinal` / B (rounded down). */
    uint64_t ordinal;
};
typedef void sheaf_coming_fn(void *context, const struct sheaf_coming *coming);
/* Finds out when samples occur in options->epoch. Calls `each` for every occurrence of the `count`
 * samples with the given numbers, in the order of the epoch. A sample that `remainder` drops has no
 * occurrence, and a sample that is repeated has two or more. The fields `rank` and `worker` of the
 * options are ignored, because the call covers all ranks. Returns SHEAF_ERR_UNSUPPORTED for a
 * stream. */
SHEAF_CALL int sheaf_dataset_locate(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, const uint64_t *numbers, size_t count,
    sheaf_coming_fn *each, void *context, struct sheaf_error *error);
enum { SHEAF_MIXING_POINTS = 1000, SHEAF_MIXING_BATCH = 256 };
/* Numbers that tell how well options->epoch is shuffled. A field ideal_X is the value that X would
 * have in an ideal shuffle of the same samples. */
struct sheaf_mixing {
    uint64_t samples;                   /* number of samples in the epoch, over all ranks */
    double displacement, ideal_displacement;    /* mean distance from the manifest position */
    /* The neighbours of a sample are the two samples directly before and after it in the order of
     * the manifest. A neighbour is near if it is among the 100 samples that come just before the
     * sample in the epoch. `neighbours` is the mean number of near neighbours per sample, from 0 to
     * 2. A high value means that the order of the manifest is still visible. */
    double neighbours, ideal_neighbours;
    /* 1 if the index has labels, and all of them are less than 2^20; otherwise 0, and the following
     * fields about labels are 0 as well */
    int has_labels;
    double label_run, ideal_label_run;  /* mean length of runs of one label */
    uint64_t longest_label_run;
    double batch_labels, ideal_batch_labels;    /* mean number of labels in SHEAF_MIXING_BATCH
                                                   samples */
    /* Data for a plot of point_count samples, which are equally far apart in the epoch. `came` has
     * each sample's position in the epoch, and `lay` its position in the data set. Both are
     * fractions from 0 to 1. */
    size_t point_count;
    double came[SHEAF_MIXING_POINTS], lay[SHEAF_MIXING_POINTS];
};
SHEAF_CALL int sheaf_dataset_mixing(const struct sheaf_dataset *dataset,
    const struct sheaf_reader_options *options, struct sheaf_mixing *mixing, size_t sizeof_mixing,
    struct sheaf_error *error);

/* ---- Packing a source (sheaf_pack) ----------------------------------------------------------
 * sheaf_pack makes a data set from files, in one call. The source is one of:
 * - a directory tree. The class of a file is its directory.
 * - s3://BUCKET/PREFIX, a tree of objects.
 * - a list file, whose name tells its form: *.lst (MXNet: index, labels, path), *.csv and *.tsv
 *   (path, labels), *.jsonl, or any other name (one path per line; the directory is the class).
 *   A column of the header, or a member of JSON Lines, is the path if it is called path, file,
 *   file_name, filename or image, in upper or lower case. It is the label if it is called label,
 *   labels, class or class_name. If the label is a number, a class beside it is the name of the
 *   class. All other columns and members become fields.
 * - SageMaker's manifest file or augmented manifest (packer/source/augmented.h), *.manifest,
 *   *.json or *.jsonl, recognised by its content.
 * - an archive (*.tar, *.zip, *.tar.gz, ...). It is packed like the directory that it unpacks to.
 *   A remote archive is copied first.
 *
 * Files whose paths are equal up to the first dot of the base name form one sample. Before any file
 * is read, a plan is made of keys, labels, order and shards. The plan and the files determine every
 * byte of the data set. */
/* One shard of a plan. */
struct sheaf_plan_shard {
    const char *split;          /* the split's name; "" without splits */
    const char *name;           /* "shard-000000.tar" */
    uint64_t samples, payload_bytes;
};
typedef void sheaf_plan_fn(void *context, const struct sheaf_plan_shard *shard);
/* A class, its number, and the number of its samples in a plan. Samples whose label is in a .cls
 * file are not counted. */
struct sheaf_class_count { const char *name; int64_t number; uint64_t samples; };
typedef void sheaf_class_count_fn(void *context, const struct sheaf_class_count *count);
/* Says which dot of a file's base name ends the key of the sample: the first dot or the last dot.
 * The suffix begins after this dot. */
enum sheaf_key_end { SHEAF_FIRST_DOT = 0, SHEAF_LAST_DOT = 1 };
/* A filter for paths under the source, in the syntax of a .gitignore. If `packs` is nonzero,
 * matching files are packed, otherwise they are left out. */
struct sheaf_filter { const char *pattern; int packs; };
enum sheaf_resize_mode { SHEAF_SHORTER = 0, SHEAF_LONGER = 1, SHEAF_EXACT = 2 };
enum sheaf_check_images { SHEAF_CHECK_MARKERS = 0, SHEAF_CHECK_DECODE = 1, SHEAF_CHECK_NONE = 2,
                          SHEAF_CHECK_USUAL = 3 };
/* Says what packing does with a sample that has the key of an earlier sample. FAIL: return an
 * error. NUMBER: rename the sample to the first free key of KEY-2, KEY-3, ... DROP: leave the
 * sample out. */
enum sheaf_duplicate_keys { SHEAF_DUPLICATE_FAIL = 0, SHEAF_DUPLICATE_NUMBER = 1,
                            SHEAF_DUPLICATE_DROP = 2 };
struct sheaf_pack_options {
    size_t sizeof_options;          /* set by _init */
    enum sheaf_container container; /* SHEAF_WEBDATASET */
    /* Default NONE. Compression of the shards. A compressed shard is one gzip member, one LZ4
     * frame, or a sequence of zstd frames. */
    enum sheaf_codec codec;
    uint64_t shard_bytes;           /* 150000000; target payload of a shard */
    /* Default 0, which means that shard_bytes determines the number of shards. Otherwise, the
     * number of shards in each split. A split with fewer samples than shard_count gets one shard
     * for each sample. */
    uint64_t shard_count;
    const char *prefix;             /* "shard" */
    /* Default NULL. For a list file, the directory to which its paths are relative; NULL means the
     * directory of the list file. For an archive, the only directory in it that is packed; NULL
     * means the whole archive. */
    const char *root;
    /* Default 0: samples are shuffled. With 1, samples are packed in the byte order of their
     * keys. */
    int no_shuffle;
    uint64_t seed;                  /* 0; seed of the shuffle and of splits */
    int label_base;                 /* 0; number of the first class, 0 or 1 */
    const char *split;              /* NULL; "train=0.8,val=0.2" or "train=60/class,val=rest" */
    enum sheaf_on_error on_error;   /* FAIL */
    /* Default 0. With 1, the call keeps shards that an earlier run has finished, if their source
     * files still have the same sizes and times. */
    int resume;
    const char *identity;           /* NULL; for sheaf_packer: resume requires the same identity */
    int overwrite;                  /* 0; 1 removes the existing data set first */
    /* Default 0. With 1, the call only makes a plan and packs nothing. If a call without dry_run
     * would refuse the directory `dest`, or `dest` has too little free space, the call returns
     * SHEAF_OK, and *error says why. */
    int dry_run;
    const char *index;              /* NULL; readers whose index files are written:
                                       "dali,mxnet,wids,energon" */
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    /* Default 512 MiB. Hard limit of the memory for buffers. The memory for the plan (the sorted
     * list of files and samples) does not count. About a quarter of the limit is reserved for parts
     * of uploads to S3, or more if the parts are large. The rest is for all other buffers. A part
     * has 8 MiB, or 1/5000 of the shard if a shard has more than 40 GB. */
    uint64_t memory_bytes;
    sheaf_progress_fn *progress;    /* NULL */
    sheaf_report_fn *report;        /* NULL; called for each bad file */
    /* Default NULL. Called for each shard of the plan if dry_run is set. */
    sheaf_plan_fn *plan;
    void *context; const volatile int *interrupt;
    /* Default NULL. Paths of the source_count sources from which the program reads; used only by
     * sheaf_packer_open. sheaf_packer_open refuses a source in `dest`, because the option
     * `overwrite` would delete this source. */
    const char *const *sources;
    size_t source_count;
    /* Default NULL, which means the text of `identity`. A text that identifies the samples. Equal
     * samples must get equal texts, even if the samples come from another place or were made at
     * another time. */
    const char *origin;
    /* Default NULL: all files are packed. Otherwise, an array of filter_count filters. The last
     * filter that matches a path decides whether the file is packed. If no filter matches, the file
     * is left out if the first filter packs files, and is packed if the first filter leaves files
     * out. */
    const struct sheaf_filter *filters;
    size_t filter_count;
    /* Default NULL. Called for facts about the run that the user may want to know and that are not
     * errors. The code of the struct sheaf_error is then SHEAF_OK, and its message states the
     * fact. */
    sheaf_report_fn *note;
    const char *const *field_aliases;   /* NULL; "jpeg=jpg", ..., ended by NULL */
    /* Default FIRST_DOT: the key ends at the first dot of the base name. LAST_DOT: the key ends at
     * the last dot, and earlier dots of the base name become '_' in the key. */
    enum sheaf_key_end key_end;
    /* Default 0. With 1, images that some loaders cannot read, or read wrongly, are converted to
     * plain JPEGs. These are files named .jpg or .jpeg that are in fact CMYK or YCCK JPEGs, JPEGs
     * with an EXIF orientation, or PNG, GIF, BMP or WebP images. */
    int fix_images;
    /* Default USUAL. Says how images are checked before they are packed. MARKERS: the sequence of
     * markers in a JPEG must be valid. DECODE: every pixel of an image must be decodable. NONE: no
     * check. USUAL means NONE in sheaf_convert, and MARKERS in other calls. */
    enum sheaf_check_images check_images;
    /* Default 90. Quality, from 1 to 100, of the JPEGs that packing makes. */
    int quality;
    /* Default NULL. Settings for objects that are written to S3. Each is a string such as
     * "acl=private"; the array ends with NULL. */
    const char *const *s3;
    /* Default 0: images keep their size. With a number N, an image is made smaller if the side that
     * resize_mode selects is longer than N pixels. This side then has N pixels. */
    uint32_t resize; enum sheaf_resize_mode resize_mode;
    /* Default 0; only for sheaf_convert. With `reshard` 1, samples are divided into new shards.
     * With `reshuffle` 1, samples are put into a new order, which depends on `seed`. */
    int reshard, reshuffle;
    const char *field_map;          /* NULL; for sheaf_convert: "image=jpg,y=label" makes y the
                                       label */
    /* Default 0: the class of a file is the whole path of its directory. With a number N, the class
     * is the first N directories of this path. */
    uint32_t class_depth;
    /* Default NULL. Path of a data set, or of a file with class names (one per line, or a JSON
     * array). Each class gets the number that it has in this data set or file. If the source has a
     * class that is missing there, the call fails. sheaf_append refuses this option, because an
     * append always uses the classes of the existing data set. */
    const char *classes;
    /* Default NULL. Called for each class of a plan. sheaf_plan_make always calls it, other calls
     * only if dry_run is set. */
    sheaf_class_count_fn *class_count;
    /* Default FAIL. Says what packing does with a sample that has the key of an earlier sample.
     * Used only by sheaf_packer_open, by sheaf_convert, and by sheaf_plan_make if the source is a
     * data set. */
    enum sheaf_duplicate_keys duplicate_keys;
    /* Default FAIL. Says what packing does with a file that has vanished or changed since the
     * source was listed. If both on_change and on_error are SKIP, the file is left out. Otherwise
     * the call fails. */
    enum sheaf_on_error on_change;
    /* Default NULL (no limit). Largest number of bad files that may be left out if on_error is
     * SKIP: a number such as "10", or a share of all files such as "0.5%". If more files are bad,
     * the call fails. sheaf_packer_open and sheaf_convert count samples instead of files. */
    const char *max_skipped;
};
SHEAF_API void sheaf_pack_options_init(struct sheaf_pack_options *options, size_t size);
/* Returns the name of setting number `index` that options->s3 may have (see doc/s3.md), or NULL if
 * `index` is too large. Also returns the possible values in *values and the HTTP header in *header;
 * both pointers may be NULL. */
SHEAF_API const char *sheaf_s3_setting(size_t index, const char **values, const char **header);
struct sheaf_pack_result {
    /* `files` is the number of files in the source, or in the part of a plan that the call has
     * packed. For sheaf_packer, `files` is the number of appended fields. If the call succeeds,
     * files == files_packed + skipped. */
    uint64_t files;
    uint64_t files_packed;      /* fields in the shards */
    uint64_t samples, payload_bytes;    /* packed, or planned with dry_run; content of their
                                           fields */
    uint64_t stored_bytes;      /* bytes of the shards */
    /* `shards` is the number of shards of the data set. shards_kept is the number of these shards
     * that the option `resume` kept from an earlier run. If the data set of a plan is already
     * published, sheaf_pack_part packs nothing. In this case `shards` is 0, and shards_kept is the
     * number of shards of the part. */
    uint64_t shards, shards_kept;
    /* number of files that were skipped (sheaf_packer: number of samples that were skipped); a
     * report file in the destination lists each of them */
    uint64_t skipped;
    /* number of records that the container RecordIO stores in several pieces, because their content
     * contains RecordIO's magic number; 0 for other containers */
    uint64_t multipart_records;
    /* memory_peak_bytes is the largest amount of memory that was used for buffers and for parts on
     * their way to S3; this amount is at most options.memory_bytes. plan_bytes is the additional
     * memory for the plan (the sorted list of files and samples). */
    uint64_t memory_peak_bytes, plan_bytes;
    uint64_t passed_over;       /* S3: marks of directories, old versions, objects elsewhere */
    uint64_t left_out;          /* ignored files: hidden directories, .DS_Store, ._*, Thumbs.db,
                                   ... */
    /* number of samples without a label; 0 if no sample of the source has a label, because labels
     * are then not expected */
    uint64_t unlabelled;
    /* key of the first sample without a label, in byte order of keys; may be cut off */
    char first_unlabelled[512];
    /* number of files that filters left out; a directory that was left out as a whole counts as one
     * file */
    uint64_t filtered;
    uint64_t converted, resized;    /* images listed in converted.tsv; other images that became
                                       smaller */
    /* number of samples with the key of an earlier sample. The option duplicate_keys decides
     * whether these samples were renamed, or were left out and listed in the report file. */
    uint64_t duplicates;
};
/* Packs a source into a data set. Writes shards, dataset.index, dataset.keys and finally
 * dataset.json to the directory `dest`, which is created if necessary. If `split` is set, each
 * split is a data set in its own subdirectory of `dest`. If the call fails, there is no
 * dataset.json, and the finished shards stay, so that another call with the option `resume` can
 * continue. Local shards are written in a way that does not fill the kernel's page cache. */
SHEAF_CALL int sheaf_pack(const char *source, const char *dest,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Packs several sources into one data set. Either all sources are local (directories, or list files
 * of local files), or all are in one bucket (prefixes, or list files of objects). A key is the path
 * of a sample relative to the common directory of all sources. A class is the path of a directory
 * relative to its source. Files directly in a source have the name of the source as their class. */
SHEAF_CALL int sheaf_pack_sources(const char *const *sources, size_t count, const char *dest,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Appends the samples of `count` sources, as in sheaf_pack_sources, to the data set `dataset`. The
 * samples become new shards with the container and codec of the existing shards. If shard_bytes is
 * 0, which is the default here, the new shards have about the size of the existing shards. Existing
 * classes keep their numbers, and new classes get the next numbers.
 *
 * Open readers continue to read the old data set. A reader that is opened during the call sees
 * either the old or the new data set. A position that was saved before the append is refused with
 * SHEAF_ERR_CHANGED.
 *
 * A file whose key the data set already has is a bad file. If the sources have only such files, the
 * call returns SHEAF_OK and makes no shards. `overwrite` removes the shards of an unfinished
 * append. With `resume`, the call also returns SHEAF_OK if the last append has added exactly these
 * samples. Returns SHEAF_ERR_UNSUPPORTED for views and foreign shards (written by other software).
 *
 * `dataset` may also be a directory of splits. The samples are then divided among the splits as the
 * option `split` says. If `split` is NULL, they are divided as sheaf_pack divided the data. A key
 * that exists in one split is not added to another split. No split changes before the new shards of
 * all splits are complete. */
SHEAF_CALL int sheaf_append(const char *const *sources, size_t count, const char *dataset,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);

/* ---- Editing a data set (sheaf_edit) --------------------------------------------------------
 * sheaf_edit deletes samples, gives samples other labels, and replaces files of samples. It writes
 * the shards that have such samples again under new names, and copies the other records of these
 * shards unchanged. Then it replaces the manifest. All other shards keep their bytes and names.
 *
 * Samples keep their order. Samples after a deleted sample get lower numbers. The data set gets
 * another fingerprint. So earlier positions, states, and views that select numbers are refused with
 * SHEAF_ERR_CHANGED. Open readers continue to read the old data set. */
struct sheaf_edit_options {
    size_t sizeof_options;          /* set by _init */
    const char *delete_keys;        /* NULL; a file with a key in each line */
    /* Default NULL. Path of a list file (*.csv, *.tsv, *.jsonl, *.lst). Each of its lines has the
     * key or path of a sample, and the sample's new label or labels. A new class gets the next free
     * number. */
    const char *labels;
    /* Default NULL. A source of files, as in sheaf_pack. Each file replaces the field of the sample
     * that has the same key and suffix as the file. Files with the same content as the field are
     * skipped. If no label and no file differs, the data set does not change. */
    const char *replace;
    /* Default FAIL. With SKIP, the call reports and leaves out keys and files that belong to no
     * sample. */
    enum sheaf_on_error on_unknown;
    int resume;                     /* 0; 1 keeps finished shards of an interrupted edit */
    int overwrite;                  /* 0; 1 removes what an interrupted run has left */
    /* Default 0. With 1, the call removes the shards that this and earlier edits have replaced,
     * after it has published the new manifest. */
    int purge;
    int dry_run;                    /* 0; 1 only finds the samples and shards */
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    uint64_t memory_bytes;          /* 512 MiB; hard limit, without the lists */
    sheaf_progress_fn *progress;    /* NULL */
    /* Default NULL. Called for each key or file that belongs to no sample of the data set. */
    sheaf_report_fn *report;
    void *context;
    const volatile int *interrupt;  /* NULL */
    const char *const *s3;          /* NULL; as in sheaf_pack_options */
    /* Default NULL. Called once if the data set has columns (fields that were added after packing),
     * with a notice that names them. They belong to the data set before the edit, and can no longer
     * be read. */
    sheaf_report_fn *note;
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
    /* number of replaced shards that the option `purge` has removed, or would remove without
     * dry_run */
    uint64_t purged;
};
SHEAF_API void sheaf_edit_options_init(struct sheaf_edit_options *options, size_t size);
/* Edits the data set `dataset`, which is a directory or URL. If delete_keys, labels and replace are
 * all NULL, the call only removes shards that earlier edits have replaced (option `purge`). Returns
 * SHEAF_ERR_NOT_FOUND if a key in the options, or a file of options->replace, belongs to no sample.
 * Returns _UNSUPPORTED for views and foreign shards (written by other software), and _CORRUPT if a
 * shard that the edit must copy is damaged. */
SHEAF_CALL int sheaf_edit(const char *dataset, const struct sheaf_edit_options *options,
    struct sheaf_edit_result *result, size_t sizeof_result, struct sheaf_error *error);

/* ---- Repairing a data set (sheaf_repair) ----------------------------------------------------
 * sheaf_repair finds files of a data set that are damaged or lost, and re-creates them. It makes
 * shards from the files that were packed, or all files from a copy of the data set. The new bytes
 * must have the hash in the manifest. Otherwise the file is reported and not replaced. */
struct sheaf_repair_options {
    size_t sizeof_options;          /* set by _init */
    /* Default NULL: all files of the data set are checked, and damaged files are repaired.
     * Otherwise an array of file_count names of files of the data set. These files are re-created
     * without a check. */
    const char *const *files;
    size_t file_count;
    /* Default NULL. Directory to which the paths of a list file are relative, as in
     * sheaf_pack_options. */
    const char *root;
    /* Default 0. With 1, damaged files are found and passed to `note`, but not repaired. */
    int dry_run;
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    uint64_t memory_bytes;          /* 512 MiB; hard limit, without the plan */
    sheaf_progress_fn *progress;    /* NULL */
    /* Default NULL. Called for each damaged file that the call cannot repair. */
    sheaf_report_fn *report;
    sheaf_report_fn *note;          /* NULL; called with code SHEAF_OK for each repaired file */
    void *context;
    const volatile int *interrupt;  /* NULL */
    const char *const *s3;          /* NULL; as in sheaf_pack_options */
};
struct sheaf_repair_result {
    uint64_t files;                 /* files that were checked, with the manifest; or named */
    uint64_t damaged, repaired;     /* files */
    uint64_t memory_peak_bytes;
    /* 1 if `from` named a copy of the data set; 0 if it named the sources from which the data set
     * was packed */
    int is_copy;
};
SHEAF_API void sheaf_repair_options_init(struct sheaf_repair_options *options, size_t size);
/* Repairs the data set `dataset`, a directory or URL whose manifest is intact. `from` has the
 * `count` sources from which the data set was packed (as in sheaf_pack_sources), or one copy of the
 * data set with the same fingerprint.
 *
 * The sources must have the files of all samples in the damaged shards, as these files were when
 * they were packed, appended or edited. The sources may also have other files.
 *
 * If a file of the data set cannot be repaired, the call still repairs all other files. At the end
 * it returns the error of the first file that could not be repaired: SHEAF_ERR_CHANGED if the
 * sources of this file have changed, or _UNSUPPORTED if only a copy of the data set can repair
 * it. */
SHEAF_CALL int sheaf_repair(const char *dataset, const char *const *from, size_t count,
    const struct sheaf_repair_options *options, struct sheaf_repair_result *result,
    size_t sizeof_result, struct sheaf_error *error);

/* ---- Packing on many machines (sheaf_plan) --------------------------------------------------
 * Several machines can pack one data set in three steps:
 * 1) sheaf_plan_make lists the sources and stores a plan. It is called once.
 * 2) sheaf_pack_part packs one of the parts 0 to parts - 1. It may be called on any machine, in
 *    any order, and more than once for a part.
 * 3) sheaf_commit publishes the data set after all parts are done.
 *
 * The result has the same bytes as the result of sheaf_pack. A plan is one file or S3 object;
 * packer/PLAN.md specifies it. If a part is packed twice, at the same time or after it was killed,
 * the result is the same, and finished shards are not packed again. */

/* Makes a plan for packing `count` sources into `dest`, and stores the plan at `plan`, a path or
 * s3:// URL. The sources are as in sheaf_pack_sources, or one data set to be converted
 * (sheaf_convert_part). The plan stores local paths in absolute form, and every machine that packs
 * a part must find the same files under these paths. *result gets the planned numbers of files,
 * samples and shards.
 *
 * The call also prepares `dest` as the options `resume` and `overwrite` say. With dry_run, the call
 * does not change `dest`. The files of the source are sorted, and the samples of the plan are
 * collected, in temporary files. These are in TMPDIR if this variable is set, otherwise beside the
 * plan if possible, otherwise in /var/tmp.
 *
 * Returns SHEAF_ERR_LIMIT if memory_bytes is too small to pack one of the samples, or to send a
 * shard of the planned size to S3. Returns SHEAF_ERR_EXISTS if `dest` has a data set or an
 * unfinished run that the options do not allow to replace. Also returns SHEAF_ERR_EXISTS if there
 * is already a file at `plan`, unless this file is a plan for `dest`. */
SHEAF_CALL int sheaf_plan_make(const char *const *sources, size_t count, const char *dest,
    const char *plan, const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Packs part number `part` (from 0) of a plan that is divided into `parts` parts. A part is a range
 * of the plan's shards with about 1 / `parts` of the bytes. The call uses only the options jobs,
 * memory_bytes, progress, report and interrupt. Returns SHEAF_ERR_CHANGED if `dest` belongs to
 * another plan, or if a file has changed since the plan was made and the plan has on_change FAIL.
 * Returns SHEAF_ERR_LIMIT if a sample needs more than memory_bytes. */
SHEAF_CALL int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
    struct sheaf_error *error);
/* Publishes the data set of a plan after all parts were packed. First checks that all shards exist
 * as they were packed. Then writes the index, the report, and finally the manifest. Uses the same
 * options as sheaf_pack_part. A shard is not read if it still has the ETag, or the inode and time,
 * that it had after packing. Other shards, for example copies, are read and compared by their hash.
 *
 * Returns SHEAF_ERR_NOT_FOUND if shards are missing, and _CORRUPT if a shard was altered. The
 * message then names the shards and their parts, and nothing is published. Returns SHEAF_ERR_EXISTS
 * if `dest` has the data set of another plan. Returns SHEAF_OK if this plan was committed
 * before. */
SHEAF_CALL int sheaf_commit(const char *plan, const struct sheaf_pack_options *options,
    struct sheaf_pack_result *result, struct sheaf_error *error);
/* Finds the number of this process's part, and the number of parts, in environment variables. Uses
 * the first of these groups that is set:
 *
 * - SLURM_ARRAY_TASK_ID with SLURM_ARRAY_TASK_MIN, _MAX, _COUNT and _STEP;
 * - AWS_BATCH_JOB_ARRAY_INDEX and _SIZE;
 * - JOB_COMPLETION_INDEX with JOB_COMPLETIONS;
 * - OMPI_COMM_WORLD_RANK and _SIZE;
 * - SLURM_PROCID and SLURM_NTASKS (in a step of srun);
 * - SM_CURRENT_HOST and SM_HOSTS, or else the file resourceconfig.json in the directory `config`.
 *   If `config` is NULL, /opt/ml/config and /opt/ml/input/config are tried.
 *
 * The other arguments and the results are as in sheaf_world_from_environment. */
SHEAF_CALL int sheaf_part_from_environment(const char *config, uint32_t *part, uint32_t *parts,
    const char **source, struct sheaf_error *error);
/* A stored plan and the progress of its packing. */
struct sheaf_plan_info {
    const char *dest;
    const char *source;             /* kind of the source: "tree", "list", ... */
    const char *root;               /* the base of the files' paths */
    /* for a plan of a conversion: fingerprint of the data set that is converted; "" for a plan that
     * packs files */
    const char *fingerprint;
    /* 32 hexadecimal digits: a hash of all options, names and sizes that determine the bytes of the
     * data set */
    const char *hash;
    enum sheaf_container container;
    enum sheaf_codec codec;
    uint64_t plan_bytes, files, samples, payload_bytes, shards; /* size of the plan, and the
                                                                   planned numbers */
    uint64_t done_shards;           /* shards that exist as they were packed */
    uint64_t done_samples, done_payload_bytes;
    int committed;                  /* whether the data set is published */
    /* number of parts into which the last call of sheaf_pack_part divided the plan; 0 if it is
     * unknown, for example because no part was packed yet */
    uint32_t parts;
    size_t class_count; int label_base;     /* sheaf_plan_class returns the names */
    /* cls_looked is the number of fields `cls` (labels from files named .cls) that planning has
     * examined. cls_words is the number of these fields that do not consist of numbers. */
    uint64_t cls_looked, cls_words;
    /* for a conversion: `duplicates` is the number of samples with the key of an earlier sample.
     * `dropped` is the number of these samples that are left out. The rest of these samples get new
     * keys. */
    uint64_t duplicates, dropped;
};
/* Reads a plan, and finds out which of its shards are already packed. May be called while parts are
 * being packed. If the ETag of a shard, or its inode and time, have changed since it was packed,
 * the call reads the shard and compares its hash. */
SHEAF_CALL int sheaf_plan_open(const char *plan, struct sheaf_plan **opened,
    struct sheaf_error *error);
/* Returns the name of class number `index`, or NULL if there is no such class. The first class has
 * index 0, even if label_base is 1. */
SHEAF_API const char *sheaf_plan_class(const struct sheaf_plan *plan, size_t index);
/* Returns 1 if the file or object at `url` begins with the bytes of a plan, otherwise 0. */
SHEAF_API int sheaf_is_plan(const char *url);
SHEAF_API void sheaf_plan_get_info(const struct sheaf_plan *plan, struct sheaf_plan_info *info,
    size_t sizeof_info);
/* Returns information about shard number `index`, which must be less than info.shards. The name of
 * the shard is valid until the next call. *done becomes 1 if the shard is packed, otherwise 0. */
SHEAF_CALL int sheaf_plan_shard(const struct sheaf_plan *plan, uint64_t index,
    struct sheaf_plan_shard *shard, int *done, struct sheaf_error *error);
/* Returns the range of shards that belong to part number `part` (from 0) if the plan is divided
 * into `parts` parts. *first becomes the number of the first shard, and *end the number after the
 * last shard. */
SHEAF_CALL int sheaf_plan_part(const struct sheaf_plan *plan, uint32_t part, uint32_t parts,
    uint64_t *first, uint64_t *end, struct sheaf_error *error);
SHEAF_API void sheaf_plan_free(struct sheaf_plan *plan);
/* The samples of a plan for packing files. A program can read these samples, change them, and then
 * pack them itself. */
struct sheaf_planned;
struct sheaf_planned_info {
    /* `identity` is a hash of the plan and its files. `hash` is a hash of the options, names and
     * sizes that determine the bytes of the data set. */
    const char *identity, *hash;
    uint64_t samples, shards; size_t class_count, split_count; int label_base;
};
SHEAF_CALL int sheaf_planned_open(const char *plan, struct sheaf_planned **planned,
    struct sheaf_planned_info *info, size_t sizeof_info, struct sheaf_error *error);
SHEAF_API const char *sheaf_planned_class(const struct sheaf_planned *planned, size_t index);
/* Reads about 4 MiB of samples of one shard, from the sample with the number *at on. Sets *at to
 * the number of the next sample to read. If `samples` is NULL, the call reads nothing and only sets
 * *at, so that the samples are skipped. The samples are valid until the next call. The content of
 * fields is not checked. If a file of a sample is bad, the sample is passed to `report` and left
 * out. If `report` is NULL, a bad file is an error. */
SHEAF_CALL int sheaf_planned_read(struct sheaf_planned *planned, uint64_t *at,
    const struct sheaf_sample **samples, size_t *count, sheaf_report_fn *report, void *context,
    struct sheaf_error *error);
SHEAF_API void sheaf_planned_free(struct sheaf_planned *planned);

/* ---- Packing samples made by a program (sheaf_packer) ---------------------------------------
 * A program packs its own samples by these calls:
 * 1) sheaf_pack_options_init;
 * 2) sheaf_packer_open;
 * 3) sheaf_packer_append for each sample;
 * 4) sheaf_packer_finish, or sheaf_packer_abort;
 * 5) sheaf_packer_free.
 *
 * Samples are packed in the order of the calls. The options about sources, labels, splits, order
 * and dry_run are ignored. To resume an interrupted run, set `resume` and the same identity, and
 * append all samples again. Samples of finished shards are skipped. */
SHEAF_CALL int sheaf_packer_open(const char *dest, const struct sheaf_pack_options *options,
    struct sheaf_packer **packer, struct sheaf_error *error);
/* Sets the class names of the labels label_base, label_base + 1, and so on. Must be called before
 * the first sample is appended.
 *
 * If a program does not call this function, the manifest lists the class names that the samples
 * have. The list begins with label 0, or with label 1 if no sample has label 0. A label for which
 * no sample has a class name gets its number as its name. TFRecord shards also store the class name
 * of each sample. The other containers do not, so the list in the manifest must be enough: each
 * class name must belong to one label from 0 to 2^20 - 1, and each label must have at most one
 * class name. Otherwise sheaf_packer_append returns SHEAF_ERR_ARGUMENT. */
SHEAF_CALL int sheaf_packer_set_classes(struct sheaf_packer *packer, const char *const *names,
    size_t count);
/* Reads the class names in a data set or a file, as packing does with its option `classes`, so that
 * a program can give them to sheaf_packer_set_classes. Calls `found` for each class, in the order
 * of the numbers, with 0 samples; the names are valid only during the call. The first class has the
 * number label_base in a file, and its own number in a data set. label_base must not be negative.
 * On failure, `found` is not called. May be called on any thread. */
SHEAF_CALL int sheaf_class_list(const char *path, int label_base, sheaf_class_count_fn *found,
    void *context, struct sheaf_error *error);
/* Appends a copy of the sample to the data set. Blocks until the memory budget has room for the
 * sample. */
SHEAF_CALL int sheaf_packer_append(struct sheaf_packer *packer, const struct sheaf_sample *sample);
/* Ends the current shard, so that the next sample begins a new shard. Has no effect if the current
 * shard is empty. A program that never calls this function gets shards with about shard_bytes of
 * payload. */
SHEAF_CALL int sheaf_packer_cut(struct sheaf_packer *packer);
/* sheaf_packer_cut_at and sheaf_packer_skip let a resumed run skip the part of its input that is
 * already packed.
 *
 * sheaf_packer_cut_at ends the current shard like sheaf_packer_cut, and stores `place` for this
 * shard. `place` is the program's own position in its input, and must not be 0.
 *
 * sheaf_packer_skip is for a run with the option `resume`. It sets *place to the stored position of
 * the last shard that the earlier run has finished, or to 0 if there is no such shard. The program
 * must then append only the samples after this position. sheaf_packer_skip must be called before
 * the first sample and after sheaf_packer_set_classes. */
SHEAF_CALL int sheaf_packer_cut_at(struct sheaf_packer *packer, uint64_t place);
SHEAF_CALL int sheaf_packer_skip(struct sheaf_packer *packer, uint64_t *place);
/* Returns 1 if the option `resume` is set and an earlier run with the same identity has already
 * finished the data set, otherwise 0. If the result is 1, the program need not append samples.
 * Appended samples are then counted, but not packed. sheaf_packer_finish then returns the result of
 * the earlier run. */
SHEAF_API int sheaf_packer_is_there(const struct sheaf_packer *packer);
/* Waits until all samples are written, and then publishes the data set by writing its manifest.
 * `result` may be NULL. */
SHEAF_CALL int sheaf_packer_finish(struct sheaf_packer *packer, struct sheaf_pack_result *result);
/* Ends packing, publishes nothing, and removes the files that this run has written. If the option
 * `identity` is set, finished shards stay, so that a later run can resume. sheaf_packer_error still
 * returns the first error of the packer. */
SHEAF_API void sheaf_packer_abort(struct sheaf_packer *packer);
SHEAF_API const struct sheaf_error *sheaf_packer_error(const struct sheaf_packer *packer);
SHEAF_API void sheaf_packer_free(struct sheaf_packer *packer);  /* aborts unless finished */

/* ---- Samples as the bytes of one shard, for the caller to write (sheaf_encoder) ------------- */
SHEAF_CALL int sheaf_encoder_open(enum sheaf_container container, struct sheaf_encoder **encoder,
    struct sheaf_error *error);
/* sheaf_encoder_add returns the bytes of a sample in the container. sheaf_encoder_end returns the
 * bytes that end the shard; some containers have no such bytes. *data is valid until the next call
 * on the encoder. For a tar, sheaf_encoder_add refuses a sample with the key of the previous
 * sample, and returns SHEAF_ERR_EXISTS, because programs that read the tar would merge the two
 * samples. */
SHEAF_CALL int sheaf_encoder_add(struct sheaf_encoder *encoder, const struct sheaf_sample *sample,
    const void **data, size_t *size, struct sheaf_error *error);
SHEAF_CALL int sheaf_encoder_end(struct sheaf_encoder *encoder, const void **data, size_t *size,
    struct sheaf_error *error);
SHEAF_API void sheaf_encoder_free(struct sheaf_encoder *encoder);

/* ---- Copying: to another container, or to files (sheaf_convert) -----------------------------
 * These calls use the options on_corrupt, max_corrupt and report, and the options of the cache, of
 * `reading`. If `reading` is NULL, they have their defaults. `result` and `stats` (the statistics
 * of the reader) may be NULL. A sample that the container cannot store is an error, _UNSUPPORTED.
 *
 * sheaf_convert writes the samples in the order of the data set to a new data set in `dest`, with
 * the container and codec of the options. Keys, fields, labels and class names do not change. From
 * TFRecord to TFRecord, the types of features do not change either. Each shard keeps its samples,
 * unless options->reshard or options->reshuffle is set. A single foreign file, standard input and a
 * view are divided into shards by shard_bytes. Half of the memory is for reading, and `jobs`
 * threads read. Options that sheaf_packer_open ignores are ignored here as well, and so are
 * label_base and identity, but not `split`.
 *
 * With the option `split`, the samples are divided among splits, with new shards, as sheaf_pack
 * divides files with the same keys and labels. The label that field_map makes counts as well. The
 * data set must have a manifest, and must not be a view. It is read once to divide the samples, and
 * then once for each split. The division needs 49 bytes of memory for each sample, in addition to
 * memory_bytes. Such a run cannot be resumed, and duplicate_keys must be _FAIL: if keys are
 * repeated, first convert with duplicate_keys, and then divide the result. */
SHEAF_CALL int sheaf_convert(const struct sheaf_dataset *dataset, const char *dest,
    const struct sheaf_pack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_pack_result *result, struct sheaf_reader_stats *stats, struct sheaf_error *error);
/* Converts part number `part` (from 0) of a plan that is divided into `parts` parts.
 * sheaf_plan_make must have made the plan with a data set as its source. After all parts,
 * sheaf_commit publishes the result. */
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
/* Writes each field of each sample to a file `directory`/KEY.SUFFIX. The directory is created, and
 * nothing is written outside of it. Returns SHEAF_ERR_EXISTS if one of the files already exists.
 * The call uses those fields of `reading` (the options of a reader) that sheaf_convert uses, and
 * also memory_bytes and threads. */
SHEAF_CALL int sheaf_unpack(const struct sheaf_dataset *dataset, const char *directory,
    const struct sheaf_unpack_options *options, const struct sheaf_reader_options *reading,
    struct sheaf_unpack_result *result, struct sheaf_reader_stats *stats,
    struct sheaf_error *error);
/* Writes the field `field` of each of the given samples to a file, like sheaf_unpack. If `field` is
 * NULL, all fields are written. */
SHEAF_CALL int sheaf_unpack_samples(const struct sheaf_sample *samples, size_t count,
    const char *field, const char *directory, struct sheaf_error *error);

/* ---- Checking and indexing (sheaf_verify) --------------------------------------------------- */
typedef void sheaf_field_fn(void *context, const struct sheaf_field_info *field, uint64_t samples);
struct sheaf_verify_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t memory_bytes;          /* 1 GiB */
    /* Default 0: one thread per processor, but at most 8. If the shards are remote and small, there
     * may be more threads than that. */
    unsigned threads;
    sheaf_progress_fn *progress; sheaf_report_fn *report;       /* NULL; `report` is called for
                                                                   each problem */
    void *context; const volatile int *interrupt;
    /* Default 0 and 0: all shards are read. Otherwise the shards are divided into `parts` parts,
     * and only part number `part` (from 0) is read, so that several machines can share the work. */
    uint32_t part, parts;
    /* Default NULL. Called at the end for each field, with its statistics over the samples that
     * were read. */
    sheaf_field_fn *field;
    int join;                       /* 0; 1 makes sheaf_index join as sheaf_dataset_open_joined */
};
SHEAF_API void sheaf_verify_options_init(struct sheaf_verify_options *options, size_t size);
struct sheaf_verify_result {
    /* numbers read; of the samples, only the sound ones. If the index has checksums, a sample whose
     * line of the .lst file is damaged is not sound, because a reader does not return it. */
    uint64_t shards, samples, bytes;
    /* `problems` is the number of problems that were found; 0 means that the data set has no fault.
     * passed_over is the number of members of foreign tars (written by other software) that belong
     * to no sample; directories are not counted. */
    uint64_t problems, passed_over;
    /* number of classes without samples; 0 if it is unknown. It is unknown if only a part of the
     * shards was read or if problems were found, because samples that were not read may belong to
     * any class. */
    uint64_t unused_classes;
    /* `labelled` is the number of samples with a label. unread_labels is the number of samples
     * whose field cls contains something other than numbers. */
    uint64_t labelled, unread_labels;
    /* key and location of the first sample that has no label; "" if every sample has a label */
    char unlabelled[512];
    /* number of samples with the key of an earlier sample; always 0 for shards written by Sheaf */
    uint64_t repeated_keys;
    /* key and location of the first sample with the key of an earlier sample; "" if no key is
     * repeated */
    char repeated_key[512];
};
/* Reads the whole data set and checks it: the size and hash of each shard, the framing and
 * checksums of each record, and all counts. Also compares the shards with the index, with
 * dataset.keys, and with .idx files for other readers. Problems are reported and counted, and the
 * call still returns SHEAF_OK. The call returns an error code only if the check itself fails, for
 * example because a server does not answer. */
SHEAF_CALL int sheaf_verify(const struct sheaf_dataset *dataset,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);
/* Turns the foreign shards (written by other software) in a directory into a data set. Reads the
 * shards once, and writes dataset.index, dataset.keys and dataset.json beside them. `index` names
 * the other readers for which index files are written, as in struct sheaf_pack_options. Returns
 * SHEAF_ERR_EXISTS if the directory has a manifest and `overwrite` is 0. */
SHEAF_CALL int sheaf_index(const char *directory, const char *index, int overwrite,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);
/* Reads a data set once and writes its file dataset.keys, which makes samples findable by key. The
 * call is meant for data sets of older releases, which did not write this file. An existing
 * dataset.keys is replaced, and nothing else changes. Returns SHEAF_ERR_NOT_FOUND if there is no
 * manifest, and SHEAF_ERR_EXISTS if Sheaf has not written the existing dataset.keys. */
SHEAF_CALL int sheaf_index_keys(const char *directory, const struct sheaf_verify_options *options,
    struct sheaf_verify_result *result, struct sheaf_error *error);

/* ---- Columns (sheaf_column) -----------------------------------------------------------------
 * A column adds fields to the samples of a data set, its base, without changing the base's shards.
 * A column is a data set of its own in the directory columns/NAME of the base, and has the base's
 * fingerprint. Record i of the column belongs to sample i of the base. It has the number and the
 * CRC-32C of this sample, so that a wrong pairing is found. A column never changes after it is
 * published. doc/columns.md has the format. */
struct sheaf_column_options {
    size_t sizeof_options;          /* set by _init */
    /* Default 0. With 1, the call extends an existing column: it adds values only for samples
     * without a record in the column. These samples were appended to the data set after the column
     * had been written. */
    int only_missing;
    int resume;                     /* 0; 1 keeps the shards of an interrupted run */
    /* Default FAIL. Says what to do with a value if no sample of the data set has its key. FAIL:
     * return SHEAF_ERR_NOT_FOUND. SKIP: leave out and count the value, and report each line with
     * such values once. */
    enum sheaf_on_error on_unknown;
    /* Default FAIL. Says what to do with a second value for one field of one sample. FAIL: return
     * SHEAF_ERR_EXISTS. SKIP: leave out, report and count the second value. */
    enum sheaf_on_error on_repeated;
    uint64_t memory_bytes;          /* 1 GiB; hard limit, besides one value */
    unsigned jobs;                  /* 0 (the processors, at most 8); number of threads */
    /* Default NULL. Version of the program that makes the values. If a run resumes an interrupted
     * run, `version` must be the same in both runs. */
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
    /* Numbers of values that were left out. `unknown`: values whose key belongs to no sample of the
     * data set. `repeated`: further values for a field of a sample, after its first value in this
     * call. `present`: with the option only_missing, values for samples that already had a record
     * in the column. */
    uint64_t unknown, repeated, present;
    uint64_t stored_bytes, shards, shards_kept, memory_peak_bytes;
    /* if the call writes one part of a plan: number of the source's values that belong to samples
     * of other parts; otherwise 0 */
    uint64_t elsewhere;
};
/* Adds a column (a field for the samples of a packed data set) with the values of a source. The
 * source is a JSON Lines file, a CSV file, or a directory or prefix of files KEY.EXT.
 *
 * In a JSON Lines file, the member `key` has the key of a sample; in a CSV file, the column `key`
 * has it. Every other member or column becomes a field of this name. The name `value` is an
 * exception: such a value becomes the field json if it is an object or array, otherwise the field
 * txt. Lines may be in any order.
 *
 * The samples are found in the file dataset.keys, which stores only a part of each key's hash. If
 * several keys have the same part, the keys themselves are read from the shards. Returns
 * SHEAF_ERR_EXISTS if the column already exists. */
SHEAF_CALL int sheaf_column_add(const char *dataset, const char *name, const char *source,
    const struct sheaf_column_options *options, struct sheaf_column_result *result,
    struct sheaf_error *error);
struct sheaf_column_writer;
/* Writes a column sample by sample, in the order of the data set. After sheaf_column_open, a
 * program calls sheaf_column_append for each sample, beginning with the number that
 * sheaf_column_next returns. After the last sample, the program calls sheaf_column_finish and
 * sheaf_column_free. A sample without fields has no value in the column. If sheaf_column_free is
 * called before sheaf_column_finish, readers do not see the column, but finished shards stay for a
 * run with `resume`. */
SHEAF_CALL int sheaf_column_open(const char *dataset, const char *name,
    const struct sheaf_column_options *options, struct sheaf_column_writer **writer,
    struct sheaf_error *error);
/* Returns the number of the sample whose fields the program must append next. */
SHEAF_API uint64_t sheaf_column_next(const struct sheaf_column_writer *writer);
/* Returns the number after the last sample of the current range. A range consists of consecutive
 * samples that the program must append. With `resume`, there may be several ranges, because the
 * samples in shards that an earlier run has finished are left out. After the last sample of a
 * range, the next range becomes the current one. After the last range, sheaf_column_next and
 * sheaf_column_end return the same number. */
SHEAF_API uint64_t sheaf_column_end(const struct sheaf_column_writer *writer);
SHEAF_CALL int sheaf_column_append(struct sheaf_column_writer *writer,
    const struct sheaf_field *fields, size_t count, struct sheaf_error *error);
SHEAF_CALL int sheaf_column_finish(struct sheaf_column_writer *writer,
    struct sheaf_column_result *result, struct sheaf_error *error);
SHEAF_API void sheaf_column_free(struct sheaf_column_writer *writer);       /* NULL is fine */

/* Stores a plan for writing a column in parts, on any number of machines: 1) sheaf_column_plan; 2)
 * sheaf_column_add_part or _open_part for each part; 3) sheaf_commit.
 *
 * Readers do not see the column before sheaf_commit. `source` is as in sheaf_column_add. `source`
 * is NULL if programs make the values and write them through sheaf_column_open_part. The options
 * only_missing, resume, version and s3 are used. *result gets the planned numbers `samples` and
 * `shards`. If every sample already has a record in the column, both numbers are 0, and no plan is
 * stored. */
SHEAF_CALL int sheaf_column_plan(const char *dataset, const char *name, const char *source,
    const char *plan, const struct sheaf_column_options *options,
    struct sheaf_column_result *result, struct sheaf_error *error);
/* Writes part number `part` (from 0) of a column that is divided into `parts` parts. Keeps shards
 * that an earlier or concurrent run has finished. *result counts the values of this part. A value
 * whose key belongs to no sample also belongs to no part. Therefore the field `unknown` counts such
 * values of the whole source. Returns SHEAF_ERR_CHANGED if the values of the source have changed
 * since the plan was made. */
SHEAF_CALL int sheaf_column_add_part(const char *plan, uint32_t part, uint32_t parts,
    const struct sheaf_column_options *options, struct sheaf_column_result *result,
    struct sheaf_error *error);
/* Opens a writer for part number `part` (from 0) of a column that is divided into `parts` parts, as
 * sheaf_column_open does for a whole column. */
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
/* Calls `each` for each column (a field added after packing) of the data set and of all its
 * sources, in byte order of the columns' names. If a column was not completely written, `code` in
 * its struct sheaf_column_info is SHEAF_ERR_NOT_FOUND. */
SHEAF_CALL int sheaf_column_list(const struct sheaf_dataset *dataset, sheaf_column_fn *each,
    void *context, struct sheaf_error *error);
/* Removes a column, even if it was not completely written. Readers that have the column open get an
 * error when they next read from the column. */
SHEAF_CALL int sheaf_column_drop(const char *dataset, const char *name, struct sheaf_error *error);
/* Checks a column (a field added after packing), as sheaf_verify checks a data set. If the data set
 * has an index, also checks that each record of the column belongs to the right sample. Adds the
 * counts of this check to *result. */
SHEAF_CALL int sheaf_column_verify(const struct sheaf_dataset *dataset, const char *name,
    const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
    struct sheaf_error *error);

/* ---- SageMaker's File mode, outside SageMaker (sheaf_fetch) --------------------------------- */
struct sheaf_fetch_options {
    size_t sizeof_options;          /* set by _init */
    /* Default 0 and 1. `host` is the number of this host, from 0, and `hosts` the number of hosts.
     * With N hosts, each host fetches every N-th object, as SageMaker's ShardedByS3Key does. With
     * one host, the host fetches every object. */
    uint32_t host, hosts;
    uint64_t memory_bytes;          /* 256 MiB; hard limit, without the list of objects */
    /* Number of threads that write and check files. The default 0 means one per processor, at most
     * 8. */
    unsigned threads;
    sheaf_progress_fn *progress; void *context; const volatile int *interrupt;  /* NULL */
};
SHEAF_API void sheaf_fetch_options_init(struct sheaf_fetch_options *options, size_t size);
struct sheaf_fetch_result {
    uint64_t objects, bytes;            /* in total */
    uint64_t kept, kept_bytes;          /* present before the call; bytes include partial files */
    uint64_t fetched, fetched_bytes;
    /* number of fetched objects whose content was checked against a hash or an MD5 */
    uint64_t verified;
    uint64_t repeated;                  /* objects that a manifest names repeatedly */
    /* number of files in the source that an unfinished run of Sheaf has left there; if it is not 0,
     * the call refuses the source */
    uint64_t unfinished;
    uint64_t memory_peak_bytes;         /* <= memory_bytes */
};
/* Copies objects unchanged into files in `directory`, which is created. The source is a prefix, a
 * manifest file, an augmented manifest, or one object. The files of a prefix have the names of the
 * objects relative to the prefix. For an augmented manifest, the files have the keys of the objects
 * as names, and the lines for this host are written to a file as well. *result is set even if the
 * call fails.
 *
 * Before it fetches anything, the call returns SHEAF_ERR_UNSUPPORTED if the name of an object
 * cannot be a file name, _EXISTS if two objects would get the same file name, and _LIMIT if the
 * disk has too little space. A file gets its final name once it is complete and checked. A shard of
 * a data set is checked by the hash in the manifest. Any other object is checked by its ETag, if
 * the ETag is an MD5. The file then gets the modification time of its object.
 *
 * A later call keeps each file that has the time and size of its object, and replaces files that
 * differ. Files that belong to no object are not changed. If a call fails, finished files and large
 * partly written files stay. The next call continues a partly written file if the object still has
 * the same ETag. */
SHEAF_CALL int sheaf_fetch(const char *source, const char *directory,
    const struct sheaf_fetch_options *options, struct sheaf_fetch_result *result,
    struct sheaf_error *error);
struct sheaf_warm_result { uint64_t files, bytes; };
/* Reads every file under `path` (or the file `path`) once and completely, several files at a time.
 * A file system that loads files on demand (Lustre, NFS, FUSE) then has these files in its cache.
 * The options host, hosts and memory_bytes are ignored. */
SHEAF_CALL int sheaf_warm(const char *path, const struct sheaf_fetch_options *options,
    struct sheaf_warm_result *result, struct sheaf_error *error);

/* ---- SageMaker's Pipe mode, the feeding end (sheaf_feed) ------------------------------------
 * sheaf_feed writes the objects of a source to named pipes, one after another with nothing between
 * them, as SageMaker does. */
struct sheaf_feed_options {
    size_t sizeof_options;          /* set by _init */
    const char *channel;            /* "train"; 1 to 64 letters, digits, '.', '-', '_' */
    uint64_t first_epoch;           /* 0 */
    uint64_t epochs;                /* 0, which means unlimited */
    /* Default 0. With 1, the objects or lines of each epoch are shuffled in an order that depends
     * on `seed` and the epoch's number. */
    int shuffle; uint64_t seed;
    /* Default 0 and 1. `host` is the number of this host, from 0, and `hosts` the number of hosts.
     * With N hosts, each host feeds every N-th object of the order. With one host, the host feeds
     * every object. */
    uint32_t host, hosts;
    int record_wrapper;             /* 0; 1 wraps each object in a RecordIO record */
    /* Default 0. With 1, every object must be a gzip stream, and its decompressed content is
     * fed. */
    int gunzip;
    const char *attributes;         /* NULL; for an augmented manifest: "source-ref,label" */
    /* Default 256 MiB. Hard limit of the memory for the content of objects. The list of objects is
     * not counted. With record_wrapper, half of the limit is for reading ahead, and the other half
     * for building a record. A record may then have at most a quarter of the limit, because there
     * are two copies of it while its buffer grows. */
    uint64_t memory_bytes;
    sheaf_progress_fn *progress;    /* NULL; counts objects and bytes of an epoch */
    void *context; const volatile int *interrupt;
};
SHEAF_API void sheaf_feed_options_init(struct sheaf_feed_options *options, size_t size);
struct sheaf_feed_result {
    uint64_t epochs;            /* epochs that had a reader */
    /* number of epochs in which the reading program closed the pipe before it had read the whole
     * epoch */
    uint64_t closed_early;
    uint64_t objects, bytes;    /* objects written completely, and bytes written, over all epochs */
    /* number of files that were not written to the pipe, because they are in the directory of a
     * data set but are not its shards */
    uint64_t left_out;
    uint64_t memory_peak_bytes; /* of reading ahead */
};
/* Creates a named pipe `directory`/CHANNEL_EPOCH for one epoch after another, waits until a program
 * reads the pipe, and writes the source to it. The source is one of:
 *
 * - a directory or prefix, whose objects are written in byte order of names. If nothing is under a
 *   prefix, the objects whose names start with it are written. If a directory is a data set, only
 *   its shards are written;
 * - a manifest file;
 * - an augmented manifest. For each line, the attributes that options->attributes names are written
 *   in the order of these names. An attribute NAME-ref becomes the bytes of its object, a string
 *   becomes its text, and any other value is written as it is in the line;
 * - one object.
 *
 * If the reading program closes its pipe early, the next pipe has the next epoch. The call removes
 * each pipe at the end of its epoch, even after a failure. If a failure cuts a stream short, the
 * stream ends in the middle of an object, so that the reading program notices it. If nothing was
 * written to a pipe before the failure, a program that waits for a writer gets one zero byte, and
 * then the end of the stream. `result` is always written. Returns SHEAF_ERR_EXISTS if another
 * process feeds the channel, and _CHANGED if an object changed during the call. */
SHEAF_CALL int sheaf_feed(const char *source, const char *directory,
    const struct sheaf_feed_options *options, struct sheaf_feed_result *result,
    struct sheaf_error *error);

/* ---- Survey of a source: what it consists of (sheaf_survey) --------------------------------- */
struct sheaf_survey {
    uint64_t objects, bytes;
    uint64_t smallest_bytes, median_bytes, largest_bytes;   /* sizes of an object */
    /* Numbers of objects, and their bytes, by size. Element 0 is for objects of less than 1 kB,
     * element 1 for objects of 1 kB to less than 10 kB, and so on up to 1 GB. The last element is
     * for all larger objects. */
    struct { uint64_t objects, bytes; } decades[SHEAF_SURVEY_DECADES];
    int is_dataset;                 /* whether it has a dataset.json written by the packer */
    uint64_t samples;               /* samples of the data set, otherwise 0 */
    char place[16];                 /* "S3", "local disk", "FUSE", "Lustre", "NFS" */
};
/* Counts the objects that sheaf_fetch would copy from a source, and adds up their sizes, without
 * reading them. Uses only the options progress, context and interrupt. */
SHEAF_CALL int sheaf_survey(const char *source, const struct sheaf_fetch_options *options,
    struct sheaf_survey *survey, size_t sizeof_survey, struct sheaf_error *error);
struct sheaf_image { const char *format; uint32_t width, height; };     /* "JPEG", "PNG", ... */
/* sheaf_image_look finds the kind and size of an image in its header, or returns SHEAF_END if the
 * data is not an image of a known kind. sheaf_thumbnail makes a small JPEG from a JPEG. The longer
 * side of the thumbnail has at most `side` pixels, and `side` must be at most 1024. Before the
 * call, *room is the size of the buffer `thumbnail`; after the call, it is the size of the new
 * JPEG. */
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
/* Selects the versions of Pillow with which the crops agree pixel by pixel: up to 12.3, or from
 * 13.0 on. Resizing has a horizontal and a vertical pass, and the versions differ in the order of
 * the passes. */
enum sheaf_pillow { SHEAF_PILLOW12 = 0, SHEAF_PILLOW13 = 1 };
/* Several random crops of one decoded picture. */
struct sheaf_pixels_view { uint32_t count, width, height; double scale[2]; };
struct sheaf_pixels_options {
    size_t sizeof_options;          /* set by _init */
    uint32_t width, height;         /* 224 x 224: of the result */
    enum sheaf_crop crop;
    uint32_t resize;                /* 0: the longer side of the result; for CENTER */
    /* Ranges from which a random crop is drawn. `scale` is the range for the crop's share of the
     * picture's area (default 0.08 to 1). `ratio` is the range for the crop's width divided by its
     * height (default 3/4 to 4/3). */
    double scale[2], ratio[2];
    double flip;                    /* 0.5; probability that a random crop is mirrored */
    enum sheaf_resampling filter; enum sheaf_layout layout; enum sheaf_pillow order;   /* 0 */
    const struct sheaf_pixels_view *views; size_t view_count;   /* NULL: one, as above */
    /* Default 0: only the part of a JPEG that the crops need is decoded. With 1, the whole JPEG is
     * decoded, which is slower and gives the same pixels. */
    int decodes_whole;
    const char *const *masks; size_t mask_count;    /* NULL, 0; fields with masks of the image */
};
SHEAF_API void sheaf_pixels_options_init(struct sheaf_pixels_options *options, size_t size);
/* The rectangle of a crop, in pixels of the upright picture. In the mode CENTER, the true rectangle
 * may have fractions of pixels, and is rounded here. */
struct sheaf_crop_box { int32_t top, left, height, width, flipped; };
/* Makes crops of an image (JPEG, PNG, WebP, GIF or BMP), and writes them to `out`: width x height x
 * 3 bytes for each crop. The crops of the first element of options->views come first, then the
 * crops of the second element, and so on. If `crops` is not NULL, the rectangle of each crop is
 * written to this array. The picture is turned as its EXIF orientation says. Grey and CMYK images
 * become RGB, transparency is dropped, and 16-bit values keep their upper 8 bits.
 *
 * Returns SHEAF_ERR_CORRUPT or _UNSUPPORTED if the image is faulty. Refuses an image of more than
 * 178,956,970 pixels, or with a side of more than 65,535 pixels, before it allocates memory. */
SHEAF_CALL int sheaf_pixels(const void *data, size_t size,
    const struct sheaf_pixels_options *options, uint64_t seed, void *out,
    struct sheaf_crop_box *crops, struct sheaf_error *error);
/* Crops the mask of a picture at the same positions at which sheaf_pixels crops the picture. Writes
 * width x height bytes to `out` for each crop. A mask is a PNG of the picture's size, with a
 * palette or with grey values of at most 8 bits. Each pixel gets the nearest value of the mask, as
 * with Pillow's NEAREST filter. */
SHEAF_CALL int sheaf_pixels_mask(const void *data, size_t size,
    const struct sheaf_pixels_options *options, uint64_t seed, void *out,
    struct sheaf_error *error);

/* Starts threads that make the crops of batches of samples. The program may begin any number of
 * batches, and wait for them in any order. `threads` 0 means one thread per processor. memory_bytes
 * is a hard limit of the memory for decoding. The memory for the results is not counted. */
SHEAF_CALL int sheaf_pixels_pool_open(const struct sheaf_pixels_options *options, unsigned threads,
    uint64_t memory_bytes, struct sheaf_pixels_pool **pool, struct sheaf_error *error);
SHEAF_API void sheaf_pixels_pool_free(struct sheaf_pixels_pool *pool);  /* after its batches */
/* sheaf_pixels_bytes returns the size in bytes of all crops of one sample for view number `view`,
 * or 0 if there is no such view. sheaf_pixels_crops returns the number of crops of one sample.
 *
 * The image has one view for each element of options.views, or a single view if options.views is
 * NULL. Each mask has the same number of views. The views of the image come first, and then the
 * views of each mask in the order of options.masks. */
SHEAF_API size_t sheaf_pixels_bytes(const struct sheaf_pixels_pool *pool, size_t view);
SHEAF_API size_t sheaf_pixels_crops(const struct sheaf_pixels_pool *pool);
/* Begins to make the crops of an image field of each sample, and returns at once. `field` is the
 * name of this field. If `field` is NULL, the image is the first field that is not a mask and whose
 * name ends in jpg, jpeg, png, webp, gif or bmp. The seed of a sample determines its crops.
 *
 * The crops of view v of sample i are written to out[v] + i * sheaf_pixels_bytes(pool, v). If
 * `crops` is not NULL, the rectangles of the crops of sample i are written to crops + i *
 * sheaf_pixels_crops(pool). The output memory may belong to a framework or be pinned. Output memory
 * and samples (see sheaf_reader_keep) must remain valid until the batch is freed. */
SHEAF_CALL int sheaf_pixels_begin(struct sheaf_pixels_pool *pool,
    const struct sheaf_sample *samples, size_t count, const char *field, void *const *out,
    struct sheaf_crop_box *crops, struct sheaf_pixels_batch **batch, struct sheaf_error *error);
/* Waits until the batch is done. Returns the number of samples whose crops could not be made. */
SHEAF_API size_t sheaf_pixels_wait(struct sheaf_pixels_batch *batch);
/* Waits for the batch for at most timeout_ns nanoseconds. Returns 1 if the batch is done, otherwise
 * 0. */
SHEAF_API int sheaf_pixels_wait_for(struct sheaf_pixels_batch *batch, uint64_t timeout_ns);
/* Returns the reason why sample number `index` of the batch has no crops, or NULL if it has crops.
 * Must be called after sheaf_pixels_wait. The code is _CORRUPT or _UNSUPPORTED for a bad image or
 * mask, _ARGUMENT if the sample lacks the field of the image or of a mask, and _LIMIT if the image
 * needs more than memory_bytes. */
SHEAF_API const struct sheaf_error *sheaf_pixels_error(const struct sheaf_pixels_batch *batch,
    size_t index);
/* Waits until the threads no longer use the batch, and frees it. If the batch is not done, the
 * threads finish the images that they have begun, and skip the other images. */
SHEAF_API void sheaf_pixels_batch_free(struct sheaf_pixels_batch *batch);
/* Returns the processor time, in nanoseconds, that all threads of the pool have spent on images. */
SHEAF_API uint64_t sheaf_pixels_busy_ns(const struct sheaf_pixels_pool *pool);
/* Returns the version of the specification of crops, and the versions of the libraries that decode
 * images, for example "pixels1, libjpeg-turbo 2.1.5, libwebp 1.2.4, resample 2". A program that
 * later needs the same pixels again can store this text with its state, and compare it before it
 * continues. The text is valid until the calling thread ends or calls this function again. */
SHEAF_API const char *sheaf_pixels_version(void);
/* Encodes one crop of an image (3 channels, in the order `layout`) or of a mask (1 channel) as a
 * PNG. Before the call, *room is the size of the buffer `png`; after the call, it is the size of
 * the PNG. A buffer of SHEAF_PNG_ROOM bytes is always large enough. */
#define SHEAF_PNG_ROOM(width, height, channels)                                                 \
    (((size_t)(width) * (channels) + 1) * (height) * 129 / 128 + 4096)
SHEAF_CALL int sheaf_pixels_png(const void *pixels, uint32_t width, uint32_t height,
    unsigned channels, enum sheaf_layout layout, void *png, size_t *room,
    struct sheaf_error *error);
#ifdef __cplusplus
}
#endif
#endif
