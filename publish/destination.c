/* SPDX-License-Identifier: MIT
 *
 * Finds out what is in the directory of a destination: the claim, manifests, and files that belong
 * to no data set. The claim is the file that says which run packs here. The functions return an
 * error only if the store does not answer. Everything else, such as a damaged manifest, is a
 * finding that the caller judges. */
#include "publish/destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest_growth.h"
#include "base/keyset.h"
#include "publish/several.h"
#include "store/over.h"
#include "store/store.h"

/* ---- Manifests ------------------------------------------------------------------------------- */

static int destination_get_text(const char *directory, const char *name, char **text, size_t *size,
                                struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    const int code = url == NULL ? err_memory(err, strlen(directory))
                                 : store_get(url, MANIFEST_LIMIT, text, size, err);

    free(url);
    return code;
}

static int destination_parse(const char *directory, const char *name, const char *text, size_t size,
                             struct manifest *m, struct sheaf_error *err)
{
    const int code = manifest_parse(text, size, m, err);

    if (code != SHEAF_OK)
        err_prefix(err, "%s/%s: ", directory, name);
    return code;
}

static int destination_do_read_manifest(const char *directory, const char *name, struct manifest *m,
                                        struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = destination_get_text(directory, name, &text, &size, err);

    if (code == SHEAF_OK)
        code = destination_parse(directory, name, text, size, m, err);
    free(text);
    return code;
}

int destination_read_manifest(const char *directory, struct manifest *m, struct sheaf_error *err)
{
    return destination_do_read_manifest(directory, MANIFEST_NAME, m, err);
}

int destination_read_replaced(const char *directory, struct manifest *m, struct sheaf_error *err)
{
    return destination_do_read_manifest(directory, STORE_PARTIAL "/" REPLACED_NAME, m, err);
}

/* Returns whether a manifest was written for the plan of the output `o`. `hash` is the plan hash in
 * the manifest, and must equal the plan hash of `o`. A plan hash covers the names and sizes of the
 * source files, but not their content.
 *
 * Some stores keep a text with the manifest, its note. If o->compares_origin is set, `note` must be
 * empty or equal o->origin. A run that resumes does not set compares_origin, because it never
 * changes a finished data set. */
static bool destination_is_of_plan(const struct output *o, const char *hash, const char *note)
{
    return hash != NULL && strcmp(hash, o->plan_hash) == 0 &&
           (!o->compares_origin || note[0] == '\0' || strcmp(note, o->origin) == 0);
}

/* Returns the number of samples that the data set had before anything was appended or edited. */
static uint64_t samples_at_first(const struct manifest *m)
{
    uint64_t samples = 0;

    if (m->edit_count != 0)
        return m->edits[0].samples;
    for (uint64_t i = 0; i < m->growths[0].shards; i++)
        samples += m->shards[i].samples;
    return samples;
}

/* Classifies a manifest by its text. */
static int destination_classify(const struct output *o, const char *directory,
                                struct manifest_found *f, struct sheaf_error *err)
{
    char *hash = NULL, run[RUN_SIZE];
    int code;

    f->kind = MANIFEST_OF_RUN;
    if (manifest_is_unfinished(f->text, f->size, run))
        return SHEAF_OK;
    code = destination_parse(directory, MANIFEST_NAME, f->text, f->size, &f->manifest, &f->fault);
    if (code == SHEAF_OK && o->grows != NULL)
        code = manifest_change_plan(&f->manifest, &hash, &f->fault);
    else if (code == SHEAF_OK)
        code = manifest_option(&f->manifest, "plan", &hash, &f->fault);
    if (code != SHEAF_OK)
        f->kind = MANIFEST_UNREADABLE;
    else
        f->kind = destination_is_of_plan(o, hash, f->note) ? MANIFEST_OF_PLAN
            : MANIFEST_OF_OTHER_PLAN;
    if (f->kind == MANIFEST_OF_PLAN && o->grows == NULL &&
        (f->manifest.growth_count != 0 || f->manifest.edit_count != 0)) {
        f->kind = MANIFEST_OF_OTHER_PLAN;       /* it was changed */
        f->grown_from = samples_at_first(&f->manifest);
    }
    free(hash);
    return code == SHEAF_ERR_MEMORY ? err_memory(err, f->size) : SHEAF_OK;
}

