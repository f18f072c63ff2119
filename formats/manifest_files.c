/* SPDX-License-Identifier: MIT
 *
 * Files by their manifest, as the header says. */
#include "formats/manifest_files.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/interop_index.h"
#include "formats/manifest_growth.h"

struct files {
    manifest_file_fn *each;
    void *context;
};

static int manifest_files_put(void *context, const char *name, const void *data, size_t size,
                              struct sheaf_error *err)
{
    const struct files *f = context;

    (void)data, (void)size;
    return f->each(f->context, name, false, err);
}

/* Passes the names of one shard's files to `each`: the shard, its .lst file and its index files for
 * other programs. A shard of our packer has a .lst file if it is a RecordIO shard, even if it has
 * no samples. A shard of other software has a .lst file only if names_bytes, the size of this file
 * in the manifest, is not 0. */
static int each_of_shard(const struct files *f, const struct manifest *m, size_t i,
                         struct interop_writer *interop, struct sheaf_error *err)
{
    const char *name = m->shards[i].name;
    const bool has_names = m->shards[i].names_bytes != 0 ||
                           (m->ours && format_of(m->container)->has_names);
    char *names;
    int code = interop_finish_shard(interop, name, manifest_files_put, (void *)(uintptr_t)f, err);

    if (code == SHEAF_OK && has_names) {
        if (asprintf(&names, "%.*s.lst", (int)interop_stem(m->container, m->codec, name), name) < 0)
            return err_memory(err, strlen(name));
        code = f->each(f->context, names, false, err);
        free(names);
    }
    return code == SHEAF_OK ? f->each(f->context, name, false, err) : code;
}

static int each_of_part(const struct files *f, size_t part, size_t edit, struct sheaf_error *err)
{
    static const char *const names[] = { INDEX_NAME, KEYS_NAME, SKIPPED_NAME, CONVERTED_NAME };
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(names) && code == SHEAF_OK; i++) {
        char name[GROWN_NAME_BYTES];

        manifest_part_name(names[i], part, i < 2 ? edit : 0, name);
        code = f->each(f->context, name, true, err);
    }
    return code;
}

int manifest_each_file(const struct manifest *m, manifest_file_fn *each, void *context,
                       struct sheaf_error *err)
{
    const struct files f = { each, context };
    struct interop_writer interop = { .interop = 0 };
    char *list = NULL;
    int code = manifest_option(m, "index", &list, err);

    if (code == SHEAF_OK)
        code = interop_open(&interop, list, m->container, m->codec, err);
    for (size_t i = 0; i < m->shard_count && code == SHEAF_OK; i++)
        code = each_of_shard(&f, m, i, &interop, err);
    if (code == SHEAF_OK)
        code = interop_finish_dataset(&interop, m, NULL, manifest_files_put, (void *)(uintptr_t)&f,
                                      err);
    for (size_t part = 0; part <= m->growth_count && code == SHEAF_OK; part++)
        code = each_of_part(&f, part, m->edit_count, err);
    interop_free(&interop);
    free(list);
    return code;
}
