// Sums and traces of regions, by a clock that the test sets.
#include "core/profiler/regions/regions.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/profiler/regions/trace_reader.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::profiler;

std::atomic<uint64_t> time_now{1'000};
uint64_t told_time() noexcept { return time_now; }
constexpr uint64_t second = 1'000'000'000;
void pass(uint64_t seconds) { time_now += seconds * second; }

struct Program {
  Regions regions{TickClock(&told_time)};
  Region step = regions.name("step");
  Region forward = regions.name("forward");
  Region backward = regions.name("backward");

  // What one step does: 1 s forward, 2 s backward, 1 s of its own.
  void run_step() {
    regions.begin(step);
    regions.begin(forward);
    pass(1);
    regions.end(forward);
    regions.begin(backward);
    pass(2);
    regions.end(backward);
    pass(1);
    regions.end(step);
  }
};

void check_sum(const RegionSum &sum, double seconds, uint64_t count, double share) {
  assert_equal(sum.seconds, seconds);
  assert_equal(sum.count, count);
  assert_equal(sum.share, share);
}

void paths_have_their_time_and_share(void **) {
  Program program;
  program.run_step();
  program.run_step();
  pass(8);
  const RegionReport report = program.regions.take().value();
  assert_equal(report.seconds, 16.0);
  assert_equal(report.regions.size(), 3);
  check_sum(report.regions.at("step"), 8, 2, 0.5);
  check_sum(report.regions.at("step/forward"), 2, 2, 0.125);
  check_sum(report.regions.at("step/backward"), 4, 2, 0.25);
  check_sum(report.library, 0, 0, 0);

  pass(1);
  program.regions.begin(program.forward);  // by itself it is another path
  pass(1);
  program.regions.end(program.forward);
  const RegionReport next = program.regions.take().value();
  assert_equal(next.regions.size(), 1);
  check_sum(next.regions.at("forward"), 1, 1, 0.5);
}

void an_open_region_counts_up_to_now(void **) {
  Program program;
  program.regions.begin(program.step);
  pass(3);
  check_sum(program.regions.take().value().regions.at("step"), 3, 0, 1);
  pass(1);
  program.regions.end(program.step);
  check_sum(program.regions.take().value().regions.at("step"), 1, 1, 1);
  pass(1);
  assert_true(program.regions.take().value().regions.empty());
}

void nothing_is_measured_before_a_name(void **) {
  Regions regions{TickClock(&told_time)};
  assert_false(regions.active());
  { const LibraryCall call(regions); }
  assert_false(regions.take().has_value());
  expect_error(Code::invalid, [&] { regions.begin(1); });
  regions.name("step");
  assert_true(regions.active());
  pass(2);
  assert_equal(regions.take().value().seconds, 2.0);
}

void names_are_checked(void **) {
  Regions regions;
  const Region first = regions.name("data");
  assert_equal(regions.name("data"), first);
  for (const char *wrong : {"", "a/b", "a\nb", "\xff", "detcore"})
    expect_error(Code::invalid, [&] { regions.name(wrong); });
  expect_error(Code::invalid, [&] { regions.name(std::string(max_region_name + 1, 'x')); });
  regions.name(std::string(max_region_name, 'x'));
  for (size_t i = 3; i < max_regions; ++i) regions.name("region " + std::to_string(i));
  const std::string message = expect_error(Code::invalid, [&] { regions.name("one more"); });
  assert_true(contains(message, "63 others"));
  for (const Region wrong : {Region{0}, Region{max_regions}, Region{255}}) {
    expect_error(Code::invalid, [&] { regions.begin(wrong); });
    expect_error(Code::invalid, [&] { regions.end(wrong); });
  }
}

void ends_that_do_not_match(void **) {
  Program program;
  Regions &regions = program.regions;
  const std::string message = expect_error(Code::state, [&] { regions.end(program.forward); });
  assert_true(contains(message, "'forward'"));
  regions.begin(program.step);
  regions.begin(program.forward);
  expect_error(Code::state, [&] { regions.end(program.backward); });
  pass(1);
  regions.end(program.step);  // and what is in it: its end was jumped over
  expect_error(Code::state, [&] { regions.end(program.forward); });
  pass(1);
  const RegionReport report = regions.take().value();
  check_sum(report.regions.at("step"), 1, 1, 0.5);
  check_sum(report.regions.at("step/forward"), 1, 1, 0.5);
}

void too_deep_is_left_out_and_told_once(void **) {
  Program program;
  Regions &regions = program.regions;
  for (uint32_t i = 0; i < max_region_depth + 5; ++i) regions.begin(program.step);
  pass(1);
  for (uint32_t i = 0; i < max_region_depth + 5; ++i) regions.end(program.step);
  expect_error(Code::state, [&] { regions.end(program.step); });
  assert_equal(regions.take().value().regions.size(), max_region_depth);
  assert_equal(regions.take_warnings().size(), 1);
  regions.take();
  assert_true(regions.take_warnings().empty());
}

void too_many_paths_are_left_out(void **) {
  Regions regions{TickClock(&told_time)};
  std::vector<Region> all;
  for (size_t i = 1; i < max_regions; ++i) all.push_back(regions.name(std::to_string(i)));
  for (const Region outer : all) {
    for (const Region inner : all) {
      regions.begin(outer);
      regions.begin(inner);
      pass(1);
      regions.end(inner);
      regions.end(outer);
    }
  }
  assert_equal(regions.take().value().regions.size(), 255);
  assert_equal(regions.take_warnings().size(), 1);
}

uint64_t ended(Regions &regions) {
  const RegionReport report = regions.take().value();
  uint64_t count = 0;
  for (const auto &[path, sum] : report.regions) count += sum.count;
  return count;
}

void threads_are_summed_up(void **) {
  Program program;
  program.regions.begin(program.step);  // open here all the while
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        program.regions.begin(program.forward);
        program.regions.end(program.forward);
      }
      expect_error(Code::state, [&] { program.regions.end(program.step); });
    });
  uint64_t seen = 0;
  for (int i = 0; i < 100; ++i) seen += ended(program.regions);
  for (std::thread &thread : threads) thread.join();
  program.regions.end(program.step);
  seen += ended(program.regions);
  assert_equal(seen, 4001);
}

