/* SPDX-License-Identifier: MIT
 *
 * The loops of resampling, for one kind of processor: resample.c includes this once for each.
 * FILTER(name) names them, FILTER_TARGET is their attribute.  FILTER_WIDEN makes lanes of eight
 * bytes at an address, FILTER_WIDEN_TWO of four at each of two, FILTER_NARROW eight bytes of lanes,
 * rounded and between 0 and 255. */

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The rows' pixels, one behind the other, side by side.  Four bytes are read of three: the fourth
 * is of no account. */
FILTER_TARGET static inline void FILTER(pack)(const uint8_t *const *rows, uint32_t width,
                                              unsigned channels, lanes *packed)
{
    for (uint32_t x = 0; x < width && channels == 3; x++)
        packed[2 * x] = FILTER_WIDEN_TWO(rows[0] + 3 * (size_t)x, rows[1] + 3 * (size_t)x);
    for (uint32_t x = 0; x < width && channels == 1; x++) {
        uint8_t pixel[LANES];

        for (int i = 0; i < LANES; i++)
            pixel[i] = rows[i][x];
        packed[2 * x] = FILTER_WIDEN(pixel);
    }
}

FILTER_TARGET static inline void FILTER(unpack)(const uint8_t *result, unsigned channels,
                                                uint8_t *const *to, uint32_t x)
{
    if (channels == 3) {
        memcpy(to[0] + 3 * (size_t)x, result, 3);
        memcpy(to[1] + 3 * (size_t)x, result + 4, 3);
    } else {
        for (int i = 0; i < LANES; i++)
            to[i][x] = result[i];
    }
}

/* Of twice as many rows as fit side by side: each weight is loaded once for both. */
FILTER_TARGET static void FILTER(rows_at_once)(const struct axis *axis, const uint8_t *const *from,
                                               uint32_t width, unsigned channels, lanes *packed,
                                               uint8_t *const *to)
{
    const uint32_t half = channels == 3 ? 2 : LANES;

    FILTER(pack)(from, width, channels, packed);
    FILTER(pack)(from + half, width, channels, packed + 1);
    for (uint32_t x = 0; x < axis->size; x++) {
        const int32_t *weights = axis->weights + (size_t)x * axis->most;
        const lanes *pixel = packed + 2 * (size_t)axis->first[x];
        lanes first = HALF, second = HALF;
        uint8_t result[LANES];

        for (uint32_t k = 0; k < axis->count[x]; k++, pixel += 2) {
            first += pixel[0] * weights[k];
            second += pixel[1] * weights[k];
        }
        FILTER_NARROW(result, first);
        FILTER(unpack)(result, channels, to, x);
        FILTER_NARROW(result, second);
        FILTER(unpack)(result, channels, to + half, x);
    }
}

/* The last rows come again, where there are too few. */
FILTER_TARGET static void FILTER(rows)(const struct axis *axis, const struct pixels *from,
                                       struct pixels *to, lanes *packed)
{
    const uint32_t step = from->channels == 3 ? 4 : 2 * LANES;

    for (uint32_t y = 0; y < from->height; y += step) {
        const uint8_t *in[2 * LANES];
        uint8_t *out[2 * LANES];

        for (uint32_t i = 0; i < step; i++) {
            const uint32_t row = MIN(y + i, from->height - 1);

            in[i] = pixels_row(from, row);
            out[i] = pixels_row(to, row);
        }
        FILTER(rows_at_once)(axis, in, from->width, from->channels, packed, out);
    }
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* One row of the result, of rows `row_bytes` apart. */
FILTER_TARGET static void FILTER(column)(const int32_t *weights, uint32_t count,
                                         const uint8_t *from, size_t row_bytes, uint8_t *to)
{
    size_t x = 0;

    for (; x + 2 * LANES <= row_bytes; x += 2 * LANES) {
        const uint8_t *at = from + x;
        lanes first = HALF, second = HALF;

        for (uint32_t k = 0; k < count; k++, at += row_bytes) {
            first += FILTER_WIDEN(at) * weights[k];
            second += FILTER_WIDEN(at + LANES) * weights[k];
        }
        FILTER_NARROW(to + x, first);
        FILTER_NARROW(to + x + LANES, second);
    }
    for (; x < row_bytes; x++) {
        int32_t sum = 1 << (DIGITS - 1);

        for (uint32_t k = 0; k < count; k++)
            sum += from[k * row_bytes + x] * weights[k];
        sum >>= DIGITS;
        to[x] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

FILTER_TARGET static void FILTER(columns)(const struct axis *axis, const struct pixels *from,
                                          struct pixels *to)
{
    for (uint32_t y = 0; y < axis->size; y++)
        FILTER(column)(axis->weights + (size_t)y * axis->most, axis->count[y],
                       pixels_row(from, axis->first[y]), (size_t)from->width * from->channels,
                       pixels_row(to, y));
}
