/* SPDX-License-Identifier: MIT
 *
 * Reads the directory of a zip archive (its list of members), and the members. libarchive also
 * reads zips, but does not report the positions of the members in the file. */
#include "packer/source/zip.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"

#define DEFLATE_MOST  1032u     /* deflate's largest ratio */
#define METHOD_STORED 0u
#define METHOD_DEFLATED 8u
#define LOCAL_BYTES   30u       /* the fixed part of a member's own header, */
#define CENTRAL_BYTES 46u       /* of its entry in the directory, */
#define END_BYTES     22u       /* and of the end record */
#define ATTRIBUTES_OF_UNIX 3u
#define ATTRIBUTE_DIRECTORY 0x10u   /* on DOS and Windows */

bool zip_is(const struct archive_file *file)
{
    uint8_t magic[4];

    if (archive_read_at(file, 0, magic, sizeof(magic), NULL) != SHEAF_OK)
        return false;
    return load32(magic) == 0x04034b50 || load32(magic) == 0x06054b50;
}

/* ---- The directory --------------------------------------------------------------------------- */

struct zip {
    const struct archive_file *file;
    uint64_t at, end;           /* range of the directory in the file */
    /* Number of bytes in the file before the zip archive begins. The offsets that the archive
     * states are counted from its beginning, so this number must be added to them. */
    uint64_t shift;
    uint64_t members;           /* from the end record */
    uint64_t stored_bytes;      /* of the members so far */
};

static int zip_malformed(const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "damaged or truncated zip archive: %s", what);
}

/* Finds the directory (the list of members) of a large zip. If a zip is larger than 4 GiB, or has
 * more than 65535 members, these numbers do not fit into its end record. A zip64 record has them
 * instead. */
static int find_large_directory(struct zip *z, uint64_t end_at, uint64_t *bytes, uint64_t *offset,
                                struct sheaf_error *err)
{
    const struct archive_file *c = z->file;
    uint8_t locator[20], end[56];
    uint64_t at;

    if (end_at < sizeof(locator) ||
        archive_read_at(c, end_at - sizeof(locator), locator, sizeof(locator), NULL) != SHEAF_OK ||
        load32(locator) != 0x07064b50)
        return SHEAF_OK;        /* the numbers are correct as they are */
    at = load64(locator + 8);
    if (archive_read_at(c, at, end, sizeof(end), NULL) != SHEAF_OK || load32(end) != 0x06064b50)
        return zip_malformed("its zip64 record is not where it should be", err);
    z->members = load64(end + 32);
    *bytes = load64(end + 40);
    *offset = load64(end + 48);
    z->end = at;
    return SHEAF_OK;
}

/* Finds the directory (the list of members) of a zip with the end record. This record is at the end
 * of the file, before an optional comment. */
static int find_directory(struct zip *z, struct sheaf_error *err)
{
    const struct archive_file *c = z->file;
    const size_t shown = (size_t)MIN(c->bytes, (uint64_t)END_BYTES + UINT16_MAX);
    uint8_t *tail = malloc(MAX(shown, (size_t)1)), *end = NULL;
    uint64_t bytes = 0, offset = 0;
    int code = tail == NULL ? err_memory(err, shown)
                            : archive_read_at(c, c->bytes - shown, tail, shown, err);

    for (size_t i = END_BYTES; code == SHEAF_OK && i <= shown && end == NULL; i++)
        if (load32(tail + shown - i) == 0x06054b50)
            end = tail + shown - i;
    if (code == SHEAF_OK && end == NULL)
        code = zip_malformed("the end of its directory is missing", err);
    if (code == SHEAF_OK) {
        z->members = load16(end + 10);
        bytes = load32(end + 12);
        offset = load32(end + 16);
        z->end = c->bytes - shown + (uint64_t)(end - tail);
        code = load16(end + 4) != load16(end + 6)
             ? err_set(err, SHEAF_ERR_UNSUPPORTED, "a zip archive in several volumes")
             : find_large_directory(z, z->end, &bytes, &offset, err);
    }
    free(tail);
    if (code == SHEAF_OK && (bytes > z->end || offset > z->end - bytes))
        code = zip_malformed("its directory is not where it should be", err);
    z->at = z->end - bytes;
    z->shift = z->at - offset;
    return code;
}

/* An entry of the directory. */
struct zip_entry {
    uint8_t head[CENTRAL_BYTES];
    char name[KEY_LIMIT + 256];
    uint64_t bytes, stored_bytes, offset;
};

