/* SPDX-License-Identifier: MIT
 *
 * A store in memory, for tests of several runs that work at the same place. A URL is mem://W/path,
 * where the letter W names the run that makes the call. All runs see the same paths. Each call is
 * atomic. A run can be stopped before any of its calls, and then be killed or continued. */
#ifndef TESTS_COMMON_MODEL_STORE_H
#define TESTS_COMMON_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_NEVER UINT32_MAX
#define MODEL_FAILURE "the store failed, as it was told to"

/* Registers the store. The function `changed` is called after each change, while no other call
 * runs. */
void model_open(void (*changed)(void));
void model_close(void);
/* The abilities of the store. CONDITIONS compares and acts in one call, like S3. LOCKS has stages
 * and locks, like most local disks, and STAGES has only stages. These two compare in one call and
 * act in the next. */
enum model_kind { MODEL_CONDITIONS, MODEL_LOCKS, MODEL_STAGES, MODEL_KINDS };
void model_use(enum model_kind kind);
/* Returns whether any run still holds the lock. */
bool model_is_locked(void);
/* Binds the process to one processor, on which the threads of runs take turns sooner. */
void model_stay_on(uint32_t number);

/* A copy of everything in the store, which can be restored later. */
struct model_state;
struct model_state *model_save(void);
void model_restore(const struct model_state *state);
void model_state_free(struct model_state *state);

/* model_begin starts counting the calls of a run, and stops the run after `stop_after` calls.
 * model_let continues a run that was stopped. */
void model_begin(char run, uint32_t stop_after);
void model_let(char run, uint32_t stop_after);
/* Makes one call of the run fail: the call with this number, counted from 0. Used after
 * model_begin. */
void model_fail(char run, uint32_t call);
/* Kills a run: all its further calls fail and do nothing. */
void model_kill(char run);
/* Must be called when the function of the run has returned. */
void model_end(char run);
/* Waits until the run is stopped or has ended. Returns true if it has ended. */
bool model_wait(char run);
uint32_t model_calls(char run);
/* Like model_calls, for use in `changed`. */
uint32_t model_calls_now(char run);

/* An object in the store. May be examined by `changed`, and while no run is working. */
struct model_object {
    char *path;                 /* "/set/dataset.json" */
    uint8_t *data;              /* with a NUL after it */
    size_t size;
    uint64_t number;            /* differs for each object that was ever written */
    struct model_object *next;  /* in byte order of paths */
};
const struct model_object *model_objects(void);
const struct model_object *model_find(const char *path);
void model_remove(const char *path);

#endif
