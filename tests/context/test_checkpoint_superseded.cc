// While a run goes on, the checkpoints stay that the configuration keeps, and the others go.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/context/checkpoint/retention.h"
#include "core/context/core.h"
#include "tests/context/child_process.h"
#include "tests/context/hanging_call.h"
#include "tests/context/home.h"
#include "tests/expect_error.h"
#include "tests/patience.h"
#include "tests/traced.h"

namespace {

using namespace det;
using namespace det::context;
using namespace det::test;
namespace fs = std::filesystem;

struct Keeping {
  Home home;
  fs::path storage = fs::path(home.path()) / "storage";

  std::shared_ptr<Core> start(const Json &kept = Json::object()) const {
    return Core::start(options(kept));
  }

  CoreOptions options(const Json &kept = Json::object()) const {
    CoreOptions options = home.options();
    options.external_id = "t";
    options.checkpoint_storage = storage.string();
    options.config_text =
        to_wire({{"searcher", {{"name", "single"}, {"metric", "loss"}, {"max_length", 1000}}},
                 {"checkpoint_storage", kept}});
    return options;
  }

  std::string save(Core &core, int64_t steps) const {
    const fs::path source = fs::path(home.path()) / "source";
    fs::create_directories(source);
    write_file_durably(source / "model", std::to_string(steps));
    return core.checkpoint().saver().upload(source, to_wire(Json{{"steps_completed", steps}}),
                                            false, {});
  }

