/* SPDX-License-Identifier: MIT
 *
 * Tests the arithmetic of `sheaf advise` against results that were computed by hand, the choice of
 * a mode, and the effect of the constants. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/mode_advice.h"

static struct mode_options options;
static struct mode_advice advice;
static struct sheaf_error error;

static int setup(void **state)
{
    (void)state;
    mode_options_init(&options);
    return 0;
}

static struct sheaf_survey survey_of(uint64_t objects, uint64_t bytes, const char *place)
{
    struct sheaf_survey s = { .objects = objects, .bytes = bytes };

    snprintf(s.place, sizeof(s.place), "%s", place);
    return s;
}

static enum input_mode ask(uint64_t objects, uint64_t bytes, const char *place)
{
    const struct sheaf_survey s = survey_of(objects, bytes, place);

    assert_int_equal(mode_advise(&s, &options, &advice, &error), SHEAF_OK);
    assert_in_range(advice.reason_count, 1, MODE_REASONS_MOST);
    return advice.mode;
}

static void is(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

/* Asks about a million images of 39 kB and three epochs. */
static void small_files_are_to_be_packed(void **state)
{
    const struct mode_estimate *e = advice.estimates;

    (void)state;
    assert_int_equal(ask(1000000, 39000000000, "S3"), MODE_PACK_FILE);
    options.epochs = 3;
    assert_int_equal(ask(1000000, 39000000000, "S3"), MODE_PACK_FASTFILE);
    assert_non_null(strstr(advice.reasons[0], "39.0 kB"));

    /* listing takes 1e6/5500 s; then comes the slower of 39 GB at 200 MB/s, and 30 ms per object
     * for 16 at once */
    is(e[MODE_FILE].startup_s, 1e6 / 5500 + 1e6 * 0.03 / 16);
    is(e[MODE_FILE].epoch_s, 39);
    is(e[MODE_FILE].total_s, 1e6 / 5500 + 1e6 * 0.03 / 16 + 3 * 39);
    is(e[MODE_FILE].requests, 1000000 + 1000);
    is(e[MODE_FILE].request_cost, 0.4 + 0.005);
    is(e[MODE_FASTFILE].startup_s, 1e6 / 5500);
    is(e[MODE_FASTFILE].epoch_s, 1e6 * 0.03 / 8);
    is(e[MODE_FASTFILE].request_cost, 3 * 0.4 + 0.005);
    is(e[MODE_FSX].prepare_s, 600);
    is(e[MODE_FSX].first_epoch_s, 1e6 * 0.0305 / 8);
    is(e[MODE_FSX].epoch_s, 39e9 / 240e6);
    is(e[MODE_EFS].epoch_s, 1e6 * 0.003 / 8);
    /* 260 shards of 150 MB */
    is(e[MODE_PACK_FILE].prepare_s, 1e6 / 5500 + 1e6 * 0.03 / 128);
    is(e[MODE_PACK_FILE].startup_s, 260 / 5500.0 + 195);
    is(e[MODE_PACK_FILE].requests, 1000000 + 1000 + 4875 + 260 + 1);
    is(e[MODE_PACK_FASTFILE].epoch_s, 65);
}

static void a_consumer_sets_the_pace(void **state)
{
    (void)state;
    options.consumer_bytes_s = 10e6;
    options.reads_per_epoch = 2;
    ask(100, 15000000000, "S3");
    for (int i = 0; i < MODE_COUNT; i++)
        is(advice.estimates[i].epoch_s, 3000);
    is(advice.estimates[MODE_FILE].total_s, 100 / 5500.0 + 75 + 10 * 3000);
}

static void shards_by_their_volume(void **state)
{
    (void)state;
    assert_int_equal(ask(300, 45000000000, "S3"), MODE_FILE);
    assert_int_equal(ask(6000, 900000000000, "S3"), MODE_FASTFILE);
    options.epochs = 1;             /* a download is not worth it for one pass */
    assert_int_equal(ask(300, 45000000000, "S3"), MODE_FASTFILE);
    options.consumer_bytes_s = 10e6;    /* the download is short compared with a long pass */
    assert_int_equal(ask(300, 45000000000, "S3"), MODE_FILE);
    options.constants[CONSTANT_FILE_MOST] = 40e9;
    assert_int_equal(ask(300, 45000000000, "S3"), MODE_FASTFILE);
}

