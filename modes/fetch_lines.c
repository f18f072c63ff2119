/* SPDX-License-Identifier: MIT
 *
 * Writes a copy of a SageMaker augmented manifest beside the objects that it names, because these
 * objects are useless without the labels in it. If a host has only a part of the objects, the copy
 * has only the lines of this part, byte for byte. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "modes/fetch.h"
#include "packer/source/lines.h"

#define TEMPORARY "manifest.tmp"

static int copy_lines(struct lines *lines, FILE *file, const uint8_t *wanted,
                      struct sheaf_error *err)
{
    const char *text;
    size_t size, unit = 0;
    uint64_t number;
    int code;

    while ((code = lines_next(lines, &text, &size, &number, err)) == SHEAF_OK) {
        if (json_text_blanks(text, text + size) == text + size)
            continue;
        if (wanted[unit++] && (fwrite(text, 1, size, file) != size || putc('\n', file) == EOF))
            return err_errno(err, errno, "writing the manifest");
    }
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int fetch_lines_write_file(const struct fetch_destination *p, const char *url,
                                  const uint8_t *wanted, struct sheaf_error *err)
{
    const int fd = openat(p->partial_fd, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    struct lines lines;
    int code;

    if (file == NULL)
        return err_errno(err, errno, "cannot make a temporary file");
    code = lines_open(&lines, url, NULL, err);
    if (code == SHEAF_OK)
        code = copy_lines(&lines, file, wanted, err);
    lines_close(&lines);
    if (fclose(file) != 0 && code == SHEAF_OK)
        code = err_errno(err, errno, "writing the manifest");
    return code;
}

int fetch_lines(const struct fetch_destination *p, const char *url, const char *name,
                const uint32_t *units, size_t count, struct sheaf_error *err)
{
    uint8_t *wanted = calloc(MAX(p->objects->unit_count, 1), 1);
    int code;

    if (wanted == NULL)
        return err_memory(err, p->objects->unit_count);
    for (size_t i = 0; i < count; i++)
        wanted[units[i]] = 1;
    code = fetch_lines_write_file(p, url, wanted, err);
    free(wanted);
    if (code == SHEAF_OK && renameat(p->partial_fd, TEMPORARY, p->root_fd, name) != 0)
        code = err_errno(err, errno, "%s: cannot rename the manifest into place", name);
    if (code != SHEAF_OK)
        (void)unlinkat(p->partial_fd, TEMPORARY, 0);
    return code;
}
