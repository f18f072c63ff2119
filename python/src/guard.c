/* SPDX-License-Identifier: MIT
 *
 * A guard protects an object of the C library, such as a reader. Only one thread at a time may use
 * the object, and other threads wait. Only the process that made the object may use it. A call in a
 * forked child raises an exception, because the object's threads do not exist there. */
#include "module.h"

int guard_init(struct guard *guard)
{
    guard->forks = fork_count;
    guard->owner = 0;
    guard->lock = PyThread_allocate_lock();
    if (guard->lock == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

bool guard_is_foreign(const struct guard *guard)
{
    return guard->forks != fork_count;
}

bool guard_is_own(const struct guard *guard)
{
    return guard->owner == PyThread_get_thread_ident();
}

int guard_enter(struct guard *guard, const char *what)
{
    if (guard_is_foreign(guard)) {
        error_raise_state("the %s was opened before fork(), and its threads are in the parent: "
                          "open one in this process", what);
        return -1;
    }
    if (PyThread_acquire_lock(guard->lock, NOWAIT_LOCK) != PY_LOCK_ACQUIRED) {
        if (guard_is_own(guard)) {
            error_raise_state("not allowed from a function that the same call has called");
            return -1;
        }
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(guard->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    guard->owner = PyThread_get_thread_ident();
    return 0;
}

void guard_leave(struct guard *guard)
{
    guard->owner = 0;
    PyThread_release_lock(guard->lock);
}

void guard_free(struct guard *guard)
{
    if (guard->lock != NULL && !guard_is_foreign(guard))
        PyThread_free_lock(guard->lock);
    guard->lock = NULL;
}
