/* SPDX-License-Identifier: MIT
 *
 * Handles libpng's errors for decoder and encoder. libpng reports an error by a callback that must
 * not return. */
#ifndef IMAGE_PNG_ERROR_H
#define IMAGE_PNG_ERROR_H

#include <setjmp.h>

#include <png.h>

struct png_failure {
    jmp_buf failed;             /* the place to which an error jumps */
    char message[160];          /* text of the error */
};

/* Callbacks for a libpng object (png_structp) whose error pointer is a struct png_failure. Warnings
 * are ignored. */
void png_failure_error(png_structp png, png_const_charp message);
void png_failure_warning(png_structp png, png_const_charp message);

#endif
