/* SPDX-License-Identifier: MIT
 *
 * The fake S3 service as a program, for tests in Python (tests/system/fake_s3.py):
 *
 *     fake_s3 FD
 *
 * The program prints its port. Then it reads commands from the standard input, one per line, and
 * answers each on the standard output. The words of a line are percent-encoded, so they have no
 * blanks. An empty word is written as "-". In a command or an answer, SIZE is followed by this
 * number of bytes after the line, and N by this number of lines. The program ends with its input.
 *
 *     put PATH SIZE ETAG META SUM SUM     ok          adds an object; empty: the usual ETag
 *     get PATH                            SIZE ETAG META SUM SUM, or none
 *     remove PATH                         1, or 0 if there was no such object
 *     list PREFIX                         N           the paths of the objects
 *     clear PREFIX                        ok          removes these objects
 *     uploads                             N           "ID PATH PARTS" of all unfinished uploads
 *     clear-uploads                       ok
 *     requests                            SIZE        see fake_s3_record
 *     forget                              ok          forgets these requests
 *     counts                              N           "FAULT COUNT"
 *     count NAME                          a number: "requests", "asked" or "slow"
 *     dialects                            N           the names of all dialects
 *     sum KIND SIZE                       a checksum of the bytes
 *     set NAME VALUE                      ok          see `switches`
 *     factor FAULT NUMBER                 ok          for the weight of the fault
 *
 * If a test chooses the faults, the program asks it over the socket FD for each request. The
 * question is a line "choose METHOD TARGET" or "served METHOD TARGET", the lines of the headers,
 * and an empty line. The answer is a line with the name of a fault, or an empty line for no fault.
 * The fault "slow" only delays the request, and the program counts how many requests are delayed
 * at the same time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "store/s3/s3_checksum.h"
#include "store/url.h"
#include "tests/common_fake_s3.h"

static struct fake_s3 s3;

static _Noreturn void fail_unknown(const char *kind, const char *name)
{
    fprintf(stderr, "fake_s3: there is no %s \"%s\"\n", kind, name);
    exit(1);
}

/* ---- Questions to the test ------------------------------------------------------------------- */

static FILE *questions, *replies;
static pthread_mutex_t question_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool asks_choose, asks_served;

static void ask(const char *what, const struct fake_request *r, char *reply, int size)
{
    pthread_mutex_lock(&question_lock);
    fprintf(questions, "%s %s %s%s%s\n%s\n", what, r->method, r->path,
            r->query[0] != '\0' ? "?" : "", r->query, r->headers);
    if (fflush(questions) != 0 || fgets(reply, size, replies) == NULL)
        exit(0);            /* the test has ended */
    reply[strcspn(reply, "\n")] = '\0';
    pthread_mutex_unlock(&question_lock);
}

static void served(void *context, const struct fake_request *r)
{
    char reply[64];

    (void)context;
    if (asks_served)
        ask("served", r, reply, sizeof(reply));
}

/* ---- Requests that wait ---------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t enough;
    unsigned hold;          /* ranges are held back until this number has been requested */
    char name[64];          /* a part of the keys of these objects */
    struct buf asked;       /* a line for each range that has been requested */
    unsigned asked_count;
    unsigned slow, most_slow;
} waits = { .lock = PTHREAD_MUTEX_INITIALIZER, .enough = PTHREAD_COND_INITIALIZER,
            .name = "shard-", .asked = BUF_INIT(1 << 24) };

static void delay(void)
{
    pthread_mutex_lock(&waits.lock);
    waits.slow++;
    waits.most_slow = MAX(waits.most_slow, waits.slow);
    pthread_mutex_unlock(&waits.lock);
    usleep(100000);
    pthread_mutex_lock(&waits.lock);
    waits.slow--;
    pthread_mutex_unlock(&waits.lock);
}

static bool exists(const char *encoded)
{
    char *path = strdup(encoded);
    bool found;

    fake_server_lock(s3.server);
    found = url_decode(path, false) && fake_s3_object(&s3, path) != NULL;
    fake_server_unlock(s3.server);
    free(path);
    return found;
}

