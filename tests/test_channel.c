/* SPDX-License-Identifier: MIT
 *
 * Tests channels: names, valid and malformed configurations, and what a channel's name refers
 * to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "modes/channel_config.h"
#include "modes/channel_order.h"
#include "reader/dataset/pipe.h"
#include "store/file_system.h"
#include "tests/common_shards.h"
#include "tests/common_tree.h"

static struct tree root;

static int setup(void **state)
{
    (void)state;
    tree_make(&root);
    unsetenv("SM_CHANNEL_TRAIN");
    unsetenv("SM_INPUT_DATA_CONFIG");
    unsetenv("LOCAL_RANK");
    unsetenv("LOCAL_WORLD_SIZE");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(&root);
    return 0;
}

/* ---- Names and configurations --------------------------------------------------------------- */

static void names_are_those_that_the_platform_allows(void **state)
{
    static const char *const good[] = { "train", "train_1", "a.b-c_D9", "0", "..." };
    static const char *const bad[] = { "", "a b", "a/b", "../x", "tr\xc3\xa4in", "a\n", ".", ".." };
    char longest[CHANNEL_NAME_MOST + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(channel_name_is_good(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(channel_name_is_good(bad[i]));
    memset(longest, 'a', sizeof(longest));
    longest[CHANNEL_NAME_MOST + 1] = '\0';
    assert_false(channel_name_is_good(longest));
    longest[CHANNEL_NAME_MOST] = '\0';
    assert_true(channel_name_is_good(longest));
}

static int parse(const char *text, struct channel_config *config, struct sheaf_error *error)
{
    return channel_config_parse(text, text == NULL ? 0 : strlen(text), "train", config, error);
}

static void everything_that_the_platform_says_is_taken(void **state)
{
    static const char text[] =
        "{\"validation\": {\"TrainingInputMode\": \"File\"},"
        " \"train\": {\"ContentType\": \"x\", \"TrainingInputMode\": \"Pipe\","
        " \"S3DistributionType\": \"ShardedByS3Key\", \"RecordWrapperType\": \"RecordIO\","
        " \"CompressionType\": \"Gzip\", \"ShuffleConfig\": {\"Seed\": \"-7\"},"
        " \"SomethingNew\": [1, 2]}}";
    struct channel_config c;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(parse(text, &c, &error), SHEAF_OK);
    assert_string_equal(c.mode, "Pipe");
    assert_string_equal(c.content_type, "x");
    assert_string_equal(c.distribution, "ShardedByS3Key");
    assert_string_equal(c.wrapper, "RecordIO");
    assert_string_equal(c.compression, "Gzip");
    assert_true(c.is_shuffled);
    assert_int_equal(c.shuffle_seed, -7);
    assert_string_equal(c.source, "");
    channel_config_free(&c);

    assert_int_equal(parse("{\"train\": {\"DataSource\": {\"S3DataSource\": {"
                           "\"S3Uri\": \"s3://b/p/\", \"S3DataType\": \"S3Prefix\", "
                           "\"S3DataDistributionType\": "
                           "\"FullyReplicated\"}}}}", &c, &error), SHEAF_OK);
    assert_string_equal(c.source, "s3://b/p/");
    assert_string_equal(c.data_type, "S3Prefix");
    assert_string_equal(c.distribution, "FullyReplicated");
    assert_string_equal(c.mode, "");
    assert_false(c.is_shuffled);
    channel_config_free(&c);

    assert_int_equal(parse(NULL, &c, &error), SHEAF_OK);
    assert_string_equal(c.mode, "");
    channel_config_free(&c);
}

static int order_of(const char *text, struct sheaf_reader_options *o, struct sheaf_error *error)
{
    sheaf_reader_options_init(o, sizeof(*o));
    return channel_order_parse(text, strlen(text), o, error);
}

static void hyperparameters_say_the_order(void **state)
{
    struct sheaf_reader_options o;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(order_of("{\"sheaf_seed\": \"18446744073709551615\", \"lr\": \"0.1\","
                              " \"sheaf_shuffle_buffer\": \"\\\"500\\\"\", \"sheaf_lanes\": 8}",
                              &o, &error), SHEAF_OK);
    assert_true(o.seed == UINT64_MAX);
    assert_int_equal(o.shuffle_buffer, 500);
    assert_int_equal(o.lanes, 8);
    assert_int_equal(o.epoch, 0);
    assert_int_equal(order_of("{\"sheaf_epoch\": \"3\"}", &o, &error), SHEAF_OK);
    assert_int_equal(o.epoch, 3);
    assert_int_equal(o.shuffle_buffer, 10000);
}

static void hyperparameters_that_make_no_sense_are_refused(void **state)
{
    static const struct { const char *text, *says; } cases[] = {
        { "", "line" },
        { "[]", "not an object" },
        { "{\"sheaf_seed\": \"\"}", "sheaf_seed is not an integer" },
        { "{\"sheaf_seed\": \"-1\"}", "sheaf_seed is not an integer" },
        { "{\"sheaf_seed\": -1}", "sheaf_seed is not an integer" },
        { "{\"sheaf_seed\": \"7x\"}", "sheaf_seed is not an integer" },
        { "{\"sheaf_seed\": [7]}", "sheaf_seed is not an integer" },
        { "{\"sheaf_seed\": \"18446744073709551616\"}", "sheaf_seed is not an integer" },
        { "{\"sheaf_lanes\": \"4294967296\"}", "sheaf_lanes is not an integer" },
        { "{\"sheaf_sede\": \"7\"}", "unknown name sheaf_sede" },
        { "{\"sheaf_seed\": \"7\", \"sheaf_seed\": \"8\"}", "duplicate" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sheaf_reader_options o;
        struct sheaf_error error;

        assert_int_equal(order_of(cases[i].text, &o, &error), SHEAF_ERR_ARGUMENT);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s: \"%s\"", cases[i].text, error.message);
    }
}

static void what_is_malformed_is_refused_with_its_place(void **state)
{
    static const struct { const char *text, *says; } cases[] = {
        { "", "line" },
        { "{", "line 1" },
        { "[]", "not an object" },
        { "{\"train\": 1}", "channel train: is not an object" },
        { "{\"train\": {}, \"train\": {}}", "duplicate" },
        { "{\"train\": {\"TrainingInputMode\": 3}}", "TrainingInputMode is not a string" },
        { "{\"train\": {\"ShuffleConfig\": 3}}", "ShuffleConfig is not an object" },
        { "{\"train\": {\"ShuffleConfig\": {}}}", "Seed" },
        { "{\"train\": {\"ShuffleConfig\": {\"Seed\": \"7x\"}}}", "Seed" },
        { "{\"train\": {\"ShuffleConfig\": {\"Seed\": \"99999999999999999999\"}}}", "Seed" },
        { "{\"train\": {\"DataSource\": \"s3://b/p\"}}", "DataSource is not an object" },
        { "{\"train\": {\"DataSource\": {\"S3DataSource\": {}}}}", "no S3Uri" },
        { "{\"train\": {\"DataSource\": {\"S3DataSource\": {\"S3Uri\": 1}}}}",
          "S3Uri is not a string" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct channel_config c;
        struct sheaf_error error = { 0 };

        assert_int_equal(parse(cases[i].text, &c, &error), SHEAF_ERR_CORRUPT);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s: \"%s\"", cases[i].text, error.message);
        channel_config_free(&c);
    }
}

static void a_job_has_twenty_channels_at_most(void **state)
{
    char text[1000] = "{\"train\": {}";
    struct channel_config c;
    struct sheaf_error error;
    size_t size = strlen(text);

    (void)state;
    for (int i = 1; i < 20; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, ", \"c%d\": {}", i);
    snprintf(text + size, sizeof(text) - size, "}");
    assert_int_equal(parse(text, &c, &error), SHEAF_OK);
    channel_config_free(&c);
    snprintf(text + size, sizeof(text) - size, ", \"c20\": {}}");
    assert_int_equal(parse(text, &c, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "21 channels"));
    channel_config_free(&c);
}

static void an_unknown_channel_is_told_beside_those_there_are(void **state)
{
    struct channel_config c;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(parse("{\"train_1\": {}, \"val\": {}}", &c, &error), SHEAF_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "train_1, val"));
    channel_config_free(&c);
    assert_int_equal(parse("{}", &c, &error), SHEAF_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "none"));
    channel_config_free(&c);
}

static void file_systems_are_known_by_their_numbers(void **state)
{
    (void)state;
    assert_string_equal(file_system_name(file_system_of_type(0x65735546)), "FUSE");
    assert_string_equal(file_system_name(file_system_of_type(0x0bd00bd0)), "Lustre");
    assert_string_equal(file_system_name(file_system_of_type(0x6969)), "NFS");
    assert_string_equal(file_system_name(file_system_of_type(0xef53)), "local");
    assert_string_equal(file_system_name(file_system_of_path("/nonexistent")), "local");
}

/* ---- What a name stands for ----------------------------------------------------------------- */

static void make_fifo(const char *path)
{
    tree_text(&root, "input/data/.keep", "");
    assert_int_equal(mkfifo(tree_path(&root, path), 0600), 0);
}

/* Returns the kind of the channel, or the code of the error. */
static int kind_of(const char *name, char location[TREE_PATH])
{
    struct sheaf_channel_options options;
    struct sheaf_channel_info info;
    struct sheaf_channel *channel;
    struct sheaf_error error;
    int code;

    sheaf_channel_options_init(&options, sizeof(options));
    options.root = root.root;
    code = sheaf_channel_open(name, &options, &channel, &error);
    if (code != SHEAF_OK) {
        assert_int_equal(error.code, code);
        snprintf(location, TREE_PATH, "%s", error.message);
        return code;
    }
    sheaf_channel_get_info(channel, &info, sizeof(info));
    assert_string_equal(info.name, name);
    assert_true(strlen(info.description) > 10);
    snprintf(location, TREE_PATH, "%s", info.location);
    sheaf_channel_free(channel);
    return (int)info.kind;
}

static void config(const char *text)
{
    tree_text(&root, "input/config/inputdataconfig.json", text);
}

static void what_is_at_the_path_decides(void **state)
{
    char found[TREE_PATH];

    (void)state;
    config("{\"train\": {\"TrainingInputMode\": \"Pipe\"},"
           " \"val\": {\"TrainingInputMode\": \"File\"}}");
    /* the call waits for this pipe */
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_PIPE);
    assert_int_equal(kind_of("val", found), SHEAF_ERR_NOT_FOUND);
    tree_text(&root, "input/data/train/x.tar", "");
    make_fifo("input/data/val_0");
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_DIRECTORY);
    assert_int_equal(kind_of("val", found), SHEAF_CHANNEL_PIPE);
    assert_string_equal(found, tree_path(&root, "input/data/val"));
    assert_int_equal(kind_of("other", found), SHEAF_ERR_NOT_FOUND);
    assert_non_null(strstr(found, "train, val"));
}

