/* SPDX-License-Identifier: MIT
 *
 * make_jpegs: writes a directory tree of JPEG files that resembles the data set Caltech-256, for
 * the demo, tests and measurements. The files have names such as DIR/001.amber-anchor/001_0001.jpg.
 * Most classes have 80 to 150 images, and a few have up to 800. File sizes are log-normal around
 * the mean.
 *
 * A few hundred images are drawn and encoded. Each file is one of these images, with the file's
 * number in a comment segment. So every file is a valid JPEG, all files differ, and the files are
 * written about as fast as the disk can. The same seed gives the same files. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <jpeglib.h>

#define BASE_MOST    400    /* images that are drawn */
#define PIXELS_MOST  (1 << 22)
#define OCTAVES      5

struct options {
    const char *directory;
    uint64_t images;        /* before replication */
    uint64_t classes;
    uint64_t seed;
    uint64_t mean_bytes;
    uint64_t replicate;
};

struct image {
    unsigned char *data;    /* from libjpeg: malloc'd */
    unsigned long size;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "make_jpegs: %s: %s\n", what, why);
    exit(1);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t next_random(void)   /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(double low, double high)
{
    return low + (high - low) * ((double)(next_random() >> 11) * 0x1p-53);
}

static double normal(void)          /* Box and Muller */
{
    const double radius = sqrt(-2 * log(uniform(0x1p-53, 1)));

    return radius * cos(uniform(0, 2 * M_PI));
}

/* Draws a random file size in bytes. Sizes are log-normal with this mean, but at least a twentieth
 * of the mean, and at most five times the mean. (For the mean of Caltech-256, 39 kB, these limits
 * are 2 kB and 200 kB.) */
static double file_bytes(double mean)
{
    const double sigma = 0.75;
    double bytes;

    do
        bytes = mean * exp(sigma * normal() - sigma * sigma / 2);
    while (bytes < mean / 20 || bytes > mean * 5);
    return bytes;
}

/* ---- Drawing and encoding ------------------------------------------------------------------- */

/* A grid of random numbers. Between the points of the grid, values are interpolated smoothly. */
struct noise {
    uint8_t height[64][64];
    double row[64];         /* the heights along one line of pixels */
    double step;            /* lattice points a pixel */
    double strength;
};

static double smooth(double t)
{
    return t * t * (3 - 2 * t);
}

static void begin_row(struct noise *noise, int y)
{
    const double v = y * noise->step;
    const unsigned j = (unsigned)v;
    const double b = smooth(v - j);

    for (size_t i = 0; i < 64; i++)
        noise->row[i] = noise->strength * (noise->height[j % 64][i] * (1 - b) +
                                           noise->height[(j + 1) % 64][i] * b - 127.5);
}

static double noise_at(const struct noise *noise, int x)
{
    const double u = x * noise->step;
    const unsigned i = (unsigned)u;
    const double a = smooth(u - i);

    return noise->row[i % 64] * (1 - a) + noise->row[(i + 1) % 64] * a;
}

static uint8_t clamp(double value)
{
    return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)value;
}

/* Draws an image: clouds at several scales in two colours, and a few discs with hard edges. */
static void make_jpegs_draw(uint8_t *pixels, int width, int height)
{
    static struct noise octaves[OCTAVES];
    double colour[3], tint[3], disc[4][4];

    for (size_t o = 0; o < OCTAVES; o++) {
        for (size_t i = 0; i < sizeof(octaves[o].height); i++)
            octaves[o].height[i / 64][i % 64] = (uint8_t)next_random();
        octaves[o].step = uniform(0.7, 1) / (double)(1u << (OCTAVES - o));
        octaves[o].strength = uniform(0.3, 1) * pow(0.65, (double)o);
    }
    for (size_t c = 0; c < 3; c++) {
        colour[c] = uniform(60, 200);
        tint[c] = uniform(0.3, 1);
    }
    for (size_t d = 0; d < 4; d++) {
        disc[d][0] = uniform(0, width);
        disc[d][1] = uniform(0, height);
        disc[d][2] = uniform(0, width * width / 40.0);
        disc[d][3] = uniform(-60, 60);
    }
    for (int y = 0; y < height; y++) {
        for (size_t o = 0; o < OCTAVES; o++)
            begin_row(&octaves[o], y);
        for (int x = 0; x < width; x++) {
            double light = 0;

            for (size_t o = 0; o < OCTAVES; o++)
                light += noise_at(&octaves[o], x);
            for (size_t d = 0; d < 4; d++) {
                const double dx = x - disc[d][0], dy = y - disc[d][1];

                light += dx * dx + dy * dy < disc[d][2] ? disc[d][3] : 0;
            }
            for (size_t c = 0; c < 3; c++)
                *pixels++ = clamp(colour[c] + tint[c] * light);
        }
    }
}

