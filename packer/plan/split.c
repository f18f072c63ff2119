/* SPDX-License-Identifier: MIT
 *
 * Parses the definition of splits ("train=0.8,val=0.2"), and divides samples among them by the
 * method of largest remainders. The error of rounding is carried from class to class. */
#include "packer/plan/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"

/* ---- Grammar --------------------------------------------------------------------------------- */

static int parse_name(const char *text, size_t size, struct split_spec *spec,
                      struct sheaf_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-";
    struct split *s = &spec->splits[spec->count];

    if (size == 0 || size >= SPLIT_NAME_BYTES || strspn(text, letters) < size)
        return err_set(err, SHEAF_ERR_ARGUMENT, "split: invalid name \"%.*s\", expected 1 to %d "
                       "letters, digits, _ and -", (int)MIN(size, 80), text,
                       SPLIT_NAME_BYTES - 1);
    memcpy(s->name, text, size);
    s->name[size] = '\0';
    for (uint32_t i = 0; i < spec->count; i++)
        if (strcmp(spec->splits[i].name, s->name) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "split: \"%s\" is named twice", s->name);
    return SHEAF_OK;
}

/* Parses a decimal fraction greater than 0 and at most 1, such as "0.8". Returns the fraction in
 * units of 1 / SPLIT_WHOLE, or 0 if the text is malformed. */
static uint32_t parse_fraction(const char *text, size_t size)
{
    uint64_t value = 0, unit = SPLIT_WHOLE;
    bool point = false, digits = false;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.' && !point) {
            point = true;
        } else if (text[i] >= '0' && text[i] <= '9') {
            if (point)
                unit /= 10;
            if (point && unit == 0 && text[i] != '0')
                return 0;
            value = point ? value + unit * (uint64_t)(text[i] - '0')
                          : MIN(value * 10 + (uint64_t)(text[i] - '0') * SPLIT_WHOLE,
                                (uint64_t)2 * SPLIT_WHOLE);
            digits = true;
        } else {
            return 0;
        }
    }
    return digits && value <= SPLIT_WHOLE ? (uint32_t)value : 0;
}

/* Parses "60/class". Returns 0 if it is malformed. */
static uint32_t parse_per_class(const char *text, size_t size)
{
    static const char tail[] = "/class";
    const size_t tail_size = sizeof(tail) - 1;
    uint64_t value = 0;

    if (size <= tail_size || memcmp(text + size - tail_size, tail, tail_size) != 0)
        return 0;
    for (size_t i = 0; i < size - tail_size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        value = MIN(value * 10 + (uint64_t)(text[i] - '0'), (uint64_t)UINT32_MAX);
    }
    return (uint32_t)value;
}

static int parse_value(const char *text, size_t size, struct split_spec *spec,
                       bool *fractions, struct sheaf_error *err)
{
    struct split *s = &spec->splits[spec->count];

    s->is_rest = size == 4 && memcmp(text, "rest", 4) == 0;
    if (s->is_rest)
        return SHEAF_OK;
    s->value = parse_per_class(text, size);
    if (s->value != 0) {
        spec->per_class = true;
        return SHEAF_OK;
    }
    s->value = parse_fraction(text, size);
    if (s->value == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "split: \"%.*s\" of %s is not a fraction between "
                       "0 and 1 (with 9 decimals at most), N/class or \"rest\"",
                       (int)MIN(size, 80), text, s->name);
    *fractions = true;
    return SHEAF_OK;
}

/* Checks that the fractions add up to 1. */
static int split_check_sum(struct split_spec *spec, bool fractions, struct sheaf_error *err)
{
    struct split *rest = NULL;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < spec->count; i++) {
        struct split *s = &spec->splits[i];

        if (s->is_rest && rest != NULL)
            return err_set(err, SHEAF_ERR_ARGUMENT, "split: both %s and %s are \"rest\"",
                           rest->name, s->name);
        rest = s->is_rest ? s : rest;
        sum += s->value;
    }
    if (spec->per_class && fractions)
        return err_set(err, SHEAF_ERR_ARGUMENT, "split: fractions and N/class do not mix");
    if (spec->per_class && rest == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "split: with N/class, one split must be \"rest\"");
    if (spec->per_class)
        return SHEAF_OK;
    if (sum > SPLIT_WHOLE || (rest == NULL && sum < SPLIT_WHOLE) ||
        (rest != NULL && sum == SPLIT_WHOLE))
        return err_set(err, SHEAF_ERR_ARGUMENT, "split: the fractions add up to %g, %s",
                       (double)sum / SPLIT_WHOLE,
                       rest == NULL ? "expected 1 (a split may be \"rest\")"
                                    : "expected less than 1, as another split is \"rest\"");
    if (rest != NULL)
        rest->value = (uint32_t)(SPLIT_WHOLE - sum);
    return SHEAF_OK;
}

