/* SPDX-License-Identifier: MIT
 *
 * An archive of files (tar or zip) as a source. The archive is read like the directory that
 * unpacking would make, but nothing is unpacked. A scan records the position of each member's
 * bytes. So any number of threads can read the members in the plan's order.
 *
 * To reach a position in a compressed tar (gzip, xz, zstd, bzip2, lz4), everything before it must
 * be decompressed. Therefore such a tar is decompressed once, into a temporary file without a name.
 * An archive in a store is first copied to such a file (archive_fetch.c).
 *
 * A tar inside a tar, as in ImageNet, is read as a directory with the name of the inner tar.
 *
 * The position of a member is stored as the "URL" of its catalog_object. For a tar, the position is
 * the offset of the member's bytes. For a zip, it is the text that zip.h describes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/number.h"
#include "base/tempfile.h"
#include "formats/codec.h"
#include "formats/content.h"
#include "formats/detect.h"
#include "formats/format.h"
#include "formats/name.h"
#include "packer/source/archive_fetch.h"
#include "packer/source/archive_file.h"
#include "packer/source/libarchive.h"
#include "packer/source/source.h"
#include "packer/source/zip.h"
#include "store/store.h"

#define CHUNK_BYTES  ((size_t)1 << 16)
#define TAR_BYTES    512u       /* of a block */
#define NESTED_MOST  4          /* tars within tars */

struct archive_content {
    /* directory in the archive that is the root of the source; NULL for the whole archive */
    char *below;
    /* File descriptor of the archive. -1 if the archive is not open, or if it was a copy that is no
     * longer needed. */
    int archive_fd;
    /* true if the file is our own copy of a remote archive, which nobody else can change */
    bool is_copy;
    /* the file with the members' bytes: the archive itself, or a temporary file with its
     * decompressed content */
    struct archive_file file;
    bool is_zip;
    /* stamp of the archive when it was opened: a number computed from its size and time, which
     * shows a change */
    uint64_t stamp;
    struct libarchive lib;      /* of a tar */
};

/* ---- The file -------------------------------------------------------------------------------- */

/* `bytes` is NULL, or receives the size. */
static int get_stamp(int fd, uint64_t *stamp, uint64_t *bytes, struct sheaf_error *err)
{
    uint64_t facts[3];
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_errno(err, errno, "cannot stat");
    if (!S_ISREG(st.st_mode))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "is not a regular file, as random access to an "
                       "archive requires");
    facts[0] = (uint64_t)st.st_size;
    facts[1] = (uint64_t)st.st_mtim.tv_sec;
    facts[2] = (uint64_t)st.st_mtim.tv_nsec;
    if (bytes != NULL)
        *bytes = facts[0];
    words_le(facts, COUNT_OF(facts));
    *stamp = XXH3_64bits(facts, sizeof(facts));
    return SHEAF_OK;
}

/* Checks that the archive has not changed. */
static int check_stamp(const struct archive_content *c, uint64_t stamp, struct sheaf_error *err)
{
    uint64_t now = c->stamp;
    int code = c->is_copy ? SHEAF_OK : get_stamp(c->archive_fd, &now, NULL, err);

    if (code == SHEAF_OK && now != stamp)
        code = err_set(err, SHEAF_ERR_CHANGED, "changed since the scan: the archive was "
                       "written to");
    return code;
}

/* ---- Decompression --------------------------------------------------------------------------- */

static int libarchive_error(const struct libarchive *lib, struct archive *a,
                            struct sheaf_error *err)
{
    const char *why = lib->archive_error_string(a);
    const int errnum = lib->archive_errno(a);

    if (errnum == ENOMEM)
        return err_set(err, SHEAF_ERR_MEMORY, "no memory to read the archive");
    return err_set(err, SHEAF_ERR_CORRUPT, "damaged, truncated or no tar archive: %s",
                   why == NULL ? "it cannot be read" : why);
}

