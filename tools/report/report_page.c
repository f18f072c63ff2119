/* SPDX-License-Identifier: MIT
 *
 * Writes the HTML page of a report, and its sections in words and tables: the data set, its shards,
 * and the result of the verification. The page is a single file that does not load scripts, fonts
 * or other addresses. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/html.h"
#include "tools/report/report.h"
#include "tools/tool.h"

#define BARS_MOST 240u          /* of shards */
#define LINES_MOST 12u          /* lines shown of a list beside the data set */
#define OPTIONS_MOST 1500u      /* bytes */

static const char style[] =
"*{box-sizing:border-box}"
":root{color-scheme:light dark;--bg:#f7f6f2;--card:#fff;--ink:#1e2428;--dim:#69727a;"
"--line:#e4e1d9;--bar:#3f7d5d;--warm:#c26f1d;--good:#2f7d4f;--bad:#b3372c;--soft:#eef3ee}"
"@media(prefers-color-scheme:dark){:root{--bg:#121618;--card:#1a2023;--ink:#e7e9e6;--dim:#98a3a9;"
"--line:#2c3539;--bar:#64b38a;--warm:#e39c52;--good:#6fc794;--bad:#ec8177;--soft:#1f2a26}}"
"body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"
"\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}"
"main{max-width:1080px;margin:0 auto;padding:34px 22px 60px}"
"h1{font-size:30px;line-height:1.15;margin:0 0 6px;letter-spacing:-.01em;overflow-wrap:anywhere}"
"h2{font-size:17px;margin:0 0 10px}h3{font-size:13px;margin:14px 0 4px;color:var(--dim);"
"font-weight:600}p{margin:0 0 10px}.dim{color:var(--dim)}.lead{font-size:16px;max-width:70ch}"
".brand{color:var(--dim);font-size:12px;letter-spacing:.09em;text-transform:uppercase;"
"margin-bottom:18px}section{background:var(--card);border:1px solid var(--line);border-radius:10px;"
"padding:18px 20px;margin-top:18px;break-inside:avoid}"
".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;"
"margin-top:20px}.card{background:var(--card);border:1px solid var(--line);border-radius:10px;"
"padding:12px 16px}.card b{display:block;font-size:24px;line-height:1.25;font-weight:650;"
"font-variant-numeric:tabular-nums}.card span{color:var(--dim);font-size:12.5px}"
".good{color:var(--good)}.bad{color:var(--bad)}.warm{color:var(--warm)}"
"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
"th{font-weight:600;color:var(--dim);font-size:12.5px}th,td{text-align:right;padding:4px 10px;"
"border-bottom:1px solid var(--line)}th:first-child,td:first-child{text-align:left;padding-left:0;"
"overflow-wrap:anywhere}tr:last-child td{border-bottom:0}"
"svg{display:block;width:100%;height:auto;overflow:visible}.square{max-width:420px}"
"svg text{fill:var(--dim);font-size:11px}"
".bar{fill:var(--bar)}.warmbar{fill:var(--warm)}.axis{stroke:var(--line)}.dot{fill:var(--bar);"
"fill-opacity:.55}.ideal{stroke:var(--warm);stroke-dasharray:4 4;fill:none}"
".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(108px,1fr));gap:10px}"
"figure{margin:0;min-width:0;break-inside:avoid}figure img,figure .text{display:block;width:100%;"
"aspect-ratio:1;object-fit:cover;border-radius:6px;background:var(--soft)}"
"figure .text{padding:8px;font:10.5px/1.35 ui-monospace,Menlo,Consolas,monospace;overflow:hidden;"
"overflow-wrap:anywhere;color:var(--dim)}"
"figcaption{font-size:11.5px;line-height:1.3;margin-top:4px;"
"white-space:nowrap;overflow:hidden;text-overflow:ellipsis}"
".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:8px 28px}"
".names{columns:2 260px;column-gap:28px;font-size:13px}.names div{display:flex;gap:10px;"
"justify-content:space-between;break-inside:avoid}.names div span:first-child{overflow:hidden;"
"text-overflow:ellipsis;white-space:nowrap}.names div span:last-child{color:var(--dim);"
"font-variant-numeric:tabular-nums}"
"code,pre{font:12px/1.45 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere;"
"white-space:pre-wrap;margin:0}footer{color:var(--dim);font-size:12px;margin-top:26px}"
"@media(max-width:600px){main{padding:18px 10px 40px}section{padding:14px 12px;overflow-x:auto}"
"h1{font-size:23px}th,td{padding:4px 5px;font-size:12px}.cards{gap:8px;grid-template-columns:"
"repeat(auto-fit,minmax(104px,1fr))}.card{padding:10px 12px}.card b{font-size:19px}"
"svg:not(.square) text{font-size:24px}}"
"@media print{:root{color-scheme:light;--bg:#fff;--card:#fff;--ink:#111;--dim:#555;"
"--line:#ccc;--bar:#3f7d5d;"
"--soft:#f2f2f2}body{font-size:11pt}main{max-width:none;padding:0}section,.card{border-radius:0}"
"section{break-inside:auto;overflow:visible}h2,h3{break-after:avoid}"
"tr,svg,.card{break-inside:avoid}"
"*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

