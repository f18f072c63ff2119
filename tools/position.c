/* SPDX-License-Identifier: MIT
 *
 * Stores in a file, as one line, the position of a reader in an epoch. The file is written under a
 * temporary name and then renamed. So a command that is killed while it saves a position leaves the
 * previous position. */
#include "tools/position.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replace.h"
#include "tools/tool.h"

int position_prepare(const char *path)
{
    const int status = replace_check(path, "a position of sheaf", "sheaf");

    return status < 0 ? STATUS_OK : status;
}

int position_save(struct sheaf_reader *reader, uint64_t back, const char *path)
{
    char text[SHEAF_POSITION_SIZE];
    struct replacement file;
    int status;

    if (sheaf_reader_position_back(reader, back, text) != SHEAF_OK) {
        complain("%s: no position to save", path);
        return STATUS_FAILURE;
    }
    status = replace_begin(&file, path, false);
    if (status != STATUS_OK)
        return status;
    (void)fprintf(file.file, "%s\n", text);     /* replace_end() sees whether it failed */
    return replace_end(&file);
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
    status = ferror(file) ? fail_file(path) : STATUS_OK;
    fclose(file);
    if (status != STATUS_OK)
        return status;
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
