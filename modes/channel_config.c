/* SPDX-License-Identifier: MIT
 *
 * Channel configurations; see channel_config.h. */
#include "modes/channel_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"

bool channel_name_is_good(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  ".-_";
    const size_t size = strlen(name);

    return size != 0 && size <= CHANNEL_NAME_MOST && strspn(name, allowed) == size
           && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool channel_word_is(const char *text, const char *word)
{
    return strcasecmp(text, word) == 0;
}

/* Gets a member that is text or missing. */
static int channel_config_get_text(const json_t *object, const char *member, const char **text,
                                   struct sheaf_error *err)
{
    const json_t *value = json_object_get(object, member);

    if (value == NULL || json_is_null(value))
        return SHEAF_OK;
    if (!json_is_string(value))
        return err_set(err, SHEAF_ERR_CORRUPT, "%s is not a string", member);
    *text = json_string_value(value);
    return SHEAF_OK;
}

/* Sets *value to the value of the member `member` of a JSON object, or to NULL if the member is
 * missing. Returns an error if the value is not a JSON object. */
static int channel_config_get_object(const json_t *object, const char *member, const json_t **value,
                                     struct sheaf_error *err)
{
    *value = json_object_get(object, member);
    if (*value == NULL || json_is_object(*value))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "%s is not an object", member);
}

/* Parses the seed of a shuffle, which SageMaker may have written as a number or as a string. */
static int parse_seed(const json_t *value, int64_t *seed, struct sheaf_error *err)
{
    const char *text = json_string_value(value);
    char *end;

    if (json_is_integer(value)) {
        *seed = json_integer_value(value);
        return SHEAF_OK;
    }
    errno = 0;
    if (text != NULL && text[0] != '\0')
        *seed = strtoll(text, &end, 10);
    if (text == NULL || text[0] == '\0' || *end != '\0' || errno != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "ShuffleConfig has no integer Seed");
    return SHEAF_OK;
}

static int parse_shuffle(const json_t *entry, struct channel_config *c, struct sheaf_error *err)
{
    const json_t *shuffle;
    int code = channel_config_get_object(entry, "ShuffleConfig", &shuffle, err);

    if (code != SHEAF_OK || shuffle == NULL)
        return code;
    c->is_shuffled = true;
    return parse_seed(json_object_get(shuffle, "Seed"), &c->shuffle_seed, err);
}

static int parse_attributes(const json_t *object, struct channel_config *c,
                            struct sheaf_error *err)
{
    const json_t *names = json_object_get(object, "AttributeNames"), *name;
    size_t i;

    if (names == NULL)
        return SHEAF_OK;
    c->attributes = names;
    if (!json_is_array(names))
        return err_set(err, SHEAF_ERR_CORRUPT, "AttributeNames is not an array");
    json_array_foreach(names, i, name)
        if (!json_is_string(name))
            return err_set(err, SHEAF_ERR_CORRUPT, "AttributeNames has an element that is not a "
                                                   "string");
    return SHEAF_OK;
}

static int parse_source(const json_t *entry, struct channel_config *c, struct sheaf_error *err)
{
    const json_t *source, *s3;
    int code = channel_config_get_object(entry, "DataSource", &source, err);

    if (code != SHEAF_OK || source == NULL)
        return code;
    code = channel_config_get_object(source, "S3DataSource", &s3, err);
    if (code != SHEAF_OK || s3 == NULL)
        return code;
    code = channel_config_get_text(s3, "S3Uri", &c->source, err);
    if (code == SHEAF_OK)
        code = channel_config_get_text(s3, "S3DataType", &c->data_type, err);
    if (code == SHEAF_OK)
        code = parse_attributes(s3, c, err);
    if (code == SHEAF_OK)
        code = channel_config_get_text(s3, "S3DataDistributionType", &c->distribution, err);
    if (code == SHEAF_OK && c->source[0] == '\0')
        code = err_set(err, SHEAF_ERR_CORRUPT, "S3DataSource has no S3Uri");
    return code;
}

static int channel_config_parse_entry(const json_t *entry, struct channel_config *c,
                                      struct sheaf_error *err)
{
    const struct { const char *member; const char **text; } texts[] = {
        { "TrainingInputMode", &c->mode },
        { "InputMode", &c->mode },              /* the member's name in the platform's requests */
        { "ContentType", &c->content_type },
        { "CompressionType", &c->compression },
        { "RecordWrapperType", &c->wrapper },
        { "S3DistributionType", &c->distribution },
    };
    int code = SHEAF_OK;

    if (!json_is_object(entry))
        return err_set(err, SHEAF_ERR_CORRUPT, "is not an object");
    for (size_t i = 0; code == SHEAF_OK && i < COUNT_OF(texts); i++)
        code = channel_config_get_text(entry, texts[i].member, texts[i].text, err);
    if (code == SHEAF_OK)
        code = parse_attributes(entry, c, err);
    if (code == SHEAF_OK)
        code = parse_source(entry, c, err);
    return code == SHEAF_OK ? parse_shuffle(entry, c, err) : code;
}

/* Sets and returns the error for an unknown channel. The message lists the names of the existing
 * channels. If the message has no room for all names, the last names are left out. */
static int no_such_channel(json_t *json, const char *name, struct sheaf_error *err)
{
    char names[512] = "";
    size_t used = 0;
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value) {
        const size_t size = strlen(key);

        if (used + size + 3 > sizeof(names))
            break;
        memcpy(names + used, used == 0 ? "" : ", ", used == 0 ? 0 : 2);
        used += used == 0 ? 0 : 2;
        memcpy(names + used, key, size + 1);
        used += size;
    }
    return err_set(err, SHEAF_ERR_NOT_FOUND, "no channel %s; there %s %s", name,
                   json_object_size(json) == 1 ? "is" : "are", used == 0 ? "none" : names);
}

int channel_config_parse(const char *text, size_t size, const char *name,
                         struct channel_config *c, struct sheaf_error *err)
{
    const json_t *entry;
    json_error_t found;
    int code;

    *c = (struct channel_config){ .mode = "", .content_type = "", .compression = "",
                                  .wrapper = "", .distribution = "", .source = "",
                                  .data_type = "" };
    if (text == NULL)
        return SHEAF_OK;
    code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &c->json, &found, err);
    if (code == SHEAF_ERR_CORRUPT)
        return err_set(err, SHEAF_ERR_CORRUPT, "line %d, column %d: %s", found.line, found.column,
                       found.text);
    if (code != SHEAF_OK)
        return code;
    if (!json_is_object(c->json))
        return err_set(err, SHEAF_ERR_CORRUPT, "is not an object with a member for each channel");
    if (json_object_size(c->json) > CHANNELS_MOST)
        return err_set(err, SHEAF_ERR_CORRUPT, "has %zu channels, the limit is %u",
                       json_object_size(c->json), CHANNELS_MOST);
    entry = json_object_get(c->json, name);
    if (entry == NULL)
        return no_such_channel(c->json, name, err);
    code = channel_config_parse_entry(entry, c, err);
    return code == SHEAF_OK ? code : err_prefix(err, "channel %s: ", name);
}

void channel_config_free(struct channel_config *c)
{
    json_decref(c->json);
    c->json = NULL;
}
