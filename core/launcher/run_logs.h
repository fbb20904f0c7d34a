// What the runs of an experiment print, on its way from their files into the records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/engine/supervision/lead.h"
#include "core/launcher/log_follower.h"
#include "core/launcher/log_policies.h"

namespace det::launcher {

class RunLogs {
 public:
  // Throws Code::invalid for a log policy of `config` that is none. `lead` must outlive this.
  RunLogs(engine::Lead &lead, const Json &config, std::shared_ptr<Logger> log);
  RunLogs(const RunLogs &) = delete;  // those that follow hold on to this
  RunLogs &operator=(const RunLogs &) = delete;

  std::filesystem::path file(int64_t trial_id, int64_t run_id) const;

  // From where its lines are on record already. This must outlive it.
  std::unique_ptr<LogFollower> follow(int64_t trial_id, int64_t run_id);

  // Of a run: to whoever looks on, and in the log of its trial for those who look later.
  void tell(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text);

  // Once it has ended: the line in which it said, shortly before, that there is no space left. A
  // program that only lost a side file to that goes on, and dies of something else.
  std::string take_complaint_about_space(int64_t trial_id, int64_t run_id);

 private:
  void store(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
             uint64_t read);

  engine::Lead &lead_;
  const LogPolicies policies_;
  const std::shared_ptr<Logger> log_;
  struct Complaint {
    std::string line;
    int64_t lines_since = 0;
  };
  std::map<std::pair<int64_t, int64_t>, Complaint> complaints_about_space_;
};

}  // namespace det::launcher
