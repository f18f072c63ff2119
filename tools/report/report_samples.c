/* SPDX-License-Identifier: MIT
 *
 * Reads samples for a report. The samples that are shown as pictures are spread evenly over the
 * classes. The samples whose image sizes are shown are spread evenly over the data set. If the
 * source is a stream, the first samples are read instead. */
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/size_text.h"

#define READ_BYTES ((uint64_t)256 << 20)    /* of samples, about */
#define AT_ONCE 8u
#define SIDE 160u                           /* of a picture, in pixels */
#define ORIGINAL_MOST ((size_t)48 << 10)    /* an image up to this size is shown unchanged */
#define THUMBNAIL_MOST ((size_t)64 << 10)
#define TEXT_MOST 240u
#define CROPPED_MOST ((uint64_t)1 << 25)    /* pixels of an image of which crops are shown */

static const char *const format_names[] = { "JPEG", "PNG", "GIF", "WebP", "BMP" };
static const char *const format_types[] = { "image/jpeg", "image/png", "image/gif", "image/webp",
                                            "image/bmp" };

/* ---- One sample ------------------------------------------------------------------------------ */

/* Returns the first field of the sample that is an image, or NULL if the sample has no image. */
static const struct sheaf_field *image_of(const struct sheaf_sample *sample,
                                          struct sheaf_image *image)
{
    for (size_t i = 0; i < sample->field_count; i++)
        if (sheaf_image_look(sample->fields[i].data, sample->fields[i].size, image) == SHEAF_OK)
            return &sample->fields[i];
    return NULL;
}

static size_t format_of(const struct sheaf_image *image)
{
    size_t i = 0;

    while (i + 1 < sizeof(format_names) / sizeof(format_names[0]) &&
           strcmp(format_names[i], image->format) != 0)
        i++;
    return i;
}

static void report_samples_look_at(struct report_samples *s, const struct sheaf_sample *sample)
{
    struct sheaf_image image;

    s->read++;
    if (image_of(sample, &image) == NULL)
        return;
    s->images++;
    s->formats[format_of(&image)]++;
    if (image.width != 0 && image.height != 0 && s->look_count < REPORT_LOOKS_MOST)
        s->looks[s->look_count++] = (struct report_look){ image.width, image.height };
}

/* Makes a thumbnail, or takes a small image unchanged. */
static void take_image(struct report_picture *p, const struct sheaf_field *field)
{
    p->size = THUMBNAIL_MOST;
    p->data = malloc(THUMBNAIL_MOST);
    if (p->data == NULL)
        return;
    if (sheaf_thumbnail(field->data, field->size, SIDE, p->data, &p->size, NULL) == SHEAF_OK) {
        p->type = format_types[0];
    } else if (field->size <= ORIGINAL_MOST) {
        memcpy(p->data, field->data, field->size);
        p->size = field->size;
        p->type = format_types[format_of(&p->image)];
    }
}

static bool report_samples_is_text(const struct sheaf_field *field)
{
    const unsigned char *p = field->data;
    const size_t size = field->size < TEXT_MOST ? field->size : TEXT_MOST;

    for (size_t i = 0; i < size; i++)
        if (p[i] < 0x20 && p[i] != '\n' && p[i] != '\t' && p[i] != '\r')
            return false;
    return size != 0;
}

/* Returns the beginning of the sample's first text field, as one line. If the sample has no text
 * field, returns a list of its fields. */
