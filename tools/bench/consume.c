/* SPDX-License-Identifier: MIT
 *
 * consume: imitates a training program whose computing takes a fixed time, and measures how long it
 * waits for data. The program has three forms: consume RATE EPOCHS SECONDS channel ROOT; consume
 * RATE EPOCHS SECONDS files WORKERS LIST; consume RATE EPOCHS SECONDS urls WORKERS LIST.
 *
 * With "channel", the library reads the channel "train" under the directory ROOT (see sheaf.h),
 * shuffled. With "files", each line of the file LIST is the path of a file with one sample, and
 * WORKERS threads read the files ahead in a random order. With "urls", the lines are HTTP URLs
 * instead.
 *
 * The program takes BATCH samples and then waits for BATCH / RATE seconds, as if a GPU computed. If
 * it is not finished after SECONDS seconds, it ends early. It prints a line of JSON, which has the
 * wait for the first batch ("first") and the sum of the waits for all other batches ("stall"). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "sheaf.h"
#include "tools/bench/meter.h"

#define BATCH       32u
#define BUFFER      1000u       /* samples to shuffle among */
#define AHEAD       512u        /* samples that workers read ahead */
#define WORKERS_MOST 64
#define LINE_BYTES  4096

/* ---- The consumer --------------------------------------------------------------------------- */

struct consumer {
    double rate;                /* samples a second */
    uint64_t end_ns;            /* to end early then */
    uint64_t asked_ns;          /* when it began to wait */
    uint64_t first_ns;          /* 0: no batch yet */
    uint64_t stall_ns, train_ns;
    uint64_t samples, bytes;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void print(const struct consumer *c)
{
    printf("{\"first\": %.6f, \"stall\": %.6f, \"train\": %.6f, \"samples\": %" PRIu64
           ", \"bytes\": %" PRIu64 ", \"ended\": %d}\n",
           (double)c->first_ns * 1e-9, (double)c->stall_ns * 1e-9, (double)c->train_ns * 1e-9,
           c->samples, c->bytes, c->asked_ns >= c->end_ns);
}

/* Computes for one batch, then waits for the next. */
static void consume(struct consumer *c, size_t count)
{
    const uint64_t came = now_ns();
    const uint64_t compute_ns = (uint64_t)((double)count / c->rate * 1e9);
    const uint64_t end = came + compute_ns;
    const struct timespec t = { (time_t)(end / 1000000000), (long)(end % 1000000000) };

    if (c->first_ns == 0)
        c->first_ns = came - c->asked_ns;
    else
        c->stall_ns += came - c->asked_ns;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
    c->samples += count;
    c->train_ns += compute_ns;
    c->asked_ns = now_ns();
    if (c->asked_ns < c->end_ns)
        return;
    print(c);
    fflush(stdout);
    _exit(0);                   /* the workers and the library are still running */
}

/* ---- Through the library -------------------------------------------------------------------- */

static void read_epoch(struct consumer *c, struct sheaf_reader *reader)
{
    const struct sheaf_sample *samples;
    size_t count;
    int code;

    while ((code = sheaf_reader_next_batch(reader, BATCH, &samples, &count)) == SHEAF_OK) {
        for (size_t i = 0; i < count; i++)
            for (size_t f = 0; f < samples[i].field_count; f++)
                c->bytes += samples[i].fields[f].size;
        consume(c, count);
    }
    if (code != SHEAF_END)
        meter_die("sheaf_reader_next_batch", sheaf_reader_error(reader)->message);
}

static void read_channel(struct consumer *c, const char *root, uint64_t epochs)
{
    struct sheaf_channel_options where;
    struct sheaf_reader_options options;
    struct sheaf_channel *channel;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_error error;

    sheaf_channel_options_init(&where, sizeof(where));
    where.root = root;
    sheaf_reader_options_init(&options, sizeof(options));
    options.shuffle_buffer = BUFFER;
    if (sheaf_channel_open("train", &where, &channel, &error) != SHEAF_OK ||
        sheaf_channel_dataset(channel, &dataset, &error) != SHEAF_OK ||
        sheaf_reader_open(dataset, &options, &reader, &error) != SHEAF_OK)
        meter_die("train", error.message);
    for (uint64_t epoch = 0; epoch < epochs; epoch++) {
        if (epoch > 0 && sheaf_reader_begin_epoch(reader, epoch) != SHEAF_OK)
            meter_die("sheaf_reader_begin_epoch", sheaf_reader_error(reader)->message);
        read_epoch(c, reader);
    }
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    sheaf_channel_free(channel);
}

/* ---- A file or object a sample -------------------------------------------------------------- */

struct loader {
    char **names;               /* the lines */
    size_t count;
    bool is_url;
    uint64_t total;             /* samples of all epochs */
    size_t *order;              /* of one epoch after another */
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    struct {                    /* guarded by mutex: */
        uint64_t next;          /* the next sample that no worker has taken */
        uint64_t consumed;
        /* done[n % AHEAD] says whether sample number n was loaded into memory */
        bool done[AHEAD];
        uint64_t bytes;
    } locked;
};

struct answer {
    size_t bytes;
};

static size_t count_bytes(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    ((struct answer *)context)->bytes += size * count;
    return size * count;
}

static size_t get_url(CURL *curl, const char *url)
{
    struct answer answer = { 0 };
    CURLcode code;

    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, count_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    code = curl_easy_perform(curl);
    if (code != CURLE_OK)
        meter_die(url, curl_easy_strerror(code));
    return answer.bytes;
}

static size_t get_file(const char *path)
{
    static _Thread_local char piece[1 << 18];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = 0;
    ssize_t n;

    if (fd < 0)
        meter_die(path, strerror(errno));
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        bytes += (size_t)n;
    if (n < 0)
        meter_die(path, strerror(errno));
    close(fd);
    return bytes;
}

static void *work(void *context)
{
    struct loader *const l = context;
    CURL *const curl = l->is_url ? curl_easy_init() : NULL;

    for (;;) {
        uint64_t number;
        size_t bytes;

        pthread_mutex_lock(&l->mutex);
        while (l->locked.next < l->total && l->locked.next >= l->locked.consumed + AHEAD)
            pthread_cond_wait(&l->moved, &l->mutex);
        number = l->locked.next++;
        pthread_mutex_unlock(&l->mutex);
        if (number >= l->total)
            break;
        bytes = l->is_url ? get_url(curl, l->names[l->order[number]])
                          : get_file(l->names[l->order[number]]);
        pthread_mutex_lock(&l->mutex);
        l->locked.done[number % AHEAD] = true;
        l->locked.bytes += bytes;
        pthread_cond_broadcast(&l->moved);
        pthread_mutex_unlock(&l->mutex);
    }
    if (curl)
        curl_easy_cleanup(curl);
    return NULL;
}

/* Waits until all samples of the next batch are loaded. `count` is the number of samples that are
 * left in the epoch. */
static void take_batch(struct loader *l, size_t count)
{
    pthread_mutex_lock(&l->mutex);
    for (size_t i = 0; i < count; i++) {
        const size_t place = l->locked.consumed % AHEAD;

        while (!l->locked.done[place])
            pthread_cond_wait(&l->moved, &l->mutex);
        l->locked.done[place] = false;
        l->locked.consumed++;
        pthread_cond_broadcast(&l->moved);
    }
    pthread_mutex_unlock(&l->mutex);
}

static void read_lines(struct loader *l, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_BYTES];