/* Waits until enough ranges have been requested, if the request is for a range that is held. */
static void hold_range(const struct fake_request *r)
{
    char *range = fake_header(r, "range"), *line;

    pthread_mutex_lock(&waits.lock);
    if (waits.hold != 0 && range != NULL && strstr(r->path, waits.name) != NULL &&
        exists(r->path)) {
        if (asprintf(&line, "\n%s %s\n", r->path, range) < 0)
            abort();
        if (waits.asked.size == 0 ||
            memmem(waits.asked.data, waits.asked.size, line, strlen(line)) == NULL) {
            if (buf_append(&waits.asked, line, strlen(line), NULL) != SHEAF_OK)
                abort();
            waits.asked_count++;
        }
        free(line);
        pthread_cond_broadcast(&waits.enough);
        while (waits.asked_count < waits.hold)
            pthread_cond_wait(&waits.enough, &waits.lock);
    }
    pthread_mutex_unlock(&waits.lock);
    free(range);
}

static bool choose(void *context, const struct fake_request *r, struct fake_fault *fault)
{
    char name[64] = "";
    bool chosen = false;

    if (!asks_choose)
        chosen = fake_s3_choose(context, r, fault);
    else
        ask("choose", r, name, sizeof(name));
    if (strcmp(name, "slow") == 0) {
        delay();
    } else if (name[0] != '\0') {
        chosen = fake_s3_fault(&s3, name, fault);
        if (!chosen)
            fail_unknown("fault", name);
    }
    hold_range(r);
    return chosen;
}

/* ---- Switches -------------------------------------------------------------------------------- */

static void set_dialects(char *value)
{
    char *name;

    s3.dialects = 0;
    while ((name = strsep(&value, ",")) != NULL) {
        unsigned i = 0;

        if (name[0] == '\0')
            continue;           /* the list is empty */
        while (strcmp(name, fake_dialect_name(i)) != 0)
            if (fake_dialect_name(++i) == NULL)
                fail_unknown("dialect", name);
        s3.dialects |= UINT64_C(1) << i;
    }
}

static void set_checked(char *value)
{
    s3.chance.is_inverted = value[0] == '!';
    regfree(&s3.chance.checked);
    if (regcomp(&s3.chance.checked, value + s3.chance.is_inverted, REG_EXTENDED) != 0)
        abort();
}

static void set_lines(char **lines, const char *value)
{
    free(*lines);
    *lines = strdup(value);
}

static void set_every(char *value)
{
    set_lines(&s3.every, value);
}

static void set_new(char *value)
{
    set_lines(&s3.new, value);
}

static void set_percent(char *value)
{
    s3.chance.percent = strtod(value, NULL);
    s3.chance.storm = 0;
}

static void set_seed(char *value)
{
    fake_chance_seed(&s3.chance, strtoull(value, NULL, 10));
}

static const struct {
    const char *name;
    bool *is_set;
    void (*set)(char *value);
} switches[] = {
    { "percent", NULL, set_percent },   /* see struct fake_chance */
    { "seed", NULL, set_seed },
    { "lies", &s3.chance.lies, NULL },
    { "checked", NULL, set_checked },   /* a regular expression, inverted after "!" */
    { "dialects", NULL, set_dialects }, /* names with commas */
    { "every", NULL, set_every },       /* see struct fake_s3 */
    { "new", NULL, set_new },
    { "lock", &s3.lock, NULL },
    { "needs_md5", &s3.needs_md5, NULL },
    { "sums_of_parts", &s3.sums_of_parts, NULL },
    { "kms", &s3.kms, NULL },
};

static void set_switch(const char *name, char *value)
{
    size_t i = 0;

    while (strcmp(switches[i].name, name) != 0)
        if (++i == COUNT_OF(switches))
            fail_unknown("switch", name);
    fake_server_lock(s3.server);
    if (switches[i].set != NULL)
        switches[i].set(value);
    else
        *switches[i].is_set = strcmp(value, "1") == 0;
    fake_server_unlock(s3.server);
}

/* Sets a switch of the program itself, whose lock is not the service's. Returns false if there is
 * none of this name. */
