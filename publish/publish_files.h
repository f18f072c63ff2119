/* SPDX-License-Identifier: MIT
 *
 * Publishes the files of a data set, or of an append, except the manifest: the index, the table of
 * keys, and the reports.
 *
 * Requests to a distant store take time, so several run at once. First the states of all files are
 * requested. Then the index is made. At the same time, the claim (the file that says which run
 * packs here) and the existing files are checked. Then all files are written. A file is written
 * only if its state has not changed since the first step. */
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
    /* lines of the two reports skipped.tsv and converted.tsv; both are NULL if the reports were
     * published with another split */
    const struct buf *reports[2];
    const char *fingerprint;            /* of the manifest, once the index is made */
    struct manifest_found there;        /* the present manifest */
    char *urls[FILE_KINDS];
    struct store_seen seen[FILE_KINDS];
    struct store_writer *writer;        /* of the index, until the index is published */
};

/* Requests the state (existence, size and stamp) of each file that will be written, and of the
 * manifest. `skipped` and `converted` are the lines of the reports, or NULL if they were published
 * with another split. The caller must call publish_files_close even after a failure. */
int publish_files_open(struct publish_files *files, const struct output *output, uint32_t split,
                       const struct buf *skipped, const struct buf *converted,
                       struct sheaf_error *err);
void publish_files_close(struct publish_files *files);

/* Writes the index, which readers do not see yet, and checks the claim (the file that says which
 * run packs here). Returns SHEAF_ERR_CHANGED if the destination belongs to another run, and
 * SHEAF_ERR_EXISTS if another program has written a file under a name that the run needs. */
int publish_files_make(struct publish_files *files, struct publish_index *index,
                       struct sheaf_error *err);
/* Publishes all files. `fingerprint` is the fingerprint (a hash) of the manifest that the caller
 * will publish afterwards. Also checks the claim, the file that says which run packs here. So the
 * caller may then replace the present manifest (files->there). */
int publish_files_put(struct publish_files *files, const char *fingerprint,
                      struct sheaf_error *err);

#endif
