// Saves that go on in the background.
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>

#include "tests/context/child_process.h"
#include "tests/context/home.h"
#include "tests/context/job.h"
#include "tests/expect_error.h"

namespace det::test {
namespace {

using context::SaveState;
using context::SaveTicket;
using Ticket = std::shared_ptr<SaveTicket>;

// What a test holds up, until it lets it go on.
class Gatekeeper {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void await_somebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Nobody is left behind by a test that fails.
  std::shared_ptr<void> open_at_end() {
    return {nullptr, [this](void *) { open(); }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

std::string text(int steps) { return R"({"steps_completed": )" + std::to_string(steps) + "}"; }

Ticket upload(Rank &rank, const fs::path &directory, int steps = 1, bool sharded = false) {
  return rank.checkpoints.saver().upload_async(directory, text(steps), sharded, nullptr);
}

bool save(Rank &rank, const Ticket &ticket) {
  return rank.checkpoints.background().wait(*ticket, std::nullopt);
}

std::vector<int64_t> reported_steps(const Job &job) {
  std::vector<int64_t> steps;
  for (const auto &[rank, report] : job.reports)
    steps.push_back(report.metadata.at("steps_completed").get<int64_t>());
  return steps;
}

void saves_become_known_in_the_order_in_which_they_were_begun(void **) {
  Job job(1, 1);
  job.file("source/weights", "x");
  assert_no_failure(job.run([&](Rank &rank) {
    rank.checkpoints.background().limit({.in_flight = 3});
    std::vector<Ticket> tickets;
    for (int i = 1; i <= 8; ++i) tickets.push_back(upload(rank, job.path("source"), i));
    rank.checkpoints.saver().upload(job.path("source"), text(9), false, nullptr);
    // The one that blocked came last.
    for (const Ticket &ticket : tickets) REQUIRE(ticket->state() == SaveState::saved);
  }));
  assert_equal(reported_steps(job), std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  assert_true(job.staged().empty());
}

void as_many_are_in_flight_as_the_limit_says(void **) {
  Job job(1, 1);
  Gatekeeper master;
  job.before_report = [&] { master.pass(); };
  job.file("source/weights", "12345678");
  assert_no_failure(job.run([&](Rank &rank) {
    const auto opened = master.open_at_end();
    rank.checkpoints.background().limit({.in_flight = 2, .waits = false});
    const Ticket first = upload(rank, job.path("source"), 1);
    const Ticket second = upload(rank, job.path("source"), 2);
    master.await_somebody();
    const auto third = [&] { upload(rank, job.path("source"), 3); };
    REQUIRE(failure_of(third, "det_save_limits") == Code::busy);
    rank.checkpoints.background().limit({.in_flight = 9, .bytes = 100, .waits = false});
    REQUIRE(failure_of(third) == Code::busy);  // two of 34 bytes hold up a third
    REQUIRE(first->state() == SaveState::saving);
    REQUIRE(second->state() == SaveState::waiting);
    REQUIRE(!rank.checkpoints.background().wait(*second, std::chrono::milliseconds(1)));
    REQUIRE(failure_of([&] { rank.checkpoints.remove(first->id()); }, "still being saved") ==
            Code::busy);
    master.open();
    REQUIRE(save(rank, second));
    REQUIRE(first->state() == SaveState::saved);
    REQUIRE(save(rank, upload(rank, job.path("source"), 3)));
  }));
  assert_equal(reported_steps(job), std::vector<int64_t>{1, 2, 3});
}

void who_waits_for_its_turn_is_cancelled_without_a_trace(void **) {
  Job job(1, 1);
  Gatekeeper master;
  job.before_report = [&] { master.pass(); };
  job.file("source/weights", "x");
  assert_no_failure(job.run([&](Rank &rank) {
    const auto opened = master.open_at_end();
    const Ticket first = upload(rank, job.path("source"), 1);
    const Ticket second = upload(rank, job.path("source"), 2);
    master.await_somebody();
    REQUIRE(job.staged().size() == 5);  // each with lock and seal, and the second one's tree
    std::thread other([&] { rank.checkpoints.background().cancel(*second); });
    while (failure_of([&] { second->check(); }) != Code::state) std::this_thread::yield();
    master.open();
    other.join();
    REQUIRE(second->state() == SaveState::cancelled);
    REQUIRE(failure_of([&] { save(rank, second); }, "cancelled") == Code::state);
    REQUIRE(save(rank, first));
    // The master was about to be told.
    REQUIRE(failure_of([&] { rank.checkpoints.background().cancel(*first); }, "saved before") ==
            Code::state);
  }));
  assert_equal(reported_steps(job), std::vector<int64_t>{1});
  assert_int_equal(job.stored().size(), 1);
  assert_true(job.staged().empty());
}

void at_whatever_step_it_fails_nothing_is_left_and_it_is_told(void **) {
  for (int step = 0;; ++step) {
    Job job(1, 1);
    job.file("source/weights", "x");
    job.faulty_rank = 0;
    job.faulty_step = step;
    bool in_call = false;
    assert_no_failure(job.run([&](Rank &rank) {
      Ticket ticket;
      try {
        ticket = upload(rank, job.path("source"));
      } catch (const Error &error) {
        in_call = true;
        REQUIRE(error.code == Code::corrupt);
        rank.checkpoints.background().finish(std::nullopt);
        return;
      }
      const auto finish = [&] { rank.checkpoints.background().finish(std::nullopt); };
      const Code told = failure_of(finish, "");
      REQUIRE((told == Code::corrupt) == (ticket->state() == SaveState::failed));
      rank.checkpoints.background().finish(std::nullopt);  // once
    }));
    if (!job.fault_happened) break;
    assert_nothing_stored(job);
    assert_true(in_call == (step < 3));  // beginning, copying and sealing
  }
}

void what_is_left_of_a_killed_process_belongs_to_its_trial(void **) {
  Job job(1, 1);
  job.file("source/weights", "x");
  const auto storage = [&] {
    auto opened = storage::make_storage_from_uri(job.base().string(), std::make_shared<Logger>());
    opened->serve("");
    return opened;
  };
  // A process that is gone, as its lock says.
  const auto seal = [&](const std::string &id) {
    const auto first = storage();
    auto writer = first->begin(id);
    writer->copy(job.path("source"), {});
    writer->seal("trial 1 of ");
    static auto &gone = *new std::vector<storage::CheckpointWriter *>;  // never freed
    gone.push_back(writer.release());
    for (const std::string &name : job.staged())
      if (name.starts_with(id) && name.ends_with(".lock")) {
        const fs::path lock = job.base() / ".partial" / name;
        fs::remove(lock);
        write_all(open_file(lock, O_WRONLY | O_CREAT).get(), "{}", lock);
      }
  };
  seal("one");
  assert_true(storage()->take_sealed("trial 2 of ").empty());
  assert_true(storage()->sweep().empty());
  assert_int_equal(job.staged().size(), 3);
  {
    const auto again = storage();
    const auto writers = again->take_sealed("trial 1 of ");
    assert_int_equal(writers.size(), 1);
    assert_true(storage()->take_sealed("trial 1 of ").empty());  // it is being finished
    assert_int_equal(writers[0]->commit().size(), 1);
    writers[0]->announced();
  }
  assert_equal(job.stored(), std::vector<std::string>{"one"});
  assert_true(job.staged().empty());
  storage()->restore("one", nullptr, true);

  // Nobody came for it in a week.
  seal("two");
  const fs::path note = job.base() / ".partial" / "two@sealed";
  const timespec old[2] = {{1, 0}, {1, 0}};
  assert_int_equal(utimensat(AT_FDCWD, note.c_str(), old, 0), 0);
  assert_true(storage()->sweep().empty());
  assert_true(job.staged().empty());

  // The machine was started again since, so that not all of it may be there.
  seal("three");
  const fs::path third = job.base() / ".partial" / "three@sealed";
  fs::remove(third);
  write_all(open_file(third, O_WRONLY | O_CREAT).get(),
            R"({"version": 1, "owner": "trial 1 of ", "boot_id": "another"})", third);
  assert_true(storage()->take_sealed("trial 1 of ").empty());
  assert_true(job.staged().empty());
  assert_equal(job.stored(), std::vector<std::string>{"one"});
}

void ranks_save_together_without_meeting(void **) {
  Job job(2, 2);
  for (int rank = 0; rank < 4; ++rank)
    job.file("source" + std::to_string(rank) + "/own" + std::to_string(rank), "of a rank");
  std::vector<std::string> ids(4);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto at = static_cast<size_t>(rank.number);
    const fs::path source = job.path("source" + std::to_string(rank.number));
    const Ticket first = upload(rank, source, 1, true);
    const Ticket second = upload(rank, source, 2, true);
    ids[at] = first->id();
    rank.communicator.allgather("the training's own");
    REQUIRE(save(rank, first));
    REQUIRE(first->state() == SaveState::saved);
    if (rank.number == 0) REQUIRE(second->await_end(std::nullopt));  // nobody else calls anything
    REQUIRE(save(rank, second));
    // One after the other with those that block.
    const Ticket third = upload(rank, source, 3, true);
    rank.checkpoints.saver().upload(source, text(4), true, nullptr);
    REQUIRE(save(rank, third));
    rank.checkpoints.background().finish(std::nullopt);
  }));
  assert_equal(reported_steps(job), std::vector<int64_t>{1, 2, 3, 4});
  const storage::Resources expected{
      {"metadata.json", 26}, {"own0", 9}, {"own1", 9}, {"own2", 9}, {"own3", 9}};
  for (const auto &[rank, report] : job.reports) {
    assert_int_equal(rank, 0);
    assert_equal(report.resources, expected);
  }
  for (const std::string &id : ids) assert_string_equal(id.c_str(), ids[0].c_str());
  const auto storage =
      storage::make_storage_from_uri(job.base().string(), std::make_shared<Logger>());
  storage->restore(ids[0], nullptr, true);
  assert_false(fs::exists(job.base() / ids[0] / ".detcore-shares"));
  assert_true(job.staged().empty());
}

void a_directory_of_all_ranks_is_committed_in_the_background(void **) {
  Job job(1, 3);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    const std::string name = "own" + std::to_string(rank.number);
    write_all(open_file(fs::path(store->path()) / name, O_WRONLY | O_CREAT).get(), "x", name);
    const Ticket ticket = store->commit_async();
    REQUIRE(save(rank, ticket));
  }));
  assert_int_equal(job.reports.size(), 1);
  assert_int_equal(job.reports[0].second.resources.size(), 4);
  assert_true(job.staged().empty());
}