/* Reads the large numbers of a directory entry. A size or an offset that does not fit into the
 * entry's 32-bit field is stored in an extra field instead. The extra field has these numbers in
 * the order of the entry's fields. Returns false if the extra field is malformed. */
static bool zip_take_large(struct zip_entry *e, const uint8_t *extra, size_t size)
{
    uint64_t *const fields[] = { &e->bytes, &e->stored_bytes, &e->offset };

    while (size >= 4 && load16(extra) != 1) {
        const size_t step = 4 + (size_t)load16(extra + 2);

        if (step > size)
            return false;
        extra += step;
        size -= step;
    }
    size = size < 4 ? 0 : MIN(size - 4, (size_t)load16(extra + 2));
    extra += 4;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (*fields[i] != UINT32_MAX)
            continue;
        if (size < 8)
            return false;
        *fields[i] = load64(extra);
        extra += 8;
        size -= 8;
    }
    return true;
}

static int zip_read_entry(struct zip *z, struct zip_entry *e, struct sheaf_error *err)
{
    const struct archive_file *c = z->file;
    uint8_t *extra;
    size_t name_size, extra_size;
    int code = archive_read_at(c, z->at, e->head, sizeof(e->head), err);

    if (code == SHEAF_OK && load32(e->head) != 0x02014b50)
        code = zip_malformed("an entry of its directory is not where it should be", err);
    if (code != SHEAF_OK)
        return code;
    name_size = load16(e->head + 28);
    extra_size = load16(e->head + 30);
    if (name_size >= sizeof(e->name))
        return err_set(err, SHEAF_ERR_LIMIT, "a name of %zu bytes in a zip archive, the limit is "
                       "%d", name_size, KEY_LIMIT);
    extra = malloc(extra_size + 1);
    code = extra == NULL ? err_memory(err, extra_size)
                         : archive_read_at(c, z->at + CENTRAL_BYTES, e->name, name_size, err);
    e->name[name_size] = '\0';
    if (code == SHEAF_OK)
        code = archive_read_at(c, z->at + CENTRAL_BYTES + name_size, extra, extra_size, err);
    e->stored_bytes = load32(e->head + 20);
    e->bytes = load32(e->head + 24);
    e->offset = load32(e->head + 42);
    if (code == SHEAF_OK && (strlen(e->name) != name_size || !zip_take_large(e, extra, extra_size)))
        code = zip_malformed("a name holds a NUL byte, or sizes are missing", err);
    free(extra);
    z->at += CENTRAL_BYTES + name_size + extra_size + load16(e->head + 32);
    return code;
}

static const char *zip_problem_of(const struct zip_entry *e)
{
    const unsigned mode = e->head[5] == ATTRIBUTES_OF_UNIX ? load32(e->head + 38) >> 16 : 0;
    const unsigned type = mode & S_IFMT;
    const unsigned method = load16(e->head + 10);

    if (type == S_IFLNK)
        return "is a link: unpack the archive for it to be followed";
    if (type != 0 && type != S_IFREG)
        return "is a device, a pipe or a socket, not a file";
    if ((e->head[8] & 1) != 0)
        return "is encrypted";
    if (method != METHOD_STORED && method != METHOD_DEFLATED)
        return "is compressed by another method than deflate: unpack the archive";
    if (method == METHOD_STORED ? e->bytes != e->stored_bytes
                             : e->bytes / DEFLATE_MOST > e->stored_bytes)
        return "has more bytes than its compressed ones can hold";
    return NULL;
}

/* Returns whether the member was stored on DOS or Windows (FAT, NTFS, VFAT). On these systems, the
 * name of a file cannot contain a backslash. So a backslash in the member's name is read as a
 * slash, as in unzip. */
static bool is_of_windows(const struct zip_entry *e)
{
    return e->head[5] == 0 || e->head[5] == 10 || e->head[5] == 11 || e->head[5] == 14;
}

/* Replaces backslashes in a name by slashes. */
static void set_slashes(struct zip_entry *e)
{
    for (char *at = e->name; is_of_windows(e) && (at = strchr(at, '\\')) != NULL;)
        *at++ = '/';
}

static bool zip_is_directory(const struct zip_entry *e)
{
    const size_t size = strlen(e->name);

    return (size != 0 && e->name[size - 1] == '/') ||
           (is_of_windows(e) && e->bytes == 0 && (load32(e->head + 38) & ATTRIBUTE_DIRECTORY) != 0);
}

