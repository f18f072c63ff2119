/* SPDX-License-Identifier: MIT
 *
 * See label.h. */
#include "formats/label.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"

#define INTEGER_LIMIT 9007199254740992.0    /* 2^53 */
#define NUMBER_LIMIT  512                   /* characters of one number */

bool label_is_integer(double label)
{
    return fabs(label) <= INTEGER_LIMIT && trunc(label) == label;
}

bool label_is_exact(double label)
{
    return label_is_integer(label) || (isfinite(label) && fabs(label) <= 0x1.fffffep127 &&
                                       (double)(float)label == label);
}

double label_rounded(double number)
{
    return isfinite(number) && trunc(number) != number ? (double)(float)number : number;
}

static bool label_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && label_is_digit(text[n]))
        n++;
    return n;
}

bool label_text_is_integer(const char *text, size_t size)
{
    const size_t sign = size > 0 && (text[0] == '-' || text[0] == '+');

    return size > sign && count_digits(text + sign, size - sign) == size - sign;
}

/* Returns the length of the number (sign, digits, fraction, exponent) at the beginning of `text`,
 * or 0 if the text does not begin with a number. */
static size_t number_size(const char *text, size_t size)
{
    size_t n = size > 0 && (text[0] == '-' || text[0] == '+');
    size_t digits = count_digits(text + n, size - n), exponent;

    n += digits;
    if (n < size && text[n] == '.') {
        const size_t fraction = count_digits(text + n + 1, size - n - 1);

        n += 1 + fraction;
        digits += fraction;
    }
    if (digits == 0)
        return 0;
    if (n < size && (text[n] == 'e' || text[n] == 'E')) {
        const size_t sign = n + 1 < size && (text[n + 1] == '-' || text[n + 1] == '+');

        exponent = count_digits(text + n + 1 + sign, size - n - 1 - sign);
        if (exponent == 0)
            return 0;
        n += 1 + sign + exponent;
    }
    return n;
}

/* Parses a small integer without a library call, which is faster. Returns false if the text is not
 * a small integer. Most labels are small integers. */