/* ---- Head ------------------------------------------------------------------------------------ */

static void card(const struct report *r, const char *what, uint64_t count)
{
    fprintf(r->f, "<div class=card><b>");
    html_count(r->f, count);
    fprintf(r->f, "</b><span>%s%s</span></div>", what, plural(count));
}

static void verdict_card(const struct report *r)
{
    const struct report_check *c = r->check;

    fprintf(r->f, "<div class=card>");
    if (c->failure[0] != '\0' || r->samples->bad != 0 || c->result.problems != 0)
        fprintf(r->f, "<b class=bad>damaged</b><span>see below: what was checked</span>");
    else if (c->was_made)
        fprintf(r->f, "<b class=good>sound</b><span>every byte was read</span>");
    else
        fprintf(r->f, "<b>%" PRIu64 " read</b><span>of its samples, all sound</span>",
                r->samples->read);
    fprintf(r->f, "</div>\n");
}

static const char *container_title(enum sheaf_container container)
{
    switch (container) {
    case SHEAF_TFRECORD: return "TFRecord";
    case SHEAF_RECORDIO: return "RecordIO";
    case SHEAF_WEBDATASET: return "WebDataset (tar)";
    }
    return "several containers";
}

/* One sentence of it all. */
static void lead(const struct report *r)
{
    const struct sheaf_dataset_info *i = &r->info;

    fprintf(r->f, "<p class=lead>");
    if (i->is_view)
        fprintf(r->f, "A view of %zu source%s", i->source_count, plural(i->source_count));
    else if (i->is_stream)
        fprintf(r->f, "Shards of another program, which can only be read from the beginning "
                "on: counts are not known");
    else if (!i->has_manifest)
        fprintf(r->f, "Shards of another program, without a manifest");
    else if (i->source_count > 1)
        fprintf(r->f, "%zu data sets, read as one", i->source_count);
    else
        fprintf(r->f, "A packed data set");
    if (i->container != 0)
        fprintf(r->f, ", in %s", container_title(i->container));
    if (i->codec != SHEAF_CODEC_NONE)
        fprintf(r->f, ", compressed by %s", sheaf_codec_name(i->codec));
    fprintf(r->f, ".</p>\n");
}

void report_head(const struct report *r)
{
    const struct sheaf_dataset_info *i = &r->info;
    FILE *f = r->f;

    fprintf(f, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
            "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
            "<meta name=generator content=\"sheaf %s\">\n<title>", sheaf_version());
    html_text(f, r->name, REPORT_NAME_MOST);
    fprintf(f, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n"
            "<div class=brand>sheaf report</div>\n<h1>", style);
    html_text(f, r->name, 200);
    fprintf(f, "</h1>\n");
    lead(r);
    fprintf(f, "<div class=cards>");
    if (!i->is_stream) {
        card(r, "sample", i->is_view ? i->epoch_samples : i->samples);
        if (i->class_count != 0)
            fprintf(f, "<div class=card><b>%zu</b><span>class%s</span></div>", i->class_count,
                    i->class_count == 1 ? "" : "es");
        fprintf(f, "<div class=card><b>");
        html_size(f, (double)i->bytes);
        fprintf(f, "</b><span>in shards</span></div>");
    }
    card(r, "shard", i->shard_count);
    verdict_card(r);
    fprintf(f, "</div>\n");
}

/* ---- Shards ---------------------------------------------------------------------------------- */

static struct sheaf_shard_info report_page_shard_at(const struct report *r, size_t index)
{
    struct sheaf_shard_info shard = { .name = "" };