/* Opens libarchive with only those decompressors that are part of libarchive. For other
 * compressions, libarchive would start other programs. gzip, zstd and LZ4 frames are decompressed
 * by Sheaf's own codecs, because libarchive does not verify all checksums, such as gzip's. */
static struct archive *new_decompressor(const struct libarchive *lib)
{
    struct archive *a = lib->archive_read_new();

    if (a == NULL)
        return NULL;
    lib->archive_read_support_filter_xz(a);
    lib->archive_read_support_filter_bzip2(a);
    lib->archive_read_support_filter_lz4(a);        /* legacy frames */
    lib->archive_read_support_format_raw(a);
    return a;
}

/* Decompresses into a file; sets *bytes to its size. */
typedef int decompress_fn(const struct archive_content *c, void *how, int to, uint64_t *bytes,
                          struct watch *watch, struct sheaf_error *err);

/* Checks that only zeros, as on a tape, follow the compressed data. Sheaf's codecs refuse other
 * bytes there, but libarchive ignores them after a bzip2 stream. */
static int check_padding(const struct archive_content *c, struct archive *a,
                         struct sheaf_error *err)
{
    const uint64_t end = (uint64_t)c->lib.archive_filter_bytes(a, -1);
    uint8_t rest[TAR_BYTES];
    int code = SHEAF_OK;

    for (uint64_t at = end; at < c->file.bytes && code == SHEAF_OK; at += sizeof(rest)) {
        const size_t size = (size_t)MIN(c->file.bytes - at, (uint64_t)sizeof(rest));

        code = archive_read_at(&c->file, at, rest, size, err);
        for (size_t i = 0; i < size && code == SHEAF_OK; i++)
            if (rest[i] != 0)
                code = err_set(err, SHEAF_ERR_CORRUPT, "damaged: the compressed data ends at "
                               "offset %" PRIu64 ", but other bytes follow", end);
    }
    return code;
}

static int decompress_by_libarchive(const struct archive_content *c, void *how, int to,
                                    uint64_t *bytes, struct watch *watch, struct sheaf_error *err)
{
    const struct libarchive *lib = &c->lib;
    struct archive *a = how;
    const void *data;
    size_t size;
    la_int64_t offset;
    int found, code = SHEAF_OK;

    while (code == SHEAF_OK &&
           (found = lib->archive_read_data_block(a, &data, &size, &offset)) != ARCHIVE_EOF) {
        if (found != ARCHIVE_OK)
            return libarchive_error(lib, a, err);
        code = tempfile_write_at(to, (uint64_t)offset, data, size, err);
        *bytes = (uint64_t)offset + size;
        if (code == SHEAF_OK && watch != NULL)
            code = watch_check(watch, err);
    }
    return code == SHEAF_OK ? check_padding(c, a, err) : code;
}

struct tar_unpacking {
    struct codec_stream *stream;
    uint64_t at;                /* in the archive */
    size_t used, size;          /* of what was read of it: taken, and all */
    uint8_t stored[CHUNK_BYTES], raw[CHUNK_BYTES];
};

/* Decompresses the next bytes of a tar into u->raw, and reads more of the archive if necessary.
 * Sets *got to the number of decompressed bytes, which is 0 at the end. */
static int unpack_some(const struct archive_content *c, struct tar_unpacking *u, size_t *got,
                       struct sheaf_error *err)
{
    size_t taken;
    int code = SHEAF_OK;

    if (u->used == u->size) {
        u->used = 0;
        u->size = (size_t)MIN(c->file.bytes - u->at, (uint64_t)CHUNK_BYTES);
        code = archive_read_at(&c->file, u->at, u->stored, u->size, err);
        u->at += u->size;
    }
    if (code != SHEAF_OK)
        return code;
    taken = u->size - u->used;
    *got = CHUNK_BYTES;
    code = codec_stream_push(u->stream, u->stored + u->used, &taken, u->raw, got, err);
    u->used += taken;
    if (code == SHEAF_OK && *got == 0 && u->used == u->size && u->at == c->file.bytes)
        return codec_stream_end(u->stream, err);
    return code;
}

