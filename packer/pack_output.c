/* SPDX-License-Identifier: MIT
 *
 * Opens and publishes the output of a plan. */
#include "packer/pack_output.h"

#include <stdio.h>

#include "base/bytes.h"

int pack_output_open(struct output *o, const char *dest, const struct block_setup *setup,
                     const char *prefix, const struct plan *plan, struct sheaf_error *err)
{
    int code = output_open(o, dest, setup->format, setup->codec, prefix, err);

    o->interop = setup->interop;
    if (code == SHEAF_OK && plan == NULL)
        return output_add_split(o, "", 0, err);
    if (code != SHEAF_OK)
        return code;
    snprintf(o->plan_hash, PLAN_HASH_SIZE, "%s", plan->hash);
    snprintf(o->journal.plan.hash, PLAN_HASH_SIZE, "%s", plan->identity);
    snprintf(o->origin, PLAN_HASH_SIZE, "%s", plan->origin);
    for (uint32_t i = 0; i < plan->split_count && code == SHEAF_OK; i++)
        code = output_add_split(o, plan->splits[i].name, plan->splits[i].shard_count, err);
    return code;
}

int pack_output_name(const struct output *o, const struct plan_shard *shard,
                     char name[SHARD_NAME_BYTES], struct sheaf_error *err)
{
    return output_shard_name(o, shard->split, shard->number, name, err);
}

/* Number of bytes that a sample is assumed to take in a shard in addition to the content of its
 * files. This is enough for the headers, padding and names of most samples. */
#define SAMPLE_MORE_BYTES 4096u

uint64_t pack_output_shard_bytes(const struct plan_shard *shard)
{
    return shard->payload_bytes + SAMPLE_MORE_BYTES * shard->sample_count;
}

int pack_output_open_shard(const struct output *o, const struct block_setup *setup,
                           const struct plan_shard *shard, struct part_memory *memory,
                           struct shard_writer **writer, struct sheaf_error *err)
{
    char name[SHARD_NAME_BYTES];
    int code = pack_output_name(o, shard, name, err);

    if (code == SHEAF_OK)
        code = shard_writer_open(writer, setup, o->directories[shard->split], name, memory,
                                 pack_output_shard_bytes(shard), err);
    return code;
}

void pack_output_count(struct sheaf_pack_result *r, const struct shard_facts *facts)
{
    r->shards++;
    r->samples += facts->samples;
    r->files_packed += facts->files;
    r->payload_bytes += facts->payload_bytes;
    r->stored_bytes += facts->bytes;
    r->multipart_records += facts->multipart;
    r->resized += facts->resized;
}

void pack_output_add(struct sheaf_pack_result *sum, const struct sheaf_pack_result *one)
{
    sum->files_packed += one->files_packed;
    sum->samples += one->samples;
    sum->payload_bytes += one->payload_bytes;
    sum->stored_bytes += one->stored_bytes;
    sum->shards += one->shards;
    sum->shards_kept += one->shards_kept;
    sum->multipart_records += one->multipart_records;
    sum->resized += one->resized;
    sum->memory_peak_bytes = MAX(sum->memory_peak_bytes, one->memory_peak_bytes);
    sum->plan_bytes = MAX(sum->plan_bytes, one->plan_bytes);
}

static int pack_output_write_report(struct problems *problems, struct buf *lines,
                                    struct sheaf_error *err)
{
    lines->limit = SIZE_MAX / 4;
    if (problems == NULL)
        return SHEAF_OK;
    problems_sort(problems);
    return problems_write(problems, 0, lines, err);
}

int pack_output_publish(struct output *o, struct problems *problems, struct publish_facts *facts,
                        struct sheaf_error *err)
{
    int code = o->lacks_reports ? SHEAF_OK : pack_output_write_report(problems, &facts->skipped,
                                                                      err);

    facts->skipped_count = problems_skipped(problems);
    if (code == SHEAF_OK && !o->lacks_reports)
        code = pack_output_write_report(problems->converted, &facts->converted, err);
    if (code == SHEAF_OK)
        code = publish_dataset(o, facts, err);
    buf_free(&facts->skipped);
    buf_free(&facts->converted);
    return code;
}

int pack_output_publish_plan(struct output *o, struct problems *problems, const struct plan *plan,
                             int label_base, const char *const *options_json,
                             struct sheaf_error *err)
{
    struct publish_facts facts = {
        .classes = plan->classes, .class_count = plan->class_count, .label_base = label_base,
        .split_count = plan->split_count,
    };

    for (uint32_t s = 0; s < plan->split_count; s++)
        facts.splits[s] = (struct publish_split){
            plan->splits[s].shard_count, plan->splits[s].cls_is_label, options_json[s],
        };
    return pack_output_publish(o, problems, &facts, err);
}
