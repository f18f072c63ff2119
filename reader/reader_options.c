/* SPDX-License-Identifier: MIT
 *
 * The options of a reader: their defaults, and the order of samples that follows from them and from
 * the data set. For example, it is not known how many samples a stream has. So its lanes (sequences
 * of samples) cannot have equal lengths, whatever the options say. */
#include "reader/reader_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"

void sheaf_reader_options_init(struct sheaf_reader_options *options, size_t sizeof_options)
{
    const struct sheaf_reader_options defaults = {
        .sizeof_options = sizeof_options,
        .shuffle_buffer = 10000,
        .world_size = 1,
        .workers = 1,
        .memory_bytes = (uint64_t)1 << 30,
        .max_corrupt = UINT64_MAX,
        .cache_bytes = 64000000000,
    };

    sized_give(options, sizeof_options, &defaults, sizeof(defaults));
}

void reader_options_take(struct sheaf_reader_options *taken,
                         const struct sheaf_reader_options *given)
{
    sheaf_reader_options_init(taken, sizeof(*taken));
    sized_take(taken, sizeof(*taken), given);
}

/* Makes the order of samples for a stream. The numbers of samples are unknown, so each lane (a
 * sequence of samples) reads whole shards, and ends after its last shard. */
static int order_of_stream(const struct sheaf_dataset *d, const struct sheaf_reader_options *o,
                           uint32_t lanes, struct order *order, struct sheaf_error *err)
{
    if (d->pipes != NULL && o->workers != 1)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe is read by one process of a host: "
                       "%u worker%s cannot share it", d->url, o->workers, plural(o->workers));
    if (d->pipes != NULL)
        /* The platform that writes the pipe (such as Amazon SageMaker) has decided the order. So
         * the number of lanes (sequences of samples) in the options is ignored. */
        lanes = o->world_size;
    if (d->pipes == NULL && lanes > d->manifest.shard_count)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a stream of unknown length, so whole "
                       "shards are assigned to lanes: too few (%zu shard%s) for %u lane%s",
                       d->url, d->manifest.shard_count, plural(d->manifest.shard_count), lanes,
                       plural(lanes));
    if (o->remainder == SHEAF_DROP || o->remainder == SHEAF_PAD)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a stream of unknown length, so lanes "
                       "cannot be made equal: only the remainder keep is possible", d->url);
    *order = (struct order){ .seed = o->seed, .epoch = o->epoch, .shuffle = !o->no_shuffle,
                             .buffer = o->shuffle_buffer, .lanes = lanes,
                             .remainder = SHEAF_KEEP };
    return SHEAF_OK;
}

/* All hosts must return the same number of samples, unless the option `remainder` is `keep`. With
 * `pad`, this number is host_pad, and a host with more samples is an error. With `drop`, it is
 * host_drop, and a host with fewer samples is an error. */
static int check_host(const struct sheaf_dataset *d, enum sheaf_remainder remainder,
                      struct sheaf_error *err)
{
    const uint64_t own = dataset_samples(d);

    if (remainder == SHEAF_KEEP || (remainder == SHEAF_PAD && own <= d->host_pad) ||
        (remainder == SHEAF_DROP && own >= d->host_drop))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: host %" PRIu32 " of %" PRIu32 " has %zu of %zu "
                   "shards with %" PRIu64 " sample%s, but for equal numbers on all hosts it may "
                   "have at %s %" PRIu64 ": distribute only the shards (a prefix of their names, "
                   "or a list), or every object to every host (FullyReplicated); or keep the "
                   "remainder, where no host waits for another", d->url, d->host, d->hosts,
                   d->manifest.shard_count, d->all_shards, own, plural(own),
                   remainder == SHEAF_PAD ? "most" : "least",
                   remainder == SHEAF_PAD ? d->host_pad : d->host_drop);
}

int reader_options_order(const struct sheaf_dataset *d,
                         const struct sheaf_reader_options *options, struct order *order,
                         struct order_member *member, struct sheaf_error *err)
{
    struct sheaf_reader_options o;
    uint32_t lanes;
    int code;

    reader_options_take(&o, options);
    lanes = o.lanes;
    *member = (struct order_member){ .rank = o.rank, .world_size = o.world_size,
                                     .worker = o.worker, .workers = o.workers };
    code = workers_check("threads", o.threads, err);
    if (code == SHEAF_OK)
        code = order_check(member, &lanes, err);
    if (code != SHEAF_OK)
        return code;
    if ((int)o.remainder < SHEAF_REMAINDER_AUTO || o.remainder > SHEAF_PAD)
        return err_set(err, SHEAF_ERR_ARGUMENT, "remainder %d is not one of keep, drop and pad",
                       (int)o.remainder);
    if (d->is_stream)
        return order_of_stream(d, &o, lanes, order, err);
    *order = (struct order){
        .seed = o.seed,
        .epoch = o.epoch,
        .shuffle = !o.no_shuffle,
        .buffer = o.shuffle_buffer,
        .lanes = lanes,
        .remainder = o.remainder != SHEAF_REMAINDER_AUTO ? o.remainder
                   : o.world_size > 1 || d->hosts > 1 ? SHEAF_PAD : SHEAF_KEEP,
    };
    return d->hosts == 0 ? SHEAF_OK : check_host(d, order->remainder, err);
}
