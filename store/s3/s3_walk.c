/* SPDX-License-Identifier: MIT
 *
 * Lists all objects under a prefix, with several listings at the same time. A single listing of a
 * million keys would take minutes: a page has at most a thousand keys, and can be requested only
 * when the page before it has arrived.
 *
 * Prefixes are split at their slashes until there are at least LANES prefixes. For example,
 * "images/" is split into "images/cat/", "images/dog/" and so on. A prefix with more entries than
 * fit on one page is not split, because that could take more requests than it saves.
 *
 * Then up to LANES prefixes are listed at the same time. Each of these listings is called a lane.
 * The caller's thread calls `each` for all entries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/inflight.h"
#include "store/etag.h"
#include "store/interrupt.h"
#include "store/s3/credentials.h"
#include "store/s3/s3.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_pages.h"
#include "store/s3/s3_xml.h"

#define LANES 16
#define SPLITS_MOST 64

struct prefix_walk;

/* A prefix that is being listed. */
struct walk_lane {
    struct inflight_item item;  /* the first member */
    struct s3_page_request request;
    struct prefix_walk *walk;
    char *prefix;
    char *token;                /* token of the next page; NULL for the first */
    struct s3_pages pages;      /* that came so far */
    bool is_split;              /* asked for with a delimiter */
};

struct prefix_walk {
    const struct s3_bucket *bucket;
    size_t root_size;           /* of the prefix where it begins */
    store_entry_fn *each;
    void *context;
    char **waiting;             /* prefixes */
    size_t waiting_count, waiting_capacity;
    unsigned splits;
    bool no_split;              /* prefixes from here on are listed completely */
    struct walk_lane lanes[LANES];
    struct inflight window;     /* of lanes */
};

/* Adds a prefix to the prefixes that must be listed. Takes over the string `prefix`, even after a
 * failure. */
static int push_prefix(struct prefix_walk *w, char *prefix, struct sheaf_error *err)
{
    if (w->waiting_count == w->waiting_capacity) {
        const size_t capacity = MAX(2 * w->waiting_capacity, (size_t)64);
        char **grown = reallocarray(w->waiting, capacity, sizeof(*grown));

        if (grown != NULL) {
            w->waiting = grown;
            w->waiting_capacity = capacity;
        }
    }
    if (prefix == NULL || w->waiting_count == w->waiting_capacity) {
        free(prefix);
        return err_memory(err, 64);
    }
    w->waiting[w->waiting_count++] = prefix;
    return SHEAF_OK;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Is called on the thread of the HTTP engine when a request for a page of a listing has ended
 * (request.done). */
static void page_done(struct request *r)
{
    inflight_done((struct inflight_item *)(void *)((char *)r - offsetof(struct walk_lane,
                                                                        request)));
}

static void s3_walk_cancel(struct inflight_item *item)
{
    request_cancel(&((struct walk_lane *)item)->request.base);
}

static void end_lane(struct walk_lane *lane)
{
    free(lane->prefix);
    free(lane->token);
    s3_pages_free(&lane->pages);
    lane->prefix = lane->token = NULL;
    inflight_add(&lane->walk->window, &lane->item);
}

static int start_page(struct walk_lane *lane, struct sheaf_error *err)
{
    struct sigv4_pair query[5] = {
        { "list-type", "2" }, { "encoding-type", "url" }, { "prefix", lane->prefix },
    };
    size_t count = 3;
    int code;

    if (lane->is_split)
        query[count++] = (struct sigv4_pair){ "delimiter", "/" };
    if (lane->token != NULL)
        query[count++] = (struct sigv4_pair){ "continuation-token", lane->token };
    code = s3_page_init(&lane->request, lane->walk->bucket, lane->prefix, query, count, err);
    lane->request.base.done = page_done;
    if (code != SHEAF_OK) {
        request_free(&lane->request.base);
        end_lane(lane);
        return code;
    }
    inflight_begin(&lane->walk->window, &lane->item);
    request_start(&lane->request.base);
    return SHEAF_OK;
}

/* Assigns waiting prefixes to idle lanes. */
static int fill_lanes(struct prefix_walk *w, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && w->waiting_count != 0 && w->window.count < LANES) {
        struct walk_lane *lane = (struct walk_lane *)inflight_idle(&w->window);

        lane->prefix = w->waiting[--w->waiting_count];
        w->no_split |= w->splits++ == SPLITS_MOST;
        lane->is_split = !w->no_split;
        code = start_page(lane, err);
    }
    return code;
}

/* ---- Entries --------------------------------------------------------------------------------- */

struct parsing {
    struct walk_lane *lane;
    const struct s3_xml_page *page;
};

static int64_t seconds_of(const char *modified)
{
    int64_t ms;

    return modified != NULL && credentials_parse_time(modified, &ms) ? ms / 1000 : 0;
}