static int decompress_by_codec(const struct archive_content *c, void *how, int to, uint64_t *bytes,
                               struct watch *watch, struct sheaf_error *err)
{
    struct tar_unpacking *u = malloc(sizeof(*u));
    size_t got = 1;
    int code = u == NULL ? err_memory(err, sizeof(*u)) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    u->at = u->used = u->size = 0;
    code = codec_stream_open(*(const enum sheaf_codec *)how, &u->stream, err);
    while (code == SHEAF_OK && (got != 0 || u->at != c->file.bytes)) {
        code = unpack_some(c, u, &got, err);
        if (code == SHEAF_OK)
            code = tempfile_write_at(to, *bytes, u->raw, got, err);
        *bytes += got;
        if (code == SHEAF_OK && watch != NULL)
            code = watch_check(watch, err);
    }
    codec_stream_free(u->stream);
    free(u);
    return code;
}

static int spool_into(struct archive_content *c, decompress_fn *decompress, void *how, int fd,
                      struct watch *watch, struct sheaf_error *err)
{
    uint64_t bytes = 0;
    int code = decompress(c, how, fd, &bytes, watch, err);

    if (code == SHEAF_OK)
        code = check_stamp(c, c->stamp, err);
    if (code != SHEAF_OK) {
        close(fd);
        return code;
    }
    c->file.fd = fd;
    c->file.bytes = bytes;
    return SHEAF_OK;
}

/* Decompresses an archive into a temporary file. */
static int spool(struct archive_content *c, decompress_fn *decompress, void *how,
                 struct watch *watch, struct sheaf_error *err)
{
    char *directory = tempfile_directory(NULL);
    int fd, code;

    if (directory == NULL)
        return err_memory(err, 1);
    fd = tempfile_create(directory, err);
    code = fd < 0 ? err->code : spool_into(c, decompress, how, fd, watch, err);
    if (code == SHEAF_ERR_IO || fd < 0)
        err_prefix(err, "a compressed tar is decompressed into a file in %s, which TMPDIR names (a "
                   "plain tar, or a tree, needs none): ", directory);
    free(directory);
    return code;
}

static int spool_by_codec(struct archive_content *c, enum sheaf_codec codec, struct watch *watch,
                          struct sheaf_error *err)
{
    const int code = spool(c, decompress_by_codec, &codec, watch, err);

    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED
           ? err_prefix(err, "damaged or truncated: ") : code;
}

/* If the tar is compressed, decompresses it into a temporary file. Faults of the tar itself are
 * found later, by the scan. */
static int spool_if_compressed(struct archive_content *c, struct watch *watch,
                               struct sheaf_error *err)
{
    const struct libarchive *lib = &c->lib;
    uint8_t begins[DETECT_BYTES];
    const size_t shown = (size_t)MIN(c->file.bytes, (uint64_t)sizeof(begins));
    enum sheaf_codec codec;
    struct archive *a;
    struct archive_entry *entry;
    int code = libarchive_load(&c->lib, err);

    if (code == SHEAF_OK)
        code = archive_read_at(&c->file, 0, begins, shown, err);
    if (code != SHEAF_OK)
        return code;
    codec = codec_detect(begins, shown);
    if (codec != SHEAF_CODEC_NONE)
        return spool_by_codec(c, codec, watch, err);
    a = new_decompressor(lib);
    if (a == NULL)
        return err_memory(err, 1);
    if (lib->archive_read_open_fd(a, c->archive_fd, CHUNK_BYTES) != ARCHIVE_OK ||
        lib->archive_read_next_header(a, &entry) != ARCHIVE_OK)
        code = libarchive_error(lib, a, err);
    else if (lib->archive_filter_code(a, 0) != ARCHIVE_FILTER_NONE)
        code = spool(c, decompress_by_libarchive, a, watch, err);
    lib->archive_read_free(a);
    return code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_local(struct archive_content *c, const char *path, struct sheaf_error *err)
{
    int code;

    c->archive_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (c->archive_fd < 0)
        return err_errno(err, errno, "%s: cannot open the archive", path);
    code = get_stamp(c->archive_fd, &c->stamp, &c->file.bytes, err);
    return code == SHEAF_OK ? SHEAF_OK : err_prefix(err, "%s: ", path);
}

static int open_remote(struct archive_content *c, const char *url, struct watch *watch,
                       struct sheaf_error *err)
{
    char *directory = tempfile_directory(NULL);
    int code;

