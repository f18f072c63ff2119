/* SPDX-License-Identifier: MIT
 *
 * The table of containers. Each entry turns bytes into records and samples into bytes, without I/O,
 * threads or clock. formats/FORMATS.md has the byte tables.
 *
 *     encode   appends one FRAME, the bytes of a sample, to a buffer: a TFRecord or RecordIO
 *              record, or all tar members with one key
 *     part     finds the extent of the next part of a stream from the part's header alone, so that
 *              a reader can move from header to header without reading the bytes between them
 *     check    verifies all checksums that a whole frame carries, and returns the CRC for the index
 *     decode   turns a frame into a sample whose fields point into the frame
 *
 * In the stream, a FRAME consists of one PART_START and the PART_NEXTs that follow it without a
 * gap. */
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
    /* the kind of the part is not known yet, because more bytes are needed; the next call must
     * begin at the same position and pass at least `need` bytes */
    PART_MORE,
    /* a new frame (stored record) begins here; `size` is the size of the frame's first part */
    PART_START,
    PART_NEXT,      /* `size` more bytes of the same frame */
    /* `size` bytes that belong to no frame (stored record), such as a directory or a zero block */
    PART_SKIP,
};

struct part {
    enum part_kind kind;
    uint64_t size;
    size_t need;
};

/* State of a container between the parts of one stream. format_scan_reset() zero-initialises it,
 * and format_scan_free() frees it. */
struct format_scan {
    /* RecordIO: whether more parts of the record must follow. tar: whether a sample is being read,
     * whose key is `key`. */
    bool frame_open;
    /* tar: number of zero blocks since the last member; two of them end an archive */
    unsigned zero_blocks;
    /* tar: set if a global pax header is damaged; such a header may change the names of all later
     * members, so it is not known to which samples they belong */
    bool no_more;
    struct buf key;             /* tar */
    /* tar: number of members that belong to no sample (links, devices, directories, names
     * without a key or suffix) */
    uint64_t passed_over;
    /* tar: NUL-terminated name of the last member that belonged to no sample, for a report;
     * empty if there was none */
    struct buf passed_name;
    struct key_seen keys;       /* tar: keys of the frames so far */
    /* tar: whether the key of the next frame is not checked for being a repeated key. This is set
     * after damage: the next frame may be the rest of a damaged sample whose key is recorded
     * already, and so would seem to be repeated. */
    bool skips_key;
};

/* A frame (stored record) that was found by the index or by a scan of the shard. */
struct record {
    const uint8_t *data;        /* the frame's bytes as stored, after decompression */
    size_t size;
    /* RecordIO: the record's line in the .lst file, without the newline; NULL without a .lst
     * file */
    const char *name_line;
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
    /* whether our packer wrote the data set, so that its records are as encode() makes them. In a
     * tar, a member KEY.cls that encode() made of the labels then does not become a field. */
    bool ours;
    /* whether a `cls` member is the label although our packer did not write the data set */
    bool cls_is_label;
};

/* A feature of a tf.train.Example as it was read, kept beside the field that was made of it. If the
 * sample is converted into the same container, the feature is written again, with its name, its
 * type and all its values. */
struct kept_feature {
    struct text name;
    const uint8_t *data;        /* the message Feature, `size` bytes */
    size_t size;
    bool is_value;              /* whether it is a single value of bytes */
    /* suffix of the field that was decoded from the feature, or NULL if there is no such field;
     * this pointer is equal to the field's own pointer to its suffix */
    const char *suffix;
    /* data pointer of the field as decoded; a field that has another data pointer when its sample
     * is encoded has got new data, and the feature is not written */
    const void *content;
    size_t content_size;
    /* whether the field was renamed; the feature is then written with the new name */
    bool is_renamed;
};
struct kept_features {
    struct kept_feature *features;
    size_t count;
};

/* Scratch memory for one decoded sample, which the next sample reuses. The sample points into this
 * memory or into the frame (stored record). The sample is valid until the memory is used for the
 * next decode. */
struct decode_scratch {         /* zero-initialised */
    struct buf text;            /* keys, names: NUL-terminated strings */
    /* for RecordIO: the joined parts of a record; for TFRecord: lists of numbers as text */
    struct buf joined;
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
    /* number of bytes appended to `names`, including the newline; 0 if the container has no .lst
     * file */
    size_t name_line_size;
    bool multipart;             /* RecordIO: it holds the magic */
};

/* Other readers with index files of their own (interop_index.c). */
enum { INTEROP_DALI = 1, INTEROP_MXNET = 2, INTEROP_WIDS = 4, INTEROP_ENERGON = 8 };

