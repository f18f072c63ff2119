/* SPDX-License-Identifier: MIT
 *
 * The public functions that find the data of a channel. A channel is a named input of a SageMaker
 * training job. channel_config.c parses SageMaker's configuration file. If the channel's directory
 * or pipe exists, it is used whatever the configuration says. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "modes/channel_config.h"
#include "modes/channel_list.h"
#include "modes/channel_order.h"
#include "modes/host_shards.h"
#include "modes/launcher.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/pipe.h"
#include "store/file_system.h"
#include "store/made.h"
#include "store/store.h"

#define ROOT             "/opt/ml"
#define CONFIG_LIMIT     ((size_t)16 << 20)
#define FAILURE_BYTES    1024u
#define WAIT_SECONDS     600u
#define WAIT_MOST        ((uint64_t)1 << 30)    /* seconds, so that nanoseconds do not overflow */

struct sheaf_channel {
    char *name, *root;
    /* names of the attributes that are read from an augmented manifest, such as "source-ref,label",
     * as the caller has given them; NULL if the names in the configuration file are used */
    char *attributes;
    /* URL of the data set's manifest (dataset.json); NULL if the caller has not named it. If each
     * host has only some of the shards, the manifest may be on another host, and its URL is then
     * needed. */
    char *manifest;
    char *text;                 /* text of the configuration, or NULL */
    struct channel_config config;
    enum sheaf_channel_kind kind;
    char *location;
    enum file_system file_system;
    uint64_t wait_seconds;
    char *description;
};

void sheaf_channel_options_init(struct sheaf_channel_options *options, size_t sizeof_options)
{
    const struct sheaf_channel_options defaults = {
        .sizeof_options = sizeof_options,
        .root = ROOT,
        .wait_seconds = WAIT_SECONDS,
    };

    sized_give(options, sizeof_options, &defaults, sizeof(defaults));
}

static struct sheaf_channel_options channel_take_options(const struct sheaf_channel_options *given)
{
    struct sheaf_channel_options o;

    sheaf_channel_options_init(&o, sizeof(o));
    sized_take(&o, sizeof(o), given);
    if (o.root == NULL)
        o.root = ROOT;
    o.wait_seconds = MIN(o.wait_seconds, WAIT_MOST);
    return o;
}

/* ---- The configuration ---------------------------------------------------------------------- */

/* Reads SageMaker's configuration file `path`, or else the environment variable in which
 * SageMaker's toolkit stores the content of this file. Sets *text to NULL if neither exists. */
static int channel_read_text(const char *path, const char *variable, char **text,
                             struct sheaf_error *err)
{
    const char *value = getenv(variable);
    size_t size;
    int code = store_get(path, CONFIG_LIMIT, text, &size, err);

    if (code != SHEAF_ERR_NOT_FOUND)
        return code;
    if (value == NULL)
        return SHEAF_OK;
    *text = strdup(value);
    return *text != NULL ? SHEAF_OK : err_memory(err, strlen(value));
}

/* Reads SageMaker's configuration of the channel. Sets *known to whether the configuration
 * contains the channel. If the channel is missing, sets *err to a message about this, but returns
 * SHEAF_OK. */
