/* SPDX-License-Identifier: MIT
 *
 * The options of a packed data set, shared by `pack` and `plan`. */
#ifndef TOOLS_PACK_ROWS_H
#define TOOLS_PACK_ROWS_H

#include "tools/options.h"

/* Those whose types are not the library's. */
struct pack_choices {
    int container;              /* 0: not given */
    int codec, on_error;
    uint64_t jobs;
    struct option_texts patterns;       /* of --include and --exclude, in order */
    struct sheaf_filter filters[OPTION_TEXTS_MOST];
    struct option_texts aliases;
    int key_end;
};

extern const struct choice label_base_choices[], key_end_choices[];

/* Sets both to the defaults. */
void pack_choices_init(struct pack_choices *choices, struct sheaf_pack_options *options);

/* Puts the choices into the options.  -1, or the exit status: there is no container. */
int pack_choices_take(struct pack_choices *choices, const char *command,
                      struct sheaf_pack_options *options);

/* Prints what became of the files: "; 11 of 12 files packed, 1 file skipped". */
void print_files(const struct sheaf_pack_result *result, const char *done);
/* As sheaf_report_fn: reports what is worth knowing, with what can be done about it. */
void report_note(void *context, const char *about, const struct sheaf_error *note);
/* Reports what was ignored in the source, and samples without a label among others. */
void complain_of_source(const struct sheaf_pack_result *result);
/* Says so where there are fewer shards than were asked for. */
void complain_of_few_shards(const struct sheaf_pack_options *options,
                            const struct sheaf_pack_result *result);

/* The table's rows; pointers to a struct pack_choices and a struct sheaf_pack_options. */
#define PACK_ROWS(c, o)                                                                         \
    CONTAINER_ROW(&(c)->container),                                                             \
    CODEC_ROW(&(c)->codec),                                                                     \
    { "shard-size", OPTION_SIZE, "SIZE", .number = &(o)->shard_bytes, .least = 1,               \
      .meaning = "target payload of a shard; shards are evenly sized, close to it" },            \
    { "shard-count", OPTION_NUMBER, "N", .number = &(o)->shard_count, .standard = "",           \
      .least = 1, .meaning = "make exactly N shards (of each split), or one per sample if " \
                 "there are fewer samples" },     \
    { "prefix", OPTION_TEXT, "WORD", .text = &(o)->prefix,                                      \
      .meaning = "first word of the shards' names" },                                           \
    { "root", OPTION_TEXT, "DIR", .text = &(o)->root,                                           \
      .meaning = "what the paths in a list are relative to",                                    \
      .standard = "the list's directory" },                                                     \
    { "include", OPTION_TEXTS, "GLOB", .texts = &(c)->patterns,                                 \
      .meaning = "pack only what matches; repeatable, as a line of a .gitignore; of several "   \
                 "--include and --exclude, the last match decides" },                           \
    { "exclude", OPTION_TEXTS, "GLOB", .texts = &(c)->patterns,                                 \
      .meaning = "do not pack what matches; repeatable" },                                      \
    { "field-alias", OPTION_TEXTS, "FROM=TO", .texts = &(c)->aliases,                           \
      .meaning = "the field FROM is called TO, as in jpeg=jpg; repeatable" },                   \
    { "key-end", OPTION_CHOICE, "WHERE", .choice = &(c)->key_end, .choices = key_end_choices,   \
      .meaning = "where keys end in base names with several dots; with last-dot, the others "   \
                 "become _" },                                                                  \
    { "no-shuffle", OPTION_FLAG, .flag = &(o)->no_shuffle,                                      \
      .meaning = "keep the samples in byte order of their keys" },                              \
    { "seed", OPTION_NUMBER, "S", .number = &(o)->seed,                                         \
      .meaning = "seed of the shuffle and of the splits" },                                     \
    { "label-base", OPTION_CHOICE, "0|1", .choice = &(o)->label_base,                           \
      .choices = label_base_choices, .meaning = "number of the first class" },                  \
    { "split", OPTION_TEXT, "SPEC", .text = &(o)->split,                                        \
      .meaning = "several data sets, stratified by class: train=0.8,val=0.2 or "                \
                 "train=60/class,val=rest" },                                                   \
    { "on-error", OPTION_CHOICE, "WHAT", .choice = &(c)->on_error,                              \
      .choices = on_error_choices,                                                              \
      .meaning = "at a bad file: fail, or skip it and list it in DEST/skipped.tsv" },           \
    { "resume", OPTION_FLAG, .flag = &(o)->resume,                                              \
      .meaning = "resume an interrupted run" },                                                 \
    { "overwrite", OPTION_FLAG, .flag = &(o)->overwrite,                                        \
      .meaning = "delete the existing data set in DEST and its splits, then pack" },            \
    { "index", OPTION_TEXT, "LIST", .text = &(o)->index,                                        \
      .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },          \
    { "memory", OPTION_SIZE, "SIZE", .number = &(o)->memory_bytes,                              \
      .meaning = "memory limit for buffers" }
#endif
