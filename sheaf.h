/* SPDX-License-Identifier: MIT
 *
 * sheaf.h - bind many small files into a few large shards, and stream them back shuffled.
 *
 * This header is the manual of libsheaf.  The words: a SHARD is one container file (TFRecord,
 * RecordIO or WebDataset tar).  A SAMPLE is what training consumes: a key, named FIELDS and
 * labels, the same whatever the container.  A DATA SET is shards plus their manifest.  An EPOCH
 * is one pass over it.  A LANE is one of the equal sequences that an epoch is cut into.  A RANK
 * of a WORLD SIZE asks for its part of an epoch; inside a rank, a WORKER of so many WORKERS.
 *
 * Rules that hold everywhere:
 *  - Results.  An int result is SHEAF_OK (0), SHEAF_END (1, "no more"), or a negative SHEAF_ERR_
 *    code.  Calls without a handle to keep the message on take a `struct sheaf_error *`, which
 *    may be NULL; it is written only on failure.
 *  - Options.  An options struct is initialised by its _init function, which stores its size and
 *    the defaults; so a program built against an older header goes on working.
 *  - Threads.  An object may be used by one thread at a time; different threads may use different
 *    objects.  A data set never changes after it was opened and may be shared by any number of
 *    readers and threads.  The one exception is sheaf_reader_interrupt.
 *  - Ownership.  Strings and arrays passed in are borrowed for the length of the call unless
 *    stated otherwise.  Freeing NULL is a no-op.
 *  - Conservation.  What goes in comes out, or is counted and named as skipped, passed over or
 *    repeated.  An epoch compares, at its end, the samples handed out and the corrupt records with
 *    what was promised (of a stream: found): a difference is SHEAF_ERR_MISMATCH, never SHEAF_END.
 *  - The library never prints, never exits, and installs no signal handler. */
#ifndef SHEAF_H
#define SHEAF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHEAF_VERSION_MAJOR 0
#define SHEAF_VERSION_MINOR 1
#define SHEAF_VERSION_PATCH 0

#if defined(__GNUC__)
#define SHEAF_API   __attribute__((visibility("default")))
#define SHEAF_CHECK __attribute__((warn_unused_result))
#else
#define SHEAF_API
#define SHEAF_CHECK
#endif

/* sheaf_version: "MAJOR.MINOR.PATCH" of the library that is running. */
SHEAF_API const char *sheaf_version(void);

/* ---- Errors ------------------------------------------------------------------------------- */

#define SHEAF_OK    0       /* done; or: here is a sample */
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
    X(LIMIT,       -12, "a limit would be passed")                                              \
    X(INTERRUPTED, -13, "interrupted")                                                          \
    X(CHANGED,     -14, "the data changed while it was in use")                                 \
    X(MISMATCH,    -15, "counts that must agree differ")

enum sheaf_error_code {
#define SHEAF_ERROR_ENUM(name, value, sentence) SHEAF_ERR_##name = value,
    SHEAF_ERRORS(SHEAF_ERROR_ENUM)
#undef SHEAF_ERROR_ENUM
    SHEAF_ERROR_CODES_END = -16
};

struct sheaf_error {
    int code;               /* a SHEAF_ERR_ code */
    char message[1020];     /* one line: where (shard, offset, record), found, expected */
};

/* sheaf_strerror: the sentence of a code; never NULL. */
SHEAF_API const char *sheaf_strerror(int code);

/* Text as it may be shown to a person on one line: what is not UTF-8, control characters (C1 as
 * well) and those that change the direction of writing become \xNN, a byte each; all else stays
 * as it is.  Messages of this library are shown so already; names of samples, shards and classes
 * are as they were found.  Writes at most `size` bytes, a NUL at their end included, and returns
 * the bytes that the whole has without it. */
SHEAF_API size_t sheaf_show(const char *text, char *out, size_t size);

/* ---- Samples ------------------------------------------------------------------------------ */

/* A field is one file's bytes.  Its name is what follows the first dot of the file's base name,
 * in lower case ("jpg", "seg.png"); suffix is the same as the file had it ("JPG"). */
struct sheaf_field {
    const char *name;
    const char *suffix;     /* name differs from it in case only; NULL on input means `name` */
    const void *data;
    size_t size;            /* bytes */
};

/* The key is the path up to that dot ("001.ak47/001_0001").  Labels are integers up to 2^53 or
 * values that a 32-bit float holds exactly; none is fine.  UTF-8 throughout. */
struct sheaf_sample {
    const char *key;
    const struct sheaf_field *fields;
    size_t field_count;
    const double *labels;
    size_t label_count;
    const char *class_name; /* of the label, where the data set names its classes; or NULL */
    uint64_t number;        /* 0-based place in the data set, in manifest order */
    uint32_t shard;         /* 0-based, in manifest order */
    uint64_t record;        /* 0-based, within the shard */
};

enum sheaf_container { SHEAF_TFRECORD = 1, SHEAF_RECORDIO = 2, SHEAF_WEBDATASET = 3 };
enum sheaf_codec { SHEAF_CODEC_NONE = 0, SHEAF_CODEC_GZIP = 1, SHEAF_CODEC_LZ4 = 2 };

/* sheaf_container_name, sheaf_codec_name: "tfrecord", "recordio", "webdataset"; "none", "gzip",
 * "lz4"; NULL for a value that is none of them, which the one after the last codec always is.
 * sheaf_container_of, sheaf_codec_of: the reverse; -1 for an unknown name. */
SHEAF_API const char *sheaf_container_name(enum sheaf_container container);
SHEAF_API const char *sheaf_codec_name(enum sheaf_codec codec);
SHEAF_API int sheaf_container_of(const char *name);
SHEAF_API int sheaf_codec_of(const char *name);

/* What to do about a bad file (packing) or a bad record (reading). */
enum sheaf_on_error { SHEAF_FAIL = 0, SHEAF_SKIP = 1 };

/* ---- Progress and reports ----------------------------------------------------------------- */

struct sheaf_progress {
    const char *stage;          /* "scan", "pack", "verify", ...; static */
    uint64_t done_bytes;        /* <= total_bytes where that is known */
    uint64_t total_bytes;       /* 0: not known */
    uint64_t done_count;        /* files or samples */
    uint64_t total_count;       /* 0: not known */
};

/* Called now and then from the thread that made the call (at most some ten times a second). */
typedef void sheaf_progress_fn(void *context, const struct sheaf_progress *progress);

/* One bad file or record, as it is found and skipped.  `where` is the file or shard. */
typedef void sheaf_report_fn(void *context, const char *where, const struct sheaf_error *error);

/* ---- Data set ------------------------------------------------------------------------------
 * A data set is opened from one or more sources:
 *   - a directory with a dataset.json (written by the packer), or the path of that file;
 *   - foreign shards, which need no manifest: a directory of them (taken in byte order of
 *     names), a brace pattern "train-{000000..000007}.tar", a single file, several of any of
 *     these, "@FILE" for a text file with one path a line; "-" for standard input.
 * Container and codec are found from content.  For foreign uncompressed shards the headers are
 * scanned at open to count and place the samples; compressed ones and standard input are read as
 * streams: their counts are not known before their end, so whole shards go to lanes.
 *
 * Several data sets, or data sets and foreign shards, are a UNION: one data set of all samples,
 * source after source in the order given.  Foreign shards that stand next to each other are one
 * source.  Each source keeps its manifest, its index and checksums, its container and codec, and
 * its keys, so that a key may come from two of them: sample.shard says which (shard_info.source).
 *   - Classes are merged by name.  The first source keeps its numbers; a class that is new gets the
 *     next one, in its source's order; label_base is the first source's.  A sample's label is the
 *     merged number.  Where the numbers of a source do not change, labels of any kind stay as they
 *     are; where they do, a sample whose labels are not one class of its source, or which has a
 *     field cls of its own that says the number, is SHEAF_ERR_UNSUPPORTED when it is read.
 *   - Refused at open, by name: sources of which some name their classes and others do not, or
 *     whose class lists differ and have a name twice (_UNSUPPORTED); streams (_UNSUPPORTED); the
 *     same data set twice, by fingerprint (_ARGUMENT), as each sample would come twice.  (Foreign
 *     shards come as often as they are named.)
 *   - The fingerprint is of the sources' fingerprints in their order: a position of one union, or
 *     of a source of it, is CHANGED for another. */

