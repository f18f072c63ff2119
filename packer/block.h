/* SPDX-License-Identifier: MIT
 *
 * A block: a run of consecutive samples of one shard, some 4 MiB of them, read and encoded as one
 * job.  What it makes depends on its samples alone.
 *
 *     raw      frame | frame | frame | ...              as the container has them
 *     names    line  | line  | line  | ...              RecordIO: their .lst lines
 *     stored   raw, compressed                          with a codec
 *     samples  struct block_sample for each frame
 *
 * A block is filled either by block_run() from the files of a plan, or by block_add() with
 * samples that a program made; then block_finish() ends it. */
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

/* Takes a sample that was read, in the place of block_add; it may set block->refused. */
struct block;
typedef int block_take_fn(struct block *block, const struct sheaf_sample *sample,
                          struct sheaf_error *err);

/* What all blocks of a run share; it never changes. */
struct block_setup {
    const struct format_ops *format;
    const struct codec_ops *codec;      /* NULL: none */
    const char *interop;                /* list of other readers that get index files; or NULL */
    struct encode_context context;
    const struct source *source;        /* block_run only: of its files */
    const volatile int *interrupt;      /* NULL; nonzero: objects need not be waited for */
    block_take_fn *take;                /* NULL: block_add; else block_run encodes nothing */
    bool checks;                /* JPEGs are checked by their markers */
    bool fix_images;            /* images of files that loaders do not expect become plain JPEGs */
    bool decodes;               /* images are checked by decoding them */
    struct image_settings images;
};

/* Whether images may become others. */
static inline bool setup_converts(const struct block_setup *setup)
{
    return setup->fix_images || setup->images.size != 0;
}

struct block_sample {
    uint64_t number;            /* in the data set, as planned */
    uint64_t frame_bytes;
    uint64_t payload_bytes;
    uint64_t key_hash;          /* for the table of keys */
    uint32_t crc;               /* the index's */
    uint32_t name_line_size;
    uint64_t label;             /* + 1; 0: it has none; LABEL_OTHER: no single small integer */
};
#define LABEL_OTHER UINT64_MAX

/* A bad file, or one that was converted; path and reason are texts in block.texts. */
struct block_problem {
    size_t path, reason;        /* offsets */
    int code;
    int because;                /* of enum sheaf_reason */
};

struct block {
    struct job job;
    const struct block_setup *setup;

    /* What to do. */
    const struct plan *plan;            /* these two: block_run only */
    const struct plan_shard *shard;
    uint64_t first, end;                /* samples of the plan */
    bool ends_shard;                    /* it also holds what ends a container */
    bool at_worst;                      /* its limits are BLOCK_WORST's */

    /* What came of it. */
    int code;
    struct sheaf_error error;
    bool outgrown;              /* SHEAF_ERR_LIMIT: raw.limit was too low; to be done again */
    struct buf raw, names, stored;
    struct buf samples;         /* struct block_sample[] */
    struct buf problems;        /* struct block_problem[] */
    struct buf conversions;     /* struct block_problem[]: images that became others */
    struct buf texts;
    struct codec_block codec_block;
    uint64_t payload_bytes, files;      /* of the samples that are in it */
    uint64_t multipart;         /* samples */
    uint64_t resized;           /* images that were made smaller, and are not in `conversions` */
    struct cls_words unread, kept_labels, replaced;     /* as in struct problems */
    bool has_cls;               /* block_add only: some sample has a field `cls` */
    struct tally tally;         /* of their fields */

    /* For one sample after the other. */
    struct buf scratch;         /* its files, but for one that is read to its place in `raw`; or of
                                   a remote source those of the whole block */
    size_t sample_start;        /* where its files begin there */
    struct buf fetched;         /* struct block_fetched[], of the block's files in order */
    struct buf fields;          /* struct sheaf_field[] */
    struct buf strings;         /* its key, and names in lower case */
    struct buf labels;          /* double[], of a `cls` file */
    struct jpeg_reader *jpeg;
    const struct image_room *room;      /* for decoded images */
    struct buf converted;       /* JPEGs that were made of the sample's images */
    size_t conversions_before;  /* conversions.size and resized without the sample, which hold */
    uint64_t resized_before;    /*   again if it is refused */
    uint64_t extra;             /* bytes that these need beyond what is usual */
    const struct kept_features *kept;   /* block_add only: of the sample's record; or NULL */
    bool has_decoded;           /* block_add only: the sample's images need not be decoded again */
    const struct sheaf_field *refused;  /* by block_add; NULL: what it says is of the sample */
};

