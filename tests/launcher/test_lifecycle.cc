// What becomes of trials and experiments: starts, ends and restarts.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <fstream>

#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/runs/start_run.h"
#include "tests/expect_error.h"
#include "tests/launcher/experiment.h"

namespace det::test {
namespace {

void a_new_experiment_is_paused_and_starts_nothing(void **) {
  Experiment experiment(random_of(3));
  experiment.supervise().step();
  assert_string_equal(experiment.state().c_str(), "PAUSED");
  assert_true(experiment.supervisor().at_rest());
  assert_int_equal(experiment.trials().starts(), 0);
  experiment.supervisor().change_state(engine::state::active);
  assert_int_equal(experiment.trials().running(), 2);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE run_id=1"), 2);
}

void all_trials_are_trained_once_and_never_too_many_at_a_time(void **) {
  Experiment experiment(random_of(9, 5), 3);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state='COMPLETED'"), 9);
  assert_int_equal(experiment.trials().starts(), 9);
  assert_int_equal(experiment.trials().most_at_once(), 3);
  assert_int_equal(experiment.count("SELECT progress=1 FROM experiments"), 1);
  assert_int_equal(
      experiment.count("SELECT COUNT(*) FROM runs WHERE leader IS NOT NULL OR exit IS NOT 'ok'"),
      0);
  assert_int_equal(experiment.count("SELECT ended IS NOT NULL FROM experiments"), 1);
}

void max_slots_of_the_configuration_holds(void **) {
  Json config = random_of(4, 4);
  config["resources"]["max_slots"] = 1;
  Experiment experiment(config, 4);
  experiment.run_to_end();
  assert_int_equal(experiment.trials().most_at_once(), 1);
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
}

void a_trial_too_wide_for_the_machine_is_refused(void **) {
  Json config = single();
  config["resources"]["slots_per_trial"] = 8;
  Experiment experiment(config, 4);
  expect_refusal([&] { experiment.supervise(); }, Code::invalid, "slots_per_trial");
}

void a_trial_waits_while_others_have_its_slots(void **) {
  Experiment experiment(random_of(2, 1));
  experiment.supervise();
  experiment.trials().let_others_in(true);
  experiment.supervisor().change_state(engine::state::active);
  experiment.supervisor().step();
  assert_int_equal(experiment.supervisor().waiting(), 1);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs"), 0);
  experiment.trials().let_others_in(false);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs"), 2);
}

void what_is_told_to_a_trial_is_in_its_environment(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  const auto &variables = experiment.trials().launch(1).environment;
  assert_string_equal(variables.at("DET_TRIAL_ID").c_str(), "1");
  assert_string_equal(variables.at("DET_TRIAL_RUN_ID").c_str(), "1");
  assert_string_equal(variables.at("DET_TASK_TYPE").c_str(), "TRIAL");
  assert_true(variables.at("DET_ALLOCATION_ID").ends_with(".1"));
  assert_true(parse_json(variables.at("DET_HPARAMS"), "hparams").contains("x"));
  assert_false(variables.contains("DET_LATEST_CHECKPOINT"));
}

void trials_without_a_checkpoint_start_from_that_of_another(void **) {
  Experiment experiment(single());
  experiment.run_to_end();
  experiment.store().run(
      "INSERT INTO checkpoints (uuid, trial_id, run_id, steps, state, size, time, metadata,"
      " resources, storage) VALUES ('c', 1, 1, 10, 'COMPLETED', 0, 0, '{}', '{}', '{}')");
  Json config = single();
  config["searcher"]["source_trial_id"] = 1;
  engine::Transaction transaction(experiment.store());
  const int64_t id = engine::create_experiment(experiment.store(), config, "", {});
  config["searcher"]["source_trial_id"] = 7;
  expect_refusal([&] { engine::create_experiment(experiment.store(), config, "", {}); },
                 Code::not_found, "source trial 7");
  experiment.store().run(
      "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created)"
      " VALUES (?, 'ACTIVE', '{}', 0, 't', 0)",
      id);
  transaction.commit();
  const engine::RunInfo run = engine::describe_next_run(experiment.store(), 2);
  assert_string_equal(run.latest_checkpoint.value_or("").c_str(), "c");
  assert_int_equal(run.steps_completed, 0);
}

void a_crash_counts_up_to_max_restarts(void **) {
  Experiment experiment(single());
  experiment.behave([](Behaviour &b) { b.crash = [](int64_t, int64_t) { return 1; }; });
  experiment.run_to_end();
  assert_int_equal(experiment.trials().starts(), 3);
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 3);
  assert_string_equal(experiment.state_of(1).c_str(), "ERROR");
  assert_string_equal(experiment.state().c_str(), "ERROR");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE exit='error'"), 3);
}

void a_full_disk_pauses_the_search_and_costs_no_restart(void **) {
  Experiment experiment(random_of(3));
  bool full = true;
  experiment.behave([&](Behaviour &b) {
    b.crash = [&](int64_t trial, int64_t run) {
      if (!full) return 0;
      std::ofstream(engine::experiment_directory(experiment.store_directory(), experiment.id()) /
                    "logs" / (std::to_string(trial) + "." + std::to_string(run) + ".log"))
          << "saving a checkpoint: " << errno_text(ENOSPC) << "\n";
      return 1;
    };
  });
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "PAUSED");
  assert_true(experiment.supervisor().at_rest());
  assert_int_equal(experiment.count("SELECT SUM(restarts) FROM trials"), 0);
  assert_int_equal(experiment.complaints().size(), 1);
  assert_true(contains(experiment.complaints()[0], "no space left"));
  assert_true(contains(experiment.complaints()[0], "det run --resume"));
  full = false;
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT SUM(restarts) FROM trials"), 0);
}