struct sheaf_dataset;

struct sheaf_shard_info {
    const char *name;           /* relative to the manifest; as given for foreign shards; where
                                   there are several sources, with its source's directory */
    uint64_t bytes;             /* of the shard as stored */
    uint64_t payload_bytes;     /* of its fields' content; 0: not known */
    uint64_t samples;
    const char *xxh3;           /* XXH3-128 of the stored bytes, 32 hex digits; NULL: not known */
    size_t source;              /* 0-based: which source it is of */
};

/* One of the sources of a data set, as it is when it is opened alone. */
struct sheaf_source_info {
    const char *url;            /* as given; of foreign shards the first */
    int has_manifest;
    enum sheaf_container container;
    enum sheaf_codec codec;
    size_t first_shard;         /* its shards and samples in the data set */
    size_t shard_count;
    uint64_t first_number;
    uint64_t samples;
    size_t class_count;
    int label_base;
    const char *fingerprint;
    const char *manifest_json;  /* the manifest's text; NULL for foreign shards */
};

struct sheaf_dataset_info {
    const char *url;            /* the first source, as given */
    int has_manifest;           /* of several sources: each of them */
    int is_stream;              /* counts are not known, and it can be read one way only */
    enum sheaf_container container; /* 0: its sources differ */
    enum sheaf_codec codec;         /* where they differ, that of one which has any */
    uint64_t samples;           /* 0 for a stream */
    uint64_t bytes;
    uint64_t payload_bytes;
    size_t shard_count;
    size_t class_count;         /* 0: labels have no names */
    int label_base;             /* the number of the first class, 0 or 1 */
    const char *fingerprint;    /* 32 hex digits; "": it has no positions (standard input) */
    const char *manifest_json;  /* the manifest's text; NULL for foreign shards, or several
                                   sources */
    size_t source_count;        /* at least 1 */
};

SHEAF_API SHEAF_CHECK int sheaf_dataset_open(const char *const *sources, size_t source_count,
                                             struct sheaf_dataset **dataset,
                                             struct sheaf_error *error);
/* What the samples are made of, as text of 32 digits: of the fingerprint and where the shards are,
 * and, if they are foreign, of their inodes and times, or ETags.  SHEAF_ERR_UNSUPPORTED for what
 * can be read only once. */
SHEAF_API SHEAF_CHECK int sheaf_dataset_identity(const struct sheaf_dataset *dataset,
                                                 char identity[33], struct sheaf_error *error);
/* Every reader of it must have been freed before. */
SHEAF_API void sheaf_dataset_free(struct sheaf_dataset *dataset);
/* What these point to is the data set's, and lives as long as it. */
SHEAF_API void sheaf_dataset_get_info(const struct sheaf_dataset *dataset,
                                      struct sheaf_dataset_info *info, size_t sizeof_info);
/* SHEAF_ERR_ARGUMENT for an index that is too large. */
SHEAF_API SHEAF_CHECK int sheaf_dataset_shard(const struct sheaf_dataset *dataset, size_t index,
                                              struct sheaf_shard_info *info, size_t sizeof_info);
/* The same for its sources. */
SHEAF_API SHEAF_CHECK int sheaf_dataset_source(const struct sheaf_dataset *dataset, size_t index,
                                               struct sheaf_source_info *info,
                                               size_t sizeof_info);
/* The name of class number `index` (0-based, whatever the label base); NULL if there is none. */
SHEAF_API const char *sheaf_dataset_class(const struct sheaf_dataset *dataset, size_t index);

/* ---- Reader --------------------------------------------------------------------------------
 * To read epochs:
 *   1) sheaf_reader_options_init, and set what differs from the defaults;
 *   2) sheaf_reader_open: the first epoch is options.epoch;
 *   3) sheaf_reader_next until SHEAF_END;
 *   4) sheaf_reader_begin_epoch for another one, and 3) again;
 *   5) sheaf_reader_free.
 *
 * Order.  The order of an epoch is a function of (data set, seed, epoch, lanes, shuffle buffer)
 * and of nothing else; reader/ORDER.md specifies it.  Over all ranks and workers each sample
 * comes exactly once per epoch, but for what `remainder` says. */

struct sheaf_reader;

/* Lanes have equal lengths only if their number divides the samples.  KEEP: their lengths differ
 * by one.  DROP: the remainder, at most lanes - 1 samples, is left out.  PAD: the shorter lanes
 * repeat one sample. */
enum sheaf_remainder { SHEAF_REMAINDER_AUTO = 0, SHEAF_KEEP = 1, SHEAF_DROP = 2, SHEAF_PAD = 3 };

/* The first `bytes` of the memory that was given will be used from now on: they can be made to be
 * there.  Nonzero: they cannot, and the reader goes on with what it has, if it is enough. */
typedef int sheaf_memory_fn(void *context, size_t bytes);

struct sheaf_reader_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t seed;                  /* 0 */
    uint64_t epoch;                 /* 0: the epoch that open begins */
    int no_shuffle;                 /* 0; 1: manifest order, no shuffling at all */
    uint64_t shuffle_buffer;        /* samples, over all lanes; 10000; 0: shards are permuted,
                                       but there is no buffer */
    uint32_t lanes;                 /* 0: world_size x workers; else a multiple of that */
    uint32_t rank, world_size;      /* 0 of 1 */
    uint32_t worker, workers;       /* 0 of 1 */
    enum sheaf_remainder remainder; /* AUTO: KEEP alone, PAD if world_size > 1 */
    uint64_t memory_bytes;          /* hard ceiling for prefetch, buffer and index; 1 GiB */
    unsigned threads;               /* that read and check ahead; 0: the processors, 8 at most,
                                       and for local files one less, since next() lends a hand
                                       instead of waiting */
    enum sheaf_on_error on_corrupt; /* FAIL; SKIP passes over bad records, also those of more
                                       than 1,024 fields or 65,536 labels */
    uint64_t max_corrupt;           /* with SKIP: fail at the next one; UINT64_MAX, no limit */
    sheaf_report_fn *report;        /* NULL; called for each record skipped, from next() */
    void *report_context;
    const char *cache_directory;    /* NULL; shards from afar are kept there as they are read, and
                                       read from there later; processes of a host may share it */
    uint64_t cache_bytes;           /* what it may hold: then goes what was not used for longest;
                                       64 GB */
    void *memory;                   /* NULL; else the memory_bytes that begin here, on a page: the
                                       reader puts samples there (below, sheaf_reader_keep) */
    sheaf_memory_fn *memory_needed; /* NULL; called before so much of `memory` is used */
    void *memory_context;
};

SHEAF_API void sheaf_reader_options_init(struct sheaf_reader_options *options,
                                         size_t sizeof_options);

/* Which rank of which world this process is, by its environment; the first of these that there
 * is: RANK and WORLD_SIZE (torchrun); OMPI_COMM_WORLD_RANK and _SIZE (Open MPI); SLURM_PROCID and
 * SLURM_NTASKS; SM_CURRENT_HOST and SM_HOSTS, or else the resourceconfig.json of the directory
 * `config` (SageMaker; NULL: /opt/ml/input/config), where the rank is the host's place in the
 * list.  *source, if not NULL, is set to a static string that names it.  SHEAF_END: none of them;
 * SHEAF_ERR_ARGUMENT: one that makes no sense, or one of torchrun's or Open MPI's two without the
 * other (Slurm sets one alone in jobs that have no ranks).  Nothing else in the library looks at
 * these. */
