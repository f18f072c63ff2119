/* SPDX-License-Identifier: MIT
 *
 * Collects bad files (files that cannot be packed), and reports each when it is found.
 *
 * `on_error` decides what happens then. With SHEAF_FAIL, the first bad file (in byte order of
 * paths) is the error of the whole run. With SHEAF_SKIP, bad files become lines of skipped.tsv. */
#ifndef PACKER_SOURCE_PROBLEMS_H
#define PACKER_SOURCE_PROBLEMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sheaf.h"

/* beginning of the reason for a file that is left out because another file of its sample is bad */
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

/* The text for the samples that have no label because of their field `cls`. */
#define CLS_UNREAD_TEXT "is not numbers, and so without a label"

struct problems {
    /* list of the files that packing has converted, which becomes converted.tsv; NULL if the run
     * converts no files */
    struct problems *converted;
    enum sheaf_on_error on_error;
    enum sheaf_on_error on_change;      /* of files that vanished or changed since the scan */
    const char *max_skipped;    /* as in struct sheaf_pack_options */
    uint64_t most;              /* how many may be left out; meaningless without max_skipped */
    /* for an append: number of files that were left out because the data set already has their
     * samples */
    size_t known;
    bool has_changed;           /* `changed` is the first that vanished or changed */
    size_t changed;
    sheaf_report_fn *report;    /* NULL: none */
    sheaf_report_fn *note;
    void *context;
    struct arena arena;
    struct problem *items;
    size_t count, capacity;
    /* `labelled` is the number of samples with a label, and `unlabelled` the number of samples
     * without a label. If there are both kinds, the samples without a label are reported. They are
     * packed nevertheless. */
    uint64_t labelled, unlabelled;
    const char *first_unlabelled;       /* the smallest of their keys; NULL: none */
    /* samples whose field `cls` does not consist of numbers: `kept_labels` counts samples that keep
     * the label from their directory or list, and `unread` counts samples that have no label */
    struct cls_words unread, kept_labels;
    uint64_t left_out_values;   /* values of lists that could not become fields */
    /* samples whose class from the directory or list was replaced, because their field `cls`
     * consists of numbers */
    struct cls_words replaced;
};

/* Counts a sample. If it is the first one that is counted, also stores its key. */
void cls_words_count(struct cls_words *words, const char *key);
/* Adds the samples of `more` to `words`. */
void cls_words_add(struct cls_words *words, const struct cls_words *more);
/* Writes into `text` how many samples there are, the key of one of them, and `what` is unusual. */
void cls_words_say(const struct cls_words *words, const char *what, char *text, size_t size);
/* Reports such samples. */
void problems_tell_words(const struct problems *p);

/* Counts a sample with a label (`has_label` is true) or without a label. `key` is the sample's key,
 * and `key_size` its length. */
int problems_count_label(struct problems *p, bool has_label, const char *key, size_t key_size,
                         struct sheaf_error *err);
/* If only some of the samples have labels, labels may be missing by mistake. This function then
 * sets result->unlabelled to the number of samples without a label. `set_has_labels` says whether
 * the data set to which samples are appended has samples with labels. */
void problems_tell_labels(const struct problems *p, bool set_has_labels,
                          struct sheaf_pack_result *result);

/* Returns the number of files that were left out because they or other files of their sample are
 * bad. Files whose samples the data set already has do not count. */
uint64_t problems_skipped(const struct problems *p);

/* Returns whether an append left out files because the data set already has their samples. */
bool problems_have_known(const struct problems *p);

/* Records a file that cannot be packed, with an error code and the reason. The path may contain any
 * bytes. Fails only if memory is exhausted. */
int problems_add(struct problems *p, struct sheaf_error *err, const char *path, int code,
                 const char *reason, ...) __attribute__((format(printf, 5, 6)));

/* Works like problems_add(): records a file that cannot be packed. The code, the message and the
 * reason come from the error `found`. */
int problems_add_found(struct problems *p, struct sheaf_error *err, const char *path,
                       const struct sheaf_error *found);

/* For an append, records a file whose sample the data set already has. The problem's code is
 * SHEAF_ERR_EXISTS, and its `because` is SHEAF_REASON_DATASET. */
int problems_add_known(struct problems *p, struct sheaf_error *err, const char *path);

/* Reports information that is not an error. */
void problems_note(const struct problems *p, enum sheaf_reason reason, const char *about,
                   const char *text, ...) __attribute__((format(printf, 4, 5)));

/* The limit `max_skipped` says how many bad files a run may skip. problems_check_limit() returns
 * SHEAF_ERR_ARGUMENT if the text is neither a number nor a share of files. problems_limit() sets
 * p->most to the number of files that may be skipped if the source has `found` files. */
int problems_check_limit(const char *max_skipped, struct sheaf_error *err);
void problems_limit(struct problems *p, uint64_t found);

/* Returns the error with which the run fails because of the collected problems, or SHEAF_OK. With
 * SHEAF_FAIL, the run fails if there is a problem. The message names the first file that is itself
 * bad, and the reason of the error is usually SHEAF_REASON_BAD_FILES. With SHEAF_SKIP, the run
 * fails only if a file vanished or changed, or if there are too many problems. */
int problems_verdict(struct problems *p, struct sheaf_error *err);
/* If problems_verdict() returns an error, returns this error. Otherwise returns `code`, the result
 * of a step of the run. The verdict comes first, because the step may have failed only as a
 * consequence of the bad files. */
int problems_after(struct problems *p, int code, struct sheaf_error *err);

/* Checks that no file was lost. Returns SHEAF_ERR_CHANGED unless `found` equals `packed` plus the
 * number of problems. `found` and `packed` count files, or samples if a program supplies the
 * samples. Each problem is a file or sample that was skipped. */
int problems_conserve(const struct problems *p, uint64_t found, uint64_t packed,
                      struct sheaf_error *err);

/* Returns an error if no sample can be packed (`samples` is 0). If there are problems, the error
 * has the code and the reason of the first problem. Otherwise the error is SHEAF_ERR_NOT_FOUND. */
int problems_check_packed(const struct problems *p, uint64_t samples, struct sheaf_error *err);

/* Appends all problems from number `first` on to `out`, as lines of skipped.tsv
 * ("path<TAB>reason"). */
int problems_write(const struct problems *p, size_t first, struct buf *out,
                   struct sheaf_error *err);
/* Adds the problems of such lines without reporting them. */
int problems_read(struct problems *p, const char *text, size_t size, struct sheaf_error *err);
/* Replaces `count` problems, from number `first` on, by the problems in `text`. The lines of `text`
 * must have the form that problems_write() writes. */
int problems_replace(struct problems *p, size_t first, size_t count, const char *text,
                     size_t size, struct sheaf_error *err);
/* Sorts the problems by path, in byte order. */
void problems_sort(struct problems *p);

void problems_free(struct problems *p);

#endif
