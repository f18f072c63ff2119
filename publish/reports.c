/* SPDX-License-Identifier: MIT
 *
 * Writes the reports of a run; see reports.h. */
#include "publish/reports.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash_text.h"
#include "publish/output_remove.h"

#define REPORTS_NAME "reports"      /* in the journal: one hash in each line */
#define REPORTS_MOST (SIZE_MAX / 4)

/* Reads the hashes of the reports that runs of this plan were about to write. Sets *hashes to NULL
 * if there are none. The caller frees *hashes. */
static int get_hashes(const struct output *o, char **hashes, struct sheaf_error *err)
{
    char *url = store_join(o->journal.directory, REPORTS_NAME);
    size_t size;
    int code;

    *hashes = NULL;
    code = url == NULL ? err_memory(err, strlen(o->journal.directory))
                       : store_get(url, REPORTS_MOST, hashes, &size, err);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static void hash_report(const void *lines, size_t size, char hash[HASH_TEXT_BYTES])
{
    hash_text(XXH3_128bits(lines, size), hash);
}

/* Sets *is to whether the report at `url` has one of the hashes in the text `hashes`. Sets *is to
 * true if there is no such file. */
static int has_hash(const char *url, const char *hashes, bool *is, struct sheaf_error *err)
{
    char *text = NULL, hash[HASH_TEXT_BYTES];
    size_t size = 0;
    const int code = store_get(url, REPORTS_MOST, &text, &size, err);

    *is = code == SHEAF_ERR_NOT_FOUND;
    if (code == SHEAF_OK) {
        hash_report(text, size, hash);
        *is = strstr(hashes, hash) != NULL;
    }
    free(text);
    return *is ? SHEAF_OK : code;
}

int reports_check(const struct output *o, const char *url, const struct store_seen *seen,
                  const struct buf *lines, struct sheaf_error *err)
{
    char *hashes = NULL, own[HASH_TEXT_BYTES];
    bool is_own = false;
    int code;

    if (!seen->is_there)
        return SHEAF_OK;
    code = get_hashes(o, &hashes, err);
    if (code == SHEAF_OK && hashes != NULL)
        code = has_hash(url, hashes, &is_own, err);
    free(hashes);
    hash_report(lines->data, lines->size, own);
    /* Releases before 0.4 noted no hashes. */
    if (code == SHEAF_OK && !is_own && lines->size != 0 && seen->bytes == lines->size)
        code = has_hash(url, own, &is_own, err);
    if (code != SHEAF_OK || is_own)
        return code;
    return err_set(err, SHEAF_ERR_EXISTS, "%s: already exists, and is not the report of this run: "
                   "move it away and run this again", url);
}

int reports_note(const struct output *o, const struct buf *const reports[2],
                 struct sheaf_error *err)
{
    struct buf text = BUF_INIT(REPORTS_MOST);
    char *hashes = NULL, hash[HASH_TEXT_BYTES];
    int code = SHEAF_OK;
    size_t noted = 0;

    if (reports[0]->size == 0 && reports[1]->size == 0)
        return SHEAF_OK;
    code = get_hashes(o, &hashes, err);
    if (code == SHEAF_OK && hashes != NULL) {
        noted = strlen(hashes);
        code = buf_append(&text, hashes, noted, err);
    }
    for (size_t i = 0; i < 2 && code == SHEAF_OK; i++) {
        hash_report(reports[i]->data, reports[i]->size, hash);
        if (reports[i]->size != 0 && (hashes == NULL || strstr(hashes, hash) == NULL))
            code = buf_printf(&text, err, "%s\n", hash);
    }
    if (code == SHEAF_OK && text.size != noted)
        code = output_put_over(o, o->journal.directory, REPORTS_NAME, text.data, text.size, NULL,
                               err);
    free(hashes);
    buf_free(&text);
    return code;
}

int reports_put(const struct output *o, const char *url, const struct store_seen *seen,
                const struct buf *lines, struct sheaf_error *err)
{
    struct store_seen now;

    if (lines->size != 0)
        return journal_put_file(&o->journal, url, lines->data, lines->size, NULL, seen, &now, err);
    return seen->is_there ? journal_remove_seen(&o->journal, url, seen, err) : SHEAF_OK;
}
