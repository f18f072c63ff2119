/* SPDX-License-Identifier: MIT
 *
 * Checks the index files that other programs need to read a shard. Computes the right content of
 * these files from the records of the shard, and compares it with the files beside the shard.
 *
 * A wrong file is reported, because another program would read wrong samples with it, or none. A
 * missing file is accepted, because Sheaf itself does not need it.
 *
 * Only files that the packer has written are checked. (The manifest says which files they are. For
 * a RecordIO shard, the packer always writes an .idx file.) Foreign shards without a manifest are
 * not checked, because any program may have written the files beside them. */
#include "reader/verify/peer_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/store.h"

/* largest number of characters of a line that are shown in a message */
#define SHOWN_MOST 60
#define FAULT_SIZE 300

/* ---- Making ---------------------------------------------------------------------------------- */

/* Returns the number of the first sample in a shard. In a union (a data set made of several data
 * sets), samples are counted from the first sample of the shard's own data set. */
static uint64_t first_sample(const struct sheaf_dataset *d, uint32_t shard)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < shard; i++)
        if (dataset_source(d, i) == dataset_source(d, shard))
            number += d->manifest.shards[i].samples;
    return number;
}

int peer_index_begin(struct peer_index *p, const struct sheaf_dataset *d, uint32_t shard,
                     struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(d, shard);
    const struct manifest *m = &source->manifest;
    char *list = NULL;
    int code;

    *p = (struct peer_index){ .dataset = d, .shard = shard, .joined = BUF_INIT(SIZE_MAX) };
    if (!source->has_manifest)
        return SHEAF_OK;
    code = manifest_option(m, "index", &list, err);
    if (code == SHEAF_OK)
        code = interop_open(&p->writer, list, m->container, m->codec, err);
    free(list);
    p->is_on = code == SHEAF_OK && p->writer.interop != 0;
    p->number = p->is_on ? first_sample(d, shard) : 0;
    return code;
}

/* Finds the number that an index file for another program should have for a sample. Usually this is
 * the sample's position. But if our packer made the data set, and the container stores numbers, the
 * number is read from the sample's frame (stored record). It may differ from the position, because
 * samples that the packer has skipped leave gaps in the numbers. */
static int peer_index_number_of(struct peer_index *p, const struct frame *frame, uint64_t *number,
                                struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(p->dataset, p->shard);

    *number = p->number++;
    return !source->manifest.ours || source->format->number == NULL ? SHEAF_OK :
           source->format->number(frame->data, frame->size, &p->joined, number, err);
}

int peer_index_add(struct peer_index *p, const struct frame *frame, struct sheaf_error *err)
{
    uint64_t number;
    int code;

    if (!p->is_on)
        return SHEAF_OK;
    code = peer_index_number_of(p, frame, &number, err);
    if (code == SHEAF_OK)
        code = interop_add_frame(&p->writer, number, frame->offset, frame->data, frame->size, err);
    p->is_on = code == SHEAF_OK;
    return code;
}

void peer_index_free(struct peer_index *p)
{
    interop_free(&p->writer);
    buf_free(&p->joined);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

struct comparison {
    const struct peer_index *index;
    peer_index_tell_fn *tell;
    void *context;
};

/* A line of `text` begins at text[begin], and ends at a newline or at text[end]. Returns the number
 * of its characters that a message shows, which is at most SHOWN_MOST. */
static int peer_index_shown_size(const char *text, size_t begin, size_t end)
{
    size_t size = 0;

    while (begin + size < end && size < SHOWN_MOST && text[begin + size] != '\n')
        size++;
    return (int)size;
}

/* Writes to `text` the first difference between a file and its expected content. `found` has the
 * first `size` bytes of the file, and the whole file has `all` bytes. Returns false if there is no
 * difference. */
static bool find_fault(char text[FAULT_SIZE], const char *found, size_t size, uint64_t all,
                       const char *expected, size_t expected_size)
{
    const bool is_text = memchr(expected, '\0', expected_size) == NULL;
    size_t at = 0, line = 1, begin = 0;
    int head;

    while (at < size && found[at] == expected[at])
        at++;
    if (at == expected_size && all == expected_size)
        return false;
    for (size_t i = 0; i < at; i++)
        if (found[i] == '\n') {
            line++;
            begin = i + 1;
        }
    head = is_text ? snprintf(text, FAULT_SIZE, "line %zu: ", line)
                   : snprintf(text, FAULT_SIZE, "offset %zu: ", at);
    if (at == all || at == expected_size)
        snprintf(text + head, FAULT_SIZE - (size_t)head, "the file has %" PRIu64 " byte%s, but an "
                 "index of this shard has %zu", all, plural(all), expected_size);
    else if (is_text)
        snprintf(text + head, FAULT_SIZE - (size_t)head, "is \"%.*s\", but the shard says "
                 "\"%.*s\"", peer_index_shown_size(found, begin, size), found + begin,
                 peer_index_shown_size(expected, begin, expected_size), expected + begin);
    else
        snprintf(text + head, FAULT_SIZE - (size_t)head, "the byte is 0x%02x, but the shard says "
                 "0x%02x", (unsigned char)found[at], (unsigned char)expected[at]);
    return true;
}

static int peer_index_compare(const struct comparison *c, struct store_object *object,
                              const char *expected, size_t expected_size, struct sheaf_error *err)
{
    const size_t size = (size_t)MIN(object->bytes, expected_size);
    char *found = malloc(size + 1), fault[FAULT_SIZE];
    int code = found == NULL ? err_memory(err, size)
                             : store_read(object, 0, found, size, err);

    if (code == SHEAF_OK && find_fault(fault, found, size, object->bytes, expected, expected_size))
        c->tell(c->context, object->url, fault);
    free(found);
    return code;
}

/* Compares a file with its expected content, the `size` bytes at `data`. A function of the type
 * interop_put_fn. */
static int compare_file(void *context, const char *name, const void *data, size_t size,
                        struct sheaf_error *err)
{
    const struct comparison *c = context;
    const struct sheaf_dataset *d = c->index->dataset;
    const char *url = d->urls[c->index->shard];
    const size_t above = strlen(url) - strlen(d->manifest.shards[c->index->shard].name);
    struct store_object *object = NULL;
    char *file;
    int code;

    if (asprintf(&file, "%.*s%s", (int)above, url, name) < 0)
        return err_memory(err, above);
    code = store_open(file, &object, err);
    free(file);
    if (code == SHEAF_ERR_NOT_FOUND)
        return SHEAF_OK;
    if (code == SHEAF_OK)
        code = peer_index_compare(c, object, data, size, err);
    store_close(object);
    return code;
}

int peer_index_end(struct peer_index *p, peer_index_tell_fn *tell, void *context,
                   struct sheaf_error *err)
{
    const struct manifest_shard *m = &p->dataset->manifest.shards[p->shard];
    struct comparison c = { p, tell, context };

    return !p->is_on ? SHEAF_OK
                     : interop_finish_shard(&p->writer, m->name, compare_file, &c, err);
}