void what_fails_on_one_rank_is_told_on_all_that_wait(void **) {
  int failed_later = 0;
  for (int faulty = 0; faulty < 2; ++faulty)
    for (int step = 0;; ++step) {
      Job job(1, 2);
      job.file("source0/a", "x");
      job.file("source1/b", "x");
      job.faulty_rank = faulty;
      job.faulty_step = step;
      std::atomic<int> late{0};
      const auto thrown = job.run([&](Rank &rank) {
        const fs::path source = job.path("source" + std::to_string(rank.number));
        const Ticket ticket = upload(rank, source, 1, true);
        try {
          save(rank, ticket);
        } catch (const Error &) {
          ++late;
          throw;
        }
      });
      if (!job.fault_happened) {
        assert_no_failure(thrown);
        break;
      }
      assert_all_threw(thrown, Code::corrupt, "a fault of the test");
      assert_true(late == 0 || late == 2);
      failed_later += late;
      assert_nothing_stored(job);
    }
  assert_true(failed_later > 0);
}

void ranks_cancel_in_step(void **) {
  Job job(1, 2);
  Gatekeeper master;
  job.before_report = [&] { master.pass(); };
  job.file("source0/a", "x");
  job.file("source1/b", "x");
  assert_no_failure(job.run([&](Rank &rank) {
    const auto opened = rank.number == 0 ? master.open_at_end() : nullptr;
    const fs::path source = job.path("source" + std::to_string(rank.number));
    const Ticket first = upload(rank, source, 1, true);
    const Ticket second = upload(rank, source, 2, true);
    rank.communicator.allgather("");
    if (rank.number == 0) {
      master.await_somebody();
      second->cancel();  // before its turn can come
      master.open();
    }
    rank.checkpoints.background().cancel(*second);
    REQUIRE(second->state() == SaveState::cancelled);
    REQUIRE(failure_of([&] { save(rank, second); }) == Code::state);
    REQUIRE(save(rank, first));
    REQUIRE(failure_of([&] { rank.checkpoints.background().cancel(*first); }, "saved before") ==
            Code::state);
  }));
  assert_int_equal(job.stored().size(), 1);
  assert_true(job.staged().empty());
}

