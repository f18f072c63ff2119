/* SPDX-License-Identifier: MIT
 *
 * Applies the options of `pack` and `plan`. */
#include "tools/pack_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/advice.h"
#include "tools/verbosity.h"

const struct choice label_base_choices[] = { { "0", 0 }, { "1", 1 }, { NULL, 0 } };
const struct choice key_end_choices[] = {
    { "first-dot", SHEAF_FIRST_DOT }, { "last-dot", SHEAF_LAST_DOT }, { NULL, 0 },
};

const struct choice check_images_choices[] = {
    { "markers", SHEAF_CHECK_MARKERS }, { "decode", SHEAF_CHECK_DECODE },
    { "none", SHEAF_CHECK_NONE }, { NULL, 0 },
};

const struct choice resize_mode_choices[] = {
    { "shorter", SHEAF_SHORTER }, { "longer", SHEAF_LONGER }, { "exact", SHEAF_EXACT }, { NULL, 0 },
};

void pack_rows_init(struct pack_lists *lists, struct sheaf_pack_options *options,
                    enum sheaf_check_images check)
{
    sheaf_pack_options_init(options, sizeof(*options));
    options->check_images = check;
    *lists = (struct pack_lists){ .has_container = false };
}

static void pack_rows_take_filters(struct pack_lists *lists, struct sheaf_pack_options *options)
{
    const struct option_texts *given = &lists->patterns;

    for (size_t i = 0; i < given->count; i++)
        lists->filters[i] = (struct sheaf_filter){
            given->texts[i], strcmp(given->names[i], "include") == 0,
        };
    options->filters = lists->filters;
    options->filter_count = given->count;
}

int pack_rows_take(struct pack_lists *lists, struct sheaf_pack_options *options)
{
    pack_rows_take_filters(lists, options);
    options->field_aliases = lists->aliases.texts;
    options->s3 = lists->s3.texts;
    options->note = report_note;
    if (options->on_change == SHEAF_SKIP && options->on_error != SHEAF_SKIP)
        return misuse("%s: --on-change skip requires --on-error skip", command_name);
    return options_exclude("shard-size", "shard-count");
}

int pack_rows_take_all(struct pack_lists *lists, struct sheaf_pack_options *options)
{
    if (!lists->has_container)
        return misuse("%s: --format is required: %s", command_name, container_names());
    return pack_rows_take(lists, options);
}

void say_skipped_if_quiet(uint64_t skipped, uint64_t files)
{
    if (is_quiet() && skipped != 0)
        complain("%" PRIu64 " of %" PRIu64 " file%s skipped: skipped.tsv lists them", skipped,
                 files, plural(files));
}

void say_duplicates(const struct sheaf_pack_result *r, enum sheaf_duplicate_keys rule)
{
    if (r->duplicates == 0)
        return;
    if (rule == SHEAF_DUPLICATE_DROP)
        complain("%" PRIu64 " sample%s left out: an earlier sample has the key", r->duplicates,
                 plural(r->duplicates));
    else
        say("%" PRIu64 " sample%s had the key of another sample: the keys are now numbered",
            r->duplicates, plural(r->duplicates));
}

void print_images(const struct sheaf_pack_result *r)
{
    if (r->converted != 0)
        printf(", %" PRIu64 " image%s converted", r->converted, plural(r->converted));
    if (r->resized != 0)
        printf(", %" PRIu64 " image%s only made smaller", r->resized, plural(r->resized));
}

void print_files(const struct sheaf_pack_result *r, const char *done)
{
    printf("; %" PRIu64 " of %" PRIu64 " file%s %s, %" PRIu64 " file%s skipped", r->files_packed,
           r->files, plural(r->files), done, r->skipped, plural(r->skipped));
    if (r->passed_over != 0)
        printf(", %" PRIu64 " non-file entr%s passed over", r->passed_over,
               r->passed_over == 1 ? "y" : "ies");
    if (r->left_out != 0)
        printf(", %" PRIu64 " ignored", r->left_out);
    print_images(r);
    if (r->filtered != 0)
        printf(", %" PRIu64 " left out by patterns", r->filtered);
}

void report_note(void *context, const char *about, const struct sheaf_error *note)
{
    const char *advice = advice_of(command_name, note);

    (void)context;
    (void)about;
    say("%s%s%s", note->message, advice == NULL ? "" : "; ", advice == NULL ? "" : advice);
}

void say_source(const struct sheaf_pack_result *r)
{
    if (r->left_out != 0)
        say("%" PRIu64 " ignored: directories whose names begin with a dot, .DS_Store, ._*, "
            "Thumbs.db, desktop.ini (a list of files keeps them)", r->left_out);
    if (r->unlabelled != 0)
        say("%" PRIu64 " sample%s without a label among others that have one, such as \"%s\": "
            "files in the root of a directory have no class, nor has a line of a list whose label "
            "is empty; give them one, or leave them out", r->unlabelled, plural(r->unlabelled),
            r->first_unlabelled);
}

void say_few_shards(const struct sheaf_pack_options *options,
                    const struct sheaf_pack_result *result)
{
    uint64_t asked = options->shard_count;

    for (const char *p = options->split; p != NULL && (p = strchr(p, ',')) != NULL; p++)
        asked += options->shard_count;          /* of each split */
    if (result->shards < asked)
        say("too few samples for %" PRIu64 " shard%s: making %" PRIu64, asked, plural(asked),
            result->shards);
}
