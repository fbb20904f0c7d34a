#include "core/engine/waking.h"

#include "core/engine/experiment.h"
#include "core/engine/listener.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace {

class FifoWaking : public Waking {
 public:
  FifoWaking(std::filesystem::path store_directory, FifoWakingOptions options)
      : store_directory_(std::move(store_directory)), options_(std::move(options)) {}

  void wake_run(int64_t trial_id, int64_t run_id) const override {
    journal::wake_ranks(store_directory_, trial_id, run_id);
  }
  void wake_supervisor(int64_t experiment_id) const override {
    det::engine::wake_supervisor(store_directory_, experiment_id);
  }

  void wake_listeners(int64_t experiment_id) const override {
    wake_fifo_listeners(listeners_directory(store_directory_, experiment_id));
  }
  std::unique_ptr<Listener> listen(int64_t experiment_id) const override {
    return std::make_unique<FifoListener>(listeners_directory(store_directory_, experiment_id),
                                          !options_.on_network(store_directory_), options_.recheck);
  }

 private:
  const std::filesystem::path store_directory_;
  const FifoWakingOptions options_;
};

}  // namespace

std::unique_ptr<Waking> make_fifo_waking(const std::filesystem::path &store_directory,
                                         FifoWakingOptions options) {
  return std::make_unique<FifoWaking>(store_directory, std::move(options));
}

}  // namespace det::engine