int destination_manifest(const struct output *o, const char *directory, struct manifest_found *f,
                         struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME);
    int code;

    *f = (struct manifest_found){ .kind = MANIFEST_NONE };
    code = url == NULL ? err_memory(err, strlen(directory))
                       : store_see_note(url, &f->seen, f->note, err);
    if (code == SHEAF_OK && f->seen.is_there)
        code = store_get(url, MANIFEST_LIMIT, &f->text, &f->size, err);
    free(url);
    if (code == SHEAF_ERR_NOT_FOUND) {
        f->seen.is_there = false;
        return SHEAF_OK;
    }
    if (code == SHEAF_OK && f->seen.is_there)
        code = destination_classify(o, directory, f, err);
    if (code != SHEAF_OK)
        manifest_found_free(f);
    return code;
}

void manifest_found_free(struct manifest_found *f)
{
    free(f->text);
    f->text = NULL;
    manifest_clear(&f->manifest);
}

bool manifest_found_is_dataset(const struct manifest_found *f)
{
    return f->kind >= MANIFEST_UNREADABLE;
}

/* ---- Directories in DEST --------------------------------------------------------------------- */

struct below {
    const char *dest;
    destination_below_fn *each;
    void *context;
    struct sheaf_error *err;
};

static int visit_below(void *context, const struct store_entry *entry)
{
    const struct below *b = context;
    char *directory = store_join(b->dest, entry->name);
    const int code = directory == NULL ? err_memory(b->err, strlen(entry->name))
                                       : b->each(b->context, directory, entry->name, b->err);

    free(directory);
    return code;
}

int destination_for_each_below(const char *dest, destination_below_fn *each, void *context,
                               struct sheaf_error *err)
{
    struct below below = { dest, each, context, err };
    const int code = store_list_directories(dest, visit_below, &below, err);

    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ? SHEAF_OK : code;
}

int destination_split(const struct output *o, const char *directory, const char *name,
                      struct manifest_found *f, bool *is, struct sheaf_error *err)
{
    char *split = NULL;
    int code = destination_manifest(o, directory, f, err);

    *is = false;
    if (code != SHEAF_OK || !manifest_found_is_dataset(f))
        return code;
    if (f->kind == MANIFEST_UNREADABLE)     /* a manifest that cannot be parsed has no hash */
        return f->fault.code == SHEAF_ERR_CORRUPT ? SHEAF_OK
                                                  : err_set(err, f->fault.code, "%s",
                                                            f->fault.message);
    code = manifest_option(&f->manifest, "split_name", &split, err);
    *is = split != NULL && strcmp(split, name) == 0;
    free(split);
    return code;
}

/* ---- Inspecting ------------------------------------------------------------------------------ */

/* The names in a directory. */
struct inspected_names {
    struct inspection *inspection;
    const char *directory;      /* the directory that is listed */
    /* The name of the split whose shards `directory` contains. "" if the run has no splits, and
     * NULL if `directory` contains the directories of all splits. */
    const char *split;
    bool has_shards;            /* whether a file has the name of a shard */
    /* path of a stray file: a file that belongs to no data set, but has the name of a report, an
     * index or a table of keys of this run; NULL if no stray file was found */
    char *stray;
    struct sheaf_error *err;
};

struct inspection {
    const struct output *output;
    unsigned asked;
    struct destination *found;
    struct keyset known;        /* shards with an owner: SPLIT/PREFIX-<digits> */
    struct inspected_names names[SPLIT_LIMIT + 1];     /* of the splits, and of DEST */
    size_t names_count;
    char **below;               /* names of the directories in DEST */
    size_t below_count;
    const char *directory, *split;      /* that are listed */
    struct sheaf_error *err;
};

