/* SPDX-License-Identifier: MIT
 *
 * Writes the manifest of a data set, and the index files for other programs. Used for new data sets
 * and for data sets that grow, are edited, or get an index. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/interop_index.h"
#include "formats/manifest.h"
#include "publish/output_remove.h"
#include "publish/publish.h"
#include "store/store.h"

int publish_file(void *context, const char *name, const void *data, size_t size,
                 struct sheaf_error *err)
{
    const struct publish_to *p = context;
    const char *slash = strrchr(name, '/');
    char *url = store_join(p->directory, name), *above = NULL;
    int code = url == NULL ? err_memory(err, strlen(name)) : SHEAF_OK;

    if (code == SHEAF_OK && slash != NULL) {
        above = strndup(url, strlen(url) - strlen(slash));
        code = above == NULL ? err_memory(err, strlen(url))
                             : store_make_directory(above, NULL, err);
    }
    if (code == SHEAF_OK)
        code = output_put_over(p->output, p->directory, name, data, size, NULL, err);
    free(above);
    free(url);
    return code;
}

int publish_interop(const struct output *o, uint32_t split, const char *name,
                    const struct manifest *m, struct sheaf_error *err)
{
    struct publish_to to = { o, o->directories[split] };
    struct interop_writer interop;
    int code = interop_open(&interop, o->interop, m->container, m->codec, err);

    if (code == SHEAF_OK)
        code = interop_finish_dataset(&interop, m, name, publish_file, &to, err);
    interop_free(&interop);
    return code;
}

int publish_manifest(struct output *o, const char *directory, const struct buf *text,
                     const char *note, const struct store_seen *seen, struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME);
    struct store_seen now;
    int code;

    if (url == NULL)
        return err_memory(err, strlen(directory));
    o->is_visible = true;
    code = journal_put_file(&o->journal, url, text->data, text->size,
                            note[0] == '\0' ? NULL : note, seen, &now, err);
    free(url);
    return code;
}

int publish_classes(struct manifest *m, const char *const *classes, size_t count,
                    struct sheaf_error *err)
{
    for (size_t i = m->class_count; i < count; i++) {
        m->classes[i] = strdup(classes[i]);
        if (m->classes[i] == NULL)
            return err_memory(err, strlen(classes[i]));
        m->class_count++;
    }
    return SHEAF_OK;
}