static void a_path_needs_no_configuration(void **state)
{
    char found[TREE_PATH];

    (void)state;
    assert_int_equal(kind_of("train", found), SHEAF_ERR_NOT_FOUND);
    setenv("SM_CHANNEL_TRAIN", root.root, 1);
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_DIRECTORY);
    assert_string_equal(found, root.root);
    tree_text(&root, "input/data/train/x.tar", "");
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_DIRECTORY);
    assert_string_equal(found, tree_path(&root, "input/data/train"));
    unsetenv("SM_CHANNEL_TRAIN");
    setenv("SM_INPUT_DATA_CONFIG", "{\"val\": {\"TrainingInputMode\": \"Pipe\"}}", 1);
    assert_int_equal(kind_of("val", found), SHEAF_CHANNEL_PIPE);
    unsetenv("SM_INPUT_DATA_CONFIG");
}

static void a_source_is_read_where_nothing_is_mounted(void **state)
{
    char found[TREE_PATH];

    (void)state;
    config("{\"train\": {\"TrainingInputMode\": \"FastFile\", \"DataSource\": {\"S3DataSource\": "
           "{\"S3Uri\": \"s3://b/p/\"}}}}");
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_DIRECT);
    assert_string_equal(found, "s3://b/p/");
    tree_text(&root, "input/data/train/x.tar", "");
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_DIRECTORY);
}

