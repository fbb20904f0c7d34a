#include "core/launcher/run_logs.h"

#include <cerrno>

#include "core/base/error.h"
#include "core/launcher/launcher.h"

namespace det::launcher {

namespace {

// The words of the system, which nearly all programs print.
bool complains_about_space(const std::string &line) {
  return line.find(errno_text(ENOSPC)) != line.npos || line.find(errno_text(EDQUOT)) != line.npos;
}

}  // namespace

RunLogs::RunLogs(engine::Lead &lead, const Json &config, std::shared_ptr<Logger> log)
    : lead_(lead), policies_(config), log_(std::move(log)) {}

std::filesystem::path RunLogs::file(int64_t trial_id, int64_t run_id) const {
  return lead_.seat().log_file(trial_id, run_id);
}

std::unique_ptr<LogFollower> RunLogs::follow(int64_t trial_id, int64_t run_id) {
  return std::make_unique<LogFollower>(
      file(trial_id, run_id), lead_.log_offset(trial_id, run_id),
      [this, trial_id, run_id](const std::vector<std::string> &lines, uint64_t read) {
        store(trial_id, run_id, lines, read);
      });
}

void RunLogs::tell(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text) {
  log_->write(level, text);
  lead_.log(trial_id, run_id, level, "det run: " + text);
}

std::string RunLogs::complaint_about_space(int64_t trial_id, int64_t run_id) const {
  const auto found = complaints_about_space_.find({trial_id, run_id});
  return found != complaints_about_space_.end() ? found->second : std::string();
}

void RunLogs::store(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
                    uint64_t read) {
  std::optional<std::string> policy;
  for (const std::string &line : lines)
    if (complains_about_space(line)) complaints_about_space_.try_emplace({trial_id, run_id}, line);
  for (const std::string &line : lines)
    if (!policy) policy = policies_.forbids_restarts(line);
  if (lead_.log_output(trial_id, run_id, lines, read, policy))
    log_->warning(trial_name(trial_id) + " printed what the log policy '" + *policy +
                  "' looks for: it is not started again when it fails");
}

}  // namespace det::launcher
