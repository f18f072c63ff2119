/* SPDX-License-Identifier: MIT
 *
 * Implements the public encoder (sheaf_encoder_*). It turns samples, one by one, into the bytes of
 * a container, for programs that write the bytes to a file themselves. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/format.h"

struct sheaf_encoder {
    const struct format_ops *format;
    struct buf out;
    struct buf names;           /* RecordIO only: made, but not handed out */
    struct buf last_key;        /* tar only: empty before the first sample */
};

int sheaf_encoder_open(enum sheaf_container container, struct sheaf_encoder **encoder,
                       struct sheaf_error *error)
{
    const struct format_ops *format = format_of(container);

    *encoder = NULL;
    if (format == NULL)
        return err_set(error, SHEAF_ERR_ARGUMENT, "unknown container number %d", (int)container);
    *encoder = calloc(1, sizeof(**encoder));
    if (*encoder == NULL)
        return err_memory(error, sizeof(**encoder));
    (*encoder)->format = format;
    (*encoder)->out.limit = (*encoder)->names.limit = SIZE_MAX / 4;
    (*encoder)->last_key.limit = KEY_LIMIT + 1;
    return SHEAF_OK;
}

/* Returns an error if the key equals the key of the previous sample. In a tar, every reader would
 * join the members of two adjacent samples with equal keys into one sample. */
static int encoder_check_key(const struct sheaf_encoder *encoder, const char *key,
                             struct sheaf_error *err)
{
    if (encoder->last_key.size == 0 || strcmp(key, (const char *)encoder->last_key.data) != 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_EXISTS, "%.400s: the previous sample has the same key: a tar "
                   "would merge the two samples", key);
}

static int encoder_keep_key(struct sheaf_encoder *encoder, const char *key, struct sheaf_error *err)
{
    encoder->last_key.size = 0;
    return buf_append(&encoder->last_key, key, strlen(key) + 1, err);
}

int sheaf_encoder_add(struct sheaf_encoder *encoder, const struct sheaf_sample *sample,
                      const void **data, size_t *size, struct sheaf_error *error)
{
    const struct encode_context none = { 0 };
    struct encoded encoded;
    int code = SHEAF_OK;

    encoder->out.size = encoder->names.size = 0;
    if (encoder->format->has_members && sample->key != NULL)
        code = encoder_check_key(encoder, sample->key, error);
    if (code == SHEAF_OK)
        code = encoder->format->encode(sample, &none, &encoder->out, &encoder->names, &encoded,
                                       error);
    if (code == SHEAF_OK && encoder->format->has_members)
        code = encoder_keep_key(encoder, sample->key, error);
    *data = encoder->out.data;
    *size = encoder->out.size;
    return code;
}

int sheaf_encoder_end(struct sheaf_encoder *encoder, const void **data, size_t *size,
                      struct sheaf_error *error)
{
    int code;

    encoder->out.size = encoder->last_key.size = 0;
    code = encoder->format->finish(&encoder->out, error);
    *data = encoder->out.data;
    *size = encoder->out.size;
    return code;
}

void sheaf_encoder_free(struct sheaf_encoder *encoder)
{
    if (encoder == NULL)
        return;
    buf_free(&encoder->out);
    buf_free(&encoder->names);
    buf_free(&encoder->last_key);
    free(encoder);
}
