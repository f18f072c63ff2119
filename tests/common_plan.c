/* SPDX-License-Identifier: MIT
 *
 * Catalog, problems and plan of a test; see common_plan.h. */
#include "tests/common_plan.h"

#include <string.h>

struct catalog catalog;
struct problems problems;
struct plan plan;

void plan_start_again(void)
{
    plan_free(&plan);
    catalog_free(&catalog);
    problems_free(&problems);
    problems = (struct problems){ .on_error = SHEAF_SKIP };
}

bool has_problem(const char *path, const char *words)
{
    for (size_t i = 0; i < problems.count; i++)
        if (strcmp(problems.items[i].path, path) == 0 &&
            strstr(problems.items[i].reason, words) != NULL)
            return true;
    return false;
}
