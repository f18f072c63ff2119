/* SPDX-License-Identifier: MIT
 *
 * The claim: which run owns a destination, in DEST/.sheaf-partial/plan. The run writes and removes
 * files through the stage of its claim. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "publish/journal.h"
#include "store/over.h"
#include "store/stage.h"
#include "store/store.h"

#define PLAN_MAGIC     "sheaf-plan 2\n"
#define PLAN_MAGIC_OLD "sheaf-plan 1\n"       /* without run and holder */
#define PLAN_BYTES ((size_t)64 << 10)

static const char *const states[] = { "looks", "replaces", "ready", "grows", "indexes" };

/* ---- Files that a run with a claim changes --------------------------------------------------- */

int journal_put_file(const struct journal *j, const char *url, const void *data, size_t size,
                     const char *note, const struct store_seen *seen, struct store_seen *now,
                     struct sheaf_error *err)
{
    return store_put_through(url, data, size, j->stage, note, seen, now, err);
}

int journal_remove_seen(const struct journal *j, const char *url, const struct store_seen *seen,
                        struct sheaf_error *err)
{
    return stage_remove(url, seen, j->stage, err);
}

int journal_commit(const struct journal *j, struct store_writer *writer,
                   const struct store_seen *seen, struct store_seen *now, struct sheaf_error *err)
{
    writer->stage = j->stage;
    return store_commit_over(writer, seen, now, err);
}

/* ---- Making a claim -------------------------------------------------------------------------- */

static int put_sum(struct buf *text, struct sheaf_error *err)
{
    const uint64_t sum = XXH3_64bits(text->data, text->size);

    return buf_printf(text, err, "sum %016llx\n", (unsigned long long)sum);
}

static int journal_claim_describe(const struct journal_plan *plan, struct buf *text,
                                  struct sheaf_error *err)
{
    int code = buf_printf(text, err, PLAN_MAGIC "hash %s\nprefix %s\n", plan->hash,
                          plan->prefix);

    for (uint32_t i = 0; i < plan->split_count && code == SHEAF_OK; i++)
        code = buf_printf(text, err, "split %s\n", plan->splits[i]);
    if (code == SHEAF_OK)
        code = buf_printf(text, err, "run %s\nholder %s\nstate %s\n", plan->run, plan->holder,
                          states[plan->state]);
    return code == SHEAF_OK ? put_sum(text, err) : code;
}

/* The beginning of the holder's name in the claim of a stored plan. */
#define STORED_PLAN "a stored plan, by "

bool journal_is_stored_plan(const struct journal_plan *plan)
{
    return strncmp(plan->holder, STORED_PLAN, strlen(STORED_PLAN)) == 0;
}

static int name_run(struct journal_plan *plan, bool stores_plan, struct sheaf_error *err)
{
    const time_t now = time(NULL);
    char host[64] = "", date[32] = "";
    uint64_t random[2];
    struct tm parts;

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return err_errno(err, errno, "cannot get a random number for the run");
    snprintf(plan->run, sizeof(plan->run), "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    (void)gethostname(host, sizeof(host) - 1);
    if (gmtime_r(&now, &parts) != NULL)
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(plan->holder, sizeof(plan->holder), "%sprocess %ld on %s, since %s",
             stores_plan ? STORED_PLAN : "", (long)getpid(), host, date);
    return SHEAF_OK;
}

/* Writes the present claim. */
static int put_claim(struct journal *j, const struct store_seen *seen, struct sheaf_error *err)
{
    struct buf text = BUF_INIT(PLAN_BYTES);
    char *url = store_join(j->directory, PLAN_FILE);
    int code = url == NULL ? err_memory(err, strlen(j->directory))
                           : journal_claim_describe(&j->plan, &text, err);

    if (code == SHEAF_OK)
        code = journal_put_file(j, url, text.data, text.size, NULL, seen, &j->claim, err);
    buf_free(&text);
    free(url);
    return code;
}

/* Sets and returns the error for a run that could not claim the destination, because another run
 * has claimed it before. */
static int journal_claim_refuse(const struct journal *j, struct sheaf_error *err)
{
    struct journal_plan there;
    const bool is_known = journal_load(j, &there, NULL, NULL) == SHEAF_OK &&
                          there.holder[0] != '\0';

    return err_set(err, SHEAF_ERR_EXISTS, "%s: another run has just started there%s%s%s",
                   j->directory, is_known ? " (" : "", is_known ? there.holder : "",
                   is_known ? ")" : "");
}

static void leave_stage(struct journal *j)
{
    free(j->stage);
    j->stage = NULL;
}

/* Makes the run's stage, and then writes the claim, so that every claim has a stage. The claim is
 * the file that says which run packs here. A stage is a directory through which the run publishes
 * its files. Another run can stop this run by renaming the directory. */
int journal_claim(struct journal *j, const struct store_seen *seen, const char *from,
                  enum claim_state state, struct sheaf_error *err)
{
    int code = name_run(&j->plan, j->stores_plan, err);

    j->plan.state = state;
    leave_stage(j);
    if (code == SHEAF_OK)
        code = store_make_directory(j->directory, &j->made, err);
    if (code == SHEAF_OK)
        code = store_find_abilities(j->directory, &j->can, err);
    if (code == SHEAF_OK)
        code = seen->is_there ? stage_take(j->directory, from, j->plan.run, &j->stage, err)
                              : stage_make(j->directory, j->plan.run, &j->stage, err);
    if (code == SHEAF_OK)
        code = put_claim(j, seen, err);
    if (code != SHEAF_OK && !seen->is_there && j->stage != NULL)
        (void)stage_drop(j->directory, j->stage, NULL, NULL);
    return code == SHEAF_ERR_CHANGED ? journal_claim_refuse(j, err) : code;
}

int journal_join(struct journal *j, const struct journal_plan *holder, struct sheaf_error *err)
{
    memcpy(j->plan.run, holder->run, sizeof(holder->run));
    j->plan.state = holder->state;
    leave_stage(j);
    return stage_find(j->directory, holder->run, &j->stage, err);
}

int journal_state(struct journal *j, enum claim_state state, struct sheaf_error *err)
{
    const struct store_seen seen = j->claim;

    if (j->plan.state == state)
        return SHEAF_OK;
    j->plan.state = state;
    return put_claim(j, &seen, err);
}

/* ---- Reading a claim ------------------------------------------------------------------------- */

/* Reads one line "WORD value\n" at *text, and stores its value. Returns false if *text does not
 * begin with such a line. */
static bool journal_claim_take_line(const char **text, const char *word, char *value,
                                    size_t value_size)
{
    const size_t size = strlen(word);
    const char *end = strchr(*text, '\n');

    if (end == NULL || strncmp(*text, word, size) != 0 || (*text)[size] != ' ' ||
        (size_t)(end - *text) - size - 1 >= value_size)
        return false;
    memcpy(value, *text + size + 1, (size_t)(end - *text) - size - 1);
    value[(size_t)(end - *text) - size - 1] = '\0';
    *text = end + 1;
    return true;
}

static bool parse_state(const char *name, enum claim_state *state)
{
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        *state = (enum claim_state)i;
        if (strcmp(states[i], name) == 0)
            return true;
    }
    return false;
}

