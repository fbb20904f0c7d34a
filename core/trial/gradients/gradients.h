// The gradients of several batches and all ranks, added up before they are applied.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/tensors/cuda_memory.h"
#include "core/trial/gradients/device_sums.h"
#include "core/trial/gradients/gradient_layout.h"
#include "core/trial/gradients/reduction.h"

namespace det::trial {

// Gradients, and what is to come of them, where the caller has them: in memory of the process or of
// a CUDA device, as the driver says where the process has loaded it. For one thread at a time.
class GradientMemory {
 public:
  // `waits_for_queues`: what is queued on a device may still write what is there.
  explicit GradientMemory(bool waits_for_queues) : waits_for_queues_(waits_for_queues) {}

  struct Place {
    char *data = nullptr;
    tensors::CudaDriver::Context context = nullptr;  // none: memory of the process
  };

  // Waits for what was queued on its device before, if asked to. `index` is for errors.
  Place place_of(size_t index, const GradientTensor &tensor, const void *data);

  // The bytes of a tensor in memory of the process: where they are, or a copy until the next call.
  const void *read(const Place &place, const GradientTensor &tensor);
  // Where to write them: where they are to be, or room until the next call, from which finish()
  // copies them.
  char *room(const Place &place, const GradientTensor &tensor);
  void finish(const Place &place, const GradientTensor &tensor);

 private:
  const bool waits_for_queues_;
  std::shared_ptr<const tensors::CudaDriver> driver_;  // once it is loaded
  tensors::CudaMemory cuda_;
  std::vector<char> copy_;
};

// Which gradients a rank has added in a period: every rank must add the same ones.
class AddedGradients {
 public:
  explicit AddedGradients(size_t count) : seen_(count, none) {}

  void add(size_t index) { seen_[index] = now; }
  bool is_in_batch(size_t index) const { return seen_[index] == now; }
  bool is_in_period(size_t index) const { return seen_[index] != none; }
  void end_batch();
  void end_period();

  // Collective, in the last batch of a period. The same on all ranks.
  std::optional<std::string> find_problem(comm::Communicator &communicator) const;

 private:
  static constexpr char none = '-', earlier = 'e', now = 'n';
  static std::string difference(const std::vector<comm::Message> &seen);

  std::string seen_;  // by tensor
};

// As errors name it.
std::string gradient_name(size_t index);

struct GradientOptions {
  int frequency = 1;                           // batches in a period
  bool average = true;                         // over the batches of a period; over ranks always
  bool compress = false;                       // half precision between ranks
  size_t fusion_threshold = size_t{64} << 20;  // bytes of a group
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
  void start_groups(bool all);
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
  std::vector<size_t> packed_;  // by group: how many tensors are in it
  size_t started_ = 0;          // groups
  bool has_failed_ = false;
};

}  // namespace det::trial
