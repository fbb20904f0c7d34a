// det tensorboard.
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/process/run_command.h"
#include "core/base/text/printable.h"
#include "core/config/master_location.h"
#include "core/config/secrets.h"
#include "core/engine/experiment.h"
#include "core/launcher/program.h"
#include "core/storage/progress.h"
#include "core/storage/storage.h"
#include "core/tensorboard/files.h"
#include "core/tensorboard/mirror.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/progress_bar.h"
#include "wrappers/cli/text/time_text.h"
#include "wrappers/cli/trial/child_program.h"

namespace fs = std::filesystem;

namespace det::cli {

namespace {

// The directories that TensorBoard reads: those of experiments, and copies of files in buckets.
class TensorboardLogdir {
 public:
  // Finds them; what is in buckets comes with refresh(), with the secrets that the store in
  // `store_directory` keeps; empty: a master over HTTP has them. Throws Failure, and Error of the
  // storage.
  TensorboardLogdir(Client &client, std::filesystem::path store_directory,
                    const std::vector<int64_t> &experiments);
  TensorboardLogdir(const TensorboardLogdir &) = delete;
  TensorboardLogdir &operator=(const TensorboardLogdir &) = delete;
  ~TensorboardLogdir();  // removes the copies

  // "--logdir=DIRECTORY", or of several "--logdir_spec=" with a name for each.
  std::string option() const;

  bool has_copies() const { return !copies_.empty(); }
  void refresh(storage::Progress *progress);  // the copies, as Mirror does

  // Says of which experiments nothing is there yet.
  void tell_empty() const;

 private:
  struct Place {
    int64_t experiment;
    std::filesystem::path directory;
    bool there;  // or a copy, which shows by itself
    const tensorboard::Mirror *copy = nullptr;
  };
  void add_experiment(Client &client, int64_t id);
  const tensorboard::Mirror &copy(Client &client, const Json &experiment, const std::string &place);