/* Opens the data set of a channel whose shards are read directly from S3. */
static int open_direct(const char *type, const char *url, struct sheaf_dataset **dataset,
                       struct sheaf_error *error)
{
    struct sheaf_channel_options options;
    struct sheaf_channel *channel;
    char text[TREE_PATH + 200];
    int code;

    snprintf(text, sizeof(text), "{\"train\": {\"DataSource\": {\"S3DataSource\": {\"S3DataType\": "
             "\"%s\", \"S3Uri\": \"%s\"}}}}", type, url);
    config(text);
    sheaf_channel_options_init(&options, sizeof(options));
    options.root = root.root;
    assert_int_equal(sheaf_channel_open("train", &options, &channel, error), SHEAF_OK);
    code = sheaf_channel_dataset(channel, dataset, error);
    sheaf_channel_free(channel);
    return code;
}

static void augmented_manifests_are_not_read_directly(void **state)
{
    struct sheaf_dataset *dataset;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(open_direct("AugmentedManifestFile", "s3://b/p/m.manifest", &dataset, &error),
                     SHEAF_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "found the type AugmentedManifestFile"));
}

/* Tests that the objects of a manifest file are read as if they were in a directory: in byte order,
 * each once, and without files that are not shards. */
static void what_a_manifest_file_lists_is_read(void **state)
{
    static const uint64_t counts[] = { 3, 5, 7, 0 };
    struct sheaf_shard_info shard;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct shard_set set;
    char text[500];

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    snprintf(text, sizeof(text), "[{\"prefix\": \"file://%s/s-\"}, \"002.tfrecord\", "
             "\"000.tfrecord\", \"000.idx\", \"002.tfrecord\"]", set.directory);
    tree_text(&root, "m.manifest", text);
    if (open_direct("ManifestFile", tree_path(&root, "m.manifest"), &dataset, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    assert_int_equal(sheaf_dataset_shard(dataset, 0, &shard, sizeof(shard)), SHEAF_OK);
    assert_int_equal(shard.samples, 3);
    assert_int_equal(sheaf_dataset_shard(dataset, 1, &shard, sizeof(shard)), SHEAF_OK);
    assert_int_equal(shard.samples, 7);
    assert_int_equal(sheaf_dataset_shard(dataset, 2, &shard, sizeof(shard)), SHEAF_ERR_ARGUMENT);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
    tree_text(&root, "m.manifest", "[{\"prefix\": \"s3://b/p/\"}, \"x.idx\"]");
    assert_int_equal(open_direct("ManifestFile", tree_path(&root, "m.manifest"), &dataset, &error),
                     SHEAF_ERR_NOT_FOUND);
    tree_text(&root, "m.manifest", "{}");
    assert_int_equal(open_direct("ManifestFile", tree_path(&root, "m.manifest"), &dataset, &error),
                     SHEAF_ERR_CORRUPT);
}

static void train_1_is_not_epoch_1_of_train(void **state)
{
    char found[TREE_PATH];
    uint64_t number;

    (void)state;
    make_fifo("input/data/train_1_0");
    assert_int_equal(kind_of("train", found), SHEAF_ERR_NOT_FOUND);
    assert_int_equal(kind_of("train_1", found), SHEAF_CHANNEL_PIPE);
    tree_text(&root, "input/data/train_2/x.tar", "");       /* this is another channel */
    tree_text(&root, "input/data/train_3", "a file");
    assert_int_equal(kind_of("train", found), SHEAF_ERR_NOT_FOUND);
    make_fifo("input/data/train_11");
    make_fifo("input/data/train_9");
    make_fifo("input/data/train_07");
    assert_int_equal(kind_of("train", found), SHEAF_CHANNEL_PIPE);
    assert_int_equal(pipe_lowest(found, &number, NULL), SHEAF_OK);
    assert_int_equal(number, 9);
}

/* ---- Ranks and failure ---------------------------------------------------------------------- */

static void objects_that_are_dealt_out_are_not_dealt_again(void **state)
{
    static const char *const distributions[] = { "FullyReplicated", "ShardedByS3Key" };

    (void)state;
    tree_text(&root, "input/config/resourceconfig.json",
              "{\"current_host\": \"algo-2\", \"hosts\": [\"algo-1\", \"algo-10\", \"algo-2\"]}");
    tree_text(&root, "input/data/train/x.tar", "");
    for (int i = 0; i < 2; i++) {
        struct sheaf_channel_options options;
        struct sheaf_channel *channel;
        uint32_t rank = 9, world_size = 9;
        char text[200];

        snprintf(text, sizeof(text), "{\"train\": {\"S3DistributionType\": \"%s\"}}",
                 distributions[i]);
        config(text);
        sheaf_channel_options_init(&options, sizeof(options));
        options.root = root.root;
        assert_int_equal(sheaf_channel_open("train", &options, &channel, NULL), SHEAF_OK);
        if (i == 0) {
            assert_int_equal(sheaf_channel_world(channel, &rank, &world_size, NULL, NULL),
                             SHEAF_OK);
            assert_int_equal(rank, 2);
            assert_int_equal(world_size, 3);
        } else {
            assert_int_equal(sheaf_channel_world(channel, &rank, &world_size, NULL, NULL),
                             SHEAF_OK);
            assert_int_equal(rank, 0);
            assert_int_equal(world_size, 1);
            setenv("LOCAL_RANK", "1", 1);
            setenv("LOCAL_WORLD_SIZE", "4", 1);
            assert_int_equal(sheaf_channel_world(channel, &rank, &world_size, NULL, NULL),
                             SHEAF_OK);
            assert_int_equal(rank, 1);
            assert_int_equal(world_size, 4);
        }
        sheaf_channel_free(channel);
    }
}

static void the_platform_is_told_the_beginning_of_a_long_failure(void **state)
{
    char message[3000], *written;
    size_t size;

    (void)state;
    memset(message, 'x', sizeof(message));
    memcpy(message + 1023, "\xc3\xa4", 2);      /* the message is cut in the middle of this text */
    message[sizeof(message) - 1] = '\0';
    assert_int_equal(sheaf_channel_report_failure(root.root, message, NULL), SHEAF_OK);
    written = tree_read(&root, "output/failure", &size);
    assert_int_equal(size, 1023);
    assert_memory_equal(written, message, size);
    free(written);
    assert_int_equal(sheaf_channel_report_failure(root.root, "short", NULL), SHEAF_OK);
    written = tree_read(&root, "output/failure", &size);
    assert_string_equal(written, "short");
    free(written);
    assert_int_equal(sheaf_channel_report_failure("/nonexistent", "x", NULL),
                     SHEAF_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_that_the_platform_allows),
        cmocka_unit_test(everything_that_the_platform_says_is_taken),
        cmocka_unit_test(hyperparameters_say_the_order),
        cmocka_unit_test(hyperparameters_that_make_no_sense_are_refused),
        cmocka_unit_test(what_is_malformed_is_refused_with_its_place),
        cmocka_unit_test(a_job_has_twenty_channels_at_most),
        cmocka_unit_test(an_unknown_channel_is_told_beside_those_there_are),
        cmocka_unit_test(file_systems_are_known_by_their_numbers),
        cmocka_unit_test_setup_teardown(what_is_at_the_path_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_needs_no_configuration, setup, teardown),
        cmocka_unit_test_setup_teardown(a_source_is_read_where_nothing_is_mounted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(augmented_manifests_are_not_read_directly, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_a_manifest_file_lists_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(train_1_is_not_epoch_1_of_train, setup, teardown),
        cmocka_unit_test_setup_teardown(objects_that_are_dealt_out_are_not_dealt_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_platform_is_told_the_beginning_of_a_long_failure,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
