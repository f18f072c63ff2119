/* SPDX-License-Identifier: MIT
 *
 * curl_ranges CONNECTIONS ITEMS LIST: the limit of reading ranges over HTTP: a bare loop over
 * libcurl's multi interface, which copies what comes into memory and looks at nothing.  A line of
 * the list is "FIRST LAST URL"; an empty line waits for all that came before.  What stands before
 * the first empty line is not in the time, as it opens connections. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/meter.h"

#define RANGES_MOST 4096
#define RANGE_BYTES ((size_t)9 << 20)

struct transfer {
    CURL *easy;
    char *memory;           /* RANGE_BYTES, used again and again */
    size_t used;
    char range[64];
};

struct loop {
    CURLM *multi;
    struct transfer transfers[RANGES_MOST];
    size_t count;           /* since the last empty line */
    struct meter meter;
};

static size_t copy(char *data, size_t size, size_t count, void *context)
{
    struct transfer *t = context;

    if (t->used + size * count > RANGE_BYTES)
        return 0;
    memcpy(t->memory + t->used, data, size * count);
    t->used += size * count;
    return size * count;
}

static void add(struct loop *loop, uint64_t first, uint64_t last, const char *url)
{
    struct transfer *t = &loop->transfers[loop->count];

    if (loop->count++ == RANGES_MOST)
        meter_die(url, "too many ranges at once");
    if (t->easy == NULL) {
        t->easy = curl_easy_init();
        t->memory = malloc(RANGE_BYTES);
        if (t->easy == NULL || t->memory == NULL)
            meter_die(url, "out of memory");
        curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, copy);
        curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
        curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, 512L << 10);
        curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
        curl_easy_setopt(t->easy, CURLOPT_FAILONERROR, 1L);
    }
    t->used = 0;
    snprintf(t->range, sizeof(t->range), "%lu-%lu", first, last);
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    curl_easy_setopt(t->easy, CURLOPT_RANGE, t->range);
    curl_multi_add_handle(loop->multi, t->easy);
}

static void wait_for_all(struct loop *loop)
{
    int running = 1, left;
    CURLMsg *message;

    while (running != 0) {
        if (curl_multi_perform(loop->multi, &running) != CURLM_OK ||
            (running != 0 && curl_multi_poll(loop->multi, NULL, 0, 1000, NULL) != CURLM_OK))
            meter_die("curl_multi", "failed");
    }
    while ((message = curl_multi_info_read(loop->multi, &left)) != NULL)
        if (message->msg == CURLMSG_DONE && message->data.result != CURLE_OK)
            meter_die("curl", curl_easy_strerror(message->data.result));
    for (size_t i = 0; i < loop->count; i++) {
        loop->meter.bytes += loop->transfers[i].used;
        curl_multi_remove_handle(loop->multi, loop->transfers[i].easy);
    }
    loop->count = 0;
}

int main(int argc, char **argv)
{
    static struct loop loop;
    static char line[8192], url[8192];
    FILE *list = argc == 4 ? fopen(argv[3], "r") : NULL;
    int is_warm = 0;

    if (list == NULL)
        meter_die(argv[0], "usage: curl_ranges CONNECTIONS ITEMS LIST");
    loop.multi = curl_multi_init();
    curl_multi_setopt(loop.multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)meter_number(argv[1]));
    while (fgets(line, sizeof(line), list) != NULL) {
        uint64_t first, last;

        if (sscanf(line, "%lu %lu %8191s", &first, &last, url) == 3) {
            add(&loop, first, last, url);
            continue;
        }
        wait_for_all(&loop);
        if (!is_warm)
            meter_begin(&loop.meter);
        is_warm = 1;
    }
    loop.meter.items = meter_number(argv[2]);
    meter_print(&loop.meter);
    fclose(list);
    return 0;
}
