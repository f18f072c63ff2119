/* SPDX-License-Identifier: MIT
 *
 * The configuration of one channel in a platform's inputdataconfig.json. Pure: text in, values out.
 *
 *     {"train": {"TrainingInputMode": "Pipe", "ContentType": "x", "CompressionType": "None",
 *                "RecordWrapperType": "None", "S3DistributionType": "FullyReplicated",
 *                "ShuffleConfig": {"Seed": 7}}, ...}
 *
 * Outside of the platform an entry may say where the data is, in the form of the platform's own
 * requests: "DataSource": {"S3DataSource": {"S3Uri", "S3DataType", "S3DataDistributionType",
 * "AttributeNames"}}. Unknown members are ignored. */
#ifndef MODES_CHANNEL_CONFIG_H
#define MODES_CHANNEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

#define CHANNEL_NAME_MOST 64u
#define CHANNELS_MOST     20u       /* of a job, in SageMaker */

/* A channel's configuration. Strings point into the JSON, and are "" if it does not have them. */
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

/* Parses the configuration of a channel. `text` is NULL if there is none. Returns
 * SHEAF_ERR_NOT_FOUND if the configuration has no such channel, SHEAF_ERR_CORRUPT if it is
 * malformed. */
int channel_config_parse(const char *text, size_t size, const char *name,
                         struct channel_config *config, struct sheaf_error *err);
void channel_config_free(struct channel_config *config);

/* Compares two words without regard to case, as the platform does. Returns whether they are
 * equal. */
bool channel_word_is(const char *text, const char *word);

#endif
