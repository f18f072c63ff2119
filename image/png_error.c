/* SPDX-License-Identifier: MIT
 *
 * Ends a call at an error. */
#include "image/png_error.h"

#include <stdio.h>

void png_failure_error(png_structp png, png_const_charp message)
{
    struct png_failure *f = png_get_error_ptr(png);

    snprintf(f->message, sizeof(f->message), "%s", message);
    longjmp(f->failed, 1);
}

void png_failure_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}