    if (!file)
        meter_die(path, strerror(errno));
    while (fgets(line, sizeof(line), file)) {
        l->names = realloc(l->names, (l->count + 1) * sizeof(*l->names));
        line[strcspn(line, "\n")] = '\0';
        if (!l->names || !(l->names[l->count++] = strdup(line)))
            meter_die(path, strerror(ENOMEM));
    }
    fclose(file);
    if (l->count == 0)
        meter_die(path, "is empty");
}

/* Makes a new random order for each epoch. */
static void make_order(struct loader *l, uint64_t epochs)
{
    unsigned short state[3] = { 1, 2, 3 };

    l->total = l->count * epochs;
    l->order = malloc(l->total * sizeof(*l->order));
    if (!l->order)
        meter_die("order", strerror(ENOMEM));
    for (uint64_t i = 0; i < l->total; i++) {
        const size_t place = i % l->count;
        const uint64_t other = i - place + (uint64_t)nrand48(state) % (place + 1);

        l->order[i] = l->order[other];
        l->order[other] = place;
    }
}

static void load(struct consumer *c, bool is_url, uint64_t workers, const char *list,
                 uint64_t epochs)
{
    struct loader l = { .is_url = is_url, .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .moved = PTHREAD_COND_INITIALIZER };
    pthread_t threads[WORKERS_MOST];

    if (workers == 0 || workers > WORKERS_MOST)
        meter_die("consume", "too many workers, or none");
    read_lines(&l, list);
    make_order(&l, epochs);
    for (uint64_t i = 0; i < workers; i++)
        if (pthread_create(&threads[i], NULL, work, &l) != 0)
            meter_die("consume", "cannot make a thread");
    for (uint64_t left = l.total; left > 0;) {
        const size_t count = left < BATCH ? (size_t)left : BATCH;

        take_batch(&l, count);
        consume(c, count);
        left -= count;
    }
    for (uint64_t i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    c->bytes = l.locked.bytes;
    for (size_t i = 0; i < l.count; i++)
        free(l.names[i]);
    free(l.names);
    free(l.order);
}

int main(int argc, char **argv)
{
    struct consumer c = { .asked_ns = now_ns() };
    uint64_t epochs;

    if (argc < 6)
        meter_die(argv[0], "usage: consume RATE EPOCHS SECONDS channel|files|urls ...");
    c.rate = (double)meter_number(argv[1]);
    epochs = meter_number(argv[2]);
    c.end_ns = c.asked_ns + meter_number(argv[3]) * 1000000000;
    if (strcmp(argv[4], "channel") == 0)
        read_channel(&c, argv[5], epochs);
    else if (argc == 7)
        load(&c, strcmp(argv[4], "urls") == 0, meter_number(argv[5]), argv[6], epochs);
    else
        meter_die(argv[4], "needs WORKERS and LIST");
    print(&c);
    return 0;
}
