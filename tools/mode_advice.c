/* SPDX-License-Identifier: MIT
 *
 * Estimates the time and cost of a training job in each of SageMaker's input modes, and recommends
 * a mode. The estimates are computed from a survey of the data and a table of constants; see
 * mode_advice.h. If several stages of the work run at the same time, their time is the time of the
 * slowest stage.
 *
 * The recommendation follows AWS's guide:
 * - Files of less than about 50 MB should be packed into shards.
 * - For at most about 100 GB of data, File mode is good enough, unless its download is a large part
 *   of the job's time. For more data, FastFile mode is better.
 * - FSx for Lustre is better if a GPU reads faster than FastFile mode, or reads the same data
 *   repeatedly. */
#include "tools/mode_advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/size_text.h"

#define MONTH_S        (30 * 86400.0)
/* File mode is recommended only if its download takes at most this fraction of the job's time, or
 * if FastFile mode would take longer in total. */
#define STARTUP_SHARE  0.1
/* Files count as small only if the latency of the requests for them is more than this fraction of
 * the time to transfer their bytes. */
#define OVERHEAD_SHARE 0.25
#define LIST_PAGE      1000.0   /* objects in one LIST response */
#define PART_BYTES     8e6      /* of an upload's request */

/* The reading that one training job does: the number and size of its objects, and how often it
 * reads them. */
struct load {
    double files, bytes;
    double reads;               /* per epoch */
    double epochs;
    double consumer_s;          /* least time that the consumer needs for an epoch */
    const double *c;            /* constants */
};

#define C(name) (l->c[CONSTANT_##name])

void mode_options_init(struct mode_options *options)
{
    *options = (struct mode_options){
        .epochs = 10, .reads_per_epoch = 1,
        .constants = {
#define VALUE(id, name, value, unit, meaning) value,
            MODE_CONSTANTS(VALUE)
#undef VALUE
        },
    };
}

const char *mode_name(enum input_mode mode)
{
    static const char *const names[] = {
        "File", "FastFile", "FSx for Lustre", "EFS", "pack, then File", "pack, then FastFile",
    };

    return names[mode];
}

/* ---- Estimates ------------------------------------------------------------------------------- */

static double list_s(const struct load *l)
{
    return l->files / C(LIST_RATE);
}

static double list_requests(const struct load *l)
{
    return ceil(l->files / LIST_PAGE);
}

/* Returns the time in seconds to read every file once. It is the larger of two times: the time to
 * transfer all bytes at `rate` bytes per second, and the time for the requests, one for each file.
 * A request takes `each_s` seconds, and `at_once` requests run at the same time. */
static double read_s(const struct load *l, double rate, double each_s, double at_once)
{
    return fmax(l->bytes / rate, l->files * each_s / at_once);
}

static void add_requests(const struct load *l, struct mode_estimate *e, double gets,
                         double puts)
{
    e->requests += gets + puts;
    e->request_cost += (gets * C(GET_PRICE) + puts * C(PUT_PRICE)) / 1e6;
}

static void add_up(const struct load *l, struct mode_estimate *e)
{
    e->first_epoch_s = fmax(e->first_epoch_s, l->consumer_s);
    e->epoch_s = fmax(e->epoch_s, l->consumer_s);
    e->total_s = e->startup_s + e->first_epoch_s + (l->epochs - 1) * e->epoch_s;
    e->other_cost += e->total_s / 3600 * C(INSTANCE_PRICE);
}

static void estimate_file(const struct load *l, struct mode_estimate *e)
{
    e->startup_s = list_s(l) + read_s(l, C(FILE_RATE), C(GET_TIME), C(FILE_REQUESTS));
    e->first_epoch_s = e->epoch_s = l->reads * l->bytes / C(LOCAL_RATE);
    add_requests(l, e, l->files, list_requests(l));
    add_up(l, e);
}

static void estimate_fastfile(const struct load *l, struct mode_estimate *e)
{
    const double gets = fmax(l->files, ceil(l->bytes / C(FASTFILE_READ)));

    e->startup_s = list_s(l);
    e->epoch_s = l->reads * read_s(l, C(FASTFILE_RATE), C(GET_TIME), C(OPEN_FILES));
    e->first_epoch_s = e->epoch_s;
    add_requests(l, e, gets * l->reads * l->epochs, list_requests(l));
    add_up(l, e);
}

/* Estimates the times and the cost of a job with FSx for Lustre. The first epoch loads the data
 * from S3 into the file system. Later epochs read the loaded data. */
static void estimate_fsx(const struct load *l, struct mode_estimate *e)
{
    const double capacity = ceil(fmax(l->bytes / C(FSX_LEAST), 1)) * C(FSX_LEAST);
    const double rate = capacity / 1e6 * C(FSX_RATE);
    const double again = read_s(l, rate, C(FSX_OPEN), C(OPEN_FILES));
    const double load = read_s(l, rate, C(GET_TIME) + C(FSX_OPEN), C(OPEN_FILES));

    e->prepare_s = C(FSX_CREATE);
    e->first_epoch_s = load + (l->reads - 1) * again;
    e->epoch_s = l->reads * again;
    add_requests(l, e, l->files, list_requests(l));
    add_up(l, e);
    e->other_cost += capacity / 1e9 * C(FSX_PRICE) * (e->prepare_s + e->total_s) / MONTH_S;
}

