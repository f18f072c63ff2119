/* SPDX-License-Identifier: MIT
 *
 * Tests the cache of remote objects. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "store/cache.h"
#include "tests/common_object.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

#define SIZE (9 * CACHE_BLOCK + 12345)
#define PLENTY ((uint64_t)1 << 40)

static struct tree tree;
static uint8_t *content;
static struct sheaf_error error;

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    content = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 31 + i / 255);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(content);
    tree_remove(&tree);
    return 0;
}

static struct cache *opened(uint64_t limit)
{
    struct cache *cache;

    assert_int_equal(cache_open(&cache, tree_path(&tree, "cache"), limit, &error), SHEAF_OK);
    return cache;
}

/* Opens an object through the cache. The content is `content`, changed according to the first
 * character of `version`. */
static struct store_object *wrapped(struct cache *cache, struct far_object *o, const char *url,
                                    const char *version)
{
    struct store_object *object = &o->base;

    far_object_init(o, url, version, content, SIZE);
    assert_int_equal(cache_wrap(cache, &object, &error), SHEAF_OK);
    assert_true(object != &o->base);
    assert_true(object->is_remote);
    return object;
}

static void must_read(struct store_object *object, uint64_t offset, size_t size)
{
    uint8_t *data = malloc(size + 1);

    if (store_read(object, offset, data, size, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    assert_memory_equal(data, content + offset, size);
    free(data);
}

/* Reads all bytes of an object. Returns how many of them came from the remote store. */
static uint64_t fetched(struct cache *cache, const char *url, const char *version)
{
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, url, version);

    must_read(object, 0, SIZE);
    store_close(object);
    return o.read_bytes;
}

static void test_second_time(void **state)
{
    struct cache *cache = opened(PLENTY);
    uint64_t hits, misses, uncached;

    (void)state;
    assert_int_equal(fetched(cache, "far://a", "1"), SIZE);
    assert_int_equal(fetched(cache, "far://a", "1"), 0);
    assert_int_equal(fetched(cache, "far://a", "2"), SIZE);     /* the object was replaced */
    assert_int_equal(fetched(cache, "far://b", "1"), SIZE);
    cache_counts(cache, &hits, &misses, &uncached);
    assert_int_equal(hits, SIZE);
    assert_int_equal(misses, 3 * SIZE);
    cache_close(cache);
    cache = opened(PLENTY);     /* as in another process */
    assert_int_equal(fetched(cache, "far://a", "1"), 0);
    cache_close(cache);
}

static void test_one_request_for_a_run(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, "far://a", "1");

    (void)state;
    must_read(object, 0, SIZE);
    assert_int_equal(o.reads, 1);
    store_close(object);
    object = wrapped(cache, &o, "far://b", "1");
    must_read(object, 100, 5 * CACHE_BLOCK);    /* the two edges, and the blocks between them */
    assert_int_equal(o.reads, 3);
    assert_int_equal(o.read_bytes, 6 * CACHE_BLOCK);
    must_read(object, 0, 6 * CACHE_BLOCK);
    assert_int_equal(o.reads, 3);
    store_close(object);
    cache_close(cache);
}

static void test_random_reads(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, "far://a", "1");
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int i = 0; i < 300; i++) {
        const uint64_t at = rng_below(&rng, SIZE);

        must_read(object, at, (size_t)rng_below(&rng, MIN(SIZE - at, 3 * CACHE_BLOCK) + 1));
    }
    assert_true(o.read_bytes <= SIZE);
    assert_int_equal(store_read(object, SIZE - 1, content, 2, &error), SHEAF_ERR_TRUNCATED);
    store_close(object);
    cache_close(cache);
}

/* ---- Many at once ---------------------------------------------------------------------------- */

struct some_read {
    struct store_read read;
    uint8_t *data;
    unsigned *left;
};

static void one_less(struct store_read *read)
{
    __atomic_sub_fetch(((struct some_read *)read)->left, 1, __ATOMIC_ACQ_REL);
}

