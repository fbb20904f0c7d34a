// The ranks of one job and the small messages between them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/api_call.h"

namespace det::comm {

// Large messages in memory that was used before: a page touched for the first time costs more than
// the bytes that are moved into it.
class SpareBuffers {
 public:
  // Smaller ones the allocator keeps itself.
  static constexpr size_t smallest = size_t{64} << 10U;

  // A string of `size` bytes of any content.
  std::string take(size_t size);
  std::string copy(std::string_view bytes);
  // Keeps a few for later.
  void give(std::string buffer);

 private:
  std::mutex mutex_;
  std::vector<std::string> buffers_;
};

// A byte string, or the null message, which is not the empty one.
using Message = std::optional<std::string>;
using MessageView = std::optional<std::string_view>;

struct Ranks {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int cross_rank = 0;
  int cross_size = 1;
};

// Throws Code::invalid, naming the numbers, unless they describe a rank of a job.
void check_ranks(const Ranks &ranks);

class Communicator {
 public:
  virtual ~Communicator() = default;

  const Ranks &ranks() const { return ranks_; }
  bool is_chief() const { return ranks_.rank == 0; }
  bool is_local_chief() const { return ranks_.local_rank == 0; }

  // Collective over all ranks. gather() gives the list to the chief, nothing elsewhere. Ranks that
  // differ in the collective or in `call` all get Code::conflict.
  virtual std::optional<std::vector<Message>> gather(const MessageView &message,
                                                     const Call &call = {}) = 0;
  virtual std::vector<Message> allgather(const MessageView &message, const Call &call = {}) = 0;
  virtual Message broadcast(const MessageView &message, const Call &call = {}) = 0;

  // The same among the ranks of one machine.
  virtual std::optional<std::vector<Message>> gather_local(const MessageView &message,
                                                           const Call &call = {}) = 0;
  virtual std::vector<Message> allgather_local(const MessageView &message,
                                               const Call &call = {}) = 0;
  virtual Message broadcast_local(const MessageView &message, const Call &call = {}) = 0;

  // `goes_on` is asked now and then, on the thread that waits for other ranks; false ends the wait,
  // and the job, with Code::callback. Never asked on two threads at once.
  virtual void ask_while_waiting(std::function<bool()> /*goes_on*/) {}

  // Whether the ranks of this machine meet in memory, and so may share more of it.
  virtual bool shares_memory() const { return false; }

  // Sums of arrays over all ranks, where the transport makes them: see Transport. One thread at a
  // time; finish_sums() is collective. What fails there fails the job.
  virtual bool can_sum() const { return false; }
  virtual void start_sum(char * /*data*/, size_t /*count*/, int /*dtype*/) {}
  virtual void finish_sums() {}

  // Waits for what all ranks do elsewhere, as a collective waits for them: until `is_done`, which
  // may look for as long as it is told, says so. What it throws fails the job, as a wait in vain
  // does. `doing` is for errors.
  using IsDone = std::function<bool(std::chrono::milliseconds)>;
  virtual void await(const std::string & /*doing*/, const IsDone &is_done) {
    while (!is_done(std::chrono::milliseconds(250))) {
    }
  }

  // Where the memory of large messages may be handed back; outlives the communicator. May be null.
  virtual std::shared_ptr<SpareBuffers> spare_buffers() const { return nullptr; }

 protected:
  explicit Communicator(const Ranks &ranks) : ranks_(ranks) {}

 private:
  const Ranks ranks_;
};

// The job of one process: every collective gives the message back.
std::unique_ptr<Communicator> make_single_communicator();

}  // namespace det::comm
