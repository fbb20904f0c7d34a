// How an unmanaged trial ended, kept where the master could not be told.
#pragma once

#include <filesystem>
#include <optional>

#include "core/codec/trial.h"

namespace det {

class FinalState {
 public:
  explicit FinalState(const std::filesystem::path &run_directory);

  void keep(TrialState state) const;
  std::optional<TrialState> kept() const;
  void forget() const;

 private:
  std::filesystem::path path_;
};

}  // namespace det
