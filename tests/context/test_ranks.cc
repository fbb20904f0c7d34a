// Several ranks are one trial in a store: ranks as threads, each with a core.
#include "tests/comm/ranks.h"
#include "tests/context/fakes.h"
#include "tests/context/home.h"

namespace {

using namespace det;
using namespace det::context;
using test::assert_no_failure;
using test::failure_of;
using test::Home;
using test::report;
using test::run_ranks;

// A rank on a machine where other directories are at the chief's paths.
class Elsewhere : public comm::Communicator {
 public:
  Elsewhere(comm::Communicator &real, const Home &home)
      : comm::Communicator(real.ranks()), real_(real) {
    path_ = home.path();
  }
  comm::Message broadcast(const comm::MessageView &m, const comm::Call &call) override {
    comm::Message heard = real_.broadcast(m, call);
    if (is_chief() || !heard) return heard;
    for (size_t at = 0; (at = heard->find(path_, at)) != std::string::npos; at += path_.size())
      heard->replace(at, 5, "/nil/");
    return heard;
  }
  std::optional<std::vector<comm::Message>> gather(const comm::MessageView &m,
                                                   const comm::Call &call) override {
    return real_.gather(m, call);
  }
  std::vector<comm::Message> allgather(const comm::MessageView &m,
                                       const comm::Call &call) override {
    return real_.allgather(m, call);
  }
  std::optional<std::vector<comm::Message>> gather_local(const comm::MessageView &m,
                                                         const comm::Call &call) override {
    return real_.gather_local(m, call);
  }
  std::vector<comm::Message> allgather_local(const comm::MessageView &m,
                                             const comm::Call &call) override {
    return real_.allgather_local(m, call);
  }
  comm::Message broadcast_local(const comm::MessageView &m, const comm::Call &call) override {
    return real_.broadcast_local(m, call);
  }

 private:
  comm::Communicator &real_;
  std::string path_;
};

void four_ranks_are_one_run_and_lose_no_report(void **) {
  constexpr int reports = 2000;
  const Home home;
  assert_no_failure(run_ranks(2, 2, [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    REQUIRE(core->info().run().trial_id == 1);
    REQUIRE(core->info().run().run_id == 1);
    const std::string group = "rank" + std::to_string(communicator.ranks().rank);
    for (int64_t step = 1; step <= reports; ++step) report(*core, group, step);
    core->train().log(LogLevel::info, group);
    core->close(engine::RunEnd::ok);
  }));
  assert_string_equal(home.text("SELECT COUNT(*) || ' ' || COUNT(DISTINCT metric_group || steps)"
                                " FROM metrics")
                          .c_str(),
                      "8000 8000");
  assert_string_equal(home.text("SELECT group_concat(rank || text, ' ')"
                                " FROM (SELECT * FROM logs ORDER BY rank)")
                          .c_str(),
                      "0rank0 1rank1 2rank2 3rank3");
  const Json trial = home.client()->get_trial(1);
  assert_string_equal(trial.at("state").get<std::string>().c_str(), "COMPLETED");
  assert_int_equal(trial.at("runs").size(), 1);
  const Json &run = trial.at("runs")[0];
  assert_int_equal(run.at("nodes").get<int>(), 2);
  assert_int_equal(run.at("ranks").size(), 4);
  for (int rank = 0; rank < 4; ++rank) {
    const Json &entry = run.at("ranks")[static_cast<size_t>(rank)];
    assert_int_equal(entry.at("rank").get<int>(), rank);
    assert_int_equal(entry.at("node").get<int>(), rank / 2);
    assert_int_equal(entry.at("pid").get<int>(), getpid());
    assert_string_equal(entry.at("exit").get<std::string>().c_str(), "ok");
  }
  assert_false(home.has_run_directories());
}

void the_next_start_is_the_next_run_on_every_rank(void **) {
  const Home home;
  for (int64_t run = 1; run <= 2; ++run) {
    assert_no_failure(
        run_ranks(1, static_cast<int>(run) + 1, [&](comm::Communicator &communicator) {
          CoreOptions options = home.options();
          options.external_id = "job";
          const auto core = Core::start(options, &communicator);
          REQUIRE(core->info().run().run_id == run);
          core->close(engine::RunEnd::ok);
        }));
  }
  assert_int_equal(home.client()->get_trial(1).at("runs")[1].at("ranks").size(), 3);
}

void what_the_chief_was_given_counts(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    CoreOptions options = home.options();
    if (communicator.is_chief()) {
      options.name = "chief";
      options.hparams_text = R"({"lr": 0.5})";
      options.checkpoint_storage = home.path() + "/checkpoints";
    } else {
      options.master = "/nil";
      options.name = "worker";
      options.trial_id = 77;
      options.config_text = "no JSON";
    }
    const auto core = Core::start(options, &communicator);
    REQUIRE(core->info().hparams_text() == R"({"lr":0.5})");
    REQUIRE(core->info().text().find(home.path() + "/checkpoints") != std::string::npos);
    core->close(engine::RunEnd::ok);
  }));
  assert_string_equal(home.text("SELECT name FROM experiments").c_str(), "chief");
}

