/* SPDX-License-Identifier: MIT
 *
 * The table of containers. Each entry turns bytes into records and samples into bytes, without I/O,
 * threads or clock. formats/FORMATS.md has the byte tables.
 *
 *     encode   appends one FRAME, the bytes of a sample, to a buffer: a TFRecord or RecordIO
 *              record, or all tar members with one key
 *     part     finds the extent of the next piece of a stream from its header alone, so that a
 *              reader can move from header to header without reading the bytes between them
 *     check    verifies all checksums that a whole frame carries, and returns the CRC for the index
 *     decode   turns a frame into a sample whose fields point into the frame
 *
 * A FRAME is one PART_START and the PART_NEXTs that follow it without a gap. */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stdbool.h>

#include "base/buf.h"
#include "formats/key_seen.h"
#include "sheaf.h"

/* A larger frame is refused before anything is allocated. */
#define FRAME_LIMIT ((uint64_t)1 << 40)
#define KEY_LIMIT    4096       /* bytes of a path: key, dot and suffix */
#define FIELD_LIMIT  1024       /* fields of a sample */
#define LABEL_LIMIT  65536      /* labels of a sample */

enum part_kind {
    PART_MORE,      /* the part is undecided; the next call must show at least `need` bytes,
                       counted from `data` */
    PART_START,     /* a new frame starts here; its first piece has `size` bytes */
    PART_NEXT,      /* `size` more bytes of the same frame */
    PART_SKIP,      /* `size` bytes that belong to no frame (directory, zero block, ...) */
};

struct part {
    enum part_kind kind;
    uint64_t size;
    size_t need;
};

/* State of a container between the parts of one stream. format_scan_reset() zero-initialises it,
 * and format_scan_free() frees it. */
struct format_scan {
    bool frame_open;            /* RecordIO: more parts of the record must follow. tar: `key` is
                                   the key of the open frame. */
    unsigned zero_blocks;       /* tar: zero blocks since the last member; two of them end an
                                   archive */
    bool no_more;               /* tar: nothing after this damage can be identified, even if it
                                   is intact */
    struct buf key;             /* tar */
    uint64_t passed_over;       /* tar: number of members that belong to no sample: links,
                                   devices, directories, names without key or suffix */
    struct buf passed_name;     /* tar: NUL-terminated name of the last such member, for a
                                   report; empty if there was none */
    struct key_seen keys;       /* tar: keys of the frames so far */
    bool skips_key;             /* do not record the key of the next frame, which may be the rest
                                   of a damaged sample and is examined twice */
};

/* A frame, found by the index or by a scan. */
struct record {
    const uint8_t *data;        /* the frame's bytes as stored, after decompression */
    size_t size;
    const char *name_line;      /* RecordIO: the frame's line in the .lst, without the newline;
                                   or NULL */
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

/* Facts about the data set that a decoder needs. All pointers are borrowed. */
struct decode_context {
    struct text stem;               /* name_stem() of the shard, for made-up keys */
    const char *const *classes;     /* names of the labels from label_base on, or NULL */
    size_t class_count;
    int label_base;
    bool ours;                      /* whether the data set has a manifest of our packer: records
                                       are as `encode` makes them, and a `cls` member made of the
                                       labels is not a field */
    bool cls_is_label;              /* whether a `cls` member is the label even though `ours` is
                                       not set */
};

/* A feature of a tf.train.Example as its record has it, kept beside the field made of it. A
 * conversion into the same container writes it again with its name, its type and all values. */
struct kept_feature {
    struct text name;
    const uint8_t *data;        /* the message Feature, `size` bytes */
    size_t size;
    bool is_value;              /* whether it is a single value of bytes */
    const char *suffix;         /* suffix of the field made from the feature (the same pointer),
                                   or NULL if there is none */
    const void *content;        /* the field's data; a different pointer shows that the data was
                                   changed */
    size_t content_size;
    bool is_renamed;            /* whether the field was renamed; the feature then gets the new
                                   name as well */
};
struct kept_features {
    struct kept_feature *features;
    size_t count;
};

/* Scratch memory for one decoded sample, reused for the next. The sample points into this memory or
 * into the frame, and is valid until the next decode with the same scratch. */
struct decode_scratch {         /* zero-initialised */
    struct buf text;            /* keys, names: NUL-terminated strings */
    struct buf joined;          /* RecordIO: the joined parts of a record. TFRecord: lists as
                                   text. */
    struct buf slices;          /* struct slice[] (sample.h) */
    struct buf fields;          /* struct sheaf_field[] */
    struct buf labels;          /* double[] */
    bool keeps;                 /* set by the caller if features should be kept */
    struct buf kept;            /* struct kept_feature[] */
};

struct encode_context {
    const char *const *classes;     /* as above; a class_name in the sample takes precedence */
    size_t class_count;
    int label_base;
    const struct kept_features *kept;        /* of the sample; or NULL */
};

struct encoded {
    size_t size;                /* bytes appended to `out` */
    uint32_t crc;               /* as check() would give it */
    size_t name_line_size;      /* number of bytes appended to `names`, including the newline; 0
                                   without a line in the .lst */
    bool multipart;             /* RecordIO: it holds the magic */
};

/* Other readers with index files of their own (interop_index.c). */
enum { INTEROP_DALI = 1, INTEROP_MXNET = 2, INTEROP_WIDS = 4, INTEROP_ENERGON = 8 };

struct format_ops {
    enum sheaf_container id;
    const char *name;           /* "tfrecord" */
    const char *aliases[2];     /* other common names; options accept them, files do not contain
                                   them */
    const char *suffix;         /* ".tfrecord" */
    const char *words[2];       /* suffixes of a file's name that indicate the container */
    bool has_names;             /* whether the keys are in a .lst beside each shard (RecordIO) */
    bool has_members;           /* whether a frame consists of several independent members (tar).
                                   A missing member is then not noticed, and adjacent samples
                                   with equal keys merge */
    bool keeps_class;           /* whether a frame holds the name of its sample's class
                                   (TFRecord) */
    bool keeps_features;        /* whether encode() accepts the features that decode() kept
                                   (TFRecord) */
    uint64_t content_most;      /* limit of the bytes of a sample's fields, which must be less; 0
                                   for no limit */
    unsigned interop;           /* bit mask of the readers whose index files a shard can have */
    unsigned interop_always;    /* and which it always has */
    /* Appends a frame's line to an index file that lists frames. NULL if has_members is set,
     * because such index files list members instead. */
    int (*index_line)(struct buf *index, uint64_t number, uint64_t offset, size_t size,
                      struct sheaf_error *err);
    /* Returns the sample number that our packer stored in a frame. Numbers are those of the plan,
     * in which skipped samples keep theirs. `joined` is overwritten. NULL if frames hold no
     * numbers. */
    int (*number)(const uint8_t *frame, size_t size, struct buf *joined, uint64_t *number,
                  struct sheaf_error *err);

