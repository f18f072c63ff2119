/* SPDX-License-Identifier: MIT
 *
 * A block: about 4 MiB of consecutive samples of one shard, which are read and encoded as one job.
 * The output of a block depends on its samples only.
 *
 * The output is in four buffers. `raw` has a frame for each sample, which is the sample in the form
 * in which the container stores it. `names` has the .lst line of each sample, for RecordIO only.
 * `stored` has the compressed form of `raw`, if a codec is used. `samples` has a struct
 * block_sample for each frame.
 *
 * block_run() fills a block from the files of a plan. block_add() fills it with samples from a
 * program. block_finish() ends the block. */
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
/* The type of a function that is called for each sample of a block after the sample's files were
 * read. If such a function is set, block_add is not called for the samples. The function may set
 * block->refused. */
typedef int block_take_fn(struct block *block, const struct sheaf_sample *sample,
                          struct sheaf_error *err);

/* The constant settings that all blocks of a run share. */
struct block_setup {
    const struct format_ops *format;
    const struct codec_ops *codec;      /* NULL: none */
    const char *interop;                /* list of readers that get index files; or NULL */
    struct encode_context context;
    const struct source *source;        /* block_run only: the source of its files */
    /* NULL, or a flag; once it is not 0, the block stops waiting for objects */
    const volatile int *interrupt;
    block_take_fn *take;                /* NULL: block_add is called; else block_run encodes
                                           nothing */
    bool checks;                /* JPEGs are checked by their markers */
    /* whether images of kinds that loaders do not expect are turned into plain JPEGs */
    bool fix_images;
    bool decodes;               /* checks images by decoding them */
    struct image_settings images;
};

/* Returns whether images may be replaced. */
static inline bool setup_converts(const struct block_setup *setup)
{
    return setup->fix_images || setup->images.size != 0;
}

/* Returns how many of the run's `memory_bytes` are for decoded images. This is half of the memory;
 * blocks get the other half. Half of the default memory is enough for images of 80
 * megapixels. */
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
    /* label + 1; 0 if the sample has no label; LABEL_OTHER if its label is not one small integer */
    uint64_t label;
};
#define LABEL_OTHER UINT64_MAX

/* A bad file, or a converted file. Its path and the reason are texts in block.texts. */
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
    /* whether encoding failed with SHEAF_ERR_LIMIT because a buffer was too small; the block is
     * then encoded again with more memory */
    bool outgrown;
    struct buf raw, names, stored;
    struct buf samples;         /* struct block_sample[] */
    struct buf problems;        /* struct block_problem[] */
    struct buf conversions;     /* struct block_problem[]: images that were replaced */
    struct buf texts;
    struct codec_block codec_block;
    uint64_t payload_bytes, files;      /* of the samples in the block */
    uint64_t multipart;         /* samples */
    /* number of images that were made smaller and are not listed in `conversions` */
    uint64_t resized;
    struct cls_words unread, kept_labels, replaced;     /* as in struct problems */
    bool has_cls;               /* block_add only: some sample has a field `cls` */
    struct tally tally;         /* of their fields */

    /* For one sample after another. */
    /* content of a sample's files, except a file that is read directly to its position in `raw`;
     * for a remote source, content of all files of the block */
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
    /* used in block_add only: whether the sample's images were already decoded, so that they
     * need not be decoded again */
    bool has_decoded;
    const struct sheaf_field *refused;  /* set by block_add; NULL: the error concerns the sample */
};

/* Opens a block. `room` is the memory for decoded images; NULL if the run decodes no images. */
int block_open(struct block *block, const struct block_setup *setup,
               const struct image_room *room, struct sheaf_error *err);
void block_close(struct block *block);
/* Makes the block empty, but keeps its memory. */
void block_clear(struct block *block);
/* Frees the buffers' memory. */
void block_release(struct block *block);

/* The memory that a block needs. The size of its frames is known only after encoding, so there are
 * two estimates. The first is enough unless the data contains RecordIO's magic number many times.
 * The second is always enough. */
struct block_need {
    uint64_t raw, names, stored, scratch, samples, converted;   /* bytes of these buffers */
};
enum block_guess { BLOCK_USUAL, BLOCK_WORST };

