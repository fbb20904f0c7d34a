// Events on their way to the event file.
#include "core/tensorboard/event_queue.h"

#include <future>
#include <new>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/tensorboard/event.h"
#include "tests/cmocka.h"
#include "tests/patience.h"
#include "tests/temporary_directory.h"
#include "tests/tensorboard/event_reader.h"

namespace {

using namespace det;
using namespace det::tensorboard;
using std::chrono::milliseconds;

struct Queued {
  TemporaryDirectory storage;
  std::shared_ptr<const TensorboardFiles> files = std::make_shared<TensorboardFiles>(
      TensorboardMode::automatic, TensorboardPlace{storage.path(), "c", 1, 2, "a", 0});

  std::unique_ptr<EventQueue> open(EventQueue::Options options) const {
    return std::make_unique<EventQueue>(std::make_shared<EventFile>(files),
                                        std::make_shared<Logger>(), std::move(options));
  }

  std::vector<ReadEvent> events() const {
    const std::filesystem::directory_iterator in(storage / "c/tensorboard/experiment/1/trial/2");
    auto events = read_records(read_file(in->path()));
    events.erase(events.begin());
    return events;
  }
};

void add_to(EventQueue &queue, int64_t step) {
  queue.add(64, [&](std::string &out) { append_scalar_event(out, 0, step, "tag", 1); });
}

constexpr milliseconds patience{TEST_PATIENCE_MS};

void events_of_many_threads_are_all_there_at_the_end(void **) {
  const Queued of;
  const auto queue = of.open({.limit_bytes = 1000, .wait = patience, .interval = milliseconds(1)});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int64_t step = 0; step < 1000; ++step) add_to(*queue, step);
    });
  for (std::thread &thread : threads) thread.join();
  assert_true(queue->finish(patience));
  assert_int_equal(of.events().size(), 4000);
}

void a_full_queue_waits_and_then_refuses(void **) {
  const Queued of;
  std::promise<void> released;
  std::shared_future<void> release = released.get_future().share();
  const auto queue = of.open({.limit_bytes = 200,
                              .wait = milliseconds(1),
                              .interval = milliseconds(1),
                              .written = [release] { release.wait(); }});
  int64_t step = 0;
  try {
    for (;; ++step) add_to(*queue, step);
  } catch (const Error &refused) {
    assert_int_equal(static_cast<int>(refused.code), static_cast<int>(Code::full));
  }
  assert_true(step >= 2);
  assert_false(queue->finish(milliseconds(1)));
  released.set_value();
  assert_true(queue->finish(patience));
  add_to(*queue, step);
  assert_true(queue->finish(patience));
  const auto events = of.events();
  assert_int_equal(events.size(), step + 1);
  for (int64_t i = 0; i <= step; ++i) assert_int_equal(events[static_cast<size_t>(i)].step, i);
}

void one_event_may_be_larger_than_the_queue(void **) {
  const Queued of;
  const auto queue = of.open({.limit_bytes = 10, .wait = patience, .interval = milliseconds(1)});
  for (int64_t step = 0; step < 3; ++step) add_to(*queue, step);
  assert_true(queue->finish(patience));
  assert_int_equal(of.events().size(), 3);
}

void what_fails_to_be_encoded_leaves_nothing(void **) {
  const Queued of;
  const auto queue = of.open({});
  add_to(*queue, 1);
  bool threw = false;
  try {
    queue->add(1, [](std::string &out) {
      out += "half";
      throw std::bad_alloc();
    });
  } catch (const std::bad_alloc &) {
    threw = true;
  }
  assert_true(threw);
  add_to(*queue, 2);
  assert_true(queue->finish(patience));
  assert_int_equal(of.events().size(), 2);
}

void a_queue_without_events_makes_no_file(void **) {
  const Queued of;
  { assert_true(of.open({})->finish(milliseconds(0))); }
  assert_true(std::filesystem::is_empty(of.storage.path()));
}

}  // namespace

int test_event_queue() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(events_of_many_threads_are_all_there_at_the_end),
      cmocka_unit_test(a_full_queue_waits_and_then_refuses),
      cmocka_unit_test(one_event_may_be_larger_than_the_queue),
      cmocka_unit_test(what_fails_to_be_encoded_leaves_nothing),
      cmocka_unit_test(a_queue_without_events_makes_no_file),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