static bool set_own(const char *name, const char *value)
{
    bool found = true;

    pthread_mutex_lock(&waits.lock);
    if (strcmp(name, "hold") == 0) {
        waits.hold = (unsigned)strtoul(value, NULL, 10);
        waits.asked_count = 0;
        waits.asked.size = 0;
        pthread_cond_broadcast(&waits.enough);
    } else if (strcmp(name, "held_name") == 0) {
        snprintf(waits.name, sizeof(waits.name), "%s", value);
    } else if (strcmp(name, "slow") == 0) {
        waits.most_slow = 0;
    } else if (strcmp(name, "continues") == 0) {
        fake_server_continues(s3.server, strcmp(value, "1") == 0);
    } else if (strcmp(name, "choose") == 0) {
        asks_choose = strcmp(value, "1") == 0;
    } else if (strcmp(name, "served") == 0) {
        asks_served = strcmp(value, "1") == 0;
    } else {
        found = false;
    }
    pthread_mutex_unlock(&waits.lock);
    return found;
}

static void do_set(char **words)
{
    if (!set_own(words[0], words[1]))
        set_switch(words[0], words[1]);
    printf("ok\n");
}

static void do_factor(char **words)
{
    if (!fake_chance_factor(&s3.chance, words[0], strtod(words[1], NULL)))
        fail_unknown("fault", words[0]);
    printf("ok\n");
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* Prints a text as a word. An empty text becomes "-". */
static void print_word(const char *before, const char *text)
{
    struct buf out = BUF_INIT(1 << 20);

    if (url_encode(&out, text, true, NULL) != SHEAF_OK)
        abort();
    if (out.size == 0)
        printf("%s-", before);
    else
        printf("%s%.*s", before, (int)out.size, (const char *)out.data);
    buf_free(&out);
}

static uint8_t *read_bytes(const char *size_text, size_t *size)
{
    uint8_t *data;

    *size = strtoull(size_text, NULL, 10);
    data = malloc(*size + 1);
    if (fread(data, 1, *size, stdin) != *size)
        exit(1);
    return data;
}

static void do_put(char **words)
{
    size_t size;
    uint8_t *data = read_bytes(words[1], &size);
    struct fake_object *o = fake_s3_add_locked(&s3, words[0], data, size);

    if (words[2][0] != '\0')
        snprintf(o->etag, sizeof(o->etag), "%s", words[2]);
    o->meta = strdup(words[3]);
    for (unsigned i = 0; i < FAKE_SUMS; i++)
        snprintf(o->sums.text[i], sizeof(o->sums.text[i]), "%s", words[4 + i]);
    printf("ok\n");
}

static void do_get(char **words)
{
    const struct fake_object *o;

    o = fake_s3_object(&s3, words[0]);
    if (o == NULL) {
        printf("none\n");
    } else {
        printf("%zu", o->size);
        print_word(" ", o->etag);
        print_word(" ", o->meta != NULL ? o->meta : "");
        for (unsigned i = 0; i < FAKE_SUMS; i++)
            print_word(" ", o->sums.text[i]);
        printf("\n");
        fwrite(o->data, 1, o->size, stdout);
    }
}

static void do_remove(char **words)
{
    printf("%d\n", fake_s3_remove_locked(&s3, words[0]));
}

static bool is_below(const struct fake_object *o, const char *prefix)
{
    return strncmp(o->path, prefix, strlen(prefix)) == 0;
}

static void do_list(char **words)
{
    size_t count = 0;

    for (const struct fake_object *o = s3.objects; o != NULL; o = o->next)
        count += is_below(o, words[0]);
    printf("%zu\n", count);
    for (const struct fake_object *o = s3.objects; o != NULL; o = o->next)
        if (is_below(o, words[0])) {
            print_word("", o->path);
            printf("\n");
        }
}

static void do_clear(char **words)
{
    struct fake_object *next;

    for (struct fake_object *o = s3.objects; o != NULL; o = next) {
        next = o->next;
        if (is_below(o, words[0]))
            fake_s3_remove_locked(&s3, o->path);
    }
    printf("ok\n");
}

static void do_uploads(char **words)
{
    (void)words;
    printf("%u\n", fake_s3_uploads(&s3));
    for (const struct fake_upload *u = s3.uploads; u != NULL; u = u->next) {
        unsigned parts = 0;

        for (size_t i = 0; i < COUNT_OF(u->parts); i++)
            parts += u->parts[i].data != NULL;
        print_word("", u->id);
        print_word(" ", u->path);
        printf(" %u\n", parts);
    }
}

static void do_clear_uploads(char **words)
{
    (void)words;
    fake_s3_clear_uploads_locked(&s3);
    printf("ok\n");
}

/* ---- What happened --------------------------------------------------------------------------- */

static void do_requests(char **words)
{
    (void)words;
    if (!s3.records) {
        fprintf(stderr, "fake_s3: there were too many requests to keep them\n");
        exit(1);
    }
    printf("%zu\n", s3.requests.size);
    if (s3.requests.size != 0)
        fwrite(s3.requests.data, 1, s3.requests.size, stdout);
}

static void do_forget(char **words)
{
    (void)words;
    s3.requests.size = 0;
    s3.records = true;
    printf("ok\n");
}

static void do_counts(char **words)
{
    unsigned count = 0;

    (void)words;
    while (fake_chance_name(count) != NULL)
        count++;
    printf("%u\n", count);
    for (unsigned i = 0; i < count; i++) {
        print_word("", fake_chance_name(i));
        printf(" %u\n", s3.chance.counts[i]);
    }
}

static void do_count(char **words)
{
    unsigned count;

    if (strcmp(words[0], "requests") == 0) {
        count = fake_server_requests(s3.server);
    } else {
        pthread_mutex_lock(&waits.lock);
        count = strcmp(words[0], "asked") == 0 ? waits.asked_count : waits.most_slow;
        pthread_mutex_unlock(&waits.lock);
    }
    printf("%u\n", count);
}

static void do_dialects(char **words)
{
    unsigned count = 0;

    (void)words;
    while (fake_dialect_name(count) != NULL)
        count++;
    printf("%u\n", count);
    for (unsigned i = 0; i < count; i++)
        printf("%s\n", fake_dialect_name(i));
}

static void do_sum(char **words)
{
    size_t size;
    uint8_t *data = read_bytes(words[1], &size);
    char text[24];

    fake_sum(strcmp(fake_sum_kinds[0]->name, words[0]) == 0 ? 0 : 1, data, size, text);
    free(data);
    printf("%s\n", text);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned words;
    bool is_locked;         /* is run while the service handles no request */
    void (*run)(char **words);
} commands[] = {
    { "put", 6, true, do_put }, { "get", 1, true, do_get }, { "remove", 1, true, do_remove },
    { "list", 1, true, do_list }, { "clear", 1, true, do_clear },
    { "uploads", 0, true, do_uploads }, { "clear-uploads", 0, true, do_clear_uploads },
    { "requests", 0, true, do_requests }, { "forget", 0, true, do_forget },
    { "counts", 0, true, do_counts }, { "count", 1, false, do_count },
    { "dialects", 0, true, do_dialects }, { "sum", 2, false, do_sum },
    { "set", 2, false, do_set }, { "factor", 2, true, do_factor },
};

static bool obey(char *line)
{
    char *name, *words[6];
    unsigned count = 0;

    line[strcspn(line, "\n")] = '\0';
    name = strsep(&line, " ");
    for (; count < COUNT_OF(words) && (words[count] = strsep(&line, " ")) != NULL; count++) {
        if (strcmp(words[count], "-") == 0)
            words[count][0] = '\0';
        if (!url_decode(words[count], false))
            return false;
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, name) == 0 && commands[i].words == count) {
            if (commands[i].is_locked)
                fake_server_lock(s3.server);
            commands[i].run(words);
            if (commands[i].is_locked)
                fake_server_unlock(s3.server);
            return fflush(stdout) == 0;
        }
    return false;
}

int main(int argc, char **argv)
{
    const int fd = argc == 2 ? (int)strtol(argv[1], NULL, 10) : -1;
    char *line = NULL;
    size_t room = 0;

    questions = fdopen(fd, "w");
    replies = fdopen(dup(fd), "r");
    if (questions == NULL || replies == NULL) {
        fprintf(stderr, "usage: fake_s3 FD\n");
        return 2;
    }
    fake_s3_start(&s3);
    fake_server_watch(s3.server, choose, served);
    fake_s3_set(&s3, (s3.any_key = s3.records = true, s3.page = 50));
    printf("%u\n", fake_server_port(s3.server));
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0)
        if (!obey(line)) {
            fprintf(stderr, "fake_s3: the command \"%s\" is wrong\n", line);
            return 1;
        }
    exit(0);        /* without waiting for requests in progress */
}
