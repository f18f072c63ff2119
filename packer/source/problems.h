/* SPDX-License-Identifier: MIT
 *
 * Bad files: collected, and reported when they are found. `on_error` decides about them. SHEAF_FAIL
 * makes the first one (in byte order of paths) the error of the whole run. SHEAF_SKIP makes them
 * lines of skipped.tsv. */
#ifndef PACKER_SOURCE_PROBLEMS_H
#define PACKER_SOURCE_PROBLEMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sheaf.h"

/* the reason of a file that is left out because another file of its sample is bad begins with
 * this */
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
    struct problems *converted;         /* changed files, which become lines of converted.tsv;
                                           NULL if files are not changed */
    enum sheaf_on_error on_error;
    enum sheaf_on_error on_change;      /* of files that vanished or changed since the scan */
    const char *max_skipped;    /* as in struct sheaf_pack_options */
    uint64_t most;              /* how many may be left out; meaningless without max_skipped */
    size_t known;               /* number of files whose samples the data set that grows has
                                   already */
    bool has_changed;           /* `changed` is the first that vanished or changed */
    size_t changed;
    sheaf_report_fn *report;    /* NULL: none */
    sheaf_report_fn *note;
    void *context;
    struct arena arena;
    struct problem *items;
    size_t count, capacity;
    uint64_t labelled, unlabelled;      /* numbers of samples with and without a label; samples
                                           without a label among others are reported, but not as
                                           problems */
    const char *first_unlabelled;       /* the smallest of their keys; NULL: none */
    /* samples whose field `cls` does not contain numbers: first those without another label, then
     * those with one, which they keep */
    struct cls_words unread, kept_labels;
    uint64_t left_out_values;   /* values of lists that could not become fields */
    struct cls_words replaced;  /* samples whose field `cls` contains numbers and replaces a
                                   class */
};

/* Adds the samples of `more` to `words`. */
void cls_words_add(struct cls_words *words, const struct cls_words *more);
/* Reports such samples. */
void problems_tell_words(const struct problems *p);

/* Counts a sample. `key_size` is the length of its key. */
int problems_count_label(struct problems *p, bool has_label, const char *key, size_t key_size,
                         struct sheaf_error *err);
/* Sets the result's number of samples without a label, if other samples have labels. These others
 * are in this run or, if set_has_labels is true, in the data set that grows. */
void problems_tell_labels(const struct problems *p, bool set_has_labels,
                          struct sheaf_pack_result *result);

/* Returns how many files are left out, without those whose samples a data set has already. */
uint64_t problems_skipped(const struct problems *p);

/* Returns whether there are bad files whose samples the data set that grows has already. */
bool problems_have_known(const struct problems *p);

/* Notes a bad file with its path (any bytes), an error code and the reason. Fails only if memory is
 * exhausted. */
int problems_add(struct problems *p, struct sheaf_error *err, const char *path, int code,
                 const char *reason, ...) __attribute__((format(printf, 5, 6)));

/* Like problems_add, with the code, message and reason of an error. */
int problems_add_found(struct problems *p, struct sheaf_error *err, const char *path,
                       const struct sheaf_error *found);

/* Notes a file whose sample the data set that grows has already. The code is SHEAF_ERR_EXISTS, and
 * `because` is SHEAF_REASON_DATASET. */
int problems_add_known(struct problems *p, struct sheaf_error *err, const char *path);

/* Reports information that is not an error. */
void problems_note(const struct problems *p, enum sheaf_reason reason, const char *about,
                   const char *text, ...) __attribute__((format(printf, 4, 5)));

/* problems_check_limit returns SHEAF_ERR_ARGUMENT if max_skipped is invalid. problems_limit
 * computes how many of `found` files may be skipped. */
int problems_check_limit(const char *max_skipped, struct sheaf_error *err);
void problems_limit(struct problems *p, uint64_t found);

/* Returns SHEAF_OK or the error of the run. With SHEAF_FAIL and any problem, the error names the
 * first problem that was not left out with another file, and its reason is SHEAF_REASON_BAD_FILES
 * or _ODD_IMAGE. With SHEAF_SKIP, it is the error of a file that vanished or changed, or of too
 * many problems. */
int problems_verdict(struct problems *p, struct sheaf_error *err);
/* Like problems_verdict, after a step that ended with `code`. The step may have failed only because
 * bad files were left out. */
int problems_after(struct problems *p, int code, struct sheaf_error *err);

/* Returns SHEAF_ERR_CHANGED unless the number of files found equals that of files packed and
 * skipped. `found` and `packed` count files, or the samples of a program, and each problem is one
 * of them. */
int problems_conserve(const struct problems *p, uint64_t found, uint64_t packed,
                      struct sheaf_error *err);

/* Returns SHEAF_ERR_NOT_FOUND with the first problem if no sample is left to be packed. */
int problems_check_packed(const struct problems *p, uint64_t samples, struct sheaf_error *err);

/* Appends the lines of skipped.tsv ("path<TAB>reason") for the problems from `first` on. */
int problems_write(const struct problems *p, size_t first, struct buf *out,
                   struct sheaf_error *err);
/* Adds the problems of such lines without reporting them. */
int problems_read(struct problems *p, const char *text, size_t size, struct sheaf_error *err);
/* Replaces `count` problems from `first` on by the problems of such lines. */
int problems_replace(struct problems *p, size_t first, size_t count, const char *text,
                     size_t size, struct sheaf_error *err);
/* Sorts the problems by path, in byte order. */
void problems_sort(struct problems *p);

void problems_free(struct problems *p);

#endif
