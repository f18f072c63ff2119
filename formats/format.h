/* SPDX-License-Identifier: MIT
 *
 * The interface of a container (a file format of shards, such as tar). Each container has one
 * struct format_ops, whose functions find and decode the records in a shard, and encode samples.
 * They do no I/O, start no threads and read no clock. formats/FORMATS.md specifies the bytes.
 *
 * A FRAME is the stored form of one sample: a TFRecord or RecordIO record, or all tar members with
 * one key. A frame consists of parts, such as the members of a tar, without gaps between them.
 *
 * The main functions are:
 * - encode() appends the frame of a sample to a buffer.
 * - part() finds the extent of the next part of a stream from the part's header alone.
 * - check() verifies all checksums of a whole frame, and returns the CRC for the index.
 * - decode() turns a frame into a sample whose fields point into the frame. */
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
    /* More bytes are needed to tell the kind of the next part. The next call must begin at the same
     * position and pass at least `need` bytes. */
    PART_MORE,
    /* The first part of a new frame (a stored record). The part has `size` bytes. */
    PART_START,
    PART_NEXT,      /* `size` more bytes of the same frame */
    /* `size` bytes that do not belong to a frame (a stored record), such as a directory or zero
     * block in a tar */
    PART_SKIP,
};

struct part {
    enum part_kind kind;
    uint64_t size;
    size_t need;
};

/* State of a container's part() function between the parts of one stream. format_scan_reset()
 * zero-initialises it, and format_scan_free() frees it. */
struct format_scan {
    /* RecordIO: true if the current record continues in the next part. tar: true if the members of
     * a sample are being read; `key` is then the key of this sample. */
    bool frame_open;
    /* tar: number of zero blocks since the last member. An archive ends with two of them. */
    unsigned zero_blocks;
    /* tar: set after damage in a global pax header. The damaged header might change the names of
     * all later members, so nobody can tell to which samples they belong. */
    bool no_more;
    struct buf key;             /* tar */
    /* tar: number of members so far that do not belong to a sample, such as links, devices,
     * directories, and files whose names have no key or no suffix */
    uint64_t passed_over;
    /* tar: name of the last member that does not belong to a sample, NUL-terminated, for a report.
     * Empty if there was no such member. */
    struct buf passed_name;
    struct key_seen keys;       /* tar: keys of the frames so far */
    /* tar: set after damage. The next frame may then be the rest of a damaged sample, and have the
     * same key as the beginning of this sample. So its key is not compared with earlier keys. */
    bool skips_key;
};

/* The stored bytes of one sample (its frame), found by the index or by a scan of the shard. */
struct record {
    const uint8_t *data;        /* the frame's bytes as stored, after decompression */
    size_t size;
    /* RecordIO: the line about this record in the shard's .lst file, without the newline. NULL if
     * the shard has no .lst file. */
    const char *name_line;
    size_t name_line_size;
    uint64_t number;            /* number of the sample in the data set */
    uint32_t shard;
    uint64_t record;            /* number of the record in the shard */
};

/* Text that need not be NUL-terminated. */
struct text {
    const char *data;           /* NULL means that the text is missing */
    size_t size;
};

/* Facts about the data set that a decoder needs. The struct does not own the memory that its
 * pointers refer to. */
struct decode_context {
    struct text stem;               /* name_stem() of the shard, for made-up keys */
    const char *const *classes;     /* names of the labels from label_base on, or NULL */
    size_t class_count;
    int label_base;
    /* true if our packer wrote the data set. All records then have the form that encode() writes.
     * For example, a tar member KEY.cls that encode() made from the labels does not become a
     * field. */
    bool ours;
    /* WebDataset: our packer writes the labels of a sample as a tar member KEY.cls. In the member's
     * header, the group name is TAR_LABEL_GROUP, so that a reader can tell it from a packed file.
     * If `ours` (see above) or `cls_is_label` is true, a reader takes only the labels from such a
     * member, and makes no field of it. */
    bool cls_is_label;
};

/* A feature of a tf.train.Example as it was read, kept in addition to the field that was made of
 * it. If the sample becomes an Example again, the feature is written with its own name, type and
 * values. */