static int s3_walk_take_entry(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    const struct parsing *p = context;
    struct prefix_walk *w = p->lane->walk;
    const size_t size = strlen(entry->key), prefix_size = strlen(p->lane->prefix);
    const struct store_entry found = {
        .name = entry->key + w->root_size, .bytes = entry->bytes, .stamp = etag_stamp(entry->etag),
        .etag = entry->etag, .modified_s = seconds_of(entry->modified),
    };
    char *prefix;

    if (p->lane->is_split && p->page->is_truncated)
        return SHEAF_OK;        /* it will be listed whole */
    if (strncmp(entry->key, p->lane->prefix, prefix_size) != 0)
        return s3_list_stray(p->lane->prefix, entry->key, err);
    if (entry->is_prefix) {
        if (!p->lane->is_split || size == prefix_size)
            return err_set(err, SHEAF_ERR_CORRUPT, "a listing of \"%s\" has it as a common "
                           "prefix", p->lane->prefix);
        prefix = strdup(entry->key);
        return push_prefix(w, prefix, err);
    }
    return w->each(w->context, &found);
}

/* The next page of a lane. */
static int turn_page(struct walk_lane *lane, struct s3_xml_page *page, struct sheaf_error *err)
{
    char *url;
    int code;

    if (asprintf(&url, "%s://%s/%s", lane->walk->bucket->scheme,
                 lane->walk->bucket->name, lane->prefix) < 0)
        return err_memory(err, strlen(lane->prefix));
    code = s3_pages_next(&lane->pages, page, url, &lane->token, err);
    free(url);
    return code == SHEAF_OK ? start_page(lane, err) : code;
}

/* Continues the listing of one prefix after the entries of a page were handled. Requests the next
 * page, or ends the listing after the last page. If the function fails, the caller must end this
 * listing.
 *
 * A prefix that was to be split is listed without a split if it has more than one page. For this,
 * the present listing ends, and the prefix is added to the prefixes that must be listed. */
static int s3_walk_go_on(struct walk_lane *lane, struct s3_xml_page *page, struct sheaf_error *err)
{
    struct prefix_walk *w = lane->walk;
    char *prefix;

    if (!page->is_truncated) {
        end_lane(lane);
        return SHEAF_OK;
    }
    if (lane->is_split) {
        w->no_split = true;
        lane->is_split = false;
        prefix = lane->prefix;
        lane->prefix = NULL;
        end_lane(lane);
        return push_prefix(w, prefix, err);
    }
    return turn_page(lane, page, err);
}

static int s3_walk_take_page(struct walk_lane *lane, struct sheaf_error *err)
{
    struct prefix_walk *w = lane->walk;
    struct s3_page_request p = lane->request;
    struct parsing parsing = { lane, &p.page };
    int code = p.base.code;

    if (code != SHEAF_OK && err != NULL)
        *err = p.base.error;
    if (code == SHEAF_OK)
        code = s3_page_entries(&p, s3_walk_take_entry, &parsing, err);
    request_free(&p.base);
    if (code == SHEAF_OK)
        code = s3_walk_go_on(lane, &p.page, err);
    if (code != SHEAF_OK)
        end_lane(lane);
    s3_xml_page_free(&p.page);
    w->no_split |= w->waiting_count >= LANES;
    return code;
}

/* ---- The walk -------------------------------------------------------------------------------- */

/* Cancels all requests after a failure, and waits for their end. */
static void walk_stop(struct prefix_walk *w)
{
    struct walk_lane *lane;

    inflight_cancel(&w->window);
    while ((lane = (struct walk_lane *)inflight_next(&w->window)) != NULL) {
        request_free(&lane->request.base);
        s3_xml_page_free(&lane->request.page);
        end_lane(lane);
    }
    inflight_close(&w->window);
}

int s3_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    struct prefix_walk w = { .each = each, .context = context };
    struct walk_lane *lane;
    char *prefix = NULL;
    int code = s3_locate_directory(url, &w.bucket, &prefix, err);

    inflight_open(&w.window, INFLIGHT_ANY, s3_walk_cancel, interrupt_watched());
    for (size_t i = 0; i < LANES; i++) {
        w.lanes[i].walk = &w;
        inflight_add(&w.window, &w.lanes[i].item);
    }
    if (code == SHEAF_OK) {
        w.root_size = strlen(prefix);
        code = push_prefix(&w, prefix, err);
    }
    do {
        if (code == SHEAF_OK)
            code = fill_lanes(&w, err);
        lane = code == SHEAF_OK ? (struct walk_lane *)inflight_next(&w.window) : NULL;
        if (lane != NULL)
            code = s3_walk_take_page(lane, err);
    } while (lane != NULL);
    walk_stop(&w);
    while (w.waiting_count != 0)
        free(w.waiting[--w.waiting_count]);
    free(w.waiting);
    return code;
}
