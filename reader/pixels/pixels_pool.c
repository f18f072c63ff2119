/* SPDX-License-Identifier: MIT
 *
 * The threads that make the crops of batches. sheaf_pixels_begin adds a job for each thread. The
 * threads run the jobs, which write the crops to the caller's memory. sheaf_pixels_wait returns
 * when the last job of the batch has ended.
 *
 * A job needs memory for one picture at a time. It takes all of this memory at once, from the
 * memory_bytes of the pool. If too little is left, the job waits until other jobs have given back
 * memory. The other jobs can always continue, because they have all the memory that they need. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/timed_wait.h"
#include "base/workers.h"
#include "image/crop_mask.h"
#include "image/crop_pixels.h"
#include "image/image.h"
#include "image/image_memory.h"

struct sheaf_pixels_pool {
    struct crop_plan plan;
    struct workers *workers;
    struct image_memory memory;
    _Atomic uint64_t busy_ns;
    unsigned threads;
};

struct sheaf_pixels_batch {
    struct sheaf_pixels_pool *pool;
    const struct sheaf_sample *samples;
    size_t count;
    /* name of the field with the image; NULL for the first image field of each sample */
    char *field;
    uint8_t **out;
    struct sheaf_crop_box *crops;
    /* error of each sample; NULL if its crops were made */
    struct sheaf_error **errors;
    /* The error that is reported for a sample if its own error could not be stored. It says that
     * memory is exhausted. */
    struct sheaf_error lacks_memory;
    _Atomic size_t bad;             /* number of samples whose crops could not be made */
    _Atomic size_t next;            /* first sample that no job has taken */
    /* the jobs of the batch, at most one for each thread */
    struct crop_job *jobs;
    size_t job_count;
    /* Threads use this lock and condition to wait for the batch. Only its last job wakes them. If
     * each job woke them, a training loop would be woken once for each thread of the pool. */
    pthread_mutex_t lock;
    pthread_cond_t made;
    struct {
        size_t unfinished;          /* number of jobs that have not ended */
    } locked;
};

/* A job that makes the crops of samples in a batch. It takes one sample after another. The other
 * jobs of the batch do the same, until no sample is left. */
struct crop_job {
    struct job job;
    struct sheaf_pixels_batch *batch;
};

/* ---- The pool -------------------------------------------------------------------------------- */

int sheaf_pixels_pool_open(const struct sheaf_pixels_options *options, unsigned threads,
                           uint64_t memory_bytes, struct sheaf_pixels_pool **pool,
                           struct sheaf_error *err)
{
    struct sheaf_pixels_pool *p = calloc(1, sizeof(*p));
    int code;

    if (p == NULL)
        return err_memory(err, sizeof(*p));
    image_memory_open(&p->memory, memory_bytes);
    code = crop_plan_open(&p->plan, options, err);
    p->threads = threads != 0 ? threads : MIN(workers_processors(), SHEAF_THREADS_MOST);
    if (code == SHEAF_OK)
        code = workers_open(&p->workers, p->threads, err);
    if (code != SHEAF_OK) {
        sheaf_pixels_pool_free(p);
        return code;
    }
    *pool = p;
    return SHEAF_OK;
}

void sheaf_pixels_pool_free(struct sheaf_pixels_pool *p)
{
    if (p == NULL)
        return;
    workers_close(p->workers);
    crop_plan_close(&p->plan);
    image_memory_close(&p->memory);
    free(p);
}

size_t sheaf_pixels_bytes(const struct sheaf_pixels_pool *p, size_t view)
{
    const size_t groups = p->plan.group_count;

    if (view >= groups * (p->plan.mask_count + 1))
        return 0;
    return p->plan.group_bytes[view % groups] / (view < groups ? 1 : 3);
}

size_t sheaf_pixels_crops(const struct sheaf_pixels_pool *p)
{
    return p->plan.count;
}

uint64_t sheaf_pixels_busy_ns(const struct sheaf_pixels_pool *p)
{
    return p->busy_ns;
}

/* ---- One picture ----------------------------------------------------------------------------- */

static bool is_mask(const struct crop_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->mask_count; i++)
        if (strcmp(plan->masks[i], name) == 0)
            return true;
    return false;
}

