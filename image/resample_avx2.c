/* SPDX-License-Identifier: MIT
 *
 * Inner loops of the resampler for processors with AVX2. AVX2 can multiply sixteen 16-bit numbers
 * and add neighbouring products in one instruction. */
#include "image/resample_kernel.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m128i load(const void *from)
{
    return _mm_loadu_si128(from);
}

/* Shuffle masks to join three planes into pixels of three bytes. joined[i][c][b] is the index of
 * the byte of plane c that becomes byte b of output vector i. -1 means that byte b comes from
 * another plane. */
static const int8_t joined[3][3][16] = {
    { { 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5 },
      { -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1 },
      { -1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1 } },
    { { -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1 },
      { 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10 },
      { -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1 } },
    { { -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1 },
      { -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1 },
      { 10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15 } },
};

AVX2 static void join_avx2(const uint8_t *const from[3], uint32_t columns, uint8_t *to)
{
    uint32_t x = 0;

    for (; x + 16 <= columns; x += 16)
        for (int i = 0; i < 3; i++, to += 16) {
            __m128i sum = _mm_setzero_si128();

            for (int c = 0; c < 3; c++)
                sum = _mm_or_si128(sum, _mm_shuffle_epi8(load(from[c] + x),
                                                         load((const void *)joined[i][c])));
            _mm_storeu_si128((void *)to, sum);
        }
    for (; x < columns; x++)
        for (int c = 0; c < 3; c++)
            *to++ = from[c][x];
}

/* Reads eight 16-bit numbers from each of eight rows, and transposes them. */
AVX2 static void turn_words(const uint8_t *from, size_t stride, __m128i column[8])
{
    __m128i a[8], b[8];

    for (int i = 0; i < 4; i++) {
        const __m128i one = load(from + (size_t)(2 * i) * stride);
        const __m128i two = load(from + (size_t)(2 * i + 1) * stride);

        a[2 * i] = _mm_unpacklo_epi16(one, two);
        a[2 * i + 1] = _mm_unpackhi_epi16(one, two);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            b[4 * i + 2 * j] = _mm_unpacklo_epi32(a[4 * i + j], a[4 * i + 2 + j]);
            b[4 * i + 2 * j + 1] = _mm_unpackhi_epi32(a[4 * i + j], a[4 * i + 2 + j]);
        }
    for (int i = 0; i < 4; i++) {
        column[2 * i] = _mm_unpacklo_epi64(b[i], b[4 + i]);
        column[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[4 + i]);
    }
}

AVX2 static void tile_avx2(const uint8_t *from, size_t stride, uint32_t columns, uint32_t *tile)
{
    for (uint32_t x = 0; x < columns; x += 16, tile += 8 * RESAMPLE_ROWS)
        for (uint32_t half = 0; half < 2; half++) {
            __m128i column[8];

            turn_words(from + 8 * half * stride + x, stride, column);
            for (uint32_t i = 0; i < 8; i++)
                _mm256_storeu_si256((void *)(tile + i * RESAMPLE_ROWS + 8 * half),
                                    _mm256_cvtepu8_epi16(column[i]));
        }
}

/* Sums for sixteen output pixels, eight pixels in each vector. A weight is split into its upper
 * bits and its lower eight bits, because vectors multiply numbers of 16 bits. There is one sum for
 * the upper bits and one for the lower bits. */
struct sums {
    __m256i high[2], low[2];
};

AVX2 static inline void add(struct sums *s, const struct resample_pair *pair, __m256i first,
                            __m256i second)
{
    int32_t high, low;
    __m256i weights;

    memcpy(&high, pair->high, sizeof(high));
    memcpy(&low, pair->low, sizeof(low));
    weights = _mm256_set1_epi32(high);
    s->high[0] = _mm256_add_epi32(s->high[0], _mm256_madd_epi16(first, weights));
    s->high[1] = _mm256_add_epi32(s->high[1], _mm256_madd_epi16(second, weights));
    weights = _mm256_set1_epi32(low);
    s->low[0] = _mm256_add_epi32(s->low[0], _mm256_madd_epi16(first, weights));
    s->low[1] = _mm256_add_epi32(s->low[1], _mm256_madd_epi16(second, weights));
}

AVX2 static inline void begin(struct sums *s)
{
    s->high[0] = s->high[1] = _mm256_setzero_si256();
    s->low[0] = s->low[1] = _mm256_set1_epi32(RESAMPLE_HALF);
}

AVX2 static inline void end(const struct sums *s, uint8_t *to)
{
    __m256i sum[2], words;

    for (int i = 0; i < 2; i++)
        sum[i] = _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(s->high[i], 8), s->low[i]),
                                   RESAMPLE_DIGITS);
    words = _mm256_permute4x64_epi64(_mm256_packs_epi32(sum[0], sum[1]), _MM_SHUFFLE(3, 1, 2, 0));
    _mm_storeu_si128((void *)to, _mm_packus_epi16(_mm256_castsi256_si128(words),
                                                  _mm256_extracti128_si256(words, 1)));
}

AVX2 static void across_avx2(const struct resample_axis *axis, const uint32_t *tile, uint8_t *to)
{
    for (uint32_t x = 0; x < axis->size; x++, to += RESAMPLE_ROWS) {
        const struct resample_pair *pair = axis->weights + (size_t)x * axis->most;
        const uint32_t *from = tile + (size_t)axis->first[x] / 2 * RESAMPLE_ROWS;
        struct sums sums;

        begin(&sums);
        for (uint32_t k = 0; k < axis->pairs[x]; k++, from += RESAMPLE_ROWS)
            add(&sums, pair + k, _mm256_loadu_si256((const void *)from),
                _mm256_loadu_si256((const void *)(from + 8)));
        end(&sums, to);
    }
}

