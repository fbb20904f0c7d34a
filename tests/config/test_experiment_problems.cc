// What users are told of a configuration that is wrong.
#include "core/config/experiment/schema.h"
#include "tests/config/experiment.h"

namespace det::config {

namespace {

void unknown_key_is_named_with_its_line_and_a_suggestion(void **) {
  expect_problems("max_restart: 1\n", "3  unknown_key max_restart\n");
  assert_string_equal(
      message_in(std::string(minimal) + "\nmax_restart: 1\n").c_str(),
      "exp.yaml:4: <config>: unknown key 'max_restart'; did you mean 'max_restarts'?");
  assert_true(contains(message_in(std::string(minimal) + "resources: {zzzzzzz: 1}\n"),
                       "allowed are slots_per_trial, max_slots"));
  assert_true(contains(
      message_in("entrypoint: x\nsearcher: {name: single, metric: m, max_length: 1, mode: x}\n"),
      "unknown key 'mode' for 'single'; it belongs to 'adaptive_asha'"));
}

void every_problem_of_every_stage_is_told_at_once(void **) {
  assert_string_equal(problems_in("max_restarts: -1\n"
                                  "hyperparameters:\n"
                                  "  b: {type: int, minval: 2,\n"
                                  "      maxval: 1}\n"
                                  "  a: {type: nope}\n"
                                  "resources:\n"
                                  "  slots_per_trial: no\n"
                                  "searcher:\n"
                                  "  name: random\n"
                                  "  max_length: {batches: 0}\n"
                                  "workspace: w\n")
                          .c_str(),
                      "1 .max_restarts out_of_range\n"
                      "3 .hyperparameters.b bounds_order\n"
                      "5 .hyperparameters.a no_alternative\n"
                      "7 .resources.slots_per_trial wrong_type\n"
                      "10 .searcher.max_length.batches out_of_range\n"
                      "1  workspace_project_pair project\n"
                      "1  entrypoint_required entrypoint\n"
                      "8 .searcher missing_required metric\n"
                      "8 .searcher missing_required max_trials\n");
}

void a_text_that_is_no_yaml_has_a_line_and_a_column(void **) {
  assert_string_equal(
      message_in(std::string(minimal) + "hyperparameters:\n  lr: 1\n  batch_size 32\n").c_str(),
      "exp.yaml:5:3: <config>: not valid YAML: 'batch_size 32' is no key without a ':' behind it; "
      "write KEY: VALUE");
  const ConfigProblem problem = problems_of(sources_of("a: b: c\n")).at(0);
  assert_equal(to_json(problem)["column"], 5);
  assert_true(to_json(problems_of(sources_of("a: 1\n")).at(0))["column"].is_null());
}

void keys_of_releases_before_0_13_are_told_what_took_their_place(void **) {
  const auto told = [](const std::string &text, const char *expected) {
    const std::string message = problems_of(sources_of(text)).at(0).message;
    if (!contains(message, expected)) fail_msg("%s: %s", text.c_str(), message.c_str());
  };
  const std::string start = "entrypoint: x\nsearcher: {name: single, metric: m, ";
  told(std::string(minimal) + "batches_per_step: 10\n",
       "unknown key 'batches_per_step'; 'scheduling_unit' took its place in release 0.13");
  told(std::string(minimal) + "min_validation_period: 32\n",
       "found 32; releases before 0.13 counted steps here, of 100 batches or what "
       "'batches_per_step' said; write 'min_validation_period: {batches: 3200}'");
  told(std::string(minimal) + "min_checkpoint_period: 1\n",
       "'min_checkpoint_period: {batches: 100}'");
  told(start + "max_steps: 10}\n", "write 'max_length: {batches: 1000}'");
  told(start + "target_trial_steps: 10}\n", "write 'max_length: {batches: 1000}'");
  told(start + "step_budget: 7}\n", "write 'budget: {batches: 700}'");
  told(start + "steps_per_round: 2}\n", "write 'length_per_round: {batches: 200}'");
}

void a_truth_in_place_of_a_text_is_told_to_be_quoted(void **) {
  const auto told = [](const std::string &text) {
    return problems_of(sources_of(text)).at(0).message;
  };
  assert_string_equal(told(std::string(minimal) + "name: no\n").c_str(),
                      "expected a text, found false; unquoted, n, no and off are false in YAML: "
                      "put a text into quotes");
  assert_true(
      contains(told(std::string(minimal) + "checkpoint_policy: on\n"), "y, yes and on are true"));
}

// As the original has it: what may only be one of some values has no type besides.
void a_value_of_another_type_is_no_choice_either(void **) {
  expect_problems("checkpoint_policy: 5\n", "3 .checkpoint_policy not_in_enum\n");
  expect_problems("optimizations: {mixed_precision: [O1]}\n",
                  "3 .optimizations.mixed_precision not_in_enum\n");
  assert_string_equal(
      problems_in("entrypoint: x\nsearcher: {name: custom, metric: m, unit: true}\n").c_str(),
      "2 .searcher.unit not_in_enum\n");
  assert_string_equal(
      problems_in("entrypoint: x\nsearcher: {name: adaptive_asha, metric: m, max_trials: 16,\n"
                  "  max_length: 64, mode: 1}\n")
          .c_str(),
      "3 .searcher.mode not_in_enum\n");
  assert_equal(with_minimal("checkpoint_policy: null\n")["checkpoint_policy"], "best");
}

void kerberos_is_filled_in_and_needs_its_file(void **) {
  const char *const filled = R"({"kerberos":{"config_file":""}})";
  assert_string_equal(with_minimal("security: {}\n")["security"].dump().c_str(), filled);
  assert_string_equal(with_minimal("security: {kerberos: null}\n")["security"].dump().c_str(),
                      filled);
  assert_false(with_minimal("security: null\n").contains("security"));
  expect_problems("security: {kerberos: {}}\n",
                  "3 .security.kerberos missing_required config_file\n");
}

void an_unknown_name_has_the_line_where_it_stands(void **) {
  assert_string_equal(problems_in("entrypoint: x\n"
                                  "searcher:\n"
                                  "  metric: loss\n"
                                  "  name: randon\n"
                                  "checkpoint_storage:\n"
                                  "  save_trial_best: 1\n"
                                  "  type: ftp\n")
                          .c_str(),
                      "4 .searcher no_alternative\n7 .checkpoint_storage no_alternative\n");
  assert_string_equal(problems_in("entrypoint: x\n"
                                  "searcher:\n"
                                  "  metric: loss\n"
                                  "  name: adaptive\n")
                          .c_str(),
                      "4 .searcher searcher_not_runnable\n");
}

void warnings_are_no_problems(void **) {
  std::vector<ConfigProblem> warnings;
  const std::string text = std::string(minimal) + "hyperparameters:\n  y: 1\nname: a\nname: b\n";
  const Json config = read_experiment_config(sources_of(text), &warnings);
  assert_true(config["hyperparameters"].contains("true"));
  assert_equal(config["name"], "b");
  assert_int_equal(warnings.size(), 2);
  assert_string_equal(describe("f", warnings[0]).c_str(),
                      "f:4: <config>.hyperparameters: warning: the key 'y' is read as true, as "
                      "YAML has it; to have a key of that name, write it in quotes");
  assert_true(warnings[1].is_warning);
  assert_equal(warnings[1].kind, "repeated_key");
  assert_equal(warnings[1].line, 6);
  warnings.clear();
  expect_error(Code::invalid,
               [&] { read_experiment_config(sources_of(text + "nane: 1\n"), &warnings); });
  assert_int_equal(warnings.size(), 2);
}

void messages_say_what_was_found_and_what_is_allowed(void **) {
  const std::pair<const char *, const char *> cases[] = {
      {"max_restarts: -1", "must be at least 0, found -1"},
      {"max_restarts: '3'", "expected an integer, found the text '3'"},
      {"max_restarts: 1.5", "expected an integer, found 1.5"},
      {"max_restarts: 1e30", "1e+30 does not fit into 64 bits"},
      {"name: [a]", "expected a text, found a list"},
      {"entrypoint: {a: 1}", "expected a text or a list, found an object"},
      {"internal: 1", "expected null, found 1"},
      {"resources: {priority: 100}", "must be from 1 to 99, found 100"},
      {"checkpoint_policy: some", "must be best, all or none, found the text 'some'"},
      {"checkpoint_policy: 5", "must be best, all or none, found 5"},
      {"hyperparameters: {a: {type: log, minval: 0, maxval: 1, base: 0}}", "must be above 0"},
      {"hyperparameters: {a: {type: int, minval: 2, maxval: 1}}", "found 2 and 1"},
      {"min_validation_period: {steps: 1}", "exactly one of 'batches', 'records' and 'epochs'"},
      {"retention_policy: {}", "'log_retention_days' is missing"},
      {"checkpoint_storage: {type: ftp}", "'type' must be 'shared_fs', 'directory', 's3', 'gcs'"},
      {"checkpoint_storage: {host_path: /h}", "'host_path' has no meaning without 'type'"},
      {"reproducibility: {experiment_seed: 4294967296}", "at most 4294967295, found 4294967296"},
      {"version: 1", "there is no version 1"},
  };
  for (const auto &[text, words] : cases) {
    const std::string all = std::string(minimal) + text + "\n";
    const std::string message = describe("f", problems_of(sources_of(all)).at(0));
    if (!contains(message, words)) print_error("%s: %s\n", text, message.c_str());
    assert_true(contains(message, words));
  }
}

void long_texts_are_shortened_in_messages(void **) {
  const std::string message =
      message_in(std::string(minimal) + "max_restarts: '" + std::string(59, 'x') + "ää'\n");
  assert_true(contains(message, std::string(59, 'x') + "...'"));
}

void error_is_one_line_that_counts_the_rest(void **) {
  const auto text_of = [](const std::string &text) {
    return expect_error(Code::invalid, [&] { with_minimal(text); });
  };
  assert_string_equal(text_of("a_key: 1\n").c_str(),
                      describe("reading a configuration: exp.yaml",
                               problems_of(sources_of(minimal + std::string("a_key: 1\n"))).at(0))
                          .c_str());
  assert_true(contains(text_of("foo: 1\ndebug: 2\n"), "; and 1 more problem, which"));
  assert_true(contains(text_of("foo: 1\ndebug: 2\nname: 3\n"), "; and 2 more problems, which"));
}

void wrong_types_everywhere_are_told_and_nothing_breaks(void **) {
  const Json whole = with_minimal("");
  const char *const values[] = {
      "null", "true", "-7", "1.5", "x", "[]", "[[1], {a: 1}]", "{}", "{type: x, name: y}", "1e300"};
  for (const auto &[key, value] : whole.items())
    for (const char *wrong : values) {
      problems_with_minimal(key + ": " + wrong + "\n");
      if (!value.is_object()) continue;
      for (const auto &[inner, unused] : value.items())
        problems_with_minimal(key + ": {" + inner + ": " + wrong + "}\n");
    }
  for (const char *name : {"single", "random", "grid", "async_halving", "adaptive_asha", "custom"})
    for (const char *key : {"max_length", "max_trials", "divisor", "bracket_rungs", "mode",
                            "num_rungs", "metric", "max_time", "time_metric"})
      for (const char *wrong : values)
        for (const ConfigRules rules : {ConfigRules::v0_33, ConfigRules::v0_38})
          problems_in(std::string("entrypoint: x\nsearcher: {name: ") + name + ", " + key + ": " +
                          wrong + "}\n",
                      rules);
  for (const char *list : {"bind_mounts", "log_policies"})
    for (const char *wrong : values)
      problems_with_minimal(std::string(list) + ": [" + wrong + ", {host_path: " + wrong +
                            ", name: " + wrong + ", pattern: " + wrong + "}]\n");
}

void no_more_than_a_thousand_problems_are_told(void **) {
  std::string text = minimal;
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  assert_int_equal(problems_of(sources_of(text)).size(), 1000);
}

void text_that_is_no_yaml_is_one_problem(void **) {
  assert_string_equal(problems_in("a: 1\nb: [1, 2\nc: }\n").c_str(), "3  yaml\n");
  assert_string_equal(problems_in("").c_str(), "1  wrong_type\n");
  assert_string_equal(problems_in("- a\n").c_str(), "1  decode\n");
  assert_string_equal(problems_in(std::string(10 << 20, ' ')).c_str(), "1  yaml\n");
}

void a_grid_needs_counts_also_inside_of_lists(void **) {
  const std::string grid =
      "entrypoint: x\nsearcher: {name: grid, metric: m, max_length: 1}\nhyperparameters:\n";
  assert_string_equal(
      problems_in(grid + "  x: [1, {type: int, minval: 1, maxval: 2}]\n  g:\n"
                         "    b: {type: double, minval: 0, maxval: 1}\n")
          .c_str(),
      "4 .hyperparameters.x[1] grid_count_missing\n6 .hyperparameters.g.b grid_count_missing\n");
  assert_string_equal(problems_in(grid + "  g: {h: {}}\n").c_str(), "3 .hyperparameters rule\n");
  complete(grid + "  g: {h: {a: 1}}\n");
}

void a_grid_from_a_template_needs_counts(void **) {
  ExperimentConfigSources sources =
      sources_of("entrypoint: x\nhyperparameters: {a: {type: int, minval: 1, maxval: 2}}\n");
  sources.config_template = {{"searcher", {{"name", "grid"}, {"metric", "m"}, {"max_length", 1}}}};
  const std::vector<ConfigProblem> problems = problems_of(sources);
  assert_int_equal(problems.size(), 1);
  assert_string_equal(problems[0].kind.c_str(), "grid_count_missing");
  assert_equal(problems[0].stage, ConfigStage::complete);
}

std::string halving(const std::string &name, const std::string &rest) {
  return "entrypoint: x\nsearcher: {name: " + name + ", metric: m, " + rest + "}\n";
}

void rungs_of_equal_length_are_refused(void **) {
  for (const char *rest : {"num_rungs: 3, max_trials: 4, divisor: 3, max_length: {batches: 4}",
                           "num_rungs: 2, max_trials: 4, max_length: {batches: 1}",
                           "num_rungs: 1024, max_trials: 4, max_length: {batches: 9}"})
    assert_string_equal(problems_in(halving("async_halving", rest)).c_str(),
                        "2 .searcher.max_length rule\n");
  for (const char *rest : {"max_trials: 100, max_length: 10, divisor: 1.5, max_rungs: 9",
                           "max_trials: 4, max_length: 10, bracket_rungs: [1, 4]"})
    assert_string_equal(problems_in(halving("adaptive_asha", rest)).c_str(),
                        "2 .searcher.max_length rule\n");
  complete(halving("async_halving",
                   "num_rungs: 3, max_trials: 4, divisor: 3, max_length: {batches: 9}"));
  complete(halving("adaptive_asha", "max_trials: 100, max_length: 2"));
  complete(halving("adaptive_asha", "max_trials: 1, max_length: 1"));
  const std::string timed = "max_trials: 4, time_metric: batches, num_rungs: 3, divisor: 3, ";
  assert_string_equal(
      problems_in(halving("async_halving", timed + "max_time: 4"), ConfigRules::v0_38).c_str(),
      "2 .searcher.max_time rule\n");
  complete(halving("async_halving", timed + "max_time: 9"), ConfigRules::v0_38);
}

void rungs_without_end_are_refused(void **) {
  assert_string_equal(
      problems_in(halving("async_halving",
                          "num_rungs: 9007199254740993, max_trials: 1, divisor: 1.0000000001, "
                          "max_length: {batches: 9007199254740993}"))
          .c_str(),
      "2 .searcher rule\n");
}

void lengths_of_zero_are_refused_where_they_divide(void **) {
  assert_string_equal(problems_in(halving("adaptive_asha", "max_trials: 4, max_length: 0")).c_str(),
                      "2 .searcher.max_length out_of_range\n");
  complete(halving("single", "max_length: 0"));
}

void searchers_that_are_gone_are_known_but_refused(void **) {
  for (const char *name : {"sync_halving", "adaptive", "adaptive_simple"})
    assert_true(contains(problems_in(halving(name, "max_length: {batches: 1}")),
                         ".searcher searcher_not_runnable"));
}

void problems_of_the_template_say_so(void **) {
  for (const Json &wrong : {Json{{"gpus", 1}}, Json{{"priority", 0}}}) {
    ExperimentConfigSources sources = sources_of(minimal);
    sources.config_template["resources"] = wrong;
    const std::vector<ConfigProblem> problems = problems_of(sources);
    assert_int_equal(problems.size(), 1);
    assert_true(problems[0].path.starts_with(".resources"));
    assert_true(contains(problems[0].message, "it comes from the template"));
  }
}

}  // namespace

}  // namespace det::config

