/* SPDX-License-Identifier: MIT
 *
 * Checks the content of a manifest beyond its JSON form: names, hashes, sums, positions in the
 * index. */
#include "formats/manifest_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "formats/format.h"

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    }
    return false;
}

/* Returns whether a name is a plain file name without a directory. Names from a manifest are joined
 * to the data set's directory, and must not lead out of it. */
static bool is_file_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && !has_control(name);
}

static int manifest_check_compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of replaced shards are not used again. */
static int check_names_differ(const struct manifest *m, struct sheaf_error *err)
{
    size_t count = m->shard_count, at = 0;
    const char **names;
    int code = SHEAF_OK;

    for (size_t i = 0; i < m->edit_count; i++)
        count += m->edits[i].shard_count;
    names = calloc(count + 1, sizeof(*names));
    if (names == NULL)
        return err_memory(err, (count + 1) * sizeof(*names));
    for (size_t i = 0; i < m->shard_count; i++)
        names[at++] = m->shards[i].name;
    for (size_t i = 0; i < m->edit_count; i++)
        for (size_t k = 0; k < m->edits[i].shard_count; k++)
            names[at++] = m->edits[i].shards[k];
    qsort(names, count, sizeof(*names), manifest_check_compare_names);
    for (size_t i = 1; i < count && code == SHEAF_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            code = err_set(err, SHEAF_ERR_CORRUPT, "two shards are named \"%s\"", names[i]);
    }
    free(names);
    return code;
}

/* Returns the first fault in the description of a shard as static text, or NULL if it has no
 * fault. */
static const char *shard_problem(const struct manifest *m, const struct manifest_shard *s)
{
    if (!is_file_name(s->name))
        return "its name is not a plain file name";
    if (!hex_is(s->xxh3, 32))
        return "\"xxh3\" is not 32 hexadecimal digits in lower case";
    if (m->codec == SHEAF_CODEC_NONE && s->raw_bytes != s->bytes)
        return "\"raw_bytes\" differs from \"bytes\" without a codec";
    if (s->largest > s->raw_bytes || (s->largest == 0) != (s->samples == 0))
        return "\"largest\" does not agree with \"samples\" and \"raw_bytes\"";
    if (s->names_bytes != 0 && !format_of(m->container)->has_names)
        return "\"names_bytes\" is for RecordIO only";
    return NULL;
}

/* Adds `value` to *sum. Returns false if the sum exceeds INT64_MAX, because many JSON libraries
 * cannot represent larger integers. */
static bool add_to_sum(uint64_t *sum, uint64_t value)
{
    return !__builtin_add_overflow(*sum, value, sum) && *sum <= INT64_MAX;
}

static int manifest_check_shard(const struct manifest *m, size_t i, uint64_t *index_end,
                                struct manifest_totals *t, struct sheaf_error *err)
{
    const struct manifest_shard *s = &m->shards[i];
    const char *problem = shard_problem(m, s);

    if (problem != NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "shard %zu: %s", i, problem);
    if (s->index_offset != *index_end)
        return err_set(err, SHEAF_ERR_CORRUPT, "shard %zu: index section at %llu, expected %llu",
                       i, (unsigned long long)s->index_offset, (unsigned long long)*index_end);
    if (!add_to_sum(index_end, s->index_bytes) || !add_to_sum(&t->samples, s->samples) ||
        !add_to_sum(&t->bytes, s->bytes) || !add_to_sum(&t->raw_bytes, s->raw_bytes) ||
        !add_to_sum(&t->payload_bytes, s->payload_bytes) || s->names_bytes > INT64_MAX)
        return err_set(err, SHEAF_ERR_CORRUPT, "shard %zu: sums of more than 63 bits", i);
    return SHEAF_OK;
}

static int manifest_check_head(const struct manifest *m, struct sheaf_error *err)
{
    if (sheaf_container_name(m->container) == NULL || sheaf_codec_name(m->codec) == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "unknown container %d or codec %d",
                       (int)m->container, (int)m->codec);
    if (m->single_member && m->codec == SHEAF_CODEC_NONE)
        return err_set(err, SHEAF_ERR_CORRUPT, "\"single_member\" without a codec");
    if (m->label_base != 0 && m->label_base != 1)
        return err_set(err, SHEAF_ERR_CORRUPT, "\"label_base\" is not 0 or 1");
    if (m->shard_count > SHARD_LIMIT)
        return err_set(err, SHEAF_ERR_CORRUPT, "%zu shards, expected at most %u", m->shard_count,
                       SHARD_LIMIT);
    for (size_t i = 0; i < m->class_count; i++) {
        if (has_control(m->classes[i]))
            return err_set(err, SHEAF_ERR_CORRUPT, "class %zu: a control character", i);
    }
    return SHEAF_OK;
}