static void test_many_at_once(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, "far://a", "1");
    struct some_read reads[100] = { 0 };
    unsigned left = COUNT_OF(reads);
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        struct store_read *r = &reads[i].read;

        *r = (struct store_read){ .object = object, .offset = rng_below(&rng, SIZE),
                                  .done = one_less };
        r->size = (size_t)rng_below(&rng, MIN(SIZE - r->offset, 2 * CACHE_BLOCK) + 1);
        r->data = malloc(r->size + 1);
        reads[i].left = &left;
        store_read_start(r);
    }
    while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) != 0)
        usleep(1000);
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        assert_int_equal(reads[i].read.code, SHEAF_OK);
        assert_memory_equal(reads[i].read.data, content + reads[i].read.offset,
                            reads[i].read.size);
        free(reads[i].read.data);
    }
    assert_true(o.read_bytes <= SIZE);      /* no block was fetched twice */
    store_close(object);
    cache_close(cache);
}

static void test_cancel(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, "far://a", "1");
    struct some_read r = { 0 };
    unsigned left = 1;

    (void)state;
    __atomic_store_n(&o.is_stuck, true, __ATOMIC_RELAXED);
    r.left = &left;
    r.read = (struct store_read){ .object = object, .data = malloc(SIZE), .size = SIZE,
                                  .done = one_less };
    store_read_start(&r.read);
    store_read_cancel(&r.read);
    while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) != 0)
        usleep(1000);
    assert_int_equal(r.read.code, SHEAF_ERR_INTERRUPTED);
    free(r.read.data);
    __atomic_store_n(&o.is_stuck, false, __ATOMIC_RELAXED);
    must_read(object, 0, SIZE);     /* no wrong bytes were stored */
    store_close(object);
    cache_close(cache);
}

static void test_failures_are_not_kept(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, "far://a", "1");
    uint8_t *data = malloc(SIZE);

    (void)state;
    o.fail_from = 1;
    o.failure = SHEAF_ERR_CHANGED;
    assert_int_equal(store_read(object, 0, data, SIZE, &error), SHEAF_ERR_CHANGED);
    assert_int_equal(store_read(object, 5, data, 10, NULL), SHEAF_ERR_CHANGED);
    o.fail_from = 0;
    must_read(object, 0, SIZE);
    store_close(object);
    cache_close(cache);
    free(data);
}

/* ---- The files ------------------------------------------------------------------------------- */

/* Calls `each` with the path of every block's file. Returns the total size of the files. */
static uint64_t each_file(void (*each)(const char *path))
{
    uint64_t bytes = 0;
    DIR *all = opendir(tree_path(&tree, "cache")), *one;
    struct dirent *d, *e;

    assert_non_null(all);
    while ((d = readdir(all)) != NULL) {
        char path[700];
        struct stat st;

        if (strlen(d->d_name) != 32)
            continue;
        snprintf(path, sizeof(path), "%s/%s", tree_path(&tree, "cache"), d->d_name);
        one = opendir(path);
        while (one != NULL && (e = readdir(one)) != NULL) {
            snprintf(path, sizeof(path), "%s/%s/%s", tree_path(&tree, "cache"), d->d_name,
                     e->d_name);
            if (e->d_name[0] == '.' || stat(path, &st) != 0)
                continue;
            bytes += (uint64_t)st.st_size;
            if (each != NULL)
                each(path);
        }
        if (one != NULL)
            closedir(one);
    }
    closedir(all);
    return bytes;
}

static void flip_middle(const char *path)
{
    const int fd = open(path, O_RDWR);
    struct stat st;
    uint8_t byte;

    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pread(fd, &byte, 1, st.st_size / 2), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, st.st_size / 2), 1);
    close(fd);
}

static void cut_short(const char *path) { assert_int_equal(truncate(path, 1000), 0); }
static void make_empty(const char *path) { assert_int_equal(truncate(path, 0), 0); }
static void remove_file(const char *path) { assert_int_equal(unlink(path), 0); }

static void make_longer(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size + 1), 0);
}