static int read_config(struct sheaf_channel *c, bool *known, struct sheaf_error *err)
{
    char *path = store_join(c->root, "input/config/inputdataconfig.json");
    int code = path == NULL ? err_memory(err, strlen(c->root))
                            : channel_read_text(path, "SM_INPUT_DATA_CONFIG", &c->text, err);

    *known = false;
    if (code == SHEAF_OK) {
        code = channel_config_parse(c->text, c->text == NULL ? 0 : strlen(c->text), c->name,
                                    &c->config, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", path);
        *known = code == SHEAF_OK && c->text != NULL;
        if (code == SHEAF_OK && c->text == NULL)
            err_set(err, SHEAF_ERR_NOT_FOUND, "no channel %s: neither %s nor %s/input/data/%s "
                    "exists", c->name, path, c->root, c->name);
    }
    free(path);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* ---- What there is -------------------------------------------------------------------------- */

static bool channel_is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns the channel's directory from the environment variable SM_CHANNEL_<NAME>, or NULL if this
 * variable is not set. */
static const char *directory_of_variable(const char *name)
{
    char variable[sizeof("SM_CHANNEL_") + CHANNEL_NAME_MOST];
    const char *path;
    int size = snprintf(variable, sizeof(variable), "SM_CHANNEL_%s", name);

    for (int i = 0; i < size; i++)
        variable[i] = (char)toupper((unsigned char)variable[i]);
    path = getenv(variable);
    return path != NULL && channel_is_directory(path) ? path : NULL;
}

static int set_kind(struct sheaf_channel *c, enum sheaf_channel_kind kind, const char *location,
                    struct sheaf_error *err)
{
    c->kind = kind;
    c->location = strdup(location);
    if (c->location == NULL)
        return err_memory(err, strlen(location));
    if (kind == SHEAF_CHANNEL_DIRECTORY)
        c->file_system = file_system_of_path(location);
    return SHEAF_OK;
}

/* Finds the data of the channel. Returns SHEAF_ERR_NOT_FOUND if there is no data. `known` says
 * whether the configuration contains the channel. If it does not, `err` already has a message that
 * says so, and this message stays. */
static int channel_find(struct sheaf_channel *c, const char *path, bool known,
                        struct sheaf_error *err)
{
    const char *variable = directory_of_variable(c->name);
    uint64_t number;

    if (channel_is_directory(path))
        return set_kind(c, SHEAF_CHANNEL_DIRECTORY, path, err);
    if (pipe_lowest(path, &number, NULL) == SHEAF_OK)
        return set_kind(c, SHEAF_CHANNEL_PIPE, path, err);
    if (variable != NULL)
        return set_kind(c, SHEAF_CHANNEL_DIRECTORY, variable, err);
    if (channel_word_is(c->config.mode, "Pipe"))
        return set_kind(c, SHEAF_CHANNEL_PIPE, path, err);
    if (c->config.source[0] != '\0')
        return set_kind(c, SHEAF_CHANNEL_DIRECT, c->config.source, err);
    if (known)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "channel %s: %s is not a directory, there is no "
                       "pipe %s_0, and inputdataconfig.json names no S3Uri", c->name, path, path);
    return SHEAF_ERR_NOT_FOUND;
}

static bool is_sharded(const struct sheaf_channel *c)
{
    return c->kind != SHEAF_CHANNEL_DIRECT
           && channel_word_is(c->config.distribution, "ShardedByS3Key");
}

/* Returns a hint for the description of a channel whose pipes contain RecordIO records: each record
 * is a sample. But if the pipes are fed from an augmented manifest, each attribute is a record.
 * SageMaker does not tell the job about this, so the hint also says that the attributes must be
 * named in this case. Returns "" if the attributes are known, or if the pipes do not contain
 * records. */
static const char *hint_of_records(const struct sheaf_channel *c)
{
    const bool has_names = (c->attributes != NULL && c->attributes[0] != '\0') ||
                           json_array_size(c->config.attributes) != 0;

    return has_names || !channel_word_is(c->config.wrapper, "RecordIO") ? ""
         : ", each record a sample (of an augmented manifest each attribute is a record: name the "
           "attributes, in their order)";
}

static int channel_describe(struct sheaf_channel *c, struct sheaf_error *err)
{
    const char *mode = c->config.mode;
    const bool has_mode = mode[0] != '\0';
    const char *part = is_sharded(c) ? ", this host's part of the objects" : "";
    int size;

    if (c->kind == SHEAF_CHANNEL_PIPE)
        size = asprintf(&c->description, "pipes %s_<epoch>%s%s: read as they come, in the "
                        "platform's order%s%s", c->location, has_mode ? ", mode " : "", mode, part,
                        hint_of_records(c));
    else if (c->kind == SHEAF_CHANNEL_DIRECT)
        size = asprintf(&c->description, "%s: read directly, many ranges at a time", c->location);
    else
        size = asprintf(&c->description, "directory %s (%s%s%s): read %s%s", c->location,
                        file_system_name(c->file_system), has_mode ? ", mode " : "", mode,
                        c->file_system == FILE_SYSTEM_LOCAL ? "as it is"
                        : "ahead, in large reads", part);
    if (size < 0) {
        c->description = NULL;
        return err_memory(err, 1);
    }
    return SHEAF_OK;
}

static int resolve(struct sheaf_channel *c, struct sheaf_error *err)
{
    char *path = NULL;
    bool known;
    int code = read_config(c, &known, err);

    if (code != SHEAF_OK)
        return code;
    if (asprintf(&path, "%s/input/data/%s", c->root, c->name) < 0)
        return err_memory(err, strlen(c->root));
    code = channel_find(c, path, known, err);
    free(path);
    return code == SHEAF_OK ? channel_describe(c, err) : code;
}

int sheaf_channel_open(const char *name, const struct sheaf_channel_options *options,
                       struct sheaf_channel **channel, struct sheaf_error *err)
{
    const struct sheaf_channel_options o = channel_take_options(options);
    struct sheaf_channel *c;
    struct sheaf_error own;
    int code;

    if (err == NULL)
        err = &own;
    if (!channel_name_is_good(name))
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid channel name \"%.80s\": expected 1 to "
                       "%u of A-Z a-z 0-9 . - _", name, CHANNEL_NAME_MOST);
    c = calloc(1, sizeof(*c));
    if (c == NULL)
        return err_memory(err, sizeof(*c));
    c->name = strdup(name);
    c->root = strdup(o.root);
    c->wait_seconds = o.wait_seconds;
    if (o.attributes != NULL)
        c->attributes = strdup(o.attributes);
    if (o.manifest != NULL)
        c->manifest = strdup(o.manifest);
    if (c->name == NULL || c->root == NULL || (o.attributes != NULL && c->attributes == NULL) ||
        (o.manifest != NULL && c->manifest == NULL))
        code = err_memory(err, strlen(o.root));
    else
        code = resolve(c, err);
    if (code == SHEAF_OK)
        *channel = c;
    else
        sheaf_channel_free(c);
    return code;
}

