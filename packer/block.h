/* SPDX-License-Identifier: MIT
 *
 * A block is about 4 MiB of consecutive samples of one shard, which a worker thread reads and
 * encodes as one job. The output of a block depends on its samples only. The output is in four
 * buffers:
 *
 * - `raw` has a frame for each sample: the sample as the container stores it.
 * - `names` has the .lst line of each sample. It is used for RecordIO only.
 * - `stored` has the compressed form of `raw`. It is used if there is a codec.
 * - `samples` has a struct block_sample for each frame.
 *
 * block_run() fills a block from the files of a plan. block_add() adds a sample that a program
 * passes. block_finish() ends the block. */
#ifndef PACKER_BLOCK_H
#define PACKER_BLOCK_H

#include "base/buf.h"
#include "base/workers.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "formats/tally.h"
#include "image/image.h"
#include "image/jpeg_header.h"
#include "packer/plan/plan.h"
#include "packer/source/source.h"

struct block;
/* A function that receives each sample after block_run() has read the sample's files. It is used if
 * the run passes samples to a program and does not encode them. If a field is faulty, the function
 * sets block->refused to this field. */
typedef int block_take_fn(struct block *block, const struct sheaf_sample *sample,
                          struct sheaf_error *err);

/* The settings that all blocks of a run share. The settings do not change during the run. */
struct block_setup {
    const struct format_ops *format;
    const struct codec_ops *codec;      /* NULL: none */
    const char *interop;                /* list of readers that get index files; or NULL */
    struct encode_context context;
    const struct source *source;        /* block_run only: the source of its files */
    /* An interrupt flag that a signal handler or another thread may set. When it is set, the block
     * stops waiting for objects. NULL if the run cannot be interrupted. */
    const volatile int *interrupt;
    block_take_fn *take;                /* NULL: block_add is called; else block_run encodes
                                           nothing */
    bool checks;                /* JPEGs are checked by their markers */
    /* true if images of kinds that loaders do not expect (such as CMYK) are turned into plain
     * JPEGs */
    bool fix_images;
    bool decodes;               /* checks images by decoding them */
    struct image_settings images;
};

/* Returns whether images may be replaced. */
static inline bool setup_converts(const struct block_setup *setup)
{
    return setup->fix_images || setup->images.size != 0;
}

/* Returns the number of bytes of the run's memory that are reserved for decoded images. If the run
 * decodes images, this is half of `memory_bytes`, the run's memory. Otherwise it is 0. Blocks get
 * the rest. Half of the default memory is enough for images of 80 megapixels. */
static inline uint64_t setup_image_bytes(const struct block_setup *setup, uint64_t memory_bytes)
{
    return setup_converts(setup) || setup->decodes ? memory_bytes / 2 : 0;
}

struct block_sample {
    uint64_t number;            /* number in the data set, as planned */
    uint64_t frame_bytes;
    uint64_t payload_bytes;
    uint64_t key_hash;          /* for the table of keys */
    uint32_t crc;               /* the index's */
    uint32_t name_line_size;
    /* The sample's label + 1; 0 if the sample has no label; LABEL_OTHER if it has several labels,
     * or a label that is not a small integer. */
    uint64_t label;
};
#define LABEL_OTHER UINT64_MAX

/* A file that cannot be packed, or an image that was converted. The file's path and the reason are
 * texts in block.texts. */
struct block_problem {
    size_t path, reason;        /* offsets */
    int code;
    int because;                /* of enum sheaf_reason */
};

struct block {
    struct job job;
    const struct block_setup *setup;

    /* The task. */
    const struct plan *plan;            /* block_run only, as is `shard` */
    const struct plan_shard *shard;
    uint64_t first, end;                /* range of samples of the plan */
    bool ends_shard;                    /* whether it also contains the end of the container */
    bool at_worst;                      /* whether its limits are those of BLOCK_WORST */

    /* The result. */
    int code;
    struct sheaf_error error;
    /* true if encoding failed with SHEAF_ERR_LIMIT because a buffer of the block was too small; the
     * block is then encoded again with more memory */
    bool outgrown;
    struct buf raw, names, stored;
    struct buf samples;         /* struct block_sample[] */
    struct buf problems;        /* struct block_problem[] */
    struct buf conversions;     /* struct block_problem[]: images that were replaced */
    struct buf texts;
    struct codec_block codec_block;
    uint64_t payload_bytes, files;      /* of the samples in the block */
    uint64_t multipart;         /* samples */
    /* number of images that became smaller but were not converted to another kind; they are not in
     * `conversions` */
    uint64_t resized;
    struct cls_words unread, kept_labels, replaced;     /* as in struct problems */
    bool has_cls;               /* block_add only: some sample has a field `cls` */
    struct tally tally;         /* of their fields */

    /* For one sample after another. */
    /* Content of the current sample's files. One file may be missing, because it is read directly
     * to its position in `raw`. If the source is remote, `scratch` has the content of all files of
     * the block, because these files are fetched together. */
    struct buf scratch;
    size_t sample_start;        /* start of the sample's files in it */
    struct buf fetched;         /* struct block_fetched[] for the block's files, in order */
    struct buf fields;          /* struct sheaf_field[] */
    struct buf strings;         /* key of the sample, and names in lower case */
    struct buf labels;          /* double[], the numbers of a `cls` file */
    struct jpeg_reader *jpeg;
    const struct image_room *room;      /* for decoded images */
    struct buf converted;       /* JPEGs that were made from the sample's images */
    size_t conversions_before;  /* conversions.size and resized before the sample: restored */
    uint64_t resized_before;    /* if the sample is refused */
    uint64_t extra;             /* bytes that these buffers need beyond the usual size */
    const struct kept_features *kept;   /* block_add only: from the sample's record; or NULL */
    /* used by block_add() only: true if the caller has already decoded the sample's images as a
     * check, so that block_add() need not decode them */
    bool has_decoded;
    const struct sheaf_field *refused;  /* set by block_add; NULL: the error concerns the sample */
};

