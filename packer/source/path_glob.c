/* SPDX-License-Identifier: MIT
 *
 * Matches patterns with paths, component by component. If a component does not match, the search
 * goes back to the last `**` before this component of the pattern. This `**` then takes one more
 * component of the path, and the rest is matched again. base/glob.c uses the same method for stars
 * inside a component. */
#include "packer/source/path_glob.h"

#include <stdint.h>
#include <string.h>

#include "base/glob.h"

/* Returns the length of a pattern's first component, which ends at the first slash that is not
 * inside a "[...]" set. */
static size_t component(const char *pattern, size_t size)
{
    size_t at = 0;

    while (at < size && pattern[at] != '/') {
        const size_t step = glob_piece(pattern + at, size - at);

        if (step == 0 || (pattern[at] == '\\' && pattern[at + 1] == '/'))
            break;
        at += step;
    }
    return at;
}

static bool is_any(const char *pattern, size_t size)
{
    return size == 2 && memcmp(pattern, "**", 2) == 0;
}

static const char *path_glob_component_problem(const struct path_glob *g)
{
    size_t at = 0;

    for (;;) {
        const size_t size = component(g->text + at, g->size - at);

        if (size == 0)
            return "a component of it is empty";
        at += size;
        if (at == g->size)
            return NULL;
        at += g->text[at] == '\\' ? 2 : 1;
    }
}

const char *path_glob_parse(const char *text, struct path_glob *g)
{
    const char *problem;

    *g = (struct path_glob){ .inverted = text[0] == '!' };
    text += g->inverted;
    g->size = strlen(text);
    if (g->size == 0)
        return "it is empty";
    problem = glob_problem(text, g->size);
    if (problem != NULL)
        return problem;
    if (text[g->size - 1] == '/') {
        g->of_directories = true;
        g->size--;
    }
    g->anchored = memchr(text, '/', g->size) != NULL;
    g->text = text + (g->size > 0 && text[0] == '/');
    g->size -= (size_t)(g->text - text);
    return path_glob_component_problem(g);
}

/* Returns the start of the component after the slash at position `at`. In a pattern, the slash may
 * have a backslash before it. */
static size_t next_component(const char *text, size_t at, size_t size)
{
    if (at < size)
        at += text[at] == '\\' ? 2 : 1;
    return at;
}

static bool match_components(const struct path_glob *g, const char *path, size_t path_size)
{
    /* `any` is the position in the pattern after the last `**` that was reached. `taken` is the end
     * of the components of the path that this `**` matches. */
    size_t p = 0, t = 0, any = SIZE_MAX, taken = 0;

    while (p < g->size || t < path_size) {
        const char *pattern = g->text + p;
        const size_t size = component(pattern, g->size - p);
        const size_t name = strcspn(path + t, "/");

        if (is_any(pattern, size)) {
            if (p + size == g->size)
                return t < path_size;
            any = p = next_component(g->text, p + size, g->size);
            taken = t;
        } else if (t == path_size) {
            return false;
        } else if (size != 0 && glob_match(pattern, size, path + t, name)) {
            p = next_component(g->text, p + size, g->size);
            t += name + (path[t + name] == '/');
        } else if (any != SIZE_MAX) {
            p = any;
            taken += strcspn(path + taken, "/");
            t = taken += path[taken] == '/';
        } else {
            return false;
        }
    }
    return true;
}

bool path_glob_match(const struct path_glob *g, const char *path, bool is_directory)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;

    if (g->of_directories && !is_directory)
        return false;
    return g->anchored ? match_components(g, path, strlen(path))
                       : glob_match(g->text, g->size, base, strlen(base));
}
