/* SPDX-License-Identifier: MIT
 *
 * The header scan: finds the extent of every sample of a foreign shard. It reads from header to
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
    bool suspect;                   /* damage may have removed the start of the next sample */
    bool open;                      /* the last extent may grow */
    bool ended;                     /* the end was checked, and is wrong */
    uint64_t passed_over;           /* members before the last damage that belong to no sample */
    struct buf extents;             /* struct extent[], one for each sample */
    bool joins;                     /* set by the caller for a tar: samples with the same key
                                       become one */
    struct buf keys;                /* then: of the samples, each with a NUL */
    uint64_t records;               /* found, including bad records */
    uint64_t lost_bytes;            /* bytes lost after damage */
};

void scan_open(struct header_scan *s, const struct format_ops *format, struct store_object *object);
/* Scans to the end (returns SHEAF_END) or to the next damage. Returns SHEAF_ERR_CORRUPT or
 * SHEAF_ERR_TRUNCATED for damage; the message has the place and the reason, and the loss if nothing
 * was found after it. May then be called again. */
int scan_run(struct header_scan *s, struct sheaf_error *err);
/* Makes an index section, without CRCs, of the samples found. It has pieces if samples were
 * joined. */
int scan_section(struct header_scan *s, struct index_section **section, struct sheaf_error *err);
/* Returns the number of tar members so far that belong to no sample. */
uint64_t scan_passed_over(const struct header_scan *s);
void scan_close(struct header_scan *s);

#endif