struct kept_feature {
    struct text name;
    const uint8_t *data;        /* the message Feature, `size` bytes */
    size_t size;
    bool is_value;              /* whether it is a single value of bytes */
    /* The suffix of the field that the decoder made of the feature, or NULL if the decoder made no
     * field. The field's own suffix is the same pointer. So the feature of a field is found by
     * comparing pointers instead of texts. */
    const char *suffix;
    /* Address and size of the field's data when the field was decoded. If the field has other data
     * when the sample is encoded, this feature is out of date, and a feature with the new data is
     * written instead. */
    const void *content;
    size_t content_size;
    /* true if the field was renamed since it was decoded; the feature is then written with the new
     * name */
    bool is_renamed;
};
struct kept_features {
    struct kept_feature *features;
    size_t count;
};

/* Memory for the sample that was decoded last. The sample points into this memory or into its frame
 * (stored record). The sample is valid until the memory is used to decode another sample. */
struct decode_scratch {         /* zero-initialised */
    struct buf text;            /* keys, names: NUL-terminated strings */
    /* RecordIO: the joined parts of a record. TFRecord: lists of numbers as text, which are the
     * content of fields. */
    struct buf joined;
    struct buf slices;          /* struct slice[] (sample.h) */
    struct buf fields;          /* struct sheaf_field[] */
    struct buf labels;          /* double[] */
    bool keeps;                 /* set by the caller if features should be kept */
    struct buf kept;            /* struct kept_feature[] */
};

struct encode_context {
    const char *const *classes;     /* class names; the sample's own class_name comes first */
    size_t class_count;
    int label_base;
    const struct kept_features *kept;        /* features kept with the sample; or NULL */
};

struct encoded {
    size_t size;                /* bytes appended to `out` */
    uint32_t crc;               /* the CRC that check() would return */
    /* size of the line for the .lst file that encode() has appended to its parameter `names`,
     * including the newline; 0 if the container has no .lst files */
    size_t name_line_size;
    bool multipart;             /* RecordIO: the record has several parts */
};

/* Other readers with index files of their own (interop_index.c). */
enum { INTEROP_DALI = 1, INTEROP_MXNET = 2, INTEROP_WIDS = 4, INTEROP_ENERGON = 8 };

struct format_ops {
    enum sheaf_container id;
    const char *name;           /* "tfrecord" */
    /* other common names of the container, which the user may give in options; Sheaf never writes
     * them into files */
    const char *aliases[2];
    const char *suffix;         /* ".tfrecord" */
    const char *words[2];       /* suffixes of a file's name that indicate the container */
    /* true if each shard has a .lst file, which holds the keys of its samples (RecordIO) */
    bool has_names;
    /* true if a frame (the stored form of a sample) consists of several independent members, as in
     * a tar. Readers of such a container do not notice if a member is missing, and join adjacent
     * samples with equal keys. */
    bool has_members;
    /* true if a frame (stored record) contains the name of the sample's class, as in a TFRecord */
    bool keeps_class;
    bool keeps_features;        /* whether encode() accepts the features that decode() kept
                                   (TFRecord) */
    /* The total size in bytes of a sample's fields must be less than this number; 0 if the
     * container has no limit. */
    uint64_t content_most;
    /* The programs for which index files of a shard can be written, as a bit mask of INTEROP_DALI,
     * INTEROP_MXNET and so on. */
    unsigned interop;
    unsigned interop_always;    /* programs whose index files are always written */
    /* Appends the line for one frame (stored record) to the index file of another program.
     * `index_line` is NULL if has_members is set, because the index file of a tar lists members
     * instead of frames. */
    int (*index_line)(struct buf *index, uint64_t number, uint64_t offset, size_t size,
                      struct sheaf_error *err);
    /* Sets *number to the sample number that our packer stored in a frame (stored record). This is
     * the sample's number in the packing plan, so the numbers of skipped samples are missing.
     * `joined` is scratch memory. This function pointer is NULL if the container's frames hold no
     * numbers. */
    int (*number)(const uint8_t *frame, size_t size, struct buf *joined, uint64_t *number,
                  struct sheaf_error *err);

    /* Appends the stored form of `sample` to `out`. If has_names is set, appends the sample's line
     * for the .lst file to `names`. On failure both buffers are unchanged. Returns SHEAF_ERR_LIMIT
     * if the sample is too large for the container. */
    int (*encode)(const struct sheaf_sample *sample, const struct encode_context *context,
                  struct buf *out, struct buf *names, struct encoded *encoded,
                  struct sheaf_error *err);

    /* Returns the position of the content of `field` in the frame (stored record) that encode()
     * will write, relative to the beginning of the frame. A caller can read a file directly to this
     * position in the output buffer of encode(). Then encode() need not copy the content.
     *
     * If the data of any field is still NULL, the position is only an estimate. Returns SIZE_MAX if
     * encode() would refuse the sample. */
    size_t (*content_at)(const struct sheaf_sample *sample, const struct encode_context *context,
                         const struct sheaf_field *field);

