/* SPDX-License-Identifier: MIT
 *
 * The header scan: finds the extent of every sample of a foreign shard by hopping from header to
 * header, reading little else. */
#ifndef READER_SCAN_H
#define READER_SCAN_H

#include "formats/format.h"
#include "formats/index.h"
#include "store/store.h"

struct scan {
    const struct format_ops *format;
    struct store_object *object;
    struct format_scan state;
    struct buf window;              /* the bytes at window_offset */
    uint64_t window_offset;
    uint64_t offset;                /* of the next header */
    bool has_kept;                  /* `kept`, found in the search behind damage, comes next */
    struct sheaf_error kept;
    bool suspect;                   /* the next sample may have lost its start to damage */
    bool open;                      /* the last extent may grow */
    bool ended;                     /* the end was looked at, and found wrong */
    uint64_t passed_over;           /* before the last damage: members that are no sample's */
    struct buf extents;             /* struct extent[]: of the samples */
    bool joins;                     /* the caller's, of a tar: samples with one key become one */
    struct buf keys;                /* then: of the samples, each with a NUL */
    uint64_t records;               /* found, bad ones too */
    uint64_t lost_bytes;            /* behind damage, up to the end */
};

void scan_open(struct scan *s, const struct format_ops *format, struct store_object *object);
/* Goes on to the end (SHEAF_END) or the next damage (SHEAF_ERR_CORRUPT, _TRUNCATED, with place
 * and reason, and what is lost if nothing was found behind it); may then be called again. */
int scan_run(struct scan *s, struct sheaf_error *err);
/* What was found, as a section without CRCs; with pieces, if samples were joined. */
int scan_section(struct scan *s, struct index_section **section, struct sheaf_error *err);
/* How many members of a tar were no sample's up to here. */
uint64_t scan_passed_over(const struct scan *s);
void scan_close(struct scan *s);

#endif