void one_that_lost_a_line_to_a_full_disk_long_ago_has_crashed(void **) {
  Experiment experiment(single());
  experiment.behave([&](Behaviour &b) {
    b.crash = [&](int64_t trial, int64_t run) {
      std::ofstream log(
          engine::experiment_directory(experiment.store_directory(), experiment.id()) / "logs" /
          (std::to_string(trial) + "." + std::to_string(run) + ".log"));
      log << "writing a figure: " << errno_text(ENOSPC) << "\n";
      for (int step = 0; step < 1000; ++step) log << "step " << step << "\n";
      return 1;
    };
  });
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "ERROR");
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 3);
}

// As on exFAT and SMB: every FIFO is refused.
void refuse_fifos() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mknodat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, S_IFIFO, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(77);
}

void it_runs_where_there_are_no_fifos(void **) {
  const pid_t child = fork();
  if (child == 0) {
    refuse_fifos();
    try {
      Experiment experiment(random_of(3));
      experiment.run_to_end();
      _exit(experiment.state() == "COMPLETED" ? 0 : 1);
    } catch (const std::exception &error) {
      print_error("%s\n", error.what());
      _exit(2);
    }
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
  assert_int_equal(status, 0);
}

void a_trial_that_recovers_is_no_failure(void **) {
  Experiment experiment(single());
  experiment.behave([](Behaviour &b) { b.crash = [](int64_t, int64_t run) { return run < 3; }; });
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 2);
}

void processes_lost_with_their_machine_are_nobodys_fault(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  for (int time = 0; time < 10; ++time) {
    experiment.kill_supervisor();
    experiment.trials().lose_all();
    experiment.supervise().step();
  }
  experiment.run_to_end();
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 0);
  assert_int_equal(experiment.count("SELECT MAX(run_id) FROM runs"), 11);
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
}

// What names a run is the launcher's own affair.
void a_launcher_is_given_back_what_it_named_a_run(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE leader LIKE '%simulated%'"),
                   1);
  experiment.supervise().step();
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.trials().starts(), 1);
}

