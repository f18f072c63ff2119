/* SPDX-License-Identifier: MIT
 *
 * sheaf_dataset_locate: finds the steps of an epoch at which given samples are returned. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "reader/epoch_order.h"
#include "reader/locate.h"
#include "reader/reader_options.h"

static int by_sample(const void *x, const void *y)
{
    const struct sheaf_coming *a = x, *b = y;

    if (a->sample != b->sample)
        return a->sample < b->sample ? -1 : 1;
    return (a->asked > b->asked) - (a->asked < b->asked);
}

int sheaf_dataset_locate(const struct sheaf_dataset *d, const struct sheaf_reader_options *options,
                         const uint64_t *numbers, size_t count, sheaf_coming_fn *each,
                         void *context, struct sheaf_error *err)
{
    struct comings comings = { 0 };
    int code = reader_options_order(d, options, &comings.order, &comings.member, err);

    if (code == SHEAF_OK && d->is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is read as a stream, in which nothing is "
                       "known of a sample before it comes", d->url);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        if (numbers[i] >= dataset_samples(d))
            code = err_set(err, SHEAF_ERR_ARGUMENT, "there is no sample %" PRIu64 ": the data set "
                           "has %" PRIu64, numbers[i], dataset_samples(d));
    if (code == SHEAF_OK)
        code = epoch_order_of(d)->locate(d, numbers, count, &comings, err);
    if (comings.count != 0)
        qsort(comings.list, comings.count, sizeof(comings.list[0]), by_sample);
    for (size_t i = 0; i < comings.count && code == SHEAF_OK; i++)
        each(context, &comings.list[i]);
    free(comings.list);
    return code;
}
