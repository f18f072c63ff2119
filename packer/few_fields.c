/* SPDX-License-Identifier: MIT
 *
 * Counts the fields of planned samples; see few_fields.h. */
#include "packer/few_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/few_lack.h"
#include "formats/name.h"
#include "packer/plan/plan_record.h"

/* Sets the key and the fields of `sample` to those that the sample will have in its shard. `files`
 * has the sample's files. The new texts (the key, and the names in lower case) are allocated in
 * files->texts. */
static int few_fields_make(struct catalog *files, struct sheaf_field *fields,
                           struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct catalog_file *first = &files->files[0];

    sample->key = arena_text(&files->texts, first->path, first->key_size);
    if (sample->key == NULL)
        return err_memory(err, first->key_size);
    for (size_t i = 0; i < files->file_count; i++) {
        const struct catalog_file *f = &files->files[i];
        const char *suffix = f->path + f->key_size + 1;
        char *name = arena_take(&files->texts, strlen(suffix) + 1);

        if (name == NULL)
            return err_memory(err, strlen(suffix));
        memcpy(name, suffix, strlen(suffix) + 1);
        name_lower(name);
        fields[i] = (struct sheaf_field){ .name = name, .suffix = suffix, .size = f->bytes };
    }
    sample->fields = fields;
    sample->field_count = files->file_count;
    return SHEAF_OK;
}

int few_fields_count(struct tally *tally, const uint8_t *record, size_t size,
                     struct sheaf_error *err)
{
    struct catalog files = { .file_count = 0 };
    struct sheaf_field *fields = NULL;
    struct sheaf_sample sample = { .key = NULL };
    struct plan_sample planned;
    int code = plan_record_read(&record, record + size, &files, &planned, err);

    if (code == SHEAF_OK) {
        fields = calloc(files.file_count, sizeof(*fields));
        code = fields == NULL ? err_memory(err, files.file_count * sizeof(*fields))
                              : few_fields_make(&files, fields, &sample, err);
    }
    if (code == SHEAF_OK)
        code = tally_add(tally, &sample, err);
    free(fields);
    catalog_free(&files);
    return code;
}

void few_fields_tell(const struct tally *tally, const struct problems *problems)
{
    for (size_t i = 0; i < tally->count; i++) {
        const struct tally_field *f = &tally->fields[i];
        const uint64_t lacking = tally->samples - f->samples;

        if (few_lack(f->samples, tally->samples))
            problems_note(problems, SHEAF_REASON_NONE, f->name, FEW_LACK_TEXT, lacking,
                          plural(lacking), f->name, f->lacking == NULL ? "?" : f->lacking);
    }
}
