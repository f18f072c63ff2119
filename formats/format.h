/* SPDX-License-Identifier: MIT
 *
 * What every container does, as a table of functions: bytes in, records out; no I/O, no threads,
 * no clock.  formats/FORMATS.md has the byte tables.
 *
 *   encode   sample -> bytes of one FRAME (a TFRecord or RecordIO record; all tar members of
 *            one key), appended to a buffer
 *   part     finds the extent of the next piece of a stream from its header alone, so that a
 *            reader may hop from header to header without reading what is between
 *   check    verifies all that a whole frame carries of its own, and gives the CRC that the
 *            index keeps
 *   decode   frame -> sample whose fields point into the frame
 *
 * A FRAME is one PART_START and the PART_NEXTs that follow it, without a gap. */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* A frame larger than this is refused wherever it is met, before anything is allocated. */
#define FRAME_LIMIT ((uint64_t)1 << 40)
#define KEY_LIMIT    4096       /* bytes of a path: key, dot and suffix */
#define FIELD_LIMIT  1024       /* fields of a sample */
#define LABEL_LIMIT  65536      /* labels of a sample */

enum part_kind {
    PART_MORE,      /* undecided: show at least `need` bytes from here (counted from data) */
    PART_START,     /* a new frame starts here; its first piece has `size` bytes */
    PART_NEXT,      /* `size` more bytes of the same frame */
    PART_SKIP,      /* `size` bytes that belong to no frame (directory, zero block, ...) */
};

struct part {
    enum part_kind kind;
    uint64_t size;
    size_t need;
};

/* What a container remembers between parts of one stream.  Zero-initialised by
 * format_scan_reset(); freed by format_scan_free(). */
struct format_scan {
    bool frame_open;            /* RecordIO: parts of a record are missing still; tar: `key` is
                                   the key of the frame that continues */
    unsigned zero_blocks;       /* tar: since the last member; two of them end an archive */
    bool no_more;               /* tar: nothing behind this damage can be told, whole as it is */
    struct buf key;             /* tar */
    uint64_t passed_over;       /* tar: members that are no sample's: links, devices,
                                   directories, names without key or suffix */
    struct buf passed_name;     /* tar: the last of them, NUL-terminated, for a report; no data
                                   if there was none */
};

/* A frame as the index or a scan has placed it. */
struct record {
    const uint8_t *data;        /* the frame's bytes, as stored (uncompressed) */
    size_t size;
    const char *name_line;      /* RecordIO: its line of the .lst, without the newline; or NULL */
    size_t name_line_size;
    uint64_t number;            /* in the data set */
    uint32_t shard;
    uint64_t record;            /* in the shard */
};

/* Text that need not be NUL-terminated. */
struct text {
    const char *data;           /* NULL: none */
    size_t size;
};

/* What a decoder must know of the data set.  All borrowed. */
struct decode_context {
    struct text stem;               /* name_stem() of the shard, for keys that have to be made
                                       up */
    const char *const *classes;     /* names of the labels from label_base up; or NULL */
    size_t class_count;
    int label_base;
    bool ours;                      /* it has a manifest of the packer's: records are as
                                       `encode` makes them, and a `cls` member that it made of
                                       the labels is no field */
    bool cls_is_label;              /* the same for a `cls` member, where `ours` is not set */
};

/* A feature of a tf.train.Example as its record has it, beside the field that was made of it: a
 * conversion into the same container writes it again, with its name, its type and all values. */
struct kept_feature {
    struct text name;
    const uint8_t *data;        /* the message Feature, `size` bytes */
    size_t size;
    bool is_value;              /* it is one value of bytes */
    const char *suffix;         /* the field's, the same pointer; NULL: it became no field */
    const void *content;        /* the field's data: others show that it was changed */
    size_t content_size;
    bool is_renamed;            /* the field got another name, which the feature gets, too */
};
struct kept_features {
    struct kept_feature *features;
    size_t count;
};

/* Scratch for one decoded sample; reused from sample to sample.  What a decoded sample points to
 * lives here or in the frame, until the next decode with the same scratch. */
struct decode_scratch {         /* zero-initialised */
    struct buf text;            /* keys, names: NUL-terminated strings */
    struct buf joined;          /* RecordIO: parts rejoined; TFRecord: lists as text */
    struct buf slices;          /* struct slice[] (sample.h) */
    struct buf fields;          /* struct sheaf_field[] */
    struct buf labels;          /* double[] */
    bool keeps;                 /* the caller's: features are wanted, if the container has them */
    struct buf kept;            /* struct kept_feature[] */
};

struct encode_context {
    const char *const *classes;     /* as above; class_name of the sample wins */
    size_t class_count;
    int label_base;
    const struct kept_features *kept;        /* of the sample; or NULL */
};

struct encoded {
    size_t size;                /* bytes appended to `out` */
    uint32_t crc;               /* as check() would give it */
    size_t name_line_size;      /* bytes appended to `names`, newline included; 0 without one */
    bool multipart;             /* RecordIO: it holds the magic */
};

