/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the texts by which a platform describes a channel. The input has the channel's
 * configuration, the job's hyperparameters, the attribute names of an augmented manifest, and
 * records, separated by 0x1e. */
#include <stdlib.h>
#include <string.h>

#include "formats/attributes.h"
#include "formats/name.h"
#include "modes/channel_config.h"
#include "modes/channel_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Checks that every field has a name, and that its content lies in the record or in memory that was
 * decoded from the record. */
static void check_sample(const struct sheaf_sample *s)
{
    require(s->key[0] != '\0' && s->field_count <= ATTRIBUTES_MOST);
    for (size_t i = 0; i < s->field_count; i++) {
        const uint8_t *bytes = s->fields[i].data;
        uint8_t sum = 0;

        require(s->fields[i].name[0] != '\0');
        for (size_t b = 0; b < s->fields[i].size; b++)
            sum ^= bytes[b];        /* for the address sanitizer */
        require(sum == (sum & 0xff));
    }
}

static void decode(const char *names, const uint8_t *data, size_t size)
{
    const struct decode_context context = { .stem = name_stem("train") };
    const struct record record = { .data = data, .size = size };
    struct decode_scratch scratch = { .text = BUF_INIT((size_t)1 << 20) };
    struct attributes attributes;
    struct sheaf_sample sample;

    if (attributes_parse(names, &attributes, NULL) != SHEAF_OK)
        return;
    require(attributes.count > 0 && attributes.count <= ATTRIBUTES_MOST);
    if (attributes_decode(&attributes, &record, &context, &scratch, &sample, NULL) == SHEAF_OK)
        check_sample(&sample);
    decode_scratch_free(&scratch);
    attributes_free(&attributes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0x1e, size);
    struct sheaf_reader_options order;
    struct channel_config config;
    char *text = malloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    if (channel_config_parse(text, size, "train", &config, NULL) == SHEAF_OK)
        require(config.mode != NULL && config.source != NULL && config.data_type != NULL);
    channel_config_free(&config);
    sheaf_reader_options_init(&order, sizeof(order));
    (void)channel_order_parse(text, size, &order, NULL);
    if (end != NULL) {
        text[end - data] = '\0';
        decode(text, end + 1, (size_t)(data + size - end - 1));
    }
    free(text);
    return 0;
}
