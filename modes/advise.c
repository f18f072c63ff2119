/* SPDX-License-Identifier: MIT
 *
 * sheaf_advise: which input mode, and what each would take.  Pure arithmetic over a survey and a
 * table of constants.
 *
 * The estimates are those of a pipeline: what can overlap takes as long as its slowest stage.  The
 * choice follows AWS's guide: files of less than some 50 MB belong into shards; up to some 100 GB
 * File mode will do, unless its download is a large part of the job; more is for FastFile mode,
 * or for FSx for Lustre where a GPU reads faster than that, or the same data again and again. */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define MONTH_S        (30 * 86400.0)
#define STARTUP_SHARE  0.1      /* of a job, that a start may be */
#define OVERHEAD_SHARE 0.25     /* of the reading, that requests may add before files are small */
#define LIST_PAGE      1000.0   /* objects in an answer to LIST */
#define PART_BYTES     8e6      /* of an upload's request */

/* The work of one job over one set of files. */
struct load {
    double files, bytes;
    double reads;               /* per epoch */
    double epochs;
    double consumer_s;          /* that an epoch takes at least */
    const double *c;            /* constants */
};

#define C(name) (l->c[SHEAF_CONSTANT_##name])

void sheaf_advise_options_init(struct sheaf_advise_options *options, size_t sizeof_options)
{
    static const struct sheaf_advise_options defaults = {
        .epochs = 10, .reads_per_epoch = 1,
        .constants = {
#define VALUE(id, name, value, unit, meaning) value,
            SHEAF_CONSTANTS(VALUE)
#undef VALUE
        },
    };

    memset(options, 0, sizeof_options);
    memcpy(options, &defaults, MIN(sizeof_options, sizeof(defaults)));
    options->sizeof_options = sizeof_options;
}

const char *sheaf_mode_name(enum sheaf_mode mode)
{
    static const char *const names[] = {
        "File", "FastFile", "FSx for Lustre", "EFS", "pack, then File", "pack, then FastFile",
    };

    return (unsigned)mode < COUNT_OF(names) ? names[mode] : NULL;
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

/* Reading every file once: bytes at a rate, or requests of some latency, so many at once. */
static double read_s(const struct load *l, double rate, double each_s, double at_once)
{
    return fmax(l->bytes / rate, l->files * each_s / at_once);
}

static void add_requests(const struct load *l, struct sheaf_mode_estimate *e, double gets,
                         double puts)
{
    e->requests += gets + puts;
    e->request_cost += (gets * C(GET_PRICE) + puts * C(PUT_PRICE)) / 1e6;
}

static void finish(const struct load *l, struct sheaf_mode_estimate *e)
{
    e->first_epoch_s = fmax(e->first_epoch_s, l->consumer_s);
    e->epoch_s = fmax(e->epoch_s, l->consumer_s);
    e->total_s = e->startup_s + e->first_epoch_s + (l->epochs - 1) * e->epoch_s;
    e->other_cost += e->total_s / 3600 * C(INSTANCE_PRICE);
}

static void estimate_file(const struct load *l, struct sheaf_mode_estimate *e)
{
    e->startup_s = list_s(l) + read_s(l, C(FILE_RATE), C(GET_TIME), C(FILE_REQUESTS));
    e->first_epoch_s = e->epoch_s = l->reads * l->bytes / C(LOCAL_RATE);
    add_requests(l, e, l->files, list_requests(l));
    finish(l, e);
}

static void estimate_fastfile(const struct load *l, struct sheaf_mode_estimate *e)
{
    const double gets = fmax(l->files, ceil(l->bytes / C(FASTFILE_READ)));

    e->startup_s = list_s(l);
    e->epoch_s = l->reads * read_s(l, C(FASTFILE_RATE), C(GET_TIME), C(OPEN_FILES));
    e->first_epoch_s = e->epoch_s;
    add_requests(l, e, gets * l->reads * l->epochs, list_requests(l));
    finish(l, e);
}

/* The first epoch loads from S3; later ones read what is there. */
static void estimate_fsx(const struct load *l, struct sheaf_mode_estimate *e)
{
    const double capacity = ceil(fmax(l->bytes / C(FSX_LEAST), 1)) * C(FSX_LEAST);
    const double rate = capacity / 1e6 * C(FSX_RATE);
    const double again = read_s(l, rate, C(FSX_OPEN), C(OPEN_FILES));
    const double load = read_s(l, rate, C(GET_TIME) + C(FSX_OPEN), C(OPEN_FILES));

    e->prepare_s = C(FSX_CREATE);
    e->first_epoch_s = load + (l->reads - 1) * again;
    e->epoch_s = l->reads * again;
    add_requests(l, e, l->files, list_requests(l));
    finish(l, e);
    e->other_cost += capacity / 1e9 * C(FSX_PRICE) * (e->prepare_s + e->total_s) / MONTH_S;
}

static void estimate_efs(const struct load *l, bool is_there, struct sheaf_mode_estimate *e)
{
    const double again = read_s(l, C(EFS_RATE), C(EFS_OPEN), C(OPEN_FILES));

    if (!is_there) {
        e->prepare_s = list_s(l) + read_s(l, C(EFS_RATE), C(GET_TIME) + C(EFS_OPEN),
                                          C(FILE_REQUESTS));
        add_requests(l, e, l->files, list_requests(l));
    }
    e->first_epoch_s = e->epoch_s = l->reads * again;
    finish(l, e);
    e->other_cost += l->bytes / 1e9 * C(EFS_PRICE) * (e->prepare_s + e->total_s) / MONTH_S;
}

/* Once, whatever mode the shards are then read in. */
static void add_packing(const struct load *l, struct sheaf_mode_estimate *e)
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

static void estimate_all(const struct load *l, bool is_on_nfs, struct sheaf_advice *a)
{
    const struct load shards = packed(l);

    estimate_file(l, &a->estimates[SHEAF_MODE_FILE]);
    estimate_fastfile(l, &a->estimates[SHEAF_MODE_FASTFILE]);
    estimate_fsx(l, &a->estimates[SHEAF_MODE_FSX]);
    estimate_efs(l, is_on_nfs, &a->estimates[SHEAF_MODE_EFS]);
    estimate_file(&shards, &a->estimates[SHEAF_MODE_PACK_FILE]);
    estimate_fastfile(&shards, &a->estimates[SHEAF_MODE_PACK_FASTFILE]);
    add_packing(l, &a->estimates[SHEAF_MODE_PACK_FILE]);
    add_packing(l, &a->estimates[SHEAF_MODE_PACK_FASTFILE]);
}

/* ---- The choice ------------------------------------------------------------------------------ */

static void say(struct sheaf_advice *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct sheaf_advice *a, const char *format, ...)
{
    va_list arguments;

    if (a->reason_count == SHEAF_REASONS_MOST)
        return;
    va_start(arguments, format);
    vsnprintf(a->reasons[a->reason_count++], sizeof(a->reasons[0]), format, arguments);
    va_end(arguments);
}

static const char *size_text(double bytes, char text[32])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    size_t i = 0;

    while (bytes >= 1000 && i + 1 < COUNT_OF(units)) {
        bytes /= 1000;
        i++;
    }
    snprintf(text, 32, "%.*f %s", i == 0 || bytes >= 100 ? 0 : 1, bytes, units[i]);
    return text;
}

