// One sequence for several ranks: the same workloads everywhere, and the chief's error everywhere.
#include "core/trial/workloads/job_sequencer.h"

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "tests/cmocka.h"
#include "tests/context/fakes.h"

namespace {

using namespace det;
using namespace det::trial;
using test::assert_no_failure;
using test::failure_of;
using test::run_ranks;

// What the chief reports, and one operation.
class OneOperation : public CoreCalls {
 public:
  void warn(const std::string &) override {}
  std::optional<int64_t> last_validation() override { return std::nullopt; }
  std::optional<int64_t> next_operation() override {
    return std::exchange(given_, true) ? std::nullopt : std::optional<int64_t>(5);
  }
  void set_status(std::string_view) override {}
  void report_training(int64_t, const Json &metrics, const std::optional<Json> &) override {
    if (metrics.contains("fault")) throw Error(Code::full, "reporting: a fault of the test");
    loss = metrics.at("loss").get<double>();
  }
  void report_progress(double) override {}
  void report_completed(const Json &) override { completed = true; }
  void report_validation(int64_t, const Json &) override {}
  void report_invalid_hparams() override { invalid = true; }
  std::optional<double> best_validation() override { return std::nullopt; }
  bool should_preempt() override { return false; }

  double loss = 0;
  bool completed = false;
  bool invalid = false;

 private:
  bool given_ = false;
};

// A rank's part of a job; `config` on the chief alone is one that can be followed.
struct SequencedRank {
  explicit SequencedRank(comm::Communicator &communicator, const char *config = R"({
      "scheduling_unit": 3, "searcher": {"metric": "loss", "unit": "batches"}})")
      : job(communicator, [&] {
          return std::make_unique<Sequencer>(read_sequencer_config(parse_json(config, "config"), 4),
                                             1, core);
        }) {}

  void respond(const Json &response) {
    job.respond([&] { return response; });
  }
  OneOperation core;
  JobSequencer job;
};

const Json loss_2 = {{"metrics", {{"avg_metrics", {{"loss", 2}}}}}};

void every_rank_has_the_same_workloads_and_the_chief_reports(void **) {
  assert_no_failure(run_ranks(1, 3, [](comm::Communicator &communicator) {
    SequencedRank rank(communicator);
    std::string seen;
    while (const auto workload = rank.job.next()) {
      seen += std::to_string(static_cast<int>(workload->kind)) + "/" +
              std::to_string(workload->batches) + "@" + std::to_string(workload->batches_done) +
              " ";
      if (!communicator.is_chief()) rank.respond(Json::object());
      else if (workload->kind == Workload::Kind::validate)
        rank.respond({{"metrics", {{"validation_metrics", {{"loss", 1}}}}}});
      else rank.respond(loss_2);
    }
    REQUIRE(seen == "1/3@0 1/2@3 3/0@5 2/0@5 ");
    REQUIRE(rank.core.completed == communicator.is_chief());
    REQUIRE(rank.core.loss == (communicator.is_chief() ? 2 : 0));
    REQUIRE((failure_of([&] { rank.job.state(); }) == Code::state) == !communicator.is_chief());
  }));
}

void one_rank_speaks_for_all_that_stop(void **) {
  for (const bool invalid : {false, true})
    assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
      SequencedRank rank(communicator);
      REQUIRE(rank.job.next().has_value());
      if (communicator.ranks().rank != 2) rank.respond(loss_2);
      else if (invalid) rank.job.respond_invalid_hparams();
      else rank.respond({{"stop_requested", true}});
      const auto last = rank.job.next();
      REQUIRE(last.has_value() == !invalid);
      if (last) {
        REQUIRE(last->kind == Workload::Kind::checkpoint);
        rank.respond(Json::object());
        REQUIRE(!rank.job.next());
      }
      REQUIRE(rank.core.invalid == (invalid && communicator.is_chief()));
    }));
}

// Also before its first workload, as one whose trial cannot be made.
void one_rank_finds_hyperparameters_invalid_while_others_train(void **) {
  struct Case {
    int refusing;
    bool has_workload;
  };
  for (const Case &one : {Case{0, true}, {1, true}, {0, false}, {1, false}})
    assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
      SequencedRank rank(communicator);
      if (one.has_workload) REQUIRE(rank.job.next().has_value());
      if (communicator.ranks().rank != one.refusing) {
        std::string said;
        try {
          comm::all_agree(communicator, {comm::ApiCall::trial_gradients_step}, [] { return ""; });
        } catch (const Error &e) {
          said = e.what();
        }
        REQUIRE(said.find("det_trial_sequencer_respond_invalid_hparams") != said.npos);
      }
      rank.job.respond_invalid_hparams();
      REQUIRE(rank.core.invalid == communicator.is_chief());
      REQUIRE(failure_of([&] { rank.job.next(); }) == Code::conflict);
    }));
}

void all_ranks_find_hyperparameters_invalid_before_the_first_workload(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &communicator) {
    SequencedRank rank(communicator);
    rank.job.respond_invalid_hparams();
    REQUIRE(rank.core.invalid == communicator.is_chief());
    REQUIRE(!rank.job.next());
  }));
}

void an_error_is_one_of_every_rank(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &communicator) {
    REQUIRE(failure_of([&] { SequencedRank rank(communicator, "{}"); }) == Code::invalid);
    SequencedRank rank(communicator);
    REQUIRE(failure_of([&] {
              rank.job.load_state([]() -> Json { throw Error(Code::corrupt, "unreadable"); });
            }) == Code::corrupt);
    REQUIRE(rank.job.next().has_value());
    // Refused before anything is done: the workload waits for another response.
    REQUIRE(failure_of([&] { rank.respond(Json::object()); }) == Code::invalid);
    REQUIRE(failure_of([&] {
              rank.job.respond([&]() -> Json {
                if (communicator.is_chief()) return loss_2;
                throw Error(Code::invalid, "not JSON");
              });
            }) == Code::invalid);
    rank.respond(loss_2);
    REQUIRE(rank.job.next().has_value());
    // Half of it was done: there is no next one.
    REQUIRE(failure_of([&] {
              rank.respond({{"metrics", {{"avg_metrics", {{"fault", 1}}}}}});
            }) == Code::full);
    REQUIRE(failure_of([&] { rank.job.next(); }) == Code::state);
    REQUIRE(failure_of([&] { rank.respond(loss_2); }) == Code::state);
  }));
}

}  // namespace

int test_job_sequencer() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_rank_has_the_same_workloads_and_the_chief_reports),
      cmocka_unit_test(one_rank_speaks_for_all_that_stop),
      cmocka_unit_test(one_rank_finds_hyperparameters_invalid_while_others_train),
      cmocka_unit_test(all_ranks_find_hyperparameters_invalid_before_the_first_workload),
      cmocka_unit_test(an_error_is_one_of_every_rank),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
