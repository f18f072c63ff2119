/* SPDX-License-Identifier: MIT
 *
 * curl_loop CONNECTIONS ITEMS LIST [--check] [CACERT]: measures the highest speed at which bytes
 * can be moved over HTTP. The program is a loop over libcurl's multi interface in one thread. Each
 * connection has one transfer at a time, and memory is reused.
 *
 * Each line of the file LIST is one transfer. "FIRST LAST URL" copies a range of bytes into memory.
 * "PUT FILE URL" reads a file into memory and sends it. "POST FILE URL" sends a file and ignores
 * the response. At an empty line, the program waits until all earlier transfers are done. The lines
 * before the first empty line are not timed, because they open connections.
 *
 * With --check, the program computes the checksums that a reliable program needs: the CRC-32C of
 * received bytes, and the CRC-64/NVME of sent bytes. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>

#include "base/crc64.h"
#include "tools/bench/meter.h"

#define CONNECTIONS_MOST 256
#define PIECE_BYTES ((size_t)9 << 20)   /* largest range or part */
#define CURL_BYTES (512L << 10)

struct transfer {
    CURL *easy;
    unsigned char *memory;  /* PIECE_BYTES, used again and again */
    size_t used, wanted;    /* bytes transferred, and all bytes */
    int is_upload, is_post;
    char range[64];
};

struct loop {
    CURLM *multi;
    FILE *list;
    struct transfer transfers[CONNECTIONS_MOST];
    struct transfer *idle[CONNECTIONS_MOST];
    size_t idle_count, running;
    struct curl_slist *no_expect;
    int with_crc;
    uint64_t crc;
    struct meter meter;
};

static size_t copy(char *data, size_t size, size_t count, void *context)
{
    struct transfer *t = context;

    if (t->is_post)
        return size * count;
    if (t->used + size * count > PIECE_BYTES)
        return 0;
    memcpy(t->memory + t->used, data, size * count);
    t->used += size * count;
    return size * count;
}

static size_t give(char *data, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    const size_t left = t->wanted - t->used, piece = size * count < left ? size * count : left;

    memcpy(data, t->memory + t->used, piece);
    t->used += piece;
    return piece;
}

static void make_transfers(struct loop *loop, size_t count, const char *cacert)
{
    if (count == 0 || count > CONNECTIONS_MOST)
        meter_die("CONNECTIONS", "not from 1 to 256");
    for (size_t i = 0; i < count; i++) {
        struct transfer *t = &loop->transfers[i];

        t->easy = curl_easy_init();
        t->memory = malloc(PIECE_BYTES);
        if (t->easy == NULL || t->memory == NULL)
            meter_die("transfers", "out of memory");
        curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, copy);
        curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
        curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, give);
        curl_easy_setopt(t->easy, CURLOPT_READDATA, t);
        curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
        curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, loop->no_expect);
        curl_easy_setopt(t->easy, CURLOPT_UPLOAD_BUFFERSIZE, CURL_BYTES);
        curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, CURL_BYTES);
        curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
        curl_easy_setopt(t->easy, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
        if (cacert != NULL)
            curl_easy_setopt(t->easy, CURLOPT_CAINFO, cacert);
        loop->idle[loop->idle_count++] = t;
    }
}

static void start(struct loop *loop, struct transfer *t, const char *url)
{
    t->used = 0;
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    curl_multi_add_handle(loop->multi, t->easy);
    loop->idle_count--;
    loop->running++;
}

static void start_range(struct loop *loop, uint64_t first, uint64_t last, const char *url)
{
    struct transfer *t = loop->idle[loop->idle_count - 1];

    t->wanted = (size_t)(last - first + 1);
    snprintf(t->range, sizeof(t->range), "%lu-%lu", first, last);
    curl_easy_setopt(t->easy, CURLOPT_RANGE, t->range);
    start(loop, t, url);
}

static void read_file(struct transfer *t, const char *path)
{
    FILE *file = fopen(path, "r");

    if (file == NULL)
        meter_die(path, "cannot be opened");
    setvbuf(file, NULL, _IONBF, 0);
    t->wanted = fread(t->memory, 1, PIECE_BYTES, file);
    fclose(file);
}

