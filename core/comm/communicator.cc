#include "core/comm/communicator.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::comm {

namespace {

class Single : public Communicator {
 public:
  Single() : Communicator(Ranks{}) {}

  std::optional<std::vector<Message>> gather(const MessageView &message, const Call &) override {
    return {{Message(message)}};
  }
  std::vector<Message> allgather(const MessageView &message, const Call &) override {
    return {Message(message)};
  }
  Message broadcast(const MessageView &message, const Call &) override { return Message(message); }
  std::optional<std::vector<Message>> gather_local(const MessageView &message,
                                                   const Call &call) override {
    return gather(message, call);
  }
  std::vector<Message> allgather_local(const MessageView &message, const Call &call) override {
    return allgather(message, call);
  }
  Message broadcast_local(const MessageView &message, const Call &call) override {
    return broadcast(message, call);
  }
};

void check_pair(const char *name, int index, int count) {
  if (count >= 1 && index >= 0 && index < count) return;
  throw Error(Code::invalid, std::string("joining a job: ") + name + " rank " +
                                 std::to_string(index) + " of " + std::to_string(count) +
                                 " is impossible; ranks count from 0 to size - 1");
}

// Larger and more ones are not worth their memory.
constexpr size_t largest_spare = size_t{16} << 20U;
constexpr size_t most_spares = 8;

}  // namespace

std::string SpareBuffers::take(size_t size) {
  if (size >= smallest) {
    const std::lock_guard guard(mutex_);
    // One that is long enough is cut without touching its bytes.
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const auto &buffer) {
      return buffer.size() >= size && buffer.size() / 2 <= size;
    });
    if (found != buffers_.end()) {
      std::string buffer = std::move(*found);
      buffers_.erase(found);
      buffer.resize(size);
      return buffer;
    }
  }
  return std::string(size, '\0');
}

std::string SpareBuffers::copy(std::string_view bytes) {
  if (bytes.size() < smallest) return std::string(bytes);
  std::string buffer = take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.begin());
  return buffer;
}

void SpareBuffers::give(std::string buffer) {
  if (buffer.size() < smallest || buffer.size() > largest_spare) return;
  const std::lock_guard guard(mutex_);
  if (buffers_.size() == most_spares) buffers_.erase(buffers_.begin());
  buffers_.push_back(std::move(buffer));
}

void check_ranks(const Ranks &ranks) {
  check_pair("global", ranks.rank, ranks.size);
  check_pair("local", ranks.local_rank, ranks.local_size);
  check_pair("cross", ranks.cross_rank, ranks.cross_size);
  if (ranks.local_size > ranks.size || ranks.cross_size > ranks.size)
    throw Error(Code::invalid, "joining a job: local_size " + std::to_string(ranks.local_size) +
                                   " and cross_size " + std::to_string(ranks.cross_size) +
                                   " cannot exceed size " + std::to_string(ranks.size));
}

std::unique_ptr<Communicator> make_single_communicator() { return std::make_unique<Single>(); }

}  // namespace det::comm
