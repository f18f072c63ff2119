/* SPDX-License-Identifier: MIT
 *
 * Fetches the credentials of a profile in AWS's configuration. The profile has keys, or names a
 * program that prints keys, or names a role. To get the credentials of a role, a request is sent to
 * AWS. This request is signed with the keys of another profile, or contains a web identity. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "base/workers.h"
#include "store/s3/credentials_sources.h"

/* Largest number of profiles in a chain. In a chain, each profile names the next one as the source
 * of its keys. */
#define SOURCES_MOST 16
#define OUTPUT_MOST ((size_t)64 << 10)
#define PROCESS_SECONDS 60
#define SECOND_NS 1000000000ull

extern char **environ;

/* A profile in a chain. The chain begins with the profile that the user has chosen. Each profile
 * names the next one as the source of its keys. */
struct step {
    const char *profile;
    /* the previous profile of the chain, which names this profile; NULL for the first profile,
     * which the user has chosen */
    const struct step *before;
    unsigned number;
};

static int of_profile(const struct credentials_context *c, const struct step *step,
                      struct credentials **set, struct sheaf_error *err);

/* ---- credential_process ---------------------------------------------------------------------- */

/* Sets the attributes of a program that is started: the signals SIGPIPE and SIGXFSZ have their
 * default effect. The program of the user would otherwise inherit that they are ignored. */
static int usual_signals(posix_spawnattr_t *attributes)
{
    sigset_t signals;
    int failed = posix_spawnattr_init(attributes);

    if (failed != 0)
        return failed;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    failed = posix_spawnattr_setsigdefault(attributes, &signals);
    return failed != 0 ? failed : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

/* Runs `sh -c command`. *fd becomes the end of a pipe from which the command's output can be
 * read. */
static int spawn(const char *command, pid_t *pid, int *fd, struct sheaf_error *err)
{
    char *shell = strdup("sh"), *option = strdup("-c"), *text = strdup(command);
    char *const arguments[] = { shell, option, text, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2], failed = ENOMEM;

    *fd = -1;
    if (shell != NULL && option != NULL && text != NULL && pipe2(ends, O_CLOEXEC) == 0) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        failed = usual_signals(&attributes);
        if (failed == 0)
            failed = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (failed == 0)
            *fd = ends[0];
        else
            close(ends[0]);
    }
    free(shell);
    free(option);
    free(text);
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "credential_process: cannot start");
}

/* Reads all output of a program from the pipe `fd`. Returns an error if the output does not end
 * within PROCESS_SECONDS seconds. */
static int read_output(int fd, struct buf *output, struct sheaf_error *err)
{
    const uint64_t end_ns = clock_ns() + PROCESS_SECONDS * SECOND_NS;
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    char piece[4096];
    ssize_t got;
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        const uint64_t now_ns = clock_ns();

        if (now_ns >= end_ns)
            return err_set(err, SHEAF_ERR_ACCESS, "credential_process: its output did not end "
                           "within %d s", PROCESS_SECONDS);
        if (poll(&ready, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0)
            continue;
        got = read(fd, piece, sizeof(piece));
        if (got == 0)
            return SHEAF_OK;
        if (got < 0 && errno != EINTR)
            return err_errno(err, errno, "credential_process: cannot read its output");
        if (got > 0)
            code = buf_append(output, piece, (size_t)got, err);
    }
    return code;
}

static int of_process(const char *command, struct credentials **set, struct sheaf_error *err)
{
    struct buf output = BUF_INIT(OUTPUT_MOST);
    pid_t pid;
    int fd, status = 0;
    int code = spawn(command, &pid, &fd, err);

    if (code != SHEAF_OK)
        return code;
    code = read_output(fd, &output, err);
    close(fd);
    if (code != SHEAF_OK)
        kill(pid, SIGKILL);
    /* waitpid fails if this process ignores SIGCHLD. The exit status of the command is then
     * unknown, and the command counts as successful if its output is valid. */
    if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) == pid && status != 0 && code == SHEAF_OK)
        code = err_set(err, SHEAF_ERR_ACCESS, "credential_process failed: exit status %d",
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (code == SHEAF_OK)
        code = credentials_from_json((const char *)output.data, output.size,
                                     "credential_process", 1, set, err);
    if (output.data != NULL)
        explicit_bzero(output.data, output.size);
    buf_free(&output);
    return code;
}

/* ---- Roles ----------------------------------------------------------------------------------- */

static int of_credential_source(const struct credentials_context *c, const char *name,
                                struct credentials **set, struct sheaf_error *err)
{
    int code = SHEAF_ERR_ARGUMENT;