static struct image make_jpegs_encode(const uint8_t *pixels, int width, int height, int quality,
                                      bool progressive)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct image image = { NULL, 0 };

    /* with libjpeg's standard error handler, an error ends the program, which is acceptable for a
     * generator of test data */
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &image.data, &image.size);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        /* the cast removes `const`, because libjpeg wants a pointer to writable rows, although it
         * does not write to them */
        uint8_t *row = (uint8_t *)(uintptr_t)pixels +
                       (size_t)jpeg.next_scanline * (size_t)width * 3;

        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return image;
}

/* Makes a JPEG image of about `bytes` bytes. Draws the image once to see how well it compresses.
 * Then draws it again with the number of pixels that gives the wanted size in bytes. */
static struct image make_image(double bytes, uint8_t *pixels)
{
    const double shape = exp(uniform(-0.4, 0.4));       /* width / height */
    const int quality = (int)uniform(70, 95);
    const bool progressive = next_random() % 16 == 0;
    const uint64_t texture = next_random();
    double area = fmin(fmax(bytes * 3, 1000), PIXELS_MOST);
    struct image image;

    for (int attempt = 0;; attempt++) {
        const int width = (int)sqrt(area * shape);
        const int height = (int)sqrt(area / shape);
        const uint64_t kept = state;
        double ratio;

        state = texture;
        make_jpegs_draw(pixels, width, height);
        state = kept;
        image = make_jpegs_encode(pixels, width, height, quality, progressive);
        ratio = bytes / (double)image.size;
        if (attempt == 3 || (ratio > 0.97 && ratio < 1.03))
            return image;
        area = fmin(fmax(area * ratio, 400), PIXELS_MOST);
        free(image.data);
    }
}

/* Makes `count` JPEG images whose mean size in bytes is close to `mean`. */
static struct image *make_images(size_t count, double mean)
{
    struct image *images = calloc(count, sizeof(*images));
    double *bytes = calloc(count, sizeof(*bytes));
    uint8_t *pixels = malloc((size_t)PIXELS_MOST * 3);
    double sum = 0;