/* Checks the appends that the manifest records. Each append must have added at least one shard, and
 * none may have fewer classes than the append before it. */
static int check_growths(const struct manifest *m, struct sheaf_error *err)
{
    for (size_t i = 0; i < m->growth_count; i++) {
        const struct manifest_growth *g = &m->growths[i], *before = i == 0 ? NULL : g - 1;

        if (g->shards >= m->shard_count || g->classes > m->class_count ||
            (before != NULL && (g->shards <= before->shards || g->classes < before->classes)))
            return err_set(err, SHEAF_ERR_CORRUPT, "\"grown\", entry %zu: %llu shards and %llu "
                           "classes do not agree with the others", i,
                           (unsigned long long)g->shards, (unsigned long long)g->classes);
    }
    return SHEAF_OK;
}

/* Checks element i of the manifest's list of edits. Each edit states the number of appends before
 * it. This number must not decrease, because the edits are in the order in which they were made.
 *
 * The names of replaced shards must have no directory. A purge removes these shards, and must not
 * touch other directories. */
static int check_edit(const struct manifest *m, size_t i, struct sheaf_error *err)
{
    const struct manifest_edit *e = &m->edits[i];

    if (e->grown > m->growth_count || (i != 0 && e->grown < e[-1].grown))
        return err_set(err, SHEAF_ERR_CORRUPT, "\"edited\", entry %zu: %llu appends do not agree "
                       "with the others", i, (unsigned long long)e->grown);
    for (size_t k = 0; k < e->shard_count; k++)
        if (!is_file_name(e->shards[k]))
            return err_set(err, SHEAF_ERR_CORRUPT, "\"edited\", entry %zu: the name of shard %zu "
                           "is not a plain file name", i, k);
    return SHEAF_OK;
}

int manifest_check(const struct manifest *m, struct manifest_totals *totals,
                   struct sheaf_error *err)
{
    uint64_t index_end = 0;
    int code = manifest_check_head(m, err);

    *totals = (struct manifest_totals){ 0 };
    for (size_t i = 0; code == SHEAF_OK && i < m->shard_count; i++)
        code = manifest_check_shard(m, i, &index_end, totals, err);
    if (code == SHEAF_OK && m->index_bytes != index_end)
        code = err_set(err, SHEAF_ERR_CORRUPT, "\"index_bytes\" is %llu, expected %llu",
                       (unsigned long long)m->index_bytes, (unsigned long long)index_end);
    if (code == SHEAF_OK)
        code = check_growths(m, err);
    for (size_t i = 0; code == SHEAF_OK && i < m->edit_count; i++)
        code = check_edit(m, i, err);
    return code != SHEAF_OK ? code : check_names_differ(m, err);
}

static int manifest_check_total(const char *key, uint64_t stated, uint64_t total,
                                struct sheaf_error *err)
{
    if (stated == total)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "\"%s\" is %llu, expected %llu, the sum of all shards",
                   key, (unsigned long long)stated, (unsigned long long)total);
}

int manifest_check_totals(const struct manifest_totals *stated,
                          const struct manifest_totals *totals, struct sheaf_error *err)
{
    int code = manifest_check_total("samples", stated->samples, totals->samples, err);

    if (code == SHEAF_OK)
        code = manifest_check_total("bytes", stated->bytes, totals->bytes, err);
    if (code == SHEAF_OK)
        code = manifest_check_total("raw_bytes", stated->raw_bytes, totals->raw_bytes, err);
    if (code == SHEAF_OK)
        code = manifest_check_total("payload_bytes", stated->payload_bytes, totals->payload_bytes,
                                    err);
    return code;
}

/* Returns whether a JSON tree contains a number with a fraction. The function is recursive, which
 * is safe because jansson limits the depth of trees. */
static bool has_fraction(const json_t *value)
{
    const json_t *part;
    const char *key;
    size_t i;

    json_array_foreach(value, i, part) {
        if (has_fraction(part))
            return true;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, part) {
        if (has_fraction(part))
            return true;
    }
    return json_is_real(value);
}

int manifest_check_options(const json_t *options, struct sheaf_error *err)
{
    if (!json_is_object(options) && !json_is_null(options))
        return err_set(err, SHEAF_ERR_CORRUPT, "\"options\" is not an object");
    if (has_fraction(options))
        return err_set(err, SHEAF_ERR_CORRUPT, "\"options\" has a number that is not an integer");
    return SHEAF_OK;
}
