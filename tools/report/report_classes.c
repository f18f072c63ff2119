/* SPDX-License-Identifier: MIT
 *
 * Writes the sections of a report about classes, about fields, and about how well an epoch is
 * shuffled, with charts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mixing.h"
#include "tools/report/html.h"
#include "tools/report/report.h"
#include "tools/tool.h"

/* largest number of classes for which the chart has a bar with a name for each class */
#define NAMED_MOST 36u
#define BARS_MOST 300u
#define RARE_MOST 12u
#define FREQUENT 6u

/* ---- Classes --------------------------------------------------------------------------------- */

struct class_count {
    size_t number;
    uint64_t samples;
};

/* Compares two classes for sorting by their number of samples, the largest first. Classes of equal
 * size keep their order. */
static int report_classes_compare(const void *a, const void *b)
{
    const struct class_count *x = a, *y = b;

    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static void class_name(const struct report *r, const struct class_count *c)
{
    const char *name = sheaf_dataset_class(r->dataset, c->number);

    html_text(r->f, name == NULL ? "" : name, REPORT_NAME_MOST);
}

/* Prints a row for each class: name, bar, count. */
static void named_bars(const struct report *r, const struct class_count *list, size_t count)
{
    const uint64_t most = list[0].samples == 0 ? 1 : list[0].samples;

    fprintf(r->f, "<table>");
    for (size_t i = 0; i < count; i++) {
        fprintf(r->f, "<tr><td style=\"width:30%%\">");
        class_name(r, &list[i]);
        fprintf(r->f, "</td><td><svg viewBox=\"0 0 600 12\" preserveAspectRatio=none "
                "style=\"height:12px\"><rect class=bar width=\"%.1f\" height=12 rx=2 /></svg></td>"
                "<td style=\"width:16%%\">", 600.0 * (double)list[i].samples / (double)most);
        html_count(r->f, list[i].samples);
        fprintf(r->f, "</td></tr>\n");
    }
    fprintf(r->f, "</table>\n");
}

/* Prints a chart with one bar for each class. The bars are sorted from the largest class to the
 * smallest, and have no names. If there are more classes than bars, each bar shows the mean size of
 * several classes. */
static void sorted_bars(const struct report *r, const struct class_count *list, size_t count)
{
    const size_t bars = count < BARS_MOST ? count : BARS_MOST;
    const double width = 960.0 / (double)bars;
    const uint64_t most = list[0].samples == 0 ? 1 : list[0].samples;

    fprintf(r->f, "<svg viewBox=\"0 0 1000 230\" role=img aria-label=\"samples of each class, from "
            "the largest to the smallest\"><line class=axis x1=36 x2=1000 y1=200 y2=200 />"
            "<text x=30 y=16 text-anchor=end>");
    html_count(r->f, most);
    fprintf(r->f, "</text><text x=30 y=204 text-anchor=end>0</text><text x=36 y=222>largest</text>"
            "<text x=996 y=222 text-anchor=end>smallest</text>");
    for (size_t b = 0; b < bars; b++) {
        const size_t from = count * b / bars, end = count * (b + 1) / bars;
        double sum = 0;

        for (size_t i = from; i < end; i++)
            sum += (double)list[i].samples;
        sum /= (double)(end - from);
        fprintf(r->f, "<rect class=bar x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">"
                "<title>", 38 + width * (double)b, 200 - 190 * sum / (double)most, width * 0.86,
                190 * sum / (double)most);
        class_name(r, &list[from]);
        fprintf(r->f, ": %.0f</title></rect>\n", sum);
    }
    fprintf(r->f, "</svg>\n");
    if (bars < count)
        fprintf(r->f, "<p class=dim>Each bar is the mean of at most %zu classes.</p>\n",
                (count + bars - 1) / bars);
}

static void name_some(const struct report *r, const char *title, const struct class_count *list,
                      size_t count)
{
    fprintf(r->f, "<div><h3>%s</h3><div class=names>", title);
    for (size_t i = 0; i < count; i++) {
        fprintf(r->f, "<div><span>");
        class_name(r, &list[i]);
        fprintf(r->f, "</span><span>");
        html_count(r->f, list[i].samples);
        fprintf(r->f, "</span></div>");
    }
    fprintf(r->f, "</div></div>\n");
}

/* Prints a sentence with the smallest, the median and the largest number of samples in a class, and
 * remarks about these numbers. */
static void say_classes(const struct report *r, const struct class_count *list, size_t count)
{
    const uint64_t median = list[count / 2].samples;
    size_t empty = 0, rare = 0;

    for (size_t i = 0; i < count; i++) {
        empty += list[i].samples == 0;
        rare += list[i].samples != 0 && list[i].samples * 5 < median;
    }
    fprintf(r->f, "<p>%zu class%s of ", count, count == 1 ? "" : "es");
    html_count(r->f, list[count - 1].samples);
    fprintf(r->f, " to ");
    html_count(r->f, list[0].samples);
    fprintf(r->f, " samples, the median ");
    html_count(r->f, median);
    fprintf(r->f, ".");
    if (rare != 0)
        fprintf(r->f, " <span class=warm>%zu %s fewer than a fifth of the median.</span>", rare,
                rare == 1 ? "has" : "have");
    if (empty != 0)
        fprintf(r->f, " <span class=warm>%zu %s no sample.</span>", empty,
                empty == 1 ? "has" : "have");
    fprintf(r->f, "</p>\n");
}

void report_classes(const struct report *r)
{
    const size_t count = r->info.class_count;
    struct class_count *list = count == 0 || r->class_samples == NULL
                             ? NULL : calloc(count, sizeof(list[0]));

    if (list == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct class_count){ i, r->class_samples[i] };
    qsort(list, count, sizeof(list[0]), report_classes_compare);
    fprintf(r->f, "<section id=classes><h2>Classes</h2>\n");
    say_classes(r, list, count);
    if (count <= NAMED_MOST) {
        named_bars(r, list, count);
    } else {
        const size_t rare = RARE_MOST;

        sorted_bars(r, list, count);
        fprintf(r->f, "<div class=two>");
        name_some(r, "Most samples", list, FREQUENT);
        name_some(r, "Fewest samples", list + count - rare, rare);
        fprintf(r->f, "</div>");
    }
    fprintf(r->f, "</section>\n");
    free(list);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static const char *const decade_names[SHEAF_SURVEY_DECADES] = {
    "under 1 kB", "1 to 10 kB", "10 to 100 kB", "100 kB to 1 MB", "1 to 10 MB", "10 to 100 MB",
    "100 MB to 1 GB", "over 1 GB",
};

static void decade_bars(const struct report *r, const struct sheaf_field_info *field)
{
    size_t first = 0, end = SHEAF_SURVEY_DECADES;
    uint64_t most = 1;

    for (size_t i = 0; i < SHEAF_SURVEY_DECADES; i++)
        most = field->decades[i] > most ? field->decades[i] : most;
    while (first + 1 < end && field->decades[first] == 0)
        first++;
    while (end > first + 1 && field->decades[end - 1] == 0)
        end--;
    fprintf(r->f, "<div><h3>");
    html_text(r->f, field->name, REPORT_NAME_MOST);
    fprintf(r->f, "</h3><table>");
    for (size_t i = first; i < end; i++) {
        fprintf(r->f, "<tr><td style=\"width:34%%\">%s</td><td><svg viewBox=\"0 0 300 12\" "
                "preserveAspectRatio=none style=\"height:12px\"><rect class=bar width=\"%.1f\" "
                "height=12 rx=2 /></svg></td><td style=\"width:22%%\">", decade_names[i],
                300.0 * (double)field->decades[i] / (double)most);
        html_count(r->f, field->decades[i]);
        fprintf(r->f, "</td></tr>\n");
    }
    fprintf(r->f, "</table></div>\n");
}

static void field_row(const struct report *r, const struct sheaf_field_info *field)
{
    const uint64_t lacking = r->info.samples - field->samples;

    fprintf(r->f, "<tr><td>");
    html_text(r->f, field->name, REPORT_NAME_MOST);
    fprintf(r->f, "</td><td>");
    html_count(r->f, field->samples);
    fprintf(r->f, "</td><td>");
    html_size(r->f, (double)field->bytes);
    fprintf(r->f, "</td><td>");
    html_size(r->f, (double)field->least_bytes);
    fprintf(r->f, "</td><td>");
    html_size(r->f, (double)field->median_bytes);
    fprintf(r->f, "</td><td>");
    html_size(r->f, (double)field->most_bytes);
    fprintf(r->f, "</td></tr>\n");
    if (lacking == 0 || lacking > r->info.samples / 10)
        return;
    fprintf(r->f, "<tr><td colspan=6 class=warm>%" PRIu64 " sample%s without it", lacking,
            plural(lacking));
    if (field->lacking != NULL) {
        fprintf(r->f, ", first ");
        html_text(r->f, field->lacking, REPORT_NAME_MOST);
    }
    fprintf(r->f, "</td></tr>\n");
}

/* Largest number of rows in the table of fields. The table is limited because a data set may have
 * any number of field names, for example names that contain numbers. */
#define FIELDS_MOST 24u

void report_fields(const struct report *r)
{
    const size_t all = r->info.field_count, count = all < FIELDS_MOST ? all : FIELDS_MOST;
    struct sheaf_field_info field;

    if (!r->info.counts_fields || r->info.samples == 0)
        return;
    fprintf(r->f, "<section id=fields><h2>Fields</h2>\n");
    if (all == 0)
        fprintf(r->f, "<p class=warm>More than 256 names of fields: is part of the key behind the "
                "first dot of the file names?</p>\n");
    else
        fprintf(r->f, "<table><tr><th>field</th><th>samples</th><th>all</th><th>least</th>"
                "<th>median</th><th>most</th></tr>\n");
    for (size_t i = 0; i < count; i++)
        if (sheaf_dataset_field(r->dataset, i, &field, sizeof(field)) == SHEAF_OK)
            field_row(r, &field);
    if (all != 0)
        fprintf(r->f, "</table>\n");
    if (count < all)
        fprintf(r->f, "<p class=dim>And %zu more.</p>\n", all - count);
    fprintf(r->f, "<div class=two>");
    for (size_t i = 0; i < count && i < 6; i++)
        if (sheaf_dataset_field(r->dataset, i, &field, sizeof(field)) == SHEAF_OK)
            decade_bars(r, &field);
    fprintf(r->f, "</div></section>\n");
}

/* ---- Mixing ---------------------------------------------------------------------------------- */

static void plot(const struct report *r, const struct sheaf_mixing *m)
{
    fprintf(r->f, "<svg class=square viewBox=\"0 0 340 330\" role=img "
            "aria-label=\"where samples lie, and when they come\">"
            "<line class=axis x1=40 y1=10 x2=40 y2=290 />"
            "<line class=axis x1=40 y1=290 x2=330 y2=290 />"
            "<text x=180 y=310 text-anchor=middle>when it comes in the epoch</text>"
            "<text x=20 y=150 text-anchor=middle transform=\"rotate(-90 20 150)\">where it lies"
            "</text>\n");
    for (size_t i = 0; i < m->point_count; i++)
        fprintf(r->f, "<circle class=dot cx=\"%.1f\" cy=\"%.1f\" r=2 />", 40 + 280 * m->came[i],
                290 - 280 * m->lay[i]);
    fprintf(r->f, "</svg>\n");
}

static void pair(const struct report *r, const char *what, double value, double ideal)
{
    const int digits = value < 10 && ideal < 10 ? 3 : 0;

    fprintf(r->f, "<tr><td>%s</td><td>%.*f</td><td>%.*f</td></tr>\n", what, digits, value, digits,
            ideal);
}

void report_mixing(const struct report *r)
{
    static struct sheaf_mixing m;       /* large for a stack */
    struct sheaf_error error;

    if (r->info.is_stream || r->info.samples < 2 ||
        sheaf_dataset_mixing(r->dataset, r->options, &m, sizeof(m), &error) != SHEAF_OK)
        return;
    fprintf(r->f, "<section id=mixing><h2>How an epoch is mixed</h2>\n<p>With %s%" PRIu64
            ", seed %" PRIu64 ", epoch %" PRIu64 ": <b>",
            r->options->no_shuffle ? "no shuffling, a buffer of " : "a shuffle buffer of ",
            r->options->shuffle_buffer, r->options->seed, r->options->epoch);
    mixing_write_verdict(r->f, &m);
    fprintf(r->f, ".</b>");
    if (!mixing_is_good(&m)) {
        fprintf(r->f, " To mix better: ");
        mixing_write_advice(r->f, &m, r->options);
        fprintf(r->f, ".");
    }
    fprintf(r->f, "</p>\n<div class=two><div>");
    plot(r, &m);
    fprintf(r->f, "</div><div><table><tr><th></th><th>here</th><th>ideal</th></tr>\n");
    pair(r, "mean distance from where it lies", m.displacement, m.ideal_displacement);
    pair(r, "share that stays near its neighbour", m.neighbours, m.ideal_neighbours);
    if (m.has_labels) {
        pair(r, "samples of one label in a row", m.label_run, m.ideal_label_run);
        if (m.batch_labels > 0)
            pair(r, "labels in 256 samples", m.batch_labels, m.ideal_batch_labels);
    }
    fprintf(r->f, "</table><p class=dim>An even cloud is a good shuffle; a diagonal, or stripes, "
            "are samples that come as they lie.</p></div></div></section>\n");
}
