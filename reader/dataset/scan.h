/* SPDX-License-Identifier: MIT
 *
 * Finds the extent (range of bytes) of every sample in a foreign shard by a scan of its headers.
 * The scan reads from header to header (framing.h) and skips nearly all content. */
#ifndef READER_SCAN_H
#define READER_SCAN_H

#include "formats/index.h"
#include "reader/dataset/framing.h"
#include "store/store.h"

struct header_scan {
    struct framing framing;         /* the first member */
    struct store_object *object;
    struct buf window;              /* the bytes at window_offset */
    uint64_t window_offset;
    struct buf extents;             /* struct scan_extent[], one for each sample */
    /* for a tar, set by the caller: whether samples with the same key become one sample */
    bool joins;
    /* if `joins` is set: keys of all samples found, one after another, each with a NUL */
    struct buf keys;
    size_t key;                     /* offset in `keys` of the last found frame's key */
};

void scan_open(struct header_scan *s, const struct format_ops *format, struct store_object *object);
/* Scans to the end of the shard or to the next damage. Returns SHEAF_END at the end. Returns
 * SHEAF_ERR_CORRUPT or SHEAF_ERR_TRUNCATED for damage. The message states the position and the
 * reason, and the number of lost bytes if nothing was found after the damage. The function may then
 * be called again to continue. */
int scan_run(struct header_scan *s, struct sheaf_error *err);
/* Makes an index section for the samples that were found. The section contains no CRCs. If samples
 * were joined, it also lists the pieces of which they consist. */
int scan_section(struct header_scan *s, struct index_section **section, struct sheaf_error *err);
void scan_close(struct header_scan *s);

#endif