int test_experiment_problems() {
  using namespace det::config;
  const CMUnitTest tests[] = {
      cmocka_unit_test(unknown_key_is_named_with_its_line_and_a_suggestion),
      cmocka_unit_test(a_text_that_is_no_yaml_has_a_line_and_a_column),
      cmocka_unit_test(keys_of_releases_before_0_13_are_told_what_took_their_place),
      cmocka_unit_test(a_truth_in_place_of_a_text_is_told_to_be_quoted),
      cmocka_unit_test(every_problem_of_every_stage_is_told_at_once),
      cmocka_unit_test(a_value_of_another_type_is_no_choice_either),
      cmocka_unit_test(kerberos_is_filled_in_and_needs_its_file),
      cmocka_unit_test(an_unknown_name_has_the_line_where_it_stands),
      cmocka_unit_test(warnings_are_no_problems),
      cmocka_unit_test(messages_say_what_was_found_and_what_is_allowed),
      cmocka_unit_test(long_texts_are_shortened_in_messages),
      cmocka_unit_test(error_is_one_line_that_counts_the_rest),
      cmocka_unit_test(wrong_types_everywhere_are_told_and_nothing_breaks),
      cmocka_unit_test(no_more_than_a_thousand_problems_are_told),
      cmocka_unit_test(text_that_is_no_yaml_is_one_problem),
      cmocka_unit_test(a_grid_needs_counts_also_inside_of_lists),
      cmocka_unit_test(a_grid_from_a_template_needs_counts),
      cmocka_unit_test(rungs_of_equal_length_are_refused),
      cmocka_unit_test(rungs_without_end_are_refused),
      cmocka_unit_test(lengths_of_zero_are_refused_where_they_divide),
      cmocka_unit_test(searchers_that_are_gone_are_known_but_refused),
      cmocka_unit_test(problems_of_the_template_say_so),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
