/* SPDX-License-Identifier: MIT
 *
 * The Hugging Face hub: the meaning of hf://datasets/OWNER/NAME[@REVISION]/PATH.
 *
 * | setting  | environment                                                                      |
 * |----------|----------------------------------------------------------------------------------|
 * | endpoint | HF_ENDPOINT, or https://huggingface.co                                           |
 * | token    | HF_TOKEN, or the file HF_TOKEN_PATH, HF_HOME/token or ~/.cache/huggingface/token |
 *
 * A revision ("main" by default) is a name that can move. A process asks the hub once for the
 * commit of a revision, and reads everything from that commit. */
#ifndef STORE_HF_H
#define STORE_HF_H

#include "store/request.h"

#define HF_COMMIT_SIZE 41

struct hf_hub {
    char *endpoint;             /* without a slash at its end */
    char *bearer;               /* "Bearer TOKEN", or NULL */
};

struct hf_name {
    const struct hf_hub *hub;
    char *repository;           /* "OWNER/NAME" */
    char *revision;             /* as in URLs: a slash in it is "%2F" */
    /* path in the data set, percent-encoded, without slashes at its ends; "" for the root */
    char *path;
    char commit[HF_COMMIT_SIZE];
};

/* Sends the target's bearer token, if it has one. */
extern const struct request_signing hf_signing;

/* Splits an hf:// URL into the parts of `name`, and finds the commit of the revision that the URL
 * names. */
int hf_locate(const char *url, struct hf_name *name, struct sheaf_error *err);
void hf_name_free(struct hf_name *name);

/* Adds advice to the error of a refused request. */
void hf_explain(bool has_token, struct sheaf_error *err);

/* Sends a GET request to the interface of the hub, which answers in JSON. The URL is
 * "ENDPOINT/api/datasets/REPOSITORY" followed by `rest`. `what` describes the request in messages.
 * `classify` is as in struct request. The caller must call request_free and target_free, even after
 * a failure. */
int hf_ask(const struct hf_hub *hub, const char *repository, const char *rest, const char *query,
           const char *what,
           int (*classify)(struct request *request, bool *again, struct sheaf_error *err),
           struct request *request, struct target *target, struct sheaf_error *err);

#endif
