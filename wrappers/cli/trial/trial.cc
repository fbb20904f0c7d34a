// det trial: a shell script, or any other program, as a trial.
#include <det/core.h>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/thread.h"
#include "core/config/experiment/yaml.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/trial/child_program.h"
#include "wrappers/cli/trial/trial_socket.h"

namespace det::cli {

namespace {

// A trial held for a script: one run of it, from det_core_init() to det_core_close(), and what the
// script's commands ask of it.
class TrialHolder {
 public:
  // Starts the run. Throws Failure.
  explicit TrialHolder(const det_core_options &options);

  // What the script finds in its environment.
  std::map<std::string, std::string> variables() const;

  // Asks the script to stop, as a pause does.
  void preempt();

  // Does what a command of the script asks. `exit` of the answer is the command's exit code; any
  // thread.
  Json answer(const Json &request) noexcept;

  // What the script should leave with.
  int exit_status() const { return det_core_exit_status(core_.get()); }

  // Throws Failure where not everything was delivered, or told.
  void close(det_outcome how);

 private:
  Json report(const Json &request);
  Json next(const Json &request);
  Json complete(const Json &request);
  Json progress(const Json &request);
  Json save(const Json &request);
  Json restore(const Json &request);

  std::unique_ptr<det_core, void (*)(det_core *)> core_{nullptr, det_core_free};
  std::mutex searching_;                  // what follows
  det_searcher_op *operation_ = nullptr;  // that the script works at
  std::mutex saving_;                     // what follows
  std::string latest_checkpoint_;
};

// The system allows a variable 128 KiB.
constexpr size_t longest_variable = 100'000;

// A letter, digit or _ for each: "optimizer.lr" is optimizer_lr.
std::string identifier(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

Json failed(ExitCode code, const std::string &message) {
  return {{"exit", static_cast<int>(code)}, {"message", message}};
}

TrialHolder::TrialHolder(const det_core_options &options) {
  det_core *core = nullptr;
  call_library([&](det_error *error) { return det_core_init(&options, &core, error); });
  core_.reset(core);
  if (const char *id = det_info_latest_checkpoint(det_core_info(core))) latest_checkpoint_ = id;
}

std::map<std::string, std::string> TrialHolder::variables() const {
  const det_info *info = det_core_info(core_.get());
  std::map<std::string, std::string> variables = {
      {"DET_EXPERIMENT_ID", std::to_string(det_info_experiment_id(info))},
      {"DET_TRIAL_ID", std::to_string(det_info_trial_id(info))},
      {"DET_TRIAL_SEED", std::to_string(det_info_trial_seed(info))},
      {"DET_STEPS_COMPLETED", std::to_string(det_info_steps_completed(info))},
      {"DET_LATEST_CHECKPOINT", latest_checkpoint_},
      {"DET_HPARAMS", det_info_hparams_json(info)},
  };
  for (const auto &[name, value] :
       flattened(parse_json(variables["DET_HPARAMS"], "hyperparameters")))
    variables["DET_HPARAM_" + identifier(name)] = text_of(value);
  std::erase_if(variables, [](const auto &it) { return it.second.size() > longest_variable; });
  return variables;
}

void TrialHolder::preempt() { det_preempt_request(det_core_preempt(core_.get())); }

Json TrialHolder::answer(const Json &request) noexcept {
  using Action = Json (TrialHolder::*)(const Json &);
  static const std::map<std::string, Action> actions = {
      {"report", &TrialHolder::report},     {"next", &TrialHolder::next},
      {"complete", &TrialHolder::complete}, {"progress", &TrialHolder::progress},
      {"save", &TrialHolder::save},         {"restore", &TrialHolder::restore},
  };
  try {
    Json answer = (this->*actions.at(request.at("do").get<std::string>()))(request);
    answer["exit"] = static_cast<int>(ExitCode::ok);
    return answer;
  } catch (const Ended &ended) {
    return {{"exit", static_cast<int>(ended.code)}};
  } catch (const Failure &failure) {
    return failed(failure.code, failure.what());
  } catch (const std::exception &error) {
    return failed(ExitCode::usage, std::string("'det trial' does not understand its script; do "
                                               "both have the same release? ") +
                                       error.what());
  }
}

void TrialHolder::close(det_outcome how) {
  call_library([&](det_error *error) { return det_core_close(core_.get(), how, error); });
}

Json TrialHolder::report(const Json &request) {
  std::vector<det_metric> metrics;
  for (const auto &[name, value] : request.at("metrics").items())
    metrics.push_back({name.c_str(), value.get<double>()});
  call_library([&](det_error *error) {
    return det_train_report_metrics(
        det_core_train(core_.get()), request.at("group").get_ref<const std::string &>().c_str(),
        request.at("steps").get<int64_t>(), metrics.data(), metrics.size(), error);
  });
  return Json::object();
}

Json TrialHolder::next(const Json &) {
  const std::scoped_lock lock(searching_);
  if (!operation_) {
    const det_status status = call_library([&](det_error *error) {
      return det_searcher_next(det_core_searcher(core_.get()), &operation_, error);
    });
    if (status == DET_DONE) throw Ended{ExitCode::no_more_work};
  }
  const det_status status = call_library([&](det_error *error) {
    return det_preempt_should_preempt(det_core_preempt(core_.get()), error);
  });
  if (status == DET_PREEMPTED) throw Ended{ExitCode::asked_to_stop};
  return {{"length", det_searcher_op_length(operation_)}};
}

Json TrialHolder::complete(const Json &request) {
  const std::scoped_lock lock(searching_);
  if (!operation_)
    throw Failure(ExitCode::state, "there is nothing to complete; run 'det next' first");
  call_library([&](det_error *error) {
    return det_searcher_op_report_completed(operation_, request.at("metric").get<double>(), error);
  });
  operation_ = nullptr;
  return Json::object();
}

Json TrialHolder::progress(const Json &request) {
  const std::scoped_lock lock(searching_);
  if (!operation_)
    throw Failure(ExitCode::state,
                  "there is no length to report progress for; run 'det next' first");
  call_library([&](det_error *error) {
    return det_searcher_op_report_progress(operation_, request.at("length").get<double>(), error);
  });
  return Json::object();
}

Json TrialHolder::save(const Json &request) {
  char *id = nullptr;
  const std::scoped_lock lock(saving_);
  call_library([&](det_error *error) {
    return det_checkpoint_upload(det_core_checkpoint(core_.get()),
                                 request.at("directory").get_ref<const std::string &>().c_str(),
                                 request.at("metadata").dump().c_str(), nullptr, &id, error);
  });
  const std::unique_ptr<char, void (*)(void *)> owned(id, det_free);
  latest_checkpoint_ = id;
  return {{"uuid", id}};
}

Json TrialHolder::restore(const Json &request) {
  std::string id = request.at("uuid").get<std::string>();
  const std::scoped_lock lock(saving_);
  if (id.empty()) id = latest_checkpoint_;
  if (id.empty()) return {{"uuid", nullptr}, {"steps_completed", 0}};
  det_checkpoint_context *checkpoint = det_core_checkpoint(core_.get());
  const Json metadata = ask_library([&](char **out, det_error *error) {
    return det_checkpoint_get_metadata(checkpoint, id.c_str(), out, error);
  });
  call_library([&](det_error *error) {
    return det_checkpoint_download(checkpoint, id.c_str(),
                                   request.at("directory").get_ref<const std::string &>().c_str(),
                                   nullptr, error);
  });
  return {{"uuid", id}, {"steps_completed", field(metadata, "steps_completed")}};
}

// Hears the commands of a script, each on a thread of its own: saving a checkpoint takes its time.
class TrialServer {
 public:
  explicit TrialServer(TrialHolder &holder) : holder_(holder) {}
  ~TrialServer();  // once all that was asked has been answered

  const std::string &name() const { return listener_.name(); }
  int fd() const { return listener_.fd(); }  // to be polled

  // Takes on those who have connected.
  void serve();

 private:
  struct Conversation {
    explicit Conversation(Fd with) : connection(std::move(with)) {}

    Fd connection;
    std::atomic<bool> is_over{false};
    std::thread thread;
  };

  TrialHolder &holder_;
  TrialListener listener_;
  std::list<Conversation> conversations_;
};

void TrialServer::serve() {
  conversations_.remove_if([](Conversation &it) {
    if (it.is_over) it.thread.join();
    return it.is_over.load();
  });
  Fd connection = listener_.accept();
  if (!connection) return;
  Conversation &it = conversations_.emplace_back(std::move(connection));
  try {
    it.thread = start_thread("det-script", [this, &it] {
      if (const Json request = receive(it.connection); !request.is_null())
        send_last(it.connection, holder_.answer(request));
      shutdown(it.connection.get(), SHUT_RDWR);
      it.is_over = true;
    });
  } catch (...) {
    conversations_.pop_back();  // whoever asked is told that there is no answer
  }
}

TrialServer::~TrialServer() {
  for (Conversation &it : conversations_) {
    shutdown(it.connection.get(), SHUT_RD);  // who has not asked yet is too late
    it.thread.join();
  }
}

constexpr const char *trial_footer =
    R"~(Runs the command as a trial. The command asks 'det next' how far to train, and
hands results to 'det report' and 'det checkpoint':

  step=$(det checkpoint restore model)
  while length=$(det next); do
    if [ "$step" -lt "$length" ]; then
      loss=$(./train --lr "$DET_HPARAM_lr" model); step=$((step + 1))
      det report loss="$loss" --step "$step"
    else
      det next --completed "$(./validate model)"
    fi
  done
  det checkpoint save model --step "$step"

The command finds each hyperparameter in DET_HPARAM_name, and all of them as
JSON in DET_HPARAMS. The trial and 'det trial' end as the command ends.

Examples:
  det trial --external-id night -- ./train.sh
  det run experiment.yaml -- det trial -- ./train.sh

Exit codes:
  126  The command cannot be run.
  127  The command does not exist.)~";

struct TrialOptions {
  std::vector<std::string> command;
  std::string name;
  std::string external_id;
  std::string config;
  std::string hparams;
  bool no_capture = false;
  int preempt_on = 0;
};

int parse_signal(const std::string &name) {
  static const std::map<std::string, int> numbers = {
      {"HUP", SIGHUP}, {"INT", SIGINT}, {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
  const auto found = numbers.find(name);
  if (found != numbers.end()) return found->second;
  throw Failure(
      ExitCode::usage,
      "'" + name + "' is not a signal for --preempt-on: choose HUP, INT, TERM, USR1 or USR2");
}

std::string config_json(const std::string &file) {
  if (file.empty()) return {};
  const std::string text = read_config_text(file);
  try {
    return config::read_yaml(text).value.dump();
  } catch (const config::YamlError &error) {
    throw Failure(ExitCode::usage, "reading '" + file + "': " + describe(error));
  }
}

const char *given_or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

// `det run` collects the output of what it starts,
bool is_started_by_run() { return std::getenv("DET_TRIAL_RUN_ID") != nullptr; }

// and starts as many as a trial has slots: there is one script, which has them all.
bool is_superfluous() {
  const std::string rank = environment_variable("OMPI_COMM_WORLD_RANK");
  return is_started_by_run() && !rank.empty() && rank != "0";
}

void wait_for_end(ChildProgram &script, TrialServer &server, TrialHolder &holder, int preempt_on) {
  std::array<pollfd, 3> waiting = {
      {{script.ended(), POLLIN, 0}, {script.signals(), POLLIN, 0}, {server.fd(), POLLIN, 0}}};
  while (waiting[0].revents == 0) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    script.pass_on_signals([&](int signal) {
      if (signal == preempt_on) holder.preempt();
      return signal == preempt_on;
    });
    if (waiting[2].revents != 0) server.serve();
  }
}

void run_trial(const Session &session, const TrialOptions &options) {
  if (is_superfluous()) return;
  ChildProgram script(options.command);
  const std::string config = config_json(options.config);
  const std::string name = options.name.empty()
                               ? std::filesystem::path(options.command[0]).filename().string()
                               : options.name;
  // What is said here goes before what the environment says.
  if (!options.external_id.empty()) unsetenv("DET_EXTERNAL_ID");
  if (!config.empty()) unsetenv("DET_EXPERIMENT_CONFIG");
  if (!options.hparams.empty()) unsetenv("DET_HPARAMS");
  det_core_options core = DET_CORE_OPTIONS_INIT;
  core.master = given_or_null(session.master);
  core.name = name.c_str();
  core.external_id = given_or_null(options.external_id);
  core.config_json = given_or_null(config);
  core.hparams_json = given_or_null(options.hparams);
  core.capture_output = options.no_capture || is_started_by_run() ? 0 : 1;
  TrialHolder holder(core);
  {
    TrialServer server(holder);
    auto variables = holder.variables();
    variables[trial_socket_variable] = server.name();
    if (!session.master.empty()) variables["DET_MASTER"] = session.master;
    script.start(variables);
    wait_for_end(script, server, holder, options.preempt_on);
  }
  script.wait();
  // As it should leave where it was asked to stop.
  const bool succeeded = script.left_with(0) || script.left_with(holder.exit_status());
  try {
    holder.close(succeeded ? DET_OUTCOME_OK : DET_OUTCOME_ERROR);
  } catch (const Failure &failure) {
    if (succeeded) throw;
    std::fprintf(stderr, "det: %s\n", printable(failure.what()).c_str());
  }
  script.end_likewise();
}

}  // namespace

void add_trial_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<TrialOptions>();
  CLI::App *command = app.add_subcommand("trial", "Run a script as a trial.");
  command->footer(trial_footer);
  command->add_option("COMMAND", options->command, "The script or program to run.")
      ->type_name("")
      ->option_text("-- COMMAND...")
      ->required();
  command
      ->add_option("--name", options->name,
                   "The name of a new trial. By default it is the command.")
      ->type_name("NAME");
  command
      ->add_option("--external-id", options->external_id,
                   "Your name for the trial. The next start with this name resumes it.")
      ->type_name("NAME");
  command
      ->add_option("--config", options->config,
                   "The configuration of a new trial: its length and its storage.")
      ->type_name("FILE");
  command->add_option("--hparams", options->hparams, "The hyperparameters of a new trial.")
      ->type_name("JSON");
  command
      ->add_option_function<std::string>(
          "--preempt-on",
          [options](const std::string &name) { options->preempt_on = parse_signal(name); },
          "This signal preempts the trial, as 'det pause' does. Other signals go to the script.")
      ->type_name("SIGNAL");
  command->add_flag("--no-capture", options->no_capture,
                    "Keep the output of the command out of 'det logs'.");
  command->callback([options, &session] { with_exit_code([&] { run_trial(session, *options); }); });
}

}  // namespace det::cli
