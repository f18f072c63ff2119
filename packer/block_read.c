/* SPDX-License-Identifier: MIT
 *
 * Fills a block from the files of a plan, or from its objects (block_fetch.c).  A file that is
 * not what the scan has seen, or not what its name says, is a problem of its sample, which is left
 * out whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/block.h"
#include "packer/file_ahead.h"

static int add_text(struct block *b, const char *text, size_t *offset, struct sheaf_error *err)
{
    *offset = b->texts.size;
    return buf_append(&b->texts, text, strlen(text) + 1, err);
}

static int note(struct block *b, const char *path, int code, const char *reason,
                struct sheaf_error *err)
{
    struct block_problem problem = { .code = code };
    int failed = add_text(b, path, &problem.path, err);

    if (failed == SHEAF_OK)
        failed = add_text(b, reason, &problem.reason, err);
    if (failed == SHEAF_OK)
        failed = buf_append(&b->problems, &problem, sizeof(problem), err);
    return failed;
}

/* Notes a bad file, and that the others of its sample are left out with it. */
static int refuse(struct block *b, const struct plan_sample *s,
                  const struct catalog_file *bad, const struct sheaf_error *why,
                  struct sheaf_error *err)
{
    const struct plan *plan = b->plan;
    char reason[sizeof(why->message)];
    int code = note(b, bad->path, why->code, why->message, err);

    snprintf(reason, sizeof(reason), LEFT_OUT ": %.900s",
             bad->path);
    for (uint32_t i = 0; i < s->file_count && code == SHEAF_OK; i++)
        if (&plan->files[s->file + i] != bad)
            code = note(b, plan->files[s->file + i].path, why->code, reason, err);
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Errors that are of the machine and not of the file. */
static bool is_fatal(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

static int changed(const struct catalog_file *f, uint64_t bytes, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CHANGED, "changed since the scan: %llu bytes then, %llu now",
                   (unsigned long long)f->bytes, (unsigned long long)bytes);
}

/* The scan's size and time must still hold when all has been read. */
static int read_content(int fd, const struct catalog_file *f, uint8_t *data,
                        struct sheaf_error *err)
{
    uint64_t got = 0;
    struct stat st;

    while (got < f->bytes) {
        const ssize_t n = read(fd, data + got, MIN(f->bytes - got, (uint64_t)1 << 30));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, errno, "cannot read at offset %llu", (unsigned long long)got);
        if (n == 0)
            break;
        got += (uint64_t)n;
    }
    if (fstat(fd, &st) != 0)
        return err_errno(err, errno, "cannot stat");
    if (got != f->bytes || (uint64_t)st.st_size != f->bytes)
        return changed(f, (uint64_t)st.st_size, err);
    if ((int64_t)((uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec) !=
        f->mtime_ns)
        return err_set(err, SHEAF_ERR_CHANGED, "changed since the scan: it was written to");
    return SHEAF_OK;
}

/* Appends a file's content to the scratch.  *fatal: it is not the file's fault.  `fd`: as
 * file_ahead_take returns it. */
static int read_file(struct block *b, const struct catalog_file *f, int fd, bool *fatal,
                     struct sheaf_error *err)
{
    int code;

    *fatal = fd < 0 && is_fatal(errno);
    if (fd < 0)
        return err_errno(err, errno, errno == ENOENT ? "vanished since the scan" : "cannot open");
    code = buf_reserve(&b->scratch, f->bytes, err);
    *fatal = code != SHEAF_OK;
    if (code == SHEAF_OK)
        code = read_content(fd, f, b->scratch.data + b->scratch.size, err);
    if (code == SHEAF_OK)
        b->scratch.size += f->bytes;
    return code;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Makes the key, names and fields of a sample whose files are in the scratch. */
static int make_fields(struct block *b, const struct plan_sample *s, struct sheaf_sample *sample,
                       struct sheaf_error *err)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    struct sheaf_field *fields;
    size_t text = 0, at = b->sample_start;
    char *string;
    int code;