/* Returns the sample's field `name`. If `name` is NULL, returns the first field whose
 * name has the suffix of an image, and which is not a mask. */
static const struct sheaf_field *pixels_pool_field_of(const struct crop_plan *plan,
                                                      const struct sheaf_sample *sample,
                                                      const char *name)
{
    for (size_t i = 0; i < sample->field_count; i++) {
        const struct sheaf_field *field = &sample->fields[i];

        if (name != NULL ? strcmp(field->name, name) == 0
                         : image_kind_named(field->name) != IMAGE_UNKNOWN &&
                           !is_mask(plan, field->name))
            return field;
    }
    return NULL;
}

static int pixels_pool_refuse_sample(const struct sheaf_sample *sample, const char *name,
                                     struct sheaf_error *err)
{
    char key[256];

    sheaf_show(sample->key, key, sizeof(key));
    if (name == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "sample %s has no field with an image", key);
    return err_set(err, SHEAF_ERR_ARGUMENT, "sample %s has no field %s, but %s", key, name,
                   sample->field_count != 0 ? sample->fields[0].name : "none");
}

/* Puts the place of the sample and the name of the field before an error message. */
static int place_field(const struct sheaf_sample *sample, const struct sheaf_field *field,
                       struct sheaf_error *err)
{
    char key[256];

    sheaf_show(sample->key, key, sizeof(key));
    return err_prefix(err, "record %llu: sample %s, field %s: ",
                      (unsigned long long)sample->record, key, field->name);
}

/* Makes the crops of all masks of a sample. A mask is a PNG with one class for each pixel of the
 * image. */
static int crop_masks(const struct sheaf_pixels_batch *b, const struct sheaf_sample *sample,
                      const struct sheaf_field *image, uint8_t *const *out,
                      struct sheaf_error *err)
{
    const struct crop_plan *plan = &b->pool->plan;
    struct image_look look;

    (void)image_look(image->data, image->size, &look);
    for (size_t i = 0; i < plan->mask_count; i++) {
        const struct sheaf_field *field = pixels_pool_field_of(plan, sample, plan->masks[i]);

        if (field == NULL)
            return pixels_pool_refuse_sample(sample, plan->masks[i], err);
        if (crop_mask(plan, field->data, field->size, &look, sample->seed, &b->pool->memory.room,
                      out + (i + 1) * plan->group_count, err) != SHEAF_OK)
            return place_field(sample, field, err);
    }
    return SHEAF_OK;
}

static int crop_sample(const struct sheaf_pixels_batch *b, size_t index,
                       struct sheaf_error *err)
{
    const struct crop_plan *plan = &b->pool->plan;
    const size_t views = plan->group_count * (plan->mask_count + 1);
    const struct sheaf_sample *sample = &b->samples[index];
    const struct sheaf_field *field = pixels_pool_field_of(plan, sample, b->field);
    uint8_t **out;
    int code;

    if (field == NULL)
        return pixels_pool_refuse_sample(sample, b->field, err);
    out = malloc(views * sizeof(out[0]));
    if (out == NULL)
        return err_memory(err, views * sizeof(out[0]));
    for (size_t i = 0; i < views; i++)
        out[i] = b->out[i] + index * sheaf_pixels_bytes(b->pool, i);
    code = crop_pixels(plan, field->data, field->size, sample->seed, &b->pool->memory.room, out,
                       b->crops == NULL ? NULL : b->crops + index * plan->count, err);
    code = code != SHEAF_OK ? place_field(sample, field, err)
                            : crop_masks(b, sample, field, out, err);
    free(out);
    return code;
}

static uint64_t thread_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void end_crop_job(struct sheaf_pixels_batch *b)
{
    pthread_mutex_lock(&b->lock);
    if (--b->locked.unfinished == 0)
        pthread_cond_broadcast(&b->made);
    pthread_mutex_unlock(&b->lock);
}

