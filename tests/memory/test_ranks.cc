// Allocations that fail on one of two ranks: the other one hears of it, and neither waits in vain.
#include <thread>

#include "tests/free_port.h"
#include "tests/memory/sweep.h"
#include "tests/rest/surroundings.h"
#include "tests/storage_id.h"

namespace det::test {
namespace {

// The calls of one rank, up to the first that fails.
class Rank {
 public:
  Rank(int rank, int port, bool force_tcp) {
    det_distributed_options options{
        sizeof options, rank, 2, rank, 2, 0, 1, "127.0.0.1", port, 0, force_tcp ? 1 : 0, 0, 20'000};
    status_ = det_distributed_create(&options, &job_, &error_);
  }
  ~Rank() {
    det_core_free(core_);
    det_distributed_free(job_);
  }

  void live(const fs::path &home) {
    begin(home);
    talk();
    det_searcher_op *op = nullptr;
    go([&] { return det_searcher_next(det_core_searcher(core_), &op, &error_); });
    go([&] { return det_preempt_should_preempt(det_core_preempt(core_), &error_); });
    save();
    go([&] { return det_core_close(core_, DET_OUTCOME_OK, &error_); });
  }

  det_status status() const { return status_; }
  const char *message() const { return error_.message; }

 private:
  template <class Call>
  void go(const Call &call) {
    if (status_ >= 0) status_ = call();
  }

  void begin(const fs::path &home) {
    det_core_options options = DET_CORE_OPTIONS_INIT;
    options.master = home.c_str();
    options.distributed = job_;
    go([&] { return det_core_init(&options, &core_, &error_); });
  }

  void talk() {
    for (const auto collective : {det_distributed_allgather, det_distributed_gather,
                                  det_distributed_broadcast, det_distributed_allgather_local})
      for (const char *text : {short_text.c_str(), long_text.c_str()}) {
        det_messages *messages = nullptr;
        go([&] { return collective(job_, text, std::strlen(text), &messages, &error_); });
        det_messages_free(messages);
      }
  }

  void save() {
    det_checkpoint_options sharded = DET_CHECKPOINT_OPTIONS_INIT;
    sharded.shard = 1;
    char id[STORAGE_ID_SIZE] = "";
    det_checkpoint_writer *store = nullptr;
    det_checkpoint_context *checkpoints = det_core_checkpoint(core_);
    go([&] {
      return det_checkpoint_writer_begin(checkpoints, R"({"steps_completed": 1})", &sharded, &store,
                                         &error_);
    });
    go([&] { return det_checkpoint_writer_commit(store, &error_); });
    if (status_ >= 0) std::memcpy(id, det_checkpoint_writer_id(store), sizeof id);
    det_checkpoint_writer_free(store);
    det_checkpoint_reader *restore = nullptr;
    go([&] { return det_checkpoint_reader_open(checkpoints, id, nullptr, &restore, &error_); });
    det_checkpoint_reader_free(restore);
  }

  static inline const std::string short_text = "a short message",
                                  long_text{std::string(50'000, 'x')};

  det_distributed_context *job_ = nullptr;
  det_core *core_ = nullptr;
  det_error error_ = DET_ERROR_INIT;
  det_status status_ = DET_OK;
};

struct Ending {
  det_status status = DET_OK;
  std::string message;
};

// Whether an allocation of the rank has failed.
bool live_together(int short_rank, bool force_tcp, int64_t before, int64_t count) {
  const TemporaryDirectory home;
  const int port = free_port();
  Ending endings[2];
  bool has_failed = false;
  const auto live = [&](int number) {
    Rank rank(number, port, force_tcp);
    if (number == short_rank) {
      Shortage shortage(Whose::this_thread, before, count);
      rank.live(home.path());
      shortage.end();
      has_failed = shortage.failures() > 0;
    } else {
      rank.live(home.path());
    }
    endings[number] = {rank.status(), rank.message()};
  };
  std::thread other(live, 1);
  live(0);
  other.join();
  for (int number = 0; number < 2; ++number) {
    const auto &[status, message] = endings[number];
    const bool is_expected =
        status >= 0 || status == DET_E_NOMEM ||
        (number != short_rank && (status == DET_E_UNAVAILABLE || status == DET_E_STATE));
    if (!is_expected)
      fail_msg("rank %d, allocation %d of rank %d: %s: %s", number, static_cast<int>(before),
               short_rank, det_status_name(status), message.c_str());
    if (!has_failed) assert_true(status >= 0);
  }
  return has_failed;
}

void sweep_ranks(bool force_tcp) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  for (const int short_rank : {0, 1})
    for (const int64_t count : {int64_t{1}, all_that_follow})
      for (int64_t before = 0; live_together(short_rank, force_tcp, before, count);)
        before += Sweep::step_behind(before);
}

void ranks_that_share_memory_hear_of_a_lack_of_it(void **) { sweep_ranks(false); }
void ranks_on_sockets_hear_of_a_lack_of_memory(void **) { sweep_ranks(true); }

}  // namespace
}  // namespace det::test

int test_ranks() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ranks_that_share_memory_hear_of_a_lack_of_it),
      cmocka_unit_test(ranks_on_sockets_hear_of_a_lack_of_memory),
  };
  return cmocka_run_group_tests_name("ranks", tests, nullptr, nullptr);
}
