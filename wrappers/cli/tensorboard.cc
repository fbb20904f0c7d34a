// det tensorboard.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "command.h"
#include "core/base/run_command.h"
#include "field_text.h"

namespace det::cli {

namespace {

constexpr const char *tensorboard_footer =
    R"(Starts your own TensorBoard on what the trials wrote: curves, histograms, texts, images, and the table
and parallel coordinates of the search under HPARAMS. It shows what is added while it runs, serves this
machine alone unless told otherwise, and ends with Ctrl-C.

Examples:
  det tensorboard 3                       experiment 3: open the address that it prints
  det tensorboard 3 4                     two of them beside each other
  det tensorboard 3 -- --port 7007        what stands behind '--' is for TensorBoard
  det tensorboard 3 -- --bind_all         for other machines too)";

struct TensorboardOptions {
  std::vector<std::string> words, rest;
};

// The ids, and what is for TensorBoard: CLI11 takes the '--' between them away, and has the first
// list take both. Without a second one it would leave what stands behind to `det`.
std::vector<std::string>::const_iterator end_of_ids(const std::vector<std::string> &words) {
  return std::find_if(words.begin(), words.end(),
                      [](const std::string &word) { return word.starts_with('-'); });
}

// Where the events of an experiment are: of the places where they may be, those that are there.
std::vector<std::string> places_of(Client &client, int64_t experiment) {
  const Json known = client.experiment(experiment);
  std::vector<std::string> found, possible;
  for (const Json &place : field(known, "tensorboard")) {
    possible.push_back(place.get<std::string>());
    std::error_code unknown;
    if (!possible.back().starts_with('/') || std::filesystem::exists(possible.back(), unknown))
      found.push_back(possible.back());
  }
  if (possible.empty())
    throw Failure(ExitCode::state, "experiment " + std::to_string(experiment) +
                                       " has no storage of this machine for TensorBoard files");
  if (found.empty()) {
    std::fprintf(stderr, "det: experiment %lld has no events yet; TensorBoard waits for them\n",
                 static_cast<long long>(experiment));
    found.push_back(possible.front());
  }
  return found;
}

// One directory, or several with a name for each.
std::string directories_option(Client &client, const std::vector<int64_t> &experiments) {
  std::vector<std::string> named, paths;
  for (const int64_t experiment : experiments) {
    const std::vector<std::string> places = places_of(client, experiment);
    for (size_t i = 0; i < places.size(); ++i) {
      paths.push_back(places[i]);
      named.push_back("experiment-" + std::to_string(experiment) +
                      (i > 0 ? "-" + std::to_string(i + 1) : "") + ":" + places[i]);
    }
  }
  if (paths.size() == 1) return "--logdir=" + paths.front();
  std::string all;
  for (const std::string &one : named) {
    if (one.find(',') != one.npos)
      throw Failure(ExitCode::unsupported, "TensorBoard cannot open '" + one +
                                               "' beside others, since it has a comma; open it "
                                               "alone");
    all += (all.empty() ? "" : ",") + one;
  }
  return "--logdir_spec=" + all;
}

bool has_option(const std::vector<std::string> &words, const std::string &name) {
  return std::any_of(words.begin(), words.end(), [&](const std::string &word) {
    return word == name || word.starts_with(name + "=");
  });
}

// Takes the place of this process, so that the terminal and its keys are TensorBoard's. Comes back
// where there is no such program.
void try_to_become(std::vector<std::string> words) {
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execvp(arguments[0], arguments.data());
  if (errno != ENOENT)
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
  std::vector<std::string> words = {"tensorboard", directories_option(client, experiments)};
  if (!has_option(given, "--host") && !has_option(given, "--bind_all"))
    words.emplace_back("--host=localhost");
  words.insert(words.end(), given.begin(), given.end());
  flush_output();

  try_to_become(words);
  // It may be installed where no PATH leads to its program.
  const std::string look =
      "python3 -c 'import importlib.util as u, sys; "
      "sys.exit(u.find_spec(\"tensorboard\") is None)' 2>/dev/null";
  if (run_command(look, {}, std::chrono::seconds(60)).status == 0) {
    words[0] = "python3";
    words.insert(words.begin() + 1, {"-m", "tensorboard.main"});
    try_to_become(words);
  }
  throw Failure(ExitCode::not_found,
                "there is no TensorBoard here: 'pip install tensorboard' installs it; or put the "
                "one that you have on PATH");
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
  command->callback(
      [options, &session] { with_exit_code([&] { run_tensorboard(session, *options); }); });
}

}  // namespace det::cli
