// What is found out about the command of a trial before it is started.
#include "core/launcher/entrypoint.h"

#include <filesystem>
#include <fstream>

#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::launcher;

// A program in the place of Python.
std::string python(const TemporaryDirectory &folder, const std::string &text) {
  const std::filesystem::path path = folder / "python3";
  std::ofstream(path) << "#!/bin/sh\n" << text << '\n';
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

void a_look_at_a_trial_that_takes_too_long_says_what_was_run_and_why(void **) {
  const TemporaryDirectory folder;
  TrialLaunch launch;
  launch.command = {python(folder, "sleep 60"), "-m", "detcore.trial", "model_def:Trial"};
  const std::string message = expect_error(
      Code::timeout, [&] { require_python_trial(launch, std::chrono::milliseconds(100)); });
  assert_true(contains(message, "starting the trial model_def:Trial: '" + launch.command[0] +
                                    " -m detcore.trial --check model_def:Trial'"));
  assert_true(contains(message, "did not end within 0 s"));
}

void python_is_asked_once_where_determined_is(void **) {
  const TemporaryDirectory folder;
  TrialLaunch launch;
  launch.directory = folder.path();
  launch.command = {"/bin/sh", "-c", "./python3 train.py"};
  python(folder, "echo asked >> asked; echo /stand/in");
  launch.environment["PYTHONPATH"] = "/own";
  StandIn stand_in;
  stand_in.add_to(launch);
  assert_string_equal(launch.environment["PYTHONPATH"].c_str(), "/stand/in:/own");
  launch.environment["PYTHONPATH"] = "/another";
  stand_in.add_to(launch);
  assert_string_equal(launch.environment["PYTHONPATH"].c_str(), "/stand/in:/another");
  assert_int_equal(std::filesystem::file_size(folder / "asked"), 6);
}

void other_commands_and_a_python_without_detcore_stay_as_they_are(void **) {
  const TemporaryDirectory folder;
  TrialLaunch launch;
  launch.directory = folder.path();
  const std::string own = python(folder, "echo asked >> asked; exit 1");
  for (const std::vector<std::string> &command : std::vector<std::vector<std::string>>{
           {"/bin/sh", "-c", "./train --fast"}, {own, "-m", "detcore.trial", "model_def:Trial"}}) {
    launch.command = command;
    StandIn().add_to(launch);
  }
  assert_false(std::filesystem::exists(folder / "asked"));
  launch.command = {own, "train.py"};
  StandIn().add_to(launch);
  assert_true(std::filesystem::exists(folder / "asked"));
  assert_true(launch.environment.empty());
}

}  // namespace

int test_entrypoint() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_look_at_a_trial_that_takes_too_long_says_what_was_run_and_why),
      cmocka_unit_test(python_is_asked_once_where_determined_is),
      cmocka_unit_test(other_commands_and_a_python_without_detcore_stay_as_they_are),
  };
  return cmocka_run_group_tests_name("entrypoint", tests, nullptr, nullptr);
}
