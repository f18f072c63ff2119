/* SPDX-License-Identifier: MIT
 *
 * Holds the table of containers, and detects the container of a stream. Each container has a
 * function bid() that compares the stream's first bytes with the container's form, and returns the
 * number of bits that match. The container with the highest number is chosen. */
#include "formats/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/codec.h"

static const struct format_ops *const formats[] = { &tfrecord_ops, &recordio_ops, &webdataset_ops };

const struct format_ops *format_of(enum sheaf_container container)
{
    size_t i;

    for (i = 0; i < COUNT_OF(formats); i++) {
        if (formats[i]->id == container)
            return formats[i];
    }
    return NULL;
}

const char *sheaf_container_name(enum sheaf_container container)
{
    const struct format_ops *format = format_of(container);

    return format == NULL ? NULL : format->name;
}

int format_id_of(const char *name)
{
    size_t i;

    for (i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(formats[i]->name, name) == 0)
            return (int)formats[i]->id;
    }
    return -1;
}

int sheaf_container_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const char *const *aliases = formats[i]->aliases;

        for (size_t j = 0; j < COUNT_OF(formats[i]->aliases) && aliases[j] != NULL; j++)
            if (strcmp(aliases[j], name) == 0)
                return (int)formats[i]->id;
    }
    return format_id_of(name);
}

/* Returns whether a file name contains a dot and then `word`, in upper or lower case, and no letter
 * follows the word. So "tar" is found in "a.TAR.gz", and "tfrecord" in
 * "a.tfrecord-00000-of-00010". */
static bool has_word(const char *name, const char *word)
{
    const size_t size = strlen(word);
    const char *slash = strrchr(name, '/');
    const char *dot = strchr(slash == NULL ? name : slash, '.');

    for (; dot != NULL; dot = strchr(dot + 1, '.')) {
        if (strncasecmp(dot + 1, word, size) == 0 && !isalpha((unsigned char)dot[1 + size]))
            return true;
    }
    return false;
}

static const struct format_ops *format_by_name(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        for (size_t j = 0; j < COUNT_OF(formats[i]->words) && formats[i]->words[j] != NULL; j++)
            if (has_word(name, formats[i]->words[j]))
                return formats[i];
    return NULL;
}

/* Returns whether the text is a word that names a container in file names, such as "tar" in
 * "a.tar". */
static bool is_word(const char *text, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        for (size_t j = 0; j < COUNT_OF(formats[i]->words) && formats[i]->words[j] != NULL; j++)
            if (strlen(formats[i]->words[j]) == size &&
                strncasecmp(formats[i]->words[j], text, size) == 0)
                return true;
    return false;
}

/* Returns the length of `name` before the last dot in its first `size` bytes. Returns `size` if
 * these bytes have no dot. */
static size_t to_last_dot(const char *name, size_t size)
{
    const char *dot = memrchr(name, '.', size);

    return dot == NULL ? size : (size_t)(dot - name);
}

size_t format_stem(const char *name)
{
    const size_t size = codec_stem(name), stem = to_last_dot(name, size), all = strlen(name);

    if (stem != size && is_word(name + stem + 1, size - stem - 1))
        return stem;
    if (size != all)
        return size;
    for (size_t i = stem + 1; i < all; i++)
        if (!isalpha((unsigned char)name[i]))
            return all;
    return stem;
}

const struct format_ops *format_detect(const uint8_t *data, size_t size, const char *name)
{
    const struct format_ops *best = NULL, *named;
    unsigned best_bid = 0;
    size_t i;

    for (i = 0; i < COUNT_OF(formats); i++) {
        const unsigned bid = formats[i]->bid(data, size);

        if (bid > best_bid) {
            best = formats[i];
            best_bid = bid;
        }
    }
    if (best_bid > FORMAT_BID_ZEROS || name == NULL)
        return best;
    named = format_by_name(name);
    return named != NULL ? named : best;
}

int format_check_content(const struct format_ops *format, uint64_t bytes, struct sheaf_error *err)
{
    if (format->content_most == 0 || bytes < format->content_most)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_LIMIT, "the sample has %" PRIu64 " bytes, but a record of %s "
                   "must have less than %" PRIu64 ", unlike one of other containers", bytes,
                   format->name, format->content_most);
}

void format_scan_reset(struct format_scan *scan)
{
    /* the limits leave room for the longest key, and for the longest path and a NUL */
    *scan = (struct format_scan){
        .key = BUF_INIT(KEY_LIMIT),
        .passed_name = BUF_INIT(KEY_LIMIT + 1),
    };
}

void format_scan_free(struct format_scan *scan)
{
    buf_free(&scan->key);
    buf_free(&scan->passed_name);
    key_seen_free(&scan->keys);
}

void format_scan_restart(struct format_scan *scan)
{
    const struct key_seen keys = scan->keys;

    scan->keys = (struct key_seen){ .slots = NULL };
    format_scan_free(scan);
    format_scan_reset(scan);
    scan->keys = keys;
    scan->skips_key = true;
}

void decode_scratch_free(struct decode_scratch *scratch)
{
    buf_free(&scratch->text);
    buf_free(&scratch->joined);
    buf_free(&scratch->slices);
    buf_free(&scratch->fields);
    buf_free(&scratch->labels);
    buf_free(&scratch->kept);
}
