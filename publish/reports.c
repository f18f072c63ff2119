/* SPDX-License-Identifier: MIT
 *
 * Writes the reports of a run; see reports.h. */
#include "publish/reports.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash_text.h"
#include "publish/output_remove.h"

#define REPORTS_NAME "reports"      /* in the journal: a line "SIZE HASH" for each report */
#define REPORTS_MOST (SIZE_MAX / 4)
#define NOTE_BYTES   (HASH_TEXT_BYTES + 24)

/* Reads the notes of the reports that runs of this plan were about to write. Sets *notes to an
 * empty text if there are none. The caller frees *notes. */
static int get_notes(const struct output *o, char **notes, struct sheaf_error *err)
{
    char *url = store_join(o->journal.directory, REPORTS_NAME);
    size_t size;
    int code;

    *notes = NULL;
    code = url == NULL ? err_memory(err, strlen(o->journal.directory))
                       : store_get(url, REPORTS_MOST, notes, &size, err);
    free(url);
    if (code != SHEAF_ERR_NOT_FOUND)
        return code;
    *notes = strdup("");
    return *notes == NULL ? err_memory(err, 1) : SHEAF_OK;
}

/* Writes the line that notes a report, with a newline before it and after it. */
static void note_of(const void *lines, size_t size, char note[NOTE_BYTES])
{
    char hash[HASH_TEXT_BYTES];

    hash_text(XXH3_128bits(lines, size), hash);
    snprintf(note, NOTE_BYTES, "\n%zu %s\n", size, hash);
}

/* Sets *is to whether the report `seen` at `url` is noted in the text `notes`. The report is read
 * only if a report of its size is noted. Sets *is to true if the file no longer exists. */
static int is_noted(const char *url, const struct store_seen *seen, const char *notes, bool *is,
                    struct sheaf_error *err)
{
    char *text = NULL, note[NOTE_BYTES];
    size_t size = 0;
    int code;

    *is = false;
    snprintf(note, sizeof(note), "\n%llu ", (unsigned long long)seen->bytes);
    if (strstr(notes, note) == NULL)
        return SHEAF_OK;
    code = store_get(url, (size_t)seen->bytes, &text, &size, err);
    *is = code == SHEAF_ERR_NOT_FOUND;
    if (code == SHEAF_OK) {
        note_of(text, size, note);
        *is = strstr(notes, note) != NULL;
    }
    free(text);
    return *is || code == SHEAF_ERR_LIMIT ? SHEAF_OK : code;
}

int reports_check(const struct output *o, const char *url, const struct store_seen *seen,
                  const struct buf *lines, struct sheaf_error *err)
{
    char *notes = NULL, own[NOTE_BYTES];
    bool is_own = false;
    int code;

    if (!seen->is_there)
        return SHEAF_OK;
    code = get_notes(o, &notes, err);
    if (code == SHEAF_OK)
        code = is_noted(url, seen, notes, &is_own, err);
    free(notes);
    /* Releases before 0.4 wrote no notes. */
    note_of(lines->data, lines->size, own);
    if (code == SHEAF_OK && !is_own && lines->size != 0)
        code = is_noted(url, seen, own, &is_own, err);
    if (code != SHEAF_OK || is_own)
        return code;
    return err_set(err, SHEAF_ERR_EXISTS, "%s: already exists, and is not the report of this run: "
                   "move it away and run this again", url);
}

int reports_note(const struct output *o, const struct buf *const reports[2],
                 struct sheaf_error *err)
{
    struct buf text = BUF_INIT(REPORTS_MOST);
    char *notes = NULL, note[NOTE_BYTES];
    int code = SHEAF_OK;
    size_t noted = 0;

    if (reports[0]->size == 0 && reports[1]->size == 0)
        return SHEAF_OK;
    code = get_notes(o, &notes, err);
    if (code == SHEAF_OK) {
        noted = strlen(notes);
        code = buf_append(&text, notes, noted, err);
    }
    for (size_t i = 0; i < 2 && code == SHEAF_OK; i++) {
        note_of(reports[i]->data, reports[i]->size, note);
        if (reports[i]->size != 0 && strstr(notes, note) == NULL)
            code = buf_printf(&text, err, "%s", note);
    }
    if (code == SHEAF_OK && text.size != noted)
        code = output_put_over(o, o->journal.directory, REPORTS_NAME, text.data, text.size, NULL,
                               err);
    free(notes);
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
