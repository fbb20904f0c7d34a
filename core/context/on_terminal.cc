// What a person at a terminal sees of a run that has no trouble: a line at its start and one at its
// end.
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "core/base/command_line.h"
#include "core/base/printable.h"
#include "core/config/trial_variables.h"
#include "core/context/core.h"

namespace det::context {

namespace {

void say(const std::string &line) {
  std::fprintf(stderr, "detcore: %s\n", printable(line).c_str());
}

// `det COMMAND`, for the store or master that the trial is in.
std::string det_command(const config::MasterLocation &location, const std::string &command) {
  const config::MasterLocation usual = config::locate_master("");
  const bool is_usual = usual.embedded == location.embedded && usual.home == location.home &&
                        usual.url == location.url;
  const std::string master = location.embedded ? location.home.string() : location.url;
  return "`det " + (is_usual ? "" : "-m " + quoted_for_shell(master) + " ") + command + "`";
}

}  // namespace

void Core::tell_people(const CoreOptions &options) noexcept try {
  const bool is_started_by_us = place_.cluster || config::read_trial_variables().run_id != 0;
  tells_people_ = communicator_->is_chief() && logger_->outlet() == nullptr && !is_started_by_us &&
                  options.log_level <= LogLevel::warning && isatty(STDERR_FILENO) != 0;
  if (!tells_people_) return;
  const engine::RunInfo &run = place_.master->info();
  const std::string id = std::to_string(run.trial_id);
  std::string line = "trial " + id;
  if (run.run_id > 1) line += ", run " + std::to_string(run.run_id);
  if (run.latest_checkpoint) line += ", from step " + std::to_string(run.steps_completed);
  line +=
      ", in " + (place_.location.embedded ? place_.location.home.string() : place_.location.url);
  say(line + "; " + det_command(place_.location, "show " + id) + " and " +
      det_command(place_.location, "plot " + id) + " show how it does");
} catch (const std::exception &) {
  // Without the line a run is as good.
}

void Core::tell_people_how_it_ended() noexcept try {
  if (!ended_ || !std::exchange(tells_people_, false)) return;
  const std::string id = std::to_string(place_.master->info().trial_id);
  const bool is_preempted = preempt_ && preempt_->preempted();
  std::string line = "trial " + id;
  if (end_ != master::RunEnd::ok) line += " ended with an error; ";
  else line += is_preempted ? " stopped as it was asked to; " : " ended well; ";
  if (end_ == master::RunEnd::ok && !is_preempted)
    line += det_command(place_.location, "show " + id) + " shows what came of it";
  else if (place_.location.embedded)
    line += det_command(place_.location, "resume " + id) + " continues it";
  else line += det_command(place_.location, "logs " + id) + " shows its log";
  say(line);
} catch (const std::exception &) {
  // As above.
}

}  // namespace det::context
