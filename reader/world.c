/* SPDX-License-Identifier: MIT
 *
 * Who asks: rank and world size from what launchers put into the environment. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/store.h"

#define CONFIG_DIRECTORY "/opt/ml/input/config"
#define CONFIG_LIMIT     ((size_t)16 << 20)

struct launcher {
    const char *rank, *size;        /* names of variables */
    const char *source;
};

static const struct launcher launchers[] = {
    { "RANK", "WORLD_SIZE", "RANK and WORLD_SIZE" },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK and _SIZE" },
    { "SLURM_PROCID", "SLURM_NTASKS", "SLURM_PROCID and SLURM_NTASKS" },
};

/* The number in a variable. */
static int parse_variable(const char *name, const char *text, uint32_t *number,
                          struct sheaf_error *err)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > UINT32_MAX)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the environment's %s is \"%.40s\", which is no "
                       "number", name, text);
    *number = (uint32_t)value;
    return SHEAF_OK;
}

static int check_world(uint32_t rank, uint32_t world_size, const char *source,
                       struct sheaf_error *err)
{
    if (rank < world_size)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s say rank %u, which is not below the world size "
                   "%u", source, rank, world_size);
}

static int from_launcher(const struct launcher *l, uint32_t *rank, uint32_t *world_size,
                         struct sheaf_error *err)
{
    const char *rank_text = getenv(l->rank), *size_text = getenv(l->size);
    int code;

    if (rank_text == NULL || size_text == NULL)
        return SHEAF_END;
    code = parse_variable(l->rank, rank_text, rank, err);
    if (code == SHEAF_OK)
        code = parse_variable(l->size, size_text, world_size, err);
    return code == SHEAF_OK ? check_world(*rank, *world_size, l->source, err) : code;
}

/* The place of a host in the list is its rank: names are not to be parsed (algo-10 comes before
 * algo-2). */
static int place_of(const json_t *hosts, const char *current, const char *source, uint32_t *rank,
                    uint32_t *world_size, struct sheaf_error *err)
{
    size_t i;
    const json_t *host;

    if (!json_is_array(hosts) || current == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: no list of hosts with the current one",
                       source);
    json_array_foreach(hosts, i, host) {
        if (json_is_string(host) && strcmp(json_string_value(host), current) == 0) {
            *rank = (uint32_t)i;
            *world_size = (uint32_t)json_array_size(hosts);
            return SHEAF_OK;
        }
    }
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the current host %.64s is not in the list of "
                   "hosts", source, current);
}

static int from_hosts(const char *source, uint32_t *rank, uint32_t *world_size,
                      struct sheaf_error *err)
{
    const char *text = getenv("SM_HOSTS"), *current = getenv("SM_CURRENT_HOST");
    json_t *hosts;
    int code;

    if (text == NULL || current == NULL)
        return SHEAF_END;
    hosts = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    code = place_of(hosts, current, source, rank, world_size, err);
    json_decref(hosts);
    return code;
}

static int from_config(const char *directory, const char *source, uint32_t *rank,
                       uint32_t *world_size, struct sheaf_error *err)
{
    char *path = store_join(directory, "resourceconfig.json"), *text = NULL;
    json_t *config;
    size_t size;
    int code;

    if (path == NULL)
        return err_memory(err, strlen(directory));
    code = store_get(path, CONFIG_LIMIT, &text, &size, err);
    free(path);
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_END : code;
    config = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    code = place_of(json_object_get(config, "hosts"),
                    json_string_value(json_object_get(config, "current_host")), source, rank,
                    world_size, err);
    json_decref(config);
    return code;
}

int sheaf_world_from_environment(const char *config, uint32_t *rank, uint32_t *world_size,
                                 const char **source, struct sheaf_error *err)
{
    const char *found = NULL;
    int code = SHEAF_END;

    for (size_t i = 0; code == SHEAF_END && i < COUNT_OF(launchers); i++) {
        found = launchers[i].source;
        code = from_launcher(&launchers[i], rank, world_size, err);
    }
    if (code == SHEAF_END) {
        found = "SM_CURRENT_HOST and SM_HOSTS";
        code = from_hosts(found, rank, world_size, err);
    }
    if (code == SHEAF_END) {
        found = "resourceconfig.json";
        code = from_config(config != NULL ? config : CONFIG_DIRECTORY, found, rank, world_size,
                           err);
    }
    if (source != NULL)
        *source = code == SHEAF_OK ? found : NULL;
    return code;
}
