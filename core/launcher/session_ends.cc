#include "core/launcher/session_ends.h"

#include <exception>
#include <system_error>

#include "core/base/clock.h"
#include "core/storage/storage.h"
#include "core/storage/storage_location.h"
#include "core/tensorboard/event_file.h"
#include "core/tensorboard/files.h"
#include "core/tensorboard/hparams.h"

namespace det::launcher {

namespace fs = std::filesystem;

void SessionEnds::write(int64_t trial_id, bool succeeded) try {
  if (!directory_) directory_ = find_directory();
  if (directory_->empty()) return;
  const tensorboard::TensorboardPlace place{*directory_, cluster_id_, experiment_id_, trial_id,
                                            {},          0,           nullptr};
  std::error_code none;
  if (!fs::is_directory(*directory_ / tensorboard::tensorboard_path(cluster_id_, experiment_id_) /
                            "trial" / std::to_string(trial_id),
                        none))
    return;
  // TensorBoard reads the files of a trial by their names, which begin with the second, and keeps
  // the first end that it reads: that of the run, where that could tell.
  constexpr int64_t second_us = 1'000'000;
  const int64_t now = now_us();
  tensorboard::EventFile file(std::make_shared<tensorboard::TensorboardFiles>(
                                  tensorboard::TensorboardMode::automatic, place),
                              "", [now] { return now + second_us; });
  file.append(tensorboard::session_end_event(static_cast<double>(now) / 1e6, succeeded));
} catch (const std::exception &failure) {
  log_->warning("telling TensorBoard how trial ", std::to_string(trial_id),
                " ended: ", failure.what());
}

fs::path SessionEnds::find_directory() const {
  if (!storage::says_where(storage_)) return home_;
  const auto storage = storage_.is_string() ? storage::make_storage_from_uri(storage_, log_)
                                            : storage::make_storage(storage_, std::nullopt, log_);
  return storage->directory();
}

}  // namespace det::launcher
