/* SPDX-License-Identifier: MIT
 *
 * Finds the number of this process, and the number of processes, in the environment variables that
 * launchers (Slurm, Open MPI, torchrun, ...) set.
 *
 * For a reader, the number of the process is its rank. For a packer, it says which part of the work
 * the process does. Only packers use the variables of a job array, because one job of an array may
 * run several readers, each with a rank of its own. */
#include "modes/launcher.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "store/store.h"

static const char *const rank_directories[] = { "/opt/ml/input/config" };
static const char *const part_directories[] = { "/opt/ml/config", "/opt/ml/input/config" };

struct launcher {
    /* names of the environment variables that contain the rank and the world size */
    const char *rank, *size;
    const char *source;
    /* The rule for using the environment variables `rank` and `size`. With ANY, they are ignored
     * unless both are set. With TOGETHER, it is an error if only one of them is set. With IN_STEP,
     * they are used only if srun has started this process, because other processes of a Slurm job
     * have the variables as well. */
    enum { ANY, TOGETHER, IN_STEP } rule;
};

static const struct launcher rank_launchers[] = {
    { "RANK", "WORLD_SIZE", "RANK and WORLD_SIZE", TOGETHER },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK and _SIZE",
      TOGETHER },
    { "SLURM_PROCID", "SLURM_NTASKS", "SLURM_PROCID and SLURM_NTASKS", IN_STEP },
};

static const struct launcher part_launchers[] = {
    { "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE",
      "AWS_BATCH_JOB_ARRAY_INDEX and _SIZE", ANY },
    { "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "JOB_COMPLETION_INDEX and JOB_COMPLETIONS",
      ANY },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK and _SIZE",
      TOGETHER },
    { "SLURM_PROCID", "SLURM_NTASKS", "SLURM_PROCID and SLURM_NTASKS", IN_STEP },
};

static const struct launcher host_launchers[] = {
    { "LOCAL_RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK and LOCAL_WORLD_SIZE", ANY },
    { "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK and _SIZE", ANY },
    { "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_LOCALID and SLURM_NTASKS_PER_NODE",
      IN_STEP },
};

struct launch_member {
    uint32_t rank, size;
};

/* The number in a variable. */
static int parse_variable(const char *name, const char *text, uint32_t *number,
                          struct sheaf_error *err)
{
    uint64_t value;

    if (!number_parse(text, UINT32_MAX, &value))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the environment's %s is \"%.40s\", not a number",
                       name, text);
    *number = (uint32_t)value;
    return SHEAF_OK;
}

static int launcher_check_member(const struct launch_member *member, const char *source,
                                 struct sheaf_error *err)
{
    if (member->rank < member->size)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the rank is %u, expected less than the size %u",
                   source, member->rank, member->size);
}

/* Returns whether srun started this process. A batch script and the shell of salloc also have the
 * variables of the Slurm job, although each of them is a single process. But their variable for the
 * step number has a special value or is not set. */
static bool is_in_step(void)
{
    static const char *const no_steps[] = { "4294967291", "4294967290" };
    const char *step = getenv("SLURM_STEP_ID");

    if (step == NULL)
        step = getenv("SLURM_STEPID");
    for (size_t i = 0; step != NULL && i < COUNT_OF(no_steps); i++)
        if (strcmp(step, no_steps[i]) == 0)
            return false;
    return step != NULL;
}

static int from_launcher(const struct launcher *l, struct launch_member *member,
                         struct sheaf_error *err)
{
    const char *rank = getenv(l->rank), *size = getenv(l->size);
    int code;

    if (l->rule == IN_STEP && !is_in_step())
        return SHEAF_END;

    if (l->rule == TOGETHER && (rank == NULL) != (size == NULL))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the environment has %s, but no %s",
                       rank != NULL ? l->rank : l->size, rank != NULL ? l->size : l->rank);
    if (rank == NULL || size == NULL)
        return SHEAF_END;
    code = parse_variable(l->rank, rank, &member->rank, err);
    if (code == SHEAF_OK)
        code = parse_variable(l->size, size, &member->size, err);
    return code == SHEAF_OK ? launcher_check_member(member, l->source, err) : code;
}