SHEAF_API SHEAF_CHECK int sheaf_world_from_environment(const char *config, uint32_t *rank,
                                                       uint32_t *world_size,
                                                       const char **source,
                                                       struct sheaf_error *error);

/* Borrows the data set until sheaf_reader_free.  What must fit into memory_bytes is the largest
 * sample (with a codec, its block packed and unpacked) with the index of its shard, and 64 bytes
 * for each sample of the shuffle buffers; if it does not, SHEAF_ERR_LIMIT with what would be
 * enough.  What else there is no room for is read when it is drawn: each such sample is a read of
 * its own, and with a codec its block is unpacked again. */
SHEAF_API SHEAF_CHECK int sheaf_reader_open(const struct sheaf_dataset *dataset,
                                            const struct sheaf_reader_options *options,
                                            struct sheaf_reader **reader,
                                            struct sheaf_error *error);
SHEAF_API void sheaf_reader_free(struct sheaf_reader *reader);

/* Begins an epoch from its start, wherever the reader was. */
SHEAF_API SHEAF_CHECK int sheaf_reader_begin_epoch(struct sheaf_reader *reader, uint64_t epoch);

/* Goes to sample number `sample`, from 0, of the epoch; with one lane only. */
SHEAF_API SHEAF_CHECK int sheaf_reader_seek(struct sheaf_reader *reader, uint64_t sample);

/* The exact number of samples that this reader's part of the epoch has; UINT64_MAX for a
 * stream.  (Records skipped as corrupt are in it.) */
SHEAF_API uint64_t sheaf_reader_epoch_samples(const struct sheaf_reader *reader);

/* The next sample.  It is the reader's, valid until the next call on this reader.  SHEAF_END at
 * the end of the epoch.  After SHEAF_ERR_CORRUPT or _TRUNCATED under on_corrupt = FAIL, and
 * after any other error but INTERRUPTED, only _error, _get_stats and _free are of use. */
SHEAF_API SHEAF_CHECK int sheaf_reader_next(struct sheaf_reader *reader,
                                            const struct sheaf_sample **sample);

/* Up to `max` samples, all valid until the next call on this reader.  Returns SHEAF_OK with
 * *count >= 1, or as sheaf_reader_next does; an error that comes after samples were found is
 * kept for the next call.  `max` 0 is SHEAF_ERR_ARGUMENT, and the reader stays as it is. */
SHEAF_API SHEAF_CHECK int sheaf_reader_next_batch(struct sheaf_reader *reader, size_t max,
                                                  const struct sheaf_sample **samples,
                                                  size_t *count);

/* Takes the samples of the last call out of the reader, for as long as the program likes:
 * *samples (*count of them) stay as they are until sheaf_kept_free, whatever becomes of reader and
 * data set.  What that call itself gave is no longer valid.  Samples of 4 KiB or more are not
 * copied while the reader's memory budget, in which they stay, has room to spare for them and for
 * the neighbours that they share a piece of memory with (a MiB or so; from afar 8); others are,
 * into memory outside the budget, and then fields of one place and size lie back to back.
 * SHEAF_ERR_STATE if that call gave none, or they were taken already.
 *
 * What is not copied lies in the memory that options.memory gave, if it did: memory that another
 * process or a device can see as well, so that samples need not be copied for them either.  It is
 * the reader's until the reader and all that was kept are freed. */
struct sheaf_kept;
SHEAF_API SHEAF_CHECK int sheaf_reader_keep(struct sheaf_reader *reader,
                                            const struct sheaf_sample **samples, size_t *count,
                                            struct sheaf_kept **kept);
/* From any thread. */
SHEAF_API void sheaf_kept_free(struct sheaf_kept *kept);

#define SHEAF_POSITION_SIZE 257     /* with its NUL */

/* Writes where the reader is: printable text of at most 256 bytes, good on any machine.
 * It ends with a checksum.  SHEAF_ERR_UNSUPPORTED for standard input, and pipes whose platform
 * shuffles. */
SHEAF_API SHEAF_CHECK int sheaf_reader_position(const struct sheaf_reader *reader,
                                                char text[SHEAF_POSITION_SIZE]);

/* Writes where the reader was `back` samples ago: the position after all but the last so many that
 * it has handed out.  For programs that take samples ahead, and want the position of what they
 * have used.  Back to where the epoch was begun or resumed, and SHEAF_BACK_MOST samples at most
 * (SHEAF_ERR_ARGUMENT); 0 is sheaf_reader_position. */
#define SHEAF_BACK_MOST ((uint64_t)1 << 20)
SHEAF_API SHEAF_CHECK int sheaf_reader_position_back(const struct sheaf_reader *reader,
                                                     uint64_t back,
                                                     char text[SHEAF_POSITION_SIZE]);

/* Goes to a position.  Seed, epoch, lanes, buffer and remainder are taken from the text.  A
 * position taken after a whole round of the lanes fits any world_size x workers that divides
 * lanes; another one only the same rank and worker.  SHEAF_ERR_CHANGED for another data set's
 * position; SHEAF_ERR_ARGUMENT for a damaged one, and for one outside the epoch (of a stream, from
 * the next sheaf_reader_next). */
SHEAF_API SHEAF_CHECK int sheaf_reader_resume(struct sheaf_reader *reader, const char *text);

/* Makes a blocked or the next sheaf_reader_next return SHEAF_ERR_INTERRUPTED, once; the reader
 * then goes on as if nothing had happened.  From any thread, and from a signal handler. */
SHEAF_API void sheaf_reader_interrupt(struct sheaf_reader *reader);

struct sheaf_reader_stats {
    uint64_t samples;               /* handed out, over all epochs */
    uint64_t payload_bytes;         /* of their fields */
    uint64_t read_bytes;            /* of shards and indices, from the store or the cache */
    uint64_t corrupt;               /* records skipped; <= samples of the data set x epochs */
    uint64_t stall_ns;              /* that next() waited for data */
    uint64_t first_sample_ns;       /* from open to the first sample */
    uint64_t memory_bytes;          /* held now; <= memory_peak_bytes */
    uint64_t memory_peak_bytes;     /* <= options.memory_bytes */
    uint64_t cached_bytes;          /* from the cache, and not from the store; in whole blocks of
                                       it */
    uint64_t epoch;                 /* that is under way */
    uint64_t uncached_objects;      /* opened, but not cached: their server gives no strong ETag, so
                                       that a replaced object could not be told from the old one */
    uint64_t passed_over;           /* members of foreign tars without an index that are no
                                       sample's: links, devices, directories, names without key or
                                       suffix; of compressed tars and pipes, so far */
    uint64_t repeated;              /* samples that came once more, to pad a lane (SHEAF_PAD);
                                       <= samples */
};

SHEAF_API void sheaf_reader_get_stats(const struct sheaf_reader *reader,
                                      struct sheaf_reader_stats *stats, size_t sizeof_stats);

/* The last error of this reader; valid until the next call on it. */
SHEAF_API const struct sheaf_error *sheaf_reader_error(const struct sheaf_reader *reader);

