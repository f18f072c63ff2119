/* SPDX-License-Identifier: MIT
 *
 * Sizes in bytes of buffers for the names of a data set's files. The sizes include the NUL at the
 * end. */
#ifndef PUBLISH_NAMES_H
#define PUBLISH_NAMES_H

#define SHARD_NAME_BYTES 256    /* of a shard's name, with its NUL */
#define SPLIT_LIMIT 16          /* splits */
#define SPLIT_NAME_BYTES 65     /* with its NUL */
#define PLAN_HASH_SIZE 33       /* 32 hex digits and a NUL */

#endif
