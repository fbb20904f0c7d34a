// det trial: a shell script, or any other program, as a trial.
#include <poll.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "child_program.h"
#include "command.h"
#include "core/base/environment.h"
#include "core/config/experiment/yaml.h"
#include "trial_holder.h"
#include "trial_server.h"

namespace det::cli {

namespace {

constexpr const char *trial_footer =
    R"~(Runs the command as a trial, or as the next run of one. The command asks with 'det next' how far to
train, and tells with 'det report' and 'det checkpoint' what came of it:

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

The command finds hyperparameters in DET_HPARAM_name, and all of them as JSON in DET_HPARAMS. How it
leaves is how the trial ends, and how 'det trial' leaves.

Examples:
  det trial -- ./train.sh                        a trial of its own
  det trial --external-id night -- ./train.sh    goes on with the trial of that name
  det run experiment.yaml -- det trial -- ./train.sh
                                                 a search over many

Exit codes besides those of the command:
  126 it cannot be run    127 there is no such command)~";

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
  throw Failure(ExitCode::usage,
                "no signal '" + name + "' can be passed on: choose HUP, INT, TERM, USR1 or USR2");
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
  command->add_option("COMMAND", options->command, "What to run, behind '--'.")
      ->type_name("")
      ->required();
  command->add_option("--name", options->name, "What to call a new trial; else the command.")
      ->type_name("NAME");
  command
      ->add_option("--external-id", options->external_id,
                   "A name of your own: the next start with it goes on with the same trial.")
      ->type_name("NAME");
  command
      ->add_option("--config", options->config,
                   "The configuration of a new trial: its length, where checkpoints go.")
      ->type_name("FILE");
  command->add_option("--hparams", options->hparams, "Hyperparameters of a new trial.")
      ->type_name("JSON");
  command
      ->add_option_function<std::string>(
          "--preempt-on",
          [options](const std::string &name) { options->preempt_on = parse_signal(name); },
          "This signal asks the script to stop, as 'det pause' does; the others are passed on.")
      ->type_name("SIGNAL");
  command->add_flag("--no-capture", options->no_capture,
                    "Leave what the command prints out of 'det logs'.");
  command->callback([options, &session] { with_exit_code([&] { run_trial(session, *options); }); });
}

}  // namespace det::cli