    if (sheaf_dataset_shard(r->dataset, index, &shard, sizeof(shard)) != SHEAF_OK)
        complain("shard %zu is missing", index);
    return shard;
}

static int report_page_compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Prints a chart with one bar for the size of each shard. If there are more shards than bars, each
 * bar shows the mean size of several shards. */
static void shard_bars(const struct report *r, const uint64_t *bytes, uint64_t most)
{
    const size_t count = r->info.shard_count;
    const size_t bars = count < BARS_MOST ? count : BARS_MOST;
    const double width = bars < 16 ? 60 : 1000.0 / (double)bars;

    fprintf(r->f, "<svg viewBox=\"0 0 1000 110\" role=img aria-label=\"bytes of each shard\">");
    for (size_t b = 0; b < bars; b++) {
        const size_t from = count * b / bars, end = count * (b + 1) / bars;
        double sum = 0;

        for (size_t i = from; i < end; i++)
            sum += (double)bytes[i];
        sum = most == 0 ? 0 : 100 * sum / (double)(end - from) / (double)most;
        fprintf(r->f, "<rect class=bar x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                width * (double)b, 100 - sum, width * 0.86, sum);
    }
    fprintf(r->f, "<line class=axis x1=0 x2=1000 y1=100 y2=100 /></svg>\n");
    if (bars < count)
        fprintf(r->f, "<p class=dim>Each bar is the mean of at most %zu shards.</p>\n",
                (count + bars - 1) / bars);
}

void report_shards(const struct report *r)
{
    const size_t count = r->info.shard_count;
    uint64_t *bytes = calloc(count + 1, sizeof(bytes[0]));
    uint64_t most_samples = 0, least_samples = UINT64_MAX;

    fprintf(r->f, "<section id=shards><h2>Shards</h2>\n");
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        const struct sheaf_shard_info shard = report_page_shard_at(r, i);

        bytes[i] = shard.bytes;
        most_samples = shard.samples > most_samples ? shard.samples : most_samples;
        least_samples = shard.samples < least_samples ? shard.samples : least_samples;
    }
    if (bytes != NULL && count != 0 && !r->info.is_stream) {
        uint64_t most = 0;

        for (size_t i = 0; i < count; i++)
            most = bytes[i] > most ? bytes[i] : most;
        shard_bars(r, bytes, most);
        qsort(bytes, count, sizeof(bytes[0]), report_page_compare_numbers);
        fprintf(r->f, "<p>The smallest has ");
        html_size(r->f, (double)bytes[0]);
        fprintf(r->f, ", the median ");
        html_size(r->f, (double)bytes[count / 2]);
        fprintf(r->f, ", the largest ");
        html_size(r->f, (double)bytes[count - 1]);
        fprintf(r->f, "; each holds ");
        html_count(r->f, least_samples);
        fprintf(r->f, " to ");
        html_count(r->f, most_samples);
        fprintf(r->f, " samples. In their order, from ");
        html_text(r->f, report_page_shard_at(r, 0).name, REPORT_NAME_MOST);
        fprintf(r->f, " to ");
        html_text(r->f, report_page_shard_at(r, count - 1).name, REPORT_NAME_MOST);
        fprintf(r->f, ".</p>\n");
    } else {
        fprintf(r->f, "<p class=dim>%zu shard%s, whose samples are not counted.</p>\n", count,
                plural(count));
    }
    fprintf(r->f, "</section>\n");
    free(bytes);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Columns while their table is written. */
struct column_table {
    const struct report *r;
    size_t count;
};

static void column_row(void *context, const struct sheaf_column_info *c)
{
    struct column_table *table = context;
    FILE *f = table->r->f;

    if (table->count++ == 0)
        fprintf(f, "<section id=columns><h2>Columns</h2>\n<table><tr><th>column</th>"
                "<th>fields</th><th>samples</th><th>without a value</th><th>size</th></tr>\n");
    fprintf(f, "<tr><td>");
    html_text(f, c->name, REPORT_NAME_MOST);
    fprintf(f, "</td><td>");
    if (c->code != SHEAF_OK) {
        html_text(f, c->code == SHEAF_ERR_NOT_FOUND ? "unfinished" : c->error->message, 200);
        fprintf(f, "</td><td></td><td></td><td></td></tr>\n");
        return;
    }
    html_text(f, c->fields, 200);
    fprintf(f, "</td><td>");
    html_count(f, c->samples - c->missing);
    fprintf(f, "</td><td>");
    html_count(f, c->missing + c->uncovered);
    fprintf(f, "</td><td>");
    html_size(f, (double)c->stored_bytes);
    fprintf(f, "</td></tr>\n");
}

void report_columns(const struct report *r)
{
    struct column_table table = { .r = r };
    int code = SHEAF_OK;

    if (r->info.has_manifest && !r->info.is_view)
        code = sheaf_column_list(r->dataset, column_row, &table, NULL);
    if (table.count != 0)
        fprintf(r->f, "</table>%s</section>\n", code == SHEAF_OK ? ""
                : "<p class=warm>There may be more columns, which could not be listed.</p>");
}

/* ---- What was checked ------------------------------------------------------------------------ */

static void check_made(const struct report *r)
{
    const struct report_check *c = r->check;
    const struct sheaf_verify_result *v = &c->result;

    if (v->problems == 0)
        fprintf(r->f, "<p><b class=good>Sound.</b> All %" PRIu64 " samples were read, and each "
                "shard, record, count and index agrees.</p>\n", v->samples);
    else
        fprintf(r->f, "<p><b class=bad>%" PRIu64 " problem%s.</b> %" PRIu64 " samples were "
                "read.</p>\n", v->problems, plural(v->problems), v->samples);
    if (v->unused_classes != 0)
        fprintf(r->f, "<p class=warm>%" PRIu64 " class%s without a sample.</p>\n",
                v->unused_classes, v->unused_classes == 1 ? "" : "es");
    if (v->labelled != 0 && v->labelled < v->samples)
        fprintf(r->f, "<p class=warm>%" PRIu64 " sample%s without a label.</p>\n",
                v->samples - v->labelled, plural(v->samples - v->labelled));
    if (c->problem_count != 0)
        fprintf(r->f, "<pre>");
    for (size_t i = 0; i < c->problem_count; i++) {
        html_text(r->f, c->problems[i], 400);
        fputc('\n', r->f);
    }
    if (c->problem_count != 0)
        fprintf(r->f, "%s</pre>\n", v->problems > c->problem_count ? "..." : "");
}

/* Prints the first lines of a list such as skipped.tsv, which packing has written to the directory
 * of a local data set. If the data set is a split, the list is in the parent directory, and `list`
 * begins with "../". */
static void list_beside(const struct report *r, const char *list, const char *what)
{
    char *path, *line = NULL;
    size_t room = 0, lines = 0;
    FILE *file = NULL;

    if (asprintf(&path, "%s/%s", r->info.url, list) >= 0) {
        file = fopen(path, "r");
        free(path);
    }
    while (file != NULL && getline(&line, &room, file) > 0) {
        if (lines++ == 0)
            fprintf(r->f, "<h3>%s</h3>\n<pre>", what);
        if (lines > LINES_MOST)
            continue;
        line[strcspn(line, "\n")] = '\0';
        for (char *tab = line; (tab = strchr(tab, '\t')) != NULL;)
            *tab = ' ';
        html_text(r->f, line, 200);
        fputc('\n', r->f);
    }
    if (lines > LINES_MOST)
        fprintf(r->f, "... and %zu more, in %s\n", lines - LINES_MOST, list);
    if (lines != 0)
        fprintf(r->f, "</pre>\n");
    if (file != NULL)
        fclose(file);
    free(line);
}

static void put_image_count(const struct report *r, uint64_t count)
{
    if (count == UINT64_MAX)
        fputs("an unknown number of", r->f);
    else
        html_count(r->f, count);
}

/* Prints how many images packing converted, and how many it only made smaller. Prints nothing if
 * both numbers are 0. */
static void images_made(const struct report *r)
{
    const struct sheaf_dataset_info *i = &r->info;

    if (i->images_converted == 0 && i->images_resized == 0)
        return;
    fprintf(r->f, "<p>When it was packed, ");
    put_image_count(r, i->images_converted);
    fprintf(r->f, " image%s became %splain JPEG%s, and ", plural(i->images_converted),
            i->images_converted == 1 ? "a " : "", plural(i->images_converted));
    put_image_count(r, i->images_resized);
    fprintf(r->f, " image%s became only smaller.</p>\n", plural(i->images_resized));
}

/* Returns whether the data set is a split (such as "train") that is still in the directory in which
 * it was packed. */
static bool is_split(const struct report *r)
{
    const json_t *options = json_object_get(r->manifest, "options");
    const char *name = json_string_value(json_object_get(options, "split_name"));

    return name != NULL && strcmp(name, r->name) == 0;
}

/* Prints the beginning of each list of skipped or converted files. `name` is the first part of the
 * lists' names, "skipped" or "converted". The packing run has written the list NAME.tsv, and the
 * runs that appended samples have written NAME-1.tsv, NAME-2.tsv, ... A run without such files has
 * not written a list. All splits of a data set share one NAME.tsv, which is in their parent
 * directory. */
static void lists_beside(const struct report *r, const char *name, const char *what)
{
    const size_t grown = json_array_size(json_object_get(r->manifest, "grown"));
    char list[40], title[80];

    snprintf(list, sizeof(list), "%s%s.tsv", is_split(r) ? "../" : "", name);
    snprintf(title, sizeof(title), "%s when %s packed", what,
             is_split(r) ? "all splits were" : "it was");
    list_beside(r, list, title);
    for (size_t i = 1; i <= grown; i++) {
        snprintf(list, sizeof(list), "%s-%zu.tsv", name, i);
        snprintf(title, sizeof(title), "%s when samples were appended (%s)", what, list);
        list_beside(r, list, title);
    }
}

void report_checked(const struct report *r)
{
    const struct report_check *c = r->check;
    const struct report_samples *s = r->samples;

    fprintf(r->f, "<section id=checked><h2>What was checked</h2>\n");
    if (c->failure[0] != '\0') {
        fprintf(r->f, "<p class=bad>The check could not be made: ");
        html_text(r->f, c->failure, 400);
        fprintf(r->f, "</p>\n");
    } else if (c->was_made) {
        check_made(r);
    } else {
        fprintf(r->f, "<p>%" PRIu64 " samples were read for this report%s. <span class=dim>"
                "<code>sheaf report --verify</code> reads every byte.</span></p>\n", s->read,
                s->bad == 0 ? ", and all of them are sound" : "");
    }
    if (s->bad != 0) {
        fprintf(r->f, "<p class=bad>%" PRIu64 " of those to be shown could not be read; the "
                "first: ", s->bad);
        html_text(r->f, s->problem, 400);
        fprintf(r->f, "</p>\n");
    }
    images_made(r);
    lists_beside(r, "skipped", "Left out");
    lists_beside(r, "converted", "Converted");
    fprintf(r->f, "</section>\n");
}

/* ---- Details --------------------------------------------------------------------------------- */

/* Prints the packer's options: the members of the JSON object in the manifest that has them. */
static void print_options(const struct report *r)
{
    const json_t *options = json_object_get(r->manifest, "options");
    char *text = json_object_size(options) == 0 ? NULL : json_dumps(options, JSON_SORT_KEYS);

    if (text == NULL)
        return;
    text[strlen(text) - 1] = '\0';      /* the braces are left out */
    fprintf(r->f, "<h3>Packed with</h3>\n<code>");
    html_text(r->f, text + 1, OPTIONS_MOST);
    fprintf(r->f, "</code>\n");
    free(text);
}

void report_details(const struct report *r)
{
    const struct sheaf_dataset_info *i = &r->info;
    struct sheaf_source_info source;

    fprintf(r->f, "<section id=details><h2>Details</h2>\n<h3>Where</h3>\n<code>");
    for (size_t k = 0; k < i->source_count && k < 20 &&
                       sheaf_dataset_source(r->dataset, k, &source, sizeof(source)) == SHEAF_OK;
         k++) {
        html_text(r->f, source.url, 400);
        if (i->is_view)
            fprintf(r->f, " (%" PRIu64 " chosen, %.3g %% of an epoch)", source.chosen,
                    100 * source.share);
        fputc('\n', r->f);
    }
    fprintf(r->f, "%s</code>\n", i->source_count > 20 ? "..." : "");
    if (!i->is_stream) {
        fprintf(r->f, "<h3>Fingerprint</h3>\n<code>");
        html_text(r->f, i->fingerprint, 40);
        fprintf(r->f, "</code>\n");
    }
    print_options(r);
    fprintf(r->f, "</section>\n");
}

void report_foot(const struct report *r)
{
    fprintf(r->f, "<footer>Made by sheaf %s.</footer>\n</main>\n</body>\n</html>\n",
            sheaf_version());
}