static bool parse_plan(const char *text, size_t size, struct journal_plan *plan)
{
    const char *const start = text;
    const bool is_old = strncmp(text, PLAN_MAGIC_OLD, strlen(PLAN_MAGIC_OLD)) == 0;
    char sum[20], found[20], state[16];

    memset(plan, 0, sizeof(*plan));
    if (strlen(text) != size || (!is_old && strncmp(text, PLAN_MAGIC, strlen(PLAN_MAGIC)) != 0))
        return false;
    text += strlen(PLAN_MAGIC);
    if (!journal_claim_take_line(&text, "hash", plan->hash, sizeof(plan->hash)) ||
        !journal_claim_take_line(&text, "prefix", plan->prefix, sizeof(plan->prefix)))
        return false;
    while (plan->split_count < SPLIT_LIMIT &&
           journal_claim_take_line(&text, "split", plan->splits[plan->split_count],
                                   SPLIT_NAME_BYTES))
        plan->split_count++;
    if (!is_old && (!journal_claim_take_line(&text, "run", plan->run, sizeof(plan->run)) ||
                    !journal_claim_take_line(&text, "holder", plan->holder, sizeof(plan->holder)) ||
                    !journal_claim_take_line(&text, "state", state, sizeof(state)) ||
                    !parse_state(state, &plan->state)))
        return false;
    if (is_old)
        plan->state = CLAIM_READY;
    snprintf(sum, sizeof(sum), "%016llx",
             (unsigned long long)XXH3_64bits(start, (size_t)(text - start)));
    return journal_claim_take_line(&text, "sum", found, sizeof(found)) && strcmp(sum, found) == 0 &&
           *text == '\0' && plan->split_count > 0;
}

/* Reads the claim of the destination, the file that says which run packs here. If the claim is
 * damaged, reads it once more, because the bytes may have been damaged only in transit. */
static int get_plan(const char *url, struct journal_plan *plan, struct sheaf_error *err)
{
    int code = SHEAF_ERR_CORRUPT;

    for (int i = 0; i < 2 && code == SHEAF_ERR_CORRUPT; i++) {
        char *text = NULL;
        size_t size = 0;

        code = store_get(url, PLAN_BYTES, &text, &size, err);
        if (code == SHEAF_OK && !parse_plan(text, size, plan))
            code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the journal of an earlier run is damaged",
                           url);
        free(text);
    }
    return code;
}

int journal_load(const struct journal *j, struct journal_plan *plan, struct store_seen *seen,
                 struct sheaf_error *err)
{
    char *url = store_join(j->directory, PLAN_FILE);
    int code = url == NULL ? err_memory(err, strlen(j->directory)) : SHEAF_OK;

    if (code == SHEAF_OK && seen != NULL)
        code = store_see(url, seen, err);
    if (code == SHEAF_OK && seen != NULL && !seen->is_there)
        code = SHEAF_END;
    if (code == SHEAF_OK)
        code = get_plan(url, plan, err);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_END : code;
}

int journal_check(const struct journal *j, struct sheaf_error *err)
{
    struct journal_plan there;
    int code = journal_load(j, &there, NULL, err);

    if (code == SHEAF_END)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: another run has finished there, or the "
                       "destination was cleared", j->directory);
    if (code != SHEAF_OK || (strcmp(there.run, j->plan.run) == 0 &&
                             strcmp(there.hash, j->plan.hash) == 0))
        return code;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the destination was taken by another run (%s)",
                   j->directory, there.holder[0] == '\0' ? "of release 0.1" : there.holder);
}
