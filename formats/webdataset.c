/* SPDX-License-Identifier: MIT
 *
 * Implements the container WebDataset: a tar in which adjacent members with the same key form one
 * sample. These members are the sample's frame. A frame ends before a member with another key or a
 * zero block.
 *
 * Some members belong to no sample: directories, links, names without a key or suffix, global
 * headers. Before the first frame, and after a zero block, such members are skipped. At other
 * places they count as part of the frame before them, so that the frames cover all bytes. */
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/sample.h"
#include "formats/tar.h"

/* ---- Names of members --------------------------------------------------------------------- */

/* Suffix of the member that holds the labels if the sample has a field `cls` that does not consist
 * of numbers. Programs other than Sheaf see the member as one more field. A user's field cannot
 * have this name, because webdataset reserves names of the form __x__. */
#define LABEL_SUFFIX "__label__"

/* The path to which tar would extract a member (its cleaned path), and the division of this path
 * into key and suffix. */
struct member_path {
    char text[KEY_LIMIT + 1];
    size_t size;
    size_t key_size;
    const char *suffix;
    /* static text that says why Sheaf cannot read the file, or NULL if it can */
    const char *problem;
};

/* Copies the path. At most KEY_LIMIT bytes are kept. */
static void webdataset_take_path(const struct tar_member *m, struct member_path *path)
{
    const size_t between = m->prefix_size != 0;
    const size_t size = MIN(m->name_size, KEY_LIMIT - m->prefix_size - between);
    char *text = path->text;
    bool climbs;

    memcpy(text, m->prefix, m->prefix_size);
    if (between)
        text[m->prefix_size] = '/';
    memcpy(text + m->prefix_size + between, m->name, size);
    path->size = name_clean(text, m->prefix_size + between + size, &climbs);
    text[path->size] = '\0';
    path->problem = size < m->name_size ? "the path is longer than 4096 bytes"
                                        : name_text_problem(text, path->size);
    if (path->problem == NULL && climbs)
        path->problem = "the path has a component \"..\"";
    if (path->problem == NULL)
        path->problem = m->problem;
}

/* Finds the path of a tar member and splits it into key and suffix. Returns true if the member
 * belongs to a sample. Returns false if it belongs to none, such as a directory. The package
 * webdataset skips the same members. If the member belongs to a sample but Sheaf cannot read it,
 * also sets path->problem, so that only this sample counts as damaged. */
static bool split_member(const struct tar_member *m, struct member_path *path)
{
    if (m->kind == TAR_GLOBAL || m->kind == TAR_ZERO)
        return false;
    webdataset_take_path(m, path);
    if (m->kind != TAR_FILE || name_is_passed_over(path->text))
        return false;
    if (name_split(path->text, &path->key_size, &path->suffix)) {
        if (path->problem == NULL && !(m->is_label && strcmp(path->suffix, LABEL_SUFFIX) == 0))
            path->problem = name_suffix_problem(path->suffix);
        return true;
    }
    path->key_size = path->size;
    path->suffix = path->text + path->size;
    return path->size == KEY_LIMIT || strlen(path->text) < path->size;
}

/* Replaces by "?" each character of a name that is not printable ASCII. */
static void make_printable(char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] < ' ' || name[i] >= 0x7f)
            name[i] = '?';
    }
}

static int webdataset_check_member(struct member_path *path, struct sheaf_error *err)
{
    if (path->problem == NULL)
        return SHEAF_OK;
    if (!name_is_text(path->text, path->size))
        make_printable(path->text, path->size);
    return err_set(err, SHEAF_ERR_CORRUPT, "the member \"%.400s%s\": %s", path->text,
                   path->size > 400 ? "..." : "", path->problem);
}

/* ---- Encoding ----------------------------------------------------------------------------- */

static const struct sheaf_field *find_cls(const struct sheaf_field *const *fields, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (strcmp(fields[i]->name, "cls") == 0)
            return fields[i];
    }
    return NULL;
}

/* Decides which member of the tar will hold the labels of a sample. Sets *suffix to the suffix of
 * an additional member for the labels. Sets *suffix to NULL if no such member is needed, for
 * example because the sample has no labels.
 *
 * - If the sample has no field `cls`, the additional member is `cls`.
 * - If the sample's field `cls` consists of numbers, no additional member is needed. Returns an
 *   error if the numbers differ from the labels. If the field has not been read yet, its content is
 *   assumed to be the labels.
 * - If the field `cls` has other content, the additional member is LABEL_SUFFIX. */