/* `room`: of decoded images; NULL: the setup decodes none. */
int block_open(struct block *block, const struct block_setup *setup,
               const struct image_room *room, struct sheaf_error *err);
void block_close(struct block *block);
/* Empties it, and keeps its memory. */
void block_clear(struct block *block);
/* Gives its memory back. */
void block_release(struct block *block);

/* How much memory a block takes.  The frames' size is known only after encoding, so there are
 * two guesses: what always does but for data made to swell (RecordIO's magic, over and over), and
 * what always does. */
struct block_need {
    uint64_t raw, names, stored, scratch, samples, converted;   /* bytes of these buffers */
};
enum block_guess { BLOCK_USUAL, BLOCK_WORST };

/* Adds what a sample needs: `bytes` of payload in `fields` fields, whose names (with the key
 * before each) and labels have `text_bytes` and `longest_name`. */
void block_need_sample(struct block_need *need, enum block_guess guess, uint64_t bytes,
                       uint64_t fields, uint64_t text_bytes, uint64_t longest_name);
/* Of block.first to block.end of the plan. */
struct block_need block_need_planned(const struct block *block, enum block_guess guess);
/* Adds what ends a block; returns the sum. */
uint64_t block_need_total(struct block_need *need, const struct block_setup *setup);
/* Makes the buffers as large as that, at least; they grow no further. */
int block_allow(struct block *block, const struct block_need *need, struct sheaf_error *err);

/* What came of an object. */
struct block_fetched {
    int code;
    size_t reason;              /* a text in block.texts, if it is an error */
};

/* Fetches the objects of a block into its scratch, many at a time.  That one of them has changed
 * or vanished is noted in block.fetched; other errors are the result.  (block_fetch.c) */
int block_fetch(struct block *block, struct sheaf_error *err);

/* Adds to block.problems, or (`why` NULL) to block.conversions. */
int block_note(struct block *block, const char *path, const struct sheaf_error *why,
               const char *reason, struct sheaf_error *err);
/* Whether a field of this name, in either case, is to be a JPEG. */
bool block_is_jpeg(const char *name);
/* Replaces images of a sample by plain JPEGs, as the setup says.  `paths`: of its fields' files, as
 * they are reported.  On failure block->refused says of which field, if it is a field's fault, or
 * block->outgrown that it needs block->extra.  (block_image.c) */
int block_convert_images(struct block *block, struct sheaf_field *fields, size_t count,
                         const struct catalog_file *files, struct sheaf_error *err);
/* SHEAF_ERR_CORRUPT or _UNSUPPORTED: an image does not decode.  Other fields are not looked at. */
int block_check_image(struct block *block, const struct sheaf_field *field,
                      struct sheaf_error *err);

/* What became of an image: the reason why it was converted, or "" if it at most became smaller. */
struct image_change {
    char why[120];
    bool resized;
};
/* Appends to `out` the JPEG that the setup makes of an image.  *change says whether there is one.
 * Errors as of image_to_jpeg. */
int block_make_image(const struct block_setup *setup, const struct image_room *room,
                     const struct sheaf_field *field, struct buf *out, struct image_change *change,
                     struct sheaf_error *err);
/* Whether an error is of the image, and not of the machine. */
bool block_blames_image(int code);
/* Whether the name of a field is that of an image. */
bool block_is_image(const char *name);

/* The job: reads, checks, encodes, finishes.  Result in block.code. */
void block_run(struct job *job);

/* Encodes one sample, JPEGs checked.  On failure the block is as it was, and if it is a field's,
 * block->refused says which one, and the error does not. */
int block_add(struct block *block, const struct sheaf_sample *sample, struct sheaf_error *err);
/* Appends what ends the shard (ends_shard), and compresses. */
int block_finish(struct block *block, struct sheaf_error *err);

static inline size_t block_sample_count(const struct block *block)
{
    return block->samples.size / sizeof(struct block_sample);
}

#endif