    /* Appends the frame of `sample` to `out`, and its .lst line to `names` if has_names is set. On
     * failure both are unchanged. Returns SHEAF_ERR_LIMIT if the sample is too large for the
     * container. */
    int (*encode)(const struct sheaf_sample *sample, const struct encode_context *context,
                  struct buf *out, struct buf *names, struct encoded *encoded,
                  struct sheaf_error *err);

    /* Returns the position of a field's content in its frame. A caller can read the content
     * directly to that position in the buffer, and encode() then does not copy it. The result is
     * exact if every field has its data. For a field without data (NULL), parts of the frame
     * that depend on its content are guessed. Returns SIZE_MAX if encode() will not accept the
     * sample. */
    size_t (*content_at)(const struct sheaf_sample *sample, const struct encode_context *context,
                         const struct sheaf_field *field);

    /* Appends what ends a shard. */
    int (*finish)(struct buf *out, struct sheaf_error *err);

    /* Finds the next part of the stream at `data`, of which `size` bytes, at least one, are shown.
     * at_end tells that there are no more. Returns SHEAF_OK and sets *part; or returns
     * SHEAF_ERR_CORRUPT, _TRUNCATED, _UNSUPPORTED or _LIMIT with a message that states what was
     * found and expected (the caller adds shard and offset). The next call begins after the part,
     * or at the same position after PART_MORE. With at_end, PART_MORE does not occur. The caller
     * must check that a part does not pass the end of the stream. */
    int (*part)(struct format_scan *scan, const uint8_t *data, size_t size, bool at_end,
                struct part *part, struct sheaf_error *err);

    /* Called at the end of a stream. Returns SHEAF_ERR_TRUNCATED if something is missing; the last
     * frame must then not be trusted either. */
    int (*end)(struct format_scan *scan, struct sheaf_error *err);

    /* Finds the next plausible frame after damage and resets the scan. Returns its offset in data,
     * greater than 0. If none is shown, returns the number of bytes that can be dropped safely. In
     * a tar, the frame found may be the rest of a damaged one and must not be trusted. */
    size_t (*resync)(const uint8_t *data, size_t size);

    /* Verifies a whole frame and sets *crc to the value for the index: the CRC-32C of the payload
     * (not masked) in a TFRecord, otherwise of the frame's bytes. The caller continues it over the
     * name line (without its newline) if there is one. Returns SHEAF_ERR_CORRUPT if a checksum does
     * not match. */
    int (*check)(const uint8_t *frame, size_t size, uint32_t *crc, struct sheaf_error *err);

    /* Makes a sample of a frame. Returns SHEAF_ERR_CORRUPT if the frame cannot be understood. It
     * need not verify what check() verifies, but must be safe on any bytes. */
    int (*decode)(const struct record *record, const struct decode_context *context,
                  struct decode_scratch *scratch, struct sheaf_sample *sample,
                  struct sheaf_error *err);

    /* Returns the number of bits in the first bytes of a stream that indicate this container, or 0
     * if the stream cannot be one. */
    unsigned (*bid)(const uint8_t *data, size_t size);
};

extern const struct format_ops tfrecord_ops, recordio_ops, webdataset_ops;

const struct format_ops *format_of(enum sheaf_container container);
int format_id_of(const char *name);     /* without aliases; -1: unknown */

/* Returns the length of a file's name without the suffixes of a codec and of a container, or, if it
 * has neither, without one last suffix of letters: 3 for "a.1.tar.gz", 5 for "train.bin".  Other
 * dots stay, because they tell shards apart: "cifar10.tfrecord-00000-of-00002". */
size_t format_stem(const char *name);

/* Returns the container of an uncompressed stream from its first bytes, or NULL if it is none of
 * ours. 1024 bytes are enough, fewer if the stream is shorter. The name decides where the content
 * cannot (an empty stream). */
const struct format_ops *format_detect(const uint8_t *data, size_t size, const char *name);

void format_scan_reset(struct format_scan *scan);
void format_scan_free(struct format_scan *scan);
/* Resets everything except the recorded keys. Called after damage. */
void format_scan_restart(struct format_scan *scan);
void decode_scratch_free(struct decode_scratch *scratch);

#endif