static int from_launchers(const struct launcher *launchers, size_t count,
                          struct launch_member *member,
                          const char **source, struct sheaf_error *err)
{
    int code = SHEAF_END;

    for (size_t i = 0; code == SHEAF_END && i < count; i++) {
        *source = launchers[i].source;
        code = from_launcher(&launchers[i], member, err);
    }
    return code;
}

/* ---- Slurm's arrays -------------------------------------------------------------------------- */

/* Computes the position of this job in its Slurm job array, and the number of jobs in the array.
 * Returns an error if the array's indices are not evenly spaced, because the position is then
 * unknown. */
static int from_array(struct launch_member *member, struct sheaf_error *err)
{
    static const char *const names[] = {
        "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
        "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_STEP",
    };
    uint32_t v[COUNT_OF(names)] = { [4] = 1 };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *text = getenv(names[i]);
        int code;

        if (text == NULL && i == 0)
            return SHEAF_END;
        if (text == NULL && i == 4)
            break;
        if (text == NULL)
            return err_set(err, SHEAF_ERR_ARGUMENT, "the environment has %s, but no %s", names[0],
                           names[i]);
        code = parse_variable(names[i], text, &v[i], err);
        if (code != SHEAF_OK)
            return code;
    }
    if (v[4] == 0 || v[0] < v[1] || v[0] > v[2] || (v[0] - v[1]) % v[4] != 0 ||
        (v[2] - v[1]) / v[4] + (uint64_t)1 != v[3])
        return err_set(err, SHEAF_ERR_ARGUMENT, "SLURM_ARRAY_TASK_ID %u, from %u to %u by %u, is "
                       "not one of %u evenly spaced indices: specify the part", v[0], v[1],
                       v[2], v[4], v[3]);
    *member = (struct launch_member){ (v[0] - v[1]) / v[4], v[3] };
    return SHEAF_OK;
}

#define CONFIG_LIMIT ((size_t)16 << 20)

/* ---- Lists of hosts -------------------------------------------------------------------------- */

/* Finds the rank of the host `current`, which is its position in the list of hosts. The number in
 * the host's name is not its rank, because algo-10 comes before algo-2 in the list. */
static int find_rank(const json_t *hosts, const char *current, const char *source,
                    struct launch_member *member, struct sheaf_error *err)
{
    size_t i;
    const json_t *host;

    if (!json_is_array(hosts) || current == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: no list of hosts, or no current host", source);
    json_array_foreach(hosts, i, host) {
        if (json_is_string(host) && strcmp(json_string_value(host), current) == 0) {
            *member = (struct launch_member){ (uint32_t)i, (uint32_t)json_array_size(hosts) };
            return SHEAF_OK;
        }
    }
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the current host %.64s is not in the list of "
                   "hosts", source, current);
}

static int from_hosts(const char *source, struct launch_member *member, struct sheaf_error *err)
{
    const char *text = getenv("SM_HOSTS"), *current = getenv("SM_CURRENT_HOST");
    json_error_t found;
    json_t *hosts;
    int code;

    if (text == NULL || current == NULL)
        return SHEAF_END;
    code = json_load_text(text, strlen(text), JSON_REJECT_DUPLICATES, &hosts, &found, err);
    if (code == SHEAF_OK || code == SHEAF_ERR_CORRUPT)
        code = find_rank(hosts, current, source, member, err);
    json_decref(hosts);
    return code;
}

static int from_config(const char *directory, const char *source, struct launch_member *member,
                       struct sheaf_error *err)
{
    json_error_t found;
    json_t *config = NULL;
    char *path = store_join(directory, source), *text = NULL;
    size_t size = 0;
    int code = path == NULL ? err_memory(err, strlen(directory))
                            : store_get(path, CONFIG_LIMIT, &text, &size, err);

    if (code == SHEAF_ERR_NOT_FOUND)
        code = SHEAF_END;
    else if (code == SHEAF_OK)
        code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &config, &found, err);
    if (code == SHEAF_OK || code == SHEAF_ERR_CORRUPT)
        code = find_rank(json_object_get(config, "hosts"),
                        json_string_value(json_object_get(config, "current_host")), source, member,
                        err);
    json_decref(config);
    free(text);
    free(path);
    return code;
}

/* Finds the rank of this host among the hosts of a SageMaker job, and the number of hosts.
 * SageMaker states the hosts in environment variables or in a file. */