static void estimate_efs(const struct load *l, bool is_there, struct mode_estimate *e)
{
    const double again = read_s(l, C(EFS_RATE), C(EFS_OPEN), C(OPEN_FILES));

    if (!is_there) {
        e->prepare_s = list_s(l) + read_s(l, C(EFS_RATE), C(GET_TIME) + C(EFS_OPEN),
                                          C(FILE_REQUESTS));
        add_requests(l, e, l->files, list_requests(l));
    }
    e->first_epoch_s = e->epoch_s = l->reads * again;
    add_up(l, e);
    e->other_cost += l->bytes / 1e9 * C(EFS_PRICE) * (e->prepare_s + e->total_s) / MONTH_S;
}

/* Adds to an estimate the time and cost of packing the files into shards. Packing is done once, and
 * its time does not depend on the mode that reads the shards. */
static void add_packing(const struct load *l, struct mode_estimate *e)
{
    e->prepare_s += list_s(l) + read_s(l, C(PACK_RATE), C(GET_TIME), C(PACK_REQUESTS));
    add_requests(l, e, l->files, list_requests(l) + ceil(l->bytes / PART_BYTES));
}

static struct load packed(const struct load *l)
{
    struct load shards = *l;

    shards.files = fmax(ceil(l->bytes / C(SHARD_SIZE)), 1);
    return shards;
}

static void estimate_all(const struct load *l, bool is_on_nfs, struct mode_advice *a)
{
    const struct load shards = packed(l);

    estimate_file(l, &a->estimates[MODE_FILE]);
    estimate_fastfile(l, &a->estimates[MODE_FASTFILE]);
    estimate_fsx(l, &a->estimates[MODE_FSX]);
    estimate_efs(l, is_on_nfs, &a->estimates[MODE_EFS]);
    estimate_file(&shards, &a->estimates[MODE_PACK_FILE]);
    estimate_fastfile(&shards, &a->estimates[MODE_PACK_FASTFILE]);
    add_packing(l, &a->estimates[MODE_PACK_FILE]);
    add_packing(l, &a->estimates[MODE_PACK_FASTFILE]);
}

/* ---- The choice ------------------------------------------------------------------------------ */

static void say(struct mode_advice *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct mode_advice *a, const char *format, ...)
{
    va_list arguments;

    if (a->reason_count == MODE_REASONS_MOST)
        return;
    va_start(arguments, format);
    vsnprintf(a->reasons[a->reason_count++], sizeof(a->reasons[0]), format, arguments);
    va_end(arguments);
}

/* Returns whether the files count as small. They do if their mean size is below SMALL_FILE, and if
 * the latency of requests is considerable compared with the time to transfer the bytes. A few small
 * files among large files do not matter. */
static bool are_small(const struct load *l, struct mode_advice *a)
{
    const double mean = l->bytes / l->files;
    const double overhead = l->files * C(GET_TIME) / C(OPEN_FILES);
    char mean_text[SIZE_TEXT_ROOM], small_text[SIZE_TEXT_ROOM];

    if (mean >= C(SMALL_FILE) || overhead <= OVERHEAD_SHARE * l->bytes / C(FASTFILE_RATE))
        return false;
    say(a, "the mean object has %s, less than %s: the request rate, not the bandwidth, would limit "
        "the job", size_text(mean, mean_text), size_text(C(SMALL_FILE), small_text));
    return true;
}

/* Chooses between File mode and FastFile mode for data that consists of shards or other large
 * files. */
static enum input_mode choose_streaming(const struct load *l,
                                        const struct mode_estimate *file,
                                        const struct mode_estimate *fast,
                                        struct mode_advice *a)
{
    const double share = file->startup_s / file->total_s;
    char bytes[SIZE_TEXT_ROOM], most[SIZE_TEXT_ROOM];

    size_text(l->bytes, bytes);
    size_text(C(FILE_MOST), most);
    if (l->bytes > C(FILE_MOST)) {
        say(a, "%s exceed the %s that File mode is for", bytes, most);
        return MODE_FASTFILE;
    }
    say(a, "%s are within the %s that File mode is for", bytes, most);
    if (share > STARTUP_SHARE && file->total_s > fast->total_s) {
        say(a, "but its download of %.1f s would be %.0f %% of the job, and FastFile mode starts "
            "at once", file->startup_s, 100 * share);
        return MODE_FASTFILE;
    }
    say(a, "its download takes %.1f s, %.1f %% of the job", file->startup_s, 100 * share);
    return MODE_FILE;
}

/* Returns whether FSx for Lustre is recommended. It is recommended only if it is faster than
 * FastFile mode. There must also be one of two reasons: FastFile mode is too slow for the training
 * program, or the requests of FastFile mode cost more than the file system. */
