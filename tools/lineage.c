/* SPDX-License-Identifier: MIT
 *
 * Lineage; see lineage.h. */
#include "tools/lineage.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/order.h"

static void lineage_print_text(const char *name, const char *text)
{
    printf(", \"%s\": ", name);
    print_json_string(stdout, text != NULL && text[0] != '\0' ? text : NULL);
}

static void print_count(const char *name, int known, uint64_t count)
{
    if (known)
        printf(", \"%s\": %" PRIu64, name, count);
    else
        printf(", \"%s\": null", name);
}

static void print_channel(const struct sheaf_channel *channel)
{
    static const char *const kinds[] = { "", "directory", "pipe", "direct" };
    struct sheaf_channel_info info;

    sheaf_channel_get_info(channel, &info, sizeof(info));
    printf(", \"channel\": {\"name\": ");
    print_json_string(stdout, info.name);
    lineage_print_text("kind", kinds[info.kind]);
    lineage_print_text("file_system", info.file_system);
    lineage_print_text("mode", info.mode);
    lineage_print_text("distribution", info.distribution);
    if (info.has_shuffle_seed)
        printf(", \"shuffle_seed\": %" PRId64, info.shuffle_seed);
    printf("}");
}

/* Prints the options with the defaults filled in. */
static void print_order(const struct sheaf_reader_options *o, uint32_t hosts)
{
    const int remainder = o->remainder != SHEAF_REMAINDER_AUTO ? (int)o->remainder
                        : o->world_size > 1 || hosts > 1 ? SHEAF_PAD : SHEAF_KEEP;
    const char *name = NULL;

    for (const struct choice *c = remainder_choices; c->name != NULL; c++)
        if (c->value == remainder)
            name = c->name;
    printf(", \"order\": {\"seed\": %" PRIu64 ", \"epoch\": %" PRIu64 ", \"shuffle\": %s, "
           "\"shuffle_buffer\": %" PRIu64 ", \"lanes\": %u, \"rank\": %u, \"world_size\": %u, "
           "\"worker\": %u, \"workers\": %u", o->seed, o->epoch,
           o->no_shuffle ? "false" : "true", o->shuffle_buffer,
           o->lanes != 0 ? o->lanes : o->world_size * o->workers, o->rank, o->world_size,
           o->worker, o->workers);
    lineage_print_text("remainder", name);
    printf("}");
}

/* Prints the sources of the data set, in their order, as the member "sources" of a JSON object. */
static void lineage_print_sources(const struct sheaf_dataset *dataset, size_t count)
{
    printf(", \"sources\": [");
    for (size_t i = 0; i < count; i++) {
        struct sheaf_source_info source = { .url = "" };

        if (sheaf_dataset_source(dataset, i, &source, sizeof(source)) != SHEAF_OK)
            break;
        printf("%s{\"source\": ", i == 0 ? "" : ", ");
        print_json_string(stdout, source.url);
        lineage_print_text("fingerprint", source.fingerprint);
        print_count("samples", 1, source.samples);
        printf("}");
    }
    printf("]");
}

void lineage_print(const struct sheaf_dataset *dataset, const struct sheaf_channel *channel,
                   const struct sheaf_reader_options *options)
{
    struct sheaf_dataset_info info;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    printf("{\"sheaf\": ");
    print_json_string(stdout, sheaf_version());
    lineage_print_text("fingerprint", info.fingerprint);
    lineage_print_text("source", info.url);
    lineage_print_text("container", sheaf_container_name(info.container));
    lineage_print_text("codec", sheaf_codec_name(info.codec));
    print_count("samples", !info.is_stream, info.samples);
    print_count("bytes", info.bytes != 0, info.bytes);
    print_count("shards", 1, info.shard_count);
    if (info.source_count > 1)
        lineage_print_sources(dataset, info.source_count);
    if (channel != NULL)
        print_channel(channel);
    if (info.hosts != 0)
        printf(", \"host\": %u, \"hosts\": %u", info.host, info.hosts);
    print_order(options, info.is_stream ? 0 : info.hosts);
    printf("}\n");
}
