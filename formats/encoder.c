/* SPDX-License-Identifier: MIT
 *
 * The public encoder: one container's bytes, a sample at a time, for programs that write them
 * where they like. */
#include <stdlib.h>

#include "base/error.h"
#include "formats/format.h"

struct sheaf_encoder {
    const struct format_ops *format;
    struct buf out;
    struct buf names;           /* of RecordIO; made, but not handed out */
};

int sheaf_encoder_open(enum sheaf_container container, struct sheaf_encoder **encoder,
                       struct sheaf_error *error)
{
    const struct format_ops *format = format_of(container);

    *encoder = NULL;
    if (format == NULL)
        return err_set(error, SHEAF_ERR_ARGUMENT, "there is no container number %d",
                       (int)container);
    *encoder = calloc(1, sizeof(**encoder));
    if (*encoder == NULL)
        return err_memory(error, sizeof(**encoder));
    (*encoder)->format = format;
    (*encoder)->out.limit = (*encoder)->names.limit = SIZE_MAX / 4;
    return SHEAF_OK;
}

int sheaf_encoder_add(struct sheaf_encoder *encoder, const struct sheaf_sample *sample,
                      const void **data, size_t *size, struct sheaf_error *error)
{
    const struct encode_context none = { 0 };
    struct encoded encoded;
    int code;

    encoder->out.size = encoder->names.size = 0;
    code = encoder->format->encode(sample, &none, &encoder->out, &encoder->names, &encoded, error);
    *data = encoder->out.data;
    *size = encoder->out.size;
    return code;
}

int sheaf_encoder_end(struct sheaf_encoder *encoder, const void **data, size_t *size,
                      struct sheaf_error *error)
{
    int code;

    encoder->out.size = 0;
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
    free(encoder);
}
