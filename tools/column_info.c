/* SPDX-License-Identifier: MIT
 *
 * Describes a column; see column_info.h. */
#include "tools/column_info.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/tool.h"

const char *column_problem(const struct sheaf_column_info *c)
{
    return c->code == SHEAF_ERR_NOT_FOUND ? "unfinished" : shown(c->error->message);
}

void column_print_json(const struct sheaf_column_info *c)
{
    fputs("{\"name\":", stdout);
    print_json_string(stdout, c->name);
    if (c->code != SHEAF_OK) {
        fputs(",\"error\":", stdout);
        print_json_string(stdout, c->code == SHEAF_ERR_NOT_FOUND ? "unfinished"
                                                                 : c->error->message);
        putchar('}');
        return;
    }
    printf(",\"samples\":%" PRIu64 ",\"missing\":%" PRIu64 ",\"uncovered\":%" PRIu64
           ",\"bytes\":%" PRIu64 ",\"shards\":%" PRIu64 ",\"layers\":%" PRIu64 ",\"fields\":",
           c->samples, c->missing, c->uncovered, c->stored_bytes, c->shards, c->layers);
    print_json_string(stdout, c->fields);
    putchar('}');
}
