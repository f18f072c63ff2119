/* SPDX-License-Identifier: MIT
 *
 * The faults of the fake service that have names: their weights, and the choice among them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/url.h"
#include "tests/common_fake_s3.h"

/* Conditions that a request must fulfil before a fault can be chosen for it. */
enum fits {
    OBJECT = 1,         /* for an object */
    LIST = 2,           /* for a bucket */
    BODY = 4,           /* has a body */
    CONDITION = 8,      /* has a condition */
    DATA = 16,          /* for a shard */
    CHECKED = 32,       /* for an object whose bytes a reader can check */
    LIES = 64,          /* the service may give wrong checksums */
    OBJECTS = 128,      /* does not list uploads */
};

/* A weight of 0 is for faults that only a test chooses. Rows with the same name are forms of the
 * same fault. */
static const struct fake_named {
    const char *name;
    double weight;
    unsigned fits;
    struct fake_fault fault;
} faults[] = {
#define STATUS(number, ...) { .kind = FAKE_STATUS, .status = (number), __VA_ARGS__ }
#define AT(kind_, ...) { .kind = (kind_), .anywhere = true, __VA_ARGS__ }
    { "503", 12, 0, STATUS(503, .code = "SlowDown") },
    { "500", 6, 0, STATUS(500, .code = "InternalError") },
    { "502", 4, 0, STATUS(502) }, { "429", 4, 0, STATUS(429) }, { "417", 1, 0, STATUS(417) },
    { "425", 1, 0, STATUS(425) }, { "520", 1, 0, STATUS(520) }, { "524", 1, 0, STATUS(524) },
    { "reset", 10, 0, AT(FAKE_RESET) },
    { "lose", 16, 0, AT(FAKE_LOSE) },
    { "cut", 8, 0, AT(FAKE_CUT, .method = "GET") },
    { "cut", 8, 0, AT(FAKE_CLOSE, .method = "GET") },
    { "short", 8, OBJECT, AT(FAKE_SHORT, .method = "GET") },
    { "range", 6, OBJECT, AT(FAKE_WRONG_RANGE, .method = "GET") },
    { "total", 2, OBJECT, AT(FAKE_WRONG_TOTAL, .method = "GET") },
    { "no range", 2, OBJECT, AT(FAKE_NO_RANGE, .method = "GET") },
    { "whole", 2, OBJECT, AT(FAKE_WHOLE, .method = "GET") },
    { "long", 2, OBJECT, AT(FAKE_LONG_BODY, .method = "GET") },
    { "etag", 1, DATA, AT(FAKE_WRONG_ETAG, .method = "GET") },
    { "sent", 6, BODY, AT(FAKE_DAMAGED_REQUEST) },
    /* Garage's status for a body that was damaged on its way */
    { "digest", 4, BODY, STATUS(400, .code = "InvalidDigest") },
    { "stray", 4, 0, AT(FAKE_STRAY, .method = "GET") },
    { "store", 8, 0, AT(FAKE_WRONG_BYTES, .method = "PUT") },
    { "tag", 1, 0, AT(FAKE_WRONG_ETAG, .method = "PUT") },
    { "twice", 6, 0, AT(FAKE_TWICE) },
    /* The service cannot evaluate a condition now, or says that it does not hold, although it
     * does. */
    { "409", 4, CONDITION, STATUS(409, .code = "ConditionalRequestConflict") },
    { "412", 0.2, CONDITION, STATUS(412, .code = "PreconditionFailed") },
    { "torn", 5, LIST, AT(FAKE_TORN) }, { "torn", 5, 0, AT(FAKE_TORN, .method = "POST") },
    { "torn", 5, LIST, AT(FAKE_NUL) }, { "torn", 5, 0, AT(FAKE_NUL, .method = "POST") },
    { "page", 10, LIST | OBJECTS, AT(FAKE_SHORT_PAGE) },
    { "pause", 2, OBJECT, AT(FAKE_PAUSE, .method = "GET") },
    /* This request and the next ones are refused, and the client must slow down. */
    { "storm", 0.5, 0, STATUS(503, .code = "SlowDown") },
    { "lie", 4, LIES, AT(FAKE_WRONG_CHECKSUM, .method = "PUT") },
    { "lie", 4, LIES, AT(FAKE_WRONG_CHECKSUM, .method = "HEAD") },
    { "in200", 200, 0, AT(FAKE_ERROR_IN_200, .method = "POST", .match = "uploadId=",
                          .code = "InternalError") },
    { "bytes", 1, CHECKED, AT(FAKE_DAMAGED_BODY, .method = "GET") },
    { "denied", 0.2, 0, STATUS(403, .code = "AccessDenied") },
    { "silence", 0.25, 0, AT(FAKE_SILENCE) },
    { "stall", 0.25, OBJECT, AT(FAKE_STALL, .method = "GET") },
    { "no message", 0, 0, STATUS(400, .code = "InvalidRequest", .message = "") },
    { "elsewhere", 0, 0, AT(FAKE_ELSEWHERE) },
    { "503 for an hour", 0, 0, STATUS(503, .header = "Retry-After: 3600") },
    { "429 for 5 s", 0, 0, STATUS(429, .header = "Retry-After: 5") },
    { "429 for 1 s", 0, 0, STATUS(429, .header = "Retry-After: 1") },
#undef STATUS
#undef AT
};

