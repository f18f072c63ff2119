/* SPDX-License-Identifier: MIT
 *
 * Matches texts with shell patterns. A star first matches no bytes. If the rest of the pattern then
 * does not match, the star takes one more byte, and the rest is tried again. Only the last star
 * that was reached is extended in this way. Extending an earlier star would not help, because the
 * last star can match any bytes itself. */
#include "base/glob.h"

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* ---- Sets ------------------------------------------------------------------------------------ */

static bool glob_is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_lower(uint8_t c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(uint8_t c) { return c >= 'A' && c <= 'Z'; }
static bool is_alpha(uint8_t c) { return is_lower(c) || is_upper(c); }
static bool is_alnum(uint8_t c) { return is_alpha(c) || glob_is_digit(c); }
static bool glob_is_blank(uint8_t c) { return c == ' ' || c == '\t'; }
static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_graph(uint8_t c) { return c > ' ' && c < 0x7f; }
static bool is_print(uint8_t c) { return c >= ' ' && c < 0x7f; }
static bool is_punct(uint8_t c) { return is_graph(c) && !is_alnum(c); }
static bool is_cntrl(uint8_t c) { return c < ' ' || c == 0x7f; }
static bool is_xdigit(uint8_t c) { return glob_is_digit(c) || ((c | 0x20) >= 'a'
                                                               && (c | 0x20) <= 'f'); }

/* Character classes for ASCII, in every locale. */
static const struct { const char *name; bool (*has)(uint8_t c); } classes[] = {
    { "alnum", is_alnum }, { "alpha", is_alpha }, { "blank", glob_is_blank }, { "cntrl", is_cntrl },
    { "digit", glob_is_digit }, { "graph", is_graph }, { "lower", is_lower }, { "print", is_print },
    { "punct", is_punct }, { "space", is_space }, { "upper", is_upper }, { "xdigit", is_xdigit },
};

/* Reads a character class "[:NAME:]" of a pattern and moves *at past it. Sets *has if the class
 * contains the byte. Returns false if there is no class with this name. */
static bool glob_take_class(const char **at, const char *end, uint8_t byte, bool *has)
{
    const char *name = *at + 2, *close = memmem(name, (size_t)(end - name), ":]", 2);

    for (size_t i = 0; close != NULL && i < COUNT_OF(classes); i++)
        if (strlen(classes[i].name) == (size_t)(close - name) &&
            memcmp(classes[i].name, name, (size_t)(close - name)) == 0) {
            *has |= classes[i].has(byte);
            *at = close + 2;
            return true;
        }
    return false;
}

/* Returns whether the "[:" at *at begins a character class, such as [:digit:]. A class begins there
 * if a "]" follows, and the byte before the first "]" is a ":". For example, "[:digit]" is not a
 * class. */
static bool begins_class(const char *at, const char *end)
{
    const char *close = end - at > 2 && at[0] == '[' && at[1] == ':'
                      ? memchr(at + 2, ']', (size_t)(end - at - 2)) : NULL;

    return close != NULL && close > at + 2 && close[-1] == ':';
}

/* Reads one byte of a "[...]" set, and skips a backslash before the byte. Returns false at the end
 * of the pattern. */
static bool take_byte(const char **at, const char *end, uint8_t *byte)
{
    *at += *at < end && **at == '\\';
    if (*at == end)
        return false;
    *byte = (uint8_t)*(*at)++;
    return true;
}

/* Reads the next member of a "[...]" set: a class, a range, or a single byte. Sets *has if the
 * member contains `byte`. Returns false if the member is invalid. */
static bool glob_take_member(const char **at, const char *end, uint8_t byte, bool *has)
{
    uint8_t first, last;

    if (begins_class(*at, end))
        return glob_take_class(at, end, byte, has);
    if (!take_byte(at, end, &first))
        return false;
    last = first;
    if (end - *at > 1 && (*at)[0] == '-' && (*at)[1] != ']') {
        (*at)++;
        if (!take_byte(at, end, &last))
            return false;
    }
    *has |= byte >= first && byte <= last;
    return true;
}

/* Returns the size of the "[...]" set at `pattern`, including the closing "]". Sets *has to whether
 * the set contains `byte`. Returns 0 if the "]" is missing or a member is invalid. */
static size_t set_size(const char *pattern, size_t size, uint8_t byte, bool *has)
{
    const char *at = pattern + 1, *end = pattern + size;
    const bool negated = at < end && (*at == '!' || *at == '^');
    bool found = false;

    at += negated;
    do {
        if (at == end || !glob_take_member(&at, end, byte, &found))
            return 0;
    } while (at < end && *at != ']');
    *has = found != negated;
    return at == end ? 0 : (size_t)(at + 1 - pattern);
}

/* ---- Patterns -------------------------------------------------------------------------------- */

/* Returns the size of the first piece of the pattern (a set, an escaped byte, or a single byte).
 * Sets *has to whether the piece matches `byte`. The pattern must not begin with a star. */
static size_t piece(const char *pattern, size_t size, uint8_t byte, bool *has)
{
    if (size == 0)
        return 0;
    if (pattern[0] == '[')
        return set_size(pattern, size, byte, has);
    if (pattern[0] == '\\') {
        *has = size > 1 && (uint8_t)pattern[1] == byte;
        return size > 1 ? 2 : 0;
    }
    *has = pattern[0] == '?' || (uint8_t)pattern[0] == byte;
    return 1;
}

size_t glob_piece(const char *pattern, size_t size)
{
    bool has;

    return piece(pattern, size, 0, &has);
}

const char *glob_problem(const char *pattern, size_t size)
{
    for (size_t at = 0, step; at < size; at += step) {
        step = glob_piece(pattern + at, size - at);
        if (step == 0)
            return pattern[at] == '[' ? "a \"[\" without its \"]\", or with an unknown class"
                                      : "it ends with a backslash";
    }
    return NULL;
}

bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size)
{
    /* `star` is the index in the pattern after the last star that was reached, or SIZE_MAX if there
     * was none. This star matches a range of bytes of the text, which ends at the index `taken`. */
    size_t p = 0, t = 0, star = SIZE_MAX, taken = 0;

    while (t < text_size || p < pattern_size) {
        bool has = false;
        size_t step;

        if (p < pattern_size && pattern[p] == '*') {
            star = ++p;
            taken = t;
            continue;
        }
        if (t == text_size)
            return false;
        step = piece(pattern + p, pattern_size - p, (uint8_t)text[t], &has);
        if (step != 0 && has) {
            p += step;
            t++;
        } else if (star != SIZE_MAX) {
            p = star;
            t = ++taken;
        } else {
            return false;
        }
    }
    return true;
}