void modes_that_differ_start_nothing(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    CoreOptions options = home.options();
    if (!communicator.is_chief()) options.preempt_mode = PreemptMode::chief_only;
    REQUIRE(failure_of([&] { Core::start(options, &communicator); },
                       "DET_PREEMPT_MODE_CHIEF_ONLY on rank 1") == Code::invalid);
  }));
  assert_false(home.has_store());
}

void options_that_one_rank_cannot_read_start_nothing(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    const auto read = [&] {
      if (!communicator.is_chief()) throw Error(Code::invalid, "a bad option");
      return home.options();
    };
    REQUIRE(failure_of([&] { Core::start(&communicator, read); }, "a bad option") == Code::invalid);
  }));
  assert_false(home.has_store());
}

void a_start_that_fails_on_the_chief_fails_everywhere(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    CoreOptions options = home.options();
    options.trial_id = 99;
    REQUIRE(failure_of([&] { Core::start(options, &communicator); }, "trial 99") ==
            Code::not_found);
  }));
}

void what_one_rank_cannot_have_starts_nothing(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
    CoreOptions options = home.options();
    if (communicator.ranks().rank == 2) options.stack_trace_signal = 9999;
    const std::string fragment = communicator.ranks().rank == 2 ? "9999" : "rank 2: ";
    REQUIRE(failure_of([&] { Core::start(options, &communicator); }, fragment) == Code::invalid);
  }));
  assert_false(home.has_store());
}

// Closes the chief and a worker in either order, the worker with an error.
void expect_error_of_the_run(bool chief_first) {
  const Home home;
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    if (communicator.is_chief() == chief_first) {
      core->close(chief_first ? engine::RunEnd::ok : engine::RunEnd::error);
      communicator.allgather("closed");
      return;
    }
    communicator.allgather("");
    report(*core, "late", 1);
    core->close(chief_first ? engine::RunEnd::error : engine::RunEnd::ok);
  }));
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "error");
  assert_string_equal(home.text("SELECT exit FROM ranks WHERE rank=0").c_str(), "ok");
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "ERROR");
  assert_string_equal(home.text("SELECT COUNT(*) FROM metrics").c_str(), "1");
}

void an_error_of_a_worker_is_one_of_the_run(void **) { expect_error_of_the_run(false); }
void an_error_of_a_worker_counts_after_the_chief_too(void **) { expect_error_of_the_run(true); }

void a_worker_may_report_and_close_after_the_chief(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    if (communicator.is_chief()) core->close(engine::RunEnd::ok);
    communicator.allgather("");
    if (communicator.is_chief()) return;
    report(*core, "late", 1);
    core->close(engine::RunEnd::ok);
  }));
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "ok");
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "COMPLETED");
  assert_string_equal(home.text("SELECT COUNT(*) FROM metrics").c_str(), "1");
  assert_false(home.has_run_directories());
}

void wait_for_a_signal(Core &core) {
  while (!core.preempt().should_preempt(true))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void a_pause_reaches_every_rank(PreemptMode mode) {
  const Home home;
  assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
    CoreOptions options = home.options();
    options.preempt_mode = mode;
    const auto core = Core::start(options, &communicator);
    REQUIRE(!core->preempt().should_preempt(true));
    communicator.allgather("");
    if (communicator.ranks().rank == 1)
      home.client()->control(engine::Target::trial, 1, engine::Action::pause);
    wait_for_a_signal(*core);
    communicator.allgather("");
    core->close(engine::RunEnd::ok);
  }));
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "preempted");
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "PAUSED");
}

void a_pause_reaches_all_by_their_chief(void **) {
  a_pause_reaches_every_rank(PreemptMode::workers_ask_chief);
}
void a_pause_reaches_each_that_asks_the_master(void **) {
  a_pause_reaches_every_rank(PreemptMode::workers_ask_master);
}