static int label_member(const struct sheaf_sample *sample, const struct sheaf_field *const *fields,
                        const char **suffix, struct sheaf_error *err)
{
    const struct sheaf_field *cls = find_cls(fields, sample->field_count);
    struct buf said = BUF_INIT(LABEL_LIMIT * sizeof(double));
    long count;
    int code;

    *suffix = sample->label_count == 0 ? NULL : "cls";
    if (cls == NULL)
        return SHEAF_OK;
    *suffix = NULL;
    if (cls->data == NULL && cls->size != 0)
        return SHEAF_OK;
    code = label_append(&said, cls->data, cls->size, &count, err);
    if (code == SHEAF_OK && said.size == 0)
        *suffix = sample->label_count == 0 ? NULL : LABEL_SUFFIX;
    else if (code == SHEAF_OK &&
             (said.size != sample->label_count * sizeof(double) ||
              memcmp(said.data, sample->labels, said.size) != 0))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: the labels differ from the field cls, "
                       "which holds the labels in a tar", sample->key);
    buf_free(&said);
    return code;
}

static void join_path(char path[KEY_LIMIT + 1], const char *key, const char *suffix)
{
    const size_t key_size = strlen(key);

    memcpy(path, key, key_size);
    path[key_size] = '.';
    memcpy(path + key_size + 1, suffix, strlen(suffix) + 1);
}

static int write_member(struct buf *out, const char *key, const char *suffix, const void *data,
                        size_t size, bool is_label, struct sheaf_error *err)
{
    char path[KEY_LIMIT + 1];

    join_path(path, key, suffix);
    return tar_write(out, path, data, size, is_label, err);
}

/* Writes the member that is made of the labels. */
static int write_labels(struct buf *out, const struct sheaf_sample *sample, const char *suffix,
                        struct sheaf_error *err)
{
    struct buf text = BUF_INIT((size_t)LABEL_LIMIT * 32);
    int code = label_print(&text, sample->labels, sample->label_count, err);

    if (code == SHEAF_OK)
        code = write_member(out, sample->key, suffix, text.data, text.size, true, err);
    buf_free(&text);
    return code;
}

/* Writes the members of a sample in byte order of their suffixes. `due` is the suffix of an
 * additional member with the sample's labels, or NULL if the sample does not need such a member. */
static int write_members(struct buf *out, const struct sheaf_sample *sample,
                         const struct sheaf_field *const *fields, const char *due,
                         struct sheaf_error *err)
{
    size_t i;
    int code = SHEAF_OK;

    for (i = 0; i < sample->field_count && code == SHEAF_OK; i++) {
        const char *suffix = field_suffix(fields[i]);

        if (due != NULL && strcmp(suffix, due) > 0) {
            code = write_labels(out, sample, due, err);
            due = NULL;
        }
        if (code == SHEAF_OK)
            code = write_member(out, sample->key, suffix, fields[i]->data, fields[i]->size, false,
                                err);
    }
    if (due != NULL && code == SHEAF_OK)
        code = write_labels(out, sample, due, err);
    return code;
}

static int webdataset_encode(const struct sheaf_sample *sample,
                             const struct encode_context *context, struct buf *out,
                             struct buf *names, struct encoded *encoded, struct sheaf_error *err)
{
    const struct sheaf_field *fields[FIELD_LIMIT];
    const size_t start = out->size;
    const char *due;
    int code = sample_check(sample, fields, err);

    (void)context;
    (void)names;
    if (code != SHEAF_OK)
        return code;
    if (sample->field_count == 0 && sample->label_count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: a tar cannot hold a sample without "
                       "fields and labels", sample->key);
    code = label_member(sample, fields, &due, err);
    if (code == SHEAF_OK)
        code = write_members(out, sample, fields, due, err);
    if (code != SHEAF_OK) {
        out->size = start;
        return code;
    }
    *encoded = (struct encoded){ .size = out->size - start,
                                 .crc = crc32c(0, out->data + start, out->size - start) };
    return SHEAF_OK;
}

