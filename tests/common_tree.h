/* SPDX-License-Identifier: MIT
 *
 * Directory trees for tests: makes them in a temporary directory, compares them and removes
 * them. */
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
/* Returns a descriptor of the tree's directory. The caller closes it. */
int tree_open(const struct tree *tree);

/* Returns the path of a file in the tree, in one of a few static buffers. */
const char *tree_path(const struct tree *tree, const char *below);

/* Writes a file, and makes the directories that it needs. */
void tree_write(const struct tree *tree, const char *path, const void *data, size_t size);
void tree_text(const struct tree *tree, const char *path, const char *text);
/* Returns the whole content of a file with a NUL after it, or NULL if there is no such file. The
 * caller frees it. */
char *tree_read(const struct tree *tree, const char *path, size_t *size);
bool tree_has(const struct tree *tree, const char *path);
void tree_delete(const struct tree *tree, const char *path);

/* Returns the XXH3 of the paths and contents of all files under a directory, including hidden
 * files. */
uint64_t tree_hash(const struct tree *tree, const char *path);
/* Returns the number of files in a directory of the tree. */
size_t tree_count(const struct tree *tree, const char *path);

/* A grey JPEG of 8 x 8 pixels, and a JPEG with four components. */
extern const uint8_t tiny_jpeg[141], tiny_cmyk_jpeg[158];

#endif
