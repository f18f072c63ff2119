/* SPDX-License-Identifier: MIT
 *
 * State that all remote stores of a process share: the HTTP engine with its connections, and S3's
 * credentials. It is made when it is first needed and lives as long as the process. Opening a data
 * set takes dozens of short calls, which must not connect and look for credentials each time. This
 * is the only state of the library that belongs to no object. A forked child starts without it. */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include "store/request.h"

int remote_engine(struct http_engine **engine, struct sheaf_error *err);
/* Returns the time limits and the retry policy of requests. They are valid as long as the
 * process. */
const struct request_patience *remote_patience(void);

/* State that a kind of store keeps for the whole process. It is made when it is first needed. At
 * the end it is closed after the work of the HTTP engine has ended, and before the engine is
 * freed. */
struct remote_service {
    int (*open)(void **state, struct http_engine *engine, const struct request_patience *patience,
                const char *container_origin, struct sheaf_error *err);
    void (*close)(void *state);
};
/* The service's state. */
int remote_service(const struct remote_service *service, void **state, struct sheaf_error *err);

/* For tests only: sets these values (NULL for the usual ones) and forgets all earlier state. No
 * remote object may be open. */
void remote_reset(const struct request_patience *patience, const char *container_origin);

#endif