static int inspect_claim(struct inspection *x)
{
    const struct journal *j = &x->output->journal;
    struct destination *d = x->found;
    const int code = journal_load(j, &d->holder, &d->claim_seen, x->err);

    if (code == SHEAF_OK)
        d->claim = strcmp(d->holder.hash, j->plan.hash) == 0 ? CLAIM_OF_PLAN : CLAIM_OF_OTHER_PLAN;
    else
        d->claim = code == SHEAF_ERR_CORRUPT ? CLAIM_DAMAGED : CLAIM_ABSENT;
    return code == SHEAF_END || code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
}

static int note_dataset(struct inspection *x, const char *directory)
{
    if (x->found->dataset == NULL)
        x->found->dataset = strdup(directory);
    return x->found->dataset == NULL ? err_memory(x->err, strlen(directory)) : SHEAF_OK;
}

#define NAMED_MOST 5            /* files that an error names */

/* Records a file that is missing or has the wrong size: adds 1 to *lost, and appends the file's
 * name to the text of the message. */
static int note_lost(struct buf *text, size_t *lost, const char *name,
                     const struct store_seen *seen, uint64_t expected, struct sheaf_error *err)
{
    if ((*lost)++ >= NAMED_MOST)
        return SHEAF_OK;
    if (!seen->is_there)
        return buf_printf(text, err, "%s%s (missing)", *lost == 1 ? "" : ", ", name);
    return buf_printf(text, err, "%s%s (%llu byte%s, expected %llu)", *lost == 1 ? "" : ", ", name,
                      (unsigned long long)seen->bytes, plural(seen->bytes),
                      (unsigned long long)expected);
}

/* Returns the name of file number `i` of a data set, and sets *bytes to the size that the manifest
 * states. The files are numbered from 0: first all shards, and after them the index. */
static const char *file_of(const struct manifest *m, size_t i, uint64_t *bytes)
{
    *bytes = i < m->shard_count ? m->shards[i].bytes : m->index_bytes;
    return i < m->shard_count ? m->shards[i].name : INDEX_NAME;
}

#define SEEN_AT_ONCE 64u

/* Checks the existence and size of `count` files of a data set, from file number `first` on. All
 * requests run at the same time. */
static int check_some(const char *directory, const struct manifest *m, size_t first, size_t count,
                      struct buf *text, size_t *lost, struct sheaf_error *err)
{
    struct store_seen seen[SEEN_AT_ONCE];
    char *urls[SEEN_AT_ONCE] = { NULL };
    uint64_t expected;
    int code = SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        urls[i] = store_join(directory, file_of(m, first + i, &expected));
        code = urls[i] == NULL ? err_memory(err, strlen(directory)) : SHEAF_OK;
    }
    if (code == SHEAF_OK)
        code = store_see_all((const char *const *)urls, count, seen, err);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const char *name = file_of(m, first + i, &expected);

        if (!seen[i].is_there || seen[i].bytes != expected)
            code = note_lost(text, lost, name, &seen[i], expected, err);
    }
    for (size_t i = 0; i < count; i++)
        free(urls[i]);
    return code;
}

/* Checks that all files of a data set exist with the sizes that its manifest states. Otherwise
 * returns SHEAF_ERR_CHANGED, and the message has the names of the files. */
static int destination_check_whole(const char *directory, const struct manifest *m,
                                   struct sheaf_error *err)
{
    struct buf text = BUF_INIT((size_t)16 << 10);
    const size_t files = m->shard_count + 1;
    size_t lost = 0;
    int code = SHEAF_OK;

    for (size_t i = 0; i < files && code == SHEAF_OK; i += SEEN_AT_ONCE)
        code = check_some(directory, m, i, MIN(files - i, SEEN_AT_ONCE), &text, &lost, err);
    if (code == SHEAF_OK && lost != 0)
        code = err_because(err, err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was published, "
                                        "but of its %zu files %zu %s missing or altered: %.*s%s",
                                        directory, files, lost, lost == 1 ? "is" : "are",
                                        (int)text.size, (const char *)text.data,
                                        lost > NAMED_MOST ? ", ..." : ""),
                           SHEAF_REASON_ALTERED);
    buf_free(&text);
    return code;
}

