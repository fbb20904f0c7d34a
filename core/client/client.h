// Queries and control over a store or a master: what det/client.h and `det` show and steer. Answers
// are JSON objects whose keys docs/client.md lists.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace det {

struct Page {
  int64_t after = 0;
  int64_t limit = 1000;
  bool descending = false;
};

// Same numbers as DET_CLIENT_* in include/det/client.h.
enum class Target : int { experiment = 1, trial = 2 };
enum class Action : int { pause = 1, activate = 2, cancel = 3, kill = 4 };

std::string action_name(Action action);  // for messages: "pausing"

class Client {
 public:
  virtual ~Client() = default;

  virtual Json list_experiments(const Page &page) = 0;
  virtual Json get_experiment(int64_t experiment_id) = 0;
  virtual Json list_trials(int64_t experiment_id, const Page &page) = 0;  // 0: of all experiments
  virtual Json get_trial(int64_t trial_id) = 0;
  virtual Json list_metrics(int64_t trial_id, const std::optional<std::string> &group,
                            const Page &page) = 0;
  virtual Json list_checkpoints(int64_t trial_id, const Page &page) = 0;  // 0: of all trials
  virtual Json get_checkpoint(const std::string &id) = 0;
  virtual Json list_logs(int64_t trial_id, const Page &page) = 0;
  virtual Json control(Target target, int64_t id, Action action) = 0;
  virtual Json sync() = 0;
};

// `master` as in det_core_options; empty for the default. Makes nothing.
std::unique_ptr<Client> open_client(const std::string &master);

}  // namespace det
