/* SPDX-License-Identifier: MIT
 *
 * Checks whether a listing makes progress; see s3_pages.h. */
#include "store/s3/s3_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Largest number of pages of a listing. A page has at most a thousand keys, so this allows a
 * billion keys, which is more than fits into memory. */
#define PAGES_MOST 1000000
/* Largest number of empty pages in a row. A store may return an empty page if it skips removed
 * objects. */
#define EMPTY_MOST 1000

static int endless(const char *url, const char *why, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "listing %s: it does not end: %s", url, why);
}

static int remember(struct s3_pages *p, const struct s3_xml_page *page, struct sheaf_error *err)
{
    if (p->key != NULL && p->count < 2 * p->kept)
        return SHEAF_OK;
    free(p->key);
    p->key = strdup(page->first_key);
    p->kept = p->count;
    return p->key == NULL ? err_memory(err, strlen(page->first_key)) : SHEAF_OK;
}

int s3_pages_next(struct s3_pages *p, struct s3_xml_page *page, const char *url, char **token,
                  struct sheaf_error *err)
{
    int code = SHEAF_OK;

    p->empty = page->first_key == NULL ? p->empty + 1 : 0;
    if (page->token == NULL)
        return endless(url, "a page is not the last one, but names no token for the next", err);
    if (*token != NULL && strcmp(*token, page->token) == 0)
        return endless(url, "a page repeats the token of its own request", err);
    if (++p->count == PAGES_MOST || p->empty == EMPTY_MOST)
        return endless(url, p->empty == EMPTY_MOST ? "1000 pages in a row are empty"
                                                     : "it has more than 1000000 pages", err);
    if (page->first_key != NULL && p->key != NULL && strcmp(page->first_key, p->key) == 0)
        return endless(url, "the same page came again", err);
    if (page->first_key != NULL)
        code = remember(p, page, err);
    free(*token);
    *token = page->token;
    page->token = NULL;
    return code;
}

void s3_pages_free(struct s3_pages *p)
{
    free(p->key);
    memset(p, 0, sizeof(*p));
}
