/* SPDX-License-Identifier: MIT
 *
 * Advice for the user about errors. A table has a text for each reason of an error. A row may apply
 * to certain commands only, because the remedy for the same reason differs between commands. */
#include "tools/advice.h"

#include <stddef.h>
#include <string.h>

struct advice {
    enum sheaf_reason reason;
    int code;                   /* 0: any */
    /* names of the commands to which the advice applies, with a blank before and after each name;
     * NULL if it applies to all commands */
    const char *commands;
    const char *advice;
};

#define THAT_WRITE " pack plan convert "
#define THAT_RESUME " pack plan convert append edit "

static const struct advice all[] = {
    { SHEAF_REASON_DATASET, 0, THAT_WRITE, "--overwrite replaces it" },
    { SHEAF_REASON_DATASET, 0, " view ", "--overwrite replaces it" },
    { SHEAF_REASON_UNFINISHED, SHEAF_ERR_EXISTS, THAT_RESUME,
      "if it has ended, --resume continues it and --overwrite starts again" },
    { SHEAF_REASON_UNFINISHED, SHEAF_ERR_EXISTS, " column ",
      "if its run has ended, --resume continues it, and sheaf column drop removes it" },
    { SHEAF_REASON_UNFINISHED, SHEAF_ERR_EXISTS, " index ",
      "if it has ended, --overwrite starts sheaf index again, and sheaf append or sheaf edit "
      "removes with --overwrite what it has left itself" },
    { SHEAF_REASON_STORED_PLAN, 0, " pack ",
      "sheaf pack --plan PLAN packs it and sheaf commit PLAN publishes it; --overwrite starts "
      "again" },
    { SHEAF_REASON_STORED_PLAN, 0, " convert ",
      "sheaf convert --plan PLAN packs it and sheaf commit PLAN publishes it; --overwrite starts "
      "again" },
    { SHEAF_REASON_STORED_PLAN, 0, " plan ",
      "--resume keeps it if it is the same plan, and --overwrite starts again" },
    { SHEAF_REASON_STORED_PLAN, 0, " column ",
      "sheaf column add --plan PLAN writes it and sheaf commit PLAN publishes it; sheaf column "
      "drop removes it" },
    { SHEAF_REASON_OTHER_PLAN, 0, " column ", "sheaf column drop removes it" },
    { SHEAF_REASON_UNFINISHED, SHEAF_ERR_NOT_FOUND, NULL,
      "the command that was packing it continues with --resume, and sheaf commit publishes the "
      "parts of a plan" },
    { SHEAF_REASON_OTHER_PLAN, 0, THAT_RESUME, "--overwrite starts again" },
    { SHEAF_REASON_ALTERED, 0, THAT_WRITE, "--overwrite makes the data set "
      "again, and sheaf repair --from makes only its damaged files again" },
    { SHEAF_REASON_LOST_SHARDS, 0, NULL,
      "sheaf repair --from makes them again from the packed files or from a copy of the data set; "
      "or the same plan made for another directory packs them again (sheaf pack --plan PLAN --part "
      "I/N), to be copied here; sheaf verify reads all" },
    { SHEAF_REASON_EXCLUSIVE, 0, THAT_RESUME, "use --resume or --overwrite" },
    { SHEAF_REASON_CONVERSION_PLAN, 0, NULL, "use sheaf convert --plan" },
    { SHEAF_REASON_FILES_PLAN, 0, NULL, "use sheaf pack --plan" },
    { SHEAF_REASON_COLUMN_PLAN, 0, NULL, "use sheaf column add --plan" },
    { SHEAF_REASON_MEMORY, 0, " pack pack-plan plan append edit repair unpack get ",
      "--memory raises it" },
    { SHEAF_REASON_MEMORY, 0, " cat ",
      "--memory raises it, a smaller --shuffle-buffer or fewer --lanes need less" },
    { SHEAF_REASON_MEMORY, 0, " convert ", "--memory raises it: half of it is for reading" },
    { SHEAF_REASON_STREAM_MEMORY, 0, " cat ",
      "--memory raises it: a sample of a stream may take an eighth of its lane's part" },
    { SHEAF_REASON_STREAM_MEMORY, 0, " convert ", "--memory raises it" },
    { SHEAF_REASON_STREAM_MEMORY, 0, " verify index ",
      "--memory raises it: a sample may take half of it" },
    { SHEAF_REASON_FILE_EXISTS, 0, " unpack ",
      "--resume keeps what is there already, if it is the same" },
    { SHEAF_REASON_FILE_OR_DIRECTORY, 0, " unpack ",
      "a data set can have both the key c with the field jpg and the key c.jpg/1, but one "
      "directory cannot: sheaf get KEY... -o OTHER writes some of the samples elsewhere" },
    { SHEAF_REASON_NOT_DIRECT, 0, NULL,
      "sheaf fetch copies what it lists, and sheaf pipe feeds it" },
    { SHEAF_REASON_NO_KEYS, 0, NULL, "sheaf index --keys writes it" },
    { SHEAF_REASON_NOT_INDEXED, 0, NULL, "sheaf index makes them a data set" },
    { SHEAF_REASON_NO_MANIFEST, 0, NULL,
      "--manifest says where it is; sheaf index makes one for shards that never had one" },
    { SHEAF_REASON_BAD_FILES, 0, " pack plan append ",
      "--on-error skip packs the rest, --exclude leaves files out" },
    { SHEAF_REASON_BAD_FILES, SHEAF_ERR_LIMIT, " convert ",
      "--on-corrupt skip leaves out such samples" },
    { SHEAF_REASON_BAD_FILES, 0, " convert ",
      "--on-corrupt skip leaves out such samples, --check-images none keeps them" },
    { SHEAF_REASON_ODD_IMAGE, 0, " convert ",
      "--fix-images makes plain JPEGs of such images, --on-corrupt skip leaves out such samples, "
      "--check-images none keeps them" },
    { SHEAF_REASON_REPEATED_KEY, 0, " convert unpack plan ",
      "--duplicate-keys number gives it a key of its own, --duplicate-keys drop leaves it out" },
    { SHEAF_REASON_SOURCE_LOST, 0, " pack append ",
      "when the source is back, --resume keeps what is finished" },
    { SHEAF_REASON_SOURCE_CHANGED, 0, " pack plan append ",
      "pack again, or use --on-error skip with --on-change skip to leave out such files" },
    { SHEAF_REASON_SOURCE_LOST, 0, " pack-plan ",
      "when the source is back, the same command packs the rest" },
    { SHEAF_REASON_SOURCE_CHANGED, 0, " pack-plan ",
      "restore the file with its time and pack this part again, or make the plan again with "
      "--overwrite" },
    { SHEAF_REASON_BAD_FILES, 0, " pack-plan ",
      "make the plan again with --overwrite and --on-error skip, or without the file" },
    { SHEAF_REASON_ODD_IMAGE, 0, " pack-plan ",
      "make the plan again with --overwrite and --fix-images or --on-error skip" },
    { SHEAF_REASON_TOO_MANY_SKIPPED, 0, " pack-plan ",
      "make the plan again with --overwrite and a larger --max-skipped" },
    { SHEAF_REASON_UNKNOWN_KEYS, 0, " edit ", "--unknown-keys skip leaves them out" },
    { SHEAF_REASON_TOO_MANY_SKIPPED, 0, " pack plan append ", "--max-skipped allows more" },
    { SHEAF_REASON_ODD_IMAGE, 0, " pack append ",
      "--fix-images makes plain JPEGs of such images, --on-error skip packs the rest" },
    { SHEAF_REASON_BUCKET_POLICY, 0, " pack pack-plan plan append convert commit ",
      "--s3 NAME=VALUE sends them, and so does the environment: man sheaf-pack has a table" },
    { SHEAF_REASON_BUCKET_POLICY, 0, NULL,
      "variables SHEAF_S3_NAME send them: man sheaf-pack has a table" },
    { SHEAF_REASON_CLASS_DEPTH, 0, " pack plan append ",
      "--class-depth 1 makes the first directory the class, as ImageFolder does" },
    { SHEAF_REASON_SIBLING_CLASSES, 0, " pack plan ",
      "--classes with that data set gives classes the same numbers in both" },
    { SHEAF_REASON_REPEATED_KEY, 0, " column ",
      "--duplicate-keys drop keeps the first value" },
    { SHEAF_REASON_NOT_IN_BASE, 0, " column ", "--unknown-keys skip leaves such values out" },
    { SHEAF_REASON_NO_VALUE, 0, " cat convert unpack ",
      "--missing skip leaves out such samples, --missing none returns them without the field" },
    { SHEAF_REASON_OTHER_BASE, 0, NULL,
      "if the data set was edited, sheaf column drop removes the column, and sheaf column add adds "
      "it again" },
    { SHEAF_REASON_NO_COLUMN, 0, NULL, "sheaf column list prints the columns of a data set" },
    { SHEAF_REASON_ODD_FIELDS, 0, " convert ",
      "--field-map FROM=TO renames a field, --on-corrupt skip leaves out such samples" },
    { SHEAF_REASON_ODD_FIELDS, 0, " pack plan append ",
      "--key-end last-dot cuts names at the last dot instead" },
};

static int advice_is_of(const char *command, const char *commands)
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
        if ((int)all[i].reason == error->reason &&
            (all[i].code == 0 || all[i].code == error->code) &&
            (all[i].commands == NULL || advice_is_of(command, all[i].commands)))
            return all[i].advice;
    return NULL;
}