static int zip_take_entry(struct zip *z, struct zip_entry *e, archive_member_fn *take,
                          void *context, struct sheaf_error *err)
{
    struct archive_member m = { .path = e->name, .bytes = e->bytes, .problem = zip_problem_of(e) };

    set_slashes(e);
    if (zip_is_directory(e))
        return SHEAF_OK;
    if (__builtin_add_overflow(z->stored_bytes, e->stored_bytes, &z->stored_bytes) ||
        z->stored_bytes > z->file->bytes)
        return zip_malformed("its members overlap, or are larger than it is", err);
    snprintf(m.where, sizeof(m.where), "%" PRIu64 " %" PRIu64 " %u %08" PRIx32,
             z->shift + e->offset, e->stored_bytes, load16(e->head + 10), load32(e->head + 16));
    return take(context, &m, err);
}

int zip_scan(const struct archive_file *file, archive_member_fn *take, void *context,
             struct sheaf_error *err)
{
    struct zip z = { .file = file };
    struct zip_entry *e = malloc(sizeof(*e));
    uint64_t members = 0;
    int code = e == NULL ? err_memory(err, sizeof(*e)) : find_directory(&z, err);

    for (; code == SHEAF_OK && z.at < z.end; members++) {
        code = zip_read_entry(&z, e, err);
        if (code == SHEAF_OK)
            code = zip_take_entry(&z, e, take, context, err);
    }
    free(e);
    if (code == SHEAF_OK && members != z.members)
        code = zip_malformed("its directory has more or fewer members than it says", err);
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int inflate_member(const struct archive_file *c, uint64_t at, uint64_t stored, uint8_t *data,
                          uint64_t bytes, struct sheaf_error *err)
{
    z_stream z = { .avail_in = 0 };
    uint8_t chunk[16384], more;
    int found = Z_OK, code = SHEAF_OK;

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return err_memory(err, sizeof(z));
    while (code == SHEAF_OK && found == Z_OK) {
        if (z.avail_in == 0 && stored != 0) {
            z.next_in = chunk;
            z.avail_in = (unsigned)MIN(stored, (uint64_t)sizeof(chunk));
            code = archive_read_at(c, at, chunk, z.avail_in, err);
            at += z.avail_in;
            stored -= z.avail_in;
        }
        /* When all bytes of the member are decompressed, the compressed stream must end. To test
         * this, inflate() gets room for one byte more. If it uses this byte, the stream is too
         * long. */
        z.avail_out = bytes == 0 ? 1 : (unsigned)MIN(bytes, (uint64_t)1 << 30);
        z.next_out = bytes == 0 ? &more : data;
        if (code == SHEAF_OK) {
            const unsigned room = z.avail_out;

            found = inflate(&z, Z_NO_FLUSH);
            if (bytes == 0 && z.avail_out == 0)
                found = Z_DATA_ERROR;
            data += bytes == 0 ? 0 : room - z.avail_out;
            bytes -= bytes == 0 ? 0 : room - z.avail_out;
        }
    }
    inflateEnd(&z);
    if (code == SHEAF_OK && (found != Z_STREAM_END || bytes != 0))
        code = found == Z_MEM_ERROR ? err_memory(err, sizeof(z))
                                    : err_set(err, SHEAF_ERR_CORRUPT, "its compressed bytes are "
                                              "damaged, or of the wrong size");
    return code;
}

int zip_read(const struct archive_file *c, const char *where, void *data, uint64_t bytes,
             struct sheaf_error *err)
{
    uint8_t head[LOCAL_BYTES];
    uint64_t at, stored;
    unsigned method;
    uint32_t crc;
    int code;

    if (sscanf(where, "%" SCNu64 " %" SCNu64 " %u %" SCNx32, &at, &stored, &method,
               &crc) != 4)
        return err_set(err, SHEAF_ERR_CORRUPT, "invalid location in a zip archive: %.40s", where);
    code = archive_read_at(c, at, head, sizeof(head), err);
    if (code == SHEAF_OK && load32(head) != 0x04034b50)
        code = zip_malformed("a member is not where its directory says", err);
    if (code != SHEAF_OK)
        return code;
    at += LOCAL_BYTES + load16(head + 26) + load16(head + 28);
    code = method == METHOD_STORED ? archive_read_at(c, at, data, bytes, err)
                                : inflate_member(c, at, stored, data, bytes, err);
    if (code == SHEAF_OK && (uint32_t)crc32_z(0, data, bytes) != crc)
        code = err_set(err, SHEAF_ERR_CORRUPT, "its bytes do not have the stored CRC-32 %08" PRIx32,
                       crc);
    return code;
}

