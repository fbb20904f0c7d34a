#include "core/trial/gradients/reduction.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/comm/shared_memory.h"
#include "core/trial/gradients/arithmetic.h"

namespace det::trial {

namespace {

// Memory of one process for gradients. Zero at first. Large ones are in large pages, where the
// kernel has them: MPI then finds their pages sooner, and the processor too.
class GradientBuffer {
 public:
  explicit GradientBuffer(size_t size) {
    constexpr size_t large_page = size_t{2} << 20U;
    const size_t alignment = size < large_page / 8 ? sizeof(CacheLine) : large_page;
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<char *>(std::aligned_alloc(alignment, rounded)));
    if (data_ == nullptr && rounded > 0) throw std::bad_alloc();
    if (rounded >= large_page) static_cast<void>(madvise(data(), rounded, MADV_HUGEPAGE));
    if (rounded > 0) std::memset(data(), 0, rounded);
  }

  char *data() const { return data_.get(); }
  // To whoever still writes there.
  void leave_behind() { static_cast<void>(data_.release()); }

 private:
  struct Free {
    void operator()(char *data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
};

// One rank sums nothing.
class LoneReduction : public Reduction {
 public:
  LoneReduction(const GradientLayout &layout, double divisor)
      : divisor_(divisor), buffer_(layout.size()) {}

  char *buffer() override { return buffer_.data(); }
  void reduce() override {}
  void read(Dtype dtype, size_t offset, size_t size, char *into) const override {
    convert(dtype, buffer_.data() + offset, dtype, into, size / bytes_of(dtype), divisor_);
  }

 private:
  const double divisor_;
  const GradientBuffer buffer_;
};

// As the transport sums, which may be while the caller computes the next gradients.
class TransportReduction : public Reduction {
 public:
  TransportReduction(comm::Communicator &communicator, const GradientLayout &layout, double divisor)
      : communicator_(communicator), divisor_(divisor), buffer_(layout.size()) {
    // What the transport needs for that it makes now, where all ranks are.
    float nothing = 0;
    communicator_.start_sum(reinterpret_cast<char *>(&nothing), 1, static_cast<int>(Dtype::f32));
    communicator_.finish_sums();
  }
  // A sum that has not ended still writes.
  ~TransportReduction() override {
    if (is_summing_) buffer_.leave_behind();
  }

  char *buffer() override { return buffer_.data(); }

  void start(const GradientLayout::Group &group) override {
    is_summing_ = true;
    communicator_.start_sum(buffer() + group.offset, group.count, static_cast<int>(group.dtype));
  }

  void reduce() override {
    communicator_.finish_sums();
    is_summing_ = false;
  }

  // Divides meanwhile: once more through the buffer would cost as much as the copy.
  void read(Dtype dtype, size_t offset, size_t size, char *into) const override {
    convert(dtype, buffer_.data() + offset, dtype, into, size / bytes_of(dtype), divisor_);
  }

 private:
  comm::Communicator &communicator_;
  const double divisor_;
  GradientBuffer buffer_;
  bool is_summing_ = false;
};

constexpr size_t page = 4096;

// Up to that many bytes of all ranks each of them sums by itself: sooner done than waiting for the
// others' parts.
constexpr size_t most_by_itself = size_t{64} << 10U;

// Of a sum, which the others get while it is in the cache.
constexpr size_t piece = size_t{16} << 10U;

constexpr size_t rounded(size_t size, size_t to) { return (size + to - 1) / to * to; }

// Each machine by itself: its ranks put their gradients where all of them reach them, and each sums
// a part of them, in the order of their ranks, into the memory of all. Machines then go through the
// chief, which sums in their order. Where `shares_memory`, throws Code::no_memory on all of a
// machine where there is not enough of it.
class MachineReduction : public Reduction {
 public:
  MachineReduction(comm::Communicator &communicator, const GradientLayout &layout, double divisor,
                   bool shares_memory)
      : communicator_(communicator),
        layout_(layout),
        divisor_(divisor),
        size_of_turn_(rounded(layout.size(), page)),
        is_small_(is_small(communicator.ranks(), layout.size())) {
    if (shares_memory) share();
    if (shared_) {
      for (int rank = 0; rank < communicator.ranks().local_size; ++rank)
        buffers_.push_back(shared_.data() + static_cast<size_t>(rank) * size_of_rank());
      if (is_small_) own_.emplace(layout.size());
      mine_ = static_cast<size_t>(communicator.ranks().local_rank);
    } else {
      own_.emplace(layout.size());
      buffers_.push_back(own_->data());
    }
    is_alone_ = static_cast<int>(buffers_.size()) == communicator.ranks().size;
    slice_ = rounded((layout.size() + buffers_.size() - 1) / buffers_.size(), sizeof(CacheLine));
  }

