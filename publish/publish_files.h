/* SPDX-License-Identifier: MIT
 *
 * Publishes the files of a data set, or of an appended part, that come before its manifest: the
 * index, the table of keys, and the reports.
 *
 * In a store far away, each round trip counts. So all names are looked at together, the claim is
 * checked while the index is made, and the files are written together. The order is always the
 * same: a look, then a check of the claim, then a write that takes effect only if the file is still
 * the one that was seen. */
#ifndef PUBLISH_PUBLISH_FILES_H
#define PUBLISH_PUBLISH_FILES_H

#include "formats/manifest_growth.h"
#include "publish/destination.h"
#include "publish/publish_index.h"

enum publish_file_kind { FILE_INDEX, FILE_KEYS, FILE_SKIPPED, FILE_CONVERTED, FILE_KINDS };

struct publish_files {
    const struct output *output;
    uint32_t split;
    struct publish_index *index;
    const struct buf *reports[2];       /* lines of skipped.tsv and converted.tsv; NULL: another
                                           split has published them */
    const char *fingerprint;            /* of the manifest, once the index is made */
    struct manifest_found there;        /* the present manifest */
    char *urls[FILE_KINDS];
    struct store_seen seen[FILE_KINDS];
    struct store_writer *writer;        /* of the index, until the index is published */
};

/* Looks at the names of all files, and at the manifest. `skipped` and `converted` are the lines of
 * the reports, or NULL if another split has published them. Whether this succeeds or fails,
 * publish_files_close must be called. */
int publish_files_open(struct publish_files *files, const struct output *output, uint32_t split,
                       const struct buf *skipped, const struct buf *converted,
                       struct sheaf_error *err);
void publish_files_close(struct publish_files *files);

/* Makes the index, which nobody sees yet. Returns SHEAF_ERR_CHANGED if the destination belongs to
 * another run. */
int publish_files_make(struct publish_files *files, struct publish_index *index,
                       struct sheaf_error *err);
/* Publishes all files. The fingerprint is that of the manifest to come. Checks the claim again, so
 * that the caller may write the manifest over `there`. */
int publish_files_put(struct publish_files *files, const char *fingerprint,
                      struct sheaf_error *err);

#endif
