/* SPDX-License-Identifier: MIT
 *
 * Handles the errors of libpng, for decoder and encoder. When an error occurs, libpng calls a
 * function that must not return. This function leaves libpng by longjmp. */
#ifndef IMAGE_PNG_ERROR_H
#define IMAGE_PNG_ERROR_H

#include <setjmp.h>

#include <png.h>

struct png_failure {
    jmp_buf failed;             /* the place to which an error jumps */
    char message[160];          /* text of the error */
};

/* Functions that libpng calls for errors and warnings. The error pointer of the png_structp must
 * point to a struct png_failure. Warnings are ignored. */
void png_failure_error(png_structp png, png_const_charp message);
void png_failure_warning(png_structp png, png_const_charp message);

#endif
