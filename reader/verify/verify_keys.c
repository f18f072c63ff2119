/* SPDX-License-Identifier: MIT
 *
 * Checks the tables of keys of all parts of a data set; see verify_keys.h. */
#include "reader/verify/verify_keys.h"

#include "base/error.h"
#include "reader/lookup/key_file.h"
#include "store/interrupt.h"

/* Checks the table of keys for one part of the data set. `sum` is the sum of key_table_part (a hash
 * of key and number) over all samples of the part. `sum` is NULL if this sum is not known. */
static int verify_keys_check_part(const struct sheaf_dataset *source, size_t part,
                                  const uint64_t *sum, const struct sheaf_verify_options *options,
                                  struct sheaf_verify_result *result, struct sheaf_error *err)
{
    struct sheaf_error error;
    const int code = key_file_check(source, part, sum, &error);

    if (code == SHEAF_ERR_INTERRUPTED || code == SHEAF_ERR_MEMORY)
        return err_set(err, code, "%s", error.message);
    if (code < 0) {
        result->problems++;
        if (options->report != NULL)
            options->report(options->context, source->parts[part].keys_url, &error);
    }
    return SHEAF_OK;
}

int verify_keys(const struct sheaf_dataset *d, const struct sheaf_verify_options *options,
                const uint64_t *sums, struct sheaf_verify_result *result, struct sheaf_error *err)
{
    const volatile int *before = interrupt_watch(options->interrupt);
    const bool is_whole = options->parts <= 1 && result->problems == 0;
    int code = SHEAF_OK;

    for (size_t i = 0; i < dataset_source_count(d) && options->part == 0; i++) {
        const struct sheaf_dataset *source = dataset_source_at(d, i);

        for (size_t p = 0; source->has_keys && p < source->part_count && code == SHEAF_OK; p++)
            code = verify_keys_check_part(source, p, is_whole ? &sums[source->first_part + p]
                                          : NULL, options, result, err);
    }
    interrupt_watch(before);
    return code;
}