static size_t member_header_bytes(const char *key, const char *suffix, size_t size)
{
    char path[KEY_LIMIT + 1];

    join_path(path, key, suffix);
    return tar_header_bytes(path, size);
}

/* Computes the number of bytes that write_labels appends. */
static int webdataset_count_labels(const struct sheaf_sample *sample, const char *suffix,
                                   size_t *bytes)
{
    struct buf text = BUF_INIT((size_t)LABEL_LIMIT * 32);
    const int code = label_print(&text, sample->labels, sample->label_count, NULL);

    *bytes += member_header_bytes(sample->key, suffix, text.size) + (size_t)tar_padded(text.size);
    buf_free(&text);
    return code;
}

static size_t webdataset_content_at(const struct sheaf_sample *sample,
                                    const struct encode_context *context,
                                    const struct sheaf_field *field)
{
    const struct sheaf_field *fields[FIELD_LIMIT];
    const char *due;
    size_t at = 0;

    (void)context;
    if (sample_check(sample, fields, NULL) != SHEAF_OK ||
        label_member(sample, fields, &due, NULL) != SHEAF_OK)
        return SIZE_MAX;
    if (due != NULL && strcmp(field_suffix(field), due) > 0 &&
        webdataset_count_labels(sample, due, &at) != SHEAF_OK)
        return SIZE_MAX;
    for (size_t i = 0; i < sample->field_count; i++) {
        at += member_header_bytes(sample->key, field_suffix(fields[i]), fields[i]->size);
        if (fields[i] == field)
            return at;
        at += (size_t)tar_padded(fields[i]->size);
    }
    return SIZE_MAX;
}

/* ---- Scanning ----------------------------------------------------------------------------- */

/* Skips all zero blocks at `data`. Zero blocks end the frame (the members of one sample) that is
 * being read. */
static void skip_zeros(struct format_scan *scan, const uint8_t *data, size_t size,
                       struct part *part)
{
    struct tar_member m = { .kind = TAR_ZERO };
    size_t at = 0, need = 0;

    while (size - at >= TAR_BLOCK && data[at] == 0 &&
           tar_parse(data + at, TAR_BLOCK, &m, &need, NULL) == SHEAF_OK && m.kind == TAR_ZERO) {
        at += TAR_BLOCK;
        scan->zero_blocks += scan->zero_blocks < TAR_END_BLOCKS;
    }
    scan->frame_open = false;
    *part = (struct part){ .kind = PART_SKIP, .size = at };
}

/* Handles the last bytes of a stream, which are too few for a header. If they are zeros after the
 * end of the archive, skips them. Otherwise returns the error of a truncated member. */
static int part_at_end(const struct format_scan *scan, const uint8_t *data, size_t size,
                       size_t need, struct part *part, struct sheaf_error *err)
{
    size_t i;

    for (i = 0; i < size && data[i] == 0; i++)
        ;
    if (i < size || scan->zero_blocks < TAR_END_BLOCKS)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the tar ends after %zu byte%s of a header of "
                       "%zu byte%s", size, plural(size), need, plural(need));
    *part = (struct part){ .kind = PART_SKIP, .size = size };
    return SHEAF_OK;
}

/* Counts a member that does not belong to a sample, and stores its name in printable form for a
 * report. */
static int webdataset_pass_over(struct format_scan *scan, const struct member_path *path,
                                struct sheaf_error *err)
{
    int code;

    scan->passed_over++;
    scan->passed_name.size = 0;
    code = buf_append(&scan->passed_name, path->text, path->size + 1, err);
    if (code == SHEAF_OK && !name_is_text(path->text, path->size))
        make_printable((char *)scan->passed_name.data, path->size);
    return code;
}

/* Handles a member that belongs to a sample. If the member has the key of the open frame (the
 * sample that is being read), it continues this frame. Otherwise it begins a new frame. */
static int webdataset_take_member(struct format_scan *scan, const struct member_path *path,
                                  struct part *part, struct sheaf_error *err)
{
    int code;

    if (scan->frame_open && scan->key.size == path->key_size &&
        memcmp(scan->key.data, path->text, path->key_size) == 0) {
        part->kind = PART_NEXT;
        return SHEAF_OK;
    }
    part->kind = PART_START;
    scan->frame_open = true;
    scan->key.size = 0;
    code = buf_append(&scan->key, path->text, path->key_size, err);
    if (code == SHEAF_OK && !scan->skips_key)
        code = key_seen_add(&scan->keys, path->text, path->key_size, err);
    scan->skips_key = false;
    return code;
}

