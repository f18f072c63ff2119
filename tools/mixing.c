/* SPDX-License-Identifier: MIT
 *
 * Printing and plotting of struct sheaf_mixing. */
#include "tools/mixing.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/tool.h"

#define PLOT_SIZE 400       /* of the square, in pixels */
#define MARGIN    40

static void print_pair(const char *name, double value, double ideal)
{
    printf("%s %.4g (ideal %.4g)\n", name, value, ideal);
}

void mixing_print(const struct sheaf_mixing *m)
{
    printf("samples %" PRIu64 "\n", m->samples);
    print_pair("displacement", m->displacement, m->ideal_displacement);
    print_pair("neighbours_kept", m->neighbours, m->ideal_neighbours);
    if (!m->has_labels) {
        printf("labels unknown\n");
        return;
    }
    print_pair("label_run", m->label_run, m->ideal_label_run);
    printf("longest_label_run %" PRIu64 "\n", m->longest_label_run);
    if (m->batch_labels > 0)
        print_pair("labels_in_256", m->batch_labels, m->ideal_batch_labels);
}

void mixing_print_json(const struct sheaf_mixing *m)
{
    printf("{\"samples\": %" PRIu64 ", \"displacement\": %.6g, \"ideal_displacement\": %.6g, "
           "\"neighbours_kept\": %.6g, \"ideal_neighbours_kept\": %.6g", m->samples,
           m->displacement, m->ideal_displacement, m->neighbours, m->ideal_neighbours);
    if (m->has_labels)
        printf(", \"label_run\": %.6g, \"ideal_label_run\": %.6g, \"longest_label_run\": %" PRIu64
               ", \"labels_in_256\": %.6g, \"ideal_labels_in_256\": %.6g", m->label_run,
               m->ideal_label_run, m->longest_label_run, m->batch_labels, m->ideal_batch_labels);
    printf("}");
}

int mixing_plot(const struct sheaf_mixing *m, const char *path)
{
    const int all = PLOT_SIZE + 2 * MARGIN;
    FILE *f = fopen(path, "w");
    int bad;

    if (f == NULL) {
        complain("%s: %s", path, strerror(errno));
        return STATUS_FAILURE;
    }
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">when it came in the epoch</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 %d %d)\">"
            "where it lay in the data set</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">displacement %.3g of an ideal "
            "%.3g</text>\n<g fill=\"#1565c0\">\n", all, all, MARGIN, MARGIN, PLOT_SIZE, PLOT_SIZE,
            all / 2, all - MARGIN / 3, MARGIN / 2, all / 2, MARGIN / 2, all / 2, all / 2,
            MARGIN * 2 / 3, m->displacement, m->ideal_displacement);
    for (size_t i = 0; i < m->point_count; i++)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.5\"/>\n", MARGIN + m->came[i] * PLOT_SIZE,
                MARGIN + (1 - m->lay[i]) * PLOT_SIZE);
    fprintf(f, "</g>\n</svg>\n");
    bad = ferror(f);
    if (fclose(f) != 0 || bad) {
        complain("%s: %s", path, strerror(errno));
        return STATUS_FAILURE;
    }
    return STATUS_OK;
}
