/* SPDX-License-Identifier: MIT
 *
 * Reads channels in place of data sets; see channel.h. */
#include "tools/channel.h"

#include <stdbool.h>
#include <string.h>

#include "tools/signals.h"

void channel_options_init(struct channel_options *c)
{
    *c = (struct channel_options){ .name = NULL };
    sheaf_channel_options_init(&c->options, sizeof(c->options));
}

/* Returns whether the user gave options that need a channel (an input of a SageMaker job), such as
 * --manifest. */
static bool channel_has_more(const struct channel_options *c)
{
    struct sheaf_channel_options defaults;

    sheaf_channel_options_init(&defaults, sizeof(defaults));
    return strcmp(c->options.root, defaults.root) != 0 || c->options.attributes != NULL ||
           c->options.wait_seconds != defaults.wait_seconds || c->options.manifest != NULL;
}

int channel_open(struct channel_options *c, const struct command *command, size_t count)
{
    struct sheaf_channel_info info;
    struct sheaf_error error;

    if (c->name == NULL && channel_has_more(c))
        return misuse("%s: --channel-root, --channel-wait, --attributes and --manifest require "
                      "--channel", command->name);
    if (c->name == NULL && count == 0)
        return misuse("%s: an argument is missing; usage: sheaf %s %s", command->name,
                      command->name, command->arguments);
    if (c->name == NULL)
        return -1;
    if (count != 0)
        return misuse("%s: --channel replaces DATASET; specify one of them", command->name);
    if (sheaf_channel_open(c->name, &c->options, &c->channel, &error) != SHEAF_OK)
        return refuse(&error);
    sheaf_channel_get_info(c->channel, &info, sizeof(info));
    say("channel %s: %s", info.name, info.description);
    return -1;
}

int channel_dataset(const struct channel_options *c, char **sources, size_t count,
                    struct sheaf_dataset **dataset, struct sheaf_error *error)
{
    if (c->channel != NULL)
        return sheaf_channel_dataset(c->channel, dataset, error);
    return sheaf_dataset_open((const char *const *)sources, count, dataset, error);
}

int channel_close(struct channel_options *c, int status)
{
    struct sheaf_error error;

    if (c->name != NULL && status != STATUS_OK && !signals_caught
        && sheaf_channel_report_failure(c->options.root, last_complaint(), &error) != SHEAF_OK
        && error.code != SHEAF_ERR_NOT_FOUND)
        complain("%s", error.message);
    sheaf_channel_free(c->channel);
    c->channel = NULL;
    return status;
}
