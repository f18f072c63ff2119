/* SPDX-License-Identifier: MIT
 *
 * Stores plans without samples; see plan_store.h. */
#include "packer/plan_store.h"

#include "packer/pack_options.h"
#include "packer/pack_output.h"

/* Writes the plan, and then prepares the destination. In this order, the plan is stored before
 * anything at the destination is removed. */
static int plan_store_write(const struct plan_facts *facts, enum output_ask ask, const char *url,
                            struct output *output, struct sheaf_error *err)
{
    struct store_writer *out = NULL;
    bool finished;
    int code = plan_file_create(url, &out, err);

    if (code == SHEAF_OK)
        code = output_check(output, ask, err);
    if (code == SHEAF_OK)
        code = plan_file_write(out, facts, NULL, err);
    else
        store_abort(out);
    if (code == SHEAF_OK)
        code = output_claim(output, ask, &finished, err);
    return code;
}

int plan_store(const struct plan_facts *facts, const struct sheaf_pack_options *options,
               const char *source, const char *url, struct sheaf_error *err)
{
    const enum output_ask ask = output_ask(options->resume, options->overwrite, false);
    struct block_setup setup;
    struct output output;
    int code;

    pack_options_setup(options, &setup);
    code = pack_output_open(&output, facts->dest, &setup, options->prefix, &facts->plan, err);
    output.sources = &source;
    output.source_count = source != NULL;
    output.joins = true;
    if (code == SHEAF_OK)
        code = plan_store_write(facts, ask, url, &output, err);
    output_close(&output);
    return code;
}