void lanes_of_dead_threads_are_used_again(void **) {
  Program program;
  for (size_t i = 0; i < 2 * max_lanes; ++i)
    std::thread([&] { program.regions.begin(program.step); }).join();  // never ended
  program.run_step();
  assert_equal(program.regions.take().value().regions.at("step/forward").count, 1);
  assert_true(program.regions.take_warnings().empty());
}

void two_objects_on_one_thread(void **) {
  Program one, other;
  one.regions.begin(one.step);
  other.regions.begin(other.step);
  other.regions.begin(other.forward);
  pass(1);
  one.regions.end(one.step);
  other.regions.end(other.forward);
  other.regions.end(other.step);
  assert_equal(one.regions.take().value().regions.size(), 1);
  assert_equal(other.regions.take().value().regions.size(), 2);
}

void the_library_has_its_share(void **) {
  Program program;
  program.regions.begin(program.step);
  {
    const LibraryCall save(program.regions);
    const LibraryCall within(program.regions);  // one that the first makes counts no second time
    const SampledLibraryCall report(program.regions);
    pass(1);
  }
  pass(1);
  program.regions.end(program.step);
  const RegionReport report = program.regions.take().value();
  check_sum(report.regions.at("step"), 2, 1, 1);
  assert_equal(report.regions.size(), 1);
  assert_equal(report.library.seconds, 1.0);
  assert_equal(report.library.share, 0.5);

  for (uint64_t i = 0; i < Lane::calls_per_sample; ++i) {
    const SampledLibraryCall call(program.regions);
    pass(1);
  }
  const RegionReport sampled = program.regions.take().value();
  check_sum(sampled.library, 64, 64, 1);
}