/* ---- Channels ------------------------------------------------------------------------------
 * A channel is a data set that a platform gives to a training job under a name; SageMaker's
 * containers have them below /opt/ml, and the same layout can be made anywhere.  The program names
 * the channel, and what there is decides how it is read:
 *   1) ROOT/input/data/NAME is a directory (File and FastFile mode, FSx for Lustre, EFS): a source
 *      like any other;
 *   2) ROOT/input/data/NAME_0 or a later number is a named pipe (Pipe mode): the epochs of a
 *      reader come from the pipes NAME_0, NAME_1, ..., whose order is the platform's; only the
 *      shuffle buffer is ours;
 *   3) the variable SM_CHANNEL_NAME (in capitals) names a directory;
 *   4) ROOT/input/config/inputdataconfig.json, or else the variable SM_INPUT_DATA_CONFIG, has for
 *      NAME a "TrainingInputMode" of "Pipe": the pipe is waited for;
 *   5) it has a "DataSource": {"S3DataSource": {"S3Uri": ...}}, which is SageMaker's own way to
 *      write it in a training job, and may name any source: that is read directly (of a
 *      "S3DataType", "S3Prefix", or "ManifestFile", whose objects are then as in a directory).
 * A name is 1 to 64 of A-Z a-z 0-9 . - _
 *
 * Pipes.  Epoch E is the pipe NAME_E; where the first epoch asked for has none, but another is
 * being written to, that one is it, and the later epochs follow.  Whole objects come one after
 * another, of any container, as they are or packed by gzip; without a manifest, so that a tar's
 * `cls` members are fields, RecordIO's keys are made up, and only damage to the stream itself
 * shows.  One process can read a pipe; in a world of hosts, each reads its own pipe to the end
 * and takes its turn of the samples (lanes are then the world size; workers is 1).  A feeder
 * that ends in the middle of a record is SHEAF_ERR_TRUNCATED.  An augmented manifest's samples have
 * a field for each NAME-ref, its name told by its content, and for each other attribute, but for
 * a `label` (or else `class`) that is a number or an array of numbers: that is the label.
 * A position is good where the platform does not shuffle (no "ShuffleConfig"): to resume is to
 * read forward. */

struct sheaf_channel;

enum sheaf_channel_kind {
    SHEAF_CHANNEL_DIRECTORY = 1,
    SHEAF_CHANNEL_PIPE = 2,
    SHEAF_CHANNEL_DIRECT = 3            /* from S3 or another store */
};

struct sheaf_channel_options {
    size_t sizeof_options;          /* set by _init */
    const char *root;               /* "/opt/ml" */
    uint64_t wait_seconds;          /* 600: for a pipe, and then for its first byte */
    const char *attributes;         /* NULL: as the configuration says; "image-ref,label": of an
                                       augmented manifest, whose attributes come through a pipe
                                       as one RecordIO record each, in that order */
};

/* Strings that are not said are "". */
struct sheaf_channel_info {
    const char *name;
    enum sheaf_channel_kind kind;
    const char *location;           /* directory; what the pipes' names begin with; or source */
    const char *file_system;        /* of a directory: "local", "FUSE", "Lustre" or "NFS" */
    const char *mode;               /* "File", "FastFile" or "Pipe", as the platform says: a hint */
    const char *content_type;
    const char *compression;        /* "None" or "Gzip" */
    const char *record_wrapper;     /* "None" or "RecordIO" */
    const char *distribution;       /* "FullyReplicated" or "ShardedByS3Key" */
    int has_shuffle_seed;           /* the platform shuffles whole objects, by this seed: */
    int64_t shuffle_seed;
    const char *description;        /* one line: what was found, and how it will be read */
};

SHEAF_API void sheaf_channel_options_init(struct sheaf_channel_options *options,
                                          size_t sizeof_options);
/* Finds out what the channel is.  `options` may be NULL.  SHEAF_ERR_NOT_FOUND: there is none of
 * that name, with the names there are; SHEAF_ERR_ARGUMENT: no name of a channel;
 * SHEAF_ERR_CORRUPT: a configuration that makes no sense. */
SHEAF_API SHEAF_CHECK int sheaf_channel_open(const char *name,
                                             const struct sheaf_channel_options *options,
                                             struct sheaf_channel **channel,
                                             struct sheaf_error *error);
SHEAF_API void sheaf_channel_free(struct sheaf_channel *channel);
/* What these point to is the channel's, and lives as long as it. */
SHEAF_API void sheaf_channel_get_info(const struct sheaf_channel *channel,
                                      struct sheaf_channel_info *info, size_t sizeof_info);
/* Opens it as a data set, which outlives the channel. */
SHEAF_API SHEAF_CHECK int sheaf_channel_dataset(const struct sheaf_channel *channel,
                                                struct sheaf_dataset **dataset,
                                                struct sheaf_error *error);
/* sheaf_world_from_environment for readers of this channel.  Where the platform has dealt out the
 * objects among the hosts (ShardedByS3Key), it is the world of this host's processes alone:
 * LOCAL_RANK and LOCAL_WORLD_SIZE (torchrun); OMPI_COMM_WORLD_LOCAL_RANK and _SIZE (Open MPI);
 * SLURM_LOCALID and SLURM_NTASKS_PER_NODE. */
SHEAF_API SHEAF_CHECK int sheaf_channel_world(const struct sheaf_channel *channel,
                                              uint32_t *rank, uint32_t *world_size,
                                              const char **source, struct sheaf_error *error);
/* Takes what the job's hyperparameters say of the order: sheaf_seed, sheaf_epoch,
 * sheaf_shuffle_buffer and sheaf_lanes of ROOT/input/config/hyperparameters.json (or else of the
 * variable SM_HPS), each the text of a whole number.  What they do not say stays as it is in
 * `options`, which were initialised.  SHEAF_ERR_ARGUMENT: another name that begins with sheaf_, no
 * such number, or no JSON object. */
SHEAF_API SHEAF_CHECK int sheaf_channel_order(const struct sheaf_channel *channel,
                                              struct sheaf_reader_options *options,
                                              struct sheaf_error *error);
/* Tells the platform why the job fails: the first 1024 bytes of the message become the file
 * ROOT/output/failure.  `root` NULL: /opt/ml.  SHEAF_ERR_NOT_FOUND if there is no ROOT. */
SHEAF_API SHEAF_CHECK int sheaf_channel_report_failure(const char *root, const char *message,
                                                       struct sheaf_error *error);

/* ---- The plan of an epoch, without reading data --------------------------------------------- */

/* A stretch of one shard that one worker of one rank reads, in one lane. */
struct sheaf_stretch {
    uint32_t rank, worker, lane;
    uint32_t shard;             /* in manifest order */
    uint64_t first_record;
    uint64_t samples;
};
typedef void sheaf_stretch_fn(void *context, const struct sheaf_stretch *stretch);

/* Who reads what in options->epoch: calls `each` for every stretch of every lane, in the order of
 * (rank, worker, lane, line).  Of the options, rank and worker have no meaning here.
 * SHEAF_ERR_UNSUPPORTED for a stream. */
SHEAF_API SHEAF_CHECK int sheaf_dataset_plan(const struct sheaf_dataset *dataset,
                                             const struct sheaf_reader_options *options,
                                             sheaf_stretch_fn *each, void *context,
                                             struct sheaf_error *error);

#define SHEAF_MIXING_POINTS 1000
#define SHEAF_MIXING_BATCH  256

/* How well an epoch is mixed, beside an ideal shuffle of the same samples.  Places are in
 * manifest order, which is what a class-sorted data set is sorted by. */
struct sheaf_mixing {
    uint64_t samples;                   /* of the epoch, over all ranks */
    double displacement;                /* mean distance of a sample from its place */
    double ideal_displacement;
    double neighbours;                  /* share of samples that come within 100 steps of the
                                           one that was next to them */
    double ideal_neighbours;
    int has_labels;                     /* the index knows the labels; else zeros follow */
    double label_run;                   /* mean length of runs of one label */
    double ideal_label_run;
    uint64_t longest_label_run;
    double batch_labels;                /* mean number of labels in SHEAF_MIXING_BATCH samples */
    double ideal_batch_labels;
    size_t point_count;                 /* <= SHEAF_MIXING_POINTS: samples at equal steps of
                                           the epoch, for a plot: */
    double came[SHEAF_MIXING_POINTS];   /* when it came, in [0, 1) of the epoch */
    double lay[SHEAF_MIXING_POINTS];    /* where it lay, in [0, 1) of the data set */
};

