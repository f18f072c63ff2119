/* SPDX-License-Identifier: MIT
 *
 * Implements WebDataset's rule for names: the key of a file is the path up to the first dot of its
 * base name, and the suffix is the part after that dot. `a/b.seg.png` has the key `a/b` and the
 * suffix `seg.png`. */
#include "formats/name.h"

#include "base/bytes.h"
#include "base/utf8.h"

#define STEM_MOST 255   /* bytes */

bool name_split(const char *path, size_t *key_size, const char **suffix)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strchr(base, '.');

    if (dot == NULL || dot == base || dot[1] == '\0')
        return false;
    *key_size = (size_t)(dot - path);
    *suffix = dot + 1;
    return true;
}

size_t name_clean(char *path, size_t size, bool *climbs)
{
    const char *p = path, *const end = path + size;
    char *out = path;

    for (*climbs = false; p < end; ) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        const size_t n = (size_t)((slash != NULL ? slash : end) - p);

        if (n != 0 && !(n == 1 && *p == '.')) {
            *climbs |= n == 2 && memcmp(p, "..", 2) == 0;
            if (out != path)
                *out++ = '/';
            if (out != p)
                memmove(out, p, n);
            out += n;
        }
        p += n + 1;
    }
    return (size_t)(out - path);
}

struct text name_stem(const char *name)
{
    static const char any[] = "shard";
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;
    const size_t size = base[0] == '.' ? 0 : format_stem(base);

    if (size == 0 || size > STEM_MOST || !name_is_text(base, size))
        return (struct text){ any, sizeof(any) - 1 };
    return (struct text){ base, size };
}

bool name_lower(char *name)
{
    bool changed = false;

    for (; *name != '\0'; name++) {
        if (*name >= 'A' && *name <= 'Z') {
            *name += 'a' - 'A';
            changed = true;
        }
    }
    return changed;
}

/* Returns whether the `size` bytes (at most eight) are all printable ASCII. A byte v is not
 * printable ASCII if the top bit of v, of v + 1 or of v - 0x20 is set. The test of v + 1 finds the
 * byte 0x7f, and the test of v - 0x20 finds control characters. */
static bool is_plain(const uint8_t *p, size_t size)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t v = 0x20 * each;

    memcpy(&v, p, size);
    return ((v | (v + each) | (v - 0x20 * each)) & 0x80 * each) == 0;
}

const char *name_text_problem(const char *name, size_t size)
{
    const uint8_t *p = (const uint8_t *)name;
    size_t at, step;

    for (at = 0; at < size; at += step) {
        step = 8;
        if (size - at >= 8 ? is_plain(p + at, 8)
            : size >= 8    ? is_plain(p + size - 8, 8)      /* a part of them is checked twice */
                           : is_plain(p + at, size - at))
            continue;
        if (p[at] < 0x20 || p[at] == 0x7f)
            return "the name holds a control character";
        step = utf8_sequence(p + at, size - at);
        if (step == 0)
            return "the name is not valid UTF-8";
    }
    return NULL;
}

bool name_is_text(const char *name, size_t size)
{
    return name_text_problem(name, size) == NULL;
}

static bool is_dunder(const char *name, size_t size)
{
    return size >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + size - 2, "__", 2) == 0;
}

bool name_is_passed_over(const char *path)
{
    return is_dunder(path, (size_t)(strchrnul(path, '/') - path));
}

/* Returns the fault of a path's components, or NULL. */
static const char *name_component_problem(const char *path)
{
    const char *start = path;

    if (*path == '/')
        return "the path is absolute";
    for (;;) {
        const size_t size = (size_t)(strchrnul(start, '/') - start);

        if (size == 0)
            return "the path has an empty component";
        if ((size == 1 && start[0] == '.') || (size == 2 && memcmp(start, "..", 2) == 0))
            return "the path has a component \".\" or \"..\"";
        if (start[size] == '\0')
            return NULL;
        start += size + 1;
    }
}

const char *name_suffix_problem(const char *suffix)
{
    return suffix[0] == '_' && is_dunder(suffix, strlen(suffix))
               ? "suffixes like __this__ are reserved: give it another name" : NULL;
}

const char *name_problem(const char *path)
{
    const size_t size = strnlen(path, KEY_LIMIT + 1);
    const char *problem, *suffix;
    size_t key_size;

    if (size == 0)
        return "the path is empty";
    if (size > KEY_LIMIT)
        return "the path is longer than 4096 bytes";
    problem = name_text_problem(path, size);
    if (problem == NULL)
        problem = name_component_problem(path);
    if (problem != NULL)
        return problem;
    if (name_is_passed_over(path))
        return "webdataset skips paths that begin like __this__";
    if (!name_split(path, &key_size, &suffix))
        return "the base name is not of the form key.suffix";
    return name_suffix_problem(suffix);
}
