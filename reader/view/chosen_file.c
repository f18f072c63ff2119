/* SPDX-License-Identifier: MIT
 *
 * A file that stores which samples were chosen by a view's conditions on keys or columns; see
 * chosen_file.h. */
#include "reader/view/chosen_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/store.h"

#define MAGIC       "SHEAFCHO"
#define WORD        sizeof(uint64_t)
/* number of bytes before the bits of each source: its id, and its total number of samples */
#define HEAD        (2 * WORD)
#define BYTES_MOST  ((size_t)1 << 32)

static size_t bits_bytes(uint64_t total)
{
    return (size_t)(total / 64 + (total % 64 != 0)) * WORD;
}

static bool chosen_file_is_whole(const char *data, size_t size)
{
    return size >= 2 * WORD && memcmp(data, MAGIC, WORD) == 0
           && load64(data + size - WORD) == XXH3_64bits(data, size - WORD);
}

void chosen_file_open(struct chosen_file *f, const char *url)
{
    char *path = NULL;

    *f = (struct chosen_file){ .added = BUF_INIT(BYTES_MOST) };
    if (asprintf(&path, "%s" CHOSEN_SUFFIX, url) < 0)
        return;
    if (store_get(path, BYTES_MOST, &f->data, &f->size, NULL) != SHEAF_OK
        || !chosen_file_is_whole(f->data, f->size)) {
        free(f->data);
        f->data = NULL;
    }
    free(path);
}

void chosen_file_free(struct chosen_file *f)
{
    free(f->data);
    buf_free(&f->added);
    f->data = NULL;
}

uint64_t *chosen_file_find(const struct chosen_file *f, uint64_t id, uint64_t total)
{
    const size_t end = f->data == NULL ? 0 : f->size - WORD;
    size_t at = WORD;

    while (at + HEAD <= end && load64(f->data + at + WORD) <= (end - at - HEAD) * 8) {
        const size_t bytes = bits_bytes(load64(f->data + at + WORD));

        if (bytes > end - at - HEAD)
            return NULL;
        if (load64(f->data + at) == id && load64(f->data + at + WORD) == total) {
            uint64_t *bits = malloc(bytes + WORD);

            if (bits != NULL) {
                memcpy(bits, f->data + at + HEAD, bytes);
                words_le(bits, bytes / WORD);
            }
            return bits;
        }
        at += HEAD + bytes;
    }
    return NULL;
}

int chosen_file_add(struct chosen_file *f, uint64_t id, uint64_t total, const uint64_t *bits,
                    struct sheaf_error *err)
{
    const size_t head = f->added.size == 0 ? WORD : 0;
    uint8_t *at;
    int code = buf_reserve(&f->added, head + HEAD + bits_bytes(total), err);

    if (code != SHEAF_OK)
        return code;
    if (head != 0)
        buf_put(&f->added, MAGIC, WORD);
    at = f->added.data + f->added.size;
    store64(at, id);
    store64(at + WORD, total);
    memcpy(at + HEAD, bits, bits_bytes(total));
    words_le((uint64_t *)(void *)(at + HEAD), bits_bytes(total) / WORD);
    f->added.size += HEAD + bits_bytes(total);
    return SHEAF_OK;
}

/* Returns an error if the file was written by another program, because such a file must not be
 * replaced. */
static int chosen_file_refuse_other(const char *path, struct sheaf_error *err)
{
    uint8_t begins[WORD] = { 0 };
    struct store_object *object;
    const int code = store_open(path, &object, err);
    bool is_ours;

    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    is_ours = !object->is_stream && object->bytes >= WORD &&
              store_read(object, 0, begins, WORD, NULL) == SHEAF_OK &&
              memcmp(begins, MAGIC, WORD) == 0;
    store_close(object);
    return is_ours ? SHEAF_OK
         : err_set(err, SHEAF_ERR_EXISTS, "%s: exists and is not what a view chose, so it is not "
                   "replaced: choose another name for the view", path);
}

int chosen_file_put(struct chosen_file *f, const char *url, struct sheaf_error *err)
{
    uint8_t hash[WORD];
    char *path = NULL;
    int code;

    if (f->added.size == 0)
        return SHEAF_OK;
    store64(hash, XXH3_64bits(f->added.data, f->added.size));
    code = buf_append(&f->added, hash, WORD, err);
    if (code == SHEAF_OK && asprintf(&path, "%s" CHOSEN_SUFFIX, url) < 0)
        code = err_memory(err, strlen(url));
    if (code == SHEAF_OK)
        code = chosen_file_refuse_other(path, err);
    if (code == SHEAF_OK)
        code = store_put(path, f->added.data, f->added.size, err);
    free(path);
    return code;
}
