// det wait.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/trial_state.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/time_text.h"

namespace det::cli {

namespace {

constexpr const char *wait_footer =
    R"(Also ends when a trial is paused, or when it died and nothing restarts it. If
the trials end in different ways, the first exit code below that applies counts.

Examples:
  det wait 1 2 --timeout 2h
  det wait -e 3 && det best 3

Exit codes:
  4   The time is up.
  9   A trial ended in an error or died.
  10  A trial was canceled.
  11  A trial was paused.)";

constexpr std::chrono::milliseconds between_looks{500};

struct WaitOptions {
  std::vector<std::string> ids;
  bool experiments = false;
  bool json = false;
  std::optional<std::chrono::milliseconds> timeout;
};

using End = std::optional<std::string>;  // how it stands, once it is over

End end_of_trial(Client &client, int64_t id) {
  const Json trial = client.trial(id);
  return is_at_rest(trial) ? End(state_text(trial)) : End();
}

End end_of_experiment(Client &client, int64_t id) {
  const Json state = field(client.best_trial(id), "state");
  if (is_terminal_state(state)) return text_of(state);
  int64_t newest = 0;
  bool runs = false;
  client.each_trial(id, [&](const Json &trial) {
    newest = std::max(newest, field(trial, "id").get<int64_t>());
    runs = field(trial, "running") == true;
    return !runs && state == "PAUSED";
  });
  if (state == "PAUSED") return runs ? End() : End(text_of(state));
  // One that `det run` does not run has one trial.
  if (newest == 0 || field(client.trial(newest), "supervised") != false) return {};
  return end_of_trial(client, newest);
}

ExitCode exit_code_of(const std::string &end) {
  if (end == "COMPLETED") return ExitCode::ok;
  if (end == "CANCELED") return ExitCode::canceled;
  return end == "PAUSED" || end == "NO PROCESS" ? ExitCode::paused : ExitCode::failed;
}

std::string sentence(const std::string &end) {
  if (end == "DIED") return "died";
  return end == "NO PROCESS" ? "has no process" : "is " + printable(end);
}

void tell(const WaitOptions &options, int64_t id, const std::string &end) {
  print(options.json ? json_line({{"id", id}, {"state", end}})
                     : (options.experiments ? "Experiment " : "Trial ") + std::to_string(id) + " " +
                           sentence(end) + ".\n");
  flush_output();
}

void run_wait(const Session &session, const WaitOptions &options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Client client = session.connect();
  std::vector<int64_t> left;
  for (const std::string &id : options.ids)
    left.push_back(options.experiments ? parse_id(id, "EXPERIMENT") : find_trial(client, id));
  std::vector<ExitCode> codes;
  for (;;) {
    std::erase_if(left, [&](int64_t id) {
      const End end = (options.experiments ? end_of_experiment : end_of_trial)(client, id);
      if (!end) return false;
      tell(options, id, *end);
      codes.push_back(exit_code_of(*end));
      return true;
    });
    if (left.empty()) break;
    auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(between_looks);
    if (options.timeout) {
      const auto passed =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
      if (passed >= *options.timeout)
        throw Failure(ExitCode::busy, "the time is up: " + std::to_string(left.size()) + " of " +
                                          std::to_string(options.ids.size()) + " have not ended");
      pause = std::min(pause, *options.timeout - passed);
    }
    std::this_thread::sleep_for(pause);
  }
  for (const ExitCode code : {ExitCode::failed, ExitCode::canceled, ExitCode::paused})
    if (std::ranges::find(codes, code) != codes.end()) throw Ended{code};
}

}  // namespace

void add_wait_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<WaitOptions>();
  CLI::App *command = app.add_subcommand("wait", "Wait until trials or experiments end.");
  command->footer(wait_footer);
  command->add_option("ID", options->ids, "The trials. With -e they are experiments.")
      ->type_name("")
      ->required();
  command->add_flag("-e,--experiment", options->experiments, "The IDs are experiments.");
  command
      ->add_option_function<std::string>(
          "--timeout",
          [options](const std::string &text) { options->timeout = parse_duration(text); },
          "Wait at most this long: 90s, 10m, 2h.")
      ->type_name("DURATION");
  command->add_flag("--json", options->json, "Print one JSON object for each when it ends.");
  command->callback([options, &session] { run_wait(session, *options); });
}

}  // namespace det::cli
