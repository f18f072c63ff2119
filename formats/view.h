/* SPDX-License-Identifier: MIT
 *
 * The document of a view says which samples are chosen from which data sets, and how they are
 * mixed. FORMATS.md describes it.
 *
 * Parsing is strict: an unknown name is an error. Otherwise a condition with a misspelt name would
 * be ignored silently. */
#ifndef FORMATS_VIEW_H
#define FORMATS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

#define VIEW_BYTES_MOST   ((size_t)64 << 20)    /* largest size of a document */
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

/* The conditions that select samples of one source of a view. First, all conditions except `range`
 * and `every` are applied. The samples that satisfy them are numbered 0, 1, 2 and so on, and
 * `range` keeps the samples whose numbers are in a range. Finally, `every` keeps every n-th of the
 * remaining samples. */
struct view_where {
    char **classes;
    size_t class_count;
    /* the label of a sample must be in one of these ranges; NULL if there is no condition on the
     * label */
    struct view_labels *labels;
    size_t label_count;
    char *keys, *not_keys;                  /* files of keys, one per line; or NULL */
    char *key_glob;
    struct view_column *columns;            /* NULL if there are none */
    size_t column_count;
    char *numbers;                          /* file of chosen sample numbers; or NULL */
    bool has_range;
    uint64_t range_first, range_end;        /* the end is not included */
    /* Keeps every n-th of the samples that satisfy all other conditions, where n is the value of
     * `every`. The value 0 keeps all samples. */
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
    /* Says when two classes of different sources count as one class. If true, they must have the
     * same number. If false, they must have the same name. */
    bool by_number;
    struct view_class *classes;             /* the mapping, by names or by numbers, sorted */
    size_t class_count;
    /* number of samples in an epoch of the view; 0 if the document does not state it */
    uint64_t samples;
    enum view_until until;                  /* with weights and without samples */
    struct view_stage *stages;              /* after the first, in order */
    size_t stage_count;
};

/* Returns whether a file name may belong to a view: "*.view", or "*.json" unless it is the name of
 * a manifest. */
bool view_is_name(const char *url);
/* Returns whether a file looks like a view: it begins as a JSON object whose first name is
 * "sheaf_view". */
bool view_begins(const void *text, size_t size);

/* Parses the document of a view. Returns SHEAF_ERR_CORRUPT if the text is not JSON,
 * SHEAF_ERR_ARGUMENT if it is not a valid view, and SHEAF_ERR_UNSUPPORTED if it has another
 * version. The message says where in the document the fault is. On success the caller frees
 * *view. */
int view_parse(const char *text, size_t size, struct view *view, struct sheaf_error *err);
void view_free(struct view *view);

/* Completes where->text, the canonical text of a source's conditions. Two sources have the same
 * conditions if these texts are equal.
 *
 * A condition may name a file of keys, or a column. The text must depend on the content of this
 * file or column, and not on its name. So the caller passes texts that identify the content:
 *
 * - `keys` and `not_keys` replace the names of the two files of keys. If such a text is NULL, the
 *   name of the file stays.
 * - columns[i] is appended to the i-th condition on a column. If `columns` is NULL, nothing is
 *   appended. */
int view_where_text(struct view_where *where, const char *keys, const char *not_keys,
                    char *const *columns, struct sheaf_error *err);
/* Sets the error for conditions that no sample fulfils. Returns its code. */
int view_where_none(const struct view_where *where, struct sheaf_error *err);

/* Makes the canonical text of a view, with a newline at its end. Two views are the same if their
 * texts are equal. If `sources` is not NULL, its texts (fingerprints of data sets) replace the
 * names of the sources. The text includes only the first `stages` stages of the view (changes of
 * its weights). The caller frees the text. */
int view_text(const struct view *view, const char *const *sources, size_t stages, char **text,
              struct sheaf_error *err);

#endif
