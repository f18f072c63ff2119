/* SPDX-License-Identifier: MIT
 *
 * The document of a view: the samples chosen from data sets, and how they are mixed. FORMATS.md
 * describes it. Parsing is strict. An unknown name is an error, because otherwise the condition it
 * stands for would be ignored silently. */
#ifndef FORMATS_VIEW_H
#define FORMATS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

#define VIEW_BYTES_MOST   ((size_t)64 << 20)    /* of a document */
#define VIEW_SOURCES_MOST 65535u
#define VIEW_STAGES_MOST  1024u
#define VIEW_REPEAT_ONE   ((uint64_t)1000000)   /* repeats are in millionths */
#define VIEW_REPEAT_MOST  ((uint64_t)1000000 * VIEW_REPEAT_ONE)

struct view_labels {
    uint64_t first, last;                   /* both included */
};

enum view_compare { VIEW_LESS, VIEW_LESS_EQUAL, VIEW_MORE, VIEW_MORE_EQUAL, VIEW_EQUAL,
                    VIEW_NOT_EQUAL };

/* A condition on a number in a column. */
struct view_column {
    char *field;                            /* NAME.EXT: a column's name, and its field */
    size_t name_size;                       /* size of NAME */
    enum view_compare compare;
    double number;
};

/* The conditions of a source. A sample must satisfy all of them. `range` then chooses among the
 * samples that do, and `every` chooses among the samples of the range. */
struct view_where {
    char **classes;
    size_t class_count;
    /* ranges of labels, in one of which a sample's label must be; NULL for no condition */
    struct view_labels *labels;
    size_t label_count;
    char *keys, *not_keys;                  /* files of keys, one per line; or NULL */
    char *key_glob;
    struct view_column *columns;            /* NULL if there are none */
    size_t column_count;
    char *numbers;                          /* file of chosen sample numbers; or NULL */
    bool has_range;
    uint64_t range_first, range_end;        /* the end is not included */
    /* keeps only each `every`-th of the samples that satisfy all other conditions; 0 keeps all */
    uint64_t every,
        every_at;                           /* position of the first sample kept, below `every` */
    char *text;                             /* canonical; "" for no condition */
};

struct view_source {
    char *source;                           /* as the document has it */
    bool has_weight, has_repeat;
    uint64_t weight, repeat;
    struct view_where where;
    char **fields;                          /* NULL: all */
    size_t field_count;
};

struct view_stage {
    uint64_t samples;                       /* samples of the run before the stage begins */
    uint64_t *weights;                      /* of each source */
};

/* A class that gets another name or number. */
struct view_class {
    char *from, *to;                        /* names; NULL: */
    uint64_t from_number, to_number;
};

enum view_until { VIEW_SAMPLES, VIEW_FIRST, VIEW_ALL };

struct view {
    struct view_source *sources;
    size_t source_count;
    bool has_weights;                       /* every source has one */
    /* whether the classes of several sources are merged by number instead of by name */
    bool by_number;
    struct view_class *classes;             /* the mapping, by names or by numbers, sorted */
    size_t class_count;
    /* number of samples in an epoch; 0 if the document does not state it */
    uint64_t samples;
    enum view_until until;                  /* with weights and without samples */
    struct view_stage *stages;              /* after the first, in order */
    size_t stage_count;
};

/* Returns whether a view may have this name: *.view, or *.json unless it is the name of a
 * manifest. */
bool view_is_name(const char *url);
/* Returns whether a file may be a view, because it begins like a JSON object whose first name is
 * "sheaf_view". */
bool view_begins(const void *text, size_t size);

/* Parses a view. Returns SHEAF_ERR_CORRUPT if the text is not JSON, SHEAF_ERR_ARGUMENT if it is not
 * a valid view, and SHEAF_ERR_UNSUPPORTED if it has another version. The message says where in the
 * document the fault is. On success the caller frees *view. */
int view_parse(const char *text, size_t size, struct view *view, struct sheaf_error *err);
void view_free(struct view *view);

/* Writes the conditions of a source as canonical text to where->text. The conditions where->keys
 * and where->not_keys name files of keys. So that the text depends on the content of these files
 * and not on their names, the caller can pass texts that replace the names; NULL keeps the name. In
 * the same way, if `columns` is not NULL, the text columns[i] is appended to the i-th condition on
 * a column, to identify the column's content. */
int view_where_text(struct view_where *where, const char *keys, const char *not_keys,
                    char *const *columns, struct sheaf_error *err);

/* Writes the canonical text of a view, with a newline at its end. The caller frees the text. Two
 * views are the same if their texts are equal. If `sources` is not NULL, its texts (fingerprints)
 * replace the names of the sources. Only the first `stages` stages are included. */
int view_text(const struct view *view, const char *const *sources, size_t stages, char **text,
              struct sheaf_error *err);

#endif
