/* SPDX-License-Identifier: MIT
 *
 * A table from situations to advice.  A situation is an error code and words of the message: codes
 * alone are too few. */
#include "tools/advice.h"

#include <stddef.h>
#include <string.h>

struct advice {
    int code;
    const char *words;
    const char *commands;       /* those that have the option, each with spaces around; NULL: all */
    const char *advice;
};

#define THAT_WRITE " pack plan convert "

static const struct advice all[] = {
    { SHEAF_ERR_EXISTS, "holds a data set", THAT_WRITE, "--overwrite replaces it" },
    { SHEAF_ERR_EXISTS, "holds the remains of an unfinished run", THAT_WRITE,
      "--resume continues it, --overwrite starts again" },
    { SHEAF_ERR_CHANGED, "had another plan", THAT_WRITE, "--overwrite starts again" },
    { SHEAF_ERR_CHANGED, "but the manifest says", THAT_WRITE,
      "--overwrite makes the data set again" },
    { SHEAF_ERR_ARGUMENT, "resume and overwrite exclude each other", THAT_WRITE,
      "use --resume or --overwrite" },
    { SHEAF_ERR_ARGUMENT, "is a plan of a conversion", NULL, "use sheaf convert --plan" },
    { SHEAF_ERR_ARGUMENT, "is a plan of files", NULL, "use sheaf pack --plan" },
    { SHEAF_ERR_LIMIT, "bytes of memory, the limit is", " pack convert ", "--memory raises it" },
    { SHEAF_ERR_LIMIT, "the memory budget is", " cat ",
      "--memory raises it, a smaller --shuffle-buffer or fewer --lanes need less" },
    { SHEAF_ERR_LIMIT, "the memory budget is", " convert ",
      "--memory raises it: half of it is for reading" },
    { SHEAF_ERR_LIMIT, "bytes of memory that a sample may take here", " cat ",
      "--memory raises it: a sample of a stream may take an eighth of its lane's part" },
    { SHEAF_ERR_LIMIT, "bytes of memory that a sample may take here", " convert ",
      "--memory raises it" },
    { SHEAF_ERR_IO, "File exists", " unpack ",
      "--resume keeps what is there already, if it is the same" },
    { SHEAF_ERR_UNSUPPORTED, "cannot be read directly: expected a prefix or a manifest file", NULL,
      "sheaf fetch copies what it lists, and sheaf pipe feeds it" },
    { SHEAF_ERR_NOT_FOUND, "holds an unfinished run", NULL,
      "the command that was packing it continues with --resume" },
};

static int is_of(const char *command, const char *commands)
{
    const size_t size = strlen(command);

    for (const char *at = commands; (at = strstr(at, command)) != NULL; at++)
        if (at[-1] == ' ' && at[size] == ' ')
            return 1;
    return 0;
}

const char *advice_of(const char *command, const struct sheaf_error *error)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].code == error->code && strstr(error->message, all[i].words) != NULL &&
            (all[i].commands == NULL || is_of(command, all[i].commands)))
            return all[i].advice;
    return NULL;
}
