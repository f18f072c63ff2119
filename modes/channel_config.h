/* SPDX-License-Identifier: MIT
 *
 * The configuration of one channel in a platform's inputdataconfig.json.  Pure: text in, values
 * out.
 *
 *     {"train": {"TrainingInputMode": "Pipe", "ContentType": "x", "CompressionType": "None",
 *                "RecordWrapperType": "None", "S3DistributionType": "FullyReplicated",
 *                "ShuffleConfig": {"Seed": 7}}, ...}
 *
 * Outside the platform an entry may say where the data is, as the platform's own requests do:
 * "DataSource": {"S3DataSource": {"S3Uri", "S3DataType", "S3DataDistributionType",
 * "AttributeNames"}}.  Members that are not known are passed over. */
#ifndef MODES_CHANNEL_CONFIG_H
#define MODES_CHANNEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

#define CHANNEL_NAME_MOST 64u
#define CHANNELS_MOST     20u       /* of a job, in SageMaker */

/* Strings are the JSON's; "" where it says nothing. */
struct channel_config {
    json_t *json;               /* all of it; NULL: there is no configuration */
    const char *mode, *content_type, *compression, *wrapper, *distribution;
    const char *source, *data_type;
    const json_t *attributes;   /* an array of strings; NULL: none */
    bool is_shuffled;
    int64_t shuffle_seed;
};

/* Whether a channel may have that name. */
bool channel_name_is_good(const char *name);

/* `text` NULL: no configuration.  SHEAF_ERR_NOT_FOUND: it has no such channel;
 * SHEAF_ERR_CORRUPT: it is malformed. */
int channel_config_parse(const char *text, size_t size, const char *name,
                         struct channel_config *config, struct sheaf_error *err);
void channel_config_free(struct channel_config *config);

/* As the platform compares words: capitals do not count. */
bool channel_word_is(const char *text, const char *word);

#endif
