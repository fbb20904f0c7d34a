// A start that fails on its own arguments records nothing, and spoils nothing that was recorded.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "tests/context/child_process.h"
#include "tests/context/fakes.h"
#include "tests/context/home.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::context;
using test::failure_of;
using test::Home;

// A trial that has come to its end, and a way to start it again that must be refused.
class CompletedTrial {
 public:
  CompletedTrial() {
    options.external_id = "job";
    options.config_text = R"({"checkpoint_storage": {"type": "directory", "container_path": ")" +
                          storage() + R"("}})";
    const auto core = Core::start(options);
    core->searcher().next()->report_completed(0.5);
    core->close(engine::RunEnd::ok);
    options.config_text.clear();
  }

  std::string storage() const { return home.path() + "/checkpoints"; }

  void refuses(const char *fragment, Code code = Code::invalid) const {
    const Code answer = failure_of([&] { Core::start(options); }, fragment);
    assert_int_equal(static_cast<int>(answer), static_cast<int>(code));
    is_as_it_was();
  }

  void is_as_it_was() const {
    assert_string_equal(home.text("SELECT state FROM trials").c_str(), "COMPLETED");
    assert_string_equal(home.text("SELECT COUNT(*) FROM runs").c_str(), "1");
    assert_string_equal(home.text("SELECT COUNT(*) FROM experiments").c_str(), "1");
    assert_false(home.has_run_directories());
  }

  const Home home;
  CoreOptions options = home.options();
};

void signals_that_cannot_be_handled_start_nothing(void **) {
  CompletedTrial trial;
  trial.options.preempt_signals = {SIGUSR1, SIGKILL};
  trial.refuses("signal 9");
  trial.options.preempt_signals = {9999};
  trial.refuses("signal 9999");
  trial.options.preempt_signals = {};
  trial.options.stack_trace_signal = 9999;
  trial.refuses("signal 9999");
  struct sigaction now {};
  sigaction(SIGUSR1, nullptr, &now);
  assert_equal(now.sa_handler, SIG_DFL);
}

// What a run says there from start to end.
std::string on_terminal(const CoreOptions &options) {
  const Fd terminal(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK));
  if (grantpt(terminal.get()) != 0 || unlockpt(terminal.get()) != 0) return "no terminal";
  dup2(open_file(ptsname(terminal.get()), O_RDWR | O_NOCTTY).get(), STDERR_FILENO);
  Core::start(options)->close(engine::RunEnd::ok);
  std::array<char, 4096> text{};
  const ssize_t size = read(terminal.get(), text.data(), text.size());
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

void people_at_a_terminal_read_of_a_run_whose_output_is_captured(void **) {
  const TemporaryDirectory directory;
  const Home home;
  const int status = test::run_in_child(directory.path(), [&] {
    CoreOptions options = home.options();
    options.capture_output = true;
    options.log_level = LogLevel::warning;
    const std::string said = on_terminal(options);
    const bool is_all = contains(said, "show its progress") && contains(said, "ended well");
    return is_all && home.text("SELECT COUNT(*) FROM logs") == "0" ? 0 : 1;
  });
  assert_int_equal(status, 0);
}

void the_line_for_people_stops_no_run(void **) {
  const TemporaryDirectory directory;
  const Home home;
  const int status = test::run_in_child(directory.path(), [&] {
    setenv("DET_MASTER", "ftp://nowhere", 1);
    on_terminal(home.options());
    return home.text("SELECT state FROM trials") == "COMPLETED" ? 0 : 1;
  });
  assert_int_equal(status, 0);
}

void a_second_capture_starts_nothing(void **) {
  const TemporaryDirectory directory;
  const CompletedTrial trial;
  const int status = test::run_in_child(directory.path(), [&] {
    const OutputCapture first;
    CoreOptions options = trial.options;
    options.capture_output = true;
    return failure_of([&] { Core::start(options); }, "captured already") == Code::state ? 0 : 1;
  });
  assert_int_equal(status, 0);
  trial.is_as_it_was();
}

