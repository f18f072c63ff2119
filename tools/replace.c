/* SPDX-License-Identifier: MIT
 *
 * See replace.h. */
#include "tools/replace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tool.h"

static int fail_at(const struct replacement *r, const char *path)
{
    return r->is_quiet ? STATUS_FAILURE : fail_file(path);
}

/* Creates the temporary file under a name that no other file has, so that several processes may
 * replace the same file. */
int replace_begin(struct replacement *r, const char *path, bool is_quiet)
{
    *r = (struct replacement){ .path = path, .is_quiet = is_quiet };
    for (unsigned i = 0; r->file == NULL; i++) {
        if (asprintf(&r->temporary, "%s.%ld-%u.tmp", path, (long)getpid(), i) < 0) {
            r->temporary = NULL;
            return fail_at(r, path);
        }
        r->file = fopen(r->temporary, "wx");
        if (r->file == NULL) {
            free(r->temporary);
            r->temporary = NULL;
            if (errno != EEXIST)
                return fail_at(r, path);
        }
    }
    return STATUS_OK;
}

int replace_end(struct replacement *r)
{
    int status = STATUS_OK;
    bool good = fflush(r->file) == 0 && !ferror(r->file) &&
                (r->is_volatile || fsync(fileno(r->file)) == 0);

    good &= fclose(r->file) == 0;
    if (!good || rename(r->temporary, r->path) != 0) {
        status = fail_at(r, r->path);
        unlink(r->temporary);
    }
    free(r->temporary);
    *r = (struct replacement){ .path = NULL };
    return status;
}

/* Returns whether the text `mark` occurs in the first bytes of a file. */
static bool begins_with(const char *path, const char *mark)
{
    FILE *file = fopen(path, "r");
    char begins[4096];
    size_t size;

    if (file == NULL)
        return false;
    size = fread(begins, 1, sizeof(begins), file);
    (void)fclose(file);
    return memmem(begins, size, mark, strlen(mark)) != NULL;
}

int replace_check(const char *path, const char *what, const char *mark)
{
    struct replacement r;
    struct stat st;
    int status;
    const bool exists = stat(path, &st) == 0;

    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return fail_file(path);
    }
    if (exists && (!S_ISREG(st.st_mode) || (st.st_size != 0 && !begins_with(path, mark)))) {
        complain("%s: exists and is not %s, so it is not replaced: name another file", path, what);
        return STATUS_FAILURE;
    }
    status = replace_begin(&r, path, false);
    if (status != STATUS_OK)
        return status;
    fclose(r.file);
    status = unlink(r.temporary) == 0 ? -1 : fail_file(r.temporary);
    free(r.temporary);
    return status;
}