    for (uint32_t i = 0; i < s->file_count; i++)
        text += strlen(files[i].path) + 1;
    b->strings.size = b->fields.size = 0;
    code = buf_reserve(&b->strings, text, err);
    if (code == SHEAF_OK)
        code = buf_reserve(&b->fields, s->file_count * sizeof(*fields), err);
    if (code != SHEAF_OK)
        return code;
    string = (char *)b->strings.data;
    fields = (struct sheaf_field *)(void *)b->fields.data;
    memcpy(string, files[0].path, files[0].key_size);
    string[files[0].key_size] = '\0';
    sample->key = string;
    string += files[0].key_size + 1;
    for (uint32_t i = 0; i < s->file_count; i++) {
        const char *suffix = files[i].path + files[i].key_size + 1;
        const size_t size = strlen(suffix) + 1;

        memcpy(string, suffix, size);
        name_lower(string);
        fields[i] = (struct sheaf_field){ string, suffix, b->scratch.data + at, files[i].bytes };
        string += size;
        at += files[i].bytes;
    }
    sample->fields = fields;
    sample->field_count = s->file_count;
    return SHEAF_OK;
}

/* The numbers of a field `cls` are the labels; if it is anything else, there are none. */
static int take_cls(struct block *b, struct sheaf_sample *sample, struct sheaf_error *err)
{
    for (size_t i = 0; i < sample->field_count; i++) {
        const struct sheaf_field *f = &sample->fields[i];
        const char *text = f->data;
        size_t size = f->size, most;
        long count;
        int code;

        if (strcmp(f->name, "cls") != 0)
            continue;
        while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
            size--;
        most = MIN(size / 2 + 1, (size_t)LABEL_LIMIT);
        code = buf_reserve(&b->labels, most * sizeof(double), err);
        if (code != SHEAF_OK)
            return code;
        count = label_parse(text, size, (double *)(void *)b->labels.data, most);
        sample->labels = (const double *)(const void *)b->labels.data;
        sample->label_count = count > 0 ? (size_t)count : 0;
    }
    return SHEAF_OK;
}

static int make_sample(struct block *b, const struct plan_sample *s, struct sheaf_sample *sample,
                       struct sheaf_error *err)
{
    const struct plan *plan = b->plan;
    const struct plan_label *label = &plan->labels[s->label];
    const uint64_t record = (uint64_t)(s - plan->samples) - b->shard->sample;

    *sample = (struct sheaf_sample){
        .labels = label->values,
        .label_count = label->value_count,
        .class_name = label->class_name,
        .number = b->shard->first + record,
        .shard = b->shard->number,
        .record = record,
    };
    return make_fields(b, s, sample, err);
}

/* The same of a file that its source has within itself. */
static int read_within(struct block *b, const struct catalog_file *f, bool *fatal,
                       struct sheaf_error *err)
{
    const struct source *source = b->setup->source;
    int code = buf_reserve(&b->scratch, f->bytes, err);

    *fatal = code != SHEAF_OK;
    if (code == SHEAF_OK)
        code = source->ops->read(source, f, b->scratch.data + b->scratch.size, err);
    *fatal |= code == SHEAF_ERR_MEMORY || code == SHEAF_ERR_CHANGED;
    if (code == SHEAF_OK)
        b->scratch.size += f->bytes;
    return code;
}

/* Takes a file that was opened ahead, and reads it unless another of its sample is bad. */
static int read_opened(struct block *b, struct file_ahead *ahead, const struct catalog_file *f,
                       bool wanted, bool *fatal, struct sheaf_error *err)
{
    const int fd = file_ahead_take(ahead);
    const int code = wanted ? read_file(b, f, fd, fatal, err) : SHEAF_OK;

    if (fd >= 0)
        close(fd);
    return code;
}

/* Reads the files of a sample into the scratch.  *bad is the first that is bad, with *why; an
 * error is not of a file. */
static int read_files(struct block *b, struct file_ahead *ahead, const struct plan_sample *s,
                      const struct catalog_file **bad, struct sheaf_error *why,
                      struct sheaf_error *err)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    int code = SHEAF_OK;

