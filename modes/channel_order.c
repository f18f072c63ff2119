/* SPDX-License-Identifier: MIT
 *
 * Takes the settings for the order of samples from the hyperparameters of a SageMaker job. The
 * functions convert text to values and have no side effects. The text is, for example:
 *
 *     {"sheaf_seed": "7", "sheaf_shuffle_buffer": "20000", "learning-rate": "0.1", ...}
 *
 * SageMaker turns every value into a string. Its toolkits may add quotes to the string, or turn the
 * string back into a number. Hyperparameters without the prefix "sheaf_" belong to the user's
 * program and are ignored. */
#include "modes/channel_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

#define PREFIX "sheaf_"

/* Parses a number up to `most`. In JSON, it may be a number, a string with digits, or a string with
 * digits between quotation marks. */
static bool channel_order_parse_number(const json_t *value, uint64_t most, uint64_t *number)
{
    const char *text = json_string_value(value);
    char *end;

    if (json_is_integer(value)) {
        *number = (uint64_t)json_integer_value(value);
        return json_integer_value(value) >= 0 && *number <= most;
    }
    if (text == NULL)
        return false;
    text += *text == '"';
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    end += *end == '"';
    return errno == 0 && *end == '\0' && *number <= most;
}

static int channel_order_set_number(struct sheaf_reader_options *o, const char *name,
                                    uint64_t number)
{
    if (strcmp(name, "seed") == 0)
        o->seed = number;
    else if (strcmp(name, "epoch") == 0)
        o->epoch = number;
    else if (strcmp(name, "shuffle_buffer") == 0)
        o->shuffle_buffer = number;
    else if (strcmp(name, "lanes") == 0)
        o->lanes = (uint32_t)number;
    else
        return SHEAF_END;
    return SHEAF_OK;
}

static int channel_order_take(struct sheaf_reader_options *o, const char *name, const json_t *value,
                              struct sheaf_error *err)
{
    const uint64_t most = strcmp(name, "lanes") == 0 ? UINT32_MAX : UINT64_MAX;
    uint64_t number = 0;
    const bool is_number = channel_order_parse_number(value, most, &number);

    if (channel_order_set_number(o, name, number) == SHEAF_END)
        return err_set(err, SHEAF_ERR_ARGUMENT, "unknown name " PREFIX "%.80s; expected " PREFIX
                       "seed, " PREFIX "epoch, " PREFIX "shuffle_buffer or " PREFIX "lanes",
                       name);
    if (!is_number)
        return err_set(err, SHEAF_ERR_ARGUMENT, PREFIX "%s is not an integer from 0 to %llu", name,
                       (unsigned long long)most);
    return SHEAF_OK;
}

int channel_order_parse(const char *text, size_t size, struct sheaf_reader_options *options,
                        struct sheaf_error *err)
{
    json_error_t problem;
    const char *name;
    json_t *json, *value;
    int code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &json, &problem, err);

    if (code == SHEAF_ERR_CORRUPT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "line %d: %s", problem.line, problem.text);
    if (code != SHEAF_OK)
        return code;
    if (!json_is_object(json))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "not an object");
    json_object_foreach(json, name, value)
        if (code == SHEAF_OK && strncmp(name, PREFIX, strlen(PREFIX)) == 0)
            code = channel_order_take(options, name + strlen(PREFIX), value, err);
    json_decref(json);
    return code;
}
