/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the parsers of lists. The first byte chooses the parser. The rest is a list of lines,
 * separated by 0x1e, because a record of a CSV file may contain newlines. */
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "formats/label.h"
#include "packer/source/list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all memory that an entry points to. */
static void touch(const struct list_entry *entry)
{
    for (size_t i = 0; i < entry->label_count; i++)
        if (!label_is_exact(entry->labels[i]))
            abort();
    if (entry->class_name != NULL && memchr(entry->class_name, '\n', entry->class_size) != NULL)
        abort();        /* class names are text */
    if (strlen(entry->path) > entry->path_size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct list_parser parser;
    const char *at = (const char *)data + 1, *all = (const char *)data + size;

    if (size == 0)
        return 0;
    list_parser_init(&parser, (enum list_kind)(data[0] % 4));
    while (at < all) {
        struct list_entry entry;
        struct sheaf_error err;
        const char *end = memchr(at, 0x1e, (size_t)(all - at));

        if (end == NULL)
            end = all;
        list_toggles(&parser, at, (size_t)(end - at));
        if (list_parse(&parser, at, (size_t)(end - at), &entry, &err) == SHEAF_OK)
            touch(&entry);
        at = end + 1;
    }
    list_parser_free(&parser);
    return 0;
}
