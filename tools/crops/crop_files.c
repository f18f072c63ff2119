/* SPDX-License-Identifier: MIT
 *
 * Writes crops as PNG files; see crop_files.h. */
#include "tools/crops/crop_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/list.h"

#define MEMORY ((uint64_t)1 << 30)      /* for decoding */
#define VIEWS_MOST (CROP_VIEWS_MOST * (1 + CROP_MASKS_MOST))
#define AT_ONCE 8u
#define RATE_SAMPLES 64u

/* ---- Crops of some samples in memory --------------------------------------------------------- */

/* The crops of several samples. A view is one kind of crop, with a size of its own. The array
 * `views` has the views of the images first, then the views of mask 0, then the views of mask 1,
 * and so on. */
struct crops {
    struct sheaf_pixels_pool *pool;
    struct sheaf_pixels_batch *batch;
    void *views[VIEWS_MOST];
    struct sheaf_crop_box *boxes;
};

static void crops_free(struct crops *c)
{
    sheaf_pixels_batch_free(c->batch);
    for (size_t i = 0; i < VIEWS_MOST; i++)
        free(c->views[i]);
    free(c->boxes);
    *c = (struct crops){ .pool = c->pool };
}

/* Makes the crops of the samples. Returns -1 on success. On failure, prints an error message and
 * returns the exit status. In both cases, crops_free must be called afterwards. */
static int crops_make(struct crops *c, const struct crop_choice *choice,
                      const struct sheaf_sample *samples, size_t count)
{
    const size_t views = choice->view_count * (choice->options.mask_count + 1);
    struct sheaf_error error;
    bool has_all;

    c->boxes = calloc(count * sheaf_pixels_crops(c->pool) + 1, sizeof(c->boxes[0]));
    has_all = c->boxes != NULL;
    for (size_t i = 0; i < views && has_all; i++) {
        c->views[i] = malloc(count * sheaf_pixels_bytes(c->pool, i) + 1);
        has_all = c->views[i] != NULL;
    }
    if (!has_all) {
        complain("no memory for the crops of %zu sample%s", count, plural(count));
        return STATUS_FAILURE;
    }
    if (sheaf_pixels_begin(c->pool, samples, count, choice->field, c->views, c->boxes, &c->batch,
                           &error) != SHEAF_OK)
        return fail(&error);
    (void)sheaf_pixels_wait(c->batch);
    return -1;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct crop_files {
    const char *directory;
    const struct crop_choice *choice;
    struct crops crops;
    struct output list;                 /* samples.tsv */
    FILE *list_file;
    uint8_t *png;
    uint64_t number;                    /* of the next sample */
};

static bool crop_files_is_empty(const char *directory)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    bool found = false;

    if (dir == NULL)
        return false;
    while (!found && (entry = readdir(dir)) != NULL)
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(dir);
    return !found;
}

