/* SPDX-License-Identifier: MIT
 *
 * Prints, judges and plots struct sheaf_mixing. */
#include "tools/mixing.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/tool.h"
#include "tools/replace.h"

#define PLOT_SIZE 400       /* of the square, in pixels */
#define MARGIN    40

/* ---- The verdict ----------------------------------------------------------------------------- */

/* Limits for grading how well an epoch is shuffled. Each measure of the shuffle is compared with
 * its value for an ideal shuffle. A result beyond the limit ..._POOR gets the grade "poor", which
 * probably affects training. A result beyond the limit ..._FAIR gets the grade "fair". The limits
 * are rules of thumb. */
#define LABELS_POOR     0.7
#define LABELS_FAIR     0.95
#define RUN_POOR        3.0
#define RUN_FAIR        1.3
#define NEIGHBOURS_POOR 0.5
#define NEIGHBOURS_FAIR 0.2
#define DISTANCE_POOR   0.3
#define DISTANCE_FAIR   0.7

enum grade { GRADE_GOOD, GRADE_FAIR, GRADE_POOR };

static const char *const grade_names[] = { "good", "fair", "poor" };

static enum grade grade_of(bool is_fair, bool is_poor)
{
    return is_poor ? GRADE_POOR : is_fair ? GRADE_FAIR : GRADE_GOOD;
}

static enum grade labels_grade(const struct sheaf_mixing *m)
{
    const double run = m->label_run / m->ideal_label_run;
    const double batch = m->batch_labels > 0 ? m->batch_labels / m->ideal_batch_labels : 1;

    return m->has_labels ? grade_of(run > RUN_FAIR || batch < LABELS_FAIR,
                                    run > RUN_POOR || batch < LABELS_POOR) : GRADE_GOOD;
}

/* Grades how far an epoch separates samples that are neighbours in the data set. If the labels are
 * unknown, the data set may be sorted by class, so the result may be GRADE_POOR.
 *
 * If the labels are known, labels_grade judges how well classes are mixed. The distance of
 * neighbours then matters less, so this function returns GRADE_FAIR at worst. */
static enum grade places_grade(const struct sheaf_mixing *m)
{
    const double more = m->neighbours - m->ideal_neighbours;
    const double distance = m->displacement / m->ideal_displacement;
    const enum grade grade = grade_of(more > NEIGHBOURS_FAIR || distance < DISTANCE_FAIR,
                                      more > NEIGHBOURS_POOR || distance < DISTANCE_POOR);

    return m->has_labels && grade == GRADE_POOR ? GRADE_FAIR : grade;
}

/* Writes the settings that would mix better. */
void mixing_write_advice(FILE *f, const struct sheaf_mixing *m,
                         const struct sheaf_reader_options *o)
{
    const uint64_t buffer = o->shuffle_buffer * 10 > 10000 ? o->shuffle_buffer * 10 : 10000;
    const uint64_t larger = buffer < m->samples ? buffer : m->samples;

    if (o->no_shuffle)
        fprintf(f, "leave --no-shuffle out");
    else if (o->shuffle_buffer < larger)
        fprintf(f, "use --shuffle-buffer %" PRIu64 " (now %" PRIu64 "), or pack the samples in "
                "shuffled order", larger, o->shuffle_buffer);
    else
        fprintf(f, "pack the samples in shuffled order, and into more shards");
}

static enum grade write_verdict(FILE *f, const struct sheaf_mixing *m)
{
    const enum grade labels = labels_grade(m), places = places_grade(m);
    const enum grade grade = labels > places ? labels : places;

    fputs(grade == GRADE_GOOD ? "well mixed, as an ideal shuffle would be"
          : grade == GRADE_FAIR ? "mixed in part: " : "badly mixed: ", f);
    if (labels != GRADE_GOOD)
        fprintf(f, "samples of one label come %.3g in a row instead of %.3g", m->label_run,
                m->ideal_label_run);
    if (labels != GRADE_GOOD && m->batch_labels > 0)
        fprintf(f, ", and %d samples have %.3g labels instead of %.3g", SHEAF_MIXING_BATCH,
                m->batch_labels, m->ideal_batch_labels);
    if (labels == GRADE_GOOD && places != GRADE_GOOD)
        fprintf(f, "%s samples that lie together come together",
                m->has_labels ? "labels are, but in each epoch" : "in each epoch");
    return grade;
}