static bool needs_fsx(const struct load *l, double consumer_bytes_s, struct mode_advice *a)
{
    const struct mode_estimate *fast = &a->estimates[MODE_FASTFILE];
    const struct mode_estimate *fsx = &a->estimates[MODE_FSX];
    char wanted[SIZE_TEXT_ROOM], given[SIZE_TEXT_ROOM];

    if (fast->request_cost > fsx->request_cost + fsx->other_cost &&
        fsx->total_s < fast->total_s) {
        say(a, "its requests, $%.2f over all epochs, cost more than a file system",
            fast->request_cost);
        return true;
    }
    if (consumer_bytes_s > C(FASTFILE_RATE) && fsx->epoch_s < fast->epoch_s) {
        say(a, "the consumer takes %s/s, FastFile mode gives %s/s",
            size_text(consumer_bytes_s, wanted), size_text(C(FASTFILE_RATE), given));
        return true;
    }
    return false;
}

static void mode_advice_choose(const struct load *l, const struct sheaf_survey *s,
                               double consumer_bytes_s, struct mode_advice *a)
{
    const bool pack = !s->is_dataset && are_small(l, a);
    const struct load shards = packed(l);

    if (s->is_dataset)
        say(a, "it is a data set of %llu samples already", (unsigned long long)s->samples);
    if (!pack && strcmp(s->place, "Lustre") == 0) {
        say(a, "it is on Lustre already");
        a->mode = MODE_FSX;
        return;
    }
    if (!pack && strcmp(s->place, "NFS") == 0) {
        say(a, "it is on NFS already, as EFS is");
        a->mode = MODE_EFS;
        return;
    }
    if (pack)
        a->mode = choose_streaming(&shards, &a->estimates[MODE_PACK_FILE],
                                   &a->estimates[MODE_PACK_FASTFILE], a);
    else
        a->mode = choose_streaming(l, &a->estimates[MODE_FILE],
                                   &a->estimates[MODE_FASTFILE], a);
    if (pack)
        a->mode = a->mode == MODE_FILE ? MODE_PACK_FILE : MODE_PACK_FASTFILE;
    else if (a->mode == MODE_FASTFILE && needs_fsx(l, consumer_bytes_s, a))
        a->mode = MODE_FSX;
}

/* ---- The call -------------------------------------------------------------------------------- */

static int invalid(struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int invalid(struct sheaf_error *err, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(err->message, sizeof(err->message), format, arguments);
    va_end(arguments);
    err->reason = SHEAF_REASON_NONE;
    return err->code = SHEAF_ERR_ARGUMENT;
}

static int mode_advice_check_options(const struct sheaf_survey *s, const struct mode_options *o,
                                     struct sheaf_error *err)
{
    static const char *const names[] = {
#define NAME(id, name, value, unit, meaning) name,
        MODE_CONSTANTS(NAME)
#undef NAME
    };
    static const bool may_be_zero[CONSTANT_COUNT] = {
        [CONSTANT_FILE_MOST] = true, [CONSTANT_SMALL_FILE] = true,
        [CONSTANT_GET_TIME] = true, [CONSTANT_FSX_CREATE] = true,
        [CONSTANT_FSX_OPEN] = true, [CONSTANT_EFS_OPEN] = true,
        [CONSTANT_GET_PRICE] = true, [CONSTANT_PUT_PRICE] = true,
        [CONSTANT_FSX_PRICE] = true, [CONSTANT_EFS_PRICE] = true,
        [CONSTANT_INSTANCE_PRICE] = true,
    };

    if (s->objects == 0)
        return invalid(err, "no objects to advise about");
    if (o->epochs == 0 || !(o->reads_per_epoch > 0) || !isfinite(o->reads_per_epoch) ||
        !(o->consumer_bytes_s >= 0) || !isfinite(o->consumer_bytes_s))
        return invalid(err, "%llu epochs, %g reads per epoch, %g bytes/s of "
                       "a consumer are not valid", (unsigned long long)o->epochs,
                       o->reads_per_epoch, o->consumer_bytes_s);
    for (size_t i = 0; i < CONSTANT_COUNT; i++)
        if (!isfinite(o->constants[i]) || o->constants[i] < 0 ||
            (o->constants[i] == 0 && !may_be_zero[i]))
            return invalid(err, "the constant %s is %g, expected more than 0",
                           names[i], o->constants[i]);
    return SHEAF_OK;
}

int mode_advise(const struct sheaf_survey *survey, const struct mode_options *options,
                struct mode_advice *advice, struct sheaf_error *error)
{
    struct load load = {
        .files = (double)survey->objects, .bytes = (double)survey->bytes,
        .reads = options->reads_per_epoch, .epochs = (double)options->epochs,
        .c = options->constants,
    };
    const int code = mode_advice_check_options(survey, options, error);

    if (code != SHEAF_OK)
        return code;
    memset(advice, 0, sizeof(*advice));
    if (options->consumer_bytes_s > 0)
        load.consumer_s = load.bytes * load.reads / options->consumer_bytes_s;
    estimate_all(&load, strcmp(survey->place, "NFS") == 0, advice);
    mode_advice_choose(&load, survey, options->consumer_bytes_s, advice);
    return SHEAF_OK;
}
