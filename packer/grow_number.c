/* SPDX-License-Identifier: MIT
 *
 * Finds the number of the first appended sample; see grow.h. New samples get the numbers after the
 * highest existing number. The highest number can be greater than the number of samples, because a
 * skipped sample also uses up a number.
 *
 * RecordIO stores the numbers in the headers of records, and in the .lst file of each shard.
 * Numbers ascend within the output of one run, so it is enough to read the last line of the last
 * .lst file of each run. The other containers store no numbers. For them, new numbers begin at the
 * number of samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/interop_index.h"
#include "packer/grow.h"
#include "store/store.h"

/* Sizes in bytes for reading the last line of a .lst file. Almost all lines are shorter than
 * TAIL_BYTES, except lines with many labels. All lines are shorter than LINE_LIMIT. */
#define TAIL_BYTES ((uint64_t)64 << 10)
#define LINE_LIMIT ((uint64_t)4 << 20)

/* Parses the number of a sample at the beginning of a line of a .lst file. Returns false if the
 * line does not begin with a number and a tab. */
static bool grow_number_at(const char *line, const char *end, uint64_t *number)
{
    const char *at = line;

    *number = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
            return false;
    return at > line && at < end && *at == '\t' && *number < INT64_MAX;
}

/* Returns the last line of a text. If `is_all` is false, the text is only the end of a file. In
 * this case, returns NULL if the last line begins before the text. */
static const char *last_line(const char *text, size_t size, bool is_all)
{
    const char *newline = size < 2 ? NULL : memrchr(text, '\n', size - 1);

    return newline != NULL ? newline + 1 : is_all ? text : NULL;
}

static int read_tail(struct store_object *names, uint64_t bytes, uint64_t *number,
                     struct sheaf_error *err)
{
    const uint64_t most = MIN(bytes, LINE_LIMIT);
    bool found = false, is_number = false;
    int code = SHEAF_OK;

    *number = 0;
    for (uint64_t size = MIN(bytes, TAIL_BYTES); code == SHEAF_OK && !found;
         size = MIN(most, 2 * size)) {
        char *text = malloc(size + 1);
        const char *line;

        if (text == NULL)
            return err_memory(err, size);
        code = store_read(names, bytes - size, text, size, err);
        line = code == SHEAF_OK ? last_line(text, size, size == most) : NULL;
        found = line != NULL;
        is_number = found && grow_number_at(line, text + size, number);
        free(text);
    }
    return code != SHEAF_OK || is_number ? code
         : err_set(err, SHEAF_ERR_CORRUPT, "%s: its last line does not begin with the number of a "
                   "sample", names->url);
}

/* Finds the last number of a shard with samples. */
static int last_of_shard(const struct manifest *m, size_t shard, const char *dest,
                         uint64_t *number, struct sheaf_error *err)
{
    const char *name = m->shards[shard].name;
    const uint64_t bytes = m->shards[shard].names_bytes;
    struct store_object *names = NULL;
    char *url;
    int code;

    if (asprintf(&url, "%s/%.*s.lst", dest, (int)interop_stem(m->container, m->codec, name),
                 name) < 0)
        return err_memory(err, strlen(dest));
    code = store_open(url, &names, err);
    if (code == SHEAF_OK && names->bytes != bytes)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %llu bytes, but %llu are expected", url,
                       (unsigned long long)names->bytes, (unsigned long long)bytes);
    if (code == SHEAF_OK)
        code = read_tail(names, bytes, number, err);
    store_close(names);
    free(url);
    return code;
}

int grow_last_number(const struct manifest *m, size_t shard, const char *dest, uint64_t *number,
                     bool *found, struct sheaf_error *err)
{
    while (shard > 0 && m->shards[shard - 1].samples == 0)
        shard--;
    *found = shard > 0;
    return *found ? last_of_shard(m, shard - 1, dest, number, err) : SHEAF_OK;
}

/* Raises *next to the number after the last sample in the shards `begin` to `end` - 1. Does not
 * change *next if these shards have no samples. */
static int last_of_part(const struct manifest *m, size_t begin, size_t end, const char *dest,
                        uint64_t *next, struct sheaf_error *err)
{
    uint64_t last = 0;
    int code;

    while (end > begin && m->shards[end - 1].samples == 0)
        end--;
    if (end == begin)
        return SHEAF_OK;
    code = last_of_shard(m, end - 1, dest, &last, err);
    if (code == SHEAF_OK)
        *next = MAX(*next, last + 1);
    return code;
}

int grow_number(struct grow *g, const char *dest, struct sheaf_error *err)
{
    const struct manifest *m = &g->manifest;
    size_t end = m->shard_count;
    int code = SHEAF_OK;

    g->facts.first_number = g->facts.samples;
    if (!format_of(m->container)->has_names)
        return SHEAF_OK;
    for (size_t part = m->growth_count + 1; part-- > 0 && code == SHEAF_OK;) {
        const size_t begin = part == 0 ? 0 : m->growths[part - 1].shards;

        code = last_of_part(m, begin, end, dest, &g->facts.first_number, err);
        end = begin;
    }
    return code;
}