void mixing_write_verdict(FILE *f, const struct sheaf_mixing *m)
{
    (void)write_verdict(f, m);
}

bool mixing_is_good(const struct sheaf_mixing *m)
{
    return labels_grade(m) == GRADE_GOOD && places_grade(m) == GRADE_GOOD;
}

/* ---- Printing -------------------------------------------------------------------------------- */

static void print_verdict(const struct sheaf_mixing *m, const struct sheaf_reader_options *o)
{
    printf("verdict: ");
    if (write_verdict(stdout, m) != GRADE_GOOD) {
        printf("\nto mix better: ");
        mixing_write_advice(stdout, m, o);
    }
    putchar('\n');
}

static void print_json_verdict(const struct sheaf_mixing *m, const struct sheaf_reader_options *o)
{
    char *text = NULL, *advice = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    enum grade grade = GRADE_GOOD;

    if (f != NULL) {
        grade = write_verdict(f, m);
        (void)fclose(f);
    }
    printf(", \"grade\": \"%s\", \"verdict\": ", grade_names[grade]);
    print_json_string(stdout, text);
    f = grade == GRADE_GOOD ? NULL : open_memstream(&advice, &size);
    if (f != NULL) {
        mixing_write_advice(f, m, o);
        (void)fclose(f);
        printf(", \"advice\": ");
        print_json_string(stdout, advice);
    }
    free(text);
    free(advice);
}

static void mixing_print_pair(const char *name, double value, double ideal)
{
    printf("%s %.4g (ideal %.4g)\n", name, value, ideal);
}

static void mixing_print_labels(const struct sheaf_mixing *m)
{
    if (!m->has_labels) {
        printf("labels unknown\n");
        return;
    }
    mixing_print_pair("label_run", m->label_run, m->ideal_label_run);
    printf("longest_label_run %" PRIu64 "\n", m->longest_label_run);
    if (m->batch_labels > 0)
        mixing_print_pair("labels_in_256", m->batch_labels, m->ideal_batch_labels);
}

void mixing_print(const struct sheaf_mixing *m, const struct sheaf_reader_options *options)
{
    printf("samples %" PRIu64 "\n", m->samples);
    mixing_print_pair("displacement", m->displacement, m->ideal_displacement);
    mixing_print_pair("neighbours_kept", m->neighbours, m->ideal_neighbours);
    mixing_print_labels(m);
    print_verdict(m, options);
}

void mixing_print_json(const struct sheaf_mixing *m, const struct sheaf_reader_options *options)
{
    printf("{\"samples\": %" PRIu64 ", \"displacement\": %.6g, \"ideal_displacement\": %.6g, "
           "\"neighbours_kept\": %.6g, \"ideal_neighbours_kept\": %.6g", m->samples,
           m->displacement, m->ideal_displacement, m->neighbours, m->ideal_neighbours);
    if (m->has_labels)
        printf(", \"label_run\": %.6g, \"ideal_label_run\": %.6g, \"longest_label_run\": %" PRIu64
               ", \"labels_in_256\": %.6g, \"ideal_labels_in_256\": %.6g", m->label_run,
               m->ideal_label_run, m->longest_label_run, m->batch_labels, m->ideal_batch_labels);
    print_json_verdict(m, options);
    printf("}");
}

/* ---- The plot -------------------------------------------------------------------------------- */

int mixing_plot(const struct sheaf_mixing *m, const char *path)
{
    const int all = PLOT_SIZE + 2 * MARGIN;
    struct replacement file;
    int status = replace_begin(&file, path, false);
    FILE *f = file.file;

    if (status != STATUS_OK)
        return status;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">when it came in the epoch</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 %d %d)\">"
            MIXING_PLOT_MARK "</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">displacement %.3g of an ideal "
            "%.3g</text>\n<g fill=\"#1565c0\">\n", all, all, MARGIN, MARGIN, PLOT_SIZE, PLOT_SIZE,
            all / 2, all - MARGIN / 3, MARGIN / 2, all / 2, MARGIN / 2, all / 2, all / 2,
            MARGIN * 2 / 3, m->displacement, m->ideal_displacement);
    for (size_t i = 0; i < m->point_count; i++)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.5\"/>\n", MARGIN + m->came[i] * PLOT_SIZE,
                MARGIN + (1 - m->lay[i]) * PLOT_SIZE);
    fprintf(f, "</g>\n</svg>\n");
    return replace_end(&file);
}
