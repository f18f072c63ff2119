/* SPDX-License-Identifier: MIT
 *
 * Opens files in advance; see file_ahead.h. */
#include "packer/file_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "formats/name.h"

void file_ahead_begin(struct file_ahead *a, const struct plan *plan, int root_fd, uint64_t first,
                      uint64_t end)
{
    *a = (struct file_ahead){ .plan = plan, .root_fd = root_fd, .sample = first, .end = end };
}

/* Opens a file with O_NONBLOCK. Otherwise the call could wait for ever if the file is a named pipe.
 * A stored plan may name any path, and a pipe may have taken the place of a file. */
static int file_ahead_open_file(int root_fd, const struct catalog_file *f)
{
    const char *path = f->origin == CATALOG_OBJECT ? f->object->url : f->path;

    if (path != f->path && name_problem(path) != NULL) {
        errno = EINVAL;
        return -1;
    }
    return TEMP_FAILURE_RETRY(openat(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* Opens the next file in advance. Returns true if this worked, or if the error was stored for
 * file_ahead_take(). If the process has too many open files, returns false without an error, and
 * the same file is tried again after an earlier file was closed. If no earlier file is open, trying
 * again cannot help, so the error is stored. */
static bool file_ahead_open_next(struct file_ahead *a)
{
    const struct plan_sample *s = &a->plan->samples[a->sample];
    const struct catalog_file *f = &a->plan->files[s->file + a->file];
    const bool is_text = f->origin == CATALOG_TEXT;
    const int fd = is_text ? -1 : file_ahead_open_file(a->root_fd, f);
    const unsigned index = (a->head + a->count) % FILES_AHEAD;

    if (!is_text && fd < 0 && (errno == EMFILE || errno == ENFILE) && a->count != 0)
        return false;
    a->ring[index].fd = fd;
    a->ring[index].errnum = fd < 0 && !is_text ? errno : 0;
    a->count++;
    if (fd >= 0)    /* advice: if the kernel ignores it, nothing is lost */
        (void)posix_fadvise(fd, 0, (off_t)f->bytes, POSIX_FADV_WILLNEED);
    if (++a->file == s->file_count) {
        a->file = 0;
        a->sample++;
    }
    return true;
}

int file_ahead_take(struct file_ahead *a)
{
    int fd;

    while (a->count < FILES_AHEAD && a->sample < a->end && file_ahead_open_next(a))
        ;
    fd = a->ring[a->head].fd;
    errno = a->ring[a->head].errnum;
    a->head = (a->head + 1) % FILES_AHEAD;
    a->count--;
    return fd;
}

void file_ahead_end(struct file_ahead *a)
{
    for (; a->count != 0; a->count--) {
        if (a->ring[a->head].fd >= 0)
            close(a->ring[a->head].fd);
        a->head = (a->head + 1) % FILES_AHEAD;
    }
}
