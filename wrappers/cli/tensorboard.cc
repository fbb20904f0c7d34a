// det tensorboard.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "child_program.h"
#include "command.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/run_command.h"
#include "core/config/master_location.h"
#include "core/launcher/program.h"
#include "tensorboard_copies.h"
#include "tensorboard_logdir.h"
#include "time_text.h"

namespace det::cli {

namespace {

constexpr const char *tensorboard_footer =
    R"(Starts your own TensorBoard on what the trials wrote: curves, histograms, texts, images, and the table
and parallel coordinates of the search under HPARAMS. It shows what is added while it runs, serves this
machine alone unless told otherwise, and ends with Ctrl-C. What is in a bucket is copied here meanwhile,
with the credentials that checkpoints of it need.

Examples:
  det tensorboard 3                       experiment 3: open the address that it prints
  det tensorboard 3 4                     two of them beside each other
  det tensorboard 3 -- --port 7007        what stands behind '--' is for TensorBoard
  det tensorboard 3 -- --bind_all         for other machines too)";

constexpr std::chrono::milliseconds shortest_refresh{100};

struct TensorboardOptions {
  std::vector<std::string> words, rest;
  std::chrono::milliseconds refresh = std::chrono::seconds(30);
};

// The ids, and what is for TensorBoard: CLI11 takes the '--' between them away, and has the first
// list take both. Without a second one it would leave what stands behind to `det`.
std::vector<std::string>::const_iterator end_of_ids(const std::vector<std::string> &words) {
  return std::find_if(words.begin(), words.end(),
                      [](const std::string &word) { return word.starts_with('-'); });
}

bool has_option(const std::vector<std::string> &words, const std::string &name) {
  return std::any_of(words.begin(), words.end(), [&](const std::string &word) {
    return word == name || word.starts_with(name + "=");
  });
}

// What starts TensorBoard. It may be installed where no PATH leads to its program.
std::vector<std::string> tensorboard_command() {
  try {
    return {launcher::find_program("tensorboard", environment_variable("PATH"), {})};
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;
  }
  const std::string look =
      "python3 -c 'import importlib.util as u, sys; "
      "sys.exit(u.find_spec(\"tensorboard\") is None)' 2>/dev/null";
  if (run_command(look, {}, std::chrono::seconds(60)).status != 0)
    throw Failure(ExitCode::not_found,
                  "there is no TensorBoard here: 'pip install tensorboard' installs it; or put the "
                  "one that you have on PATH");
  return {"python3", "-m", "tensorboard.main"};
}

// Takes the place of this process, so that the terminal and its keys are TensorBoard's.
[[noreturn]] void become_tensorboard(std::vector<std::string> words) {
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execvp(arguments[0], arguments.data());
  throw Failure(ExitCode::io, "starting '" + words[0] + "': " + std::strerror(errno));
}

void run_tensorboard(const Session &session, const TensorboardOptions &options) {
  std::vector<std::string> all = options.words;
  all.insert(all.end(), options.rest.begin(), options.rest.end());
  const auto end = end_of_ids(all);
  std::vector<int64_t> experiments;
  for (auto word = all.cbegin(); word != end; ++word)
    experiments.push_back(parse_id(*word, "EXPERIMENT"));
  if (experiments.empty())
    throw Failure(ExitCode::usage, "which experiment? 'det experiments' lists them");
  const std::vector<std::string> given(end, all.cend());
  Client client = session.connect();
  const config::MasterLocation location = config::locate_master(session.master);
  std::optional<TensorboardLogdir> logdir(
      std::in_place, client,
      location.embedded ? location.store_directory() : std::filesystem::path(), experiments);
  std::vector<std::string> words = tensorboard_command();
  words.push_back(logdir->option());
  if (!has_option(given, "--host") && !has_option(given, "--bind_all"))
    words.emplace_back("--host=localhost");
  words.insert(words.end(), given.begin(), given.end());
  flush_output();

  if (!logdir->has_copies()) {
    logdir->tell_empty();
    become_tensorboard(std::move(words));
  }
  ChildProgram board(std::move(words));
  fetch_copies(board, *logdir);
  logdir->tell_empty();
  board.start({});
  follow_copies(board, *logdir, options.refresh);
  board.wait();
  logdir.reset();  // nothing comes back from what follows
  board.end_likewise();
}

}  // namespace

void add_tensorboard_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<TensorboardOptions>();
  CLI::App *command =
      app.add_subcommand("tensorboard", "Start TensorBoard on what experiments wrote.");
  command->footer(tensorboard_footer);
  command->add_option("EXPERIMENT", options->words, "The experiments.")->type_name("")->required();
  command->add_option("ARGUMENT", options->rest, "What is for TensorBoard, behind '--'.")
      ->type_name("");
  command
      ->add_option_function<std::string>(
          "--refresh",
          [options](const std::string &text) {
            options->refresh = std::max(parse_duration(text), shortest_refresh);
          },
          "How often to look for new events in a bucket: 30s, 5m.")
      ->type_name("DURATION");
  command->callback(
      [options, &session] { with_exit_code([&] { run_tensorboard(session, *options); }); });
}

}  // namespace det::cli
