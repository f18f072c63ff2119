/* SPDX-License-Identifier: MIT
 *
 * Returns the version of the library that the program has loaded. This version may be newer or
 * older than the header with which the program was compiled. */
#include "sheaf.h"

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *sheaf_version(void)
{
    return VERSION(SHEAF_VERSION_MAJOR, SHEAF_VERSION_MINOR, SHEAF_VERSION_PATCH);
}
