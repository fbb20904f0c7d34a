// A trial held for a script: one run of it, from det_core_init() to det_core_close(), and what the
// script's commands ask of it.
#pragma once

#include <det/core.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "library_client.h"

namespace det::cli {

class TrialHolder {
 public:
  // Starts the run. Throws Failure.
  explicit TrialHolder(const det_core_options &options);

  // What the script finds in its environment.
  std::map<std::string, std::string> variables() const;

  // Asks the script to stop, as a pause does.
  void preempt();

  // Does what a command of the script asks. `exit` of the answer is the command's exit code; any
  // thread.
  Json answer(const Json &request) noexcept;

  // What the script should leave with.
  int exit_status() const { return det_core_exit_status(core_.get()); }

  // Throws Failure where not everything was delivered, or told.
  void close(det_outcome how);

 private:
  Json report(const Json &request);
  Json next(const Json &request);
  Json complete(const Json &request);
  Json progress(const Json &request);
  Json save(const Json &request);
  Json restore(const Json &request);

  std::unique_ptr<det_core, void (*)(det_core *)> core_{nullptr, det_core_free};
  std::mutex searching_;                  // what follows
  det_searcher_op *operation_ = nullptr;  // that the script works at
  std::mutex saving_;                     // what follows
  std::string latest_checkpoint_;
};

}  // namespace det::cli