static bool parse_small(const char *text, size_t size, double *label)
{
    long value = 0;
    size_t i;

    if (size > 15)
        return false;
    for (i = 0; i < size; i++) {
        if (!label_is_digit(text[i]))
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *label = (double)value;
    return true;
}

/* An integer beyond 2^53 is accepted as a label only if a 32-bit float represents it exactly.
 * Returns whether this is true for the integer in `text`. `value` is the nearest 32-bit float. */
static bool is_float(const char *text, float value)
{
    const bool negative = *text == '-';
    char digits[NUMBER_LIMIT];

    text += negative || *text == '+';
    text += strspn(text, "0");
    snprintf(digits, sizeof(digits), "%.0f", fabs((double)value));
    return strcmp(text, digits) == 0;
}

/* Copies a number to `copy` and appends a NUL. Returns a new "C" locale, with which the caller
 * parses the copy and which it must free. Returns 0 if the number is too long or memory is
 * exhausted. */
static locale_t copy_number(const char *text, size_t size, char copy[NUMBER_LIMIT])
{
    if (size >= NUMBER_LIMIT)
        return (locale_t)0;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static bool label_parse_number(const char *text, size_t size, double *label)
{
    const bool is_integer = memchr(text, '.', size) == NULL && memchr(text, 'e', size) == NULL &&
                            memchr(text, 'E', size) == NULL;
    char copy[NUMBER_LIMIT];
    locale_t c_locale;

    if (parse_small(text, size, label))
        return true;
    c_locale = copy_number(text, size, copy);
    if (c_locale == (locale_t)0)
        return false;
    *label = strtod_l(copy, NULL, c_locale);
    if (!label_is_integer(*label) || fabs(*label) == INTEGER_LIMIT)
        *label = (double)strtof_l(copy, NULL, c_locale);
    freelocale(c_locale);
    *label += 0.0;              /* no -0 */
    if (is_integer && fabs(*label) >= INTEGER_LIMIT && isfinite(*label))
        return is_float(copy, (float)*label);
    return isfinite(*label);
}

/* Converts a number to a double. The number is the text of `size` bytes at `text`. Returns false if
 * the number is not finite. */
static bool parse_double(const char *text, size_t size, double *number)
{
    char copy[NUMBER_LIMIT];
    locale_t c_locale;

    c_locale = copy_number(text, size, copy);
    if (c_locale == (locale_t)0)
        return false;
    *number = strtod_l(copy, NULL, c_locale);
    freelocale(c_locale);
    return isfinite(*number);
}

static bool label_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns the length of the separator (blanks, tabs, a comma) at the beginning of `text`, or 0 if
 * `text` begins with something else. */
static size_t separator_size(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && label_is_blank(text[n]))
        n++;
    if (n < size && text[n] == ',') {
        n++;
        while (n < size && label_is_blank(text[n]))
            n++;
    }
    return n;
}

long label_parse(const char *text, size_t size, double *labels, size_t most)
{
    size_t at = 0, count = 0;

    utf8_pass_mark(&text, &size);
    while (at < size && label_is_blank(text[at]))
        at++;
    while (size > at && (label_is_blank(text[size - 1]) || text[size - 1] == '\n' ||
                         text[size - 1] == '\r'))
        size--;
    for (;;) {
        const size_t number = number_size(text + at, size - at);
        size_t gap;

        if (number == 0 || count == most || !label_parse_number(text + at, number, &labels[count]))
            return -1;
        count++;
        at += number;
        if (at == size)
            return (long)count;
        gap = separator_size(text + at, size - at);
        if (gap == 0)
            return -1;
        at += gap;
    }
}

int label_append(struct buf *labels, const void *text, size_t size, long *count,
                 struct sheaf_error *err)
{
    /* largest number of labels that the text can hold, because each label except the last takes at
     * least a digit and a separator */
    const size_t most = MIN(size / 2 + 1, (size_t)LABEL_LIMIT);
    const int code = buf_reserve(labels, most * sizeof(double), err);

    *count = -1;
    if (code != SHEAF_OK)
        return code;
    *count = label_parse(text, size, (double *)(void *)(labels->data + labels->size), most);
    labels->size += *count < 0 ? 0 : (size_t)*count * sizeof(double);
    return SHEAF_OK;
}

/* Appends a 32-bit float as text, with the smallest number of digits from which the same float is
 * read back. */
static int print_float(struct buf *out, float label, struct sheaf_error *err)
{
    char text[32];
    int digits;

    for (digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)label);
        if (strtof(text, NULL) == label)
            break;
    }
    return buf_append(out, text, strlen(text), err);
}

static int print_label(struct buf *out, double label, struct sheaf_error *err)
{
    locale_t c_locale, before;
    int code;

    if (label_is_integer(label))
        return buf_printf(out, err, "%lld", (long long)label);
    if (!label_is_exact(label))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the label %.17g is neither an integer up to 2^53 "
                       "nor a 32-bit float", label);
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return err_memory(err, 0);
    before = uselocale(c_locale);
    code = print_float(out, (float)label, err);
    uselocale(before);
    freelocale(c_locale);
    return code;
}

int label_print(struct buf *out, const double *labels, size_t count, struct sheaf_error *err)
{
    const size_t before = out->size;
    size_t i;

    for (i = 0; i < count; i++) {
        int code = i == 0 ? SHEAF_OK : buf_append(out, " ", 1, err);

        if (code == SHEAF_OK)
            code = print_label(out, labels[i], err);
        if (code != SHEAF_OK) {
            out->size = before;
            return code;
        }
    }
    return SHEAF_OK;
}

bool label_number(const char *text, size_t size, double *number)
{
    size_t n;

    while (size != 0 && (label_is_blank(text[size - 1]) || text[size - 1] == '\n' ||
                         text[size - 1] == '\r'))
        size--;
    for (; size != 0 && label_is_blank(*text); size--)
        text++;
    n = number_size(text, size);
    return n != 0 && n == size && (parse_small(text, size, number) ||
                                   parse_double(text, size, number));
}
