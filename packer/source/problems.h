/* SPDX-License-Identifier: MIT
 *
 * Bad files: collected, and reported as they are found.  `on_error` decides what they do:
 * SHEAF_FAIL makes the first of them (in byte order of paths) the error of the whole run,
 * SHEAF_SKIP makes them lines of skipped.tsv. */
#ifndef PACKER_SOURCE_PROBLEMS_H
#define PACKER_SOURCE_PROBLEMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sheaf.h"

/* How the reason begins where another file of the sample is the bad one. */
#define LEFT_OUT "left out with another file of its sample"
struct problem {
    const char *path;           /* as in skipped.tsv: printable */
    const char *reason;
    int code;
    int because;                /* SHEAF_REASON_DATASET, _ODD_IMAGE, or anything else */
};

/* Samples whose field `cls` is not what it usually is. */
struct cls_words {
    uint64_t samples;
    char first[200];            /* the key of one, or its beginning */
};

struct problems {
    struct problems *converted;         /* files that were changed, in the same way, as lines of
                                           converted.tsv; NULL: none may be */
    enum sheaf_on_error on_error;
    enum sheaf_on_error on_change;      /* of files that vanished or changed since the scan */
    const char *max_skipped;    /* as in struct sheaf_pack_options */
    uint64_t most;              /* how many may be left out; meaningless without max_skipped */
    size_t known;               /* of `count`: in the data set that is to grow */
    bool has_changed;           /* `changed` is the first that vanished or changed */
    size_t changed;
    sheaf_report_fn *report;    /* NULL: none */
    sheaf_report_fn *note;
    void *context;
    struct arena arena;
    struct problem *items;
    size_t count, capacity;
    uint64_t labelled, unlabelled;      /* samples: some without a label among others that have one
                                           are no problem, but worth a word */
    const char *first_unlabelled;       /* the least key of them; NULL: none */
    struct cls_words unread, kept_labels;   /* samples whose field `cls` is not numbers: without
                                   another label, and with one, which they keep */
    struct cls_words replaced;  /* samples whose field `cls` is numbers, and replaces a class */
};

/* Adds samples to others. */
void cls_words_add(struct cls_words *words, const struct cls_words *more);
/* Tells of such samples. */
void problems_tell_words(const struct problems *p);

/* Counts a sample; `key_size` is the length of its key. */
int problems_count_label(struct problems *p, bool has_label, const char *key, size_t key_size,
                         struct sheaf_error *err);
/* Tells the result of the samples without a label, if others have one: of these, or of the data set
 * that they are for. */
void problems_tell_labels(const struct problems *p, bool set_has_labels,
                          struct sheaf_pack_result *result);

/* Returns how many files are left out, without those whose samples a data set has already. */
uint64_t problems_skipped(const struct problems *p);

/* Whether the samples of any bad files are in the data set that is to grow. */
bool problems_have_known(const struct problems *p);

/* Notes a bad file: `path` (any bytes), an error code, and the reason.  Fails only for want of
 * memory. */
int problems_add(struct problems *p, struct sheaf_error *err, const char *path, int code,
                 const char *reason, ...) __attribute__((format(printf, 5, 6)));

/* The same with the code, message and reason of an error. */
int problems_add_found(struct problems *p, struct sheaf_error *err, const char *path,
                       const struct sheaf_error *found);

/* The same of a file whose sample is in the data set that is to grow: SHEAF_ERR_EXISTS, and because
 * of SHEAF_REASON_DATASET. */
int problems_add_known(struct problems *p, struct sheaf_error *err, const char *path);

/* Tells what is no error but worth knowing. */
void problems_note(const struct problems *p, enum sheaf_reason reason, const char *about,
                   const char *text, ...) __attribute__((format(printf, 4, 5)));

/* Checks max_skipped (SHEAF_ERR_ARGUMENT); then says how many of `found` files that allows. */
int problems_check_limit(const char *max_skipped, struct sheaf_error *err);
void problems_limit(struct problems *p, uint64_t found);

/* SHEAF_OK, or with SHEAF_FAIL and any problem the error that names the first one, of those that
 * are no file left out with another; its reason is SHEAF_REASON_BAD_FILES or _ODD_IMAGE.  With
 * SHEAF_SKIP, the error of a file that vanished or changed, or of too many problems. */
int problems_verdict(struct problems *p, struct sheaf_error *err);
/* The same after what ended with `code`, perhaps only since bad files are left out. */
int problems_after(struct problems *p, int code, struct sheaf_error *err);

/* That what was found is what was packed and what was skipped: `found` and `packed` are of files,
 * or of samples that a program made, and each problem is one of them.  SHEAF_ERR_CHANGED. */
int problems_conserve(const struct problems *p, uint64_t found, uint64_t packed,
                      struct sheaf_error *err);

/* SHEAF_ERR_NOT_FOUND, with the first problem, if no sample is left to be packed. */
int problems_check_packed(const struct problems *p, uint64_t samples, struct sheaf_error *err);

/* Appends the lines of skipped.tsv ("path<TAB>reason"), of the problems from `first` on. */
int problems_write(const struct problems *p, size_t first, struct buf *out,
                   struct sheaf_error *err);
/* Takes such lines back, unreported. */
int problems_read(struct problems *p, const char *text, size_t size, struct sheaf_error *err);
/* Replaces `count` of them, from `first` on, by such lines. */
int problems_replace(struct problems *p, size_t first, size_t count, const char *text,
                     size_t size, struct sheaf_error *err);
/* Puts them into byte order. */
void problems_sort(struct problems *p);

void problems_free(struct problems *p);

#endif
