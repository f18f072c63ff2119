/* SPDX-License-Identifier: MIT
 *
 * Holds two tables of the bytes with which files of known kinds begin: `beginnings`, and `texts`
 * for text files. White space before an entry of `texts` and the case of its letters are
 * ignored. */
#include "formats/content.h"

#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

#define LFS_POINTER "a pointer file of Git LFS, not the file itself: fetch that with git lfs pull"
#define XML_ANSWER  "an XML document, such as a server sends with an error"
#define WEB_PAGE    "a web page (HTML), such as a server sends instead of a file"

static const struct content_beginning {
    const char *bytes;
    size_t size;
    const char *name;
} beginnings[] = {
    { "version https://git-lfs", 23, LFS_POINTER },
    { "/annex/objects/", 15, "a pointer file of git-annex, not the file itself: fetch that with "
                             "git annex get" },
    { "PAR1", 4, "a Parquet file" },
    { "ARROW1", 6, "an Arrow file" },
    { "\x93NUMPY", 6, "a NumPy array (npy)" },
    { "\x89HDF\r\n\x1a\n", 8, "an HDF5 file" },
    { "PK\x03\x04", 4, "a zip archive" },
    { "PK\x05\x06", 4, "an empty zip archive" },
    { "7z\xbc\xaf\x27\x1c", 6, "a 7z archive" },
    { "Rar!\x1a\x07", 6, "a RAR archive" },
    { "070701", 6, "a cpio archive" },
    { "070707", 6, "a cpio archive" },
    { "!<arch>\n", 8, "an ar archive" },
    { "SQLite format 3", 16, "an SQLite database" },
    { "%PDF-", 5, "a PDF document" },
    { "\x89PNG\r\n\x1a\n", 8, "a PNG image" },
    { "\xff\xd8\xff", 3, "a JPEG image" },
    { "GIF87a", 6, "a GIF image" },
    { "GIF89a", 6, "a GIF image" },
    { "\x7f" "ELF", 4, "a program (ELF)" },
    { "\x80\x02", 2, "a Python pickle" },
    { "\x80\x04\x95", 3, "a Python pickle" },
};

static const struct content_beginning texts[] = {
    { "<!doctype html", 14, WEB_PAGE },
    { "<html", 5, WEB_PAGE },
    { "<head", 5, WEB_PAGE },
    { "<!--", 4, WEB_PAGE },
    { "<?xml", 5, XML_ANSWER },
    { "<error>", 7, XML_ANSWER },
    { "{", 1, "a JSON document" },
    { "[", 1, "a JSON document" },
    { "outs:", 5, "a pointer file of DVC, not the file itself: fetch that with dvc pull" },
};

bool content_is_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((data[i] < ' ' && memchr("\t\r\n", data[i], 3) == NULL) || data[i] == 0x7f)
            return false;
    return true;
}

/* Searches the two tables for the kind of the data. Returns the first entry that matches the
 * beginning of the data, or NULL if no entry matches. */
static const struct content_beginning *content_find(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t left = size;

    for (size_t i = 0; i < COUNT_OF(beginnings); i++)
        if (size >= beginnings[i].size &&
            memcmp(data, beginnings[i].bytes, beginnings[i].size) == 0)
            return &beginnings[i];
    if (size == 0)
        return NULL;
    utf8_pass_mark(&text, &left);
    while (left != 0 && memchr(" \t\r\n", *text, 4) != NULL) {
        text++;
        left--;
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (left >= texts[i].size && strncasecmp(text, texts[i].bytes, texts[i].size) == 0 &&
            (texts[i].size > 1 || content_is_text(data, size)))
            return &texts[i];
    return NULL;
}

int content_check(const void *data, size_t size, const char *expected, struct sheaf_error *err)
{
    const struct content_beginning *found = content_find(data, size);

    if (found == NULL || (strcmp(found->name, LFS_POINTER) != 0 &&
                          strcmp(found->name, WEB_PAGE) != 0 &&
                          strcmp(found->name, XML_ANSWER) != 0))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "it is %s, expected %s", found->name, expected);
}

/* Returns whether the text contains `part`. */
static bool content_has(const char *text, size_t size, const char *part)
{
    return memmem(text, size, part, strlen(part)) != NULL;
}

/* Returns whether the text consists of several lines that are not HTML or XML. */
static bool content_is_list(const char *text, size_t size)
{
    const char *begin, *end;

    utf8_pass_mark(&text, &size);
    begin = json_text_blanks(text, text + size);
    size -= (size_t)(begin - text);
    text = begin;
    while (size != 0 && memchr(" \t\r\n", text[size - 1], 4) != NULL)
        size--;
    end = memchr(text, '\n', size);
    return end != NULL && !content_has(text, (size_t)(end - text), "<!") &&
           !content_has(text, (size_t)(end - text), "<?xml ") && !content_has(text, size, "</") &&
           !content_has(text, size, "/>") && !content_has(text, size, "=\"");
}

int content_check_list(const void *data, size_t size, const char *expected,
                       struct sheaf_error *err)
{
    const struct content_beginning *found = content_find(data, size);
    const bool may_be_list = found != NULL && found->bytes[0] == '<' &&
                             content_is_list(data, size);

    return may_be_list ? SHEAF_OK : content_check(data, size, expected, err);
}

const char *content_name(const uint8_t *data, size_t size)
{
    const struct content_beginning *found = content_find(data, size);

    if (found != NULL)
        return found->name;
    /* A file is called a text only if it contains the end of a line. Otherwise a tar shard that was
     * cut within its first file name would be called a text. */
    return size != 0 && content_is_text(data, size) && memchr(data, '\n', size) != NULL
               ? "a text file" : NULL;
}