static void start_upload(struct loop *loop, const char *path, const char *url)
{
    struct transfer *t = loop->idle[loop->idle_count - 1];

    read_file(t, path);
    t->is_upload = 1;
    if (loop->with_crc)
        loop->crc ^= crc64_nvme(0, t->memory, t->wanted);
    curl_easy_setopt(t->easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(t->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->wanted);
    start(loop, t, url);
}

static void start_post(struct loop *loop, const char *path, const char *url)
{
    struct transfer *t = loop->idle[loop->idle_count - 1];

    read_file(t, path);
    t->is_post = 1;
    curl_easy_setopt(t->easy, CURLOPT_UPLOAD, 0L);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE, (long)t->wanted);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->memory);
    start(loop, t, url);
}

static void finish(struct loop *loop, CURL *easy, CURLcode result)
{
    struct transfer *t;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t);
    if (result != CURLE_OK)
        meter_die("curl", curl_easy_strerror(result));
    if (!t->is_post) {
        if (t->used != t->wanted)
            meter_die("transfer", "another number of bytes");
        if (loop->with_crc && !t->is_upload)
            loop->crc ^= crc32_iscsi(t->memory, (int)t->used, 0);
        loop->meter.bytes += t->used;
    }
    curl_multi_remove_handle(loop->multi, easy);
    loop->idle[loop->idle_count++] = t;
    loop->running--;
}

/* Runs until at least one transfer is done. */
static void advance(struct loop *loop)
{
    const size_t before = loop->running;
    CURLMsg *message;
    int running, left;

    while (loop->running == before) {
        if (curl_multi_perform(loop->multi, &running) != CURLM_OK)
            meter_die("curl_multi_perform", "failed");
        while ((message = curl_multi_info_read(loop->multi, &left)) != NULL)
            if (message->msg == CURLMSG_DONE)
                finish(loop, message->easy_handle, message->data.result);
        if (loop->running == before &&
            curl_multi_poll(loop->multi, NULL, 0, 1000, NULL) != CURLM_OK)
            meter_die("curl_multi_poll", "failed");
    }
}

/* Begins the transfer that a line of the file LIST describes. Returns 0 if the line is empty. */
static int start_line(struct loop *loop, const char *line)
{
    static char path[4096], url[8192];
    uint64_t first, last;

    if (loop->idle_count == 0)
        advance(loop);
    if (sscanf(line, "%lu %lu %8191s", &first, &last, url) == 3)
        start_range(loop, first, last, url);
    else if (sscanf(line, "PUT %4095s %8191s", path, url) == 2)
        start_upload(loop, path, url);
    else if (sscanf(line, "POST %4095s %8191s", path, url) == 2)
        start_post(loop, path, url);
    else
        return 0;
    return 1;
}

static void read_list(struct loop *loop)
{
    static char line[8192 + 4096];
    int is_warm = 0;

    while (fgets(line, sizeof(line), loop->list) != NULL) {
        if (start_line(loop, line))
            continue;
        while (loop->running != 0)
            advance(loop);
        if (!is_warm) {
            loop->meter.bytes = 0;
            meter_begin(&loop->meter);
        }
        is_warm = 1;
    }
    while (loop->running != 0)
        advance(loop);
}

int main(int argc, char **argv)
{
    static struct loop loop;
    int at = 4;

    loop.list = argc >= 4 ? fopen(argv[3], "r") : NULL;
    if (loop.list == NULL)
        meter_die(argv[0], "usage: curl_loop CONNECTIONS ITEMS LIST [--check] [CACERT]");
    loop.with_crc = argc > at && strcmp(argv[at], "--check") == 0;
    at += loop.with_crc;
    loop.multi = curl_multi_init();
    loop.no_expect = curl_slist_append(NULL, "Expect:");
    make_transfers(&loop, meter_number(argv[1]), argc > at ? argv[at] : NULL);
    read_list(&loop);
    loop.meter.items = meter_number(argv[2]);
    meter_print(&loop.meter);
    fclose(loop.list);
    return 0;
}