static int inspect_whole(struct inspection *x, const char *directory, const struct manifest *m)
{
    struct sheaf_error fault;
    const int code = destination_check_whole(directory, m, &fault);

    if (code == SHEAF_OK)
        return SHEAF_OK;
    if (code != SHEAF_ERR_CHANGED)
        return err_set(x->err, code, "%s", fault.message);
    x->found->is_finished = false;
    x->found->fault = fault;
    return SHEAF_OK;
}

/* Inspects DEST, or one of the run's splits. */
static int inspect_dataset(struct inspection *x, const char *directory, bool is_output)
{
    struct destination *d = x->found;
    struct manifest_found f;
    int code = destination_manifest(x->output, directory, &f, x->err);

    if (code != SHEAF_OK)
        return code;
    if (manifest_found_is_dataset(&f))
        code = note_dataset(x, directory);
    if (f.kind == MANIFEST_UNREADABLE && d->fault.code == SHEAF_OK)
        d->fault = f.fault;
    if (is_output)
        d->is_finished &= f.kind == MANIFEST_OF_PLAN;
    d->is_ours |= f.manifest.ours;
    if (is_output && f.grown_from != 0) {
        d->grown_from = f.grown_from;
        d->is_edited = f.manifest.edit_count != 0;
        for (size_t i = 0; i < f.manifest.shard_count; i++)
            d->samples += f.manifest.shards[i].samples;
    }
    if (code == SHEAF_OK && is_output && f.kind == MANIFEST_OF_PLAN && x->asked & INSPECT_WHOLE)
        code = inspect_whole(x, directory, &f.manifest);
    manifest_found_free(&f);
    return code;
}

static bool is_split_run(const struct output *o)
{
    return o->journal.plan.splits[0][0] != '\0';
}

static int inspect_datasets(void *inspection, struct sheaf_error *err)
{
    struct inspection *x = inspection;
    const struct output *o = x->output;
    int code;

    x->err = err;
    code = is_split_run(o) ? inspect_dataset(x, o->dest, false) : SHEAF_OK;

    x->found->is_finished = true;
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = inspect_dataset(x, o->directories[i], true);
    x->found->is_finished &= code == SHEAF_OK;
    return code;
}

/* ---- Files without an owner ------------------------------------------------------------------ */

/* Writes "SPLIT/PREFIX-<digits>" to `stem` for a file name PREFIX-<digits>.<...>, which is the name
 * of a shard or of a file beside a shard. Returns false for any other name. */
static bool stem_of(const struct output *o, const char *split, const char *name,
                    char stem[2 * SHARD_NAME_BYTES])
{
    const size_t size = strlen(o->prefix);
    size_t digits;

    if (strncmp(name, o->prefix, size) != 0 || name[size] != '-')
        return false;
    digits = strspn(name + size + 1, "0123456789");
    if (digits < 6 || name[size + 1 + digits] != '.')
        return false;
    return snprintf(stem, 2 * SHARD_NAME_BYTES, "%s/%.*s", split, (int)(size + 1 + digits),
                    name) < 2 * SHARD_NAME_BYTES;
}

static int know_shard(struct inspection *x, const char *split, const char *name,
                      struct sheaf_error *err)
{
    char stem[2 * SHARD_NAME_BYTES];
    int code = SHEAF_ERR_EXISTS;

    if (stem_of(x->output, split, name, stem))
        code = keyset_check(&x->known, stem, NULL);
    if (code == SHEAF_OK)
        keyset_add(&x->known, stem);
    return code == SHEAF_ERR_MEMORY ? err_memory(err, sizeof(stem)) : SHEAF_OK;
}

/* Handles the name of one file in the journal's directory. The file name of a journal entry (the
 * facts about a finished shard) contains the names of its split and its shard. This shard is added
 * to x->known, because it belongs to a run. Sets has_leftovers for every file that is not
 * temporary, because such a file shows that a run has worked at this destination. */