void what_was_staged_when_its_process_was_killed_the_next_run_begins_with(void **) {
  const Home home;
  const TemporaryDirectory staged, source, output;
  for (int i = 0; i < 100; ++i) write_file_durably(source / std::to_string(i), std::to_string(i));
  const auto start = [&] {
    context::CoreOptions options = home.options();
    options.external_id = "trial";
    return context::Core::start(options);
  };
  const int status = run_in_child(output.path(), [&]() -> int {
    const auto core = start();
    core->checkpoint().background().stage_in(staged.path(), 1 << 20);
    core->checkpoint().saver().upload_async(source.path(), text(5), false, nullptr);
    return raise(SIGKILL);
  });
  assert_int_equal(status, SIGKILL);
  const auto core = start();
  const std::vector<engine::CheckpointEntry> all = core->checkpoint().catalog().list();
  assert_int_equal(all.size(), 1);
  assert_int_equal(all[0].steps, 5);
  assert_true(core->info().run().latest_checkpoint == all[0].id);
  const auto reader = core->checkpoint().restorer().restore(all[0].id, {});
  assert_string_equal(read_file(reader->path() / "99").c_str(), "99");
  core->close(engine::RunEnd::ok);
}

}  // namespace
}  // namespace det::test

int test_checkpoint_async() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(saves_become_known_in_the_order_in_which_they_were_begun),
      cmocka_unit_test(as_many_are_in_flight_as_the_limit_says),
      cmocka_unit_test(who_waits_for_its_turn_is_cancelled_without_a_trace),
      cmocka_unit_test(at_whatever_step_it_fails_nothing_is_left_and_it_is_told),
      cmocka_unit_test(what_is_left_of_a_killed_process_belongs_to_its_trial),
      cmocka_unit_test(ranks_save_together_without_meeting),
      cmocka_unit_test(a_directory_of_all_ranks_is_committed_in_the_background),
      cmocka_unit_test(what_fails_on_one_rank_is_told_on_all_that_wait),
      cmocka_unit_test(ranks_cancel_in_step),
      cmocka_unit_test(what_was_staged_when_its_process_was_killed_the_next_run_begins_with),
  };
  return cmocka_run_group_tests_name("checkpoint_async", tests, nullptr, nullptr);
}
