/* SPDX-License-Identifier: MIT
 *
 * The files before a manifest; see publish_files.h. */
#include "publish/publish_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "publish/output_remove.h"
#include "publish/reports.h"
#include "publish/several.h"
#include "publish/strays.h"
#include "store/over.h"

static const char *const names[FILE_KINDS] = {
    [FILE_INDEX] = INDEX_NAME, [FILE_KEYS] = KEYS_NAME,
    [FILE_SKIPPED] = SKIPPED_NAME, [FILE_CONVERTED] = CONVERTED_NAME,
};

/* ---- Looking --------------------------------------------------------------------------------- */

/* Returns the number of kinds of files that are published with this split. The reports (lists of
 * skipped and converted files) are published with one split of a run only. For the other splits,
 * they are not counted. */
static size_t publish_files_count_of(const struct publish_files *f)
{
    return f->reports[0] == NULL ? FILE_SKIPPED : FILE_KINDS;
}

static int see_files(void *files, struct sheaf_error *err)
{
    struct publish_files *f = files;

    return store_see_all((const char *const *)f->urls, publish_files_count_of(f), f->seen, err);
}

static int see_manifest(void *files, struct sheaf_error *err)
{
    struct publish_files *f = files;

    return destination_manifest(f->output, f->output->directories[f->split], &f->there, err);
}

int publish_files_open(struct publish_files *f, const struct output *o, uint32_t split,
                       const struct buf *skipped, const struct buf *converted,
                       struct sheaf_error *err)
{
    const struct several_task looks[] = { { see_files, f }, { see_manifest, f } };

    *f = (struct publish_files){ .output = o, .split = split,
                                 .reports = { skipped, converted } };
    for (size_t i = 0; i < publish_files_count_of(f); i++) {
        char name[GROWN_NAME_BYTES];

        manifest_part_name(names[i], o->part, i < FILE_SKIPPED ? o->generation : 0, name);
        f->urls[i] = store_join(i < FILE_SKIPPED ? o->directories[split] : o->dest, name);
        if (f->urls[i] == NULL)
            return err_memory(err, sizeof(name));
    }
    return several_tasks(o->dest, looks, COUNT_OF(looks), err);
}

void publish_files_close(struct publish_files *f)
{
    if (f->writer != NULL)
        store_abort(f->writer);
    f->writer = NULL;
    for (size_t i = 0; i < FILE_KINDS; i++)
        free(f->urls[i]);
    manifest_found_free(&f->there);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int check_claim(void *files, struct sheaf_error *err)
{
    return journal_check(&((const struct publish_files *)files)->output->journal, err);
}

static int check_strays(void *files, struct sheaf_error *err)
{
    const struct publish_files *f = files;
    const size_t count = publish_files_count_of(f);
    int code = SHEAF_OK;

    for (size_t i = 0; i < FILE_SKIPPED && code == SHEAF_OK; i++)
        code = strays_check_table(f->urls[i], &f->seen[i], err);
    for (size_t i = FILE_SKIPPED; i < count && code == SHEAF_OK; i++)
        code = reports_check(f->output, f->urls[i], &f->seen[i], f->reports[i - FILE_SKIPPED],
                             err);
    return code;
}

static int note_reports(void *files, struct sheaf_error *err)
{
    const struct publish_files *f = files;

    return f->reports[0] == NULL ? SHEAF_OK : reports_note(f->output, f->reports, err);
}

static int make_index(void *files, struct sheaf_error *err)
{
    struct publish_files *f = files;

    return output_write(f->urls[FILE_INDEX], publish_index, f->index, &f->writer, err);
}

int publish_files_make(struct publish_files *f, struct publish_index *index,
                       struct sheaf_error *err)
{
    const struct several_task tasks[] = { { make_index, f }, { check_claim, f },
                                          { check_strays, f }, { note_reports, f } };

    f->index = index;
    return several_tasks(f->output->dest, tasks, COUNT_OF(tasks), err);
}

/* ---- Publishing ------------------------------------------------------------------------------ */

static int publish_files_put_index(void *files, struct sheaf_error *err)
{
    struct publish_files *f = files;
    struct store_writer *writer = f->writer;
    struct store_seen now;

    f->writer = NULL;
    return journal_commit(&f->output->journal, writer, &f->seen[FILE_INDEX], &now, err);
}

static int publish_files_put_keys(void *files, struct sheaf_error *err)
{
    const struct publish_files *f = files;
    struct store_writer *writer = NULL;
    struct store_seen now;
    int code;

    code = publish_keys_write(f->index->keys, f->urls[FILE_KEYS], f->fingerprint, &writer, err);
    return code == SHEAF_OK ? journal_commit(&f->output->journal, writer, &f->seen[FILE_KEYS], &now,
                                             err) : code;
}

static int put_reports(void *files, struct sheaf_error *err)
{
    const struct publish_files *f = files;
    const size_t count = publish_files_count_of(f);
    int code = SHEAF_OK;

    for (size_t i = FILE_SKIPPED; i < count && code == SHEAF_OK; i++)
        code = reports_put(f->output, f->urls[i], &f->seen[i], f->reports[i - FILE_SKIPPED], err);
    return code;
}

int publish_files_put(struct publish_files *f, const char *fingerprint, struct sheaf_error *err)
{
    const struct several_task tasks[] = {
        { put_reports, f }, { publish_files_put_index, f }, { publish_files_put_keys, f },
            { check_claim, f },
    };

    f->fingerprint = fingerprint;
    return several_tasks(f->output->dest, tasks, COUNT_OF(tasks), err);
}