static int webdataset_part(struct format_scan *scan, const uint8_t *data, size_t size,
                           bool at_end, struct part *part, struct sheaf_error *err)
{
    struct member_path path;
    struct tar_member m = { .kind = TAR_OTHER };
    size_t need;
    int code = tar_parse(data, size, &m, &need, err);

    scan->no_more = code != SHEAF_OK && m.kind == TAR_GLOBAL;
    if (code != SHEAF_OK)
        return code;
    if (need != 0 && at_end)
        return part_at_end(scan, data, size, need, part, err);
    if (need != 0) {
        *part = (struct part){ .kind = PART_MORE, .need = need };
        return SHEAF_OK;
    }
    if (m.kind == TAR_ZERO) {
        skip_zeros(scan, data, size, part);
        return SHEAF_OK;
    }
    scan->zero_blocks = 0;
    *part = (struct part){ .kind = scan->frame_open ? PART_NEXT : PART_SKIP,
                           .size = m.header_bytes + tar_padded(m.bytes) };
    if (m.kind == TAR_GLOBAL)
        return SHEAF_OK;
    return split_member(&m, &path) ? webdataset_take_member(scan, &path, part, err)
                                   : webdataset_pass_over(scan, &path, err);
}

static int webdataset_end(struct format_scan *scan, struct sheaf_error *err)
{
    if (scan->zero_blocks < TAR_END_BLOCKS)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the tar ends with %u of the %d zero blocks that "
                       "end an archive: samples may be missing", scan->zero_blocks,
                       TAR_END_BLOCKS);
    return SHEAF_OK;
}

/* After damage, finds the next tar block that is probably a header: it has "ustar" at the right
 * position and a valid checksum. */
static bool webdataset_resync(const uint8_t *data, size_t size, size_t *skip)
{
    struct tar_member m;
    size_t need;

    *skip = 0;
    for (size_t at = TAR_BLOCK; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
        *skip = at;
        if (memcmp(data + at + 257, "ustar", 5) == 0 &&
            tar_parse(data + at, TAR_BLOCK, &m, &need, NULL) == SHEAF_OK)
            return true;
    }
    return false;
}

/* ---- Frames ------------------------------------------------------------------------------- */

/* Parses the tar member at position `at` of a frame (the members of one sample). Sets *next to the
 * position of the following member. */
static int frame_member(const uint8_t *frame, size_t size, size_t at, bool is_checked,
                        struct tar_member *m, size_t *next, struct sheaf_error *err)
{
    size_t need;
    int code = is_checked ? tar_parse_checked(frame + at, size - at, m, &need, err)
                          : tar_parse(frame + at, size - at, m, &need, err);

    if (code != SHEAF_OK)
        return code;
    if (need != 0 || tar_padded(m->bytes) > size - at - m->header_bytes)
        return err_set(err, SHEAF_ERR_CORRUPT, "a tar member at byte %zu of the sample extends "
                       "beyond its end at %zu", at, size);
    *next = at + m->header_bytes + (size_t)tar_padded(m->bytes);
    return SHEAF_OK;
}

static int webdataset_check(const uint8_t *frame, size_t size, uint32_t *crc,
                            struct sheaf_error *err)
{
    struct member_path path;
    struct tar_member m;
    size_t at;

    for (at = 0; at < size; ) {
        int code = frame_member(frame, size, at, false, &m, &at, err);

        if (code == SHEAF_OK && split_member(&m, &path))
            code = webdataset_check_member(&path, err);
        if (code != SHEAF_OK)
            return code;
    }
    *crc = crc32c(0, frame, size);
    return SHEAF_OK;
}

static bool is_cls(const struct slice *slice)
{
    return slice->suffix_size == 3 && strncasecmp(slice->suffix, "cls", 3) == 0;
}

/* Replaces the sample's labels by the labels in the text of a member, and sets *found to true. If
 * the text does not consist of numbers, keeps the labels and sets *found to false. */
static int webdataset_take_labels(struct buf *labels, const struct slice *slice, bool *found,
                                  struct sheaf_error *err)
{
    const size_t before = labels->size;
    long count;
    const int code = label_append(labels, slice->data, slice->size, &count, err);

