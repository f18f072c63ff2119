/* SPDX-License-Identifier: MIT
 *
 * Makes text safe for display: implements text.h, and the public function sheaf_show of sheaf.h. */
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "sheaf.h"

/* ---- Secrets in URLs ------------------------------------------------------------------------- */

#define ENDS " \t\r\n\"<>"       /* characters that no URL contains */

static char *find_url(char *text)
{
    char *found = strcasestr(text, "http");

    while (found != NULL && strncasecmp(found, "http://", 7) != 0 &&
           strncasecmp(found, "https://", 8) != 0)
        found = strcasestr(found + 1, "http");
    return found;
}

void text_hide_secrets(char *text)
{
    char *url = text;

    while ((url = find_url(url)) != NULL) {
        char *host = strchr(url, ':') + 3;
        char *path = host + strcspn(host, "/?#" ENDS);
        char *at = memrchr(host, '@', (size_t)(path - host)), *query, *end;

        if (at != NULL) {
            memmove(host, at + 1, strlen(at + 1) + 1);
            path -= at + 1 - host;
        }
        query = path + strcspn(path, "?#" ENDS);
        end = query + strcspn(query, ENDS);
        while (end > query && strchr(":,;).", end[-1]) != NULL)    /* the sentence's */
            end--;
        memmove(query, end, strlen(end) + 1);
        url = query;
    }
}

char *text_shown_url(const char *url)
{
    const bool is_http = find_url((char *)(uintptr_t)url) == url;
    char *shown = strdup(url);

    if (shown == NULL || !is_http)
        return shown;
    /* Remove the whole query and fragment here, because text_hide_secrets would stop at the first
     * blank in the query. */
    shown[strcspn(shown, "?#")] = '\0';
    text_hide_secrets(shown);
    return shown;
}

/* ---- Characters ------------------------------------------------------------------------------ */

/* Returns whether a character must not be shown on a terminal, because it is invisible, changes the
 * order of other characters, or controls the terminal. */
static bool is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t sheaf_show(const char *text, char *out, size_t size)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t left = strlen(text), total = 0, used = 0;

    while (left != 0) {
        const size_t sequence = utf8_sequence(p, left);
        const size_t taken = MAX(sequence, (size_t)1);
        const bool escaped = sequence == 0 || is_unsafe(utf8_code_point(p, sequence));
        const size_t shown = escaped ? 4 * taken : taken;

        /* `used` is the number of written bytes, and `total` the number of bytes of all characters
         * so far. Write the character only if it fits, and all characters before it were
         * written. */
        if (used == total && size > shown && used < size - shown) {
            if (!escaped)
                memcpy(out + used, p, taken);
            for (size_t i = 0; escaped && i < taken; i++)
                snprintf(out + used + 4 * i, 5, "\\x%02x", p[i]);
            used += shown;
        }
        total += shown;
        p += taken;
        left -= taken;
    }
    if (size != 0)
        out[used] = '\0';
    return total;
}