    if (directory == NULL)
        return err_memory(err, 1);
    c->is_copy = true;
    c->archive_fd = tempfile_create(directory, err);
    code = c->archive_fd < 0 ? err->code
         : archive_fetch(url, c->archive_fd, &c->file.bytes, &c->stamp, watch, err);
    if (code == SHEAF_ERR_IO || c->archive_fd < 0)
        err_prefix(err, "%s: a remote archive is copied into a file in %s, which TMPDIR names: ",
                   url, directory);
    free(directory);
    return code;
}

/* Closes the copy of a remote archive if a decompressed form has replaced it. */
static void drop_copy(struct archive_content *c)
{
    if (!c->is_copy || c->file.fd == c->archive_fd)
        return;
    close(c->archive_fd);
    c->archive_fd = -1;
}

static int open_content(struct source *s, struct watch *watch, struct sheaf_error *err)
{
    struct archive_content *c = s->content;
    int code = store_is_local(s->root) ? open_local(c, s->root, err)
                                       : open_remote(c, s->root, watch, err);

    if (code != SHEAF_OK)
        return code;
    c->file.fd = c->archive_fd;
    if (c->file.bytes == 0)
        code = err_set(err, SHEAF_ERR_TRUNCATED, "an empty file, expected an archive");
    c->is_zip = code == SHEAF_OK && zip_is(&c->file);
    if (code == SHEAF_OK && !c->is_zip)
        code = spool_if_compressed(c, watch, err);
    drop_copy(c);
    return code == SHEAF_OK ? SHEAF_OK : err_prefix(err, "%s: ", s->root);
}

/* ---- Members --------------------------------------------------------------------------------- */

struct scanning {
    const struct source *source;
    struct archive_content *content;
    struct scan *scan;
};

/* Returns the part of a member's path after the source's root directory in the archive. Returns
 * NULL if the path is not under the root. */
static const char *below_root(const struct scanning *x, const char *path)
{
    const char *below = x->content->below;
    const size_t size = below == NULL ? 0 : strlen(below);

    if (size == 0)
        return path;
    return strncmp(path, below, size) == 0 && path[size] == '/' ? path + size + 1 : NULL;
}

static int source_archive_take_member(void *context, const struct archive_member *m,
                                      struct sheaf_error *err)
{
    struct scanning *x = context;
    const char *cleaned, *path, *problem;
    const struct catalog_stat stat = { .bytes = m->bytes, .stamp = x->content->stamp,
                                       .url = m->where };
    struct sheaf_error found;
    uint32_t label;
    bool out;
    int code = scan_clean(x->scan, m->path, &cleaned, err);

