/* SPDX-License-Identifier: MIT
 *
 * The fake S3 service as a program, for tests of the command: serve_fake_s3 [PERCENT [SEED]] prints
 * its endpoint, and then reads commands from standard input until its end. "storm PERCENT SEED"
 * makes that share of the requests fail (but never by silence). "calm" ends this. "stats" prints
 * the number of requests, of failed requests, and of uploads that were begun and neither completed
 * nor aborted. The keys are in common_fake_s3.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common_fake_s3.h"

int main(int argc, char **argv)
{
    static struct fake_s3 s3;
    char line[200];

    fake_s3_start(&s3);
    if (argc > 1)
        fake_server_storm(s3.server, (unsigned)strtoul(argv[1], NULL, 10), false,
                          argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    printf("%s\n", fake_s3_endpoint(&s3));
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        unsigned percent;
        unsigned long long seed;

        if (sscanf(line, "storm %u %llu", &percent, &seed) == 2)
            fake_server_storm(s3.server, percent, false, seed);
        else if (strcmp(line, "calm\n") == 0)
            fake_server_clear_faults(s3.server);
        else if (strcmp(line, "stats\n") == 0)
            printf("%u %u %u\n", fake_server_count(s3.server, NULL, NULL),
                   fake_server_faults(s3.server), fake_s3_uploads(&s3));
        fflush(stdout);
    }
    fake_s3_stop(&s3);
    return 0;
}
