// det logs.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "command.h"
#include "field_text.h"
#include "ids.h"
#include "pager.h"

namespace det::cli {

namespace {

constexpr const char *logs_footer =
    R"(Lines are what a program gives to det_train_log(), and what a trial of 'det run'
prints.

Examples:
  det logs 1                        everything
  det logs 1 -f                     everything, and what is added until the trial ends
  det logs 1 --level warning        only warnings and errors
  det logs 1 --json | jq -r .text   one JSON object per entry, for programs)";

constexpr std::array<const char *, 4> levels = {"debug", "info", "warning", "error"};

struct LogsOptions {
  int64_t trial = 0;
  bool follow = false;
  std::string level = levels[0];
  bool json = false;
};

size_t severity(const std::string &level) {
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

bool has_ended(const Json &trial) {
  const std::string state = text_of(field(trial, "state"));
  return state == "COMPLETED" || state == "CANCELED" || state == "ERROR";
}

void run_logs(const Session &session, const LogsOptions &options) {
  Client client = session.connect();
  client.trial(options.trial);  // an unknown one is an error
  const Pager pager(session.terminal, session.pager && !options.follow);
  Client::LogReader reader(client, options.trial);
  const auto print_new = [&] {
    reader.read_new([&](const Json &entry) {
      if (severity(text_of(field(entry, "level"))) < severity(options.level)) return true;
      print(options.json ? json_line(entry) : lines_of(entry, session.terminal));
      return true;
    });
    flush_output();
  };
  print_new();
  for (bool ended = false; options.follow && !ended;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ended = has_ended(client.trial(options.trial));  // asked first: then nothing can be added
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
  command->add_option("-l,--level", options->level, "The least important level to show.")
      ->type_name("LEVEL")
      ->check([](const std::string &level) {
        return severity(level) < levels.size()
                   ? std::string()
                   : "'" + level + "' is no level: choose debug, info, warning or error";
      });
  command->add_flag("--json", options->json, "One JSON object per entry.");
  command->callback([options, &session] { run_logs(session, *options); });
}

}  // namespace det::cli