/* Initialises an empty block. `room` is the memory for decoded images, or NULL if the run decodes
 * no images. */
int block_open(struct block *block, const struct block_setup *setup,
               const struct image_room *room, struct sheaf_error *err);
void block_close(struct block *block);
/* Makes the block empty, but keeps its memory. */
void block_clear(struct block *block);
/* Frees the buffers' memory. */
void block_release(struct block *block);

/* The bytes that each buffer of a block needs. The size of the encoded samples is known only after
 * encoding, so there are two estimates. The estimate BLOCK_WORST is always enough. The estimate
 * BLOCK_USUAL is enough unless the data contains RecordIO's magic number many times. RecordIO
 * splits a record at each occurrence of this number, and each piece needs a header. */
struct block_need {
    uint64_t raw, names, stored, scratch, samples, converted;   /* bytes of these buffers */
};
enum block_guess { BLOCK_USUAL, BLOCK_WORST };

/* Adds the memory for one sample to `need`. The sample has `fields` fields with `bytes` bytes of
 * content in total. `text_bytes` is the total size of its labels and of the names of its files. The
 * name of a file includes the key. `longest_name` is the length of the longest file name. `guess`
 * says whether the memory must be enough in the usual or in the worst case. */
void block_need_sample(struct block_need *need, enum block_guess guess, uint64_t bytes,
                       uint64_t fields, uint64_t text_bytes, uint64_t longest_name);
/* Returns the memory that the samples block.first to block.end - 1 of the plan need in the block.
 * `guess` says whether the memory must be enough in the usual or in the worst case. */
struct block_need block_need_planned(const struct block *block, enum block_guess guess);
/* Returns the total size in bytes of a block's buffers. The caller must have added the memory for
 * the block's samples to `need`. This function adds to `need` the memory for the end of the
 * container and for the compressed bytes of the block. */
uint64_t block_need_total(struct block_need *need, const struct block_setup *setup);
/* Enlarges the buffers of a block to at least the sizes in `need`. The buffers do not grow any more
 * while the block is filled. */
int block_allow(struct block *block, const struct block_need *need, struct sheaf_error *err);

/* The result of fetching an object. */
struct block_fetched {
    int code;
    /* If `code` is an error, the offset of its message in block.texts. Unused otherwise. */
    size_t reason;
};

/* Fetches the objects of a block from a remote store into block->scratch, many of them at a time.
 * An object that has changed or is missing does not make the call fail, but is recorded in
 * block->fetched. Other errors are returned. (block_fetch.c) */
int block_fetch(struct block *block, struct sheaf_error *err);

/* Adds to block.problems, or (`why` NULL) to block.conversions. */
int block_note(struct block *block, const char *path, const struct sheaf_error *why,
               const char *reason, struct sheaf_error *err);
/* Replaces images of a sample by plain JPEGs, if the settings demand it. files[i] is the file of
 * fields[i]; its path appears in reports. (block_image.c)
 *
 * If the call fails because of one field, sets block->refused to this field. If it fails because
 * the block needs more memory, sets block->outgrown. In this case, also increases block->extra, the
 * number of bytes that the block needs beyond the usual size. */
int block_convert_images(struct block *block, struct sheaf_field *fields, size_t count,
                         const struct catalog_file *files, struct sheaf_error *err);

/* Describes how block_make_image() has changed an image. `why` is the reason for which it was
 * converted to a JPEG. If the image was not changed, or was only made smaller, `why` is "". */
struct image_change {
    char why[120];
    bool resized;
};
/* Makes a JPEG from an image if the settings demand it, and appends the JPEG to `out`. Sets *change
 * to describe what was done; if nothing was done, `out` is unchanged. Returns the errors of
 * image_to_jpeg(). */
int block_make_image(const struct block_setup *setup, const struct image_room *room,
                     const struct sheaf_field *field, struct buf *out, struct image_change *change,
                     struct sheaf_error *err);
/* Returns whether the error `code` is the fault of the image itself, and not of the machine (such
 * as lack of memory). */
bool block_blames_image(int code);

/* The job that fills a block: reads the samples' files, checks and encodes them, and finishes the
 * block. Sets block->code to its result. */
void block_run(struct job *job);

/* Checks the JPEGs of one sample and encodes it into the block. On failure the block's output is
 * unchanged. If the fault is in a field, block->refused is set to this field, and the error message
 * does not name the field. */
int block_add(struct block *block, const struct sheaf_sample *sample, struct sheaf_error *err);
/* A record that is copied. */
struct block_copy {
    const uint8_t *frame;
    size_t size;
    /* The record's line in the shard's .lst file, without its newline, or NULL if the container has
     * no such file. */
    const char *name_line;
    size_t name_line_size;
    uint32_t crc;               /* the index's */
    uint64_t number, label;     /* as in struct block_sample */
};
/* Copies a stored record and its .lst line into the block unchanged. The record is not decoded, so
 * the sample's fields are missing from the counts block->tally and block->payload_bytes. */
int block_copy(struct block *block, const struct block_copy *record, struct sheaf_error *err);
/* Compresses the block. If ends_shard is set, first appends the end of the container. */
int block_finish(struct block *block, struct sheaf_error *err);

static inline size_t block_sample_count(const struct block *block)
{
    return block->samples.size / sizeof(struct block_sample);
}

#endif