void a_storage_that_is_a_file_starts_nothing(void **) {
  CompletedTrial trial;
  write_file_durably(trial.home.path() + "/file", "");
  for (const char *where : {"/file", "/file/below"}) {
    trial.options.checkpoint_storage = trial.home.path() + where;
    trial.refuses("is no directory");
  }
  trial.options.checkpoint_storage.clear();
  trial.options.config_text = R"({"checkpoint_storage": {"type": "shared_fs", "host_path": ")" +
                              trial.home.path() + R"(/file"}})";
  trial.refuses("is no directory");
}

void a_recorded_storage_that_became_a_file_starts_nothing(void **) {
  const CompletedTrial trial;
  std::filesystem::remove_all(trial.storage());
  write_file_durably(trial.storage(), "");
  trial.refuses("is no directory");
}

void a_configuration_with_mistakes_starts_nothing(void **) {
  CompletedTrial trial;
  trial.options.config_text = R"({"sercher": {"name": "single"}})";
  trial.refuses("config_json: <config>: unknown key 'sercher'; did you mean 'searcher'?");
  trial.options.config_text = R"({"searcher": {"name": "single", "max_lenght": 5}})";
  trial.refuses("<config>.searcher: unknown key 'max_lenght'");
  trial.options.config_text = R"({"searcher": {"name": "single", "max_length": "long"}})";
  trial.refuses("<config>.searcher.max_length");
  trial.options.config_text = R"({"max_restarts": -1, "searcher": 5})";
  trial.refuses("and 1 more problem");
  trial.options.config_text = R"({"hyperparameters": 3})";
  trial.refuses("<config>.hyperparameters");
}

void a_configuration_need_not_be_complete(void **) {
  for (const char *config :
       {R"({})", R"({"searcher": {"name": "single"}})", R"({"data": {"any": ["thing"]}})",
        R"({"searcher": {"name": "single", "metric": "m", "max_length": {"batches": 4}}})",
        R"({"searcher": {"name": "adaptive_asha", "max_trials": 2, "time_metric": "batches"}})",
        R"({"preemption_timeout": 5, "hyperparameters": {"lr": {"type": "const", "val": 1}}})"}) {
    const Home home;
    CoreOptions options = home.options();
    options.config_text = config;
    Core::start(options)->close(engine::RunEnd::ok);
  }
}

void a_trial_that_is_refused_makes_no_store(void **) {
  const Home home;
  CoreOptions options = home.options();
  options.preempt_signals = {SIGKILL};
  assert_equal(failure_of([&] { Core::start(options); }), Code::invalid);
  options.preempt_signals = {};
  options.config_text = R"({"nmae": "x"})";
  assert_equal(failure_of([&] { Core::start(options); }), Code::invalid);
  assert_false(home.has_store());
}

// What starting and closing a program logs.
std::string told_by(const Home &home, const std::string &config, const std::string &hparams = {},
                    const std::function<void(Core &)> &body = {}) {
  std::string told;
  CoreOptions options = home.options();
  options.external_id = "job";
  options.config_text = config;
  options.hparams_text = hparams;
  options.log_level = LogLevel::warning;
  options.log = [&](const LogLine &line) { told += std::string(line.text) + "\n"; };
  const auto core = Core::start(options);
  if (body) body(*core);
  core->close(engine::RunEnd::ok);
  return told;
}

constexpr const char *first_config =
    R"({"searcher": {"name": "single", "metric": "loss", "max_length": 100},
        "hyperparameters": {"lr": 0.1, "net": {"depth": 3}}, "data": {"set": "digits"}})";