static int from_sagemaker(const char *config, const char *const *directories, size_t count,
                          struct launch_member *member, const char **source,
                          struct sheaf_error *err)
{
    int code;

    *source = "SM_CURRENT_HOST and SM_HOSTS";
    code = from_hosts(*source, member, err);
    if (code != SHEAF_END)
        return code;
    *source = "resourceconfig.json";
    if (config != NULL)
        return from_config(config, *source, member, err);
    for (size_t i = 0; i < count && code == SHEAF_END; i++)
        code = from_config(directories[i], *source, member, err);
    return code;
}

/* ---- The questions --------------------------------------------------------------------------- */

static int launcher_answer(int code, const struct launch_member *member, const char *found,
                           uint32_t *rank, uint32_t *size, const char **source)
{
    if (code == SHEAF_OK) {
        *rank = member->rank;
        *size = member->size;
    }
    if (source != NULL)
        *source = code == SHEAF_OK ? found : NULL;
    return code;
}

int sheaf_world_from_environment(const char *config, uint32_t *rank, uint32_t *world_size,
                                 const char **source, struct sheaf_error *err)
{
    struct launch_member member;
    const char *found;
    int code = from_launchers(rank_launchers, COUNT_OF(rank_launchers), &member, &found, err);

    if (code == SHEAF_END)
        code = from_sagemaker(config, rank_directories, COUNT_OF(rank_directories), &member,
                              &found, err);
    return launcher_answer(code, &member, found, rank, world_size, source);
}

int launcher_host(const char *config, struct host *host, struct sheaf_error *err)
{
    struct launch_member member;
    const char *found;
    const int code = from_sagemaker(config, rank_directories, COUNT_OF(rank_directories), &member,
                                    &found, err);

    if (code == SHEAF_OK)
        *host = (struct host){ .number = member.rank, .count = member.size };
    return code;
}

/* Checks the world size in the environment. It must be the number of processes on this host, or
 * this number times the number of hosts. With any other world size, it is unknown which processes
 * run on this host. Processes on other hosts might then try to read samples that only this host
 * has. */
static int check_world(const char *config, const struct launch_member *local,
                       struct sheaf_error *err)
{
    struct host host = { .count = 1 };
    struct launch_member world;
    const char *source;
    int code = from_launchers(rank_launchers, COUNT_OF(rank_launchers), &world, &source, err);

    if (code != SHEAF_OK)
        return code == SHEAF_END ? SHEAF_OK : code;
    code = launcher_host(config, &host, err);
    if (code < 0 || world.size == local->size ||
        world.size == (uint64_t)local->size * host.count)
        return code < 0 ? code : SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "each host has its own objects: %s has a world of %u "
                   "on %u host%s, but %u process%s on this one (LOCAL_RANK and LOCAL_WORLD_SIZE "
                   "tell them apart)", source, world.size, host.count, plural(host.count),
                   local->size, local->size == 1 ? "" : "es");
}

int launcher_of_host(const char *config, uint32_t *rank, uint32_t *world_size,
                     const char **source, struct sheaf_error *err)
{
    struct launch_member member = { 0, 1 };
    const char *found = "one process on this host";
    int code = from_launchers(host_launchers, COUNT_OF(host_launchers), &member, &found, err);

    if (code == SHEAF_END) {
        found = "one process on this host";
        code = SHEAF_OK;
    }
    if (code == SHEAF_OK)
        code = check_world(config, &member, err);
    return launcher_answer(code, &member, found, rank, world_size, source);
}

int sheaf_part_from_environment(const char *config, uint32_t *part, uint32_t *parts,
                                const char **source, struct sheaf_error *err)
{
    struct launch_member member;
    const char *found = "SLURM_ARRAY_TASK_ID";
    int code = from_array(&member, err);

    if (code == SHEAF_END)
        code = from_launchers(part_launchers, COUNT_OF(part_launchers), &member, &found, err);
    if (code == SHEAF_END)
        code = from_sagemaker(config, part_directories, COUNT_OF(part_directories), &member,
                              &found, err);
    if (code == SHEAF_END && getenv("JOB_COMPLETION_INDEX") != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the environment has JOB_COMPLETION_INDEX, but no "
                       "JOB_COMPLETIONS: set it in the job's template");
    return launcher_answer(code, &member, found, part, parts, source);
}
