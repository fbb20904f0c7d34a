// What becomes of the values of a configuration. What is told of wrong ones is in
// test_experiment_problems.cc, the original's own answers are in test_vectors.cc.
#include "core/base/file.h"
#include "core/config/experiment/check.h"
#include "core/config/experiment/schema.h"
#include "tests/config/experiment.h"

namespace det::config {

namespace {

void json_is_yaml(void **) {
  const Json config = complete(
      R"({"entrypoint": ["a", "\u00e4"], "searcher": {"name": "single", "metric": "m",
          "max_length": 5}, "data": {"a": [1, 2.5, null, "x"]}})");
  assert_string_equal(config["data"].dump().c_str(), R"({"a":[1,2.5,null,"x"]})");
  assert_string_equal(config["entrypoint"][1].get<std::string>().c_str(), "ä");
}

void null_takes_the_default(void **) {
  const Json config = with_minimal("max_restarts: null\nlabels:\n");
  assert_int_equal(config["max_restarts"].get<int>(), 5);
  assert_equal(config["labels"], Json::array());
  assert_int_equal(with_minimal("max_restarts: 0\n")["max_restarts"].get<int>(), 0);
}

void name_and_seed_are_made(void **) {
  const Json config = with_minimal("");
  const std::string name = config["name"].get<std::string>();
  assert_true(name.starts_with("Experiment (") && name.ends_with(")"));
  assert_int_equal(std::count(name.begin(), name.end(), '-'), 2);
  const auto seed = config["reproducibility"]["experiment_seed"].get<int64_t>();
  assert_true(seed > 1700000000 && seed <= UINT32_MAX);
}

void complete_configuration_is_its_own_fixed_point(void **) {
  for (const ConfigRules rules : {ConfigRules::v0_33, ConfigRules::v0_38}) {
    const Json once = complete(std::string(minimal) +
                                   "hyperparameters: {a: 1, g: {b: {type: int, minval: 1, maxval: "
                                   "3}}, n: null, l: [1]}\nenvironment: {image: x}\n"
                                   "resources: {shm_size: 1 kb, devices: ['/a:/b']}\n",
                               rules);
    const Json twice = complete(once.dump(), rules);
    assert_equal(twice, once);
  }
}

void storage_path_lies_below_the_host_path(void **) {
  const auto refused = [](const std::string &host, const std::string &path) {
    return !problems_with_minimal("checkpoint_storage: {type: shared_fs, host_path: " + host +
                                  ", storage_path: " + path + "}\n")
                .empty();
  };
  for (const char *path : {"x", "/tmp/x", "/tmp", "a/../x", "..x", "a/./b", "''"})
    assert_false(refused("/tmp", path));
  for (const char *path : {"/x", "../x", "a/../../x", "/tmp/a/../../x", "/tmp2", "/tmp/../tmp2"})
    assert_true(refused("/tmp", path));
  assert_false(refused("relative", "x"));
  assert_true(refused("relative", "../x"));
}

void any_storage_may_deduplicate(void **) {
  const auto refused = [](const std::string &storage) {
    return !problems_with_minimal("checkpoint_storage: {" + storage + "}\n").empty();
  };
  assert_false(refused("type: shared_fs, host_path: /tmp, deduplicate: true"));
  assert_false(refused("type: directory, container_path: /tmp, deduplicate: false"));
  assert_true(refused("type: shared_fs, host_path: /tmp, deduplicate: 1"));
  assert_false(refused("type: s3, bucket: b, deduplicate: true"));
  assert_true(refused("type: gcs, bucket: b, deduplicate: yes please"));
}

// Of every kind of value, and what it must not be.
void buckets_have_the_keys_that_only_we_know(void **) {
  const auto storage = [](const std::string &keys) {
    return "checkpoint_storage: {gc_latest_per_trial: true, temp_dir: /tmp, ca_bundle: /ca.pem, "
           "transfer_memory: 1048576, " +
           keys + "}\n";
  };
  for (const char *keys :
       {"type: s3, bucket: b, session_token: t, profile: p, anonymous: false, region: r, "
        "addressing_style: path, use_dualstack: true, use_fips: true, requester_pays: true, "
        "sse: 'aws:kms', sse_kms_key_id: k, storage_class: STANDARD_IA, checksum: md5, "
        "sign_payload: true, verify: true",
        "type: gcs, bucket: b, user_project: p, kms_key_name: k, storage_class: NEARLINE, "
        "endpoint_url: 'http://h', universe_domain: d, anonymous: true",
        "type: azure, container: c, account_url: 'https://h', account_name: a, anonymous: true, "
        "client_id: i, access_tier: Cool, encryption_scope: s, customer_key: k"})
    expect_problems(storage(keys), "");
  for (const char *keys :
       {"type: s3, bucket: b, verify: 'no'", "type: s3, bucket: b, region: 1",
        "type: gcs, bucket: b, region: r", "type: azure, container: c, account_url: u, sse: AES256",
        "type: s3, bucket: b, transfer_memory: 0", "type: shared_fs, host_path: /tmp, region: r"})
    assert_false(problems_with_minimal(storage(keys)).empty());
}

void prefix_must_not_step_up(void **) {
  for (const char *prefix : {"..", "../x", "x/..", "a/../b"})
    assert_true(contains(
        problems_with_minimal(
            "checkpoint_storage: {type: s3, bucket: b, prefix: " + std::string(prefix) + "}\n"),
        ".checkpoint_storage.prefix rule"));
  for (const char *prefix : {"a/./b", "a/.../b", "..a", "''"})
    expect_problems(
        "checkpoint_storage: {type: gcs, bucket: b, prefix: " + std::string(prefix) + "}\n", "");
}

