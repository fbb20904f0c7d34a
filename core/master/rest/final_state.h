// How an unmanaged trial ended, kept where the master could not be told.
#pragma once

#include <filesystem>
#include <optional>

#include "core/codec/trial.h"

namespace det::master {

class FinalState {
 public:
  explicit FinalState(const std::filesystem::path &run_directory);

  void keep(codec::TrialState state) const;
  std::optional<codec::TrialState> kept() const;
  void forget() const;

 private:
  std::filesystem::path path_;
};

}  // namespace det::master
