// How processes that share a store wake each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace det {

// Nothing depends on being heard: who waits also looks into the store by himself now and then.
class Waking {
 public:
  virtual ~Waking() = default;
  virtual void wake_run(int64_t trial_id, int64_t run_id) const = 0;  // all its ranks
  virtual void wake_supervisor(int64_t experiment_id) const = 0;
};

// Through FIFOs beside the store: those of run_directory.h and experiment.h.
std::unique_ptr<Waking> make_fifo_waking(const std::filesystem::path &store_directory);

}  // namespace det