/* Rearranges columns of sixteen bytes into sixteen rows: transposes blocks of 16 x 16 bytes. This
 * takes four steps, in each of which pairs of vectors exchange halves. */
AVX2 static void untile_avx2(const uint8_t *from, uint32_t columns, uint8_t *to, size_t stride)
{
    for (uint32_t x = 0; x < columns; x += 16, from += 16 * RESAMPLE_ROWS) {
        __m128i a[16], b[16];

        for (int i = 0; i < 16; i++)
            a[i] = load(from + 16 * i);
        for (int step = 0; step < 4; step++) {
            for (int i = 0; i < 8; i++) {
                b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
                b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
            }
            memcpy(a, b, sizeof(a));
        }
        for (uint32_t i = 0; i < 16; i++)
            _mm_storeu_si128((void *)(to + i * stride + x), a[i]);
    }
}

/* Reads four pixels of each of two rows. */
AVX2 static inline __m256i load_pixels(const uint8_t *from, size_t stride)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load(from)), load(from + stride), 1);
}

AVX2 static inline __m256i everywhere(const int16_t weights[2])
{
    return _mm256_castps_si256(_mm256_broadcast_ss((const void *)weights));
}

/* Computes one output column of two rows of pixels. The lower half of the result is for one row,
 * and the upper half for the other row. Each half has four sums: red, green, blue, and one that is
 * ignored. */
AVX2 static inline __m256i sum_pixels(const struct resample_pair *pair, uint32_t pairs,
                                      const uint8_t *from, size_t stride)
{
    const __m256i first = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1,
                                           0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    const __m256i second = _mm256_setr_epi8(
        8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1,
        8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
    const struct resample_pair *end = pair + pairs;
    __m256i high = _mm256_setzero_si256(), low = _mm256_set1_epi32(RESAMPLE_HALF);

    for (; pair < end; pair += 2, from += 16) {
        const __m256i four = load_pixels(from, stride);
        const __m256i one = _mm256_shuffle_epi8(four, first);
        const __m256i two = _mm256_shuffle_epi8(four, second);

        high = _mm256_add_epi32(high, _mm256_add_epi32(
            _mm256_madd_epi16(one, everywhere(pair[0].high)),
            _mm256_madd_epi16(two, everywhere(pair[1].high))));
        low = _mm256_add_epi32(low, _mm256_add_epi32(
            _mm256_madd_epi16(one, everywhere(pair[0].low)),
            _mm256_madd_epi16(two, everywhere(pair[1].low))));
    }
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, 8), low), RESAMPLE_DIGITS);
}

AVX2 static inline __m256i sum_column(const struct resample_axis *axis, uint32_t x,
                                      const uint8_t *from, size_t stride)
{
    return sum_pixels(axis->weights + (size_t)x * axis->most, axis->pairs[x],
                      from + (size_t)axis->first[x] * 4, stride);
}

/* Computes four output columns of two rows of pixels. Each half of the result is for one row: four
 * bytes of red, then four of green, then four of blue. */
AVX2 static inline __m256i four_columns(const struct resample_axis *axis, uint32_t x,
                                        const uint8_t *from, size_t stride)
{
    const __m256i planes = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                                            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i one = _mm256_packs_epi32(sum_column(axis, x, from, stride),
                                           sum_column(axis, x + 1, from, stride));
    const __m256i two = _mm256_packs_epi32(sum_column(axis, x + 2, from, stride),
                                           sum_column(axis, x + 3, from, stride));

    return _mm256_shuffle_epi8(_mm256_packus_epi16(one, two), planes);
}

AVX2 static inline void store_columns(__m128i red_green, __m128i blue, uint8_t *to, size_t plane)
{
    _mm_storel_epi64((void *)to, red_green);
    _mm_storel_epi64((void *)(to + plane), _mm_unpackhi_epi64(red_green, red_green));
    _mm_storel_epi64((void *)(to + 2 * plane), blue);
}

AVX2 static void pixels_avx2(const struct resample_axis *axis, const uint8_t *from,
                             size_t from_stride, uint8_t *to, size_t stride, size_t plane)
{
    for (uint32_t x = 0; x < axis->size; x += RESAMPLE_COLUMNS) {
        const __m256i one = four_columns(axis, x, from, from_stride);
        const __m256i two = four_columns(axis, x + 4, from, from_stride);
        const __m256i red_green = _mm256_unpacklo_epi32(one, two);
        const __m256i blue = _mm256_unpackhi_epi32(one, two);

        store_columns(_mm256_castsi256_si128(red_green), _mm256_castsi256_si128(blue), to + x,
                      plane);
        store_columns(_mm256_extracti128_si256(red_green, 1), _mm256_extracti128_si256(blue, 1),
                      to + stride + x, plane);
    }
}

AVX2 static void down_avx2(const struct resample_pair *weights, uint32_t pairs,
                           const uint8_t *from, size_t stride, uint32_t columns, uint8_t *to)
{
    for (uint32_t x = 0; x < columns; x += 16) {
        const uint8_t *at = from + x;
        struct sums sums;

        begin(&sums);
        for (uint32_t k = 0; k < pairs; k++, at += 2 * stride) {
            const __m128i one = load(at), two = load(at + stride);

            add(&sums, weights + k, _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(one, two)),
                _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(one, two)));
        }
        end(&sums, to + x);
    }
}

const struct resample_kernel *resample_avx2(void)
{
    static const struct resample_kernel kernel = {
        join_avx2, tile_avx2, across_avx2, untile_avx2, pixels_avx2, down_avx2,
    };

    return __builtin_cpu_supports("avx2") ? &kernel : NULL;
}
#else
const struct resample_kernel *resample_avx2(void)
{
    return NULL;
}
#endif