void values_that_are_ignored_are_named(void **) {
  const Home home;
  assert_equal(told_by(home, first_config), "");
  assert_equal(told_by(home, first_config), "");
  const std::string told = told_by(
      home, R"({"searcher": {"name": "single", "metric": "error", "max_length": {"batches": 50}},
                "hyperparameters": {"lr": 0.2, "net": {"depth": 3, "width": 8}},
                "data": {"set": "letters"}})");
  assert_true(contains(told, "hyperparameter lr: 0.2 (0.1 stays)"));
  assert_true(contains(told, "hyperparameter net.width: 8 (it has none)"));
  assert_true(contains(told, "searcher.metric: \"error\" (\"loss\" stays)"));
  assert_true(contains(told, "searcher.max_length: 50 (100 stays)"));
  assert_true(contains(told, "data.set"));
  assert_false(contains(told, "letters") || contains(told, "depth"));
  assert_true(contains(told, "give another external_id"));
  // More to do is heeded.
  assert_equal(told_by(home, R"({"searcher": {"name": "single", "max_length": 200}})"), "");
  const std::string named = told_by(home, "", R"({"lr": 0.3})");
  assert_true(contains(named, "hyperparameter lr: 0.3 (0.1 stays)"));
  assert_true(contains(named, "continuing trial 1 ('job') with"));
  // As `det resume` starts it, whatever name the program gives.
  setenv("DET_TRIAL_ID", "1", 1);
  const std::string numbered = told_by(home, "", R"({"lr": 0.3})");
  unsetenv("DET_TRIAL_ID");
  assert_true(contains(numbered, "continuing trial 1 with"));
}

void a_finished_program_that_is_started_again_is_told_so(void **) {
  const Home home;
  told_by(home, first_config, "",
          [](Core &core) { core.searcher().next()->report_completed(0.5); });
  const std::string told = told_by(home, first_config);
  assert_true(contains(told, "completed its length of 100"));
  assert_true(contains(told, "raise searcher.max_length"));
  assert_equal(told_by(home, R"({"searcher": {"name": "single", "max_length": 200}})"), "");
}

void another_directory_is_told(void **) {
  const Home home;
  told_by(home, first_config);
  const TemporaryDirectory other;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(other.path());
  const std::string told = told_by(home, first_config);
  std::filesystem::current_path(before);
  assert_true(contains(told, before.string()) && contains(told, other.path().string()));
  assert_true(contains(told, "DET_EXTERNAL_ID"));
}

void what_comes_from_outside_goes_before_the_program(void **) {
  const Home home;
  setenv("DET_EXTERNAL_ID", "night", 1);
  setenv("DET_EXPERIMENT_CONFIG", R"({"searcher": {"max_length": 7}, "data": {"set": "digits"}})",
         1);
  setenv("DET_HPARAMS", R"({"lr": 0.5})", 1);
  const std::string told = told_by(home, first_config, "", [](Core &core) {
    assert_int_equal(core.searcher().next()->length(), 7);
    assert_equal(core.info().run().hparams, parse_json(R"({"lr": 0.5, "net": {"depth": 3}})", "h"));
    assert_true(core.info().run().config.at("searcher").at("metric") == "loss");
  });
  for (const char *name : {"DET_EXTERNAL_ID", "DET_EXPERIMENT_CONFIG", "DET_HPARAMS"})
    unsetenv(name);
  assert_true(contains(told, "external_id is 'night'") && contains(told, "in place of 'job'"));
  assert_true(contains(told, "searcher.max_length comes from the variable DET_EXPERIMENT_CONFIG"));
  assert_true(contains(told, "lr comes from the variable DET_HPARAMS"));
  assert_false(contains(told, "data.set"));
  assert_string_equal(home.text("SELECT external_id FROM trials").c_str(), "night");
}

}  // namespace

int test_start() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(signals_that_cannot_be_handled_start_nothing),
      cmocka_unit_test(people_at_a_terminal_read_of_a_run_whose_output_is_captured),
      cmocka_unit_test(the_line_for_people_stops_no_run),
      cmocka_unit_test(a_second_capture_starts_nothing),
      cmocka_unit_test(a_storage_that_is_a_file_starts_nothing),
      cmocka_unit_test(a_recorded_storage_that_became_a_file_starts_nothing),
      cmocka_unit_test(a_configuration_with_mistakes_starts_nothing),
      cmocka_unit_test(a_configuration_need_not_be_complete),
      cmocka_unit_test(a_trial_that_is_refused_makes_no_store),
      cmocka_unit_test(values_that_are_ignored_are_named),
      cmocka_unit_test(a_finished_program_that_is_started_again_is_told_so),
      cmocka_unit_test(another_directory_is_told),
      cmocka_unit_test(what_comes_from_outside_goes_before_the_program),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
