/* SPDX-License-Identifier: MIT
 *
 * read_files PASSES [--crc] FILE...: measures the highest speed at which a program can read files.
 * One thread calls read(2) for 1 MiB at a time and does not look at the bytes. With --crc, it
 * computes the CRC-32C of the bytes, because every reader that checks its input must do at least
 * this. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/crc.h>

#include "tools/bench/meter.h"

#define PIECE_BYTES ((size_t)1 << 20)

struct loop {
    unsigned char *piece;
    int with_crc;
    unsigned crc;
    struct meter meter;
};

static void read_file(struct loop *loop, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        meter_die(path, strerror(errno));
    while ((got = read(fd, loop->piece, PIECE_BYTES)) > 0) {
        meter_first(&loop->meter);
        loop->meter.bytes += (uint64_t)got;
        if (loop->with_crc)
            loop->crc ^= crc32_iscsi(loop->piece, (int)got, 0);
    }
    if (got < 0)
        meter_die(path, strerror(errno));
    close(fd);
    loop->meter.items++;
}

int main(int argc, char **argv)
{
    const uint64_t passes = argc > 2 ? meter_number(argv[1]) : 0;
    struct loop loop = { .piece = malloc(PIECE_BYTES) };

    if (passes == 0 || !loop.piece)
        meter_die(argv[0], "usage: read_files PASSES [--crc] FILE...");
    loop.with_crc = strcmp(argv[2], "--crc") == 0;
    meter_begin(&loop.meter);
    for (uint64_t pass = 0; pass < passes; pass++)
        for (int i = 2 + loop.with_crc; i < argc; i++)
            read_file(&loop, argv[i]);
    meter_print(&loop.meter);
    free(loop.piece);
    return 0;
}
