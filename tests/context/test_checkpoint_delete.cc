// Deleting a checkpoint: killed at any of its steps, refused by the master or by the storage.
#include <sys/mount.h>

#include "core/context/core.h"
#include "core/storage/tree.h"
#include "tests/context/home.h"
#include "tests/expect_error.h"
#include "tests/traced.h"

namespace {

using namespace det;
using namespace det::context;
using namespace det::test;
namespace fs = std::filesystem;

struct Deleting {
  Home home;
  fs::path storage = fs::path(home.path()) / "storage";

  std::shared_ptr<Core> start() const {
    CoreOptions options = home.options();
    options.external_id = "t";
    options.checkpoint_storage = storage.string();
    options.config_text = R"({"checkpoint_storage": {"save_trial_latest": 100}})";
    return Core::start(options);
  }

  std::string save(Core &core, int64_t steps) const {
    const fs::path source = fs::path(home.path()) / "source";
    fs::create_directories(source / "part");
    write_file_durably(source / "model", std::to_string(steps));
    write_file_durably(source / "part/one", "1");
    return core.checkpoint().saver().upload(source, to_wire(Json{{"steps_completed", steps}}),
                                            false, {});
  }

  std::string state_of(const std::string &id) const {
    return home.text("SELECT state FROM checkpoints WHERE uuid='" + id + "'");
  }

  // Names of what is unfinished; locks have hidden ones while they are made.
  std::string left_behind() const {
    std::string names;
    std::error_code absent;
    for (const auto &entry : fs::directory_iterator(storage / ".partial", absent)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with('.') || name.starts_with(".removed")) names += name + " ";
    }
    return names;
  }
};

void restore(Core &core, const std::string &id) {
  core.checkpoint().restorer().restore(id, {.mode = DownloadMode::no_shared});
}

// Deletes the checkpoint of `steps` in a process that is killed before its `step`-th system call;
// false when there are not that many. `id` receives which one it was.
bool killed_while_deleting(const Deleting &at, int64_t steps, int step, std::string &id) {
  const fs::path note = fs::path(at.home.path()) / "id";
  Traced deleting([&](const auto &watched) {
    const auto core = at.start();
    const std::string saved = at.save(*core, steps);
    write_file_durably(note, saved);
    watched();
    core->checkpoint().remove(saved);
    return 0;
  });
  bool lives = true;
  for (int i = 0; lives && i <= step; ++i) lives = deleting.next().has_value();
  if (lives) deleting.kill();
  id = read_file(note);
  return lives;
}

