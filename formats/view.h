/* SPDX-License-Identifier: MIT
 *
 * The document of a view: which samples of which data sets, and how they are mixed.  FORMATS.md has
 * the form.  Strict: a name that is not known is an error, for what it asks for would be left out
 * silently. */
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

/* All conditions must hold.  The range then chooses among the samples that are left, and every
 * among those of the range. */
struct view_where {
    char **classes;
    size_t class_count;
    bool has_labels;
    uint64_t label_first, label_last;       /* both included */
    char *keys, *not_keys;                  /* files of keys, one a line; or NULL */
    char *key_glob;
    char *numbers;                          /* a file of chosen numbers; or NULL */
    bool has_range;
    uint64_t range_first, range_end;        /* the end is not included */
    uint64_t every, every_at;               /* those whose number mod `every` is every_at; 0: all */
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
    uint64_t samples;                       /* of the run, before it begins */
    uint64_t *weights;                      /* of each source */
};

/* Classes that are given another name, or number. */
struct view_class {
    char *from, *to;                        /* names; NULL: */
    uint64_t from_number, to_number;
};

enum view_until { VIEW_SAMPLES, VIEW_FIRST, VIEW_ALL };

struct view {
    struct view_source *sources;
    size_t source_count;
    bool has_weights;                       /* every source has one */
    bool by_number;                         /* classes are merged by number, not by name */
    struct view_class *classes;             /* a map, by names or by numbers; in their order */
    size_t class_count;
    uint64_t samples;                       /* of an epoch; 0: the document does not say */
    enum view_until until;                  /* with weights and without samples */
    struct view_stage *stages;              /* after the first, in order */
    size_t stage_count;
};

/* Whether a view may have this name: *.view, or *.json but for a manifest's. */
bool view_is_name(const char *url);
/* Whether a file may be a view: a JSON object whose first name is "sheaf_view". */
bool view_begins(const void *text, size_t size);

/* SHEAF_ERR_CORRUPT for what is no JSON, SHEAF_ERR_ARGUMENT for what is no valid view, each with
 * the place in the document; _UNSUPPORTED for another version.  *view is to be freed on success. */
int view_parse(const char *text, size_t size, struct view *view, struct sheaf_error *err);
void view_free(struct view *view);

/* Gives the conditions the canonical text in which these stand for the names of the files of keys;
 * NULL: what stands there already. */
int view_where_text(struct view_where *where, const char *keys, const char *not_keys,
                    struct sheaf_error *err);

/* The canonical text of a view, with a newline, to be freed: two views are the same if theirs
 * are.  `sources`, if it is not NULL, stands for the sources' names (their fingerprints), and only
 * the first `stages` stages are there. */
int view_text(const struct view *view, const char *const *sources, size_t stages, char **text,
              struct sheaf_error *err);

#endif
