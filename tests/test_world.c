/* SPDX-License-Identifier: MIT
 *
 * Tests the rank and world size from the environment of each launcher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/common_shards.h"

static char config[] = "/tmp/sheaf-world-XXXXXX";

static int clear(void **state)
{
    static const char *const names[] = {
        "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID",
        "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_STEPID", "SM_HOSTS", "SM_CURRENT_HOST",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return 0;
}

static void expect(int code, uint32_t rank, uint32_t world_size, const char *source)
{
    uint32_t got_rank = 99, got_size = 99;
    const char *got_source = "?";
    struct sheaf_error error = { 0 };

    assert_int_equal(sheaf_world_from_environment(config, &got_rank, &got_size, &got_source,
                                                  &error), code);
    if (code != SHEAF_OK) {
        assert_null(got_source);
        return;
    }
    assert_int_equal(got_rank, rank);
    assert_int_equal(got_size, world_size);
    assert_string_equal(got_source, source);
}

static void nothing_is_found_where_nothing_is(void **state)
{
    (void)state;
    expect(SHEAF_END, 0, 0, NULL);
    setenv("SLURM_PROCID", "0", 1);     /* as in a Slurm job without ranks */
    expect(SHEAF_END, 0, 0, NULL);
}

static void one_of_two_is_a_launch_gone_wrong(void **state)
{
    static const char *const names[] = { "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                                         "OMPI_COMM_WORLD_SIZE" };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        setenv(names[i], "1", 1);
        expect(SHEAF_ERR_ARGUMENT, 0, 0, NULL);
        unsetenv(names[i]);
    }
}

static void each_launcher_is_known_in_its_turn(void **state)
{
    (void)state;
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_NTASKS", "4", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    expect(SHEAF_OK, 3, 4, "SLURM_PROCID and SLURM_NTASKS");
    setenv("OMPI_COMM_WORLD_RANK", "2", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
    expect(SHEAF_OK, 2, 5, "OMPI_COMM_WORLD_RANK and _SIZE");
    setenv("RANK", "0", 1);
    setenv("WORLD_SIZE", "8", 1);
    expect(SHEAF_OK, 0, 8, "RANK and WORLD_SIZE");
}

/* A batch script and an interactive shell have the variables of the job, but are one process. */
static void slurm_counts_only_in_a_step(void **state)
{
    (void)state;
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    expect(SHEAF_END, 0, 0, NULL);
    setenv("SLURM_STEP_ID", "4294967291", 1);
    expect(SHEAF_END, 0, 0, NULL);
    setenv("SLURM_STEP_ID", "4294967290", 1);
    expect(SHEAF_END, 0, 0, NULL);
    unsetenv("SLURM_STEP_ID");
    setenv("SLURM_STEPID", "1", 1);
    expect(SHEAF_OK, 0, 4, "SLURM_PROCID and SLURM_NTASKS");
}

static void the_rank_of_a_host_is_its_place_in_the_list(void **state)
{
    (void)state;
    setenv("SM_HOSTS", "[\"algo-1\", \"algo-10\", \"algo-2\"]", 1);
    setenv("SM_CURRENT_HOST", "algo-2", 1);
    expect(SHEAF_OK, 2, 3, "SM_CURRENT_HOST and SM_HOSTS");
    setenv("SM_CURRENT_HOST", "algo-3", 1);
    expect(SHEAF_ERR_ARGUMENT, 0, 0, NULL);
}

static void the_resource_configuration_is_read(void **state)
{
    static const char good[] = "{\"current_host\": \"algo-10\", \"network_interface_name\": "
                               "\"eth0\", \"hosts\": [\"algo-1\", \"algo-10\", \"algo-2\"]}";
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/resourceconfig.json", config);
    file_write(path, good, sizeof(good) - 1);
    expect(SHEAF_OK, 1, 3, "resourceconfig.json");
    for (size_t length = 0; length < sizeof(good) - 1; length++) {
        file_write(path, good, length);
        expect(SHEAF_ERR_ARGUMENT, 0, 0, NULL);
    }
    unlink(path);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const char *const bad[] = { "", "-1", "+1", "1x", " 1", "4294967296", "4" };

    (void)state;
    setenv("WORLD_SIZE", "4", 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        setenv("RANK", bad[i], 1);
        expect(SHEAF_ERR_ARGUMENT, 0, 0, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_found_where_nothing_is, clear),
        cmocka_unit_test_setup(one_of_two_is_a_launch_gone_wrong, clear),
        cmocka_unit_test_setup(each_launcher_is_known_in_its_turn, clear),
        cmocka_unit_test_setup(slurm_counts_only_in_a_step, clear),
        cmocka_unit_test_setup(the_rank_of_a_host_is_its_place_in_the_list, clear),
        cmocka_unit_test_setup(the_resource_configuration_is_read, clear),
        cmocka_unit_test_setup(what_makes_no_sense_is_refused, clear),
    };
    int failed;

    if (mkdtemp(config) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(config);
    return failed;
}
