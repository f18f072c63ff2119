/* SPDX-License-Identifier: MIT
 *
 * The configuration of one channel (an input of a training job) in SageMaker's file
 * inputdataconfig.json. The functions convert text to values and have no side effects. An example
 * of the file:
 *
 *     {"train": {"TrainingInputMode": "Pipe", "ContentType": "x", "CompressionType": "None",
 *                "RecordWrapperType": "None", "S3DistributionType": "FullyReplicated",
 *                "ShuffleConfig": {"Seed": 7}}, ...}
 *
 * On platforms other than SageMaker, a channel may also have the member "DataSource", which says
 * where its data is. This member has the same form as in SageMaker's requests: {"S3DataSource":
 * {"S3Uri", "S3DataType", "S3DataDistributionType", "AttributeNames"}}. Unknown members are
 * ignored. */
#ifndef MODES_CHANNEL_CONFIG_H
#define MODES_CHANNEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

#define CHANNEL_NAME_MOST 64u
#define CHANNELS_MOST     20u       /* of a job, in SageMaker */

/* The configuration of a channel. The strings point into the JSON document. If the document has no
 * value for a string, the string is "". */
struct channel_config {
    json_t *json;               /* the whole document; NULL if there is no configuration */
    const char *mode, *content_type, *compression, *wrapper, *distribution;
    const char *source, *data_type;
    const json_t *attributes;   /* an array of strings, or NULL */
    bool is_shuffled;
    int64_t shuffle_seed;
};

/* Returns whether a channel may have that name. */
bool channel_name_is_good(const char *name);

/* Parses the configuration of the channel `name`. `text` is the content of inputdataconfig.json, or
 * NULL if this file does not exist. Returns SHEAF_ERR_NOT_FOUND if the text does not contain the
 * channel, and SHEAF_ERR_CORRUPT if the text is malformed. */
int channel_config_parse(const char *text, size_t size, const char *name,
                         struct channel_config *config, struct sheaf_error *err);
void channel_config_free(struct channel_config *config);

/* Returns whether two words of the configuration are equal. The case of letters does not matter, as
 * in SageMaker. */
bool channel_word_is(const char *text, const char *word);

#endif
