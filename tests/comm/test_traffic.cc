// How much the ranks of large jobs send each other: as counted in advance, and no square of them.
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "core/comm/joined.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/comm/traffic.h"
#include "tests/patience.h"

namespace det::test {
namespace {

constexpr size_t eight = 8;  // bytes of a message

// Boxes for the frames to each rank, in the place of sockets.
class Post {
 public:
  explicit Post(const Plan &plan) : plan_(plan), boxes_(plan.size()) {}

  const Plan &plan() const { return plan_; }
  void begin(int rank, std::optional<Step> step) { box(rank).step = step; }

  void send(int from, int to, const comm::FrameHead &head, std::string_view payload) {
    // The answers that are asked for once a second are not counted.
    const bool is_answer =
        head.kind == comm::FrameKind::done && head.collective == comm::Collective::broadcast;
    const std::optional<Step> step = is_answer ? std::nullopt : box(from).step;
    const size_t size = comm::frame_head_size + payload.size();
    if (step) box(from).sent[static_cast<size_t>(*step)].add(size);
    Box &theirs = box(to);
    const std::lock_guard guard(theirs.mutex);
    if (step) theirs.received[static_cast<size_t>(*step)].add(size);
    theirs.frames[{from, head.channel}].push_back({head, std::string(payload)});
    theirs.filled.notify_one();
  }
  // Waits as long as it takes: nobody asks what others are doing.
  std::optional<comm::Frame> take(int from, int to, comm::Channel channel, bool can_wait) {
    Box &mine = box(to);
    std::unique_lock lock(mine.mutex);
    std::deque<comm::Frame> &frames = mine.frames[{from, channel}];
    mine.filled.wait(lock, [&] { return !frames.empty() || !can_wait; });
    if (frames.empty()) return std::nullopt;
    comm::Frame frame = std::move(frames.front());
    frames.pop_front();
    return frame;
  }
  Load load(int rank, Step step) {
    Load load = box(rank).sent[static_cast<size_t>(step)];
    const Load &received = box(rank).received[static_cast<size_t>(step)];
    load.messages += received.messages;
    load.bytes += received.bytes;
    return load;
  }

 private:
  struct Box {
    std::mutex mutex;
    std::condition_variable filled;
    std::map<std::pair<int, comm::Channel>, std::deque<comm::Frame>> frames;
    std::optional<Step> step = Step::join;  // that this rank is in
    std::array<Load, steps> sent, received;
  };
  Box &box(int rank) { return boxes_[static_cast<size_t>(rank)]; }

  const Plan &plan_;
  std::vector<Box> boxes_;
};

class PostTransport : public comm::Transport {
 public:
  PostTransport(Post &post, int rank) : post_(post), rank_(rank) {}
  bool send(int peer, comm::Channel, const comm::FrameHead &head, std::string_view payload,
            comm::Patience &) override {
    post_.send(rank_, peer, head, payload);
    return true;
  }
  bool receive_head(int peer, comm::Channel channel, comm::FrameHead &head,
                    comm::Patience &patience) override {
    const bool can_wait = patience.for_one_wait().count() > 0;
    std::optional<comm::Frame> frame = post_.take(peer, rank_, channel, can_wait);
    if (!frame) return false;
    head = frame->head;
    payload_ = std::move(frame->payload);
    return true;
  }
  std::string receive_payload(int, comm::Channel, const comm::FrameHead &,
                              comm::Patience &) override {
    return std::move(payload_);
  }
  comm::Branch branch(comm::Channel channel, const std::vector<int> &, int rank) const override {
    return post_.plan().branch(channel, rank);
  }

 private:
  Post &post_;
  const int rank_;
  std::string payload_;
};

void take_part(Post &post, int rank) {
  const Plan &plan = post.plan();
  const auto job = comm::make_joined_communicator(
      ranks_of(rank, plan.machines(), plan.per_machine()),
      std::make_unique<PostTransport>(post, rank), std::chrono::seconds(TEST_PATIENCE_SECONDS));
  const auto message_of = [](size_t of) {
    std::string message = std::to_string(of);
    return message.insert(0, eight - message.size(), '0');
  };
  const std::string mine = message_of(static_cast<size_t>(rank));
  post.begin(rank, Step::gather);
  const auto gathered = job->gather(mine);
  post.begin(rank, Step::allgather);
  const std::vector<comm::Message> list = job->allgather(mine);
  post.begin(rank, Step::broadcast);
  const comm::Message told = job->broadcast(mine);
  post.begin(rank, std::nullopt);
  require(gathered.has_value() == (rank == 0), "gather");
  require(list.size() == plan.size(), "allgather");
  for (size_t i = 0; i < list.size(); ++i) require(list[i] == message_of(i), "in rank order");
  require(!gathered || *gathered == list, "gather");
  require(told == message_of(0), "broadcast");
}

void the_ranks_send_what_was_counted(void **) {
  for (const auto &[machines, per_machine] :
       {std::pair(1, 1024), std::pair(16, 64), std::pair(128, 8), std::pair(512, 2)}) {
    const Plan plan(machines, per_machine);
    Post post(plan);
    const int size = static_cast<int>(plan.size());
    const Outcome outcome = run_threads(size, [&](int rank) { take_part(post, rank); });
    assert_string_equal(outcome.all().c_str(), "");
    for (const Step step : {Step::join, Step::gather, Step::allgather, Step::broadcast}) {
      const std::vector<Load> counted = plan.loads(step, eight);
      for (int rank = 0; rank < size; ++rank) {
        const Load &expected = counted[static_cast<size_t>(rank)];
        assert_int_equal(post.load(rank, step).messages, expected.messages);
        assert_int_equal(post.load(rank, step).bytes, expected.bytes);
      }
    }
  }
}

// Nobody has more to do with others than those next to it, and what it says of all ranks is a list
// of them.
void nothing_grows_with_the_square(void **) {
  for (const auto &[machines, per_machine] :
       {std::pair(1, 1024), std::pair(16, 64), std::pair(128, 8), std::pair(2048, 8)}) {
    const Plan plan(machines, per_machine);
    const size_t size = plan.size();
    const size_t most = static_cast<size_t>(std::min(comm::fan_out, machines) + per_machine);
    for (int rank = 0; rank < static_cast<int>(size); ++rank)
      assert_in_range(plan.connections(rank), 1, most);
    const auto check = [&](Step step, size_t messages, size_t bytes) {
      for (const Load &load : plan.loads(step, eight)) {
        assert_in_range(load.messages, 1, messages);
        assert_in_range(load.bytes, 1, bytes);
      }
    };
    const size_t all_machines = static_cast<size_t>(machines);
    check(Step::handshake, 3 * (all_machines + most), 300 * (all_machines + most));
    check(Step::join, 8 * most, 120 * size + 2000 * most);
    check(Step::gather, 2 * most, 40 * size + 100 * most);
    check(Step::allgather, 2 * most, (most + 1) * (16 * size + 100));
    check(Step::broadcast, most, 40 * most);
  }
}

}  // namespace
}  // namespace det::test

int test_traffic() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_ranks_send_what_was_counted),
      cmocka_unit_test(nothing_grows_with_the_square),
  };
  return cmocka_run_group_tests_name("traffic", tests, nullptr, nullptr);
}
