/* SPDX-License-Identifier: MIT
 *
 * Finds stray files by their content; see strays.h. */
#include "publish/strays.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/index.h"
#include "formats/key_table.h"
#include "formats/manifest.h"
#include "formats/manifest_growth.h"
#include "store/over.h"

/* Number of bytes at the start of a file that tell an index or a table of keys. */
#define BEGIN_BYTES 8

int strays_is_stray(const char *url, bool *is, struct sheaf_error *err)
{
    struct store_object *object = NULL;
    uint8_t begin[BEGIN_BYTES] = { 0 };
    int code = store_open(url, &object, err);
    const size_t size = code == SHEAF_OK ? (size_t)MIN(object->bytes, sizeof(begin)) : 0;

    if (code == SHEAF_OK && !object->is_stream)
        code = store_read(object, 0, begin, size, err);
    store_close(object);
    *is = code != SHEAF_ERR_NOT_FOUND && !index_begins(begin, size) &&
          !key_table_begins(begin, size);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ? SHEAF_OK : code;
}

int strays_check_table(const char *url, const struct store_seen *seen, struct sheaf_error *err)
{
    bool is = false;
    const int code = seen->is_there ? strays_is_stray(url, &is, err) : SHEAF_OK;

    if (code != SHEAF_OK || !is)
        return code;
    return err_set(err, SHEAF_ERR_EXISTS, "%s: already exists, and Sheaf has not written it: move "
                   "it away and run this again", url);
}

/* ---- All tables of an output ----------------------------------------------------------------- */

static int strays_check_one(const struct output *o, const char *directory, const char *name,
                            struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    struct store_seen seen;
    int code = url == NULL ? err_memory(err, strlen(name)) : store_see(url, &seen, err);

    (void)o;
    if (code == SHEAF_OK)
        code = strays_check_table(url, &seen, err);
    free(url);
    return code;
}

static int strays_remove_one(const struct output *o, const char *directory, const char *name,
                             struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    bool is = false;
    int code = url == NULL ? err_memory(err, strlen(name)) : strays_is_stray(url, &is, err);

    if (code == SHEAF_OK && is)
        code = journal_remove_in(&o->journal, directory, name, err);
    free(url);
    return code;
}

typedef int strays_table_fn(const struct output *output, const char *directory, const char *name,
                            struct sheaf_error *err);

/* Calls `each` for each index and table of keys that the run will write in `directory`. An edit
 * writes them for all parts of its data set (the first packing and each append). */
static int strays_for_each(const struct output *o, const char *directory, strays_table_fn *each,
                           struct sheaf_error *err)
{
    static const char *const names[] = { INDEX_NAME, KEYS_NAME };
    const size_t last = o->is_edit ? o->grows->growth_count : o->part;
    char name[GROWN_NAME_BYTES];
    int code = SHEAF_OK;

    for (size_t part = o->part; part <= last; part++)
        for (size_t i = 0; i < COUNT_OF(names) && code == SHEAF_OK; i++) {
            manifest_part_name(names[i], part, o->generation, name);
            code = each(o, directory, name, err);
        }
    return code;
}

int strays_check_tables(const struct output *o, struct sheaf_error *err)
{
    return strays_for_each(o, o->dest, strays_check_one, err);
}

static int strays_remove_report(const struct output *o, const char *report,
                                struct sheaf_error *err)
{
    char name[GROWN_NAME_BYTES];

    manifest_part_name(report, o->part, 0, name);
    return journal_remove_in(&o->journal, o->dest, name, err);
}

int strays_remove(const struct output *o, bool has_reports, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = strays_for_each(o, o->directories[i], strays_remove_one, err);
    if (code == SHEAF_OK && has_reports)
        code = strays_remove_report(o, SKIPPED_NAME, err);
    return code == SHEAF_OK && has_reports ? strays_remove_report(o, CONVERTED_NAME, err) : code;
}