/* Replaces the later blocks by copies of the first one. */
static void put_first_over(const char *path)
{
    static char first[700];

    if (access(first, F_OK) != 0) {
        snprintf(first, sizeof(first), "%s", path);
        return;
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(link(first, path), 0);
}

static void test_damage(void **state)
{
    static void (*const damages[])(const char *path) = {
        flip_middle, cut_short, make_empty, remove_file, make_longer, put_first_over,
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct cache *cache = opened(PLENTY);

        (void)fetched(cache, "far://a", "1");
        each_file(damages[i]);
        assert_true(fetched(cache, "far://a", "1") >= SIZE - CACHE_BLOCK);
        assert_int_equal(fetched(cache, "far://a", "1"), 0);
        cache_close(cache);
    }
}

static void test_removed_while_in_use(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = wrapped(cache, &o, "far://a", "1");

    (void)state;
    must_read(object, 0, SIZE);
    each_file(remove_file);
    must_read(object, 10, SIZE - 20);
    assert_int_equal(o.read_bytes, 2 * SIZE);
    must_read(object, 0, SIZE);
    assert_int_equal(o.read_bytes, 2 * SIZE);
    store_close(object);
    cache_close(cache);
}

static void test_limit(void **state)
{
    const uint64_t limit = 25 * CACHE_BLOCK;
    struct cache *cache = opened(limit);
    char url[40];

    (void)state;
    for (int i = 0; i < 8; i++) {
        snprintf(url, sizeof(url), "far://%d", i);
        assert_int_equal(fetched(cache, url, "1"), SIZE);
        assert_true(each_file(NULL) <= limit);
    }
    assert_true(each_file(NULL) >= limit / 2);
    assert_int_equal(fetched(cache, "far://7", "1"), 0);
    assert_int_equal(fetched(cache, "far://0", "1"), SIZE);
    cache_close(cache);
}

static void test_least_recent_use(void **state)
{
    struct cache *cache = opened(25 * CACHE_BLOCK);

    (void)state;
    (void)fetched(cache, "far://old", "1");
    usleep(20000);
    (void)fetched(cache, "far://older", "1");
    usleep(20000);
    assert_int_equal(fetched(cache, "far://old", "1"), 0);      /* uses the object again */
    usleep(20000);
    (void)fetched(cache, "far://new", "1");                     /* "older" must be removed */
    assert_int_equal(fetched(cache, "far://old", "1"), 0);
    assert_true(fetched(cache, "far://older", "1") > 0);
    cache_close(cache);
}

/* Tests that the cache removes only blocks, even in a directory whose name could be that of an
 * object. */
static void test_other_files_stay(void **state)
{
    static const char directory[] = "cache/0123456789abcdef0123456789abcdef";
    static const char *const names[] = { "notes.txt", "0123456", "0000000A", "00000001.bak" };
    struct cache *cache = opened(25 * CACHE_BLOCK);
    char path[100], url[40];

    (void)state;
    assert_int_equal(mkdir(tree_path(&tree, directory), 0777), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        tree_write(&tree, path, "x", 1);
    }
    for (int i = 0; i < 8; i++) {
        snprintf(url, sizeof(url), "far://%d", i);
        assert_int_equal(fetched(cache, url, "1"), SIZE);
    }
    cache_close(cache);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        assert_int_equal(access(tree_path(&tree, path), F_OK), 0);
    }
}

static void test_a_directory_of_another_program(void **state)
{
    struct cache *cache;

    (void)state;
    assert_int_equal(mkdir(tree_path(&tree, "cache"), 0777), 0);
    tree_write(&tree, "cache/total", "12345 bytes", 11);
    assert_int_equal(cache_open(&cache, tree_path(&tree, "cache"), PLENTY, &error),
                     SHEAF_ERR_EXISTS);
    assert_non_null(strstr(error.message, "total"));
}

static void test_too_small_for_a_block(void **state)
{
    struct cache *cache = opened(1000);

    (void)state;
    assert_int_equal(fetched(cache, "far://a", "1"), SIZE);
    assert_int_equal(each_file(NULL), 0);
    cache_close(cache);
}