    b->scratch.size = 0;
    for (uint32_t i = 0; i < s->file_count && code == SHEAF_OK; i++) {
        const bool wanted = *bad == NULL;
        bool fatal = false;
        int found = SHEAF_OK;

        if (b->setup->source->ops->read == NULL)
            found = read_opened(b, ahead, &files[i], wanted, &fatal, why);
        else if (wanted)
            found = read_within(b, &files[i], &fatal, why);
        if (found != SHEAF_OK)
            *bad = &files[i];
        if (fatal) {
            *err = *why;
            code = err_prefix(err, "%s: ", files[i].path);
        }
    }
    return code;
}

/* The same of a sample that was fetched: its files are there, `number` of the block's files before
 * them. */
static void take_fetched(const struct block *b, const struct plan_sample *s, size_t number,
                         const struct catalog_file **bad, struct sheaf_error *why)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    const struct block_fetched *fetched = (const void *)b->fetched.data;

    for (uint32_t i = 0; i < s->file_count && *bad == NULL; i++)
        if (fetched[number + i].code != SHEAF_OK) {
            *bad = &files[i];
            err_set(why, fetched[number + i].code, "%s",
                    (const char *)b->texts.data + fetched[number + i].reason);
        }
}

/* One sample, or its problem.  `number`: files of the block before it. */
static int pack_sample(struct block *b, struct file_ahead *ahead, const struct plan_sample *s,
                       size_t number, struct sheaf_error *err)
{
    const struct catalog_file *bad = NULL;
    const struct catalog_file *files = &b->plan->files[s->file];
    struct sheaf_sample sample;
    struct sheaf_error found;
    int code = SHEAF_OK;

    if (b->setup->source->is_remote)
        take_fetched(b, s, number, &bad, &found);
    else
        code = read_files(b, ahead, s, &bad, &found, err);
    if (code != SHEAF_OK)
        return code;
    if (bad != NULL)
        return refuse(b, s, bad, &found, err);
    code = make_sample(b, s, &sample, err);
    if (code == SHEAF_OK && s->has_cls)
        code = take_cls(b, &sample, err);
    if (code != SHEAF_OK)
        return code;
    code = block_add(b, &sample, &found);
    if (code == SHEAF_OK)
        return SHEAF_OK;
    b->outgrown = code == SHEAF_ERR_LIMIT && !b->at_worst;
    if (b->outgrown || code == SHEAF_ERR_MEMORY) {
        *err = found;
        return code;
    }
    if (code == SHEAF_ERR_ARGUMENT)     /* the file's fault, not the caller's */
        found.code = SHEAF_ERR_UNSUPPORTED;
    bad = b->refused == NULL ? files : files + (b->refused - sample.fields);
    return refuse(b, s, bad, &found, err);
}

void block_run(struct job *job)
{
    struct block *b = (struct block *)((char *)job - offsetof(struct block, job));
    const struct plan *plan = b->plan;
    struct file_ahead ahead;
    size_t files = 0;

    block_clear(b);
    file_ahead_begin(&ahead, plan, b->setup->source->root_fd, b->first, b->end);
    if (b->setup->source->is_remote)
        b->code = block_fetch(b, &b->error);
    for (uint64_t i = b->first; i < b->end && b->code == SHEAF_OK; i++) {
        const struct plan_sample *s = &plan->samples[i];

        b->code = pack_sample(b, &ahead, s, files, &b->error);
        files += s->file_count;
        if (b->setup->source->is_remote)
            b->sample_start += s->payload_bytes;
    }
    file_ahead_end(&ahead);
    if (b->code == SHEAF_OK)
        b->code = block_finish(b, &b->error);
}