static int know_entry(void *context, const char *name, struct sheaf_error *err)
{
    struct inspection *x = context;
    const struct output *o = x->output;
    int code = SHEAF_OK;

    x->found->has_leftovers |= !journal_is_temporary(name);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++) {
        const char *split = o->journal.plan.splits[i];
        const size_t size = strlen(split);

        if (size == 0)
            code = know_shard(x, split, name, err);
        else if (strncmp(name, split, size) == 0 && name[size] == '.')
            code = know_shard(x, split, name + size + 1, err);
    }
    return code;
}

static int know_manifest(struct inspection *x, struct manifest *m, int code)
{
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    for (size_t i = 0; i < m->shard_count && code == SHEAF_OK; i++)
        code = know_shard(x, x->split, m->shards[i].name, x->err);
    manifest_clear(m);
    return code;
}

static int find_unknown(void *context, const struct store_entry *entry)
{
    struct inspection *x = context;
    char stem[2 * SHARD_NAME_BYTES];

    if (!stem_of(x->output, x->split, entry->name, stem) || keyset_has(&x->known, stem))
        return SHEAF_OK;
    x->found->unknown = store_join(x->directory, entry->name);
    return x->found->unknown == NULL ? err_memory(x->err, strlen(entry->name)) : SHEAF_END;
}

/* Looks in a directory for a shard that belongs to no data set and to no run. The caller must have
 * listed the journal before. This function first reads the manifest, and then lists the directory.
 * The order matters if a run finishes or removes a shard meanwhile: the journal or the manifest
 * then still names the shard. */
static int inspect_shards(struct inspection *x, const char *directory, const char *split)
{
    struct manifest m;
    int code;

    x->directory = directory;
    x->split = split;
    code = know_manifest(x, &m, destination_read_manifest(directory, &m, x->err));
    if (code == SHEAF_OK)       /* and data sets that are being removed */
        code = know_manifest(x, &m, destination_read_replaced(directory, &m, x->err));
    if (code == SHEAF_OK)
        code = store_list(directory, find_unknown, x, x->err);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_END ? SHEAF_OK : code;
}

static int note_split(struct inspection *x, const char *name)
{
    char *directory = store_join(x->output->dest, name);
    struct manifest_found f;
    bool is;
    int code = directory == NULL ? err_memory(x->err, strlen(name))
                                 : destination_split(x->output, directory, name, &f, &is, x->err);

    if (directory == NULL)
        return code;
    if (code == SHEAF_OK && is)
        code = note_dataset(x, directory);
    manifest_found_free(&f);
    free(directory);
    return code;
}

/* Examines the subdirectories and the shards that the listings have found. Most destinations have
 * neither a subdirectory nor a shard, so usually this function sends no request. */
static int inspect_listed(struct inspection *x)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < x->below_count && code == SHEAF_OK && x->found->dataset == NULL; i++)
        code = note_split(x, x->below[i]);
    for (size_t i = 0; i < x->names_count && code == SHEAF_OK && x->found->unknown == NULL; i++)
        if (x->names[i].has_shards)
            code = inspect_shards(x, x->names[i].directory, x->names[i].split);
    return code;
}

/* ---- Listing --------------------------------------------------------------------------------- */

static int list_journal(void *inspection, struct sheaf_error *err)
{
    struct inspection *x = inspection;

    return journal_list(x->output->dest, know_entry, x, err);
}

static int keep_below(void *context, const struct store_entry *entry)
{
    struct inspection *x = context;
    char **grown = reallocarray(x->below, x->below_count + 1, sizeof(grown[0]));

    if (grown == NULL)
        return SHEAF_ERR_MEMORY;
    x->below = grown;
    grown[x->below_count] = strdup(entry->name);
    return grown[x->below_count++] == NULL ? SHEAF_ERR_MEMORY : SHEAF_OK;
}

static int list_below(void *inspection, struct sheaf_error *err)
{
    struct inspection *x = inspection;
    const int code = store_list_directories(x->output->dest, keep_below, x, err);

    if (code == SHEAF_ERR_MEMORY)
        return err_memory(err, x->below_count * sizeof(x->below[0]));
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ? SHEAF_OK : code;
}

