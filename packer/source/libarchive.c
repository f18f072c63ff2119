/* SPDX-License-Identifier: MIT
 *
 * Loads libarchive; see libarchive.h. */
#include "packer/source/libarchive.h"

/* A Python wheel contains libarchive, linked statically, so that users need not install it. */
#ifdef LIBARCHIVE_INSIDE

int libarchive_load(struct libarchive *l, struct sheaf_error *err)
{
    (void)err;
#define TAKE_CALL(name) l->name = name;
    LIBARCHIVE_CALLS(TAKE_CALL)
    return SHEAF_OK;
}

#else

#include <dlfcn.h>
#include <stdbool.h>

#include "base/error.h"

/* File name of the library libarchive. The 13 is the version of its ABI, which is unchanged since
 * 2012. */
#define LIBRARY "libarchive.so.13"

/* Looks up a function of the library and stores its address in *call. `call` is the address of a
 * function pointer. It is a void pointer, because the functions have different types. */
static bool find_call(void *library, const char *name, void *call)
{
    *(void **)call = dlsym(library, name);
    return *(void **)call != NULL;
}

int libarchive_load(struct libarchive *l, struct sheaf_error *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool found = library != NULL;

#define FIND_CALL(name) found = found && find_call(library, #name, &l->name);
    LIBARCHIVE_CALLS(FIND_CALL)
    if (found)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "a tar as a source requires libarchive: %s",
                   dlerror());
}

#endif