/* Replays options->epoch on numbers. */
SHEAF_API SHEAF_CHECK int sheaf_dataset_mixing(const struct sheaf_dataset *dataset,
                                               const struct sheaf_reader_options *options,
                                               struct sheaf_mixing *mixing, size_t sizeof_mixing,
                                               struct sheaf_error *error);

/* ---- Packing a source ----------------------------------------------------------------------
 * sheaf_pack makes a data set of files, in one call.  The source is one of
 *   - a directory tree: the class of a file is the directory it is in;
 *   - s3://BUCKET/PREFIX: likewise, of objects;
 *   - a list, known by its name: *.lst (MXNet: index, label[s], path), *.csv (path, label[s]),
 *     *.jsonl (objects with "path" and "label"), any other file (one path a line; the class
 *     is again the directory);
 *   - SageMaker's manifest file or augmented manifest, *.manifest, *.json or *.jsonl, known by
 *     its content (of the latter packer/source/augmented.h says what becomes of its attributes).
 * Lists may lie, and their root may be, in S3.
 * Files whose paths agree up to the first dot of the base name are one sample.  The plan (keys,
 * labels, splits, order, shard boundaries) is made before a file is read, and every byte of the
 * output follows from it and from the files: not from jobs, time, user or file system. */

/* One shard of a plan. */
struct sheaf_plan_shard {
    const char *split;          /* the split's name; "" without splits */
    const char *name;           /* "shard-000000.tar" */
    uint64_t samples;
    uint64_t payload_bytes;
};
typedef void sheaf_plan_fn(void *context, const struct sheaf_plan_shard *shard);

struct sheaf_pack_options {
    size_t sizeof_options;          /* set by _init */
    enum sheaf_container container; /* SHEAF_WEBDATASET */
    enum sheaf_codec codec;         /* NONE; else a shard is one gzip member or LZ4 frame, in
                                       independent blocks */
    uint64_t shard_bytes;           /* payload of a shard, about; 150000000 */
    uint64_t shard_count;           /* 0: from shard_bytes; else just so many (per split), but at
                                       most one for each sample */
    const char *prefix;             /* "shard" */
    const char *root;               /* NULL: of a list, its directory */
    int no_shuffle;                 /* 0; 1: samples stay in byte order of keys */
    uint64_t seed;                  /* 0: of the shuffle and of splits */
    int label_base;                 /* 0 or 1: the number of the first class */
    const char *split;              /* NULL; "train=0.8,val=0.2" or "train=60/class,val=rest" */
    enum sheaf_on_error on_error;   /* FAIL */
    int resume;                     /* 0; 1: go on with a run that was killed; finished shards stay
                                       unless a file of theirs has another time or ETag now */
    const char *identity;           /* NULL; of a program: what its samples are made of, so that
                                       resume knows a run that had the same */
    int overwrite;                  /* 0; 1: replace a data set, which is removed first */
    int dry_run;                    /* 0; 1: make the plan, write nothing */
    const char *index;              /* NULL; of "dali,mxnet,wids,energon": peers' index files */
    unsigned jobs;                  /* threads; 0: the processors, 8 at most */
    uint64_t memory_bytes;          /* hard ceiling for buffers, and for what is sent to S3 and not
                                       yet acknowledged: a quarter of it, but one part (8 MiB; of
                                       shards beyond 40 GB 1/5000 of the largest) at least.  The
                                       plan is apart.  512 MiB */
    sheaf_progress_fn *progress;    /* NULL */
    sheaf_report_fn *report;        /* NULL; called for each bad file */
    sheaf_plan_fn *plan;            /* NULL; with dry_run, called for each shard of the plan */
    void *context;                  /* of these three */
    const volatile int *interrupt;  /* NULL; a nonzero value ends the work with INTERRUPTED */
    const char *const *sources;     /* NULL; of sheaf_packer_open: what the samples are read from
                                       (directories, files, objects), which DEST must not hold,
                                       since making room there would remove it */
    size_t source_count;
    const char *origin;             /* NULL: as identity; what the samples are made of, wherever and
                                       since whenever that lies: a hash of it goes into the
                                       manifest, and resume knows a finished data set by that */
};

SHEAF_API void sheaf_pack_options_init(struct sheaf_pack_options *options,
                                       size_t sizeof_options);

struct sheaf_pack_result {
    uint64_t files;             /* found in the source; of a part, those of its shards; made by a
                                   program, fields.  files == files_packed + skipped, or the
                                   call fails (of a program: of samples) */
    uint64_t files_packed;      /* fields in the shards */
    uint64_t samples;           /* packed (with dry_run: planned) */
    uint64_t payload_bytes;     /* of their fields */
    uint64_t stored_bytes;      /* of the shards */
    uint64_t shards;
    uint64_t shards_kept;       /* of those: found finished by resume */
    uint64_t skipped;           /* files left out, each in the report file; made by a program,
                                   samples */
    uint64_t multipart_records; /* RecordIO: records that hold the magic, so are in parts */
    uint64_t memory_peak_bytes; /* buffers, and parts on their way; <= memory_bytes */
    uint64_t plan_bytes;        /* memory of the plan */
    uint64_t passed_over;       /* what a source lists that is no file, and is in no other count:
                                   empty objects that mark directories; of an S3 Inventory also
                                   what is not current, or not below the root */
};

/* Writes to the directory `dest`, which is made if need be: shards, dataset.index and, last,
 * dataset.json (each split in a directory of its own below it).  A failed call leaves no
 * dataset.json; what is finished stays for `resume`.  Local shards are written past the page
 * cache. */
SHEAF_API SHEAF_CHECK int sheaf_pack(const char *source, const char *dest,
                                     const struct sheaf_pack_options *options,
                                     struct sheaf_pack_result *result,
                                     struct sheaf_error *error);

/* ---- Packing on many machines ---------------------------------------------------------------
 *   1) sheaf_plan_make, once: lists the sources, and stores a plan
 *   2) sheaf_pack_part, for each part 0 .. parts - 1: anywhere, in any order, as often as need be
 *   3) sheaf_commit, once all parts are done
 * The result is byte for byte that of sheaf_pack.  A plan is one file, or one object in S3; a
 * part reads only what it says of that part's shards.  A part may be run twice, at once, or again
 * after it was killed: what comes out is the same, each shard becomes visible whole, and what is
 * finished is not packed again.  packer/PLAN.md specifies the plan. */

/* Makes the plan of `count` sources (as sheaf_pack's; or of one data set, which is then converted,
 * shard by shard, by sheaf_packer_open_part) for the directory `dest`, makes `dest` ready
 * for it (options->resume and overwrite have their say here), and stores it at `plan`, a path or
 * an s3:// URL.  Local paths are stored as absolute ones: they must mean the same on every machine.
 * The memory it takes does not grow with the number of files; sorting is done in temporary files in
 * the directory TMPDIR, or else beside the plan, or, if that is in S3, in /var/tmp.  dry_run has no
 * meaning here.  The result's samples, bytes and shards are those planned. */
SHEAF_API SHEAF_CHECK int sheaf_plan_make(const char *const *sources, size_t count,
                                          const char *dest, const char *plan,
                                          const struct sheaf_pack_options *options,
                                          struct sheaf_pack_result *result,
                                          struct sheaf_error *error);

