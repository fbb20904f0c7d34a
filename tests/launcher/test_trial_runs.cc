// Runs that go on: their deadlines, and what is told of them.
#include "core/launcher/trial_runs.h"

#include "tests/launcher/experiment.h"

namespace det::test {
namespace {

using Clock = launcher::TrialRuns::Clock;
using std::chrono::seconds;

// Their processes take their time to die.
class SlowToDie final : public SimulatedTrials {
 public:
  using SimulatedTrials::SimulatedTrials;
  void kill(int64_t trial_id) override { killed.push_back(trial_id); }
  std::vector<int64_t> killed;
};

// The runs of an experiment, without its supervisor.
struct Runs {
  Experiment experiment;
  SlowToDie trials{experiment.store(), 4, {}};
  engine::SupervisedExperiment lead{experiment.store_directory(), experiment.id(), {}};
  std::vector<std::string> warnings;
  launcher::TrialRuns runs{
      lead, trials, lead.experiment(), experiment.store_directory(),
      std::make_shared<Logger>(LogLevel::warning, [this](LogLevel, const std::string &line) {
        warnings.push_back(line);
      })};
  const Clock::time_point start{};

  explicit Runs(int64_t count) : experiment(random_of(count, count)) {
    lead.take_up(search::make_search(lead.experiment().config, search::SearchRules::operations),
                 std::nullopt);
    lead.change_state(engine::state::active);
    lead.search().begin();
  }
};

void a_run_is_killed_once_when_its_time_is_over(void **) {
  Runs here(2);
  for (const int64_t trial : {1, 2}) assert_equal(here.runs.start(trial), launcher::Launched::yes);
  assert_equal(here.runs.next_deadline(), Clock::time_point::max());
  here.runs.leave_by(1, here.start + seconds(20));
  here.runs.leave_by(1, here.start + seconds(10));
  here.runs.leave_by(1, here.start + seconds(30));
  assert_equal(here.runs.next_deadline(), here.start + seconds(10));
  here.runs.kill_overdue(here.start + seconds(9));
  assert_true(here.trials.killed.empty());
  here.runs.kill_overdue(here.start + seconds(10));
  // It is dying: no word helps any more.
  here.runs.carry_out(1, {launcher::RunOrder::Kind::leave, "pause"}, here.start);
  here.runs.kill_overdue(here.start + std::chrono::hours(24));
  assert_equal(here.trials.killed, std::vector<int64_t>{1});
  assert_int_equal(here.warnings.size(), 1);
}

void a_run_that_is_to_leave_has_the_time_of_its_configuration(void **) {
  Runs here(1);
  here.runs.start(1);
  here.runs.carry_out(1, {}, here.start);
  assert_equal(here.runs.next_deadline(), Clock::time_point::max());
  here.runs.carry_out(1, {launcher::RunOrder::Kind::leave, "cancel"}, here.start);
  assert_equal(here.runs.next_deadline(), here.start + std::chrono::hours(1));
  assert_int_equal(here.experiment.count("SELECT COUNT(*) FROM signals WHERE reason='cancel'"), 1);
  here.runs.carry_out(1, {launcher::RunOrder::Kind::end}, here.start);
  assert_equal(here.trials.killed, std::vector<int64_t>{1});
}

void that_others_have_the_slots_is_told_once(void **) {
  Runs here(1);
  here.trials.let_others_in(true);
  for (int time = 0; time < 3; ++time)
    assert_equal(here.runs.start(1), launcher::Launched::no_room);
  assert_int_equal(here.warnings.size(), 1);
  assert_false(here.runs.has(1));
  here.trials.let_others_in(false);
  assert_equal(here.runs.start(1), launcher::Launched::yes);
}

void the_exit_of_another_run_is_none_of_these(void **) {
  Runs here(2);
  here.runs.start(1);
  assert_false(here.runs.record_end({.trial_id = 1, .run_id = 2}));
  assert_false(here.runs.record_end({.trial_id = 2, .run_id = 1}));
  assert_true(here.runs.record_end({.trial_id = 1, .run_id = 1, .status = 3}));
  assert_true(here.runs.end_of({.trial_id = 1, .run_id = 1, .status = 3}).failed);
  assert_int_equal(here.runs.remove(1), 1);
  assert_equal(here.runs.take_left(), std::vector<int64_t>{1});
  assert_int_equal(here.runs.size(), 0);
}

}  // namespace
}  // namespace det::test

int test_trial_runs() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_run_is_killed_once_when_its_time_is_over),
      cmocka_unit_test(a_run_that_is_to_leave_has_the_time_of_its_configuration),
      cmocka_unit_test(that_others_have_the_slots_is_told_once),
      cmocka_unit_test(the_exit_of_another_run_is_none_of_these),
  };
  return cmocka_run_group_tests_name("trial_runs", tests, nullptr, nullptr);
}