void killed_at_any_step_it_is_whole_or_goes_at_the_next_start(void **) {
  const Deleting at;
  std::string kept;
  {
    const auto core = at.start();
    kept = at.save(*core, 1);
    core->close(engine::RunEnd::error);
  }
  int whole = 0, finished_later = 0;
  for (int step = 0;; ++step) {
    std::string id;
    const bool killed = killed_while_deleting(at, step + 2, step, id);
    const std::string left = at.state_of(id);
    if (left == "COMPLETED" && !fs::exists(at.storage / id / "model"))
      fail_msg("killed at step %d: COMPLETED, and without its files", step);
    const auto core = at.start();
    const std::string latest = core->info().run().latest_checkpoint.value_or("none");
    if (left == "COMPLETED") {
      assert_string_equal(latest.c_str(), id.c_str());
      assert_string_equal(at.state_of(id).c_str(), "COMPLETED");
      restore(*core, id);
      core->checkpoint().remove(id);
      ++whole;
    } else {
      assert_string_equal(latest.c_str(), kept.c_str());
      finished_later += left == "PARTIALLY_DELETED";
    }
    assert_string_equal(at.state_of(id).c_str(), "DELETED");
    assert_false(fs::exists(at.storage / id));
    assert_string_equal(at.left_behind().c_str(), "");
    restore(*core, kept);
    core->close(engine::RunEnd::error);
    if (!killed) break;
  }
  assert_in_range(whole, 1, 10'000);
  assert_in_range(finished_later, 1, 10'000);
}

// Killed right after the store has it, with its lock still there: another store that uses the same
// directory knows nothing of it, and must not take it for unreported.
void what_another_store_knows_is_left_to_it(void **) {
  const Deleting at;
  const Home other;
  at.start()->close(engine::RunEnd::error);
  const std::string completed = "SELECT count(*) FROM checkpoints";
  Traced saving([&](const auto &watched) {
    const auto core = at.start();
    watched();
    at.save(*core, 1);
    return 0;
  });
  // The lock goes after the record is made.
  while (at.left_behind().empty() || at.home.text(completed) == "0")
    assert_true(saving.next().has_value());
  saving.kill();
  const std::string id = at.home.text("SELECT uuid FROM checkpoints");
  assert_true(contains(at.left_behind(), id));
  CoreOptions options = other.options();
  options.checkpoint_storage = at.storage.string();
  for (int start = 0; start < 2; ++start) Core::start(options)->close(engine::RunEnd::ok);
  assert_true(contains(at.left_behind(), id));
  const auto core = at.start();
  assert_string_equal(core->info().run().latest_checkpoint.value_or("").c_str(), id.c_str());
  restore(*core, id);
  assert_string_equal(at.left_behind().c_str(), "");
  core->close(engine::RunEnd::ok);
}

void deleting_twice_and_what_is_not_there_succeeds(void **) {
  const Deleting at;
  const auto core = at.start();
  const std::string id = at.save(*core, 1);
  core->checkpoint().remove(id);
  core->checkpoint().remove(id);
  core->checkpoint().remove("absent");
  assert_string_equal(at.state_of(id).c_str(), "DELETED");
  assert_string_equal(at.left_behind().c_str(), "");
  core->close(engine::RunEnd::ok);
}

// A mount point cannot be moved.
void removal_that_fails_leaves_it_complete(void **) {
  const Deleting at;
  const auto core = at.start();
  const std::string id = at.save(*core, 1);
  const fs::path stored = at.storage / id;
  if (mount(stored.c_str(), stored.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    print_message("# SKIPPED: only root can mount\n");
    core->close(engine::RunEnd::ok);
    skip();
  }
  std::string message;
  try {
    core->checkpoint().remove(id);
  } catch (const Error &error) {
    message = error.what();
  }
  assert_int_equal(umount(stored.c_str()), 0);
  assert_true(contains(message, id));
  assert_string_equal(at.state_of(id).c_str(), "COMPLETED");
  assert_string_equal(at.left_behind().c_str(), "");
  restore(*core, id);
  core->checkpoint().remove(id);
  assert_string_equal(at.state_of(id).c_str(), "DELETED");
  core->close(engine::RunEnd::ok);
}

void our_own_without_its_manifest_is_corrupt(void **) {
  const Deleting at;
  const auto core = at.start();
  const std::string id = at.save(*core, 1);
  fs::copy(at.storage / id, at.storage / "of-another-program", fs::copy_options::recursive);
  for (const std::string &each : {id, std::string("of-another-program")})
    fs::remove(at.storage / each / storage::manifest_name);
  const fs::path target = fs::path(at.home.path()) / "target";
  for (const DownloadMode mode : {DownloadMode::no_shared, DownloadMode::local_workers_share}) {
    expect_error(Code::corrupt, [&] { core->checkpoint().restorer().restore(id, {.mode = mode}); });
    expect_error(Code::corrupt,
                 [&] { core->checkpoint().restorer().download(id, target, {.mode = mode}); });
    core->checkpoint().restorer().restore("of-another-program", {.mode = mode});
    core->checkpoint().restorer().download("of-another-program", target, {.mode = mode});
  }
  core->close(engine::RunEnd::ok);
}

}  // namespace

int test_checkpoint_delete() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(killed_at_any_step_it_is_whole_or_goes_at_the_next_start),
      cmocka_unit_test(what_another_store_knows_is_left_to_it),
      cmocka_unit_test(deleting_twice_and_what_is_not_there_succeeds),
      cmocka_unit_test(removal_that_fails_leaves_it_complete),
      cmocka_unit_test(our_own_without_its_manifest_is_corrupt),
  };
  return cmocka_run_group_tests_name("checkpoint delete", tests, nullptr, nullptr);
}
