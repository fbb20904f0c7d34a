// The library's own log lines.
#include <poll.h>

#include <stdexcept>
#include <vector>

#include "tests/cpp/fixture.h"
#include "tests/patience.h"

namespace {

using namespace cpp_test;

// Makes the library warn.
void make_a_line(const det::Core &core) {
  assert_equal(core.info().hparams().get<double>("rate", 1), 1.0);
}

det::CoreOptions with_a_wrong_rate() {
  det::CoreOptions options;
  options.hparams = R"({"rate": "no number"})";
  return options;
}

void a_callable_takes_the_lines(void **) {
  std::vector<det::LogLine> lines;
  det::CoreOptions options = with_a_wrong_rate();
  options.log = [&](const det::LogLine &line) { lines.push_back(line); };
  const Run run(options);
  make_a_line(run.core);
  run.core.close();
  assert_equal(lines.size(), 1);
  expect_part(lines[0].message, "rate");
  assert_equal(lines[0].level, det::LogLevel::warning);
  assert_equal(lines[0].rank, 0);
  assert_false(lines[0].source.empty());
  assert_true(lines[0].time > det::Time());
}

void what_it_throws_comes_out_of_close(void **) {
  det::CoreOptions options = with_a_wrong_rate();
  options.log = [](const det::LogLine &) { throw std::out_of_range("log"); };
  const Run run(options);
  make_a_line(run.core);
  assert_throws<std::out_of_range>([&] { run.core.close(); });
  run.core.close();  // told once
}

void a_callable_is_released_with_the_core(void **) {
  const auto shared = std::make_shared<int>();
  {
    det::CoreOptions options;
    options.log = [shared](const det::LogLine &) {};
    const Run run(options);
    run.core.close();
  }
  assert_equal(shared.use_count(), 1);
  {
    det::CoreOptions options;
    options.log = [shared](const det::LogLine &) {};
    options.hparams = "no json";
    expect_error(det::Code::invalid, [&] { const Run run(options); });
  }
  assert_equal(shared.use_count(), 1);
}

void lines_can_wait_in_a_queue(void **) {
  const det::LogQueue queue = det::LogQueue::create();
  const Place place;
  det::CoreOptions options = with_a_wrong_rate();
  options.master = place.home.path().string();
  options.log_queue = &queue;
  const det::Core core = det::Core::init(options);
  assert_false(queue.take().has_value());
  make_a_line(core);
  pollfd waiting{queue.fd(), POLLIN, 0};
  assert_equal(poll(&waiting, 1, TEST_PATIENCE_MS), 1);
  const std::optional<det::LogLine> line = queue.take();
  assert_true(line.has_value());
  expect_part(line->message, "rate");
  assert_false(queue.take().has_value());
  core.close();
}

}  // namespace

int test_log() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_callable_takes_the_lines),
      cmocka_unit_test(what_it_throws_comes_out_of_close),
      cmocka_unit_test(a_callable_is_released_with_the_core),
      cmocka_unit_test(lines_can_wait_in_a_queue),
  };
  return cmocka_run_group_tests_name("log", tests, nullptr, nullptr);
}