    if (code != SHEAF_OK)
        return code;
    path = below_root(x, cleaned);
    problem = m->problem != NULL || path == NULL ? m->problem : name_problem(path);
    if (path == NULL) {
        x->scan->passed_over++;
        return SHEAF_OK;
    }
    code = scan_leave_out(x->scan, path, &out, err);
    if (code != SHEAF_OK || out)
        return code;
    if (problem != NULL) {
        err_set(&found, SHEAF_ERR_UNSUPPORTED, "%s (in the archive %s)", problem, x->source->root);
        return scan_add_problem(x->scan, path, &found, err);
    }
    code = scan_class_of(x->scan, path, &label, err);
    return code == SHEAF_OK ? scan_add_object(x->scan, path, &stat, label, err) : code;
}

/* ---- Tars ------------------------------------------------------------------------------------ */

/* A tar, whose headers libarchive reads. */
struct tar {
    struct scanning *scanning;
    const struct libarchive *lib;
    uint64_t begin, end;        /* range of the tar in the file */
    uint64_t at;                /* what was read */
    uint64_t members_end;       /* end of the members that were found */
    const char *directory;      /* directory of its paths; "": none */
    unsigned depth;
    struct sheaf_error error;   /* of reading */
    uint8_t data[CHUNK_BYTES];
};

static la_ssize_t give_bytes(struct archive *a, void *context, const void **data)
{
    struct tar *t = context;
    const size_t size = (size_t)MIN(t->end - t->at, (uint64_t)sizeof(t->data));

    if (archive_read_at(&t->scanning->content->file, t->at, t->data, size, &t->error) != SHEAF_OK) {
        t->lib->archive_set_error(a, EIO, "%s", t->error.message);
        return ARCHIVE_FATAL;
    }
    *data = t->data;
    t->at += size;
    return (la_ssize_t)size;
}

static la_int64_t pass_bytes(struct archive *a, void *context, la_int64_t size)
{
    struct tar *t = context;
    const uint64_t step = MIN((uint64_t)size, t->end - t->at);

    (void)a;
    t->at += step;
    return (la_int64_t)step;
}

static int scan_tar(struct scanning *x, uint64_t begin, uint64_t end, const char *directory,
                    unsigned depth, struct sheaf_error *err);

/* Names are bytes, independent of the locale. */
static const char *source_archive_name_of(const struct libarchive *lib, struct archive_entry *entry)
{
    const char *name = lib->archive_entry_pathname(entry);

    return name != NULL ? name : lib->archive_entry_pathname_utf8(entry);
}

static const char *source_archive_problem_of(const struct libarchive *lib,
                                             struct archive_entry *entry)
{
    if (lib->archive_entry_hardlink(entry) != NULL ||
        lib->archive_entry_filetype(entry) == AE_IFLNK)
        return "is a link: unpack the archive for it to be followed";
    if (lib->archive_entry_filetype(entry) != AE_IFREG)
        return "is a device, a pipe or a socket, not a file";
    if (lib->archive_entry_is_encrypted(entry))
        return "is encrypted";
    return lib->archive_entry_sparse_count(entry) != 0 ? "is sparse: unpack the archive"
                                                             : NULL;
}

static bool is_nested(const struct archive_member *m)
{
    const size_t size = strlen(m->path);

    return m->problem == NULL && size > 4 && strcmp(m->path + size - 4, ".tar") == 0 &&
           m->path[size - 5] != '/';
}

/* Adds a member of a tar to the catalog. If the member is itself a tar, adds the members of the
 * inner tar instead. `path` must be NUL-terminated, and the function changes it. */
static int take_tar_member(struct tar *t, struct archive_entry *entry, char *path, uint64_t offset,
                           struct sheaf_error *err)
{
    struct archive_member m = { .path = path, .problem = source_archive_problem_of(t->lib, entry) };
    const la_int64_t size = t->lib->archive_entry_size(entry);

    m.bytes = m.problem != NULL || size < 0 ? 0 : (uint64_t)size;
    if (offset > t->end || m.bytes > t->end - offset)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: the archive ends within this member, which "
                       "has %" PRIu64 " byte%s at offset %" PRIu64 " of %" PRIu64, path, m.bytes,
                       plural(m.bytes), offset, t->end);
    t->members_end = offset + (m.bytes + TAR_BYTES - 1) / TAR_BYTES * TAR_BYTES;
    snprintf(m.where, sizeof(m.where), "%" PRIu64, offset);
    if (is_nested(&m) && t->depth == NESTED_MOST)
        m.problem = "is a tar within too many others";
    if (!is_nested(&m))
        return source_archive_take_member(t->scanning, &m, err);
    path[strlen(path) - 4] = '\0';
    return scan_tar(t->scanning, offset, offset + m.bytes, path, t->depth + 1, err);
}