_Static_assert(COUNT_OF(faults) <= FAKE_FAULTS_MOST, "room for all faults");

static const unsigned storm_most = 40;      /* largest number of refused requests */

static bool has_header(const struct fake_request *r, const char *name)
{
    char *value = fake_header(r, name);

    free(value);
    return value != NULL;
}

static bool is_shard(const char *key)
{
    static const char *const ends[] = { ".tar", ".rec", ".tfrecord" };
    const char *dot = strrchr(key, '.');

    for (size_t i = 0; i < COUNT_OF(ends) && dot != NULL; i++)
        if (strcmp(dot, ends[i]) == 0)
            return strstr(key, "shard-") != NULL;
    return false;
}

static bool fits(const struct fake_chance *c, const struct fake_named *f,
                 const struct fake_request *r, const char *key)
{
    regmatch_t ignored;
    const bool is_get = strcmp(r->method, "GET") == 0;

    if ((f->fault.method != NULL && strcmp(f->fault.method, r->method) != 0) ||
        (f->fault.match != NULL && strstr(r->query, f->fault.match) == NULL))
        return false;
    return (!(f->fits & (OBJECT | DATA | CHECKED)) || *key != '\0') &&
           (!(f->fits & LIST) || *key == '\0') && (!(f->fits & BODY) || r->body_size != 0) &&
           (!(f->fits & CONDITION) ||
            (!is_get && (has_header(r, "if-match") || has_header(r, "if-none-match")))) &&
           (!(f->fits & DATA) || is_shard(key)) && (!(f->fits & LIES) || c->lies) &&
           (!(f->fits & OBJECTS) || strstr(r->query, "uploads") == NULL) &&
           (!(f->fits & CHECKED) ||
            (regexec(&c->checked, key, 0, &ignored, 0) == 0) != c->is_inverted);
}

static double fraction(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) / 9007199254740992.0;
}

/* Returns the index of a fault, or UINT_MAX if all that fit have the weight 0. */
static unsigned choose_locked(struct fake_chance *c, const struct fake_request *r, const char *key)
{
    double weights[COUNT_OF(faults)], sum = 0, drawn;
    unsigned at = 0;

    for (unsigned i = 0; i < COUNT_OF(faults); i++) {
        weights[i] = fits(c, &faults[i], r, key) ? faults[i].weight * c->factors[i] : 0;
        sum += weights[i];
    }
    if (sum <= 0)
        return (unsigned)-1;
    for (drawn = fraction(&c->rng) * sum; at + 1 < COUNT_OF(faults) && drawn >= weights[at]; at++)
        drawn -= weights[at];
    return at;
}