    if (strcmp(name, "Environment") == 0)
        code = credentials_from_environment(set, err);
    else if (strcmp(name, "EcsContainer") == 0)
        code = credentials_from_container(c, set, err);
    else if (strcmp(name, "Ec2InstanceMetadata") == 0)
        code = credentials_from_instance(c, set, err);
    else
        return err_set(err, code, "credential_source \"%.40s\" is not one of Environment, "
                       "EcsContainer, Ec2InstanceMetadata", name);
    if (code == SHEAF_END)
        code = err_set(err, SHEAF_ERR_ACCESS, "credential_source %s has no credentials", name);
    return code;
}

static bool has_keys(const struct profiles *p, const char *profile)
{
    return profiles_get(p, profile, "aws_access_key_id") != NULL ||
           profiles_get(p, profile, "aws_secret_access_key") != NULL;
}

/* Checks the profile `source`, which another profile names as the source of its keys. The chain of
 * profiles that name each other in this way must not be too long, and must not be circular. As an
 * exception, a profile that has keys may name itself. */
static int credentials_profile_check_source(const struct profiles *p, const char *source,
                                            const struct step *step, struct sheaf_error *err)
{
    if (step->number == SOURCES_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "source_profile \"%.80s\": more than %d profiles in a "
                       "row", source, SOURCES_MOST);
    if (strcmp(source, step->profile) == 0)
        return has_keys(p, source) ? SHEAF_OK : err_set(err, SHEAF_ERR_ACCESS, "source_profile is "
                                                        "the profile itself, which has no keys");
    for (const struct step *s = step->before; s != NULL; s = s->before)
        if (strcmp(source, s->profile) == 0)
            return err_set(err, SHEAF_ERR_ACCESS, "source_profile \"%.80s\" leads back to itself",
                           source);
    return SHEAF_OK;
}

/* Gets the keys with which the role is assumed. */
static int of_role_source(const struct credentials_context *c, const struct step *step,
                          struct credentials **set, struct sheaf_error *err)
{
    const struct profiles *p = &c->config->profiles;
    const char *source = profiles_get(p, step->profile, "source_profile");
    const char *other = profiles_get(p, step->profile, "credential_source");
    const struct step next = { source, step, step->number + 1 };
    int code;

    if (source == NULL && other == NULL)
        return err_set(err, SHEAF_ERR_ACCESS, "a role_arn without source_profile, "
                       "credential_source or web_identity_token_file");
    if (source != NULL && other != NULL)
        return err_set(err, SHEAF_ERR_ACCESS, "source_profile and credential_source: one too many");
    if (source == NULL)
        return of_credential_source(c, other, set, err);
    code = credentials_profile_check_source(p, source, step, err);
    if (code == SHEAF_OK)
        code = of_profile(c, &next, set, err);
    if (code == SHEAF_END)
        code = err_set(err, SHEAF_ERR_ACCESS, "source_profile \"%.80s\" has no credentials",
                       source);
    return code;
}

/* Returns the session tags that are sent when the role of a profile is assumed. These are the tags
 * in the profile. For the profile that the user has chosen, tags in the environment take
 * precedence. */
static const char *tags_of(const struct profiles *p, const struct step *step)
{
    const char *tags = getenv("SHEAF_SESSION_TAGS");

    return tags != NULL && step->before == NULL
           ? tags : profiles_get(p, step->profile, "role_session_tags");
}

static int of_role(const struct credentials_context *c, const struct step *step,
                   struct credentials **set, struct sheaf_error *err)
{
    const struct profiles *p = &c->config->profiles;
    const char *profile = step->profile;
    const struct role role = {
        .arn = profiles_get(p, profile, "role_arn"),
        .session_name = profiles_get(p, profile, "role_session_name"),
        .external_id = profiles_get(p, profile, "external_id"),
        .duration_seconds = profiles_get(p, profile, "duration_seconds"),
        .tags = tags_of(p, step),
    };
    struct credentials *base = NULL;
    uint64_t seconds;
    int code;

    if (role.duration_seconds != NULL && !number_parse(role.duration_seconds, UINT32_MAX, &seconds))
        return err_set(err, SHEAF_ERR_ARGUMENT, "duration_seconds: \"%.40s\" is not a number",
                       role.duration_seconds);
    if (profiles_get(p, profile, "mfa_serial") != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "mfa_serial: there is nobody to ask for a code: "
                       "use a profile with credential_process = "
                       "aws configure export-credentials --profile %.80s", profile);
    code = of_role_source(c, step, &base, err);
    if (code == SHEAF_OK)
        code = credentials_assume_role(c, &role, base, set, err);
    credentials_release(base);
    return code;
}

