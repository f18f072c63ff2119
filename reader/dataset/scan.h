/* SPDX-License-Identifier: MIT
 *
 * The scan of headers: finds the extent of every sample in a foreign shard. It reads from header to
 * header and skips nearly all content. */
#ifndef READER_SCAN_H
#define READER_SCAN_H

#include "formats/format.h"
#include "formats/index.h"
#include "store/store.h"

struct header_scan {
    const struct format_ops *format;
    struct store_object *object;
    struct format_scan state;
    struct buf window;              /* the bytes at window_offset */
    uint64_t window_offset;
    uint64_t offset;                /* of the next header */
    bool has_kept;                  /* `kept`, a header found after damage, comes next */
    struct sheaf_error kept;
    /* whether damage may have removed the beginning of the next sample */
    bool suspect;
    bool open;                      /* the last extent may grow */
    bool ended;                     /* the end was checked, and is wrong */
    /* number of members before the last damage that belong to no sample */
    uint64_t passed_over;
    struct buf extents;             /* struct extent[], one for each sample */
    /* for a tar, set by the caller: whether samples with the same key become one sample */
    bool joins;
    struct buf keys;                /* then: of the samples, each with a NUL */
    uint64_t records;               /* found, including bad records */
    uint64_t lost_bytes;            /* bytes lost after damage */
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
/* Returns the number of tar members scanned so far that belong to no sample. */
uint64_t scan_passed_over(const struct header_scan *s);
void scan_close(struct header_scan *s);

#endif
