/* SPDX-License-Identifier: MIT
 *
 * Trees of files, and two very small JPEGs. */
#include "tests/common_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

const uint8_t tiny_jpeg[141] = {
    0xff, 0xd8, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x50, 0x37, 0x3c, 0x46, 0x3c, 0x32, 0x50,
    0x46, 0x41, 0x46, 0x5a, 0x55, 0x50, 0x5f, 0x78, 0xc8, 0x82, 0x78, 0x6e, 0x6e, 0x78,
    0xf5, 0xaf, 0xb9, 0x91, 0xc8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x08, 0x00, 0x08, 0x01, 0x01, 0x11, 0x00,
    0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x13, 0xff,
    0xd9,
};

const uint8_t tiny_cmyk_jpeg[158] = {
    0xff, 0xd8, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x50, 0x37, 0x3c, 0x46, 0x3c, 0x32, 0x50,
    0x46, 0x41, 0x46, 0x5a, 0x55, 0x50, 0x5f, 0x78, 0xc8, 0x82, 0x78, 0x6e, 0x6e, 0x78,
    0xf5, 0xaf, 0xb9, 0x91, 0xc8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xc0, 0x00, 0x14, 0x08, 0x00, 0x08, 0x00, 0x08, 0x04, 0x43, 0x11, 0x00,
    0x4d, 0x11, 0x00, 0x59, 0x11, 0x00, 0x4b, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x04, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xda, 0x00,
    0x0e, 0x04, 0x43, 0x00, 0x4d, 0x00, 0x59, 0x00, 0x4b, 0x00, 0x00, 0x3f, 0x00, 0x10,
    0x41, 0x04, 0xff, 0xd9,
};

void tree_make(struct tree *tree)
{
    /* Uses a directory in memory if there is one, because the tests sync many small files. */
    snprintf(tree->root, sizeof(tree->root), "%s/sheaf-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(tree->root));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void tree_remove(struct tree *tree)
{
    nftw(tree->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int tree_open(const struct tree *tree)
{
    const int root = open(tree->root, O_RDONLY | O_DIRECTORY);

    assert_true(root >= 0);
    return root;
}

const char *tree_path(const struct tree *tree, const char *below)
{
    static char paths[8][TREE_PATH + 64];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", tree->root, below);
    return path;
}

void tree_write(const struct tree *tree, const char *path, const void *data, size_t size)
{
    char full[TREE_PATH + 64];
    int fd;

    snprintf(full, sizeof(full), "%s/%s", tree->root, path);
    for (char *slash = full + strlen(tree->root) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        assert_true(mkdir(full, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

void tree_text(const struct tree *tree, const char *path, const char *text)
{
    tree_write(tree, path, text, strlen(text));
}

char *tree_read(const struct tree *tree, const char *path, size_t *size)
{
    FILE *file = fopen(tree_path(tree, path), "rb");
    char *data = NULL;
    long bytes;

    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    bytes = ftell(file);
    rewind(file);
    data = calloc(1, (size_t)bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)bytes, file), bytes);
    fclose(file);
    *size = (size_t)bytes;
    return data;
}

bool tree_has(const struct tree *tree, const char *path)
{
    struct stat st;

    return lstat(tree_path(tree, path), &st) == 0;
}

void tree_delete(const struct tree *tree, const char *path)
{
    nftw(tree_path(tree, path), remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A static variable, because nftw() passes no context. */
static struct {
    uint64_t hash;
    size_t count, skip;
} walk;

static int hash_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    const char *name = path + walk.skip;
    uint64_t hash = XXH3_64bits(name, strlen(name));
    char *data;
    FILE *file;

    (void)at;
    if (kind != FTW_F)
        return 0;
    file = fopen(path, "rb");
    data = malloc((size_t)st->st_size + 1);
    if (file == NULL || data == NULL ||
        fread(data, 1, (size_t)st->st_size, file) != (size_t)st->st_size)
        return 1;
    fclose(file);
    /* The hashes are added up, because directories are read in any order. */
    walk.hash += XXH3_64bits_withSeed(data, (size_t)st->st_size, hash);
    walk.count++;
    free(data);
    return 0;
}

static void walk_tree(const struct tree *tree, const char *path)
{
    const char *full = tree_path(tree, path);

    walk.hash = 0;
    walk.count = 0;
    walk.skip = strlen(full);
    assert_int_equal(nftw(full, hash_one, 16, FTW_PHYS), 0);
}

uint64_t tree_hash(const struct tree *tree, const char *path)
{
    walk_tree(tree, path);
    return walk.hash;
}

size_t tree_count(const struct tree *tree, const char *path)
{
    walk_tree(tree, path);
    return walk.count;
}
