/* SPDX-License-Identifier: MIT
 *
 * Directory trees of tests: made in a temporary directory, compared, removed. */
#ifndef TESTS_COMMON_TREE_H
#define TESTS_COMMON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_PATH 4200

struct tree {
    char root[64];
};

void tree_make(struct tree *tree);
void tree_remove(struct tree *tree);
/* A descriptor of the tree's directory, to be closed. */
int tree_open(const struct tree *tree);

/* The tree's path with one below it, in one of a few static buffers. */
const char *tree_path(const struct tree *tree, const char *below);

/* A file, and the directories that it is in. */
void tree_write(const struct tree *tree, const char *path, const void *data, size_t size);
void tree_text(const struct tree *tree, const char *path, const char *text);
/* The whole of a file with a NUL after it, to be freed; NULL if there is none. */
char *tree_read(const struct tree *tree, const char *path, size_t *size);
bool tree_has(const struct tree *tree, const char *path);
void tree_delete(const struct tree *tree, const char *path);

/* XXH3 over the paths and contents of all files below a directory, hidden ones too. */
uint64_t tree_hash(const struct tree *tree, const char *path);
/* Files below it. */
size_t tree_count(const struct tree *tree, const char *path);

/* A grey JPEG of 8 x 8, and one of four components. */
extern const uint8_t tiny_jpeg[141], tiny_cmyk_jpeg[158];

#endif