struct Kept {
  TemporaryDirectory directory;
  std::filesystem::path path = directory / "traces" / "3.1.0.trace";
};

void a_trace_reads_back_the_same(void **) {
  Kept kept;
  {
    Regions regions{TickClock(&told_time)};
    regions.keep_trace(kept.path, {3, 1, 7, ""});
    assert_false(std::filesystem::exists(kept.path));
    const Region step = regions.name("step");
    const Region forward = regions.name("forward");
    pass(1);
    regions.begin(step);
    regions.begin(forward);
    pass(1);
    regions.end(forward);
    pass(1);

    const RankTrace open = read_trace(kept.path);  // while it runs
    assert_equal(open.threads.at(0).slices.size(), 2);
    assert_equal(open.threads[0].slices[1].region, step);
    assert_equal(open.threads[0].slices[1].end_ns, open.threads[0].slices[0].end_ns);
    regions.end(step);
  }
  const RankTrace trace = read_trace(kept.path);
  assert_equal(trace.trial_id, 3);
  assert_equal(trace.run_id, 1);
  assert_equal(trace.rank, 7);
  assert_equal(trace.process_id, getpid());
  assert_equal(trace.names, std::vector<std::string>{"detcore", "step", "forward"});
  const TraceThread &thread = trace.threads.at(0);
  assert_equal(thread.thread_id, gettid());
  assert_equal(thread.dropped, 0);
  assert_equal(thread.slices.size(), 2);
  assert_equal(thread.slices[0].region, 2);
  assert_equal(thread.slices[0].end_ns - thread.slices[0].begin_ns, second);
  assert_equal(thread.slices[1].region, 1);
  assert_equal(thread.slices[1].begin_ns, thread.slices[0].begin_ns);
  assert_equal(thread.slices[1].end_ns - thread.slices[1].begin_ns, 2 * second);
}

void the_last_regions_are_kept(void **) {
  Kept kept;
  Regions regions{TickClock(&told_time)};
  regions.keep_trace(kept.path, {});
  const Region step = regions.name("step");
  for (uint64_t i = 0; i < lane_events + 10; ++i) {
    regions.begin(step);
    ++time_now;
    regions.end(step);
  }
  const RankTrace trace = read_trace(kept.path);
  assert_equal(trace.threads.at(0).dropped, 11);  // one more, which might be being written now
  assert_equal(trace.threads[0].slices.size(), lane_events - 1);
}

void a_forked_child_leaves_the_file_to_its_parent(void **) {
  Kept kept;
  Regions regions{TickClock(&told_time)};
  regions.keep_trace(kept.path, {});
  const Region step = regions.name("step");
  regions.begin(step);
  regions.end(step);
  const auto space = [&] {
    struct stat about {};
    assert_equal(stat(kept.path.c_str(), &about), 0);
    return about.st_blocks;
  };
  const auto before = space();
  const pid_t child = fork();
  if (child == 0) {
    regions.~Regions();
    _exit(0);
  }
  int status = 0;
  assert_equal(waitpid(child, &status, 0), child);
  assert_equal(space(), before);
}

// By the real clock.
void a_killed_process_leaves_its_regions(void **) {
  Kept kept;
  const pid_t child = fork();
  if (child == 0) {
    Regions regions;
    regions.keep_trace(kept.path, {3, 1, 0, ""});
    const Region step = regions.name("step");
    const Region forward = regions.name("forward");
    for (int i = 0; i < 100; ++i) {
      regions.begin(step);
      regions.begin(forward);
      regions.end(forward);
      if (i == 99) raise(SIGKILL);
      regions.end(step);
    }
    _exit(0);
  }
  int status = 0;
  assert_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  const RankTrace trace = read_trace(kept.path);
  assert_equal(trace.process_id, child);
  assert_equal(trace.threads.at(0).slices.size(), 200);
  for (const TraceSlice &slice : trace.threads[0].slices) {
    assert_true(slice.begin_ns <= slice.end_ns);
    assert_true(slice.end_ns <= trace.threads[0].slices.back().end_ns);
  }
}