/* Packs part `part` of `parts`: a stretch of the plan's shards with about its share of the bytes;
 * none, if there are more parts than shards.  Of the options only jobs, memory_bytes and those of
 * progress, report and interrupt matter.  SHEAF_ERR_CHANGED: a file is not what it was when the
 * plan was made (with on_error FAIL; nothing of its shard is published), or `dest` is for another
 * plan. */
SHEAF_API SHEAF_CHECK int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
                                          const struct sheaf_pack_options *options,
                                          struct sheaf_pack_result *result,
                                          struct sheaf_error *error);

/* Checks that every shard is there as it was packed, and publishes the data set: index, report, and
 * the manifest last.  What has still its ETag, or its inode and time, is not read for that; of what
 * was copied, say, the hash is compared.  SHEAF_ERR_NOT_FOUND, or _CORRUPT if any was altered, with
 * their names and those of their parts: shards are missing, and nothing was published.  Once more
 * on what is committed already: SHEAF_OK.  Options as for sheaf_pack_part. */
SHEAF_API SHEAF_CHECK int sheaf_commit(const char *plan,
                                       const struct sheaf_pack_options *options,
                                       struct sheaf_pack_result *result,
                                       struct sheaf_error *error);

/* Which part of how many this process is to pack, by its environment; the first of these that
 * there is: SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT and _STEP (a Slurm array, whose step is 1 if
 * not said); AWS_BATCH_JOB_ARRAY_INDEX and _SIZE; JOB_COMPLETION_INDEX with JOB_COMPLETIONS (a
 * Kubernetes Indexed Job, whose template has to set the latter); OMPI_COMM_WORLD_RANK and _SIZE;
 * SLURM_PROCID and SLURM_NTASKS; SM_CURRENT_HOST and SM_HOSTS, or else the resourceconfig.json of
 * the directory `config` (NULL: /opt/ml/config and /opt/ml/input/config).  Otherwise as
 * sheaf_world_from_environment. */
SHEAF_API SHEAF_CHECK int sheaf_part_from_environment(const char *config, uint32_t *part,
                                                      uint32_t *parts, const char **source,
                                                      struct sheaf_error *error);

/* A stored plan, and how far its packing is. */
struct sheaf_plan;

struct sheaf_plan_info {
    const char *dest;
    const char *source;             /* its kind: "tree", "list", ... */
    const char *root;               /* what the files' paths are relative to */
    const char *fingerprint;        /* of the data set at `root` that is converted; "": files are
                                       packed */
    const char *hash;               /* 32 digits: of all that determines the data set's bytes */
    enum sheaf_container container;
    enum sheaf_codec codec;
    uint64_t plan_bytes;            /* of the plan itself */
    uint64_t files, samples, payload_bytes, shards;     /* planned */
    uint64_t done_shards;           /* of those: there, as they were packed */
    uint64_t done_samples, done_payload_bytes;
    int committed;                  /* the data set is there */
    uint32_t parts;                 /* in how many it was packed last; 0: not known */
};

/* Reads a plan and looks at what there is of its data set; works while parts run.  A shard that has
 * not its ETag, or its inode and time, any more is read. */
SHEAF_API SHEAF_CHECK int sheaf_plan_open(const char *plan, struct sheaf_plan **opened,
                                          struct sheaf_error *error);
/* Whether the file or object at `url` is a plan, as far as its first bytes tell. */
SHEAF_API int sheaf_is_plan(const char *url);
/* What these point to is the plan's, and lives as long as it. */
SHEAF_API void sheaf_plan_get_info(const struct sheaf_plan *plan, struct sheaf_plan_info *info,
                                   size_t sizeof_info);
/* Shard `index` (below info.shards), its name good until the next call: *done says whether it is
 * there, as it was packed. */
SHEAF_API SHEAF_CHECK int sheaf_plan_shard(const struct sheaf_plan *plan, uint64_t index,
                                           struct sheaf_plan_shard *shard, int *done,
                                           struct sheaf_error *error);
/* The shards of part `part` of `parts`: from *first to before *end. */
SHEAF_API SHEAF_CHECK int sheaf_plan_part(const struct sheaf_plan *plan, uint32_t part,
                                          uint32_t parts, uint64_t *first, uint64_t *end,
                                          struct sheaf_error *error);
SHEAF_API void sheaf_plan_free(struct sheaf_plan *plan);

/* ---- Packing samples made by a program -----------------------------------------------------
 *   1) options_init  2) sheaf_packer_open  3) sheaf_packer_append ...
 *   4) sheaf_packer_finish, or _abort  5) sheaf_packer_free
 * Samples keep the order they come in.  Of the options, those about sources, labels, splits,
 * order and dry_run have no meaning here.  resume needs an identity, which the run before must
 * have had, too: then all samples are appended again, and those of finished shards are passed
 * over. */

struct sheaf_packer;

SHEAF_API SHEAF_CHECK int sheaf_packer_open(const char *dest,
                                            const struct sheaf_pack_options *options,
                                            struct sheaf_packer **packer,
                                            struct sheaf_error *error);
/* Names the classes of the labels label_base, label_base + 1, ...; before the first sample.
 * Without it, the class names that samples bring are listed in the manifest (from label 0, or 1 if
 * that is the least; a label between them without a name is named by its number).  TFRecords also
 * keep each sample's own name; in other containers, a sample whose name such a list cannot say is
 * refused (_ARGUMENT): its label has another name already, or is no integer from 0 to 2^20 - 1. */
SHEAF_API SHEAF_CHECK int sheaf_packer_set_classes(struct sheaf_packer *packer,
                                                   const char *const *names, size_t count);
/* A packer for the shards of a conversion's plan (sheaf_plan_make of a data set): each is begun by
 * its number and filled with its samples, in order; finish then waits for them, and the manifest is
 * written by sheaf_commit.  Of the options only jobs, memory_bytes and those of progress and
 * interrupt matter.  Classes need not be set. */
SHEAF_API SHEAF_CHECK int sheaf_packer_open_part(const char *plan, uint32_t parts,
                                                 const struct sheaf_pack_options *options,
                                                 struct sheaf_packer **packer,
                                                 struct sheaf_error *error);
/* The next sample is the first of shard `shard` of the plan.  SHEAF_ERR_CHANGED: the shard before
 * has not got all samples that the plan has for it. */
SHEAF_API SHEAF_CHECK int sheaf_packer_begin_shard(struct sheaf_packer *packer, uint64_t shard);
/* Copies what it needs.  Blocks while the memory budget is used up. */
SHEAF_API SHEAF_CHECK int sheaf_packer_append(struct sheaf_packer *packer,
                                              const struct sheaf_sample *sample);
/* The next sample starts a new shard; a second cut in a row makes no empty one.  Without cuts a
 * shard ends when its payload reaches shard_bytes. */
SHEAF_API SHEAF_CHECK int sheaf_packer_cut(struct sheaf_packer *packer);
/* 1: the data set was finished before, as a run with resume, or a part, finds it.  Nothing need be
 * appended then, what is appended is counted only, and finish says what is there. */
SHEAF_API int sheaf_packer_is_there(const struct sheaf_packer *packer);
/* Waits for everything, then writes the manifest.  `result` may be NULL. */
SHEAF_API SHEAF_CHECK int sheaf_packer_finish(struct sheaf_packer *packer,
                                              struct sheaf_pack_result *result);
/* Leaves nothing behind.  Keeps the first error. */
SHEAF_API void sheaf_packer_abort(struct sheaf_packer *packer);
SHEAF_API const struct sheaf_error *sheaf_packer_error(const struct sheaf_packer *packer);
SHEAF_API void sheaf_packer_free(struct sheaf_packer *packer);  /* aborts unless finished */

/* ---- Samples as a stream of one container --------------------------------------------------
 * Turns samples into the bytes of one shard, to be written wherever the caller likes. */

struct sheaf_encoder;

