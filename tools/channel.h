/* SPDX-License-Identifier: MIT
 *
 * Options of the commands `cat` and `info` that name a channel instead of a data set. A channel is
 * an input of a SageMaker training job. */
#ifndef TOOLS_CHANNEL_H
#define TOOLS_CHANNEL_H

#include "tools/options.h"

struct channel_options {
    const char *name;               /* NULL: none */
    struct sheaf_channel_options options;
    struct sheaf_channel *channel;  /* once opened */
};

void channel_options_init(struct channel_options *c);

/* Rows of a command's table of options. They store the values of these options in `c`, a pointer to
 * a struct channel_options. */
#define CHANNEL_ROWS(c)                                                                         \
    { "channel", OPTION_TEXT, "NAME", .text = &(c)->name, .standard = "none",                   \
      .meaning = "read the platform's channel NAME, in any input mode, instead of DATASET" },    \
    { "channel-root", OPTION_TEXT, "DIR", .text = &(c)->options.root, .standard = "/opt/ml",    \
      .meaning = "directory with the platform's input and output directories" },                \
    { "channel-wait", OPTION_NUMBER, "N", .number = &(c)->options.wait_seconds,                 \
      .unit = "seconds",                                                                        \
      .meaning = "how long to wait for a pipe, and then for its first byte" },                  \
    { "attributes", OPTION_TEXT, "LIST", .text = &(c)->options.attributes,                      \
      .standard = "the configuration's",                                                        \
      .meaning = "for an augmented manifest in a pipe: the attributes that come as records, "   \
                 "in order" },                                                                  \
    { "manifest", OPTION_TEXT, "FILE", .text = &(c)->options.manifest,                          \
      .standard = "dataset.json in the channel's directory",                                    \
      .meaning = "where each host has some shards (ShardedByS3Key): path or URL of the data "    \
                 "set's dataset.json, with its index beside it" }

/* Checks that the user named either sources or a channel (an input of a SageMaker job), but not
 * both. If the user named a channel, opens it and prints one line about it. Returns -1 if the
 * command should continue; otherwise returns the exit status. */
int channel_open(struct channel_options *c, const struct command *command, size_t count);

/* Opens the data set that the user named, either by sources or by a channel (an input of a
 * SageMaker job). */
int channel_dataset(const struct channel_options *c, char **sources, size_t count,
                    struct sheaf_dataset **dataset, struct sheaf_error *error);

/* Closes the channel. If `status` is a failure, writes the last error message to the file
 * output/failure, which SageMaker reads. Returns `status`. */
int channel_close(struct channel_options *c, int status);

#endif
