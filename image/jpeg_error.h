/* SPDX-License-Identifier: MIT
 *
 * Handles the errors of libjpeg, for decoders and encoders. When an error occurs, libjpeg calls a
 * function that must not return. This function leaves libjpeg by longjmp. */
#ifndef IMAGE_JPEG_ERROR_H
#define IMAGE_JPEG_ERROR_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>      /* jpeglib.h needs this header */

#include <jpeglib.h>

struct jpeg_failure {
    /* This member must be the first. libjpeg passes its address to the functions for errors, which
     * use this address as the address of the whole struct. */
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];      /* the error, or the first warning */
    int code;                           /* number of libjpeg's error */
    unsigned warnings;                  /* number of warnings about damage */
    bool lenient;                       /* true if unexpected bytes between markers are ignored */
};

/* Sets libjpeg's callbacks for errors and messages. Returns the struct that libjpeg needs. */
struct jpeg_error_mgr *jpeg_failure_init(struct jpeg_failure *failure);

#endif
