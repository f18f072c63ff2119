/* SPDX-License-Identifier: MIT
 *
 * Reads tar headers. Extension headers belong to the member that follows. All of them are parsed
 * together with the member, as one header of many blocks, so no state is kept between members.
 *
 * A global pax header could change all later members, but programs disagree about its effect. GNU
 * tar and Python apply a path or a size in this header to the later members, and libarchive does
 * not. So if a global header has a path or a size, everything after the header counts as
 * damaged. */
#include <inttypes.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/tar.h"
#include "formats/tar_header.h"

/* A GNU sparse file has a map, which may continue in blocks after the file's header. A byte says
 * whether another such block follows, and is 0 if not. This byte is at offset SPARSE_MORE of the
 * header, and at offset SPARSE_MAP_MORE of each block of the map. */
#define SPARSE_MORE     482
#define SPARSE_MAP_MORE 504

/* The content of the extension headers before a member. */
struct extensions {
    /* `path` is the member's path from a pax header, and `gnu_path` its path from a GNU header. If
     * there are both, `path` is used. */
    const char *path, *gnu_path;
    size_t path_size, gnu_path_size;
    bool has_size;
    uint64_t size;
    const char *problem;                /* problem of the member; or NULL */
    bool rules_all;                     /* whether a global header affects all later members */
};

static int checksum_error(const struct tar_header *h, unsigned sum, struct sheaf_error *err)
{
    char field[sizeof(h->checksum) + 1];
    size_t i;

    for (i = 0; i < sizeof(h->checksum); i++)
        field[i] = h->checksum[i] >= ' ' && h->checksum[i] < 0x7f ? h->checksum[i] : '?';
    field[i] = '\0';
    return err_set(err, SHEAF_ERR_CORRUPT, "a tar header's bytes add up to %06o, but its "
                   "checksum is \"%s\"", sum, field);
}

/* Parses a number in a tar header. The number has GNU's base-256 form, or it is octal: blanks,
 * octal digits, and then a blank, a NUL or the end of the field. Returns false if the field is
 * malformed. */
static bool tar_parse_number(const char *field, size_t size, uint64_t *value)
{
    size_t i = 0;

    *value = 0;
    if ((uint8_t)field[0] == 0x80) {
        for (i = 1; i < size; i++) {
            if (*value >> 56 != 0)
                return false;
            *value = *value << 8 | (uint8_t)field[i];
        }
        return true;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
        if (*value >> 61 != 0)
            return false;
        *value = *value << 3 | (uint64_t)(field[i] - '0');
    }
    return i == size || field[i] == ' ' || field[i] == '\0';
}

/* Verifies the checksum of a header. Some old programs added up the bytes as signed characters, so
 * their sum is also accepted. Both sums are equal if every byte is ASCII. */
static int tar_parse_check_sum(const struct tar_header *h, struct sheaf_error *err)
{
    const uint8_t *bytes = (const uint8_t *)h;
    unsigned sum = tar_checksum(h), high = 0;
    uint64_t said;
    size_t i;

    if (!tar_parse_number(h->checksum, sizeof(h->checksum), &said))
        return checksum_error(h, sum, err);
    if (said == sum)
        return SHEAF_OK;
    for (i = 0; i < TAR_BLOCK; i++)
        high += bytes[i] >> 7;
    for (i = 0; i < sizeof(h->checksum); i++)
        high -= (uint8_t)h->checksum[i] >> 7;
    return said + 256 * (uint64_t)high == sum ? SHEAF_OK : checksum_error(h, sum, err);
}

static int tar_parse_read_size(const struct tar_header *h, uint64_t *bytes, struct sheaf_error *err)
{
    if (!tar_parse_number(h->size, sizeof(h->size), bytes))
        return err_set(err, SHEAF_ERR_CORRUPT, "the size in a tar header is not a number");
    if (*bytes > FRAME_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "a tar member has %" PRIu64 " bytes, the limit is %"
                       PRIu64, *bytes, FRAME_LIMIT);
    return SHEAF_OK;
}

