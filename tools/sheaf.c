/* SPDX-License-Identifier: MIT
 *
 * The sheaf command: finds the subcommand and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/details.h"
#include "tools/metrics.h"
#include "tools/signals.h"
#include "tools/tool.h"

static const struct { const char *name; const struct command *command; } commands[] = {
    { "pack", &pack_command },
    { "append", &append_command },
    { "edit", &edit_command },
    { "repair", &repair_command },
    { "cat", &cat_command },
    { "info", &info_command },
    { "report", &report_command },
    { "verify", &verify_command },
    { "index", &index_command },
    { "view", &view_command },
    { "column", &column_command },
    { "unpack", &unpack_command },
    { "get", &get_command },
    { "locate", &locate_command },
    { "convert", &convert_command },
    { "plan", &plan_command },
    { "commit", &commit_command },
    { "fetch", &fetch_command },
    { "pipe", &pipe_command },
    { "advise", &advise_command },
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static int print_help(void)
{
    printf("Usage: sheaf COMMAND ARGUMENT...\n\nPacks many small files into a few large training "
           "shards (TFRecord, RecordIO,\nWebDataset) and streams them back shuffled.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s%s\n", commands[i].name, commands[i].command->summary);
    printf("\n  sheaf COMMAND --help   what it does, and its options\n"
           "  sheaf --version, -V    the version\n\n"
           "Exit status: 0, 1 for a failure, 2 for misuse.\n");
    return STATUS_OK;
}

static int run_command(int argc, char **argv)
{
    static char help[] = "--help";
    const char *hint;

    if (argc < 2)
        return misuse("a command is missing; see sheaf --help");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_help();
    if (strcmp(argv[1], "help") == 0) {     /* help COMMAND is COMMAND --help */
        if (argc < 3)
            return print_help();
        argv[1] = argv[2];
        argv[2] = help;
        argc = 3;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("sheaf %s\n", sheaf_version());
        return STATUS_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].command->run(commands[i].command, argc - 1, argv + 1);
    }
    hint = nearest(argv[1], commands, COMMAND_COUNT, sizeof(commands[0]));
    if (hint)
        return misuse("unknown command %s; did you mean %s?", argv[1], hint);
    return misuse("unknown command %s; see sheaf --help", argv[1]);
}

/* As sheaf_report_fn. */
static void sheaf_print_notice(void *context, const char *where, const struct sheaf_error *notice)
{
    (void)context;
    say("%s: %s", where, notice->message);
}

int main(int argc, char **argv)
{
    int status;

    /* A write beyond the limit on file sizes (ulimit -f) then fails like any other write, where the
     * signal would kill the process without a message. */
    (void)signal(SIGXFSZ, SIG_IGN);
    sheaf_on_notice(sheaf_print_notice, NULL);
    status = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("standard output: %s", strerror(errno));
        status = STATUS_FAILURE;
    }
    verbosity_end();
    metrics_end(status);
    if (status != STATUS_OK)
        signals_die();
    return status;
}