void sheaf_channel_free(struct sheaf_channel *c)
{
    if (c == NULL)
        return;
    channel_config_free(&c->config);
    free(c->name);
    free(c->attributes);
    free(c->manifest);
    free(c->root);
    free(c->text);
    free(c->location);
    free(c->description);
    free(c);
}

void sheaf_channel_get_info(const struct sheaf_channel *c, struct sheaf_channel_info *info,
                            size_t sizeof_info)
{
    const struct sheaf_channel_info all = {
        .name = c->name,
        .kind = c->kind,
        .location = c->location,
        .file_system = c->kind == SHEAF_CHANNEL_DIRECTORY ? file_system_name(c->file_system) : "",
        .mode = c->config.mode,
        .content_type = c->config.content_type,
        .compression = c->config.compression,
        .record_wrapper = c->config.wrapper,
        .distribution = c->config.distribution,
        .has_shuffle_seed = c->config.is_shuffled,
        .shuffle_seed = c->config.shuffle_seed,
        .description = c->description,
    };

    sized_give(info, sizeof_info, &all, sizeof(all));
}

/* ---- As a data set -------------------------------------------------------------------------- */

/* Returns the names of the attributes to read, as in "a-ref,b", which come from the caller or from
 * the configuration. Returns "" if no attributes are named, and NULL if memory is exhausted. */
static char *attribute_list(const struct sheaf_channel *c)
{
    struct buf list = BUF_INIT(SIZE_MAX);
    const json_t *name;
    size_t i;
    int code = SHEAF_OK;

    if (c->attributes != NULL)
        return strdup(c->attributes);
    json_array_foreach(c->config.attributes, i, name)
        if (code == SHEAF_OK)
            code = buf_printf(&list, NULL, "%s%s", i == 0 ? "" : ",", json_string_value(name));
    if (code == SHEAF_OK)
        code = buf_append(&list, "", 1, NULL);
    if (code != SHEAF_OK) {
        buf_free(&list);
        return NULL;
    }
    return (char *)list.data;
}

/* Finds the number of this host among the hosts of the job. Returns SHEAF_END if neither the
 * environment nor SageMaker's files state it. */
static int find_host(const struct sheaf_channel *c, struct host *host, struct sheaf_error *err)
{
    char *config = store_join(c->root, "input/config");
    const int code = config == NULL ? err_memory(err, strlen(c->root))
                                    : launcher_host(config, host, err);

    free(config);
    return code;
}

/* Opens this host's part of the objects. */
static int open_shared(const struct sheaf_channel *c, struct sheaf_dataset **dataset,
                       struct sheaf_error *err)
{
    struct host host;
    const int code = find_host(c, &host, err);

    if (code == SHEAF_END)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "channel %s: each host has some of its objects "
                       "(ShardedByS3Key), but nothing lists the hosts: neither SM_HOSTS nor "
                       "%s/input/config/resourceconfig.json", c->name, c->root);
    return code == SHEAF_OK ? host_shards_open(c->location, c->manifest, &host, dataset, err)
                            : code;
}

/* Its positions are this host's. */
static int open_own_pipes(const struct sheaf_channel *c, const struct pipe_source *source,
                          const char *attributes, struct sheaf_dataset **dataset,
                          struct sheaf_error *err)
{
    struct host host = { .count = 1 };
    int code = is_sharded(c) ? find_host(c, &host, err) : SHEAF_OK;

    if (code >= 0)
        code = dataset_open_pipes(source, attributes, !c->config.is_shuffled, dataset, err);
    if (code == SHEAF_OK && host.count > 1) {
        (*dataset)->host = host.number;
        (*dataset)->hosts = host.count;
    }
    return code;
}