SHEAF_API SHEAF_CHECK int sheaf_encoder_open(enum sheaf_container container,
                                             struct sheaf_encoder **encoder,
                                             struct sheaf_error *error);
/* *data is the encoder's, valid until the next call on it.  Of a tar, SHEAF_ERR_EXISTS: the sample
 * before it has the same key, and everyone who reads the tar would take the two for one; the sample
 * is left out, and the encoder can go on. */
SHEAF_API SHEAF_CHECK int sheaf_encoder_add(struct sheaf_encoder *encoder,
                                            const struct sheaf_sample *sample,
                                            const void **data, size_t *size,
                                            struct sheaf_error *error);
/* What ends the shard (two zero blocks for a tar; nothing for the others). */
SHEAF_API SHEAF_CHECK int sheaf_encoder_end(struct sheaf_encoder *encoder, const void **data,
                                            size_t *size, struct sheaf_error *error);
SHEAF_API void sheaf_encoder_free(struct sheaf_encoder *encoder);

/* ---- Checking and indexing ----------------------------------------------------------------- */

struct sheaf_verify_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t memory_bytes;          /* 1 GiB */
    unsigned threads;               /* 0: the processors, 8 at most */
    sheaf_progress_fn *progress;    /* NULL */
    sheaf_report_fn *report;        /* NULL; called for each problem */
    void *context;                  /* of both */
    const volatile int *interrupt;  /* NULL; a nonzero value ends the work with INTERRUPTED */
    uint32_t part, parts;           /* 0 of 0: all; else only the shards of part `part` of `parts`,
                                       a stretch of them, so that many machines can share the
                                       work */
};

SHEAF_API void sheaf_verify_options_init(struct sheaf_verify_options *options,
                                         size_t sizeof_options);

struct sheaf_verify_result {
    uint64_t shards;
    uint64_t samples;
    uint64_t bytes;             /* read */
    uint64_t problems;          /* 0: the data set is sound */
    uint64_t passed_over;       /* members of foreign tars that are no sample's: links, devices,
                                   names without key or suffix (directories are not counted) */
    uint64_t unused_classes;    /* named in the manifest, but no sample has that label: no problem,
                                   as a split may lack some; 0 where only a part was verified, or
                                   there are problems */
};

/* Reads everything and checks each shard's size and hash, each record's framing and checksums,
 * the counts and the index against the shards.  SHEAF_OK also if there are problems: they are
 * reported and counted.  An error means that the check itself could not be done. */
SHEAF_API SHEAF_CHECK int sheaf_verify(const struct sheaf_dataset *dataset,
                                       const struct sheaf_verify_options *options,
                                       struct sheaf_verify_result *result,
                                       struct sheaf_error *error);

/* Makes foreign shards a data set: reads them once and writes dataset.index and dataset.json
 * into `directory`, which must hold the shards.  SHEAF_ERR_EXISTS if it has a manifest and
 * `overwrite` is 0.  `peers` as sheaf_pack_options.index. */
SHEAF_API SHEAF_CHECK int sheaf_index(const char *directory, const char *peers, int overwrite,
                                      const struct sheaf_verify_options *options,
                                      struct sheaf_verify_result *result,
                                      struct sheaf_error *error);

/* ---- SageMaker's File mode, outside SageMaker ------------------------------------------------
 * Copies the objects of a source into a directory, as they are. */

struct sheaf_fetch_options {
    size_t sizeof_options;          /* set by _init */
    uint32_t host, hosts;           /* 0 of 1: every object; else each n-th (ShardedByS3Key) */
    uint64_t memory_bytes;          /* hard ceiling for what is under way; the list of objects is
                                       apart; 256 MiB */
    unsigned threads;               /* that write and check; 0: the processors, 8 at most */
    sheaf_progress_fn *progress;    /* NULL */
    void *context;
    const volatile int *interrupt;  /* NULL; a nonzero value ends the work with INTERRUPTED */
};

SHEAF_API void sheaf_fetch_options_init(struct sheaf_fetch_options *options,
                                        size_t sizeof_options);

struct sheaf_fetch_result {
    uint64_t objects, bytes;            /* that the directory is to have */
    uint64_t kept, kept_bytes;          /* of those: there already; bytes also of files begun */
    uint64_t fetched, fetched_bytes;
    uint64_t verified;                  /* of those fetched: by hash or MD5, not by size alone */
    uint64_t repeated;                  /* objects that a manifest names again */
    uint64_t unfinished;                /* passed over: of a run that packs, or was killed */
    uint64_t memory_peak_bytes;         /* <= memory_bytes */
};

/* Fetches a prefix, the objects of a manifest file or of an augmented manifest, or one object (as
 * sheaf_feed takes them) into `directory`, which is made if need be; names are relative to the
 * prefix.  Of an augmented manifest, each object is named by its key, and the manifest comes too,
 * with the host's lines.
 *
 * Before anything is fetched, names that cannot be files' below the directory or that collide are
 * refused (SHEAF_ERR_UNSUPPORTED, _EXISTS), and so is a lack of room (SHEAF_ERR_LIMIT).  A file
 * gets its name when it is whole and checked: against the hash in the data set's manifest, if it
 * is a shard of one, or else the ETag, where that is an MD5.  It gets its object's time, so a file
 * that has that and the size is kept by the next call, and one that differs is replaced; other
 * files are left alone.  A failed call leaves what was finished, and the beginnings of large files,
 * which the next one goes on with if the object's ETag is the same; `result` is written whatever
 * comes of it. */
SHEAF_API SHEAF_CHECK int sheaf_fetch(const char *source, const char *directory,
                                      const struct sheaf_fetch_options *options,
                                      struct sheaf_fetch_result *result,
                                      struct sheaf_error *error);

struct sheaf_warm_result {
    uint64_t files, bytes;
};

/* Reads every file below `path`, or the file that it is, once and to its end, several at a time:
 * so that a file system that fetches what it has only when it is read (Lustre, NFS, FUSE) has it.
 * Writes nothing.  Of the options, hosts and memory have no meaning here. */
SHEAF_API SHEAF_CHECK int sheaf_warm(const char *path,
                                     const struct sheaf_fetch_options *options,
                                     struct sheaf_warm_result *result,
                                     struct sheaf_error *error);

/* ---- SageMaker's Pipe mode, the feeding end -------------------------------------------------
 * Gives a reader of named pipes what SageMaker gives it: the objects of a source one after the
 * other, with nothing between them. */

struct sheaf_feed_options {
    size_t sizeof_options;          /* set by _init */
    const char *channel;            /* "train"; 1 to 64 letters, digits, '.', '-', '_' */
    uint64_t first_epoch;           /* 0 */
    uint64_t epochs;                /* 0: without end */
    int shuffle;                    /* 0; 1: the objects (lines of an augmented manifest) of each
                                       epoch in an order of (seed, epoch) */
    uint64_t seed;                  /* 0 */
    uint32_t host, hosts;           /* 0 of 1: every object; else each n-th of the order */
    int record_wrapper;             /* 0; 1: each object becomes a RecordIO record */
    int gunzip;                     /* 0; 1: the objects are gzip streams, and are unpacked */
    const char *attributes;         /* of an augmented manifest: "source-ref,label" */
    uint64_t memory_bytes;          /* hard ceiling for what is read ahead, and for records (a
                                       quarter each); the list of objects is apart; 256 MiB */
    sheaf_progress_fn *progress;    /* NULL; counts in the objects and bytes of an epoch */
    void *context;
    const volatile int *interrupt;  /* NULL; a nonzero value ends the work with INTERRUPTED */
};

SHEAF_API void sheaf_feed_options_init(struct sheaf_feed_options *options,
                                       size_t sizeof_options);