static void large_and_small_volumes_of_small_files(void **state)
{
    (void)state;
    assert_int_equal(ask(100000000, 4000000000000, "S3"), MODE_PACK_FASTFILE);
    options.constants[CONSTANT_SMALL_FILE] = 0;
    assert_int_equal(ask(100000000, 4000000000000, "S3"), MODE_FSX);
    assert_non_null(strstr(advice.reasons[advice.reason_count - 1], "cost more"));
}

static void a_fast_consumer_wants_lustre(void **state)
{
    (void)state;
    options.consumer_bytes_s = 3e9;
    assert_int_equal(ask(100000, 15000000000000, "S3"), MODE_FSX);
    assert_non_null(strstr(advice.reasons[advice.reason_count - 1], "3.0 GB/s"));
}

static void data_stay_where_they_are(void **state)
{
    (void)state;
    assert_int_equal(ask(300, 45000000000, "NFS"), MODE_EFS);
    is(advice.estimates[MODE_EFS].prepare_s, 0);
    assert_int_equal(ask(300, 45000000000, "Lustre"), MODE_FSX);
    assert_int_equal(ask(1000000, 39000000000, "NFS"), MODE_PACK_FILE);
}

static void a_data_set_is_packed_already(void **state)
{
    struct sheaf_survey s = survey_of(1000, 1000000, "S3");

    (void)state;
    s.is_dataset = 1;
    s.samples = 5;
    assert_int_equal(mode_advise(&s, &options, &advice, &error), SHEAF_OK);
    assert_true(advice.mode == MODE_FILE || advice.mode == MODE_FASTFILE);
    assert_non_null(strstr(advice.reasons[0], "5 samples"));
}

static void extremes_stay_finite(void **state)
{
    (void)state;
    ask(1, 0, "S3");
    for (int i = 0; i < MODE_COUNT; i++)
        assert_true(isfinite(advice.estimates[i].total_s));
    options.epochs = UINT64_MAX;
    ask(UINT64_MAX, UINT64_MAX, "S3");
    for (int i = 0; i < MODE_COUNT; i++)
        assert_true(isfinite(advice.estimates[i].total_s));
}

static void what_makes_no_sense(void **state)
{
    const struct sheaf_survey some = survey_of(1, 1, "S3"), none = survey_of(0, 0, "S3");
    static const double bad[] = { 0, -1, NAN, INFINITY };

    (void)state;
    assert_int_equal(mode_advise(&none, &options, &advice, &error),
                     SHEAF_ERR_ARGUMENT);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        mode_options_init(&options);
        options.constants[CONSTANT_LIST_RATE] = bad[i];
        assert_int_equal(mode_advise(&some, &options, &advice, &error), SHEAF_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "list-rate"));
        mode_options_init(&options);
        options.reads_per_epoch = bad[i];
        assert_int_equal(mode_advise(&some, &options, &advice, &error), SHEAF_ERR_ARGUMENT);
    }
    mode_options_init(&options);
    options.epochs = 0;
    assert_int_equal(mode_advise(&some, &options, &advice, &error),
                     SHEAF_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(small_files_are_to_be_packed, setup),
        cmocka_unit_test_setup(a_consumer_sets_the_pace, setup),
        cmocka_unit_test_setup(shards_by_their_volume, setup),
        cmocka_unit_test_setup(large_and_small_volumes_of_small_files, setup),
        cmocka_unit_test_setup(a_fast_consumer_wants_lustre, setup),
        cmocka_unit_test_setup(data_stay_where_they_are, setup),
        cmocka_unit_test_setup(a_data_set_is_packed_already, setup),
        cmocka_unit_test_setup(extremes_stay_finite, setup),
        cmocka_unit_test_setup(what_makes_no_sense, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