static int open_pipes(const struct sheaf_channel *c, struct sheaf_dataset **dataset,
                      struct sheaf_error *err)
{
    const struct pipe_source source = {
        .prefix = c->location,
        .wait_ns = c->wait_seconds * 1000000000u,
        .may_be_empty = is_sharded(c),
    };

    char *attributes = attribute_list(c);
    int code;

    if (attributes == NULL)
        return err_memory(err, 1);
    code = open_own_pipes(c, &source, attributes, dataset, err);
    free(attributes);
    return code == SHEAF_ERR_ARGUMENT ? err_prefix(err, "channel %s: ", c->name) : code;
}

static int open_direct(const struct sheaf_channel *c, struct sheaf_dataset **dataset,
                       struct sheaf_error *err)
{
    const char *const sources[] = { c->location };
    const char *type = c->config.data_type;

    if (type[0] == '\0' || channel_word_is(type, "S3Prefix"))
        return sheaf_dataset_open(sources, 1, dataset, err);
    if (channel_word_is(type, "ManifestFile"))
        return channel_list_open(c->location, dataset, err);
    return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "channel %s: %s cannot be read "
                                    "directly: expected a prefix or a manifest file, found the "
                                    "type %s", c->name, c->location, type),
                       SHEAF_REASON_NOT_DIRECT);
}

int sheaf_channel_dataset(const struct sheaf_channel *c, struct sheaf_dataset **dataset,
                          struct sheaf_error *err)
{
    const char *const sources[] = { c->location };
    const bool is_shared = c->kind == SHEAF_CHANNEL_DIRECTORY && is_sharded(c);

    if (c->manifest != NULL && !is_shared)
        return err_set(err, SHEAF_ERR_ARGUMENT, "channel %s: a manifest is for a directory with a "
                       "host's part of the objects (ShardedByS3Key) alone, and this is %s",
                       c->name, c->description);
    if (c->kind == SHEAF_CHANNEL_PIPE)
        return open_pipes(c, dataset, err);
    if (c->kind == SHEAF_CHANNEL_DIRECT)
        return open_direct(c, dataset, err);
    if (is_shared)
        return open_shared(c, dataset, err);
    return sheaf_dataset_open(sources, 1, dataset, err);
}

int sheaf_channel_world(const struct sheaf_channel *c, uint32_t *rank, uint32_t *world_size,
                        const char **source, struct sheaf_error *err)
{
    char *config;
    int code;

    config = store_join(c->root, "input/config");
    if (config == NULL)
        return err_memory(err, strlen(c->root));
    code = is_sharded(c) ? launcher_of_host(config, rank, world_size, source, err)
                         : sheaf_world_from_environment(config, rank, world_size, source, err);
    free(config);
    return code;
}

int sheaf_channel_order(const struct sheaf_channel *c, struct sheaf_reader_options *options,
                        struct sheaf_error *err)
{
    char *path = store_join(c->root, "input/config/hyperparameters.json");
    char *text = NULL;
    int code = path == NULL ? err_memory(err, strlen(c->root))
                            : channel_read_text(path, "SM_HPS", &text, err);

    if (code == SHEAF_OK && text != NULL) {
        code = channel_order_parse(text, strlen(text), options, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", path);
    }
    free(text);
    free(path);
    return code;
}

/* ---- Failure -------------------------------------------------------------------------------- */

/* Returns how many bytes of an error message SageMaker shows. The shown part does not end in the
 * middle of a UTF-8 character. */
static size_t channel_shown_size(const char *message)
{
    const size_t size = strlen(message);
    size_t shown = MIN(size, FAILURE_BYTES);

    while (shown != 0 && shown < size && ((unsigned char)message[shown] & 0xc0) == 0x80)
        shown--;
    return shown;
}

int sheaf_channel_report_failure(const char *root, const char *message, struct sheaf_error *err)
{
    struct made_directories made = { .count = 0 };
    char *directory, *path;
    int code;

    root = root != NULL ? root : ROOT;
    if (!channel_is_directory(root))    /* there is no platform to inform */
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no such directory", root);
    directory = store_join(root, "output");
    path = directory == NULL ? NULL : store_join(directory, "failure");
    if (path == NULL)
        code = err_memory(err, 1);
    else
        code = store_make_directory(directory, &made, err);
    if (code == SHEAF_OK)
        code = store_put(path, message, channel_shown_size(message), err);
    made_end(&made, code != SHEAF_OK);
    free(path);
    free(directory);
    return code;
}