static void pixels_pool_run(struct job *job)
{
    struct sheaf_pixels_batch *b = ((struct crop_job *)(void *)job)->batch;
    const uint64_t begun = thread_ns();
    size_t index;

    while ((index = b->next++) < b->count) {
        struct sheaf_error err;

        if (crop_sample(b, index, &err) == SHEAF_OK)
            continue;
        b->errors[index] = malloc(sizeof(err));
        if (b->errors[index] != NULL)
            *b->errors[index] = err;
        else
            b->errors[index] = &b->lacks_memory;
        b->bad++;
    }
    b->pool->busy_ns += thread_ns() - begun;
    end_crop_job(b);
}

/* ---- A batch --------------------------------------------------------------------------------- */

static int make_batch(struct sheaf_pixels_batch *b, const char *field, void *const *out,
                      struct sheaf_error *err)
{
    const size_t views = b->pool->plan.group_count * (b->pool->plan.mask_count + 1);

    b->field = field == NULL ? NULL : strdup(field);
    b->out = calloc(views, sizeof(b->out[0]));
    b->errors = calloc(b->count + 1, sizeof(b->errors[0]));
    b->jobs = calloc(b->pool->threads, sizeof(b->jobs[0]));
    if ((field != NULL && b->field == NULL) || b->out == NULL || b->errors == NULL ||
        b->jobs == NULL)
        return err_memory(err, b->count * sizeof(b->errors[0]));
    for (size_t i = 0; i < views; i++)
        b->out[i] = out[i];
    return SHEAF_OK;
}

int sheaf_pixels_begin(struct sheaf_pixels_pool *p, const struct sheaf_sample *samples,
                       size_t count, const char *field, void *const *out,
                       struct sheaf_crop_box *crops, struct sheaf_pixels_batch **batch,
                       struct sheaf_error *err)
{
    struct sheaf_pixels_batch *b = calloc(1, sizeof(*b));
    int code;

    if (b == NULL)
        return err_memory(err, sizeof(*b));
    b->pool = p;
    b->samples = samples;
    b->count = count;
    b->crops = crops;
    pthread_mutex_init(&b->lock, NULL);
    timed_cond_init(&b->made);
    (void)err_memory(&b->lacks_memory, sizeof(b->lacks_memory));
    code = make_batch(b, field, out, err);
    if (code != SHEAF_OK) {
        b->count = 0;               /* The list of errors may be missing. */
        sheaf_pixels_batch_free(b);
        return code;
    }
    b->job_count = b->locked.unfinished = MIN(count, p->threads);
    for (size_t i = 0; i < b->job_count; i++) {
        b->jobs[i] = (struct crop_job){ .job = { .run = pixels_pool_run }, .batch = b };
        workers_submit(p->workers, &b->jobs[i].job);
    }
    *batch = b;
    return SHEAF_OK;
}

size_t sheaf_pixels_wait(struct sheaf_pixels_batch *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->locked.unfinished != 0)
        pthread_cond_wait(&b->made, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return b->bad;
}

int sheaf_pixels_wait_for(struct sheaf_pixels_batch *b, uint64_t timeout_ns)
{
    const struct timespec deadline = wait_deadline(timeout_ns);
    bool is_made;

    pthread_mutex_lock(&b->lock);
    while (b->locked.unfinished != 0 && wait_until(&b->made, &b->lock, &deadline))
        ;
    is_made = b->locked.unfinished == 0;
    pthread_mutex_unlock(&b->lock);
    return is_made;
}

const struct sheaf_error *sheaf_pixels_error(const struct sheaf_pixels_batch *b, size_t i)
{
    return i < b->count ? b->errors[i] : NULL;
}

void sheaf_pixels_batch_free(struct sheaf_pixels_batch *b)
{
    if (b == NULL)
        return;
    b->next = b->count;             /* No job takes another sample. */
    /* Wait until the pool no longer uses the jobs, so that they can be freed. */
    for (size_t i = 0; i < b->job_count; i++)
        (void)workers_wait(b->pool->workers, &b->jobs[i].job);
    pthread_cond_destroy(&b->made);
    pthread_mutex_destroy(&b->lock);
    for (size_t i = 0; i < b->count; i++)
        if (b->errors[i] != &b->lacks_memory)
            free(b->errors[i]);
    free(b->errors);
    free(b->jobs);
    free(b->field);
    free(b->out);
    free(b);
}