/* ---- pax ---------------------------------------------------------------------------------- */

struct pax_record {
    const char *key, *value;
    size_t key_size, value_size;
};

/* Takes the next record of a pax header, "<size> <key>=<value>\n", at *at. <size> is the number of
 * bytes of the whole record. Returns false if the record is malformed. */
static bool next_record(const char *data, size_t size, size_t *at, struct pax_record *r)
{
    const char *line = data + *at, *equals;
    size_t left = size - *at, length = 0, digits = 0;

    for (; digits < left && line[digits] >= '0' && line[digits] <= '9'; digits++) {
        if (length > left)
            return false;
        length = length * 10 + (size_t)(line[digits] - '0');
    }
    if (digits == 0 || digits == left || line[digits] != ' ' || length > left ||
        length < digits + 3 || line[length - 1] != '\n')
        return false;
    r->key = line + digits + 1;
    equals = memchr(r->key, '=', length - digits - 2);
    if (equals == NULL || equals == r->key)
        return false;
    r->key_size = (size_t)(equals - r->key);
    r->value = equals + 1;
    r->value_size = length - digits - r->key_size - 3;
    *at += length;
    return true;
}

static bool tar_parse_is_key(const struct pax_record *r, const char *key)
{
    return r->key_size == strlen(key) && memcmp(r->key, key, r->key_size) == 0;
}

static bool is_sparse(const struct pax_record *r)
{
    static const char prefix[] = "GNU.sparse.";

    return r->key_size >= sizeof(prefix) - 1 && memcmp(r->key, prefix, sizeof(prefix) - 1) == 0;
}

static const char sparse[] = "a sparse file, which is not supported";

static int pax_size(const struct pax_record *r, struct extensions *ext, struct sheaf_error *err)
{
    size_t i;

    ext->size = 0;
    ext->has_size = r->value_size != 0;
    for (i = 0; i < r->value_size; i++) {
        if (r->value[i] < '0' || r->value[i] > '9')
            return err_set(err, SHEAF_ERR_CORRUPT, "the size in a pax header is not a number");
        ext->size = ext->size * 10 + (uint64_t)(r->value[i] - '0');
        if (ext->size > FRAME_LIMIT)
            return err_set(err, SHEAF_ERR_LIMIT, "a tar member has more bytes than the limit of %"
                           PRIu64, FRAME_LIMIT);
    }
    return SHEAF_OK;
}

/* Applies one record of a pax header to `ext`: a path, a size, or a sparse map, which makes the
 * member unreadable. Ignores other records. */
static int pax_record_apply(const struct pax_record *r, bool global, struct extensions *ext,
                            struct sheaf_error *err)
{
    const bool is_path = tar_parse_is_key(r, "path"), is_size = tar_parse_is_key(r, "size");

    ext->rules_all = global && (is_path || is_size || is_sparse(r));
    if (ext->rules_all)
        return err_set(err, SHEAF_ERR_CORRUPT, "it gives one %s to all members after it",
                       is_path ? "path" : is_size ? "size" : "sparse map");
    if (is_sparse(r))
        ext->problem = sparse;
    if (is_path) {
        ext->path = r->value_size == 0 ? NULL : r->value;
        ext->path_size = r->value_size;
    }
    return is_size ? pax_size(r, ext, err) : SHEAF_OK;
}

static int pax_parse(const char *data, size_t size, bool global, struct extensions *ext,
                     struct sheaf_error *err)
{
    struct pax_record r;
    size_t at = 0;