static int source_archive_take_entry(struct tar *t, struct archive *a, struct archive_entry *entry,
                                     struct sheaf_error *err)
{
    const char *name = source_archive_name_of(t->lib, entry);
    const uint64_t offset = t->begin + (uint64_t)t->lib->archive_filter_bytes(a, 0);
    char *path;
    int code;

    if (name == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "a member without a name before offset %" PRIu64,
                       offset);
    t->members_end = offset;
    if (t->lib->archive_entry_filetype(entry) == AE_IFDIR)
        return SHEAF_OK;
    if (asprintf(&path, "%s%s%s", t->directory, t->directory[0] == '\0' ? "" : "/", name) < 0)
        return err_memory(err, strlen(name));
    code = take_tar_member(t, entry, path, offset, err);
    free(path);
    return code;
}

static int source_archive_take_entries(struct tar *t, struct archive *a, struct sheaf_error *err)
{
    struct archive_entry *entry;
    int code = SHEAF_OK, found;

    while (code == SHEAF_OK &&
           (found = t->lib->archive_read_next_header(a, &entry)) != ARCHIVE_EOF) {
        if (found != ARCHIVE_OK && found != ARCHIVE_WARN)
            return libarchive_error(t->lib, a, err);
        code = source_archive_take_entry(t, a, entry, err);
    }
    return code;
}

/* Returns an error if a tar does not end with blocks of zeros. These blocks are missing if the tar
 * was cut between two members. */
static int check_end(const struct tar *t, struct sheaf_error *err)
{
    if (t->end >= t->members_end && t->end - t->members_end >= TAR_BYTES)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_TRUNCATED, "the archive ends at byte %" PRIu64 " without the "
                   "blocks of zeros that end a tar, so it was cut short", t->end);
}

/* Reads the headers of all members of the tars in a range of a file, and adds the members to the
 * catalog. The range may contain several tars, one after another. */