/* Returns whether the existing file `name` in the directory l->directory is stray: it has the name
 * of a file that this run will write. A stray file belongs to no data set, because the files of an
 * existing data set have other names.
 *
 * A run writes its reports in the destination, unless it is an edit. Every run writes an index and
 * a table of keys (by which samples are found) in the directory of each split. Names of shards are
 * not tested here. */
static bool is_stray(const struct inspected_names *l, const char *name)
{
    static const char *const names[] = { SKIPPED_NAME, CONVERTED_NAME, INDEX_NAME, KEYS_NAME };
    const struct output *o = l->inspection->output;
    const size_t first = l->directory == o->dest && !o->is_edit ? 0 : 2;
    const size_t end = l->split == NULL ? 2 : 4;

    for (size_t i = first; i < end; i++) {
        char found[GROWN_NAME_BYTES];

        manifest_part_name(names[i], o->part, i < 2 ? 0 : o->generation, found);
        if (strcmp(name, found) == 0)
            return true;
    }
    return false;
}

static int see_name(void *context, const struct store_entry *entry)
{
    struct inspected_names *l = context;
    const struct inspection *x = l->inspection;
    char stem[2 * SHARD_NAME_BYTES];

    if (l->split != NULL)
        l->has_shards |= stem_of(x->output, l->split, entry->name, stem);
    if (l->stray != NULL || !(x->asked & INSPECT_STRAY) || !is_stray(l, entry->name))
        return SHEAF_OK;
    l->stray = store_join(l->directory, entry->name);
    return l->stray == NULL ? err_memory(l->err, strlen(entry->name)) : SHEAF_OK;
}