/* Readers that have index files of their own (interop_index.c). */
enum { INTEROP_DALI = 1, INTEROP_MXNET = 2, INTEROP_WIDS = 4, INTEROP_ENERGON = 8 };

struct format_ops {
    enum sheaf_container id;
    const char *name;           /* "tfrecord" */
    const char *aliases[2];     /* what else people call it; options take these, files do not */
    const char *suffix;         /* ".tfrecord" */
    const char *words[2];       /* which of the parts of a file's name say it, behind a dot */
    bool has_names;             /* keys are in a .lst beside each shard (RecordIO) */
    bool has_members;           /* a frame is several parts, each whole for itself, so it does not
                                   show that one is missing, and equal keys join (tar) */
    bool keeps_class;           /* a frame has the name of its sample's class (TFRecord) */
    bool keeps_features;        /* encode() takes what decode() kept (TFRecord) */
    unsigned interop;           /* which other readers' index files a shard can have, */
    unsigned interop_always;    /* and which it always has */
    /* Appends the line of an index that lists frames; NULL with has_members: that lists members. */
    int (*index_line)(struct buf *index, uint64_t number, uint64_t offset, size_t size,
                      struct sheaf_error *err);
    /* The number that a frame of ours has for its sample: the plan's, in which samples that were
     * skipped keep theirs.  `joined` is overwritten.  NULL: frames have none. */
    int (*number)(const uint8_t *frame, size_t size, struct buf *joined, uint64_t *number,
                  struct sheaf_error *err);

    /* Appends the frame of `sample` to `out`, and to `names` its .lst line if has_names.  On
     * failure both are as they were.  SHEAF_ERR_LIMIT: too large for the container. */
    int (*encode)(const struct sheaf_sample *sample, const struct encode_context *context,
                  struct buf *out, struct buf *names, struct encoded *encoded,
                  struct sheaf_error *err);

    /* Where in its frame the content of a field comes to lie, so that it can be read to its place
     * in the buffer: what lies there, encode() does not copy.  It is exact if every field has its
     * data; of one that has none (NULL), what a frame says of its content is guessed.  SIZE_MAX:
     * encode() will not take the sample. */
    size_t (*content_at)(const struct sheaf_sample *sample, const struct encode_context *context,
                         const struct sheaf_field *field);

    /* Appends what ends a shard. */
    int (*finish)(struct buf *out, struct sheaf_error *err);

    /* Looks at the stream at `data`, of which `size` bytes are shown (at_end: there are no more
     * than these; at least one).  SHEAF_OK and *part; SHEAF_ERR_CORRUPT, SHEAF_ERR_TRUNCATED,
     * _UNSUPPORTED, _LIMIT with found and expected in the message (the caller puts shard and
     * offset before it).  The next call begins after the part's size; after PART_MORE at the
     * same place.  A part whose size passes what is left of the stream is the caller's to
     * find.  With at_end, PART_MORE does not occur. */
    int (*part)(struct format_scan *scan, const uint8_t *data, size_t size, bool at_end,
                struct part *part, struct sheaf_error *err);

    /* At the end of a stream: SHEAF_ERR_TRUNCATED if something is missing.  The last frame is
     * then not to be trusted either. */
    int (*end)(struct format_scan *scan, struct sheaf_error *err);

    /* How far ahead the next plausible frame begins (after damage): an offset in data, > 0, or
     * `size` rounded down to what is safe to drop if there is none in what is shown.  The scan
     * is then reset.  In a tar, the frame found may be the rest of a damaged one: it is not to
     * be trusted. */
    size_t (*resync)(const uint8_t *data, size_t size);

    /* Verifies a whole frame.  *crc, the index's: TFRecord: CRC-32C of the payload (not
     * masked); others: of the frame's bytes. The caller continues it over the name line
     * (without its newline) if there is one.  SHEAF_ERR_CORRUPT. */
    int (*check)(const uint8_t *frame, size_t size, uint32_t *crc, struct sheaf_error *err);

    /* SHEAF_ERR_CORRUPT if it cannot be understood.  Need not verify what check() does, but must
     * be safe on any bytes. */
    int (*decode)(const struct record *record, const struct decode_context *context,
                  struct decode_scratch *scratch, struct sheaf_sample *sample,
                  struct sheaf_error *err);

    /* How many bits of the first bytes of a stream speak for this container; 0: it is not. */
    unsigned (*bid)(const uint8_t *data, size_t size);
};

extern const struct format_ops tfrecord_ops, recordio_ops, webdataset_ops;

const struct format_ops *format_of(enum sheaf_container container);
int format_id_of(const char *name);     /* without aliases; -1: unknown */

/* The container that a stream (uncompressed) begins with, from its first bytes (1024 are
 * enough, fewer if the stream is shorter), the name deciding where the content cannot (an empty
 * stream).  NULL: none of them. */
const struct format_ops *format_detect(const uint8_t *data, size_t size, const char *name);

void format_scan_reset(struct format_scan *scan);
void format_scan_free(struct format_scan *scan);
void decode_scratch_free(struct decode_scratch *scratch);

#endif
