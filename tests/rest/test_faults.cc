// What a report that was taken may count on: it gets to the master once, through a network that
// spoils what goes through it, a master that restarts, and kills of the reporting process at any
// instant.
//
// DET_TEST_SEED repeats a run, as far as kills can be repeated; DET_TEST_LIVES makes it longer.
#include <sys/mman.h>
#include <sys/prctl.h>

#include <atomic>
#include <map>
#include <random>

#include "core/client/client.h"
#include "core/master/rest/refused.h"
#include "tests/expect_error.h"
#include "tests/patience.h"
#include "tests/rest/surroundings.h"

namespace {

using namespace det;
using namespace det::master;
using namespace det::test;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_slow = true;
#elif defined(__has_feature)
constexpr bool is_slow = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_slow = false;
#endif

constexpr int64_t reports_a_life = 60;
constexpr int most_lives = 2000;

int number_from(const char *variable, int otherwise) {
  const char *text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::minstd_rand &chance() {
  static std::minstd_rand random = [] {
    const int seed = number_from("DET_TEST_SEED", static_cast<int>(time(nullptr) % 1'000'000));
    print_message("# DET_TEST_SEED=%d\n", seed);
    return std::minstd_rand(static_cast<unsigned>(seed));
  }();
  return random;
}

int from_to(int least, int most) { return std::uniform_int_distribution(least, most)(chance()); }

// What the processes know in common, whoever is killed.
struct Memory {
  std::atomic<bool> has_started, has_ended, shall_leave;
  std::atomic<int64_t> next_step, end_of_life;
  std::atomic<bool> taken[(most_lives + 1) * reports_a_life];  // by step
};

class SharedMemory {
 public:
  SharedMemory()
      : memory_(static_cast<Memory *>(mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    assert_true(memory_ != MAP_FAILED);
    memory_->next_step = 1;
  }
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory() { munmap(memory_, sizeof(Memory)); }
  Memory *operator->() const { return memory_; }

 private:
  Memory *const memory_;
};

double value_at(int64_t step) { return static_cast<double>(step) * 0.5; }
std::string group_at(int64_t step) { return step % 10 == 0 ? "validation" : "training"; }

// Reports until it is killed or shall leave.
void live(const SharedMemory &memory, const context::CoreOptions &options) {
  const auto core = context::Core::start(options);
  memory->has_started = true;
  while (!memory->shall_leave) {
    const int64_t step = memory->next_step;
    if (step >= memory->end_of_life) {
      usleep(1000);
      continue;
    }
    memory->next_step = step + 1;
    const journal::NamedValue loss{"loss", value_at(step)};
    core->train().report(group_at(step), step, &loss, 1);
    memory->taken[step] = true;
    core->train().set_status("at " + std::to_string(step));
    core->train().report_progress(0.5);
    core->preempt().should_preempt(true);
    usleep(static_cast<useconds_t>(step % 7 * 100));
  }
  core->close(engine::RunEnd::ok);
}

// Gives whether the process ended by itself, in good order.
bool wait_for_end(pid_t child, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  int status = 0;
  pid_t ended = 0;
  while (ended == 0 && std::chrono::steady_clock::now() < end) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) usleep(1000);
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    ended = waitpid(child, &status, 0);
  }
  assert_int_equal(ended, child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Json faults(double harm) {
  return {{"refuse", 0.02 * harm},     {"delay", 0.1 * harm}, {"cut_request", 0.02 * harm},
          {"cut_answer", 0.02 * harm}, {"flip", 0.01 * harm}, {"unavailable", 0.03 * harm},
          {"hang", 0.002 * harm}};
}

// One process from its start to its end, which is a kill unless it `shall_leave`.
bool spend_life(const SharedMemory &memory, const context::CoreOptions &options,
                const SpoilingProxy &proxy, const FakeMaster &master, bool shall_leave) {
  memory->has_started = memory->has_ended = memory->shall_leave = false;
  const int64_t first_step = memory->next_step;
  memory->end_of_life = first_step + reports_a_life;
  const int harm = from_to(0, 3);
  const bool dies_early = from_to(0, 7) == 0;
  Json at_start = faults(harm);
  at_start["flip"] = 0;  // a version of the master with another digit: another wire
  if (!dies_early) at_start["hang"] = 0;  // which takes a minute
  proxy.change(at_start);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // where the test fails while it waits
    try {
      live(memory, options);
      _exit(0);
    } catch (const std::exception &) {
      memory->has_ended = true;
      _exit(1);  // where the start met too many faults
    }
  }
  // Who does not die early is waited for, however busy the machine.
  if (dies_early) usleep(static_cast<useconds_t>(from_to(0, 500)) * 1000);
  else wait_until_so([&] { return memory->has_started || memory->has_ended; });
  proxy.change(faults(harm));
  if (from_to(0, 3) == 0) {
    master.restart(0.05);
    usleep(50'000);
  }
  const int64_t last_step = first_step + from_to(reports_a_life / 4, reports_a_life);
  if (memory->has_started)
    wait_until_so([&] { return memory->next_step >= last_step || memory->has_ended; });
  usleep(static_cast<useconds_t>(from_to(0, 20)) * 1000);
  memory->shall_leave = shall_leave;
  return wait_for_end(child, std::chrono::milliseconds(shall_leave ? 1000 : 0));
}

// The end of all trouble: what is left gets through.
void spend_last_life(const SharedMemory &memory, context::CoreOptions options,
                     const SpoilingProxy &proxy) {
  proxy.change({{"refuse", 0},
                {"delay", 0},
                {"cut_request", 0},
                {"cut_answer", 0},
                {"flip", 0},
                {"hang", 0},
                {"unavailable", 0}});
  options.close_limit = std::chrono::seconds(TEST_PATIENCE_SECONDS);
  memory->has_started = false;
  memory->shall_leave = true;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    try {
      live(memory, options);
      _exit(0);
    } catch (const std::exception &error) {
      fprintf(stderr, "the last process: %s\n", error.what());
      _exit(1);
    }
  }
  assert_true(wait_for_end(child, std::chrono::seconds(2 * TEST_PATIENCE_SECONDS)));
}

// By step; a report that is there twice, or with another value, fails the test.
std::map<int64_t, double> stored(const Json &state) {
  std::map<int64_t, double> found;
  for (const Json &row : state["metrics"]) {
    const int64_t step = row["step"];
    assert_equal(row["group"], group_at(step));
    assert_equal(row["values"]["loss"], value_at(step));
    if (!found.emplace(step, value_at(step)).second) fail_msg("step %ld is there twice", step);
  }
  return found;
}

// Reports that are kept aside, below `directory`.
std::map<int64_t, double> kept_aside(const fs::path &directory) {
  std::map<int64_t, double> found;
  for (const auto &entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().filename() != "refused.spool.jsonl") continue;
    RefusedReports(entry.path().parent_path()).offer([&found](const Json &report) {
      if (report.contains("steps_completed")) {
        const int64_t step = report["steps_completed"];
        assert_equal(report["metrics"]["loss"], value_at(step));
        found[step] = value_at(step);
      }
      return false;  // it stays
    });
  }
  return found;
}

int64_t assert_all_there(const SharedMemory &memory, const std::map<int64_t, double> &found) {
  int64_t taken = 0;
  for (int64_t step = 1; step < memory->next_step; ++step) {
    if (!memory->taken[step]) continue;
    ++taken;
    if (!found.contains(step)) fail_msg("the report of step %ld is lost", step);
  }
  return taken;
}

context::CoreOptions short_lived(Surroundings &place) {
  context::CoreOptions options = place.options();
  options.close_limit = std::chrono::milliseconds(300);
  return options;
}

void reports_of_a_cluster_arrive_once_whatever_happens(void **) {
  const int lives = std::min(number_from("DET_TEST_LIVES", is_slow ? 6 : 24), most_lives);
  for (const std::string version : {"0.19.10", "0.33.0", "0.38.1"}) {
    const FakeMaster &master = fresh_master(version);
    const SpoilingProxy proxy(master.port(), from_to(1, 1'000'000));
    Surroundings place;
    // A launcher starts the program again in its container: the run stays the same.
    place.in_prepared_task(place.cluster(proxy.url()), place.trial());
    const SharedMemory memory;
    const context::CoreOptions options = short_lived(place);
    int in_order = 0;
    for (int life = 0; life < lives; ++life) {
      if (life == lives * 2 / 3) master.preempt();
      in_order += spend_life(memory, options, proxy, master, from_to(0, 3) == 0) ? 1 : 0;
    }
    spend_last_life(memory, options, proxy);

    const Json state = master.state();
    const std::map<int64_t, double> found = stored(state);
    const int64_t taken = assert_all_there(memory, found);
    print_message("# %s: %ld reports of %d processes, %d of which ended in order, through %s\n",
                  version.c_str(), taken, lives, in_order, proxy.mode()["counts"].dump().c_str());
    assert_true(taken > lives * reports_a_life / 8);
    for (const Json &ack : state["allocations"]["1.aaaa.1"]["acks"])
      assert_equal(ack["preempted"], true);
    // Where a flipped bit hid that the master has a report, it is kept aside as well.
    for (const auto &[step, value] : kept_aside(place.directory.path())) {
      assert_string_equal(version.c_str(), "0.19.10");
      assert_true(found.contains(step));
    }
    if (version != "0.19.10") assert_true(place.left_behind(proxy.url()).empty());
    place.assert_no_token_shown();
  }
}

// Each process is a run of its own, which fences off the one before: what of that comes too late
// for the master is kept aside.
void reports_without_a_cluster_arrive_or_are_kept(void **) {
  const int lives = std::min(number_from("DET_TEST_LIVES", is_slow ? 3 : 8), most_lives);
  const FakeMaster &master = fresh_master("0.38.1");
  const SpoilingProxy proxy(master.port(), from_to(1, 1'000'000));
  Surroundings place;
  place.as_user(proxy.url());
  const SharedMemory memory;
  context::CoreOptions options = short_lived(place);
  options.external_id = "t";
  for (int life = 0; life < lives; ++life)
    spend_life(memory, options, proxy, master, from_to(0, 3) == 0);
  spend_last_life(memory, options, proxy);

  std::map<int64_t, double> found = stored(master.state());
  found.merge(kept_aside(place.directory.path()));
  assert_all_there(memory, found);
  place.assert_no_token_shown();
}

uint64_t bytes_below(const fs::path &directory) {
  uint64_t bytes = 0;
  for (const auto &entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

void nothing_grows_while_the_master_is_away(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_prepared_task(place.cluster(master.url()), place.trial());
  context::CoreOptions options = place.options();
  options.journal_limit = 4U << 20U;
  const auto core = context::Core::start(options);
  wait_until_so([&] { return requests_to(master, "signals/preemption").size() == 2; });
  master.add_fault({{"path", "."}, {"status", 503}, {"count", 100'000}});
  const size_t before = master.requests().size();

  const std::string text(10'000, 'x');
  int64_t taken = 0;
  const auto report_until_full = [&] {
    try {
      for (;;) {
        core->train().report_json("training", taken + 1, {{"loss", 1}, {"text", text}}, {});
        ++taken;
      }
    } catch (const Error &error) {
      assert_int_equal(static_cast<int>(error.code), static_cast<int>(Code::full));
    }
  };
  const auto away = std::chrono::steady_clock::now();
  const auto seconds_away = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - away).count();
  };
  const auto asked = [&] { return master.requests().size() - before; };
  while (seconds_away() < 3 || asked() < 3) {
    report_until_full();
    assert_true(bytes_below(place.directory / "home") <= options.journal_limit + 100'000);
    usleep(10'000);
  }
  assert_true(taken > 200);
  // Pauses double, and one report a time asks whether the master is back.
  const size_t requests = asked();
  print_message("# %zu requests in %.1f seconds without the master\n", requests, seconds_away());
  assert_true(static_cast<double>(requests) < 13 * seconds_away());

  master.heal();
  core->close(engine::RunEnd::ok);
  assert_equal(steps_of(master.state()), steps_to(taken));
  assert_true(place.left_behind(master.url()).empty());
}

}  // namespace

int test_faults() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(reports_of_a_cluster_arrive_once_whatever_happens),
      cmocka_unit_test(reports_without_a_cluster_arrive_or_are_kept),
      cmocka_unit_test(nothing_grows_while_the_master_is_away),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