/* Small, and so many that it matters: a few small files beside large ones do not. */
static bool are_small(const struct load *l, struct sheaf_advice *a)
{
    const double mean = l->bytes / l->files;
    const double overhead = l->files * C(GET_TIME) / C(OPEN_FILES);
    char mean_text[32], small_text[32];

    if (mean >= C(SMALL_FILE) || overhead <= OVERHEAD_SHARE * l->bytes / C(FASTFILE_RATE))
        return false;
    say(a, "the mean object has %s, less than %s: requests, not bytes, would set the pace",
        size_text(mean, mean_text), size_text(C(SMALL_FILE), small_text));
    return true;
}

/* Between File and FastFile, for shards or large files. */
static enum sheaf_mode choose_streaming(const struct load *l,
                                        const struct sheaf_mode_estimate *file,
                                        const struct sheaf_mode_estimate *fast,
                                        struct sheaf_advice *a)
{
    const double share = file->startup_s / file->total_s;
    char bytes[32], most[32];

    size_text(l->bytes, bytes);
    size_text(C(FILE_MOST), most);
    if (l->bytes > C(FILE_MOST)) {
        say(a, "%s exceed the %s that File mode is for", bytes, most);
        return SHEAF_MODE_FASTFILE;
    }
    say(a, "%s are within the %s that File mode is for", bytes, most);
    if (share > STARTUP_SHARE && file->total_s > fast->total_s) {
        say(a, "but its download of %.1f s would be %.0f %% of the job, and FastFile mode starts "
            "at once", file->startup_s, 100 * share);
        return SHEAF_MODE_FASTFILE;
    }
    say(a, "its download takes %.1f s, %.1f %% of the job", file->startup_s, 100 * share);
    return SHEAF_MODE_FILE;
}