struct sheaf_feed_result {
    uint64_t epochs;            /* that had a reader */
    uint64_t closed_early;      /* of those: the reader closed the pipe before its end */
    uint64_t objects;           /* written whole; over all epochs */
    uint64_t bytes;             /* written */
    uint64_t left_out;          /* in the directory of a data set: what are none of its shards */
    uint64_t memory_peak_bytes; /* of what was read ahead */
};

/* Makes the named pipes `directory`/CHANNEL_EPOCH, one epoch after the other, waits for the reader
 * of each, and writes the source to it: a directory or prefix (in byte order of names; where
 * nothing is below the prefix, the objects whose names begin so), a manifest file, an augmented
 * manifest (of each line the attributes, in the order given: a NAME-ref is its object's bytes, a
 * string its text, anything else as the line has it), or one object.  Of a directory or prefix that
 * is a data set, the shards and nothing else.  A reader that closes its
 * pipe early has the next epoch next.  Pipes are removed when they are done, also after a failure.
 * A stream that a failure cuts short never ends where an object does.  SHEAF_ERR_EXISTS while
 * another process feeds the channel; SHEAF_ERR_CHANGED if an object is not what it was when the
 * call began.  `result` is written whatever comes of it. */
SHEAF_API SHEAF_CHECK int sheaf_feed(const char *source, const char *directory,
                                     const struct sheaf_feed_options *options,
                                     struct sheaf_feed_result *result,
                                     struct sheaf_error *error);

/* ---- Which input mode? ----------------------------------------------------------------------- */

#define SHEAF_SURVEY_DECADES 8

/* What a source consists of. */
struct sheaf_survey {
    uint64_t objects, bytes;
    uint64_t smallest_bytes, median_bytes, largest_bytes;   /* of an object */
    struct {                        /* objects of less than 1 kB, 10 kB, ... 1 GB; and the rest */
        uint64_t objects, bytes;
    } decades[SHEAF_SURVEY_DECADES];
    int is_dataset;                 /* it has a dataset.json that the packer wrote */
    uint64_t samples;               /* of the data set; else 0 */
    char place[16];                 /* "S3", "local disk", "FUSE", "Lustre", "NFS" */
};

/* Looks at a directory, prefix, manifest or augmented manifest (only the objects of that), and
 * reads none of the objects.  Of the options, only the last three have a meaning here. */
SHEAF_API SHEAF_CHECK int sheaf_survey(const char *source,
                                       const struct sheaf_fetch_options *options,
                                       struct sheaf_survey *survey, size_t sizeof_survey,
                                       struct sheaf_error *error);

/* What the estimates rest on: name, value, unit, meaning.  Prices are in US dollars; they and the
 * rates of services change: those that matter are to be looked up, or measured, and set. */
#define SHEAF_CONSTANTS(X)                                                                       \
    X(LIST_RATE,         "list-rate",         5500,   "objects/s", "listing of a prefix")        \
    X(FILE_RATE,         "file-rate",         200e6,  "B/s", "File mode's download")             \
    X(FILE_MOST,         "file-most",         100e9,  "B",   "what File mode is for, at most")   \
    X(SMALL_FILE,        "small-file",        50e6,   "B",   "objects below it are to be packed") \
    X(SHARD_SIZE,        "shard-size",        150e6,  "B",   "of a packed shard")                \
    X(GET_TIME,          "get-time",          0.03,   "s",   "to the first byte of an object")   \
    X(FILE_REQUESTS,     "file-requests",     16,     "",    "under way at once, File mode")     \
    X(FASTFILE_RATE,     "fastfile-rate",     600e6,  "B/s", "FastFile mode's reads")            \
    X(FASTFILE_READ,     "fastfile-read",     8e6,    "B",   "of a GET, FastFile mode")          \
    X(OPEN_FILES,        "open-files",        8,      "",    "files that are read at once")      \
    X(LOCAL_RATE,        "local-rate",        1000e6, "B/s", "the instance's own disk")          \
    X(PACK_RATE,         "pack-rate",         200e6,  "B/s", "packing")                          \
    X(PACK_REQUESTS,     "pack-requests",     128,    "",    "under way at once, packing")       \
    X(FSX_CREATE,        "fsx-create",        600,    "s",   "to make the file system")          \
    X(FSX_LEAST,         "fsx-least",         1.2e12, "B",   "the smallest file system")         \
    X(FSX_RATE,          "fsx-rate",          200,    "B/s/MB", "throughput by capacity")        \
    X(FSX_OPEN,          "fsx-open",          0.0005, "s",   "to open a file")                   \
    X(EFS_RATE,          "efs-rate",          300e6,  "B/s", "reads and writes")                 \
    X(EFS_OPEN,          "efs-open",          0.003,  "s",   "to open a file")                   \
    X(GET_PRICE,         "get-price",         0.4,    "$/M", "GET requests")                     \
    X(PUT_PRICE,         "put-price",         5,      "$/M", "PUT and LIST requests")            \
    X(FSX_PRICE,         "fsx-price",         0.14,   "$/GB/month", "capacity")                  \
    X(EFS_PRICE,         "efs-price",         0.30,   "$/GB/month", "what is stored")            \
    X(INSTANCE_PRICE,    "instance-price",    0,      "$/h", "all instances; 0: not counted")

enum sheaf_constant {
#define SHEAF_CONSTANT_ENUM(id, name, value, unit, meaning) SHEAF_CONSTANT_##id,
    SHEAF_CONSTANTS(SHEAF_CONSTANT_ENUM)
#undef SHEAF_CONSTANT_ENUM
    SHEAF_CONSTANT_COUNT
};

struct sheaf_advise_options {
    size_t sizeof_options;          /* set by _init */
    uint64_t epochs;                /* 10 */
    double reads_per_epoch;         /* 1: how often an epoch reads each object */
    double consumer_bytes_s;        /* 0: as fast as they come */
    double constants[SHEAF_CONSTANT_COUNT];
};

SHEAF_API void sheaf_advise_options_init(struct sheaf_advise_options *options,
                                         size_t sizeof_options);

/* PACK_FILE and PACK_FASTFILE: the objects are packed into shards first, once. */
enum sheaf_mode {
    SHEAF_MODE_FILE, SHEAF_MODE_FASTFILE, SHEAF_MODE_FSX, SHEAF_MODE_EFS,
    SHEAF_MODE_PACK_FILE, SHEAF_MODE_PACK_FASTFILE, SHEAF_MODE_COUNT
};

/* "File", "FastFile", "FSx for Lustre", "EFS", "pack, then File", "pack, then FastFile". */
SHEAF_API const char *sheaf_mode_name(enum sheaf_mode mode);

struct sheaf_mode_estimate {
    double prepare_s;               /* before the first job: packing, or filling a file system */
    double startup_s;               /* of the job, until training begins */
    double first_epoch_s, epoch_s;  /* the first, and each later one */
    double total_s;                 /* of the job: without prepare_s */
    double requests;                /* GET, PUT and LIST, over all epochs and the preparation */
    double request_cost;            /* $ */
    double other_cost;              /* $: the file system's, and the instances', over total_s */
};

#define SHEAF_REASONS_MOST 6

struct sheaf_advice {
    enum sheaf_mode mode;
    struct sheaf_mode_estimate estimates[SHEAF_MODE_COUNT];
    size_t reason_count;
    char reasons[SHEAF_REASONS_MOST][200];
};

/* Answers as AWS's guide does; pure.  SHEAF_ERR_ARGUMENT for a survey of nothing and for constants
 * that make no sense. */
SHEAF_API SHEAF_CHECK int sheaf_advise(const struct sheaf_survey *survey,
                                       const struct sheaf_advise_options *options,
                                       struct sheaf_advice *advice, size_t sizeof_advice,
                                       struct sheaf_error *error);

#ifdef __cplusplus
}
#endif

#endif
