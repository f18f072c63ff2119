/* SPDX-License-Identifier: MIT
 *
 * Options of the commands `pack` and `plan` that say how a data set is packed. */
#ifndef TOOLS_PACK_ROWS_H
#define TOOLS_PACK_ROWS_H

#include "tools/options.h"

/* Values of the user's options that cannot be stored in a struct sheaf_pack_options directly, such
 * as lists. */
struct pack_lists {
    bool has_container;         /* whether the user gave --format */
    struct option_texts patterns;       /* of --include and --exclude, in the given order */
    struct sheaf_filter filters[OPTION_TEXTS_MOST];
    struct option_texts aliases, s3;
};

extern const struct choice label_base_choices[], key_end_choices[], check_images_choices[],
                           resize_mode_choices[];

/* Sets *lists and *options to their defaults. `check` is the default of --check-images. */
void pack_rows_init(struct pack_lists *lists, struct sheaf_pack_options *options,
                    enum sheaf_check_images check);
/* Completes `options` with the user's lists. Refuses --on-change skip without --on-error skip, and
 * --shard-size together with --shard-count. Returns -1 if the options are valid. Otherwise prints
 * an error and returns the exit status. */
int pack_rows_take(struct pack_lists *lists, struct sheaf_pack_options *options);
/* Does the same as pack_rows_take, but also refuses the options if the user did not give a
 * container (--format). */
int pack_rows_take_all(struct pack_lists *lists, struct sheaf_pack_options *options);

/* Prints the number of skipped files on standard error, if the user gave --quiet. Without --quiet,
 * the summary of the command contains this number. */
void say_skipped_if_quiet(uint64_t skipped, uint64_t files);
/* Reports how many samples have a repeated key, and what the given rule does with them. If the rule
 * leaves samples out, they are reported even with --quiet. */
void say_duplicates(const struct sheaf_pack_result *result, enum sheaf_duplicate_keys rule);
/* Prints how many files were packed and skipped, as in "; 11 of 12 files packed, 1 file
 * skipped". */
void print_files(const struct sheaf_pack_result *result, const char *done);
/* Prints how many images were changed, as in ", 2 images converted". */
void print_images(const struct sheaf_pack_result *result);
/* Prints a note of the library about the run, with advice. A function of the type
 * sheaf_report_fn. */
void report_note(void *context, const char *about, const struct sheaf_error *note);
/* Prints how many files of the source were ignored, and how many samples have no label. */
void say_source(const struct sheaf_pack_result *result);
/* Reports if there are fewer shards than requested. */
void say_few_shards(const struct sheaf_pack_options *options,
                    const struct sheaf_pack_result *result);

/* Rows of a command's table of options: the options about images. `o` is a pointer to a struct
 * sheaf_pack_options, in which the values are stored. of_resize and of_images are the options that
 * --resize-mode and --quality need. They are NULL for an append, because the data set may have
 * these options. */
#define OF_RESIZE "--resize"
#define OF_IMAGES "--fix-images or --resize"
#define IMAGE_ROWS(o, of_resize, of_images)                                                     \
    { "fix-images", OPTION_FLAG, .flag = &(o)->fix_images,                                      \
      .meaning = "make a plain JPEG of what is named as one but is CMYK, turned by EXIF, PNG, " \
                 "GIF, BMP or WebP, and list it in DEST/converted.tsv" },                       \
    { "resize", OPTION_COUNT, "N", .count = &(o)->resize, .standard = "", .least = 1,           \
      .most = 65535, .meaning = "make larger JPEGs smaller: their shorter side becomes N" },    \
    { "resize-mode", OPTION_CHOICE, "SIDE", .choice = CHOICE_IN((o)->resize_mode),              \
      .choices = resize_mode_choices, .needs = (of_resize),                                     \
      .meaning = "which side becomes N; exact: both, whatever the proportions" },               \
    { "quality", OPTION_COUNT, "Q", .count = (unsigned *)&(o)->quality, .least = 1,             \
      .most = 100, .needs = (of_images), .meaning = "quality of the JPEGs that are made" },     \
    { "check-images", OPTION_CHOICE, "HOW", .choice = CHOICE_IN((o)->check_images),             \
      .choices = check_images_choices,                                                          \
      .meaning = "check the markers of JPEGs, or decode every pixel of every image, or "        \
                 "check nothing" }

/* Rows of a command's table of options: the options that say which samples a source has. The values
 * are stored in `l`, a struct pack_lists, and in `o`, a struct sheaf_pack_options. For of_resize
 * and of_images, see IMAGE_ROWS. */