/* Returns the index of the first fault with this name, or UINT_MAX. */
static unsigned find(const char *name)
{
    for (unsigned i = 0; i < COUNT_OF(faults); i++)
        if (strcmp(faults[i].name, name) == 0)
            return i;
    return (unsigned)-1;
}

bool fake_s3_choose(void *context, const struct fake_request *r, struct fake_fault *fault)
{
    struct fake_s3 *s3 = context;
    struct fake_chance *c = &s3->chance;
    const unsigned storm = find("storm");
    bool chosen = true;
    char *path;
    unsigned i;

    fake_server_lock(s3->server);
    if (c->storm != 0) {
        c->storm--;
        c->counts[storm]++;
        *fault = faults[storm].fault;
    } else if (c->percent > 0 && fraction(&c->rng) * 100 < c->percent) {
        path = strdup(r->path);
        i = choose_locked(c, r, url_decode(path, false) ? fake_s3_key(path) : "");
        free(path);
        chosen = i != (unsigned)-1;
        if (chosen) {
            c->counts[i]++;
            if (i == storm)
                c->storm = (unsigned)rng_below(&c->rng, storm_most);
            *fault = faults[i].fault;
            fault->at = (size_t)(rng_next(&c->rng) >> 1);
        }
    } else {
        chosen = false;
    }
    fake_server_unlock(s3->server);
    return chosen;
}

bool fake_s3_fault(struct fake_s3 *s3, const char *name, struct fake_fault *fault)
{
    unsigned i = find(name), forms = 0;

    if (i == (unsigned)-1 && !isdigit((unsigned char)name[0]))
        return false;
    fake_server_lock(s3->server);
    if (i == (unsigned)-1)
        *fault = (struct fake_fault){ .kind = FAKE_STATUS, .status = (int)strtol(name, NULL, 10) };
    for (; i < COUNT_OF(faults); i++)       /* any form of the fault */
        if (strcmp(faults[i].name, name) == 0 && rng_below(&s3->chance.rng, ++forms) == 0)
            *fault = faults[i].fault;
    fault->at = (size_t)(rng_next(&s3->chance.rng) >> 1);
    fake_server_unlock(s3->server);
    return true;
}

const char *fake_chance_name(unsigned i)
{
    return i < COUNT_OF(faults) ? faults[i].name : NULL;
}

bool fake_chance_factor(struct fake_chance *c, const char *name, double factor)
{
    for (unsigned i = 0; i < COUNT_OF(faults); i++)
        if (strcmp(faults[i].name, name) == 0)
            c->factors[i] = factor;
    return find(name) != (unsigned)-1;
}

void fake_chance_seed(struct fake_chance *c, uint64_t seed)
{
    rng_seed(&c->rng, RNG_LANE, seed, 0, 0);
}

void fake_chance_init(struct fake_chance *c)
{
    for (unsigned i = 0; i < COUNT_OF(faults); i++)
        c->factors[i] = 1;
    fake_chance_seed(c, 0);
    if (regcomp(&c->checked, "shard-.*\\.(tar|rec|tfrecord)$", REG_EXTENDED) != 0)
        abort();
}

/* Only faults that pass are chosen. The others would need more attempts than the tests have, or a
 * checksum. Waits are more frequent than elsewhere, because they are short here. */
void fake_s3_storm(struct fake_s3 *s3, unsigned percent, uint64_t seed)
{
    static const char *const out[] = { "denied", "412", "storm", "bytes", "pause" };

    fake_server_lock(s3->server);
    fake_chance_seed(&s3->chance, seed);
    for (size_t i = 0; i < COUNT_OF(out); i++)
        fake_chance_factor(&s3->chance, out[i], 0);
    fake_chance_factor(&s3->chance, "silence", 40);
    fake_chance_factor(&s3->chance, "stall", 40);
    s3->chance.percent = percent;
    fake_server_unlock(s3->server);
}