static int destination_list_names(void *names, struct sheaf_error *err)
{
    struct inspected_names *l = names;
    int code;

    l->err = err;
    code = store_list(l->directory, see_name, l, err);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Adds the directories whose names are listed. */
static void destination_add_names(struct inspection *x)
{
    const struct output *o = x->output;

    for (uint32_t i = 0; i < o->split_count; i++)
        x->names[x->names_count++] = (struct inspected_names){
            .inspection = x, .split = o->journal.plan.splits[i],
            .directory = is_split_run(o) ? o->directories[i] : o->dest,
        };
    if (is_split_run(o) && x->asked & INSPECT_STRAY)
        x->names[x->names_count++] = (struct inspected_names){ .inspection = x,
                                                               .directory = o->dest };
}

/* Keeps the name of the first stray file (a file that belongs to no data set), and frees the names
 * of all other stray files. */
static void take_strays(struct inspection *x)
{
    for (size_t i = x->names_count; i-- > 0;) {
        struct inspected_names *l = &x->names[i];

        if (l->stray == NULL || x->found->stray != NULL)
            free(l->stray);
        else
            x->found->stray = l->stray;
    }
}

/* Reads the manifests and lists all names. If the destination is empty, this takes the time of one
 * request, because all requests run at the same time. */
static int inspect_content(struct inspection *x)
{
    struct several_task tasks[SPLIT_LIMIT + 4];
    struct sheaf_error *err = x->err;
    size_t count = 0;
    int code;

    if (x->asked & INSPECT_DATASET)
        tasks[count++] = (struct several_task){ inspect_datasets, x };
    if (x->asked & INSPECT_FILES) {
        tasks[count++] = (struct several_task){ list_journal, x };
        tasks[count++] = (struct several_task){ list_below, x };
    }
    if (x->asked & (INSPECT_FILES | INSPECT_STRAY))
        destination_add_names(x);
    for (size_t i = 0; i < x->names_count; i++)
        tasks[count++] = (struct several_task){ destination_list_names, &x->names[i] };
    code = several_tasks(x->output->dest, tasks, count, err);
    x->err = err;
    take_strays(x);
    /* Do not examine files if a manifest cannot be read, because it is then unknown which files
     * belong to its data set. */
    if (code == SHEAF_OK && x->asked & INSPECT_FILES && x->found->fault.code == SHEAF_OK)
        code = inspect_listed(x);
    return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int destination_inspect(const struct output *o, unsigned asked, struct destination *found,
                        struct sheaf_error *err)
{
    struct inspection x = { .output = o, .asked = asked, .found = found, .err = err };
    int code = asked & INSPECT_CLAIM ? inspect_claim(&x) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = inspect_content(&x);
    for (size_t i = 0; i < x.below_count; i++)
        free(x.below[i]);
    free(x.below);
    keyset_free(&x.known);
    return code;
}

void destination_clear(struct destination *d)
{
    free(d->dataset);
    free(d->unknown);
    free(d->stray);
    *d = (struct destination){ .claim = CLAIM_ABSENT };
}

int destination_is_finished(const struct output *o, bool *finished, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = destination_inspect(o, INSPECT_DATASET, &d, err);

    *finished = code == SHEAF_OK && d.is_finished;
    if (code == SHEAF_OK && !d.is_finished)
        code = destination_refuse(o, &d, REFUSE_FAULT, err);
    destination_clear(&d);
    return code;
}

bool destination_excuses(const struct output *o, int code)
{
    bool finished = false;

    if (code != SHEAF_OK && code != SHEAF_ERR_INTERRUPTED)
        (void)destination_is_finished(o, &finished, NULL);
    return finished;
}

/* ---- A finished data set --------------------------------------------------------------------- */

/* Sets *count to the number of lines of the report `name` (a list of skipped or converted files),
 * or to 0 if there is no such report. */
static int count_lines(const struct output *o, const char *name, uint64_t *count,
                       struct sheaf_error *err)
{
    char *url = store_join(o->dest, name), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(o->dest))
                           : store_get(url, SIZE_MAX / 4, &text, &size, err);

    *count = 0;
    for (size_t i = 0; i < size; i++)
        *count += text[i] == '\n';
    free(text);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

int destination_count_reports(const struct output *o, size_t part,
                              struct sheaf_pack_result *result, struct sheaf_error *err)
{
    char name[GROWN_NAME_BYTES];
    int code;

    manifest_part_name(SKIPPED_NAME, part, 0, name);
    code = count_lines(o, name, &result->skipped, err);
    manifest_part_name(CONVERTED_NAME, part, 0, name);
    return code == SHEAF_OK ? count_lines(o, name, &result->converted, err) : code;
}

int destination_result(const struct output *o, struct sheaf_pack_result *result,
                       struct sheaf_error *err)
{
    for (uint32_t s = 0; s < o->split_count; s++) {
        struct manifest_images images;
        struct manifest m;
        int code = destination_read_manifest(o->directories[s], &m, err);

        if (code != SHEAF_OK)
            return code;
        for (size_t i = 0; i < m.shard_count; i++) {
            result->samples += m.shards[i].samples;
            result->payload_bytes += m.shards[i].payload_bytes;
            result->stored_bytes += m.shards[i].bytes;
        }
        result->shards += m.shard_count;
        code = manifest_images(&m, &images, err);
        result->resized += images.resized;
        manifest_clear(&m);
        if (code != SHEAF_OK)
            return code;
    }
    result->shards_kept = result->shards;
    return destination_count_reports(o, 0, result, err);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static int destination_refuse_grown(const struct destination *d, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_EXISTS, "%s: the data set of this plan was published, and has "
                   "%s since, from %llu to %llu samples: the plan is done (append to the data "
                   "set, or replace it by a new plan)", d->dataset,
                   d->is_edited ? "been edited" : "grown", (unsigned long long)d->grown_from,
                   (unsigned long long)d->samples);
}

/* Refuses a destination that another run has claimed. It is unknown whether the other run is still
 * working. Therefore the message names the process that began the other run. The user can then look
 * whether this process still exists. */
int destination_refuse_run(const struct output *o, const struct destination *d,
                           struct sheaf_error *err)
{
    const char *holder = d->holder.holder;      /* empty: no claim, or an old one */

    if (journal_is_stored_plan(&d->holder))
        return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: holds %s", o->dest, holder),
                           SHEAF_REASON_STORED_PLAN);
    err_set(err, SHEAF_ERR_EXISTS, "%s: holds an unfinished run%s%s%s", o->dest,
            holder[0] == '\0' ? "" : " (", holder, holder[0] == '\0' ? "" : ")");
    return err_because(err, SHEAF_ERR_EXISTS, SHEAF_REASON_UNFINISHED);
}

int destination_refuse_damaged(const struct output *o, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "%s/" PLAN_FILE ": the journal of an earlier run is "
                   "damaged", o->journal.directory);
}