/* Returns the value of a setting of a profile. In a chain of profiles, each profile takes its keys
 * from the next one. For the first profile of the chain, the environment variable `variable` takes
 * precedence over the profile. For any other profile, this variable is ignored. */
static const char *web_setting(const struct profiles *p, const struct step *step,
                               const char *variable, const char *key)
{
    const char *value = step->before == NULL ? getenv(variable) : NULL;

    return value != NULL ? value : profiles_get(p, step->profile, key);
}

static int of_web_identity(const struct credentials_context *c, const struct step *step,
                           struct credentials **set, struct sheaf_error *err)
{
    const struct profiles *p = &c->config->profiles;
    const struct role role = {
        .arn = web_setting(p, step, "AWS_ROLE_ARN", "role_arn"),
        .session_name = web_setting(p, step, "AWS_ROLE_SESSION_NAME", "role_session_name"),
        .token_file = web_setting(p, step, "AWS_WEB_IDENTITY_TOKEN_FILE",
                                  "web_identity_token_file"),
    };

    if (role.token_file == NULL || *role.token_file == '\0')
        return SHEAF_END;
    if (role.arn == NULL || *role.arn == '\0')
        return err_set(err, SHEAF_ERR_ACCESS, "a web identity's token (AWS_WEB_IDENTITY_TOKEN_FILE "
                       "or web_identity_token_file), but no role: AWS_ROLE_ARN is not set");
    return credentials_assume_role(c, &role, NULL, set, err);
}

/* ---- A profile ------------------------------------------------------------------------------- */

static int of_keys(const struct profiles *p, enum profile_file file, const char *profile,
                   struct credentials **set, struct sheaf_error *err)
{
    const char *id = profiles_get_from(p, file, profile, "aws_access_key_id");
    const char *secret = profiles_get_from(p, file, profile, "aws_secret_access_key");
    const char *token = profiles_get_from(p, file, profile, "aws_security_token");

    if (id == NULL && secret == NULL)
        return SHEAF_END;
    if (id == NULL || secret == NULL)
        return err_set(err, SHEAF_ERR_ACCESS, "an access key id or secret without the other");
    if (token == NULL)
        token = profiles_get_from(p, file, profile, "aws_session_token");
    *set = credentials_new(id, secret, token, CREDENTIALS_NEVER);
    return *set == NULL ? err_memory(err, sizeof(**set)) : SHEAF_OK;
}

/* Returns whether the credentials of a profile are those of a role, which must be assumed with
 * other keys. This is true if the profile names a role and no web identity. There is one exception:
 * another profile may name this profile as the source of its keys. If this profile has keys, they
 * are then used, and the result is false. */
static bool is_role(const struct profiles *p, const struct step *step)
{
    return (step->before == NULL || !has_keys(p, step->profile)) &&
           profiles_get(p, step->profile, "role_arn") != NULL &&
           profiles_get(p, step->profile, "web_identity_token_file") == NULL;
}

static int of_profile(const struct credentials_context *c, const struct step *step,
                      struct credentials **set, struct sheaf_error *err)
{
    const struct profiles *p = &c->config->profiles;
    const char *profile = step->profile;
    const char *process = profiles_get(p, profile, "credential_process");
    int code = SHEAF_END;

    if (step->before != NULL && !profiles_has(p, profile))
        return err_set(err, SHEAF_ERR_ACCESS, "no profile \"%.80s\"", profile);
    if (is_role(p, step))
        code = of_role(c, step, set, err);
    if (code == SHEAF_END)
        code = of_web_identity(c, step, set, err);
    if (code == SHEAF_END)
        code = credentials_from_sso(c, profile, set, err);
    if (code == SHEAF_END)
        code = of_keys(p, PROFILE_CREDENTIALS, profile, set, err);
    if (code == SHEAF_END && profiles_get(p, profile, "login_session") != NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "login_session is not supported: use a profile "
                       "with credential_process = "
                       "aws configure export-credentials --profile %.80s", profile);
    if (code == SHEAF_END && process != NULL)
        code = of_process(process, set, err);
    if (code == SHEAF_END)
        code = of_keys(p, PROFILE_CONFIG, profile, set, err);
    if (code < 0)
        err_prefix(err, "profile \"%.80s\": ", profile);
    return code;
}

int credentials_from_profile(const struct credentials_context *c, const char *profile,
                             struct credentials **set, struct sheaf_error *err)
{
    const struct step first = { .profile = profile };

    return of_profile(c, &first, set, err);
}
