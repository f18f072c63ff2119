/* SPDX-License-Identifier: MIT
 *
 * Searches for AWS credentials, first in the environment and then in the other sources (see
 * credentials_sources.h). */
#include <stdlib.h>

#include "base/error.h"
#include "store/s3/credentials_sources.h"

struct chain {
    struct credentials_source base;
    struct credentials_context context;
};

static int credentials_chain_search(struct credentials_source *source, struct credentials **set,
                                    struct sheaf_error *err)
{
    const struct credentials_context *c = &((struct chain *)source)->context;
    int code = credentials_from_environment(set, err);

    if (code == SHEAF_END)
        code = credentials_from_profile(c, c->config->profile, set, err);
    if (code == SHEAF_END)
        code = credentials_from_container(c, set, err);
    if (code == SHEAF_END)
        code = credentials_from_instance(c, set, err);
    if (code != SHEAF_END)
        return code;
    return err_set(err, SHEAF_ERR_ACCESS, "no AWS credentials: none in the environment, in "
                   "profile \"%s\", from a web identity, a container or an instance; for a "
                   "public bucket set AWS_NO_SIGN_REQUEST=1", c->config->profile);
}

static void chain_free(struct credentials_source *source)
{
    free(source);
}

int credentials_open(struct credentials_cache **cache, const struct credentials_context *context,
                     struct sheaf_error *err)
{
    struct chain *chain = calloc(1, sizeof(*chain));

    if (chain == NULL)
        return err_memory(err, sizeof(*chain));
    chain->base.fetch = credentials_chain_search;
    chain->base.free = chain_free;
    chain->context = *context;
    return credentials_cache_open(cache, &chain->base, err);
}