#define SOURCE_ROWS(l, o, of_resize, of_images)                                                 \
    { "root", OPTION_TEXT, "DIR", .text = &(o)->root,                                           \
      .meaning = "what the paths in a list are relative to",                                    \
      .standard = "the list's directory" },                                                     \
    { "class-depth", OPTION_COUNT, "N", .count = &(o)->class_depth, .standard = "all",          \
      .least = 1, .most = 64, .meaning = "so many directories of a path are the class; 1 as in "\
                 "ImageFolder" },                                                               \
    { "include", OPTION_TEXTS, "GLOB", .texts = &(l)->patterns,                                 \
      .meaning = "pack only what matches; repeatable, as a line of a .gitignore; of several "   \
                 "--include and --exclude, the last match decides" },                           \
    { "exclude", OPTION_TEXTS, "GLOB", .texts = &(l)->patterns,                                 \
      .meaning = "do not pack what matches; repeatable" },                                      \
    { "field-alias", OPTION_TEXTS, "FROM=TO", .texts = &(l)->aliases,                           \
      .meaning = "the field FROM is called TO, as in jpeg=jpg; repeatable" },                   \
    { "key-end", OPTION_CHOICE, "WHERE", .choice = CHOICE_IN((o)->key_end),                     \
      .choices = key_end_choices,                                                               \
      .meaning = "where keys end in base names with several dots; with last-dot, the others "   \
                 "become _" },                                                                  \
    IMAGE_ROWS(o, of_resize, of_images),                                                        \
    { "no-shuffle", OPTION_FLAG, .flag = &(o)->no_shuffle,                                      \
      .meaning = "keep the samples in byte order of their keys" },                              \
    { "seed", OPTION_NUMBER, "S", .number = &(o)->seed,                                         \
      .meaning = "seed of the shuffle and of the splits" }

/* Table rows about files that cannot be packed. */
#define SKIP_ROWS(o, what)                                                                      \
    { "on-error", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN((o)->on_error),                    \
      .choices = on_error_choices, .meaning = (what) },                                         \
    { "on-change", OPTION_CHOICE, "WHAT", .choice = CHOICE_IN((o)->on_change),                  \
      .choices = on_error_choices,                                                              \
      .meaning = "with --on-error skip, at a file that vanished or changed since the scan: "    \
                 "fail, or skip it, too" },                                                     \
    { "max-skipped", OPTION_TEXT, "N|N%", .text = &(o)->max_skipped, .standard = "no limit",    \
      .needs = "--on-error skip",                                                               \
      .meaning = "with --on-error skip: fail if more files, or a larger share of them, would "  \
                 "be skipped" }

/* All: */
#define PACK_ROWS(l, o)                                                                         \
    CONTAINER_ROW(o, &(l)->has_container),                                                      \
    CODEC_ROW(o),                                                                               \
    { "shard-size", OPTION_SIZE, "SIZE", .number = &(o)->shard_bytes, .least = 1,               \
      .meaning = "target payload of a shard; shards are evenly sized, close to it" },            \
    { "shard-count", OPTION_NUMBER, "N", .number = &(o)->shard_count, .standard = "",           \
      .least = 1, .meaning = "make exactly N shards (of each split), or one per sample if " \
                 "there are fewer samples" },     \
    { "prefix", OPTION_TEXT, "WORD", .text = &(o)->prefix,                                      \
      .meaning = "first word of the shards' names" },                                           \
    SOURCE_ROWS(l, o, OF_RESIZE, OF_IMAGES),                                                    \
    { "label-base", OPTION_CHOICE, "0|1", .choice = &(o)->label_base,                           \
      .choices = label_base_choices, .meaning = "number of the first class" },                  \
    { "classes", OPTION_TEXT, "FILE|DATASET", .text = &(o)->classes,                            \
      .meaning = "classes and their numbers: a name a line, or those of a data set" },          \
    { "split", OPTION_TEXT, "SPEC", .text = &(o)->split,                                        \
      .meaning = "several data sets, stratified by class: train=0.8,val=0.2 or "                \
                 "train=60/class,val=rest" },                                                   \
    SKIP_ROWS(o, "at a bad file: fail, or skip it and list it in DEST/skipped.tsv"),            \
    { "resume", OPTION_FLAG, .flag = &(o)->resume,                                              \
      .meaning = "resume an interrupted run" },                                                 \
    { "overwrite", OPTION_FLAG, .flag = &(o)->overwrite,                                        \
      .meaning = "delete the existing data set in DEST and its splits, then pack" },            \
    { "index", OPTION_TEXT, "LIST", .text = &(o)->index,                                        \
      .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },          \
    S3_ROW(&(l)->s3),                                                                           \
    MEMORY_ROW(o, "memory limit for buffers")
#endif
