/* SPDX-License-Identifier: MIT
 *
 * Hosts; see hosts.h. */
#include "tools/hosts.h"

const struct choice distribution_choices[] = {
    { "replicated", 0 },
    { "sharded", 1 },
    { .name = NULL },
};

static int hosts_take_environment(uint32_t *host, uint32_t *hosts)
{
    struct sheaf_error error;
    const char *source;
    const int code = sheaf_world_from_environment(NULL, host, hosts, &source, &error);

    if (code == SHEAF_END)
        return -1;
    if (code != SHEAF_OK)
        return fail(&error);
    if (*hosts > 1)
        say("host %u of %u, by %s", *host, *hosts, source);
    return -1;
}

int hosts_options_take(const struct hosts_options *o, uint32_t *host, uint32_t *hosts)
{
    const bool is_given = o->host != HOST_NOT_GIVEN || o->hosts != HOST_NOT_GIVEN;

    *host = 0;
    *hosts = 1;
    if (!o->sharded && is_given)
        return misuse("--host and --hosts require --distribution sharded");
    if (!o->sharded)
        return -1;
    if (!is_given)
        return hosts_take_environment(host, hosts);
    if (o->host == HOST_NOT_GIVEN || o->hosts == HOST_NOT_GIVEN)
        return misuse("--host and --hosts must be used together");
    if (o->host >= o->hosts)
        return misuse("--host is %llu, expected less than --hosts %llu",
                      (unsigned long long)o->host, (unsigned long long)o->hosts);
    *host = (uint32_t)o->host;
    *hosts = (uint32_t)o->hosts;
    return -1;
}