void a_request_on_one_rank_stops_all(PreemptMode mode) {
  const Home home;
  assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
    CoreOptions options = home.options();
    options.preempt_mode = mode;
    const auto core = Core::start(options, &communicator);
    if (communicator.ranks().rank == 2) core->preempt().request();
    wait_for_a_signal(*core);
    communicator.allgather("");
    core->close(engine::RunEnd::ok);
  }));
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "preempted");
}

void a_request_on_a_worker_stops_all_by_their_chief(void **) {
  a_request_on_one_rank_stops_all(PreemptMode::workers_ask_chief);
}
void a_request_on_a_worker_stops_all_that_ask_the_master(void **) {
  a_request_on_one_rank_stops_all(PreemptMode::workers_ask_master);
}

// Both are broadcasts of the chief.
void asking_for_preemption_is_not_asking_for_work(void **) {
  const Home home;
  assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    const auto ask = [&] {
      if (!communicator.is_chief()) core->searcher().next();
      for (int call = 0; call < 300; ++call) core->preempt().should_preempt(true);
    };
    REQUIRE(failure_of(ask, "called det_preempt_should_preempt (broadcast") == Code::conflict);
    REQUIRE(failure_of(ask, "called det_searcher_next (broadcast") == Code::conflict);
    core->close(engine::RunEnd::ok);
  }));
}

void a_worker_without_the_store_takes_part_without_reports(void **) {
  const Home home;
  assert_no_failure(run_ranks(2, 1, [&](comm::Communicator &real) {
    Elsewhere communicator(real, home);
    const auto core = home.start(communicator);
    REQUIRE(!core->preempt().should_preempt(true));
    SearcherOperation *operation = core->searcher().next();
    REQUIRE(operation->length() == 1);
    if (real.is_chief()) {
      report(*core, "training", 1);
      operation->report_completed(0.5);
    } else {
      const auto refuses = [&](const std::function<void()> &call) {
        return failure_of(call, "report from rank 0, or set DET_HOME") == Code::unsupported;
      };
      REQUIRE(refuses([&] { report(*core, "training", 1); }));
      REQUIRE(refuses([&] { core->train().set_status("busy"); }));
      REQUIRE(refuses([&] { core->train().best_validation(); }));
      core->train().flush(std::nullopt);
    }
    REQUIRE(core->searcher().next() == nullptr);
    core->close(engine::RunEnd::ok);
  }));
  const Json run = home.client()->get_trial(1).at("runs")[0];
  assert_string_equal(run.at("exit").get<std::string>().c_str(), "ok");
  assert_int_equal(run.at("ranks").size(), 2);
}

void asking_a_master_that_is_out_of_reach_is_refused_at_once(void **) {
  const Home home;
  assert_no_failure(run_ranks(2, 1, [&](comm::Communicator &real) {
    Elsewhere communicator(real, home);
    CoreOptions options = home.options();
    options.preempt_mode = PreemptMode::workers_ask_master;
    REQUIRE(failure_of([&] { Core::start(options, &communicator); }, "WORKERS_ASK_CHIEF") ==
            Code::unsupported);
  }));
  // What fails after that on one rank ends the run on all.
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "error");
  assert_string_equal(home.text("SELECT exit FROM ranks WHERE rank=0").c_str(), "error");
  assert_false(home.has_run_directories());
}

}  // namespace

int test_ranks() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(four_ranks_are_one_run_and_lose_no_report),
      cmocka_unit_test(the_next_start_is_the_next_run_on_every_rank),
      cmocka_unit_test(what_the_chief_was_given_counts),
      cmocka_unit_test(modes_that_differ_start_nothing),
      cmocka_unit_test(options_that_one_rank_cannot_read_start_nothing),
      cmocka_unit_test(a_start_that_fails_on_the_chief_fails_everywhere),
      cmocka_unit_test(what_one_rank_cannot_have_starts_nothing),
      cmocka_unit_test(an_error_of_a_worker_is_one_of_the_run),
      cmocka_unit_test(an_error_of_a_worker_counts_after_the_chief_too),
      cmocka_unit_test(a_worker_may_report_and_close_after_the_chief),
      cmocka_unit_test(a_pause_reaches_all_by_their_chief),
      cmocka_unit_test(a_pause_reaches_each_that_asks_the_master),
      cmocka_unit_test(a_request_on_a_worker_stops_all_by_their_chief),
      cmocka_unit_test(a_request_on_a_worker_stops_all_that_ask_the_master),
      cmocka_unit_test(asking_for_preemption_is_not_asking_for_work),
      cmocka_unit_test(a_worker_without_the_store_takes_part_without_reports),
      cmocka_unit_test(asking_a_master_that_is_out_of_reach_is_refused_at_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
