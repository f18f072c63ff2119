/* SPDX-License-Identifier: MIT
 *
 * State that all remote stores of a process share: the HTTP engine with its connections, and the
 * credentials for S3. This state is made when it is first needed, and lives as long as the process.
 * Opening a data set takes dozens of short requests, which would be slow if each of them made a
 * connection and fetched credentials. A forked child does not inherit the state. */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include "store/request.h"

int remote_engine(struct http_engine **engine, struct sheaf_error *err);
/* Returns the time limits and the retry policy of requests, which stay valid as long as the
 * process. */
const struct request_patience *remote_patience(void);

/* State that one kind of store keeps for the whole process, for example the S3 context. The state
 * is made when it is first needed. At the end of the process, the state is closed after the HTTP
 * engine has stopped, but before the engine is freed. */
struct remote_service {
    int (*open)(void **state, struct http_engine *engine, const struct request_patience *patience,
                const char *container_origin, struct sheaf_error *err);
    void (*close)(void *state);
};
/* Sets *state to the state that the service has in this process. Opens the service if it is not
 * open yet. */
int remote_service(const struct remote_service *service, void **state, struct sheaf_error *err);

/* For tests: drops all shared state, and sets two values: the patience (time limits and retries) of
 * requests, and the address from which containers get credentials. NULL stands for the usual value.
 * No remote object may be open. */
void remote_reset(const struct request_patience *patience, const char *container_origin);

#endif