void sizes_of_memory_become_bytes(void **) {
  const std::pair<const char *, int64_t> good[] = {
      {"1", 1},          {"1.5 gb", 1610612736},    {"1219021 b", 1219021}, {"2k", 2048},
      {"3MiB", 3 << 20}, {"1 t", int64_t{1} << 40}, {"0.5k", 512}};
  for (const auto &[text, bytes] : good)
    assert_int_equal(with_minimal("resources: {shm_size: '" + std::string(text) +
                                  "'}\n")["resources"]["shm_size"]
                         .get<int64_t>(),
                     bytes);
  for (const char *text : {"giga", "1.gb", "1 gi", "1 i", "1  g", "-1g", "", " ", "1 ", ".5g",
                           "1.2.3", "1kbb", "99999p", "b"})
    expect_problems("resources: {shm_size: '" + std::string(text) + "'}\n",
                    "3 .resources.shm_size rule\n");
}

void variables_of_the_template_come_first_for_every_device(void **) {
  ExperimentConfigSources sources =
      sources_of(std::string(minimal) + "environment: {environment_variables: [A=1]}\n");
  sources.config_template = {{"environment", {{"environment_variables", {"A=0", "B=2"}}}}};
  const Json variables = read_experiment_config(sources)["environment"]["environment_variables"];
  for (const char *device : {"cpu", "cuda", "rocm"})
    assert_equal(variables[device], Json({"A=0", "B=2", "A=1"}));
}

void azure_credentials_come_from_one_source(void **) {
  ExperimentConfigSources sources = sources_of(
      std::string(minimal) + "checkpoint_storage: {type: azure, connection_string: mine}\n");
  sources.master_storage = {
      {"type", "azure"}, {"container", "c"}, {"account_url", "u"}, {"credential", "k"}};
  const Json storage = read_experiment_config(sources)["checkpoint_storage"];
  assert_false(storage.contains("account_url") || storage.contains("credential"));
  assert_equal(storage["container"], "c");
  assert_equal(storage["connection_string"], "mine");
}

void images_that_a_pool_leaves_out_are_empty(void **) {
  ExperimentConfigSources sources = sources_of(minimal);
  sources.task_container_defaults = {{"image", {{"gpu", "g"}}}};
  const Json image = read_experiment_config(sources)["environment"]["image"];
  assert_equal(image["cpu"], "");
  assert_equal(image["cuda"], "g");
  assert_equal(image["rocm"], "");
}

void large_configurations_merge_in_linear_time(void **) {
  std::string text = std::string(minimal) + "data:\n";
  Json data = Json::object();
  for (int i = 0; i < 30000; ++i) text += "  a" + std::to_string(i) + ": 1\n";
  ExperimentConfigSources sources = sources_of(text);
  for (int i = 0; i < 100; ++i) data["b" + std::to_string(i)] = i;
  sources.config_template = {{"data", data}};
  assert_int_equal(read_experiment_config(sources)["data"].size(), 30100);
}

void storage_of_a_store_is_its_directory(void **) {
  ExperimentConfigSources sources = sources_of(minimal);
  sources.master_storage = store_storage("/data/store");
  const Json storage = read_experiment_config(sources)["checkpoint_storage"];
  assert_equal(storage["type"], "shared_fs");
  assert_equal(storage["host_path"], "/data/store");
}

void expect_documented(const std::string &docs, const ConfigSchema &schema);

void expect_documented(const std::string &docs, const std::vector<ConfigField> &fields) {
  for (const ConfigField &field : fields) {
    if (!contains(docs, "`" + field.key + "`")) print_error("%s\n", field.key.c_str());
    assert_true(contains(docs, "`" + field.key + "`"));
    expect_documented(docs, field.schema);
  }
}

void expect_documented(const std::string &docs, const ConfigSchema &schema) {
  expect_documented(docs, schema.fields);
  for (const ConfigAlternative &alternative : schema.alternatives) {
    assert_true(contains(docs, "`" + alternative.name + "`"));
    expect_documented(docs, alternative.fields);
  }
  // A hyperparameter may hold hyperparameters.
  if (schema.elements != nullptr && schema.discriminator.empty())
    expect_documented(docs, *schema.elements);
}

void every_field_is_documented(void **) {
  const std::string docs = read_file(EXPERIMENT_DOCS);
  for (const ConfigRules rules : {ConfigRules::v0_33, ConfigRules::v0_38})
    expect_documented(docs, experiment_schema(rules));
}

}  // namespace

}  // namespace det::config

int test_experiment_config() {
  using namespace det::config;
  const CMUnitTest tests[] = {
      cmocka_unit_test(json_is_yaml),
      cmocka_unit_test(null_takes_the_default),
      cmocka_unit_test(name_and_seed_are_made),
      cmocka_unit_test(complete_configuration_is_its_own_fixed_point),
      cmocka_unit_test(storage_path_lies_below_the_host_path),
      cmocka_unit_test(any_storage_may_deduplicate),
      cmocka_unit_test(buckets_have_the_keys_that_only_we_know),
      cmocka_unit_test(prefix_must_not_step_up),
      cmocka_unit_test(sizes_of_memory_become_bytes),
      cmocka_unit_test(variables_of_the_template_come_first_for_every_device),
      cmocka_unit_test(azure_credentials_come_from_one_source),
      cmocka_unit_test(images_that_a_pool_leaves_out_are_empty),
      cmocka_unit_test(large_configurations_merge_in_linear_time),
      cmocka_unit_test(storage_of_a_store_is_its_directory),
      cmocka_unit_test(every_field_is_documented),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