    while (at < size) {
        int code;

        if (!next_record(data, size, &at, &r))
            return err_set(err, SHEAF_ERR_CORRUPT, "a pax header's record at byte %zu of %zu is "
                           "not of the form \"size key=value\\n\"", at, size);
        code = pax_record_apply(&r, global, ext, err);
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* ---- Members ------------------------------------------------------------------------------ */

static bool is_extension(char type)
{
    return type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K';
}

/* Adds the name of a global pax header to the beginning of the error message about it. */
static int name_global(const struct tar_header *h, int code, struct sheaf_error *err)
{
    char name[sizeof(h->name) + 1];
    size_t i;

    for (i = 0; i < sizeof(h->name) && h->name[i] != '\0'; i++)
        name[i] = h->name[i] >= ' ' && h->name[i] < 0x7f ? h->name[i] : '?';
    name[i] = '\0';
    err_prefix(err, "the global pax header \"%s\": ", name);
    return code;
}

/* Applies the data of one extension header. */
static int tar_parse_extend(const struct tar_header *h, const char *data, size_t size,
                            struct extensions *ext, struct sheaf_error *err)
{
    if (h->type == 'K')                         /* the target of a link */
        return SHEAF_OK;
    if (h->type == 'g') {
        const int code = pax_parse(data, size, true, ext, err);

        return code == SHEAF_OK ? SHEAF_OK : name_global(h, code, err);
    }
    if (h->type != 'L')
        return pax_parse(data, size, false, ext, err);
    /* the path of the member; if the member has several 'L' headers, the last one counts, as in GNU
     * tar */
    ext->gnu_path = data;
    ext->gnu_path_size = strnlen(data, size);
    return SHEAF_OK;
}

/* Returns whether the member's name ends in "/" or in a component ".", so that it names a
 * directory. Before ustar, a directory was stored as a file with such a name. After this check, the
 * last component of a file's name is never empty or ".", and other code relies on this. */
static bool names_directory(const struct tar_member *m)
{
    const char *name = m->name;
    const size_t size = m->name_size;

    return size == 0 || name[size - 1] == '/' ||
           (name[size - 1] == '.' && (size == 1 || name[size - 2] == '/'));
}

static enum tar_kind tar_parse_kind_of(const struct tar_header *h, const struct tar_member *m)
{
    switch (h->type) {
    case '0': case '\0': case '7': case 'S': case 'M':
        return names_directory(m) ? TAR_DIRECTORY : TAR_FILE;
    case '5': return TAR_DIRECTORY;
    default:  return TAR_OTHER;
    }
}

/* Returns whether the header of a member of type `type` is followed by data. Links, directories and
 * devices have no data, even if their header states a size. (A hard link may state the size of its
 * file.) */
static bool has_data(char type)
{
    return type < '1' || type > '6';
}

static void tar_parse_set_path(const struct tar_header *h, const struct extensions *ext,
                               struct tar_member *m)
{
    m->prefix_size = 0;
    m->prefix = h->prefix;
    if (ext->path != NULL || ext->gnu_path != NULL) {
        m->name = ext->path != NULL ? ext->path : ext->gnu_path;
        m->name_size = ext->path != NULL ? ext->path_size : ext->gnu_path_size;
        return;
    }
    m->name = h->name;
    m->name_size = strnlen(h->name, sizeof(h->name));
    /* a path has a prefix only in a ustar header; in GNU's "ustar " format, `prefix` holds times */
    if (memcmp(h->magic, "ustar", 6) == 0)
        m->prefix_size = strnlen(h->prefix, sizeof(h->prefix));
}

/* Returns the offset of the end of a GNU sparse file's header. Blocks with the map of the file may
 * follow the header and belong to it. The header and each of these blocks say whether another block
 * follows. Sets *need if the caller must call again with more bytes. */
static size_t sparse_end(const uint8_t *data, size_t size, size_t at, size_t *need)
{
    bool goes_on = data[at + SPARSE_MORE] != 0;

    at += TAR_BLOCK;
    while (goes_on && size - at >= TAR_BLOCK && at < TAR_EXTENSION_MOST) {
        goes_on = data[at + SPARSE_MAP_MORE] != 0;
        at += TAR_BLOCK;
    }
    if (goes_on && at < TAR_EXTENSION_MOST)
        *need = at + TAR_BLOCK;
    return at;
}

/* Parses the member's own header, which begins at offset `at` after the member's extension
 * headers. */
static int parse_member(const uint8_t *data, size_t size, size_t at, const struct extensions *ext,
                        struct tar_member *m, size_t *need, struct sheaf_error *err)
{
    const struct tar_header *h = (const struct tar_header *)(data + at);
    int code = tar_parse_read_size(h, &m->bytes, err);

    if (code != SHEAF_OK)
        return code;
    tar_parse_set_path(h, ext, m);
    m->problem = h->type == 'S' ? sparse
               : h->type == 'M' ? "a file continued from another volume" : ext->problem;
    m->kind = tar_parse_kind_of(h, m);
    if (ext->has_size)
        m->bytes = ext->size;
    if (!has_data(h->type))
        m->bytes = 0;
    m->header_bytes = h->type == 'S' ? sparse_end(data, size, at, need) : at + TAR_BLOCK;
    m->is_label = m->kind == TAR_FILE && memcmp(h->group, TAR_LABEL_GROUP,
                                                sizeof(TAR_LABEL_GROUP)) == 0;
    return SHEAF_OK;
}

static bool is_zero_block(const uint8_t *block)
{
    return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* Parses the extension header at offset `at` and its data into `ext`. Sets *next to the end of the
 * data. Sets *need if the caller must call again with more bytes. */
static int parse_extension(const uint8_t *data, size_t size, size_t at, struct extensions *ext,
                           size_t *next, size_t *need, struct sheaf_error *err)
{
    const struct tar_header *h = (const struct tar_header *)(data + at);
    uint64_t bytes;
    int code = tar_parse_read_size(h, &bytes, err);

    if (code != SHEAF_OK)
        return code;
    if (bytes > TAR_EXTENSION_MOST || at + tar_padded(bytes) > TAR_EXTENSION_MOST)
        return err_set(err, SHEAF_ERR_CORRUPT, "the extension headers of a tar member have %" PRIu64
                       " bytes, the limit is %zu", at + tar_padded(bytes), TAR_EXTENSION_LIMIT);
    if (at + tar_padded(bytes) > TAR_EXTENSION_LIMIT)
        ext->problem = "a file with more than 1 MiB of extension headers";
    *next = at + TAR_BLOCK + tar_padded(bytes);
    if (*next > size) {
        *need = *next;
        return SHEAF_OK;
    }
    return tar_parse_extend(h, (const char *)data + at + TAR_BLOCK, bytes, ext, err);
}

static int tar_parse_do(const uint8_t *data, size_t size, bool is_checked,
                        struct tar_member *member, size_t *need, struct sheaf_error *err)
{
    struct extensions ext = { 0 };
    size_t at = 0, next = 0;

    *need = 0;
    for (;;) {
        const struct tar_header *h;
        int code;

        if (size - at < TAR_BLOCK) {
            *need = at + TAR_BLOCK;
            return SHEAF_OK;
        }
        h = (const struct tar_header *)(data + at);
        if (is_zero_block(data + at)) {
            *member = (struct tar_member){ .kind = TAR_ZERO, .header_bytes = TAR_BLOCK };
            return at == 0 ? SHEAF_OK
                           : err_set(err, SHEAF_ERR_CORRUPT, "found a zero block, expected the tar "
                                     "member of an extension header");
        }
        code = is_checked ? SHEAF_OK : tar_parse_check_sum(h, err);
        if (code == SHEAF_OK && !is_extension(h->type))
            return parse_member(data, size, at, &ext, member, need, err);
        if (code == SHEAF_OK)
            code = parse_extension(data, size, at, &ext, &next, need, err);
        if (*need == 0 && (ext.rules_all || (h->type == 'g' && at == 0)))
            *member = (struct tar_member){ .kind = TAR_GLOBAL, .header_bytes = next };
        if (code != SHEAF_OK || *need != 0 || (h->type == 'g' && at == 0))
            return code;
        at = next;
    }
}

int tar_parse(const uint8_t *data, size_t size, struct tar_member *member, size_t *need,
              struct sheaf_error *err)
{
    return tar_parse_do(data, size, false, member, need, err);
}

int tar_parse_checked(const uint8_t *data, size_t size, struct tar_member *member, size_t *need,
                      struct sheaf_error *err)
{
    return tar_parse_do(data, size, true, member, need, err);
}