    *found = labels->size != before;
    if (*found && before != 0) {
        labels->size -= before;
        memmove(labels->data, labels->data + before, labels->size);
    }
    return code;
}

static int webdataset_add_member(const struct tar_member *m, const struct member_path *path,
                                 const uint8_t *data, const struct decode_context *context,
                                 struct decode_scratch *scratch, struct sheaf_error *err)
{
    /* The suffix is the end of the member's name in the frame. A pointer into the frame is stored,
     * because `path` is overwritten for the next member. */
    const size_t suffix_size = path->size - path->key_size - 1;
    const struct slice slice = { .suffix = m->name + m->name_size - suffix_size,
                                 .suffix_size = suffix_size, .data = data,
                                 .size = (size_t)m->bytes };
    const bool is_made = m->is_label && strcmp(path->suffix, LABEL_SUFFIX) == 0;
    bool found;
    int code;

    if (!is_made && !is_cls(&slice))
        return sample_add(scratch, &slice, err);
    code = webdataset_take_labels(&scratch->labels, &slice, &found, err);
    if (code != SHEAF_OK)
        return code;
    if (!is_made && !(m->is_label && (context->ours || context->cls_is_label)))
        return sample_add(scratch, &slice, err);
    return found ? SHEAF_OK
         : err_set(err, SHEAF_ERR_CORRUPT, "the sample's member %s, which was made from its "
                   "labels, holds no label", path->suffix);
}

static int webdataset_decode(const struct record *record, const struct decode_context *context,
                             struct decode_scratch *scratch, struct sheaf_sample *sample,
                             struct sheaf_error *err)
{
    const struct text no_class = { NULL, 0 };
    /* The paths of two members: the first member of the frame, which has the key of the sample, and
     * the later member that is being decoded. */
    struct member_path paths[2];
    const struct member_path *first = &paths[0];
    struct tar_member m;
    size_t at, next = 0, seen = 0;
    int code;

    sample_begin(scratch);
    for (at = 0; at < record->size; at = next) {
        struct member_path *path = &paths[seen != 0];

        code = frame_member(record->data, record->size, at, true, &m, &next, err);
        if (code != SHEAF_OK)
            return code;
        if (!split_member(&m, path))
            continue;
        code = webdataset_check_member(path, err);
        if (code != SHEAF_OK)
            return code;
        seen++;
        if (path->key_size != first->key_size ||
            memcmp(path->text, first->text, path->key_size) != 0)
            return err_set(err, SHEAF_ERR_CORRUPT, "found a member of %.400s in the sample %.400s",
                           path->text, first->text);
        code = webdataset_add_member(&m, path, record->data + at + m.header_bytes, context, scratch,
                                     err);
        if (code != SHEAF_OK)
            return code;
    }
    if (seen == 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%zu byte%s of tar without a member of a sample",
                       record->size, plural(record->size));
    return sample_finish(scratch, record, context, (struct text){ first->text, first->key_size },
                         no_class, sample, err);
}

/* Returns how many bits show that the stream is a tar: the bits of the checksum's digits, and the
 * bits of the magic number if the header has a magic number. */
static unsigned webdataset_bid(const uint8_t *data, size_t size)
{
    struct tar_member m;
    size_t need;

    if (size < TAR_BLOCK || tar_parse(data, TAR_BLOCK, &m, &need, NULL) != SHEAF_OK)
        return 0;
    if (need == 0 && m.kind == TAR_ZERO)
        return FORMAT_BID_ZEROS;
    return memcmp(data + 257, "ustar", 5) == 0 ? 18 + 40 : 18;
}

const struct format_ops webdataset_ops = {
    .id = SHEAF_WEBDATASET,
    .has_members = true,
    .interop = INTEROP_DALI | INTEROP_WIDS | INTEROP_ENERGON,
    .name = "webdataset",
    .aliases = { "wds", "tar" },
    .suffix = ".tar",
    .words = { "tar", "tgz" },
    .encode = webdataset_encode,
    .content_at = webdataset_content_at,
    .finish = tar_write_end,
    .part = webdataset_part,
    .end = webdataset_end,
    .resync = webdataset_resync,
    .check = webdataset_check,
    .decode = webdataset_decode,
    .bid = webdataset_bid,
};