static void test_what_is_not_kept(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct far_object o;
    struct store_object *object = &o.base;
    uint64_t hits, misses, uncached;

    (void)state;
    far_object_init(&o, "far://a", NULL, content, SIZE);
    assert_int_equal(cache_wrap(cache, &object, &error), SHEAF_OK);
    assert_ptr_equal(object, &o.base);
    store_close(object);
    cache_counts(cache, &hits, &misses, &uncached);
    assert_int_equal(uncached, 1);
    far_object_init(&o, "far://a", "1", content, 0);
    assert_int_equal(cache_wrap(cache, &object, &error), SHEAF_OK);
    assert_ptr_equal(object, &o.base);
    store_close(object);
    cache_close(cache);
    assert_int_not_equal(cache_open(&cache, "/no/such/place", PLENTY, &error), SHEAF_OK);
    assert_non_null(strstr(error.message, "/no/such/place"));
}

/* Tests that the query distinguishes objects, although messages leave it out. */
static void test_queries(void **state)
{
    struct cache *cache = opened(PLENTY);
    struct store_object *object;
    struct far_object o;

    (void)state;
    for (int i = 0; i < 4; i++) {
        char asked[40];

        snprintf(asked, sizeof(asked), "far://get?shard=%d", i % 2);
        far_object_init(&o, "far://get", "1", content, SIZE);
        o.base.asked = asked;
        object = &o.base;
        assert_int_equal(cache_wrap(cache, &object, &error), SHEAF_OK);
        must_read(object, 0, SIZE);
        store_close(object);
        assert_int_equal(o.read_bytes, i < 2 ? SIZE : 0);
    }
    cache_close(cache);
}

#define PUT_THREADS 16
#define PUTS 150
#define PUT_BYTES ((size_t)20000)

struct putter {
    struct cache_files *files;
    uint64_t first;             /* of its blocks */
};

static void *put_many(void *context)
{
    const struct putter *p = context;

    for (uint64_t i = 0; i < PUTS; i++)
        cache_files_put(p->files, "0123456789abcdef0123456789abcdef", p->first + i,
                        content + i, PUT_BYTES);
    return NULL;
}

static void put_from_threads(uint64_t process, uint64_t limit)
{
    struct cache_files files;
    struct putter putters[PUT_THREADS];
    pthread_t threads[PUT_THREADS];

    if (cache_files_open(&files, tree_path(&tree, "cache"), limit, &error) != SHEAF_OK)
        _exit(1);
    for (uint64_t i = 0; i < PUT_THREADS; i++) {
        putters[i] = (struct putter){ &files, (process * PUT_THREADS + i) * PUTS };
        if (pthread_create(&threads[i], NULL, put_many, &putters[i]) != 0)
            _exit(1);
    }
    for (size_t i = 0; i < PUT_THREADS; i++)
        pthread_join(threads[i], NULL);
    cache_files_close(&files);
}

/* Lets threads of several processes fill one cache. The cache must stay within its limit, and must
 * not be emptied again and again. */
static void test_threads_and_processes(void **state)
{
    const uint64_t limit = 100 * PUT_BYTES;
    pid_t children[3];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            put_from_threads(i, limit);
            _exit(0);
        }
    }
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_in_range(each_file(NULL), limit * 8 / 10, limit);
}

/* Lets processes share a cache that is too small for their data. Each must get the right bytes, and
 * the limit must hold. */
static void test_processes(void **state)
{
    const uint64_t limit = 21 * CACHE_BLOCK;
    pid_t children[4];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0)
            continue;
        for (int round = 0; round < 6; round++) {
            struct cache *cache = opened(limit);
            char url[40];

            snprintf(url, sizeof(url), "far://%zu", (i + (size_t)round) % 3);
            (void)fetched(cache, url, "1");
            cache_close(cache);
        }
        _exit(0);
    }
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_true(each_file(NULL) <= limit);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_second_time), TEST(test_one_request_for_a_run), TEST(test_random_reads),
        TEST(test_many_at_once), TEST(test_cancel), TEST(test_failures_are_not_kept),
        TEST(test_damage), TEST(test_removed_while_in_use), TEST(test_limit),
        TEST(test_least_recent_use), TEST(test_other_files_stay),
        TEST(test_a_directory_of_another_program), TEST(test_too_small_for_a_block),
        TEST(test_what_is_not_kept), TEST(test_queries),
        TEST(test_threads_and_processes), TEST(test_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
