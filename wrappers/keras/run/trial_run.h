// The run of a trial: begun as a program was told, or one of which nothing is kept.
#pragma once

#include <det/keras.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "wrappers/keras/run/core_calls.h"

namespace det::keras {

// What a program is told on its command line.
struct Arguments {
  std::optional<Json> config;  // of a file, with every default
  std::string external_id;
  bool tests_one_batch = false;
};

// Throws Code::invalid for an option without its value, and for a file that is no configuration.
Arguments read_arguments(std::span<const char *const> arguments);

// A core with its ranks, in its own directory where nothing of it is kept.
class TrialRun {
 public:
  // Under `det run`, under mpirun, or by itself.
  static TrialRun start(det_core_options options);
  // Hyperparameters are drawn from the ranges of the configuration where there are none.
  static TrialRun unkept(const char *config_json, const char *hparams_json);

  TrialRun(TrialRun &&) noexcept = default;

  det_core *core() const { return core_.get(); }

 private:
  class TemporaryDirectory {
   public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory &) = delete;
    TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
    const std::string &path() const { return path_; }

   private:
    std::string path_;
  };

  TrialRun() = default;

  std::unique_ptr<TemporaryDirectory> directory_;
  Handle<det_distributed_context, det_distributed_free> ranks_;
  Handle<det_core, det_core_free> core_;  // the last: it uses what is above
};

}  // namespace det::keras
