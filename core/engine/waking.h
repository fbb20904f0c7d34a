// How processes that share a store wake each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

namespace det::engine {

// Waits for what the search of an experiment makes of events, from its making on.
class Listener {
 public:
  virtual ~Listener() = default;
  // Until there may be an answer, and for `limit` at most.
  virtual void wait(std::chrono::milliseconds limit) = 0;
};

// Nothing depends on being heard: who waits also looks into the store by himself now and then.
class Waking {
 public:
  virtual ~Waking() = default;
  virtual void wake_run(int64_t trial_id, int64_t run_id) const = 0;  // all its ranks
  virtual void wake_supervisor(int64_t experiment_id) const = 0;
  virtual void wake_listeners(int64_t experiment_id) const = 0;
  virtual std::unique_ptr<Listener> listen(int64_t experiment_id) const = 0;
};

struct FifoWakingOptions {
  // How often who waits looks by himself. Zero: as the file system asks for.
  std::chrono::milliseconds recheck{0};
  std::function<bool(const std::filesystem::path &)> on_network;
};

// Through FIFOs beside the store: those of the run directories and experiment.h.
std::unique_ptr<Waking> make_fifo_waking(const std::filesystem::path &store_directory,
                                         FifoWakingOptions options);

}  // namespace det::engine
