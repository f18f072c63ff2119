/* SPDX-License-Identifier: MIT
 *
 * Computes estimates for a training job in each of SageMaker's input modes, and recommends a
 * mode. */
#ifndef TOOLS_MODE_ADVICE_H
#define TOOLS_MODE_ADVICE_H

#include "sheaf.h"

/* The constants from which the estimates are computed, each with its name, value, unit and meaning.
 * Prices are in US dollars. Prices and speeds of services change. So users should look up or
 * measure the constants that matter to them, and set these. */
#define MODE_CONSTANTS(X)                                                                       \
    X(LIST_RATE,         "list-rate",         5500,   "objects/s", "objects listed in a prefix") \
    X(FILE_RATE,         "file-rate",         200e6,  "B/s", "download in File mode")           \
    X(FILE_MOST,         "file-most",         100e9,  "B",   "what File mode is for, at most")   \
    X(SMALL_FILE,        "small-file",        50e6,   "B",   "objects below it are to be packed") \
    X(SHARD_SIZE,        "shard-size",        150e6,  "B",   "of a packed shard")                \
    X(GET_TIME,          "get-time",          0.03,   "s",   "to the first byte of an object")   \
    X(FILE_REQUESTS,     "file-requests",     16,     "",    "under way at once, File mode")     \
    X(FASTFILE_RATE,     "fastfile-rate",     600e6,  "B/s", "reads in FastFile mode")          \
    X(FASTFILE_READ,     "fastfile-read",     8e6,    "B",   "of a GET, FastFile mode")          \
    X(OPEN_FILES,        "open-files",        8,      "",    "files that are read at once")      \
    X(LOCAL_RATE,        "local-rate",        1000e6, "B/s", "local disk of the instance")      \
    X(PACK_RATE,         "pack-rate",         200e6,  "B/s", "packing")                          \
    X(PACK_REQUESTS,     "pack-requests",     128,    "",    "under way at once, packing")       \
    X(FSX_CREATE,        "fsx-create",        600,    "s",   "to make the file system")          \
    X(FSX_LEAST,         "fsx-least",         1.2e12, "B",   "the smallest file system")         \
    X(FSX_RATE,          "fsx-rate",          200,    "MB/s/TB", "throughput of its capacity")  \
    X(FSX_OPEN,          "fsx-open",          0.0005, "s",   "to open a file")                   \
    X(EFS_RATE,          "efs-rate",          300e6,  "B/s", "reads and writes")                 \
    X(EFS_OPEN,          "efs-open",          0.003,  "s",   "to open a file")                   \
    X(GET_PRICE,         "get-price",         0.4,    "$/million", "GET requests")               \
    X(PUT_PRICE,         "put-price",         5,      "$/million", "PUT and LIST requests")      \
    X(FSX_PRICE,         "fsx-price",         0.14,   "$/GB/month", "capacity")                  \
    X(EFS_PRICE,         "efs-price",         0.30,   "$/GB/month", "stored data")              \
    X(INSTANCE_PRICE,    "instance-price",    0,      "$/h", "all instances; 0: not counted")

enum mode_constant {
#define CONSTANT_ENUM(id, name, value, unit, meaning) CONSTANT_##id,
    MODE_CONSTANTS(CONSTANT_ENUM)
#undef CONSTANT_ENUM
    CONSTANT_COUNT
};

struct mode_options {
    uint64_t epochs;                /* 10 */
    /* number of times that an epoch reads each object; the value 0 means 1 */
    double reads_per_epoch;
    /* number of bytes per second that the training program consumes; 0 if it consumes data as fast
     * as the data arrives */
    double consumer_bytes_s;
    double constants[CONSTANT_COUNT];
};

/* The defaults. */
void mode_options_init(struct mode_options *options);

/* The modes for which estimates are computed. With MODE_PACK_FILE and MODE_PACK_FASTFILE, the
 * objects are first packed into shards, once for all jobs. The shards are then read in File mode or
 * FastFile mode. */
enum input_mode {
    MODE_FILE, MODE_FASTFILE, MODE_FSX, MODE_EFS,
    MODE_PACK_FILE, MODE_PACK_FASTFILE, MODE_COUNT
};

/* Returns the name of a mode: "File", "FastFile", "FSx for Lustre", "EFS", "pack, then File" or
 * "pack, then FastFile". */
const char *mode_name(enum input_mode mode);

struct mode_estimate {
    /* time in seconds before the first job, which is spent on packing, or on filling a file
     * system */
    double prepare_s;
    double startup_s;               /* from the start of the job until training begins */
    double first_epoch_s, epoch_s;  /* the first epoch, and each later one */
    double total_s;                 /* of the job: without prepare_s */
    /* number of GET, PUT and LIST requests to S3, for the preparation and all epochs together */
    double requests;
    double request_cost;            /* $ */
    /* cost in US dollars of the file system and the instances, for the time total_s */
    double other_cost;
};

#define MODE_REASONS_MOST 6

struct mode_advice {
    enum input_mode mode;
    struct mode_estimate estimates[MODE_COUNT];
    size_t reason_count;
    char reasons[MODE_REASONS_MOST][200];
};

/* Computes the estimates for each mode, and recommends a mode by the rules of AWS's guide. The
 * function has no side effects. Returns SHEAF_ERR_ARGUMENT if the survey is empty or a constant is
 * invalid. */
int mode_advise(const struct sheaf_survey *survey, const struct mode_options *options,
                struct mode_advice *advice, struct sheaf_error *error);

#endif