void one_that_leaves_without_a_word_wants_no_more(void **) {
  Experiment experiment(random_of(3, 1));
  experiment.supervise().change_state(engine::state::active);
  experiment.trials().leave_now(1, 0);
  experiment.run_to_end();
  assert_string_equal(experiment.state_of(1).c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE trial_id=1"), 1);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM search_events WHERE"
                                    " value='\"USER_REQUESTED_STOP\"'"),
                   1);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials"), 3);
}

void a_crash_after_it_was_asked_to_leave_is_none(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::pause);
  experiment.store().run("UPDATE signals SET acknowledged=1");
  experiment.trials().leave_now(1, 1);
  experiment.supervisor().step();
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 0);
  assert_string_equal(experiment.state_of(1).c_str(), "PAUSED");
}

void refused_hyperparameters_are_replaced_and_not_tried_again(void **) {
  Experiment experiment(random_of(3, 2));
  experiment.supervise().change_state(engine::state::active);
  experiment.store().run("UPDATE trials SET early_exit='INVALID_HP' WHERE id=1");
  experiment.trials().leave_now(1, 1);
  experiment.run_to_end();
  assert_string_equal(experiment.state_of(1).c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE trial_id=1"), 1);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials"), 4);
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
}

void one_that_hangs_after_refusing_is_killed(void **) {
  Experiment experiment(random_of(2, 1));
  experiment.supervise().change_state(engine::state::active);
  experiment.store().run("UPDATE trials SET early_exit='INVALID_HP' WHERE id=1");
  experiment.supervisor().step();
  experiment.pass(std::chrono::seconds(9));
  experiment.supervisor().step();
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE exit='killed'"), 0);
  experiment.pass(std::chrono::seconds(2));
  experiment.supervisor().step();
  experiment.supervisor().step();
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE exit='killed'"), 1);
  experiment.run_to_end();
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials"), 3);
}

void report_validation(Experiment &experiment, int64_t trial_id, double loss, int64_t batches) {
  experiment.store().run(
      "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics)"
      " VALUES (?, 1, 'validation', ?, 0, ?)",
      trial_id, batches, to_wire({{"loss", loss}, {"batches", batches}}));
  experiment.supervisor().step();
}

// Rules of 0.38: no lengths, but reports that lead to a stop.
void a_trial_that_its_metrics_stop_is_asked_to_leave(void **) {
  Experiment experiment(configuration(searcher("async_halving", {{"num_rungs", 2},
                                                                 {"divisor", 2},
                                                                 {"max_trials", 3},
                                                                 {"max_concurrent_trials", 2},
                                                                 {"time_metric", "batches"},
                                                                 {"max_time", 8}})),
                        2, true);
  experiment.supervise().change_state(engine::state::active);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM operations WHERE length=8"), 2);
  report_validation(experiment, 1, 0.5, 4);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials"), 2);
  report_validation(experiment, 2, 0.9, 4);
  assert_string_equal(experiment.state_of(2).c_str(), "STOPPING_COMPLETED");
  assert_int_equal(
      experiment.count("SELECT COUNT(*) FROM signals WHERE trial_id=2 AND reason='stop'"), 1);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials"), 3);
  // What it reports while it leaves is not ranked again.
  report_validation(experiment, 2, 0.1, 8);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials"), 3);
  // A supervisor that takes over has heard all of that, and tells what the one before may not have.
  experiment.store().run("DELETE FROM signals");
  experiment.supervise().step();
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM signals WHERE reason='stop'"), 1);
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM search_events WHERE kind='validated'"),
                   2);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state='COMPLETED'"), 3);
}

// A supervisor in a process of its own, which ends while it deletes what the experiment has saved.
void be_killed_while_deleting(const Json &config, std::shared_ptr<const TemporaryDirectory> home,
                              const std::filesystem::path &checkpoints) {
  Experiment experiment(config, std::move(home));
  experiment.supervise();
  experiment.on_log([](const std::string &line) {
    if (contains(line, "deleting 1 checkpoints")) raise(SIGKILL);
  });
  experiment.supervisor().change_state(engine::state::active);
  std::filesystem::create_directories(checkpoints / "c");
  std::ofstream(checkpoints / "c" / "weights") << "weights";
  engine::RunInfo run;
  run.trial_id = run.run_id = 1;
  engine::record_checkpoint(experiment.store(), run,
                            {"c",
                             {{"steps_completed", 5}},
                             {{"weights", 7}},
                             {{"type", "directory"}, {"container_path", checkpoints.string()}}});
  experiment.run_to_end();
}

