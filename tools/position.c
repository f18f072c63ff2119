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

static int write_line(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    int bad;

    if (file == NULL)
        return fail_file(path);
    bad = fprintf(file, "%s\n", text) < 0 || fflush(file) != 0 || fsync(fileno(file)) != 0;
    if (fclose(file) != 0 || bad)
        return fail_file(path);
    return STATUS_OK;
}

/* Where the text is until it is whole; NULL: out of memory. */
static char *temporary_of(const char *path)
{
    char *temporary = NULL;

    return asprintf(&temporary, "%s.tmp", path) < 0 ? NULL : temporary;
}

int position_prepare(const char *path)
{
    char *temporary = temporary_of(path);
    FILE *file = temporary == NULL ? NULL : fopen(temporary, "w");
    const int status = file == NULL ? fail_file(path) : STATUS_OK;

    if (file != NULL) {
        fclose(file);
        unlink(temporary);
    }
    free(temporary);
    return status;
}

int position_save(struct sheaf_reader *reader, const char *path)
{
    char text[SHEAF_POSITION_SIZE];
    char *temporary;
    int status;

    if (sheaf_reader_position(reader, text) != SHEAF_OK) {
        complain("%s: there is no position to save", path);
        return STATUS_FAILURE;
    }
    temporary = temporary_of(path);
    if (temporary == NULL)
        return fail_file(path);
    status = write_line(temporary, text);
    if (status == STATUS_OK && rename(temporary, path) != 0)
        status = fail_file(path);
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
        complain("%s: holds no position: it is longer than %d bytes", path,
                 SHEAF_POSITION_SIZE - 1);
        return STATUS_FAILURE;
    }
    text[size] = '\0';
    status = order_options_agree(order, options, path, text);
    if (status >= 0)
        return status;
    if (strlen(text) != size || sheaf_reader_resume(reader, text) != SHEAF_OK) {
        complain("%s: %s", path, strlen(text) != size ? "holds no position: it is no text"
                                 : sheaf_reader_error(reader)->message);
        return STATUS_FAILURE;
    }
    return STATUS_OK;
}
