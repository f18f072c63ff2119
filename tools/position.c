/* SPDX-License-Identifier: MIT
 *
 * Positions in files: one line, written to a temporary name and renamed, so that a reader that is
 * killed while it saves leaves the position before. */
#include "tools/position.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tool.h"

static int fail_file(const char *path)
{
    complain("%s: %s", path, strerror(errno));
    return STATUS_FAILURE;
}

/* Makes the file where the text is until it is whole, under a name that no file has; *name is to be
 * freed.  NULL: errno says why not. */
static FILE *open_temporary(const char *path, char **name)
{
    for (unsigned i = 0;; i++) {
        FILE *file;

        if (asprintf(name, "%s.%ld-%u.tmp", path, (long)getpid(), i) < 0) {
            *name = NULL;
            return NULL;
        }
        file = fopen(*name, "wx");
        if (file != NULL || errno != EEXIST)
            return file;
        free(*name);
    }
}

static bool write_line(FILE *file, const char *text)
{
    bool good = fprintf(file, "%s\n", text) > 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;

    if (fclose(file) != 0)
        good = false;
    return good;
}

int position_prepare(const char *path)
{
    char *temporary;
    FILE *file = open_temporary(path, &temporary);
    int status = file == NULL ? fail_file(path) : STATUS_OK;

    if (file != NULL) {
        fclose(file);
        if (unlink(temporary) != 0)
            status = fail_file(temporary);
    }
    free(temporary);
    return status;
}

int position_save(struct sheaf_reader *reader, uint64_t back, const char *path)
{
    char text[SHEAF_POSITION_SIZE];
    char *temporary;
    FILE *file;
    int status = STATUS_OK;

    if (sheaf_reader_position_back(reader, back, text) != SHEAF_OK) {
        complain("%s: no position to save", path);
        return STATUS_FAILURE;
    }
    file = open_temporary(path, &temporary);
    if (file == NULL) {
        status = fail_file(path);
    } else if (!write_line(file, text) || rename(temporary, path) != 0) {
        status = fail_file(path);
        unlink(temporary);
    }
    free(temporary);
    return status;
}

int position_load(struct sheaf_reader *reader, const char *path,
                  const struct order_options *order, const struct sheaf_reader_options *options)
{
    char text[SHEAF_POSITION_SIZE + 1];     /* and its newline */
    FILE *file = fopen(path, "r");
    size_t size;
    int status;

    if (file == NULL)
        return fail_file(path);
    size = fread(text, 1, sizeof(text), file);
    fclose(file);
    if (size == sizeof(text)) {
        complain("%s: not a position: it is longer than %d bytes", path,
                 SHEAF_POSITION_SIZE - 1);
        return STATUS_FAILURE;
    }
    text[size] = '\0';
    status = order_options_agree(order, options, path, text);
    if (status >= 0)
        return status;
    if (strlen(text) != size || sheaf_reader_resume(reader, text) != SHEAF_OK) {
        complain("%s: %s", path, strlen(text) != size ? "not a position: it is not text"
                                 : sheaf_reader_error(reader)->message);
        return STATUS_FAILURE;
    }
    return STATUS_OK;
}