int destination_refuse(const struct output *o, const struct destination *d, unsigned what,
                       struct sheaf_error *err)
{
    if (what & REFUSE_OURS)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: holds a data set that Sheaf packed: an index of "
                       "its shards would lose its labels and classes, and its keys",
                       o->dest);
    if (what & REFUSE_FAULT && d->fault.code != SHEAF_OK)
        return err_because(err, err_set(err, d->fault.code, "%s", d->fault.message),
                           (enum sheaf_reason)d->fault.reason);
    if (what & REFUSE_OTHER_DATASET && d->grown_from != 0)
        return err_because(err, destination_refuse_grown(d, err), SHEAF_REASON_DATASET);
    if (what & REFUSE_OTHER_DATASET && d->dataset != NULL && !d->is_finished)
        return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: holds a data set of another "
                                        "plan", d->dataset), SHEAF_REASON_DATASET);
    if (what & REFUSE_DATASET && d->dataset != NULL) {
        struct manifest manifest;
        const int code = destination_read_manifest(d->dataset, &manifest, err);

        if (code == SHEAF_ERR_CORRUPT)      /* for example, the manifest of another program */
            return code;
        if (code == SHEAF_OK)
            manifest_clear(&manifest);
        return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: already holds a data set",
                                        d->dataset), SHEAF_REASON_DATASET);
    }
    if (what & REFUSE_UNKNOWN && d->unknown != NULL)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: already exists, and belongs to no data set",
                       d->unknown);
    if (what & REFUSE_STRAY && d->stray != NULL)
        return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: already exists, and belongs to "
                                        "no data set", d->stray), SHEAF_REASON_DATASET);
    return SHEAF_OK;
}

int destination_refuse_other_run(const struct output *o, const struct destination *d,
                                 struct sheaf_error *err)
{
    const bool is_stored = journal_is_stored_plan(&d->holder);

    if (d->claim != CLAIM_OF_OTHER_PLAN)
        return SHEAF_OK;
    if (is_stored && !o->journal.stores_plan)   /* even the same files have another identity */
        return destination_refuse_run(o, d, err);
    if (!is_stored && o->journal.stores_plan)
        return err_because(err, err_set(err, SHEAF_ERR_CHANGED, "%s: holds an unfinished run of "
                                        "another plan, or of no stored plan (%s)", o->dest,
                                        d->holder.holder), SHEAF_REASON_OTHER_PLAN);
    return err_because(err, err_set(err, SHEAF_ERR_CHANGED, "%s: the unfinished run had another "
                                    "plan (its source or options have changed since, or it was for "
                                    "another directory)", o->dest), SHEAF_REASON_OTHER_PLAN);
}

int destination_refuse_no_run(const struct output *o, const struct destination *d,
                              struct sheaf_error *err)
{
    if (d->grown_from != 0)
        return destination_refuse_grown(d, err);
    if (d->claim == CLAIM_ABSENT && d->dataset != NULL)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: holds the data set of another plan, with other "
                       "options or of other files: nothing of this plan is there", d->dataset);
    if (d->claim == CLAIM_ABSENT)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: was not prepared for this plan, or has been "
                       "removed since: make the plan again", o->dest);
    if (d->claim == CLAIM_DAMAGED)
        return destination_refuse_damaged(o, err);
    if (d->holder.state == CLAIM_GROWS)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: another run appends to a data set that is "
                       "there, or was interrupted (%s)", o->dest, d->holder.holder);
    if (d->claim == CLAIM_OF_OTHER_PLAN)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: is being packed by another plan, with other "
                       "options or other files (%s)", o->dest, d->holder.holder);
    if (d->holder.state != CLAIM_READY)
        return err_set(err, SHEAF_ERR_STATE, "%s: is still being prepared for the plan, or that "
                       "was interrupted (%s): make the plan again", o->dest, d->holder.holder);
    return SHEAF_OK;
}