struct format_ops {
    enum sheaf_container id;
    const char *name;           /* "tfrecord" */
    /* other common names of the container; options accept them, but they are never written to
     * files */
    const char *aliases[2];
    const char *suffix;         /* ".tfrecord" */
    const char *words[2];       /* suffixes of a file's name that indicate the container */
    /* whether a .lst file beside each shard has the keys (RecordIO) */
    bool has_names;
    /* whether a frame (stored record) consists of several independent members (tar). A reader does
     * not notice if such a member is missing, and merges adjacent samples with equal keys. */
    bool has_members;
    /* whether a frame (stored record) contains the name of its sample's class, as in TFRecord */
    bool keeps_class;
    bool keeps_features;        /* whether encode() accepts the features that decode() kept
                                   (TFRecord) */
    /* the content of a sample's fields must have fewer bytes in total than this number; 0 means no
     * limit */
    uint64_t content_most;
    /* bit mask of INTEROP_ values: the foreign programs for which a shard's index files can be
     * written */
    unsigned interop;
    unsigned interop_always;    /* and which it always has */
    /* Appends a frame's line to another program's index file, which lists frames (stored records).
     * This function pointer is NULL if has_members is set, because index files then list members
     * instead. */
    int (*index_line)(struct buf *index, uint64_t number, uint64_t offset, size_t size,
                      struct sheaf_error *err);
    /* Sets *number to the sample number that our packer stored in a frame (stored record). It is
     * the sample's number in the packing plan, so the numbers have gaps where samples were skipped.
     * `joined` is scratch memory. This function pointer is NULL for a container whose frames hold
     * no numbers. */
    int (*number)(const uint8_t *frame, size_t size, struct buf *joined, uint64_t *number,
                  struct sheaf_error *err);

    /* Appends the frame (stored record) of `sample` to `out`, and its .lst line to `names` if
     * has_names is set. On failure both are unchanged. Returns SHEAF_ERR_LIMIT if the sample is too
     * large for the container. */
    int (*encode)(const struct sheaf_sample *sample, const struct encode_context *context,
                  struct buf *out, struct buf *names, struct encoded *encoded,
                  struct sheaf_error *err);

    /* Returns the position at which encode() will put the content of `field` in the sample's frame
     * (stored record). If the caller reads the content to this position in the buffer to which
     * encode() appends, encode() need not copy the content. The position is exact if all fields
     * have their data, and an estimate if the data of some field is NULL. Returns SIZE_MAX if
     * encode() would refuse the sample. */
    size_t (*content_at)(const struct sheaf_sample *sample, const struct encode_context *context,
                         const struct sheaf_field *field);

    /* Appends what ends a shard. */
    int (*finish)(struct buf *out, struct sheaf_error *err);

    /* Finds the part of a stream that begins at `data`. `size`, at least 1, is the number of bytes
     * there. `at_end` tells that the stream has no more bytes. On success sets *part. Its kind is
     * PART_MORE if more bytes are needed; the next call must then begin at the same position.
     * Otherwise the next call must begin after the part. PART_MORE does not occur if `at_end` is
     * set. The caller must check that a part does not extend past the end of the stream. On failure
     * returns SHEAF_ERR_CORRUPT, _TRUNCATED, _UNSUPPORTED or _LIMIT with a message that states what
     * was found and expected (the caller adds shard and offset). */
    int (*part)(struct format_scan *scan, const uint8_t *data, size_t size, bool at_end,
                struct part *part, struct sheaf_error *err);

    /* Called at the end of a stream. Returns SHEAF_ERR_TRUNCATED if something is missing. The last
     * frame (stored record) must then not be trusted either. */
    int (*end)(struct format_scan *scan, struct sheaf_error *err);

    /* Finds the next plausible frame (stored record) after damage at `data`. Returns true if there
     * is one, and sets *skip to its offset in `data`, which is greater than 0. Otherwise sets *skip
     * to the offset from which the search must continue when more bytes are shown. In a tar, the
     * frame found may be the rest of a damaged frame and must not be trusted. */
    bool (*resync)(const uint8_t *data, size_t size, size_t *skip);

    /* Verifies a whole frame (stored record) and sets *crc to the value for the index. For a
     * TFRecord this is the CRC-32C of the payload (not masked), otherwise the CRC-32C of the
     * frame's bytes. If the record has a line in a .lst file, the caller continues the CRC over
     * this line (without its newline). Returns SHEAF_ERR_CORRUPT if a checksum does not match. */
    int (*check)(const uint8_t *frame, size_t size, uint32_t *crc, struct sheaf_error *err);

    /* Makes a sample of a frame (stored record). Returns SHEAF_ERR_CORRUPT if the frame is
     * malformed. The function need not verify the checksums, which check() verifies, but it must be
     * safe for any bytes. */
    int (*decode)(const struct record *record, const struct decode_context *context,
                  struct decode_scratch *scratch, struct sheaf_sample *sample,
                  struct sheaf_error *err);

    /* Returns the number of bits in the first bytes of a stream that match this container, or 0 if
     * the stream cannot be this container. */
    unsigned (*bid)(const uint8_t *data, size_t size);
};

extern const struct format_ops tfrecord_ops, recordio_ops, webdataset_ops;

const struct format_ops *format_of(enum sheaf_container container);
int format_id_of(const char *name);     /* without aliases; -1: unknown */

/* Returns the length of a file name without the suffixes of a codec and a container: 3 for
 * "a.1.tar.gz". If the name has no such suffix, one last suffix that consists of letters is left
 * out: 5 for "train.bin". Other dots stay, because they distinguish shards:
 * "cifar10.tfrecord-00000-of-00002". */
size_t format_stem(const char *name);

/* Returns the container of an uncompressed stream from its first bytes, or NULL if no known
 * container matches. 1024 bytes are enough; a shorter stream must be passed whole. If the content
 * does not show the container (as in an empty stream), the file name `name` decides. */
const struct format_ops *format_detect(const uint8_t *data, size_t size, const char *name);

void format_scan_reset(struct format_scan *scan);
void format_scan_free(struct format_scan *scan);
/* Resets everything except the recorded keys. Called after damage. */
void format_scan_restart(struct format_scan *scan);
void decode_scratch_free(struct decode_scratch *scratch);

#endif