/* Where FastFile mode cannot keep up, or its requests cost more than a file system. */
static bool needs_fsx(const struct load *l, double consumer_bytes_s, struct sheaf_advice *a)
{
    const struct sheaf_mode_estimate *fast = &a->estimates[SHEAF_MODE_FASTFILE];
    const struct sheaf_mode_estimate *fsx = &a->estimates[SHEAF_MODE_FSX];
    char wanted[32], given[32];

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

static void choose(const struct load *l, const struct sheaf_survey *s, double consumer_bytes_s,
                   struct sheaf_advice *a)
{
    const bool pack = !s->is_dataset && are_small(l, a);
    const struct load shards = packed(l);

    if (s->is_dataset)
        say(a, "it is a data set of %llu samples already", (unsigned long long)s->samples);
    if (!pack && strcmp(s->place, "Lustre") == 0) {
        say(a, "it is on Lustre already");
        a->mode = SHEAF_MODE_FSX;
        return;
    }
    if (!pack && strcmp(s->place, "NFS") == 0) {
        say(a, "it is on NFS already, as EFS is");
        a->mode = SHEAF_MODE_EFS;
        return;
    }
    if (pack)
        a->mode = choose_streaming(&shards, &a->estimates[SHEAF_MODE_PACK_FILE],
                                   &a->estimates[SHEAF_MODE_PACK_FASTFILE], a);
    else
        a->mode = choose_streaming(l, &a->estimates[SHEAF_MODE_FILE],
                                   &a->estimates[SHEAF_MODE_FASTFILE], a);
    if (pack)
        a->mode = a->mode == SHEAF_MODE_FILE ? SHEAF_MODE_PACK_FILE : SHEAF_MODE_PACK_FASTFILE;
    else if (a->mode == SHEAF_MODE_FASTFILE && needs_fsx(l, consumer_bytes_s, a))
        a->mode = SHEAF_MODE_FSX;
}

/* ---- The call -------------------------------------------------------------------------------- */

static int check(const struct sheaf_survey *s, const struct sheaf_advise_options *o,
                 struct sheaf_error *err)
{
    static const char *const names[] = {
#define NAME(id, name, value, unit, meaning) name,
        SHEAF_CONSTANTS(NAME)
#undef NAME
    };
    static const bool may_be_zero[SHEAF_CONSTANT_COUNT] = {
        [SHEAF_CONSTANT_FILE_MOST] = true, [SHEAF_CONSTANT_SMALL_FILE] = true,
        [SHEAF_CONSTANT_GET_TIME] = true, [SHEAF_CONSTANT_FSX_CREATE] = true,
        [SHEAF_CONSTANT_FSX_OPEN] = true, [SHEAF_CONSTANT_EFS_OPEN] = true,
        [SHEAF_CONSTANT_GET_PRICE] = true, [SHEAF_CONSTANT_PUT_PRICE] = true,
        [SHEAF_CONSTANT_FSX_PRICE] = true, [SHEAF_CONSTANT_EFS_PRICE] = true,
        [SHEAF_CONSTANT_INSTANCE_PRICE] = true,
    };

    if (s->objects == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "no objects to advise about");
    if (o->epochs == 0 || !(o->reads_per_epoch > 0) || !isfinite(o->reads_per_epoch) ||
        !(o->consumer_bytes_s >= 0) || !isfinite(o->consumer_bytes_s))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%llu epochs, %g reads per epoch, %g bytes/s of "
                       "a consumer are not valid", (unsigned long long)o->epochs,
                       o->reads_per_epoch, o->consumer_bytes_s);
    for (size_t i = 0; i < SHEAF_CONSTANT_COUNT; i++)
        if (!isfinite(o->constants[i]) || o->constants[i] < 0 ||
            (o->constants[i] == 0 && !may_be_zero[i]))
            return err_set(err, SHEAF_ERR_ARGUMENT, "the constant %s is %g, expected more than 0",
                           names[i], o->constants[i]);
    return SHEAF_OK;
}

int sheaf_advise(const struct sheaf_survey *survey, const struct sheaf_advise_options *options,
                 struct sheaf_advice *advice, size_t sizeof_advice, struct sheaf_error *err)
{
    struct sheaf_advise_options o;
    struct sheaf_advice a = { 0 };
    struct load load;
    int code;

    sheaf_advise_options_init(&o, sizeof(o));
    memcpy(&o, options, MIN(options->sizeof_options, sizeof(o)));
    code = check(survey, &o, err);
    if (code != SHEAF_OK)
        return code;
    load = (struct load){
        .files = (double)survey->objects, .bytes = (double)survey->bytes,
        .reads = o.reads_per_epoch, .epochs = (double)o.epochs, .c = o.constants,
    };
    if (o.consumer_bytes_s > 0)
        load.consumer_s = load.bytes * load.reads / o.consumer_bytes_s;
    estimate_all(&load, strcmp(survey->place, "NFS") == 0, &a);
    choose(&load, survey, o.consumer_bytes_s, &a);
    memcpy(advice, &a, MIN(sizeof_advice, sizeof(a)));
    return SHEAF_OK;
}