int split_parse(const char *text, struct split_spec *spec, struct sheaf_error *err)
{
    bool fractions = false;
    int code;

    *spec = (struct split_spec){ .count = 0 };
    for (;;) {
        const char *end = strchrnul(text, ',');
        const char *equals = memchr(text, '=', (size_t)(end - text));

        if (spec->count == SPLIT_LIMIT)
            return err_set(err, SHEAF_ERR_ARGUMENT, "split: more than %d splits", SPLIT_LIMIT);
        if (equals == NULL)
            return err_set(err, SHEAF_ERR_ARGUMENT,
                           "split: expected name=value between commas, found \"%.*s\"",
                           (int)MIN(end - text, 80), text);
        code = parse_name(text, (size_t)(equals - text), spec, err);
        if (code == SHEAF_OK)
            code = parse_value(equals + 1, (size_t)(end - equals - 1), spec, &fractions, err);
        if (code != SHEAF_OK)
            return code;
        spec->count++;
        if (*end == '\0')
            return split_check_sum(spec, fractions, err);
        text = end + 1;
    }
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

uint32_t split_rest(const struct split_spec *spec)
{
    uint32_t rest = 0;

    while (rest + 1 < spec->count && !spec->splits[rest].is_rest)
        rest++;
    return rest;
}

static void take_per_class(const struct split_spec *spec, uint64_t samples,
                           uint64_t counts[SPLIT_LIMIT])
{
    const uint32_t rest = split_rest(spec);

    for (uint32_t i = 0; i < spec->count; i++) {
        if (i == rest)
            continue;
        counts[i] = MIN(samples, spec->splits[i].value);
        samples -= counts[i];
    }
    counts[rest] = samples;
}

void split_class(const struct split_spec *spec, uint64_t samples, struct split_carry *carry,
                 uint64_t counts[SPLIT_LIMIT])
{
    bool rounds[SPLIT_LIMIT];
    uint64_t left = samples;

    if (spec->per_class) {
        take_per_class(spec, samples, counts);
        return;
    }
    for (uint32_t i = 0; i < spec->count; i++) {
        const uint64_t exact = samples * spec->splits[i].value;

        counts[i] = exact / SPLIT_WHOLE;
        rounds[i] = exact % SPLIT_WHOLE != 0;
        carry->owed[i] += (int64_t)(exact % SPLIT_WHOLE);
        left -= counts[i];
    }
    /* Rounding down has left over `left` samples. Gives them to splits whose share was not a whole
     * number. There are enough such splits, because the fractional parts add up to `left` and each
     * is less than 1. */
    for (; left > 0; left--) {
        uint32_t most = SPLIT_LIMIT;

        for (uint32_t i = 0; i < spec->count; i++)
            if (rounds[i] && (most == SPLIT_LIMIT || carry->owed[i] > carry->owed[most]))
                most = i;
        counts[most]++;
        rounds[most] = false;
        carry->owed[most] -= SPLIT_WHOLE;
    }
}

/* ---- Small classes --------------------------------------------------------------------------- */

void split_small_add(struct split_small *small, const char *name, bool has_label, double label,
                     uint64_t samples)
{
    const size_t room = sizeof(small->names) - small->used;
    char item[300];
    int size;

    if (name != NULL)
        size = snprintf(item, sizeof(item), "\"%.200s\" (%" PRIu64 ")", name, samples);
    else if (has_label)
        size = snprintf(item, sizeof(item), "%.17g (%" PRIu64 ")", label, samples);
    else
        size = snprintf(item, sizeof(item), "no label (%" PRIu64 ")", samples);
    small->classes++;
    if (small->named + 1 != small->classes || (size_t)size + 2 >= room)
        return;
    small->used += (size_t)snprintf(small->names + small->used, room, "%s%s",
                                    small->named == 0 ? "" : ", ", item);
    small->named++;
}

void split_small_text(const struct split_small *small, const struct split_spec *spec, char *text,
                      size_t size)
{
    const uint64_t more = small->classes - small->named;
    uint64_t most = 0;
    size_t used;

    for (uint32_t s = 0; s < spec->count; s++)
        most += spec->splits[s].value;
    used = (size_t)snprintf(text, size, "split: %s has no sample of %" PRIu64 " class%s with at "
                            "most %" PRIu64 " sample%s: %s", spec->splits[split_rest(spec)].name,
                            small->classes, small->classes == 1 ? "" : "es", most, plural(most),
                            small->names);
    if (more != 0 && used < size)
        snprintf(text + used, size - used, ", and %" PRIu64 " more", more);
}

/* ---- Samples --------------------------------------------------------------------------------- */

uint64_t split_rank(const void *key, size_t key_size, uint64_t seed)
{
    return XXH3_64bits_withSeed(key, key_size, XXH3_64bits_withSeed("split", 5, seed));
}

int split_check_counts(const struct split_spec *spec, const uint64_t counts[SPLIT_LIMIT],
                       struct sheaf_error *err)
{
    uint64_t all = 0;

    for (uint32_t s = 0; s < spec->count; s++)
        all += counts[s];
    for (uint32_t s = 0; s < spec->count && spec->count > 1; s++)
        if (counts[s] == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "split: of %llu sample%s, none would be in %s",
                           (unsigned long long)all, plural(all), spec->splits[s].name);
    return SHEAF_OK;
}
