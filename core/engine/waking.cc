#include "core/engine/waking.h"

#include "core/engine/experiment.h"
#include "core/engine/run_directory.h"

namespace det {

namespace {

class FifoWaking : public Waking {
 public:
  explicit FifoWaking(std::filesystem::path store_directory)
      : store_directory_(std::move(store_directory)) {}

  void wake_run(int64_t trial_id, int64_t run_id) const override {
    det::wake_run(store_directory_, trial_id, run_id);
  }
  void wake_supervisor(int64_t experiment_id) const override {
    det::wake_supervisor(store_directory_, experiment_id);
  }

 private:
  const std::filesystem::path store_directory_;
};

}  // namespace

std::unique_ptr<Waking> make_fifo_waking(const std::filesystem::path &store_directory) {
  return std::make_unique<FifoWaking>(store_directory);
}

}  // namespace det
