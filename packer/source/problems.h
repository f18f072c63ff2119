/* SPDX-License-Identifier: MIT
 *
 * Bad files. They are collected, and reported when they are found. `on_error` decides what they
 * mean. With SHEAF_FAIL, the first bad file (in byte order of paths) is the error of the whole run.
 * With SHEAF_SKIP, bad files become lines of skipped.tsv. */
#ifndef PACKER_SOURCE_PROBLEMS_H
#define PACKER_SOURCE_PROBLEMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sheaf.h"

/* If a file is left out because another file of its sample is bad, its reason begins with this
 * text. */
#define LEFT_OUT "left out with another file of its sample"
struct problem {
    const char *path;           /* printable, as in skipped.tsv */
    const char *reason;
    int code;
    int because;                /* SHEAF_REASON_DATASET, _ODD_IMAGE, or any other value */
};

/* Samples with an unusual field `cls`. */
struct cls_words {
    uint64_t samples;
    char first[200];            /* the key of one of them, possibly truncated */
};

struct problems {
    /* the files that packing has converted, which become lines of converted.tsv; NULL if the run
     * converts no files */
    struct problems *converted;
    enum sheaf_on_error on_error;
    enum sheaf_on_error on_change;      /* of files that vanished or changed since the scan */
    const char *max_skipped;    /* as in struct sheaf_pack_options */
    uint64_t most;              /* how many may be left out; meaningless without max_skipped */
    /* when samples are appended to a data set: number of files left out because the data set
     * already has their samples */
    size_t known;
    bool has_changed;           /* `changed` is the first that vanished or changed */
    size_t changed;
    sheaf_report_fn *report;    /* NULL: none */
    sheaf_report_fn *note;
    void *context;
    struct arena arena;
    struct problem *items;
    size_t count, capacity;
    /* number of samples with and without a label; if both occur, the number of samples without a
     * label is reported, but not as a problem */
    uint64_t labelled, unlabelled;
    const char *first_unlabelled;       /* the smallest of their keys; NULL: none */
    /* samples whose field `cls` does not consist of numbers: `unread` has the samples that have no
     * label, `kept_labels` the samples that keep the label of their directory or list */
    struct cls_words unread, kept_labels;
    uint64_t left_out_values;   /* values of lists that could not become fields */
    /* samples whose field `cls` consists of numbers, which replace the class that the source
     * gives */
    struct cls_words replaced;
};

/* Adds the samples of `more` to `words`. */
void cls_words_add(struct cls_words *words, const struct cls_words *more);
/* Reports such samples. */
void problems_tell_words(const struct problems *p);

/* Counts a sample, either as labelled or as unlabelled. `key_size` is the length of the sample's
 * key. */
int problems_count_label(struct problems *p, bool has_label, const char *key, size_t key_size,
                         struct sheaf_error *err);
/* Sets the result's number of samples without a label, if there are also samples with labels. These
 * may be in this run or, if set_has_labels is true, in the data set to which samples are
 * appended. */
void problems_tell_labels(const struct problems *p, bool set_has_labels,
                          struct sheaf_pack_result *result);

/* Returns the number of files that were left out, not counting files whose samples the data set
 * already has. */
uint64_t problems_skipped(const struct problems *p);

/* Returns whether some files were left out because the data set to which samples are appended
 * already has their samples. */
bool problems_have_known(const struct problems *p);

/* Records a bad file with its path (any bytes), an error code and the reason. Fails only if memory
 * is exhausted. */
int problems_add(struct problems *p, struct sheaf_error *err, const char *path, int code,
                 const char *reason, ...) __attribute__((format(printf, 5, 6)));

/* Records a bad file like problems_add, with the code, the message and the reason of an error. */
int problems_add_found(struct problems *p, struct sheaf_error *err, const char *path,
                       const struct sheaf_error *found);

/* Records a file whose sample already exists in the data set to which samples are appended. The
 * code is SHEAF_ERR_EXISTS, and `because` is SHEAF_REASON_DATASET. */
int problems_add_known(struct problems *p, struct sheaf_error *err, const char *path);

/* Reports information that is not an error. */
void problems_note(const struct problems *p, enum sheaf_reason reason, const char *about,
                   const char *text, ...) __attribute__((format(printf, 4, 5)));

/* problems_check_limit returns SHEAF_ERR_ARGUMENT if max_skipped is invalid. problems_limit returns
 * the number of files, among `found` ones, that may be skipped. */
int problems_check_limit(const char *max_skipped, struct sheaf_error *err);
void problems_limit(struct problems *p, uint64_t found);

/* Returns SHEAF_OK or the error of the run. With SHEAF_FAIL, any problem is an error. The error
 * names the first file that is itself bad, and its reason is SHEAF_REASON_BAD_FILES or
 * SHEAF_REASON_ODD_IMAGE. With SHEAF_SKIP, the run fails only if a file vanished or changed, or if
 * there are too many problems. */
int problems_verdict(struct problems *p, struct sheaf_error *err);
/* Called after a step of the run that ended with `code`. If the step failed only because bad files
 * were left out, returns the error about these files. Otherwise returns the same as
 * problems_verdict. */
int problems_after(struct problems *p, int code, struct sheaf_error *err);

/* Returns SHEAF_ERR_CHANGED unless `found` equals `packed` plus the number of problems. `found` and
 * `packed` count files, or samples if a program supplies the samples. Each problem is a file or
 * sample that was skipped. */
int problems_conserve(const struct problems *p, uint64_t found, uint64_t packed,
                      struct sheaf_error *err);

/* Returns SHEAF_ERR_NOT_FOUND, with a message about the first problem, if no sample is left to be
 * packed. */
int problems_check_packed(const struct problems *p, uint64_t samples, struct sheaf_error *err);

/* Appends lines for skipped.tsv ("path<TAB>reason") to `out`, for all problems from number `first`
 * on. */
int problems_write(const struct problems *p, size_t first, struct buf *out,
                   struct sheaf_error *err);
/* Adds the problems of such lines without reporting them. */
int problems_read(struct problems *p, const char *text, size_t size, struct sheaf_error *err);
/* Replaces `count` problems, from number `first` on, by the problems in `text`, whose lines have
 * the form that problems_write writes. */
int problems_replace(struct problems *p, size_t first, size_t count, const char *text,
                     size_t size, struct sheaf_error *err);
/* Sorts the problems by path, in byte order. */
void problems_sort(struct problems *p);

void problems_free(struct problems *p);

#endif