static int scan_tar(struct scanning *x, uint64_t begin, uint64_t end, const char *directory,
                    unsigned depth, struct sheaf_error *err)
{
    const struct libarchive *lib = &x->content->lib;
    struct tar *t = calloc(1, sizeof(*t));
    struct archive *a = lib->archive_read_new();
    int code;

    if (t == NULL || a == NULL) {
        code = err_memory(err, sizeof(*t));
    } else {
        *t = (struct tar){ .scanning = x, .lib = lib, .begin = begin, .end = end, .at = begin,
                           .members_end = begin, .directory = directory, .depth = depth };
        lib->archive_read_support_format_tar(a);
        lib->archive_read_set_option(a, "tar", "read_concatenated_archives", "1");
        code = lib->archive_read_open2(a, t, NULL, give_bytes, pass_bytes, NULL) == ARCHIVE_OK
             ? source_archive_take_entries(t, a, err) : libarchive_error(lib, a, err);
        if (code == SHEAF_OK)
            code = check_end(t, err);
        if (code != SHEAF_OK && code != SHEAF_ERR_INTERRUPTED && directory[0] != '\0')
            err_prefix(err, "%s.tar: ", directory);
    }
    lib->archive_read_free(a);
    free(t);
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_tar_member(const struct archive_content *c, const struct catalog_file *f,
                           void *data, struct sheaf_error *err)
{
    uint64_t at;

    if (!number_parse(f->object->url, UINT64_MAX, &at))
        return err_set(err, SHEAF_ERR_CORRUPT, "invalid location in a tar: %.40s", f->object->url);
    return archive_read_at(&c->file, at, data, f->bytes, err);
}

static int read_member(const struct source *s, const struct catalog_file *f, void *data,
                       struct sheaf_error *err)
{
    const struct archive_content *c = s->content;
    int code;

    if (f->origin != CATALOG_OBJECT)
        return err_set(err, SHEAF_ERR_CORRUPT, "invalid location in an archive");
    code = c->is_zip ? zip_read(&c->file, f->object->url, data, f->bytes, err)
                     : read_tar_member(c, f, data, err);
    /* If the archive has changed since the scan, the bytes that were just read are invalid. */
    if (check_stamp(c, f->object->stamp, err) != SHEAF_OK)
        code = err->code;
    return code == SHEAF_OK ? SHEAF_OK : err_prefix(err, "in the archive %s: ", s->root);
}

/* ---- The kind -------------------------------------------------------------------------------- */

static int make_content(struct source *s, const char *below, struct sheaf_error *err)
{
    struct archive_content *c = calloc(1, sizeof(*c));
    size_t size = below == NULL ? 0 : strlen(below);
    bool climbs;

    s->content = c;
    if (c == NULL)
        return err_memory(err, sizeof(*c));
    c->file.fd = c->archive_fd = -1;
    if (below != NULL)
        c->below = strdup(below);
    if (c->below != NULL)
        c->below[name_clean(c->below, size, &climbs)] = '\0';
    return below != NULL && c->below == NULL ? err_memory(err, size) : SHEAF_OK;
}

static int open_archive(struct source *s, const char *root, struct sheaf_error *err)
{
    int code = source_open_here(s, NULL, err);

    return code == SHEAF_OK ? make_content(s, root, err) : code;
}

static int reopen_archive(struct source *s, struct sheaf_error *err)
{
    int code = make_content(s, NULL, err);

    return code == SHEAF_OK ? open_content(s, NULL, err) : code;
}

/* Completes the error message about a file that cannot be read as an archive. If the content is of
 * another known kind, the message names this kind. */
static int name_content(const struct archive_file *file, struct sheaf_error *err)
{
    uint8_t begins[DETECT_BYTES];
    const size_t size = (size_t)MIN(file->bytes, (uint64_t)sizeof(begins));
    const char *what;

    if (archive_read_at(file, 0, begins, size, NULL) != SHEAF_OK ||
        format_detect(begins, size, NULL) != NULL)
        return err->code;
    what = content_name(begins, size);
    return what == NULL ? err->code
                        : err_set(err, err->code, "it is %s, expected a tar or zip archive", what);
}

static int scan_archive(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct scanning x = { s, s->content, scan };
    int code = open_content(s, scan->watch, err);

    if (code != SHEAF_OK)
        return code;
    code = x.content->is_zip ? zip_scan(&x.content->file, source_archive_take_member, &x, err)
                             : scan_tar(&x, 0, x.content->file.bytes, "", 0, err);
    if (code == SHEAF_ERR_CORRUPT && !x.content->is_zip)
        code = name_content(&x.content->file, err);
    if (code == SHEAF_OK)
        code = check_stamp(x.content, x.content->stamp, err);
    return code == SHEAF_OK || code == SHEAF_ERR_INTERRUPTED ? code
                                                             : err_prefix(err, "%s: ", s->root);
}

static void close_archive(struct source *s)
{
    struct archive_content *c = s->content;

    if (c->file.fd >= 0 && c->file.fd != c->archive_fd)
        close(c->file.fd);
    if (c->archive_fd >= 0)
        close(c->archive_fd);
    free(c->below);
    free(c);
}

const struct source_ops source_archive_ops = {
    .name = "archive", .noun = "archive", .takes_root = true,
    .suffixes = (const char *const[]){ ".tar", ".tgz", ".txz", ".tbz2", ".tzst", ".tar.xz",
                                       ".tar.bz2", ".zip", NULL },
    .open = open_archive, .scan = scan_archive, .reopen = reopen_archive, .read = read_member,
    .close = close_archive,
};
