// One call of Reader::read(): what is wanted, in pieces for several threads.
#pragma once

#include <vector>

#include "core/storage/pool.h"
#include "core/storage/progress.h"
#include "core/tensors/cuda_memory.h"
#include "core/tensors/reader.h"

namespace det::tensors {

class ReadJob {
 public:
  explicit ReadJob(const Reader &reader) : reader_(reader) {}

  void add(const Reader::Entry &entry, const Tensor &wanted);
  void run();

 private:
  // Side by side in the caller's memory.
  struct Piece {
    const Reader::Entry *entry;
    Region region;
    char *to;
    uint64_t bytes;
    CudaDriver::Context context;  // where `to` is memory of a device
  };
  using Batch = std::vector<Piece>;

  void submit(Batch &batch);
  void fill(const Batch &batch, storage::Buffer &buffer);

  const Reader &reader_;
  struct Wanted {
    const Reader::Entry *entry;
    const Tensor *tensor;
    CudaDriver::Context context;
  };
  std::vector<Wanted> wanted_;
  CudaMemory cuda_;
  storage::Progress *const progress_ = storage::Progress::current();
  storage::Buffer buffer_;
  storage::Pool pool_;  // last: its threads use what stands above
};

}  // namespace det::tensors