  char *buffer() override { return buffers_[mine_]; }

  void reduce() override {
    if (sums_by_itself()) {
      const std::vector<const char *> summands(buffers_.begin(), buffers_.end());
      sum_range(summands, own_->data(), 0, layout_.size(), divisor_);
      return;
    }
    if (shared_) {
      sum_slice();
      meet();
    }
    if (!is_alone_) sum_machines();
  }

  void read(Dtype /*dtype*/, size_t offset, size_t size, char *into) const override {
    const char *from = sums_by_itself() ? own_->data() : buffers_[mine_];
    if (!is_alone_) from = total_->data();
    if (from + offset != into) std::copy_n(from + offset, size, into);
  }

  bool stays() const override { return !sums_by_itself(); }

  void end() override {
    if (sums_by_itself()) return take_turns();
    if (total_) communicator_.spare_buffers()->give(std::move(*total_));
    total_.reset();
  }

 private:
  static bool is_small(const comm::Ranks &ranks, size_t size) {
    const auto count = static_cast<size_t>(ranks.size);
    return ranks.local_size == ranks.size && size > 0 && size <= most_by_itself / count;
  }
  bool sums_by_itself() const { return shared_ && is_small_; }
  size_t size_of_rank() const { return (is_small_ ? 2 : 1) * size_of_turn_; }

  // Others may still read this turn's buffer: they are past it when they come to the next but one.
  void take_turns() {
    for (char *&of_rank : buffers_)
      of_rank += is_odd_ ? -static_cast<std::ptrdiff_t>(size_of_turn_)
                         : static_cast<std::ptrdiff_t>(size_of_turn_);
    is_odd_ = !is_odd_;
  }

  void share() {
    const size_t size = size_of_rank() * static_cast<size_t>(communicator_.ranks().local_size);
    if (communicator_.is_local_chief()) shared_ = comm::SharedMemory::create(size);
    const std::string name = comm::local_chief_decides(communicator_, creating_gradients,
                                                       [&] { return shared_.name(); });
    const std::vector<std::string> opened =
        comm::all_agree_local(communicator_, creating_gradients, [&]() -> std::string {
          if (!shared_ && !name.empty()) shared_ = comm::SharedMemory::open(name, size);
          return shared_ ? "yes" : "";
        });
    shared_.hide();
    if (std::ranges::count(opened, "") > 0) shared_ = {};
  }

  // This rank's part, into the memory of all ranks of a machine that is alone.
  void sum_slice() {
    const std::vector<const char *> summands(buffers_.begin(), buffers_.end());
    const size_t end = std::min(layout_.size(), (mine_ + 1) * slice_);
    for (size_t begin = mine_ * slice_; begin < end; begin += piece) {
      const size_t size = std::min(piece, end - begin);
      sum_range(summands, buffer(), begin, begin + size, is_alone_ ? divisor_ : 1);
      for (char *of_rank : buffers_)
        if (is_alone_ && of_rank != buffer()) std::copy_n(buffer() + begin, size, of_rank + begin);
    }
  }

