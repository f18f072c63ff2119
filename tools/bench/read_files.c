/* SPDX-License-Identifier: MIT
 *
 * read_files PASSES FILE...: the limit that a reader of files is held against: read(2) in pieces
 * of 1 MiB, one thread, the bytes not looked at. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/meter.h"

#define PIECE_BYTES ((size_t)1 << 20)

static void read_file(const char *path, char *piece, struct meter *meter)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        meter_die(path, strerror(errno));
    while ((got = read(fd, piece, PIECE_BYTES)) > 0) {
        meter_first(meter);
        meter->bytes += (uint64_t)got;
    }
    if (got < 0)
        meter_die(path, strerror(errno));
    close(fd);
    meter->items++;
}

int main(int argc, char **argv)
{
    const uint64_t passes = argc > 2 ? meter_number(argv[1]) : 0;
    char *piece = malloc(PIECE_BYTES);
    struct meter meter;

    if (passes == 0 || !piece)
        meter_die(argv[0], "usage: read_files PASSES FILE...");
    meter_begin(&meter);
    for (uint64_t pass = 0; pass < passes; pass++)
        for (int i = 2; i < argc; i++)
            read_file(argv[i], piece, &meter);
    meter_print(&meter);
    free(piece);
    return 0;
}
