/* SPDX-License-Identifier: MIT
 *
 * Shows samples of a data set as thumbnails, and a chart of the sizes of its images. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/html.h"
#include "tools/report/report.h"
#include "tools/tool.h"

/* ---- Pictures -------------------------------------------------------------------------------- */

static void picture(const struct report *r, const struct report_picture *p)
{
    fprintf(r->f, "<figure title=\"");
    html_text(r->f, p->key, 400);
    fprintf(r->f, "\">");
    if (p->type != NULL) {
        fprintf(r->f, "<img alt=\"");
        html_text(r->f, p->key, REPORT_NAME_MOST);
        fprintf(r->f, "\" src=\"");
        html_data(r->f, p->type, p->data, p->size);
        fprintf(r->f, "\">");
    } else {
        fprintf(r->f, "<div class=text>");
        html_text(r->f, p->text == NULL ? "" : p->text, 240);
        fprintf(r->f, "</div>");
    }
    fprintf(r->f, "<figcaption>");
    html_text(r->f, p->class_name != NULL ? p->class_name : p->key, REPORT_NAME_MOST);
    fprintf(r->f, "</figcaption></figure>\n");
}

void report_pictures(const struct report *r)
{
    const struct report_samples *s = r->samples;

    if (s->picture_count == 0)
        return;
    fprintf(r->f, "<section id=samples><h2>Samples</h2>\n<p class=dim>%s</p>\n<div class=grid>\n",
            r->info.is_stream ? "The first ones."
            : r->class_samples != NULL ? "Drawn evenly over the classes."
                                       : "Drawn evenly over the data set.");
    for (size_t i = 0; i < s->picture_count; i++)
        picture(r, &s->pictures[i]);
    fprintf(r->f, "</div></section>\n");
}

/* Shows what a loader with sheaf.Pixels makes of images. */
void report_crops(const struct report *r)
{
    const struct report_samples *s = r->samples;

    if (s->strip_count == 0)
        return;
    fprintf(r->f, "<section id=crops><h2>Random crops</h2>\n<p class=dim>%u of each image, as a "
            "loader with sheaf.Pixels(%u) draws them: 8 %% to 100 %% of the area, and half of them "
            "mirrored.</p>\n<div class=grid>\n", REPORT_CROPS, REPORT_CROP_SIDE);
    for (size_t i = 0; i < s->strip_count; i++) {
        fprintf(r->f, "<figure><img alt=\"crops\" src=\"");
        html_data(r->f, "image/png", s->strips[i].png, s->strips[i].size);
        fprintf(r->f, "\"><figcaption>");
        html_text(r->f, s->strips[i].key, REPORT_NAME_MOST);
        fprintf(r->f, "</figcaption></figure>\n");
    }
    fprintf(r->f, "</div></section>\n");
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static int compare_sides(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void row(const struct report *r, const char *what, uint32_t *sides)
{
    const size_t count = r->samples->look_count;

    qsort(sides, count, sizeof(sides[0]), compare_sides);
    fprintf(r->f, "<tr><td>%s</td><td>%u</td><td>%u</td><td>%u</td><td>%u</td></tr>\n", what,
            sides[0], sides[count / 20], sides[count / 2], sides[count - 1]);
}

static void size_table(const struct report *r)
{
    const struct report_samples *s = r->samples;
    uint32_t widths[REPORT_LOOKS_MOST], heights[REPORT_LOOKS_MOST], shorter[REPORT_LOOKS_MOST];

    for (size_t i = 0; i < s->look_count; i++) {
        widths[i] = s->looks[i].width;
        heights[i] = s->looks[i].height;
        shorter[i] = widths[i] < heights[i] ? widths[i] : heights[i];
    }
    fprintf(r->f, "<table><tr><th>pixels</th><th>least</th><th>5 %%</th><th>median</th>"
            "<th>most</th></tr>\n");
    row(r, "width", widths);
    row(r, "height", heights);
    row(r, "shorter side", shorter);
    fprintf(r->f, "</table>\n");
}

/* Rounds a number up to the next number in the sequence 10, 15, 20, 30, ..., 100, 150, ... */
static uint32_t report_pictures_round_up(uint32_t value)
{
    static const uint32_t steps[] = { 10, 15, 20, 30, 40, 50, 60, 80 };
    uint64_t power = 1;

    for (;; power *= 10)
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
            if (power * steps[i] >= value)
                return (uint32_t)(power * steps[i]);
}

static void scatter(const struct report *r)
{
    const struct report_samples *s = r->samples;
    uint32_t most = 1;

    for (size_t i = 0; i < s->look_count; i++) {
        most = s->looks[i].width > most ? s->looks[i].width : most;
        most = s->looks[i].height > most ? s->looks[i].height : most;
    }
    most = report_pictures_round_up(most);
    fprintf(r->f, "<svg class=square viewBox=\"0 0 340 330\" role=img "
            "aria-label=\"width and height of images\">"
            "<line class=axis x1=40 y1=10 x2=40 y2=290 /><line class=axis x1=40 y1=290 x2=330 "
            "y2=290 /><path class=ideal d=\"M40 290L320 10\"/>"
            "<text x=320 y=306 text-anchor=end>%u</text><text x=34 y=18 text-anchor=end>%u</text>"
            "<text x=180 y=322 text-anchor=middle>width in pixels</text>"
            "<text x=14 y=150 text-anchor=middle transform=\"rotate(-90 14 150)\">height</text>\n",
            most, most);
    for (size_t i = 0; i < s->look_count; i++)
        fprintf(r->f, "<circle class=dot cx=\"%.1f\" cy=\"%.1f\" r=3 />",
                40 + 280.0 * s->looks[i].width / most, 290 - 280.0 * s->looks[i].height / most);
    fprintf(r->f, "</svg>\n");
}

void report_image_sizes(const struct report *r)
{
    static const char *const names[] = { "JPEG", "PNG", "GIF", "WebP", "BMP" };
    const struct report_samples *s = r->samples;
    const char *before = "";

    if (s->images == 0)
        return;
    fprintf(r->f, "<section id=images><h2>Images</h2>\n<p>%" PRIu64 " of %" PRIu64 " samples that "
            "were looked at have an image: ", s->images, s->read);
    for (size_t i = 0; i < 5; i++) {
        if (s->formats[i] == 0)
            continue;
        fprintf(r->f, "%s%" PRIu64 " %s", before, s->formats[i], names[i]);
        before = ", ";
    }
    fprintf(r->f, ".</p>\n");
    if (s->look_count != 0) {
        fprintf(r->f, "<div class=two><div>");
        scatter(r);
        fprintf(r->f, "</div><div>");
        size_table(r);
        fprintf(r->f, "</div></div>");
    }
    fprintf(r->f, "</section>\n");
}