  // All ranks of the machine are here.
  void meet() { communicator_.allgather_local(std::nullopt, stepping_gradients); }

  void sum_range(const std::vector<const char *> &summands, char *into, size_t begin, size_t end,
                 double divisor) {
    for (const GradientLayout::Group &group : layout_.groups()) {
      const size_t from = std::max(begin, group.offset);
      const size_t to = std::min(end, group.offset + group.bytes());
      if (from >= to) continue;
      parts_.clear();
      for (const char *summand : summands) parts_.push_back(summand + from);
      sum(group.dtype, into + from, parts_, (to - from) / bytes_of(group.dtype), divisor);
    }
  }

  // One rank of each machine, or all of one that cannot share, speaks for those that it summed.
  void sum_machines() {
    comm::MessageView mine;
    if (mine_ == 0) {
      for (size_t rank = 1; rank < buffers_.size(); ++rank) {
        const size_t begin = std::min(layout_.size(), rank * slice_);
        const size_t end = std::min(layout_.size(), begin + slice_);
        std::copy(buffers_[rank] + begin, buffers_[rank] + end, buffer() + begin);
      }
      mine = std::string_view(buffer(), layout_.size());
    }
    const auto messages = communicator_.gather(mine, stepping_gradients);
    if (messages) {
      std::vector<const char *> summands;
      for (const comm::Message &message : *messages)
        if (message) summands.push_back(message->data());
      sum_range(summands, buffer(), 0, layout_.size(), divisor_);
      mine = std::string_view(buffer(), layout_.size());
    }
    total_ = communicator_.broadcast(mine, stepping_gradients);
  }

  comm::Communicator &communicator_;
  const GradientLayout &layout_;
  const double divisor_;
  const size_t size_of_turn_;  // of a rank's buffer
  const bool is_small_;
  bool is_odd_ = false;  // turn
  comm::SharedMemory shared_;
  // Where memory is not shared; or the sum that this rank made by itself.
  std::optional<GradientBuffer> own_;
  std::vector<char *> buffers_;
  std::vector<const char *> parts_;
  size_t mine_ = 0;
  size_t slice_ = sizeof(CacheLine);  // of the sum, that one rank makes
  bool is_alone_ = true;              // there is no other machine
  comm::Message total_;               // of several
};

// What this rank could do: all ranks must.
std::string ways_of(const comm::Communicator &communicator) {
  const comm::Ranks &ranks = communicator.ranks();
  const bool is_one_machine = ranks.local_size == ranks.size;
  return {communicator.shares_memory() && is_one_machine ? '1' : '0',
          communicator.can_sum() ? '1' : '0'};
}

}  // namespace

std::unique_ptr<Reduction> make_reduction(comm::Communicator &communicator,
                                          const GradientLayout &layout, double divisor, Way way) {
  if (communicator.ranks().size == 1) return std::make_unique<LoneReduction>(layout, divisor);
  const std::vector<std::string> ways =
      comm::all_agree(communicator, creating_gradients, [&] { return ways_of(communicator); });
  const auto all_can = [&](size_t index) {
    return std::ranges::all_of(ways, [&](const std::string &can) { return can[index] == '1'; });
  };
  const bool in_memory = all_can(0), by_transport = all_can(1);
  if ((way == Way::shared_memory && !in_memory) || (way == Way::transport && !by_transport))
    throw Error(Code::unsupported,
                way == Way::transport
                    ? "making a gradient aggregator: this job's transport does not sum; make its "
                      "handle with det_distributed_from_mpi(), or let the library choose the way"
                    : "making a gradient aggregator: the ranks of this job share no memory, or are "
                      "on several machines; let the library choose the way");
  if (way == Way::transport || (way == Way::automatic && !in_memory && by_transport))
    return std::make_unique<TransportReduction>(communicator, layout, divisor);
  return std::make_unique<MachineReduction>(
      communicator, layout, divisor,
      communicator.shares_memory() && communicator.ranks().local_size > 1);
}

}  // namespace det::trial
