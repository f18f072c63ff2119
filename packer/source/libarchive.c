/* SPDX-License-Identifier: MIT
 *
 * Loading libarchive; see libarchive.h. */
#include "packer/source/libarchive.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* The name under which version 3 is installed, since it came out in 2012. */
#define LIBRARY "libarchive.so.13"

struct libarchive libarchive;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[256];       /* why it was not loaded; empty: it was */

/* A function as dlsym gives it, which C does not convert. */
static bool find_call(void *library, const char *name, void *call)
{
    *(void **)call = dlsym(library, name);
    return *(void **)call != NULL;
}

/* It stays loaded. */
static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool found = library != NULL;

#define FIND_CALL(name) found = found && find_call(library, #name, &libarchive.name);
    LIBARCHIVE_CALLS(FIND_CALL)
    if (!found)
        snprintf(problem, sizeof(problem), "%s", dlerror());
}

int libarchive_load(struct sheaf_error *err)
{
    pthread_once(&once, load);
    if (problem[0] == '\0')
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "a tar as a source requires libarchive: %s",
                   problem);
}
