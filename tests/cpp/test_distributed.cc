// Ranks, over a transport of the test's own between threads.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/cpp/fixture.h"
#include "tests/patience.h"

namespace {

using namespace cpp_test;

// What ranks have sent each other and nobody has received yet.
class Post {
 public:
  using Address = std::tuple<int, int, int>;  // from, to, channel

  void put(Address address, const void *data, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    boxes_[address].emplace_back(static_cast<const char *>(data), size);
    arrived_.notify_all();
  }
  int take(Address address, void *data, size_t capacity, size_t &size, int64_t timeout_ms) {
    std::unique_lock<std::mutex> lock(mutex_);
    std::deque<std::string> &box = boxes_[address];
    const std::chrono::milliseconds limit(timeout_ms);
    if (!arrived_.wait_for(lock, limit, [&] { return !box.empty(); })) return ETIMEDOUT;
    size = box.front().size();
    if (size > capacity) return EMSGSIZE;
    std::memcpy(data, box.front().data(), size);
    box.pop_front();
    return 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Address, std::deque<std::string>> boxes_;
};

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class PostTransport : public det::Transport {
 public:
  PostTransport(Post &post, int rank, const std::atomic<bool> &broken)
      : post_(post), rank_(rank), broken_(broken) {}

  int send(int peer, int channel, const void *data, size_t size, int64_t) override {
    if (broken_) throw Broken("the post is on strike");
    post_.put({rank_, peer, channel}, data, size);
    return 0;
  }
  int receive(int peer, int channel, void *data, size_t capacity, size_t &size,
              int64_t timeout_ms) override {
    if (broken_) throw Broken("the post is on strike");
    return post_.take({peer, rank_, channel}, data, capacity, size, timeout_ms);
  }

 private:
  Post &post_;
  int rank_;
  const std::atomic<bool> &broken_;
};

// Runs `rank(distributed)` as the two ranks of a job.
template <class Rank>
void as_two_ranks(const std::atomic<bool> &broken, Rank rank) {
  Post post;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      det::DistributedOptions options;
      options.rank = options.local_rank = i;
      options.size = options.local_size = 2;
      options.cross_rank = 0;
      options.cross_size = 1;
      options.timeout = std::chrono::seconds(TEST_PATIENCE_SECONDS);
      rank(det::Distributed::from_transport(options,
                                            std::make_unique<PostTransport>(post, i, broken)));
    });
  for (std::thread &thread : threads) thread.join();
}

void messages_go_between_ranks(void **) {
  const std::atomic<bool> broken{false};
  std::atomic<int> wrong{0};
  as_two_ranks(broken, [&](const det::Distributed &job) {
    const auto expect = [&](bool right) { wrong += right ? 0 : 1; };
    const std::string mine = "from " + std::to_string(job.rank());
    std::string all;
    for (const std::string_view message : job.allgather(mine)) all += message;
    expect(all == "from 0from 1");
    expect(job.gather(mine).size() == (job.rank() == 0 ? 2U : 0U));
    expect(job.broadcast(mine)[0] == "from 0");
    const det::Messages messages =
        job.allgather_local(job.rank() == 0 ? std::string_view() : std::string_view(""));
    expect(messages[0].data() == nullptr && messages[1].data() != nullptr && messages[1].empty());
    expect(job.gather_local("x").empty() == (job.rank() != 0));
    expect(job.broadcast_local(std::string(100'000, 'x'))[0].size() == 100'000);
    expect(job.local_size() == 2 && job.cross_size() == 1 && job.cross_rank() == 0 &&
           job.local_rank() == job.rank());
  });
  assert_equal(wrong.load(), 0);
}

void what_the_transport_throws_comes_back(void **) {
  std::atomic<bool> broken{false};
  std::atomic<int> thrown{0}, joined{0};
  as_two_ranks(broken, [&](const det::Distributed &job) {
    job.allgather("x");
    ++joined;
    while (joined < 2) std::this_thread::yield();
    broken = true;
    try {
      job.allgather("y");
    } catch (const Broken &) {
      ++thrown;
    } catch (const det::Error &) {  // but not what the transport threw
    }
  });
  assert_equal(thrown.load(), 2);
}

void a_wait_can_be_ended_by_a_callable(void **) {
  const std::atomic<bool> broken{false};
  std::atomic<bool> over{false};
  std::atomic<int> thrown{0}, refused{0};
  as_two_ranks(broken, [&](det::Distributed job) {
    if (job.rank() == 1) {
      while (!over) std::this_thread::yield();
      return;
    }
    int asked = 0;
    job.set_wait_callback([&] { return true; });
    job.set_wait_callback([&]() -> bool {
      if (++asked > 1) throw std::domain_error("enough");
      return true;
    });
    const det::Distributed moved = std::move(job);  // the callable stays where it is
    try {
      moved.allgather("alone");
    } catch (const std::domain_error &) {
      ++thrown;
    }
    det::Failure failure;
    moved.allgather("again", failure);
    if (failure.code() == det::Code::callback) ++refused;
    over = true;
  });
  assert_equal(thrown.load(), 1);
  assert_equal(refused.load(), 1);
  expect_error(det::Code::invalid, [] { det::Distributed().set_wait_callback({}); });
}

void one_process_is_a_job_of_one(void **) {
  const det::Distributed job = det::Distributed::create({});
  assert_equal(job.size(), 1);
  assert_equal(job.allgather("alone")[0], "alone");
  const det::DistributedView view = job;
  assert_equal(view.rank(), 0);
}

void launchers_that_are_not_there_are_told(void **) {
  for (const char *name : {"RANK", "WORLD_SIZE", "HOROVOD_RANK", "TF_CONFIG"}) unsetenv(name);
  using det::Distributed;
  expect_part(
      expect_error(det::Code::not_found, [] { static_cast<void>(Distributed::from_torch()); }),
      "RANK");
  expect_part(
      expect_error(det::Code::not_found, [] { static_cast<void>(Distributed::from_horovod()); }),
      "HOROVOD");
  expect_part(expect_error(det::Code::not_found,
                           [] { static_cast<void>(Distributed::from_deepspeed("host")); }),
              "RANK");
  assert_equal(Distributed::from_tf_config().size(), 1);
  det::DistributedOptions options;
  options.rank = 3;
  expect_error(det::Code::invalid, [&] { static_cast<void>(Distributed::create(options)); });
  expect_error(det::Code::invalid,
               [&] { static_cast<void>(Distributed::from_transport({}, nullptr)); });
}

}  // namespace

int test_distributed() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(messages_go_between_ranks),
      cmocka_unit_test(what_the_transport_throws_comes_back),
      cmocka_unit_test(a_wait_can_be_ended_by_a_callable),
      cmocka_unit_test(one_process_is_a_job_of_one),
      cmocka_unit_test(launchers_that_are_not_there_are_told),
  };
  return cmocka_run_group_tests_name("distributed", tests, nullptr, nullptr);
}