// The end of an experiment comes last: whoever follows does what is left to do.
void one_that_is_killed_while_it_deletes_checkpoints_is_followed_by_one_that_does(void **) {
  const TemporaryDirectory checkpoints;
  const auto home = std::make_shared<const TemporaryDirectory>();
  Json config = single();
  config["checkpoint_storage"] = {{"save_trial_best", 0}, {"save_trial_latest", 0}};
  const pid_t child = fork();
  if (child == 0) {
    be_killed_while_deleting(config, home, checkpoints.path());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status));

  Experiment experiment(config, home);
  assert_string_equal(experiment.state().c_str(), "STOPPING_COMPLETED");
  assert_true(std::filesystem::exists(checkpoints / "c"));
  experiment.supervise();
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM checkpoints WHERE state='DELETED'"), 1);
  assert_false(std::filesystem::exists(checkpoints / "c"));
}

void a_second_supervisor_is_refused(void **) {
  Experiment experiment(single());
  experiment.supervise().step();
  launcher::Supervisor::Options options;
  options.store_directory = experiment.store_directory();
  options.experiment_id = experiment.id();
  options.log = std::make_shared<Logger>();
  expect_refusal([&] { launcher::Supervisor second(options, experiment.trials()); }, Code::busy,
                 "another `det run`");
}

void a_program_of_its_own_is_no_experiment_to_supervise(void **) {
  Experiment experiment(single());
  experiment.store().run("UPDATE experiments SET managed=0");
  expect_refusal([&] { experiment.supervise(); }, Code::state, "started by itself");
}

}  // namespace
}  // namespace det::test

int test_lifecycle() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_new_experiment_is_paused_and_starts_nothing),
      cmocka_unit_test(all_trials_are_trained_once_and_never_too_many_at_a_time),
      cmocka_unit_test(max_slots_of_the_configuration_holds),
      cmocka_unit_test(a_trial_too_wide_for_the_machine_is_refused),
      cmocka_unit_test(a_trial_waits_while_others_have_its_slots),
      cmocka_unit_test(what_is_told_to_a_trial_is_in_its_environment),
      cmocka_unit_test(trials_without_a_checkpoint_start_from_that_of_another),
      cmocka_unit_test(a_crash_counts_up_to_max_restarts),
      cmocka_unit_test(a_full_disk_pauses_the_search_and_costs_no_restart),
      cmocka_unit_test(one_that_lost_a_line_to_a_full_disk_long_ago_has_crashed),
      cmocka_unit_test(it_runs_where_there_are_no_fifos),
      cmocka_unit_test(a_trial_that_recovers_is_no_failure),
      cmocka_unit_test(processes_lost_with_their_machine_are_nobodys_fault),
      cmocka_unit_test(a_launcher_is_given_back_what_it_named_a_run),
      cmocka_unit_test(one_that_leaves_without_a_word_wants_no_more),
      cmocka_unit_test(a_crash_after_it_was_asked_to_leave_is_none),
      cmocka_unit_test(refused_hyperparameters_are_replaced_and_not_tried_again),
      cmocka_unit_test(one_that_hangs_after_refusing_is_killed),
      cmocka_unit_test(a_trial_that_its_metrics_stop_is_asked_to_leave),
      cmocka_unit_test(
          one_that_is_killed_while_it_deletes_checkpoints_is_followed_by_one_that_does),
      cmocka_unit_test(a_second_supervisor_is_refused),
      cmocka_unit_test(a_program_of_its_own_is_no_experiment_to_supervise),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
