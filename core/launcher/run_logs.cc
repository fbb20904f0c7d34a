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

// What programs print while they die: the traces of several ranks.
constexpr int64_t last_lines = 200;

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

std::string RunLogs::take_complaint_about_space(int64_t trial_id, int64_t run_id) {
  const auto taken = complaints_about_space_.extract({trial_id, run_id});
  return taken && taken.mapped().lines_since <= last_lines ? taken.mapped().line : std::string();
}

void RunLogs::store(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
                    uint64_t read) {
  std::optional<std::string> policy;
  auto complaint = complaints_about_space_.find({trial_id, run_id});
  for (const std::string &line : lines)
    if (complains_about_space(line))
      complaint =
          complaints_about_space_.insert_or_assign({trial_id, run_id}, Complaint{line}).first;
    else if (complaint != complaints_about_space_.end()) ++complaint->second.lines_since;
  for (const std::string &line : lines)
    if (!policy) policy = policies_.forbids_restarts(line);
  if (lead_.log_output(trial_id, run_id, lines, read, policy))
    log_->warning(trial_name(trial_id) + " printed what the log policy '" + *policy +
                  "' looks for: it is not started again when it fails");
}

}  // namespace det::launcher