static char *text_of(const struct sheaf_sample *sample)
{
    char *text = NULL, bytes[SIZE_TEXT_ROOM];
    size_t size;
    FILE *f = open_memstream(&text, &size);
    bool found = false;

    for (size_t i = 0; f != NULL && i < sample->field_count && !found; i++) {
        const struct sheaf_field *field = &sample->fields[i];

        found = report_samples_is_text(field);
        for (size_t k = 0; found && k < field->size && k < TEXT_MOST; k++) {
            const char c = ((const char *)field->data)[k];

            fputc(c == '\n' || c == '\t' || c == '\r' ? ' ' : c, f);
        }
    }
    for (size_t i = 0; f != NULL && i < sample->field_count && !found; i++)
        fprintf(f, "%s%s %s", i == 0 ? "" : ", ", sample->fields[i].name,
                size_text((double)sample->fields[i].size, bytes));
    if (f != NULL && fclose(f) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Makes random crops of the sample's image. The crops follow one another in memory, so together
 * they form one tall picture. */
static void take_crops(struct report_samples *s, const struct sheaf_sample *sample,
                       const struct sheaf_field *field, const struct sheaf_image *image)
{
    const struct sheaf_pixels_view view = { REPORT_CROPS, REPORT_CROP_SIDE, REPORT_CROP_SIDE,
                                            { 0.08, 1 } };
    const uint32_t height = REPORT_CROPS * REPORT_CROP_SIDE;
    struct report_strip *strip = &s->strips[s->strip_count];
    struct sheaf_pixels_options options;
    uint8_t pixels[REPORT_CROPS * REPORT_CROP_SIDE * REPORT_CROP_SIDE * 3];

    if (s->strip_count == REPORT_STRIPS_MOST ||
        (uint64_t)image->width * image->height > CROPPED_MOST)
        return;
    sheaf_pixels_options_init(&options, sizeof(options));
    options.layout = SHEAF_NHWC;
    options.views = &view;
    options.view_count = 1;
    if (sheaf_pixels(field->data, field->size, &options, sample->number, pixels, NULL, NULL) !=
        SHEAF_OK)
        return;
    *strip = (struct report_strip){ .key = strdup(sample->key),
                                    .size = SHEAF_PNG_ROOM(REPORT_CROP_SIDE, height, 3) };
    strip->png = malloc(strip->size);
    if (strip->key != NULL && strip->png != NULL &&
        sheaf_pixels_png(pixels, REPORT_CROP_SIDE, height, 3, SHEAF_NHWC, strip->png,
                         &strip->size, NULL) == SHEAF_OK) {
        s->strip_count++;
        return;
    }
    free(strip->key);
    free(strip->png);
}

static void report_samples_show(struct report_samples *s, const struct sheaf_sample *sample)
{
    struct report_picture *p = &s->pictures[s->picture_count];
    const struct sheaf_field *field;

    if (s->picture_count == REPORT_PICTURES_MOST)
        return;
    *p = (struct report_picture){
        .key = strdup(sample->key),
        .class_name = sample->class_name == NULL ? NULL : strdup(sample->class_name),
    };
    if (p->key == NULL)
        return;
    field = image_of(sample, &p->image);
    if (field != NULL) {
        take_image(p, field);
        take_crops(s, sample, field, &p->image);
    }
    if (p->type == NULL)
        p->text = text_of(sample);
    s->picture_count++;
}

/* ---- Many ------------------------------------------------------------------------------------ */

typedef void sample_fn(struct report_samples *s, const struct sheaf_sample *sample);

static void report_samples_note_problem(struct report_samples *s, const struct sheaf_error *error)
{
    s->bad++;
    if (s->problem[0] == '\0')
        snprintf(s->problem, sizeof(s->problem), "%.500s", error->message);
}

/* Reads several samples in one call of the library. If one of these samples is bad, the library
 * returns an error and no sample. In this case, the function reads each sample in a separate
 * call. */
static void report_samples_read_some(const struct sheaf_dataset *dataset, const uint64_t *numbers,
                                     size_t count, sample_fn *each, struct report_samples *s)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept;
    struct sheaf_error error;

    if (sheaf_dataset_read(dataset, numbers, count, NULL, &samples, &kept, &error) == SHEAF_OK) {
        for (size_t i = 0; i < count; i++)
            each(s, &samples[i]);
        sheaf_kept_free(kept);
    } else if (count == 1) {
        report_samples_note_problem(s, &error);
    } else {
        for (size_t i = 0; i < count; i++)
            report_samples_read_some(dataset, &numbers[i], 1, each, s);
    }
}

static void report_samples_read_all(const struct sheaf_dataset *dataset, const uint64_t *numbers,
                                    size_t count, sample_fn *each, struct report_samples *s)
{
    for (size_t at = 0; at < count; at += AT_ONCE)
        report_samples_read_some(dataset, numbers + at, count - at < AT_ONCE ? count - at : AT_ONCE,
                                 each, s);
}

/* Reads the beginning of a stream. */
static void read_stream(const struct sheaf_dataset *dataset, struct report_samples *s)
{
    struct sheaf_reader_options options;
    const struct sheaf_sample *sample;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    uint64_t bytes = 0;
    int code;

    sheaf_reader_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    code = sheaf_reader_open(dataset, &options, &reader, &error);
    if (code != SHEAF_OK) {
        report_samples_note_problem(s, &error);
        return;
    }
    while (code == SHEAF_OK && s->read < REPORT_LOOKS_MOST && bytes < READ_BYTES) {
        code = sheaf_reader_next(reader, &sample);
        if (code != SHEAF_OK)
            break;
        for (size_t i = 0; i < sample->field_count; i++)
            bytes += sample->fields[i].size;
        report_samples_look_at(s, sample);
        report_samples_show(s, sample);
    }
    if (code < 0)
        report_samples_note_problem(s, sheaf_reader_error(reader));
    sheaf_reader_free(reader);
}

/* Returns how many samples to read to find the sizes of images. It is the number of samples of
 * average size that have READ_BYTES bytes together, but at least AT_ONCE and at most
 * REPORT_LOOKS_MOST. */
static size_t report_samples_count_of(const struct sheaf_dataset_info *info)
{
    const uint64_t each = info->samples == 0 ? 1 : info->bytes / info->samples + 1;
    const uint64_t count = READ_BYTES / each;

    return count > REPORT_LOOKS_MOST ? REPORT_LOOKS_MOST : count < AT_ONCE ? AT_ONCE : count;
}

/* Chooses sample numbers that are spread evenly over the data set, or over the samples that a view
 * has chosen. */
static size_t spread(const struct sheaf_dataset *dataset, const struct sheaf_dataset_info *info,
                     uint64_t *numbers, size_t most)
{
    const size_t all = info->samples < most ? (size_t)info->samples : most;
    size_t count = 0;

    if (info->is_view)
        return sheaf_dataset_draw(dataset, most, numbers, &count, NULL) == SHEAF_OK ? count : 0;
    for (size_t i = 0; i < all; i++)
        numbers[i] = (uint64_t)((double)info->samples * ((double)i + 0.5) / (double)all);
    return all;
}

void report_read_samples(const struct sheaf_dataset *dataset, struct report_samples *s)
{
    uint64_t numbers[REPORT_LOOKS_MOST];
    struct sheaf_dataset_info info;
    struct sheaf_error error;
    size_t most, count;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    if (info.is_stream) {
        read_stream(dataset, s);
        return;
    }
    most = report_samples_count_of(&info);
    if (sheaf_dataset_draw(dataset, most < REPORT_PICTURES_MOST ? most : REPORT_PICTURES_MOST,
                           numbers, &count, &error) == SHEAF_OK)
        report_samples_read_all(dataset, numbers, count, report_samples_show, s);
    else
        report_samples_note_problem(s, &error);
    report_samples_read_all(dataset, numbers, spread(dataset, &info, numbers, most),
                            report_samples_look_at, s);
}

void report_free_samples(struct report_samples *s)
{
    for (size_t i = 0; i < s->picture_count; i++) {
        free(s->pictures[i].key);
        free(s->pictures[i].class_name);
        free(s->pictures[i].data);
        free(s->pictures[i].text);
    }
    s->picture_count = 0;
    for (size_t i = 0; i < s->strip_count; i++) {
        free(s->strips[i].key);
        free(s->strips[i].png);
    }
    s->strip_count = 0;
}