void a_trace_that_cannot_be_kept_costs_no_sums(void **) {
  Kept kept;
  std::ofstream(kept.path.parent_path());  // a file, where its directory would be
  Regions regions{TickClock(&told_time)};
  regions.keep_trace(kept.path, {});
  const Region step = regions.name("step");
  regions.begin(step);
  pass(1);
  regions.end(step);
  check_sum(regions.take().value().regions.at("step"), 1, 1, 1);
  const std::vector<std::string> warnings = regions.take_warnings();
  assert_equal(warnings.size(), 1);
  assert_true(contains(warnings[0], kept.path.parent_path().string()));
}

void damaged_files_are_refused(void **) {
  Kept kept;
  {
    Regions regions{TickClock(&told_time)};
    regions.keep_trace(kept.path, {});
    const Region step = regions.name("step");
    regions.begin(step);
    regions.end(step);
  }
  const std::string good = read_file(kept.path);
  const auto read_with = [&](size_t at, const std::string &bytes) {
    std::string bad = good;
    bad.replace(at, bytes.size(), bytes);
    std::ofstream(kept.path, std::ios::binary) << bad;
    read_trace(kept.path);
  };
  expect_error(Code::corrupt, [&] { read_with(0, "X"); });
  expect_error(Code::unsupported, [&] { read_with(offsetof(TraceHeader, version), "\x09"); });
  expect_error(Code::corrupt, [&] { read_with(offsetof(TraceHeader, lanes), "\xff"); });
  expect_error(Code::corrupt, [&] { read_with(offsetof(TraceHeader, names), "\xff"); });
  expect_error(Code::corrupt, [&] { read_with(offsetof(TraceHeader, name), "\xff"); });
  const size_t lane = trace_header_size;
  expect_error(Code::corrupt, [&] { read_with(lane + offsetof(TraceLane, depth), "\xff"); });
  expect_error(Code::corrupt, [&] {
    read_with(lane + offsetof(TraceLane, events) + offsetof(TraceEvent, duration), "\xf0");
  });
  read_with(0, "D");
  for (const size_t size : {good.size() - 1, trace_header_size, size_t{100}, size_t{0}}) {
    std::filesystem::resize_file(kept.path, size);
    expect_error(Code::corrupt, [&] { read_trace(kept.path); });
  }
  expect_error(Code::not_found, [&] { read_trace(kept.path.parent_path() / "none"); });
}

}  // namespace

int test_regions() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(paths_have_their_time_and_share),
      cmocka_unit_test(an_open_region_counts_up_to_now),
      cmocka_unit_test(nothing_is_measured_before_a_name),
      cmocka_unit_test(names_are_checked),
      cmocka_unit_test(ends_that_do_not_match),
      cmocka_unit_test(too_deep_is_left_out_and_told_once),
      cmocka_unit_test(too_many_paths_are_left_out),
      cmocka_unit_test(threads_are_summed_up),
      cmocka_unit_test(lanes_of_dead_threads_are_used_again),
      cmocka_unit_test(two_objects_on_one_thread),
      cmocka_unit_test(the_library_has_its_share),
      cmocka_unit_test(a_trace_reads_back_the_same),
      cmocka_unit_test(the_last_regions_are_kept),
      cmocka_unit_test(a_forked_child_leaves_the_file_to_its_parent),
      cmocka_unit_test(a_killed_process_leaves_its_regions),
      cmocka_unit_test(a_trace_that_cannot_be_kept_costs_no_sums),
      cmocka_unit_test(damaged_files_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