    if (!images || !bytes || !pixels)
        die("images", "out of memory");
    for (size_t i = 0; i < count; i++)
        sum += bytes[i] = file_bytes(mean);
    for (size_t i = 0; i < count; i++)
        images[i] = make_image(bytes[i] * mean * (double)count / sum, pixels);
    free(bytes);
    free(pixels);
    return images;
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* Returns the number of images of each class. The numbers add up to `images`, and are distributed
 * as in Caltech-256, with at least one image for each class. */
static uint64_t *class_sizes(uint64_t images, uint64_t classes)
{
    double *share = calloc(classes, sizeof(*share));
    uint64_t *sizes = calloc(classes, sizeof(*sizes));
    double sum = 0, before = 0;

    if (!share || !sizes)
        die("classes", "out of memory");
    for (uint64_t i = 0; i < classes; i++) {
        share[i] = fmin(80 - 30 * log(uniform(0x1p-53, 1)), 800);
        if (i == classes - 1)
            share[i] = 800;         /* Caltech's clutter */
        sum += share[i];
    }
    for (uint64_t i = 0; i < classes; i++) {
        const double rest = (double)(images - classes) / sum;

        sizes[i] = 1 + (uint64_t)floor((before + share[i]) * rest + 0.5) -
                   (uint64_t)floor(before * rest + 0.5);
        before += share[i];
    }
    free(share);
    return sizes;
}

/* Writes a copy of the image to a file. Inserts a comment segment with `number` after the first two
 * bytes (the SOI marker), so that all files differ. */
static void make_jpegs_write_file(const char *path, const struct image *image, uint64_t number)
{
    uint8_t comment[40] = { 0xff, 0xd8, 0xff, 0xfe };
    const int length = snprintf((char *)comment + 6, sizeof(comment) - 6, "image %" PRIu64,
                                number);
    struct iovec parts[2] = {
        { comment, 6 + (size_t)length },
        { image->data + 2, image->size - 2 },
    };
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    comment[4] = 0;
    comment[5] = (uint8_t)(length + 2);
    if (fd < 0)
        die(path, strerror(errno));
    if (writev(fd, parts, 2) != (ssize_t)(parts[0].iov_len + parts[1].iov_len))
        die(path, "could not be written whole");
    if (close(fd) != 0)
        die(path, strerror(errno));
}

static void make_directory(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        die(path, strerror(errno));
}

static void write_class(const struct options *o, uint64_t class, uint64_t size,
                        const struct image *images, size_t image_count, uint64_t *number)
{
    static const char *const first[] = {
        "amber", "blue", "copper", "dusty", "early", "faded", "golden", "hollow", "ivory",
        "jagged", "kind", "little", "mossy", "narrow", "olive", "paper", "quiet",
    };
    static const char *const second[] = {
        "anchor", "basket", "candle", "drum", "engine", "feather", "guitar", "hammer", "island",
        "jacket", "kettle", "ladder", "mirror", "needle", "orchid", "piano",
    };
    const size_t first_count = sizeof(first) / sizeof(first[0]);
    const size_t second_count = sizeof(second) / sizeof(second[0]);
    char path[4096], copy[32] = "";

    snprintf(path, sizeof(path), "%s/%03" PRIu64 ".%s-%s", o->directory, class + 1,
             first[class % first_count], second[class % second_count]);
    make_directory(path);
    for (uint64_t i = 0; i < size; i++) {
        const struct image *image = &images[next_random() % image_count];

        for (uint64_t k = 0; k < o->replicate; k++) {
            if (k > 0)
                snprintf(copy, sizeof(copy), "-%02" PRIu64, k);
            else
                copy[0] = '\0';
            snprintf(path, sizeof(path),
                     "%s/%03" PRIu64 ".%s-%s/%03" PRIu64 "_%04" PRIu64 "%s.jpg", o->directory,
                     class + 1, first[class % first_count], second[class % second_count],
                     class + 1, i + 1, copy);
            make_jpegs_write_file(path, image, (*number)++);
        }
    }
}

static void make_tree(const struct options *o)
{
    const size_t image_count = o->images < BASE_MOST ? (size_t)o->images : BASE_MOST;
    const uint64_t classes = o->classes < o->images ? o->classes : o->images;
    struct image *images;
    uint64_t *sizes;
    uint64_t number = 0;

    state = o->seed;
    images = make_images(image_count, (double)o->mean_bytes);
    sizes = class_sizes(o->images, classes);
    make_directory(o->directory);
    for (uint64_t i = 0; i < classes; i++)
        write_class(o, i, sizes[i], images, image_count, &number);
    for (size_t i = 0; i < image_count; i++)
        free(images[i].data);
    free(images);
    free(sizes);
}

static const char usage[] =
    "Usage: make_jpegs DIR [OPTION]...\n\n"
    "Makes a tree of JPEG files in the manner of Caltech-256 in DIR.\n\n"
    "  --images N       images (default: 3000)\n"
    "  --classes N      class directories, at most as many as images (default: 257)\n"
    "  --seed S         what everything follows from (default: 1)\n"
    "  --mean-bytes N   mean size of a file (default: 39000)\n"
    "  --replicate K    write each image K times, under names of their own (default: 1)\n";

static uint64_t make_jpegs_parse_number(const char *name, const char *text, uint64_t least)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || value < least ||
        value > 1000000000) {
        fprintf(stderr, "make_jpegs: %s: \"%s\" is not a number from %" PRIu64 " to 1000000000\n",
                name, text, least);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct options o = { NULL, 3000, 257, 1, 39000, 1 };
    const struct { const char *name; uint64_t *value; uint64_t least; } table[] = {
        { "--images", &o.images, 1 }, { "--classes", &o.classes, 1 }, { "--seed", &o.seed, 0 },
        { "--mean-bytes", &o.mean_bytes, 1000 }, { "--replicate", &o.replicate, 1 },
    };
    const size_t count = sizeof(table) / sizeof(table[0]);

    for (int i = 1; i < argc; i++) {
        size_t t = 0;

        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        while (t < count && strcmp(argv[i], table[t].name) != 0)
            t++;
        if (t < count && i + 1 < argc) {
            *table[t].value = make_jpegs_parse_number(table[t].name, argv[i + 1], table[t].least);
            i++;
        } else if (t == count && argv[i][0] != '-' && !o.directory) {
            o.directory = argv[i];
        } else {
            fprintf(stderr, "make_jpegs: %s is not expected here\n%s", argv[i], usage);
            return 2;
        }
    }
    if (!o.directory) {
        fputs(usage, stderr);
        return 2;
    }
    make_tree(&o);
    return 0;
}