/* Adds the memory for one sample to `need`. The sample has `bytes` bytes of payload in `fields`
 * fields. `text_bytes` is the size of its labels and of its file names together; each file name
 * contains the key. `longest_name` is the length of the longest of these names. */
void block_need_sample(struct block_need *need, enum block_guess guess, uint64_t bytes,
                       uint64_t fields, uint64_t text_bytes, uint64_t longest_name);
/* Returns the memory for the plan's samples from block.first up to, but not including,
 * block.end. */
struct block_need block_need_planned(const struct block *block, enum block_guess guess);
/* Adds to `need` the memory for the end of a block. Returns the total memory that the block
 * needs. */
uint64_t block_need_total(struct block_need *need, const struct block_setup *setup);
/* Enlarges the buffers to at least these sizes. Afterwards the buffers do not grow. */
int block_allow(struct block *block, const struct block_need *need, struct sheaf_error *err);

/* The result of fetching an object. */
struct block_fetched {
    int code;
    /* if `code` is an error: the offset in block.texts at which the text of the error begins */
    size_t reason;
};

/* Fetches the objects of a block into its scratch buffer, many at a time. Objects that changed or
 * are missing are recorded in block.fetched. Other errors are returned. (block_fetch.c) */
int block_fetch(struct block *block, struct sheaf_error *err);

/* Adds to block.problems, or (`why` NULL) to block.conversions. */
int block_note(struct block *block, const char *path, const struct sheaf_error *why,
               const char *reason, struct sheaf_error *err);
/* Replaces images of a sample by plain JPEGs, according to the settings. `paths` are the paths of
 * the fields' files, for reports. If the error is the fault of one field, sets block->refused to
 * this field. If the block needs more memory, sets block->outgrown, and increases block->extra, the
 * number of bytes that the block needs beyond the usual size. (block_image.c) */
int block_convert_images(struct block *block, struct sheaf_field *fields, size_t count,
                         const struct catalog_file *files, struct sheaf_error *err);
/* Returns SHEAF_ERR_CORRUPT or SHEAF_ERR_UNSUPPORTED if the field is an image that cannot be
 * decoded. Returns SHEAF_OK for fields that are not images. */
int block_check_image(struct block *block, const struct sheaf_field *field,
                      struct sheaf_error *err);

/* How an image was changed. `why` is the reason for converting the image; it is "" if the image was
 * only made smaller, or not changed. */
struct image_change {
    char why[120];
    bool resized;
};
/* If the settings demand that an image becomes a JPEG, makes the JPEG and appends it to `out`.
 * *change tells whether a JPEG was made. Returns the errors of image_to_jpeg. */
int block_make_image(const struct block_setup *setup, const struct image_room *room,
                     const struct sheaf_field *field, struct buf *out, struct image_change *change,
                     struct sheaf_error *err);
/* Returns whether an error is a fault of the image itself, and not of the machine. */
bool block_blames_image(int code);

/* The job of a block: reads the samples' files, checks and encodes them, and finishes the block.
 * The result is block.code. */
void block_run(struct job *job);

/* Encodes one sample and checks its JPEGs. If the call fails, the block is unchanged. If a field is
 * faulty, block->refused is set to this field, and the error message does not name the field. */
int block_add(struct block *block, const struct sheaf_sample *sample, struct sheaf_error *err);
/* A record that is copied. */
struct block_copy {
    const uint8_t *frame;
    size_t size;
    /* the record's line in the .lst file, without its newline; NULL if there is no such file */
    const char *name_line;
    size_t name_line_size;
    uint32_t crc;               /* the index's */
    uint64_t number, label;     /* as in struct block_sample */
};
/* Copies a record and its .lst line into the block. Does not parse the record, so its fields are
 * not added to block->tally and block->payload_bytes. */
int block_copy(struct block *block, const struct block_copy *record, struct sheaf_error *err);
/* Appends the end of the shard (if ends_shard is set) and compresses the block. */
int block_finish(struct block *block, struct sheaf_error *err);

static inline size_t block_sample_count(const struct block *block)
{
    return block->samples.size / sizeof(struct block_sample);
}

#endif
