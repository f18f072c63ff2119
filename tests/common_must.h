/* SPDX-License-Identifier: MIT
 *
 * Macros for calls that must succeed, in tests that have a `struct sheaf_error error`. */
#ifndef TESTS_COMMON_MUST_H
#define TESTS_COMMON_MUST_H

#define must(call) do { error.message[0] = '\0'; if ((call) != SHEAF_OK) \
    fail_msg("%s: %s", #call, error.message); } while (0)

#endif
