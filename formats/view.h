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

/* The conditions of a source. All of them must hold. The range then chooses among the remaining
 * samples, and `every` among the samples of the range. */
struct view_where {
    char **classes;
    size_t class_count;
    struct view_labels *labels;             /* ranges of labels; a sample's label must be in one
                                               of them; or NULL */
    size_t label_count;
    char *keys, *not_keys;                  /* files of keys, one per line; or NULL */
    char *key_glob;
    char *numbers;                          /* file of chosen sample numbers; or NULL */
    bool has_range;
    uint64_t range_first, range_end;        /* the end is not included */
    uint64_t every, every_at;               /* keeps the samples whose number mod `every` is
                                               every_at; 0 keeps all */
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
    bool by_number;                         /* whether classes are merged by number rather than
                                               by name */
    struct view_class *classes;             /* the mapping, by names or by numbers, sorted */
    size_t class_count;
    uint64_t samples;                       /* number of samples of an epoch; 0 if the document
                                               does not say */
    enum view_until until;                  /* with weights and without samples */
    struct view_stage *stages;              /* after the first, in order */
    size_t stage_count;
};

/* Returns whether a view may have this name: *.view, or *.json except a manifest's name. */
bool view_is_name(const char *url);
/* Returns whether a file may be a view: a JSON object whose first name is "sheaf_view". */
bool view_begins(const void *text, size_t size);

/* Parses a view. Returns SHEAF_ERR_CORRUPT if the text is not JSON, SHEAF_ERR_ARGUMENT if it is not
 * a valid view, and _UNSUPPORTED for another version; the message says where in the document. On
 * success the caller frees *view. */
int view_parse(const char *text, size_t size, struct view *view, struct sheaf_error *err);
void view_free(struct view *view);

/* Makes the canonical text of the conditions, with these texts in place of the names of the key
 * files. NULL keeps the name. */
int view_where_text(struct view_where *where, const char *keys, const char *not_keys,
                    struct sheaf_error *err);

/* Makes the canonical text of a view, with a newline, which the caller frees. Two views are the
 * same if their texts are equal. `sources`, if not NULL, replaces the names of the sources (by
 * their fingerprints), and only the first `stages` stages are included. */
int view_text(const struct view *view, const char *const *sources, size_t stages, char **text,
              struct sheaf_error *err);

#endif
