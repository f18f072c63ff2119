/* SPDX-License-Identifier: MIT
 *
 * Publishes the data set, or the splits, whose samples a program has passed to the packer. */
#include <stdlib.h>

#include "base/error.h"
#include "formats/manifest.h"
#include "packer/packer.h"

void packer_inherit(struct sheaf_packer *p, const struct manifest *const *sources, size_t count,
                    bool whole)
{
    p->inherits = sources;
    p->inherits_count = count;
    p->inherits_whole = whole;
}

/* Returns the options in the manifest of the split `split` as JSON, which the caller frees. Returns
 * NULL if memory is exhausted. */
static char *manifest_options(const struct sheaf_packer *p, uint32_t split)
{
    char *json = pack_options_json(&p->options, "program",
                                   p->options.identity != NULL ? p->output.plan_hash : NULL,
                                   p->output.journal.plan.splits[split]);
    char *with_facts = NULL;

    if (json == NULL || p->column == NULL)
        return json;
    with_facts = column_facts_add(json, p->column);
    free(json);
    return with_facts;
}

/* Makes the facts for the manifest of the split `split`. The facts contain the text *json, which
 * the caller frees. */
static int packer_publish_facts(struct sheaf_packer *p, uint32_t split,
                                struct publish_split *facts, char **json)
{
    const struct packer_split *s = &p->splits[split];
    int code;

    *json = manifest_options(p, split);
    code = *json == NULL ? err_memory(&p->error, 1024)
                         : manifest_inherit(p->inherits, p->inherits_count, p->inherits_whole, json,
                                            &p->error);
    *facts = (struct publish_split){ s->shard_count, !s->has_cls, *json };
    return code;
}

int packer_publish(struct sheaf_packer *p)
{
    struct publish_facts facts = {
        .classes = (const char *const *)p->classes, .class_count = p->class_count,
        .label_base = p->options.label_base, .split_count = p->output.split_count,
    };
    char *json[SPLIT_LIMIT] = { NULL };
    int code = p->column == NULL ? SHEAF_OK
             : publish_check_base(p->output.dest, p->column->base, &p->error);

    for (uint32_t s = 0; s < facts.split_count && code == SHEAF_OK; s++)
        code = packer_publish_facts(p, s, &facts.splits[s], &json[s]);
    if (code == SHEAF_OK)
        code = pack_output_publish(&p->output, &p->problems, &facts, &p->error);
    for (uint32_t s = 0; s < facts.split_count; s++)
        free(json[s]);
    if (code == SHEAF_OK && (p->options.resume || p->options.overwrite)) {
        /* Removes unfinished uploads of a killed run. Some stores list uploads only for a given
         * name, so the names of all shards are tried. For this purpose, the number of shards must
         * be known. It is known only now. */
        for (uint32_t s = 0; s < facts.split_count; s++)
            p->output.shard_counts[s] = facts.splits[s].shard_count;
        code = output_clean(&p->output, &p->error);
    }
    return code == SHEAF_OK ? output_end(&p->output, &p->error) : code;
}