    /* Appends the end of a shard. */
    int (*finish)(struct buf *out, struct sheaf_error *err);

    /* Examines the next part of a stream, which begins at `data`, and sets *part to its kind and
     * size. `size` is the number of bytes that are available there, at least 1. `at_end` means that
     * the stream has no more bytes.
     *
     * If the kind is PART_MORE, the next call must begin at the same position and pass more bytes.
     * PART_MORE does not occur if `at_end` is set. After any other kind, the next call must begin
     * after the part. The caller must check that the part does not extend past the end of the
     * stream.
     *
     * On failure returns SHEAF_ERR_CORRUPT, _TRUNCATED, _UNSUPPORTED or _LIMIT. The message states
     * what was found and what was expected, and the caller adds shard and offset. */
    int (*part)(struct format_scan *scan, const uint8_t *data, size_t size, bool at_end,
                struct part *part, struct sheaf_error *err);

    /* Tells the container that the stream has ended. Returns SHEAF_ERR_TRUNCATED if the end of the
     * container is missing, such as a tar's zero blocks. The caller must then also discard the last
     * frame (stored record). */
    int (*end)(struct format_scan *scan, struct sheaf_error *err);

    /* Finds the next plausible frame (stored record) after damage at `data`. Returns true if there
     * is one, and sets *skip to the frame's offset in `data`, which is greater than 0. Otherwise
     * returns false, and sets *skip to the offset from which the caller must search again with more
     * bytes.
     *
     * In a tar, the frame found may be the rest of a damaged frame, so the caller must not trust
     * it. */
    bool (*resync)(const uint8_t *data, size_t size, size_t *skip);

    /* Verifies the checksums of a whole frame (stored record) and sets *crc to the value for the
     * index. For a TFRecord, the value is the CRC-32C of the payload, without TFRecord's mask. For
     * other containers, the value is the CRC-32C of the frame's bytes. If the record has a line in
     * a .lst file, the caller continues the CRC over this line (without its newline).
     *
     * Returns SHEAF_ERR_CORRUPT if a checksum does not match. */
    int (*check)(const uint8_t *frame, size_t size, uint32_t *crc, struct sheaf_error *err);

    /* Decodes a frame (stored record) into a sample. Returns SHEAF_ERR_CORRUPT if the frame is
     * malformed. An implementation need not verify checksums, because check() does. But it must be
     * safe for any bytes. */
    int (*decode)(const struct record *record, const struct decode_context *context,
                  struct decode_scratch *scratch, struct sheaf_sample *sample,
                  struct sheaf_error *err);

    /* Returns how many bits of a stream's first bytes match this container. Returns 0 if the stream
     * cannot be this container. Returns FORMAT_BID_ZEROS if the bytes are zeros, which match a tar
     * without members. */
    unsigned (*bid)(const uint8_t *data, size_t size);
};

#define FORMAT_BID_ZEROS 1u

extern const struct format_ops tfrecord_ops, recordio_ops, webdataset_ops;

const struct format_ops *format_of(enum sheaf_container container);
int format_id_of(const char *name);     /* knows no aliases; -1 if unknown */

/* Returns the length of a file name without the suffixes of a codec and a container: 3 for
 * "a.1.tar.gz". If the name has no such suffix, one last suffix of letters is left out: 5 for
 * "train.bin". Other dots stay, because they distinguish shards:
 * "cifar10.tfrecord-00000-of-00002". */
size_t format_stem(const char *name);

/* Returns the container of an uncompressed stream from its first `size` bytes. 1024 bytes are
 * enough; the caller must pass all bytes of a shorter stream. If the content does not show the
 * container, because the stream is empty or begins with zeros, the suffix of the file name `name`
 * decides. If `name` is NULL or has no known suffix, a stream that begins with zeros is a tar
 * without members. Returns NULL if no known container matches. */
const struct format_ops *format_detect(const uint8_t *data, size_t size, const char *name);
/* Returns an error if the fields of a sample, which have `bytes` bytes, are too large for a record
 * of the container. */
int format_check_content(const struct format_ops *format, uint64_t bytes, struct sheaf_error *err);

void format_scan_reset(struct format_scan *scan);
void format_scan_free(struct format_scan *scan);
/* Resets everything except the recorded keys. Called after damage. */
void format_scan_restart(struct format_scan *scan);
void decode_scratch_free(struct decode_scratch *scratch);

#endif
