/* SPDX-License-Identifier: MIT
 *
 * make_inventory DIR FILES: writes a report of S3 Inventory to DIR that lists FILES objects. The
 * objects do not exist, but `sheaf plan` reads only the report, so its speed can be measured with
 * any number of files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define FILE_ROWS  5000000u     /* objects of a data file */
#define CLASS_ROWS 10000u       /* objects per class, but at most CLASS_MOST classes */
#define CLASS_MOST 10000u

/* Returns the next number of a random generator (splitmix64). The program has its own generator, so
 * that it needs no other file of Sheaf. */
static uint64_t make_inventory_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int write_rows(const char *path, uint64_t first, uint64_t end, uint64_t classes)
{
    gzFile out = gzopen(path, "wb1");
    uint64_t state = first;
    int bad = out == NULL || gzbuffer(out, 1 << 20) != 0;

    for (uint64_t i = first; i < end && !bad; i++) {
        char row[256];
        const int size = snprintf(row, sizeof(row),
                                  "\"images\",\"train/%05" PRIu64 "/img_%09" PRIu64 ".jpg\",\"%u\","
                                  "\"2026-11-20T12:00:00.000Z\",\"%016" PRIx64 "%016" PRIx64 "\"\n",
                                  i % classes, i,
                                  2000 + (unsigned)(make_inventory_next(&state) % 74000),
                                  make_inventory_next(&state), make_inventory_next(&state));

        bad = gzwrite(out, row, (unsigned)size) != size;
    }
    return (out != NULL && gzclose(out) != Z_OK) || bad;
}

static int make_inventory_write_report(const char *directory, uint64_t files)
{
    const uint64_t wanted = (files + CLASS_ROWS - 1) / CLASS_ROWS;
    const uint64_t classes = wanted < CLASS_MOST ? wanted : CLASS_MOST;
    char path[4096];
    FILE *manifest;
    int bad = 0;

    snprintf(path, sizeof(path), "%s/manifest.json", directory);
    manifest = fopen(path, "w");
    if (manifest == NULL)
        return 1;
    fprintf(manifest, "{\"sourceBucket\": \"images\", \"destinationBucket\": "
            "\"arn:aws:s3:::inventory\", \"version\": \"2016-11-30\", \"fileFormat\": \"CSV\", "
            "\"fileSchema\": \"Bucket, Key, Size, LastModifiedDate, ETag\", \"files\": [");
    for (uint64_t at = 0; at < files && !bad; at += FILE_ROWS) {
        const uint64_t end = at + FILE_ROWS < files ? at + FILE_ROWS : files;

        fprintf(manifest, "%s{\"key\": \"data/%05" PRIu64 ".csv.gz\"}", at == 0 ? "" : ", ",
                at / FILE_ROWS);
        snprintf(path, sizeof(path), "%s/data/%05" PRIu64 ".csv.gz", directory, at / FILE_ROWS);
        bad = write_rows(path, at, end, classes);
    }
    fprintf(manifest, "]}\n");
    return fclose(manifest) != 0 || bad;
}

int main(int argc, char **argv)
{
    char data[4096], *end;
    uint64_t files;

    if (argc != 3 || strcmp(argv[1], "--help") == 0) {
        fprintf(argc == 2 ? stdout : stderr, "Usage: make_inventory DIR FILES\n\n"
                "Makes an S3 Inventory report of FILES objects in DIR.\n");
        return argc == 2 ? 0 : 2;
    }
    files = strtoull(argv[2], &end, 10);
    snprintf(data, sizeof(data), "%s/data", argv[1]);
    mkdir(argv[1], 0777);
    if (files == 0 || *end != '\0' || (mkdir(data, 0777) != 0 && errno != EEXIST) ||
        make_inventory_write_report(argv[1], files)) {
        fprintf(stderr, "make_inventory: cannot make %s of %s\n", argv[1], argv[2]);
        return 1;
    }
    return 0;
}
