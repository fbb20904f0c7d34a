// det logs.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "core/base/text/lower_case.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/trial_state.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/pager.h"
#include "wrappers/cli/text/time_text.h"

namespace det::cli {

namespace {

constexpr const char *logs_footer =
    R"(Shows the text that a program hands to det_train_log(), and the output of the
trials of 'det run' and 'det trial'.

Examples:
  det logs 1 --tail 20 --follow
  det logs 1 --since 10m --level warning --rank 0)";

constexpr std::array<const char *, 4> levels = {"debug", "info", "warning", "error"};

struct LogsOptions {
  int64_t trial = 0;
  bool follow = false;
  std::string level = levels[0];
  std::optional<int64_t> run, rank, tail;
  std::string since;  // a time as the library writes it
  bool json = false;
};

// As masters and programs write it: "WARNING" and "warn" are a warning.
size_t severity(const std::string &written) {
  std::string level = lower_case(written);
  for (const auto &[other, name] : {std::pair("trace", 0), {"warn", 2}, {"critical", 3}})
    if (level == other) level = levels.at(static_cast<size_t>(name));
  return static_cast<size_t>(std::find(levels.begin(), levels.end(), level) - levels.begin());
}

// A text of several lines becomes as many lines. What is written to a file stays as it is.
std::string lines_of(const Json &entry, const Terminal &terminal) {
  const std::string level = printable(text_of(field(entry, "level")));
  const Json &rank = field(entry, "rank");
  std::string head = printable(clock_of(field(entry, "time"))) + " ";
  std::string tag = level;
  tag.resize(std::max<size_t>(tag.size(), 7), ' ');
  if (severity(level) == 2) tag = painted(terminal, Colour::yellow, tag);
  if (severity(level) == 3) tag = painted(terminal, Colour::red, tag);
  head += tag + " ";
  if (rank.is_number() && rank != 0) head += "[rank " + text_of(rank) + "] ";

  const std::string text = text_of(field(entry, "text"));
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (begin == 0 || end < text.size() || !line.empty()) {
      out += head + (terminal.interactive ? printable(line) : line) + "\n";
    }
    begin = end + 1;
  }
  return out;
}

bool is_wanted(const Json &entry, const LogsOptions &options) {
  const auto is = [&](const char *key, const std::optional<int64_t> &wanted) {
    return !wanted || field(entry, key) == *wanted;
  };
  return severity(text_of(field(entry, "level"))) >= severity(options.level) &&
         is("trial_run_id", options.run) && is("rank", options.rank) &&
         text_of(field(entry, "time")) >= options.since;
}

void require_run(const Json &trial, const LogsOptions &options) {
  const Json &runs = field(trial, "runs");
  if (!options.run || !runs.is_array()) return;
  if (std::ranges::none_of(runs, [&](const Json &run) { return run.at("run_id") == *options.run; }))
    throw Failure(ExitCode::not_found, "trial " + std::to_string(options.trial) + " has no run " +
                                           std::to_string(*options.run) + "; 'det show " +
                                           std::to_string(options.trial) + "' lists them");
}

// Whether nothing can be added to what is followed.
bool has_ended(const Json &trial, const LogsOptions &options) {
  return is_at_rest(trial) || (options.run && !has_process(trial, *options.run));
}

void run_logs(const Session &session, const LogsOptions &options) {
  Client client = session.connect();
  require_run(client.trial(options.trial), options);  // an unknown one is an error
  const Pager pager(session.terminal, session.pager && !options.follow);
  Client::LogReader reader(client, options.trial);
  const auto print_entry = [&](const Json &entry) {
    print(options.json ? json_line(entry) : lines_of(entry, session.terminal));
  };
  const auto wanted = [&](const Json &entry) { return is_wanted(entry, options); };
  const auto print_new = [&] {
    reader.read_new([&](const Json &entry) {
      if (wanted(entry)) print_entry(entry);
      return true;
    });
    flush_output();
  };
  if (options.tail)
    for (const Json &entry : reader.read_last(*options.tail, wanted)) print_entry(entry);
  else print_new();
  flush_output();
  for (bool ended = false; options.follow && !ended;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ended = has_ended(client.trial(options.trial), options);  // asked first: then nothing is added
    print_new();
  }
}

}  // namespace

void add_logs_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<LogsOptions>();
  CLI::App *command = app.add_subcommand("logs", "Show the log of a trial.");
  command->footer(logs_footer);
  add_trial(command, session, "TRIAL", options->trial, "The trial.")->required();
  command->add_flag("-f,--follow", options->follow, "Wait for new entries until the trial ends.");
  command
      ->add_option("-l,--level", options->level,
                   "Show this level and more important ones: debug, info, warning or error.")
      ->type_name("LEVEL")
      ->check([](const std::string &level) {
        return severity(level) < levels.size()
                   ? std::string()
                   : "'" + level + "' is not a level: choose debug, info, warning or error";
      });
  const auto add_number = [&](const char *name, const char *type, const char *description,
                              std::optional<int64_t> &number,
                              int64_t (*parse)(const std::string &)) {
    command
        ->add_option_function<std::string>(
            name, [&number, parse](const std::string &text) { number = parse(text); }, description)
        ->type_name(type);
  };
  add_number("-n,--tail", "COUNT", "Show only the last entries.", options->tail, parse_count);
  add_number("--run", "RUN", "Show only this run of the trial.", options->run, parse_count);
  add_number("--rank", "RANK", "Show only this rank.", options->rank, parse_rank);
  command
      ->add_option_function<std::string>(
          "--since", [options](const std::string &text) { options->since = parse_since(text); },
          "Show entries since then: 90s, 10m, 2h, or '2026-01-31 12:00' (UTC).")
      ->type_name("TIME");
  command->add_flag("--json", options->json, "Print one JSON object per entry.");
  command->callback([options, &session] { run_logs(session, *options); });
}

}  // namespace det::cli
