/* SPDX-License-Identifier: MIT
 *
 * A store in memory, for the tests of what several runs make of one place: mem://W/path, where W is
 * one letter, the run that calls, and the path is the same for all of them.  Each call happens at
 * once; a run can be stopped before any of its calls, killed there, or let go on. */
#ifndef TESTS_COMMON_MODEL_STORE_H
#define TESTS_COMMON_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_NEVER UINT32_MAX
#define MODEL_FAILURE "the store failed, as it was told to"

/* Registers the store; `changed` is called after each change, with nobody else at work. */
void model_open(void (*changed)(void));
void model_close(void);
/* What it can do: compare and act at once, as S3; or it has stages, and locks as local disks mostly
 * have, or none.  Then it compares in one call, and acts in the next. */
enum model_kind { MODEL_CONDITIONS, MODEL_LOCKS, MODEL_STAGES, MODEL_KINDS };
void model_use(enum model_kind kind);
/* Whether somebody has not given the lock back. */
bool model_is_locked(void);

/* Everything that is there, to be brought back later; and freed. */
struct model_state;
struct model_state *model_save(void);
void model_restore(const struct model_state *state);
void model_state_free(struct model_state *state);

/* A run is stopped once it has made so many calls; all of its calls are counted from model_begin
 * on. */
void model_begin(char run, uint32_t stop_after);
void model_let(char run, uint32_t stop_after);
/* After model_begin: its call of this number, from 0, fails once. */
void model_fail(char run, uint32_t call);
/* From now on its calls fail, and do nothing. */
void model_kill(char run);
/* The function that it runs has returned. */
void model_end(char run);
/* Waits until it is stopped or has ended; true: it has ended. */
bool model_wait(char run);
uint32_t model_calls(char run);
/* The same from `changed`. */
uint32_t model_calls_now(char run);

/* What is there, for `changed` and between runs. */
struct model_object {
    char *path;                 /* "/set/dataset.json" */
    uint8_t *data;              /* with a NUL after it */
    size_t size;
    uint64_t number;            /* another for each that was ever written */
    struct model_object *next;  /* in byte order of paths */
};
const struct model_object *model_objects(void);
const struct model_object *model_find(const char *path);
void model_remove(const char *path);

#endif