static char *path_in(const char *directory, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* Creates the file `name` in the directory for writing. Prints an error message and returns NULL if
 * that fails. */
static FILE *crop_files_create(const char *directory, const char *name, char **path)
{
    FILE *file = NULL;

    *path = path_in(directory, name);
    if (*path != NULL)
        file = fopen(*path, "wbxe");
    if (file == NULL)
        (void)fail_file(*path == NULL ? name : *path);
    return file;
}

static int crop_files_open_list(struct crop_files *f)
{
    static const char head[] = "file\tkey\tlabels\ttop\tleft\theight\twidth\tflipped\tseed\n";
    char *path;

    f->list_file = crop_files_create(f->directory, "samples.tsv", &path);
    free(path);
    if (f->list_file == NULL)
        return STATUS_FAILURE;
    if (output_open(&f->list, fileno(f->list_file)) != 0 ||
        output_put(&f->list, head, sizeof(head) - 1) != 0) {
        complain("out of memory");
        return STATUS_FAILURE;
    }
    return -1;
}

int crop_files_open(const char *directory, const struct crop_choice *choice, unsigned threads,
                    struct crop_files **files)
{
    struct crop_files *f = *files = calloc(1, sizeof(*f));
    struct sheaf_error error;
    size_t room = 0;

    if (f == NULL) {
        complain("out of memory");
        return STATUS_FAILURE;
    }
    f->directory = directory;
    f->choice = choice;
    if (sheaf_pixels_pool_open(&choice->options, threads, MEMORY, &f->crops.pool, &error) !=
        SHEAF_OK)
        return refuse(&error);
    for (size_t v = 0; v < choice->view_count; v++) {
        const struct sheaf_pixels_view *view = &choice->views[v];
        const size_t own = SHEAF_PNG_ROOM(view->width, view->height, 3);

        room = own > room ? own : room;
    }
    f->png = malloc(room);
    if (f->png == NULL) {
        complain("out of memory");
        return STATUS_FAILURE;
    }
    if (mkdir(directory, 0777) != 0) {
        if (errno != EEXIST)
            return fail_file(directory);
        if (!crop_files_is_empty(directory))
            return misuse("%s is not empty: crops are written to an empty or a new directory",
                          shown(directory));
    }
    return crop_files_open_list(f);
}

/* Writes crop number `crop` of sample i as a PNG file. `number` is an index in crops.views: v for
 * view v of the image, and (m + 1) * view_count + v for view v of mask m. */
static int put_png(struct crop_files *f, size_t number, size_t i, size_t crop, const char *name)
{
    const struct sheaf_pixels_view *view = &f->choice->views[number % f->choice->view_count];
    const unsigned channels = number < f->choice->view_count ? 3 : 1;
    const uint8_t *pixels = (const uint8_t *)f->crops.views[number] +
                            i * sheaf_pixels_bytes(f->crops.pool, number) +
                            crop * view->width * view->height * channels;
    size_t size = SHEAF_PNG_ROOM(view->width, view->height, 3);
    struct sheaf_error error;
    char *path;
    FILE *file;
    int status = -1;

    if (sheaf_pixels_png(pixels, view->width, view->height, channels, f->choice->options.layout,
                         f->png, &size, &error) != SHEAF_OK)
        return fail(&error);
    file = crop_files_create(f->directory, name, &path);
    if (file == NULL)
        status = STATUS_FAILURE;
    else {
        const size_t written = fwrite(f->png, 1, size, file);

        if (fclose(file) != 0 || written != size)
            status = fail_file(path);
    }
    free(path);
    return status;
}

static int put_line(struct crop_files *f, const char *name, const struct sheaf_sample *sample,
                    const struct sheaf_crop_box *box)
{
    char text[160];
    int n = snprintf(text, sizeof(text), "%.60s.png\t", name), failed;

    failed = output_put(&f->list, text, (size_t)n);
    if (!failed)
        failed = list_key_and_labels(&f->list, sample);
    n = snprintf(text, sizeof(text), "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32
                 "\t%" PRId32 "\t%" PRIu64 "\n", box->top, box->left, box->height, box->width,
                 box->flipped, sample->seed);
    if (!failed)
        failed = output_put(&f->list, text, (size_t)n);
    if (!failed)
        return -1;
    complain("%s/samples.tsv: %s", f->directory, strerror(failed));
    return STATUS_FAILURE;
}

/* Returns the part of a file name that says which mask a crop is from. It is the name of the mask's
 * field, or the part of this name after the last slash. */
static const char *name_of_mask(const char *field)
{
    return strchr(field, '/') == NULL ? field : strrchr(field, '/') + 1;
}

/* Writes PNG files for crop number `crop` of view v of sample i: the crop of the image, and the
 * same crop of each mask. `stem` is the beginning of their file names. */
static int put_crop(struct crop_files *f, size_t v, size_t i, size_t crop, const char *stem)
{
    const struct crop_choice *choice = f->choice;
    char name[400];
    int status;

    snprintf(name, sizeof(name), "%.60s.png", stem);
    status = put_png(f, v, i, crop, name);
    for (size_t m = 0; m < choice->options.mask_count && status < 0; m++) {
        snprintf(name, sizeof(name), "%.60s.%.255s", stem, name_of_mask(choice->masks[m]));
        status = put_png(f, (m + 1) * choice->view_count + v, i, crop, name);
    }
    return status;
}

static int crop_files_put_sample(struct crop_files *f, const struct sheaf_sample *sample, size_t i)
{
    const struct sheaf_crop_box *box = f->crops.boxes + i * sheaf_pixels_crops(f->crops.pool);
    size_t k = 0;
    int status = -1;

    for (size_t v = 0; v < f->choice->view_count; v++) {
        for (size_t crop = 0; crop < f->choice->views[v].count && status < 0; crop++, k++) {
            char stem[60];

            if (f->choice->options.views == NULL)
                snprintf(stem, sizeof(stem), "%06" PRIu64, f->number);
            else
                snprintf(stem, sizeof(stem), "%06" PRIu64 ".%zu", f->number, k);
            status = put_crop(f, v, i, crop, stem);
            if (status < 0)
                status = put_line(f, stem, sample, &box[k]);
        }
    }
    f->number++;
    return status;
}

/* Called if no crops could be made of a sample. If the user's options allow skipping such a sample,
 * reports it and returns -1. Otherwise prints an error and returns the exit status. */
static int crop_files_leave_out(struct crop_policy *policy, const struct sheaf_sample *sample,
                                const struct sheaf_error *found)
{
    struct sheaf_shard_info shard;
    struct sheaf_error error = *found;
    const bool is_bad = found->code == SHEAF_ERR_CORRUPT || found->code == SHEAF_ERR_TRUNCATED ||
                        found->code == SHEAF_ERR_UNSUPPORTED;

    if (sheaf_dataset_shard(policy->dataset, sample->shard, &shard, sizeof(shard)) == SHEAF_OK)
        snprintf(error.message, sizeof(error.message), "%.300s: %.600s", shard.name,
                 found->message);
    if (!is_bad || !policy->skips || policy->skipped == policy->most)
        return fail(&error);
    policy->skipped++;
    report_skipped(NULL, "", &error);
    return -1;
}

int crop_files_put(struct crop_files *f, const struct sheaf_sample *samples, size_t count,
                   struct crop_policy *policy)
{
    int status = crops_make(&f->crops, f->choice, samples, count);

    for (size_t i = 0; i < count && status < 0; i++) {
        const struct sheaf_error *error = sheaf_pixels_error(f->crops.batch, i);

        status = error == NULL ? crop_files_put_sample(f, &samples[i], i)
                               : crop_files_leave_out(policy, &samples[i], error);
    }
    crops_free(&f->crops);
    return status;
}

uint64_t crop_files_busy_ns(const struct crop_files *f)
{
    return f == NULL ? 0 : sheaf_pixels_busy_ns(f->crops.pool);
}

int crop_files_close(struct crop_files *f)
{
    int failed, status = STATUS_OK;

    if (f == NULL)
        return STATUS_OK;
    if (f->list.buffer != NULL) {
        failed = output_flush(&f->list);
        if (failed) {
            complain("%s/samples.tsv: %s", f->directory, strerror(failed));
            status = STATUS_FAILURE;
        }
        output_close(&f->list);
    }
    if (f->list_file != NULL)
        (void)fclose(f->list_file);
    sheaf_pixels_pool_free(f->crops.pool);
    free(f->png);
    free(f);
    return status;
}

/* ---- The rate -------------------------------------------------------------------------------- */

struct rate {
    size_t samples, bad;
    uint64_t busy_ns;
};

static int crop_files_measure(const struct sheaf_dataset *dataset, const struct crop_choice *choice,
                              const uint64_t *numbers, size_t count, struct rate *rate)
{
    struct crops crops = { .pool = NULL };
    struct sheaf_error error;
    int status = -1;

    if (sheaf_pixels_pool_open(&choice->options, 1, MEMORY, &crops.pool, &error) != SHEAF_OK)
        return refuse(&error);
    for (size_t at = 0; at < count && status < 0; at += AT_ONCE) {
        const size_t some = count - at < AT_ONCE ? count - at : AT_ONCE;
        const struct sheaf_sample *samples;
        struct sheaf_kept *kept;

        if (sheaf_dataset_read(dataset, numbers + at, some, NULL, &samples, &kept,
                               &error) != SHEAF_OK) {
            status = fail(&error);
            break;
        }
        status = crops_make(&crops, choice, samples, some);
        if (status < 0)
            rate->bad += sheaf_pixels_wait(crops.batch);
        crops_free(&crops);
        sheaf_kept_free(kept);
    }
    rate->samples = count;
    rate->busy_ns = sheaf_pixels_busy_ns(crops.pool);
    sheaf_pixels_pool_free(crops.pool);
    return status < 0 ? STATUS_OK : status;
}

/* Prints the sizes of the crops. */
static void print_views(const struct crop_choice *choice, bool json)
{
    const bool has_views = choice->options.views != NULL;

    printf("%s", json && has_views ? "\"views\": [" : "");
    for (size_t v = 0; v < choice->view_count; v++) {
        const struct sheaf_pixels_view *view = &choice->views[v];

        if (json && has_views)
            printf("%s{\"count\": %u, \"width\": %u, \"height\": %u}", v == 0 ? "" : ", ",
                   view->count, view->width, view->height);
        else if (json)
            printf("\"width\": %u, \"height\": %u", view->width, view->height);
        else if (has_views)
            printf("%s%u of %u x %u", v == 0 ? "" : " and ", view->count, view->width,
                   view->height);
        else
            printf("%u x %u", view->width, view->height);
    }
    printf("%s", json && has_views ? "]" : "");
}

static void print_rate(const struct crop_choice *choice, const struct rate *rate, bool json)
{
    const double per_second = rate->busy_ns == 0 ? 0
        : (double)(rate->samples - rate->bad) / ((double)rate->busy_ns * 1e-9);

    if (json)
        printf(",\n  \"decoding\": {\"samples\": %zu, \"bad\": %zu, ", rate->samples, rate->bad);
    else
        printf("decoding      %.0f images a second on one core, cropped to ", per_second);
    print_views(choice, json);
    if (json)
        printf(", \"images_per_core_second\": %.1f}", per_second);
    else
        printf(" (%zu sample%s, %zu bad)\n", rate->samples, plural(rate->samples), rate->bad);
}

int crop_rate_print(const struct sheaf_dataset *dataset, const struct crop_choice *choice,
                    bool json)
{
    uint64_t numbers[RATE_SAMPLES];
    struct rate rate = { 0 };
    struct sheaf_error error;
    size_t count;
    int status;

    if (sheaf_dataset_draw(dataset, RATE_SAMPLES, numbers, &count, &error) != SHEAF_OK)
        return refuse(&error);
    status = crop_files_measure(dataset, choice, numbers, count, &rate);
    if (status != STATUS_OK)
        return status;
    print_rate(choice, &rate, json);
    return STATUS_OK;
}
