/* SPDX-License-Identifier: MIT
 *
 * Finds the extent (range of bytes) of each sample in a foreign shard (a shard without a manifest).
 * For this purpose, reads one header after another (framing.h), and skips nearly all content. */
#ifndef READER_SCAN_H
#define READER_SCAN_H

#include "formats/index.h"
#include "reader/dataset/framing.h"
#include "store/store.h"

struct header_scan {
    struct framing framing;         /* must be the first member */
    struct store_object *object;
    struct buf window;              /* the bytes at window_offset */
    uint64_t window_offset;
    struct buf extents;             /* elements of type struct scan_extent, one for each sample */
    /* Set by the caller for a tar. If true, all files with the same key become one sample. */
    bool joins;
    /* if `joins` is set: the keys of all samples that were found, each ended by a NUL */
    struct buf keys;
    size_t key;                     /* offset in `keys` of the last found frame's key */
};

void scan_open(struct header_scan *s, const struct format_ops *format, struct store_object *object);
/* Scans the shard up to its end or up to the next damage. Returns SHEAF_END at the end of the
 * shard.
 *
 * Returns SHEAF_ERR_CORRUPT or SHEAF_ERR_TRUNCATED if the shard is damaged. The message says where
 * and why. If no sample was found after the damage, it also says how many bytes are lost. The
 * caller may call the function again to continue after the damage. */
int scan_run(struct header_scan *s, struct sheaf_error *err);
/* Makes the index section of the shard from the samples that were found. The section has no
 * checksums (CRCs). If `joins` is set, and files with the same key are not adjacent in the tar, the
 * section also has a list of pieces: the ranges of the tar in which the files of each sample
 * lie. */
int scan_section(struct header_scan *s, struct index_section **section, struct sheaf_error *err);
void scan_close(struct header_scan *s);

#endif
