/* SPDX-License-Identifier: MIT
 *
 * Stores the function of the program that receives notices. The whole process has one such
 * function. */
#include "base/notice.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    sheaf_report_fn *notice;
    void *context;
} notices = { .lock = PTHREAD_MUTEX_INITIALIZER };

void sheaf_on_notice(sheaf_report_fn *notice, void *context)
{
    pthread_mutex_lock(&notices.lock);
    notices.notice = notice;
    notices.context = context;
    pthread_mutex_unlock(&notices.lock);
}

void notice_say(const char *where, const char *format, ...)
{
    struct sheaf_error text = { .code = SHEAF_OK };
    sheaf_report_fn *notice;
    void *context;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text.message, sizeof(text.message), format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&notices.lock);
    notice = notices.notice;
    context = notices.context;
    pthread_mutex_unlock(&notices.lock);
    if (notice != NULL)
        notice(context, where, &text);
}
