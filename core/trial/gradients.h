// The gradients of several batches and all ranks, added up before they are applied.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/trial/added_gradients.h"
#include "core/trial/device_choice.h"
#include "core/trial/gradient_layout.h"
#include "core/trial/gradient_memory.h"
#include "core/trial/reduction.h"

namespace det::trial {

struct GradientOptions {
  int frequency = 1;                           // batches in a period
  bool average = true;                         // over the batches of a period; over ranks always
  bool compress = false;                       // half precision between ranks
  size_t fusion_threshold = size_t{64} << 20;  // bytes of a bucket
  bool last_first = true;                      // the order in which gradients come
  Way way = Way::automatic;
  bool are_complete = false;  // what is on a CUDA device is computed when it is added
};

struct GradientRegistration {
  std::vector<GradientTensor> tensors;
  GradientOptions options;
};

class GradientAggregator {
 public:
  // Collective. Throws the same on all ranks where `given` throws on one, or gives something
  // impossible or other tensors or options than on rank 0. The communicator outlives this.
  using Given = std::function<GradientRegistration()>;
  GradientAggregator(comm::Communicator &communicator, const Given &given);
  GradientAggregator(comm::Communicator &communicator, std::vector<GradientTensor> tensors,
                     const GradientOptions &options)
      : GradientAggregator(communicator, [&] {
          return GradientRegistration{std::move(tensors), options};
        }) {}

  size_t count() const { return tensors_.size(); }
  const GradientTensor &tensor(size_t index) const { return tensors_[index]; }

  // Where gradients can be computed, and what comes of them be left, so that nothing is copied: all
  // of them in their order, each at the next multiple of 64 bytes. Null where there is no such
  // place. It stays as long as this.
  std::span<char> memory();

  // A gradient of the current batch. It is read now; step() writes what comes of it to `result`,
  // which may be the same array. Each in memory of the process or of a CUDA device.
  void add(size_t index, const void *data, void *result);

  // Ends the batch. True at the end of a period, where it is collective: the results are written,
  // those of tensors without any gradient excepted.
  bool step();

 private:
  GradientAggregator(comm::Communicator &communicator, GradientRegistration agreed);
  bool is_through() const;  // nothing to add to anything
  bool may_be_on_devices() const;
  bool is_compressing() const;
  double divisor() const;
  char *total_of(size_t index);
  void check_addition(size_t index) const;
  void add_in_process(size_t index, const void *data, void *result);
  void add_to_total(size_t index, const void *data);
  void compress(size_t index, const void *data);
  void start_buckets(bool all);
  void reduce();
  void clear_missing();
  void choose_devices();
  void write_results();
  void read_result(size_t index, char *result);

  comm::Communicator &communicator_;
  const std::vector<GradientTensor> tensors_;
  const GradientOptions options_;
  const GradientLayout layout_;
  // One of the two. As long as it is undecided, sums are begun only when all ranks meet.
  std::unique_ptr<Reduction> reduction_;
  std::unique_ptr<DeviceSums> device_sums_;
  std::optional<DeviceChoice> choice_;  // undecided
  // Where the reduction's buffer is too coarse to add up in.
  std::optional<GradientLayout> totals_layout_;
  std::vector<char> totals_;

  int batches_ = 0;  // of this period, that have ended
  GradientMemory memory_;
  std::vector<GradientMemory::Place> results_;
  AddedGradients added_;
  std::vector<size_t> packed_;  // by bucket: how many tensors are in it
  size_t started_ = 0;          // buckets
  bool has_failed_ = false;
};

}  // namespace det::trial