  std::filesystem::path store_directory_;
  std::vector<Place> places_;
  std::filesystem::path private_directory_;  // of the copies
  std::list<tensorboard::Mirror> copies_;
};

std::string named(int64_t experiment) { return "experiment " + std::to_string(experiment); }

bool is_address(const std::string &place) { return place.find("://") != place.npos; }

fs::path make_private_directory() {
  const std::string chosen = environment_variable("TMPDIR");
  std::string name = (chosen.starts_with('/') ? chosen : "/tmp") + "/det-tensorboard-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) OsFailure{errno}.raise("making directory '" + name + "'");
  return name;
}

// The last part of an address: where in the storage they are, beginning with the id of a cluster.
std::string path_within(const std::string &place, int64_t experiment) {
  const std::string tail = "/tensorboard/experiment/" + std::to_string(experiment);
  const size_t cluster = place.rfind('/', place.size() - tail.size() - 1);
  return place.substr(cluster + 1);
}

// The configuration of the storage that an address is of. Of the credentials it has the secrets.
Json storage_at(Client &client, const Json &experiment, const Json &secrets,
                const std::string &place) {
  const auto id = field(experiment, "id").get<int64_t>();
  const std::string path = path_within(place, id);
  const std::string cluster = path.substr(0, path.find('/'));
  const auto logger = std::make_shared<Logger>(LogLevel::error);
  const auto is_there = [&](const Json &storage) {
    const auto found = tensorboard::locations({storage}, cluster, id, logger);
    return std::find(found.begin(), found.end(), place) != found.end();
  };
  const auto usable = [&](const Json &masked) {
    Json config{{"checkpoint_storage", masked}};
    config::put_secrets(config, secrets);
    return config.at("checkpoint_storage");
  };
  Json found = usable(field(field(experiment, "config"), "checkpoint_storage"));
  if (is_there(found)) return found;
  found = nullptr;
  client.each_trial(id, [&](const Json &trial) {
    client.each_checkpoint(field(trial, "id").get<int64_t>(), [&](const Json &checkpoint) {
      const Json known = client.checkpoint(field(checkpoint, "uuid").get<std::string>());
      const Json storage = usable(field(known, "storage"));
      if (is_there(storage)) found = storage;
      return found.is_null();
    });
    return found.is_null();
  });
  if (found.is_null())
    throw Failure(ExitCode::unsupported, "opening '" + place + "' with the TensorBoard files of " +
                                             named(id) + ": no storage of " +
                                             "that address is known");
  return found;
}

namespace fs = std::filesystem;

TensorboardLogdir::TensorboardLogdir(Client &client, fs::path store_directory,
                                     const std::vector<int64_t> &experiments)
    : store_directory_(std::move(store_directory)) {
  for (const int64_t id : experiments) add_experiment(client, id);
}

TensorboardLogdir::~TensorboardLogdir() {
  std::error_code stays;
  if (!private_directory_.empty()) fs::remove_all(private_directory_, stays);
}

// Of the places where events may be, those where there are some.
void TensorboardLogdir::add_experiment(Client &client, int64_t id) {
  const Json experiment = client.experiment(id);
  std::vector<Place> possible;
  for (const Json &each : field(experiment, "tensorboard")) {
    const auto place = each.get<std::string>();
    if (is_address(place)) {
      const tensorboard::Mirror &mirror = copy(client, experiment, place);
      possible.push_back({id, mirror.path(), true, &mirror});
    } else {
      std::error_code unknown;
      possible.push_back({id, place, fs::exists(place, unknown)});
    }
  }
  if (possible.empty())
    throw Failure(ExitCode::state,
                  named(id) + " has no storage on this machine for TensorBoard files");
  const Place first = possible.front();
  std::erase_if(possible, [](const Place &place) { return !place.there; });
  if (possible.empty()) possible.push_back(first);
  places_.insert(places_.end(), possible.begin(), possible.end());
}

const tensorboard::Mirror &TensorboardLogdir::copy(Client &client, const Json &experiment,
                                                   const std::string &place) {
  const Json secrets =
      store_directory_.empty()
          ? Json::object()
          : engine::kept_secrets(store_directory_, field(experiment, "id").get<int64_t>());
  const Json config = storage_at(client, experiment, secrets, place);
  const auto logger = std::make_shared<Logger>();
  std::shared_ptr<storage::Storage> bucket = storage::make_recorded_storage(config, logger);
  if (private_directory_.empty()) private_directory_ = make_private_directory();
  return copies_.emplace_back(std::move(bucket),
                              path_within(place, field(experiment, "id").get<int64_t>()),
                              private_directory_ / std::to_string(copies_.size()));
}

std::string TensorboardLogdir::option() const {
  if (places_.size() == 1) return "--logdir=" + places_.front().directory.string();
  std::string all;
  int64_t before = 0, number = 1;
  for (const Place &place : places_) {
    number = place.experiment == before ? number + 1 : 1;
    before = place.experiment;
    const std::string one = "experiment-" + std::to_string(place.experiment) +
                            (number > 1 ? "-" + std::to_string(number) : "") + ":" +
                            place.directory.string();
    if (one.find(',') != one.npos)
      throw Failure(ExitCode::unsupported, "TensorBoard cannot open '" + one +
                                               "' beside others: the name has a comma; open it "
                                               "alone");
    all += (all.empty() ? "" : ",") + one;
  }
  return "--logdir_spec=" + all;
}

void TensorboardLogdir::refresh(storage::Progress *progress) {
  for (tensorboard::Mirror &copy : copies_) copy.refresh(progress);
}

void TensorboardLogdir::tell_empty() const {
  std::map<int64_t, bool> has_events;
  for (const Place &place : places_)
    has_events[place.experiment] |= place.copy != nullptr ? !place.copy->empty() : place.there;
  for (const auto &[experiment, there] : has_events)
    if (!there)
      std::fprintf(stderr, "det: %s has no events yet; TensorBoard waits for them\n",
                   named(experiment).c_str());
}

using Clock = std::chrono::steady_clock;
constexpr int64_t longest_wait = 3'600'000;  // milliseconds that poll(2) surely takes

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

// Before TensorBoard starts, so that what is there is shown at once. A signal ends the command.
void fetch_copies(const ChildProgram &board, TensorboardLogdir &logdir) {
  ProgressBar bar("fetching");
  storage::Progress progress([&](const storage::ProgressCount &count) {
    if (is_readable(board.signals())) throw Ended{static_cast<ExitCode>(128 + SIGINT)};
    const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
    const det_progress told{sizeof told, number(count.bytes), number(count.total_bytes),
                            number(count.files), number(count.total_files)};
    ProgressBar::tell(&told, &bar);
  });
  logdir.refresh(&progress);
}

// Copies new files until TensorBoard has ended, and passes signals on. Reports a failure and
// continues.
void follow_copies(const ChildProgram &board, TensorboardLogdir &logdir,
                   std::chrono::milliseconds interval) {
  struct BoardEnded {};
  bool has_failed = false;
  std::array<pollfd, 2> waiting = {{{board.ended(), POLLIN, 0}, {board.signals(), POLLIN, 0}}};
  const auto pass_on = [&] { board.pass_on_signals([](int) { return false; }); };
  for (auto due = Clock::now() + interval; !is_readable(board.ended());) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    poll(waiting.data(), waiting.size(),
         static_cast<int>(std::clamp<int64_t>(left.count(), 0, longest_wait)));
    pass_on();
    if (Clock::now() < due) continue;
    try {
      storage::Progress progress([&](const storage::ProgressCount &) {
        pass_on();
        if (is_readable(board.ended())) throw BoardEnded();
      });
      logdir.refresh(&progress);
      has_failed = false;
    } catch (const BoardEnded &) {
      return;
    } catch (const std::exception &failure) {
      if (!std::exchange(has_failed, true))
        std::fprintf(stderr, "det: fetching events: %s; det tries again\n",
                     printable(failure.what()).c_str());
    }
    due = Clock::now() + interval;
  }
}

constexpr const char *tensorboard_footer =
    R"(Starts your own TensorBoard on the events of the trials: curves, histograms,
texts, images, and the search under HPARAMS. It shows new events while it runs,
and serves this machine only. Arguments after '--' go to TensorBoard. Press
Ctrl-C to end it. Events in a bucket are copied to this machine, with the
credentials of the checkpoint storage.

Examples:
  det tensorboard 3 4
  det tensorboard 3 -- --port 7007 --bind_all)";

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
    throw Failure(
        ExitCode::not_found,
        "TensorBoard is not installed: run 'pip install tensorboard', or put the folder of "
        "yours on PATH");
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
    throw Failure(ExitCode::usage, "no experiment is given; 'det experiments' lists them");
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
  CLI::App *command = app.add_subcommand("tensorboard", "Start TensorBoard on experiments.");
  command->footer(tensorboard_footer);
  command->add_option("EXPERIMENT", options->words, "The experiments.")->type_name("")->required();
  command->add_option("ARGUMENT", options->rest, "The arguments for TensorBoard.")
      ->type_name("")
      ->option_text("-- ARGUMENT...");
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
