/* SPDX-License-Identifier: MIT
 *
 * What everything remote in a process shares: the HTTP engine with its connections, and what
 * S3 keeps with its credentials.  It is made when it is first needed and lives as long as the
 * process, since a data set is opened by dozens of short calls that must not connect and look for
 * credentials anew.  This is the library's only state that belongs to no object; a child made by
 * fork begins with none. */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include "store/request.h"

int remote_engine(struct http_engine **engine, struct sheaf_error *err);
/* Valid as long as the process. */
const struct request_patience *remote_patience(void);

/* What a kind of store keeps for the process in addition: made when it is first needed, and closed
 * between the end of the engine's work and the engine's own. */
struct remote_service {
    int (*open)(void **state, struct http_engine *engine, const struct request_patience *patience,
                const char *container_origin, struct sheaf_error *err);
    void (*close)(void *state);
};
/* The service's state. */
int remote_service(const struct remote_service *service, void **state, struct sheaf_error *err);

/* For tests: what is left unset (NULL) is as usual.  Forgets all that was made before; nothing
 * remote may be open. */
void remote_reset(const struct request_patience *patience, const char *container_origin);

#endif