  // The steps of those whose files are there.
  std::set<int64_t> there() const {
    std::set<int64_t> steps;
    std::error_code absent;
    for (const auto &entry : fs::directory_iterator(storage, absent)) try {
        steps.insert(std::stoll(read_file(entry.path() / "model")));
      } catch (const Error &) {
        // It is none, or it went meanwhile.
      }
    return steps;
  }
  std::set<int64_t> on_record() const {
    std::set<int64_t> steps;
    const std::string list = home.text(
        "SELECT COALESCE(GROUP_CONCAT(steps), '') FROM checkpoints WHERE "
        "state='COMPLETED'");
    for (size_t at = 0; at < list.size(); at = std::min(list.find(',', at), list.size() - 1) + 1)
      steps.insert(std::stoll(list.substr(at)));
    return steps;
  }
  void expect(const std::set<int64_t> &steps) const {
    for (int i = 0; i < 500 && there() != steps; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    assert_true(there() == steps);
    assert_true(on_record() == steps);
  }
};

void report(Core &core, int64_t steps, double loss) {
  const journal::NamedValue value{"loss", loss};
  core.train().report_validation(steps, &value, 1);
}

void the_latest_and_the_best_stay_while_the_run_goes_on(void **) {
  const Keeping at;
  const auto core = at.start();
  const double losses[] = {0.5, 0.1, 0.9, 0.8, 0.7};
  int64_t steps = 0;
  for (const double loss : losses) {
    report(*core, ++steps, loss);
    at.save(*core, steps);
  }
  at.expect({2, 5});
  core->close(engine::RunEnd::ok);
  at.expect({2, 5});
}

void a_validation_that_follows_its_checkpoint_counts(void **) {
  const Keeping at;
  const auto core = at.start();
  const double losses[] = {0.5, 0.1, 0.9, 0.8, 0.7};
  int64_t steps = 0;
  for (const double loss : losses) {
    at.save(*core, ++steps);
    report(*core, steps, loss);
  }
  at.expect({2, 4, 5});  // the best, the latest with a validation, the latest
  core->close(engine::RunEnd::ok);
  at.expect({2, 5});
}

void as_many_stay_as_the_configuration_says(void **) {
  const Keeping at;
  const auto core = at.start({{"save_trial_latest", 3}});
  for (int64_t steps = 1; steps <= 5; ++steps) at.save(*core, steps);
  at.expect({3, 4, 5});
}

void a_configuration_may_say_only_how_many_stay(void **) {
  const Keeping at;
  CoreOptions options = at.home.options();
  options.config_text = R"({"checkpoint_storage": {"save_trial_latest": 2}})";
  const auto core = Core::start(options);
  for (int64_t steps = 1; steps <= 3; ++steps) at.save(*core, steps);
  core->close(engine::RunEnd::ok);
  assert_true(at.on_record() == std::set<int64_t>({2, 3}));
  assert_string_equal(at.home.text("SELECT storage FROM checkpoints").c_str(),
                      R"({"type":"shared_fs","host_path":"."})");
}

void one_that_is_being_read_stays(void **) {
  const Keeping at;
  const auto core = at.start();
  const std::string first = at.save(*core, 1);
  {
    const auto reader =
        core->checkpoint().restorer().restore(first, {.mode = DownloadMode::no_shared});
    at.save(*core, 2);
    at.save(*core, 3);
    at.expect({1, 3});
    assert_equal(read_file(reader->path() / "model"), "1");
  }
  at.save(*core, 4);
  at.expect({4});
}

void a_program_may_still_delete_what_it_saved(void **) {
  const Keeping at;
  const auto core = at.start();
  std::string before;
  for (int64_t steps = 1; steps <= 20; ++steps) {
    const std::string saved = at.save(*core, steps);
    if (!before.empty()) core->checkpoint().remove(before);
    before = saved;
  }
  at.expect({20});
}

void a_run_that_saves_nothing_deletes_nothing(void **) {
  const Keeping at;
  {
    const auto core = at.start({{"save_trial_latest", 9}});
    for (int64_t steps = 1; steps <= 3; ++steps) at.save(*core, steps);
  }
  at.home.text("UPDATE experiments SET config=json_remove(config, '$.checkpoint_storage')");
  at.start()->close(engine::RunEnd::ok);
  at.expect({1, 2, 3});
}

void what_removals_throw_ends_nothing(void **) {
  std::atomic<int> done = 0;
  Removals removals([](const auto &) { throw std::runtime_error("no removal"); },
                    [&] {
                      ++done;
                      throw std::runtime_error("no end");
                    });
  for (int i = 1; i <= 2; ++i) {
    removals.add({{"one", true}});
    removals.await("one");
    assert_true(removals.await_all(std::chrono::minutes(1)));
    assert_int_equal(done, i);
  }
}

// Killed before its `step`-th system call from the second save on; false when there are not as
// many.
bool killed_while_saving(const Keeping &at, int step) {
  Traced saving([&](const auto &watched) {
    const auto core = at.start();
    at.save(*core, 1);
    watched();
    at.save(*core, 2);
    core->checkpoint().retention().finish(true, std::chrono::minutes(1));
    return 0;
  });
  bool lives = true;
  for (int i = 0; lives && i <= step; ++i) lives = saving.next().has_value();
  if (lives) saving.kill();
  return lives;
}

void killed_at_any_step_the_next_save_leaves_what_is_kept(void **) {
  bool lives = true;
  for (int step = 0; lives; step += 7) {
    const Keeping at;
    lives = killed_while_saving(at, step);
    const auto core = at.start();
    const auto latest = core->info().run().latest_checkpoint;
    assert_true(latest.has_value());
    core->checkpoint().restorer().restore(*latest, {.mode = DownloadMode::no_shared});
    at.save(*core, 3);
    at.expect({3});
  }
}

void a_storage_that_hangs_holds_up_no_end_of_a_run(void **) {
  const Keeping at;
  const int status = run_in_child(at.home.path(), [&] {
    alarm(TEST_PATIENCE_SECONDS);
    CoreOptions options = at.options();
    options.close_limit = std::chrono::milliseconds(200);
    std::shared_ptr<Core> core = Core::start(options);
    at.save(*core, 1);
    std::thread([&] {
      hang_call(SYS_unlinkat, AT_REMOVEDIR);
      at.save(*core, 2);
    }).join();
    const auto begin = std::chrono::steady_clock::now();
    core->close(engine::RunEnd::ok);
    core.reset();
    if (std::chrono::steady_clock::now() - begin >= std::chrono::seconds(20)) return 1;
    return raise(SIGKILL);  // with a thread that nobody joins
  });
  assert_int_equal(status, SIGKILL);
  at.start()->close(engine::RunEnd::ok);
  at.expect({2});
  for (const auto &entry : fs::recursive_directory_iterator(at.storage))
    assert_false(entry.path().filename().string().starts_with(".removed"));
}

}  // namespace

int test_checkpoint_superseded() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_latest_and_the_best_stay_while_the_run_goes_on),
      cmocka_unit_test(a_validation_that_follows_its_checkpoint_counts),
      cmocka_unit_test(as_many_stay_as_the_configuration_says),
      cmocka_unit_test(a_configuration_may_say_only_how_many_stay),
      cmocka_unit_test(one_that_is_being_read_stays),
      cmocka_unit_test(a_program_may_still_delete_what_it_saved),
      cmocka_unit_test(a_run_that_saves_nothing_deletes_nothing),
      cmocka_unit_test(what_removals_throw_ends_nothing),
      cmocka_unit_test(a_storage_that_hangs_holds_up_no_end_of_a_run),
      cmocka_unit_test(killed_at_any_step_the_next_save_leaves_what_is_kept),
  };
  return cmocka_run_group_tests_name("checkpoint superseded", tests, nullptr, nullptr);
}
