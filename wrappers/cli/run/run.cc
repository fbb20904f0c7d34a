// det run: an experiment on this machine, from its configuration to its best trial.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/config/experiment/experiment_config.h"
#include "core/config/master_location.h"
#include "core/engine/engine.h"
#include "core/engine/records/experiments.h"
#include "core/engine/records/resume.h"
#include "core/engine/records/trials.h"
#include "core/engine/runs/searcher_metric.h"
#include "core/engine/states.h"
#include "core/launcher/entrypoint.h"
#include "core/launcher/local/local_launcher.h"
#include "core/launcher/runnable.h"
#include "core/launcher/supervisor.h"
#include "core/search/search.h"
#include "core/storage/storage.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/interrupts.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/run/run_config.h"
#include "wrappers/cli/run/run_display.h"
#include "wrappers/cli/run/run_text.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

// Shows the state of an experiment that `det run` runs.
class RunView {
 public:
  RunView(launcher::Supervisor &supervisor, engine::Experiments &experiments,
          engine::Trials &trials);

  RunState now();

 private:
  using Clock = std::chrono::steady_clock;

  int64_t paused_trial();
  RunningTrial running(int64_t trial_id);
  LeftTrial left(int64_t trial_id);
  std::optional<double> metric_of(const engine::TrialSummary &trial) const;
  void count_trials();
  std::string hparams_of(int64_t trial_id);

  launcher::Supervisor &supervisor_;
  engine::Experiments &experiments_;
  engine::Trials &trials_;
  const std::string metric_name_;
  const Clock::time_point start_ = Clock::now();
  const double first_progress_;
  TrialCounts counts_;
  const int64_t planned_;
  const std::set<std::string> varied_;  // hyperparameters, by their dotted names
  std::map<int64_t, std::string> hparams_of_running_ = {};
  std::optional<BestTrial> best_;
  Clock::time_point next_count_{};
};

// Counting goes over all trials, and they may be many.
constexpr std::chrono::seconds between_counts{1};
// Before that, the time left is a guess of nothing.
constexpr double least_progress = 0.02;

std::string metric_name_of(const Json &config) {
  const auto metric = engine::searcher_metric(config);
  return metric ? metric->name : std::string();
}

double seconds_between(std::chrono::steady_clock::time_point start,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

int64_t planned_trials(const engine::ExperimentRecord &experiment) {
  const auto rules =
      experiment.launch.by_metrics ? search::SearchRules::metrics : search::SearchRules::operations;
  uint64_t trials = 0;
  for (const search::PlannedTrials &part : search::plan_search(experiment.config, rules))
    trials += part.trials;
  return static_cast<int64_t>(trials);
}

// A group has no type of its own.
void add_varied(const Json &space, const std::string &prefix, std::set<std::string> &names) {
  for (const auto &[name, value] : space.items()) {
    if (!value.is_object()) continue;
    const Json &type = field(value, "type");
    if (!type.is_string()) add_varied(value, prefix + name + ".", names);
    else if (type != "const") names.insert(prefix + name);
  }
}

std::set<std::string> varied_hparams(const Json &config) {
  std::set<std::string> names;
  if (const Json &space = field(config, "hyperparameters"); space.is_object())
    add_varied(space, "", names);
  return names;
}

RunView::RunView(launcher::Supervisor &supervisor, engine::Experiments &experiments,
                 engine::Trials &trials)
    : supervisor_(supervisor),
      experiments_(experiments),
      trials_(trials),
      metric_name_(metric_name_of(supervisor.experiment().config)),
      first_progress_(supervisor.progress()),
      planned_(planned_trials(supervisor.experiment())),
      varied_(varied_hparams(supervisor.experiment().config)) {}

RunState RunView::now() {
  const Clock::time_point now = Clock::now();
  if (now >= next_count_ || supervisor_.ended() || supervisor_.at_rest()) {
    count_trials();
    next_count_ = now + between_counts;
  }
  RunState state;
  state.experiment_id = supervisor_.experiment().id;
  state.name = supervisor_.experiment().name;
  state.state = supervisor_.experiment().state;
  state.metric_name = metric_name_;
  state.progress = supervisor_.progress();
  state.seconds = seconds_between(start_, now);
  state.waits_for = paused_trial();
  const double done = state.progress - first_progress_;
  if (done >= least_progress && state.waits_for == 0)
    state.seconds_left = state.seconds * (1 - state.progress) / done;
  for (const int64_t id : supervisor_.running()) state.running.push_back(running(id));
  for (const int64_t id : supervisor_.take_left()) state.left.push_back(left(id));
  state.counts = counts_;
  const auto running = static_cast<int64_t>(state.running.size());
  state.counts["running"] = running;
  state.counts["waiting"] = std::max<int64_t>(state.counts["ACTIVE"] - running, 0);
  state.counts.erase("ACTIVE");
  int64_t made = 0;
  for (const auto &[name, count] : counts_) {
    made += count;
    if (engine::is_terminal(name)) state.over += count;
  }
  if (planned_ != 0) state.planned = std::max(planned_, made);
  state.best = best_;
  return state;
}

// Others that are paused do not matter while something is under way.
int64_t RunView::paused_trial() {
  if (supervisor_.experiment().state != engine::state::active || supervisor_.waiting() > 0 ||
      !supervisor_.running().empty())
    return 0;
  return experiments_.first_paused_trial(supervisor_.experiment().id).value_or(0);
}

RunningTrial RunView::running(int64_t trial_id) {
  const engine::TrialSummary summary = trials_.summary(trial_id);
  RunningTrial trial;
  trial.id = trial_id;
  trial.status = summary.status;
  trial.progress = summary.progress;
  trial.steps = summary.steps;
  trial.metric = metric_of(summary);
  trial.hparams = hparams_of(trial_id);
  return trial;
}

std::string RunView::hparams_of(int64_t trial_id) {
  if (varied_.empty()) return {};
  const auto known = hparams_of_running_.find(trial_id);
  if (known != hparams_of_running_.end()) return known->second;
  std::string text;
  for (const auto &[name, value] : flattened(trials_.get(trial_id).at("hparams")))
    if (varied_.contains(name)) text += (text.empty() ? "" : " ") + name + "=" + number_of(value);
  return hparams_of_running_[trial_id] = text;
}

LeftTrial RunView::left(int64_t trial_id) {
  const engine::TrialSummary summary = trials_.summary(trial_id);
  hparams_of_running_.erase(trial_id);
  const Json trial = trials_.get(trial_id);
  std::string exit;  // of the last run that has ended: the next one may have begun
  for (const Json &run : trial.at("runs"))
    if (!run.at("exit").is_null()) exit = text_of(run.at("exit"));
  return {trial_id, summary.state, metric_of(summary), exit == "error" || exit == "died"};
}

std::optional<double> RunView::metric_of(const engine::TrialSummary &trial) const {
  if (trial.validation.is_null() || metric_name_.empty()) return std::nullopt;
  return engine::searcher_value(trial.validation, {metric_name_, true});
}

void RunView::count_trials() {
  counts_ = experiments_.count_trials(supervisor_.experiment().id);
  const auto best = experiments_.best_trial(supervisor_.experiment().id);
  best_ = best ? std::optional(BestTrial{best->trial_id, best->value}) : std::nullopt;
}

// The summary of an experiment that `det run` no longer runs. `resume` is the command that resumes
// it.
RunSummary summary_of(Client &client, const RunState &state, const std::string &resume) {
  RunSummary summary;
  summary.experiment_id = state.experiment_id;
  summary.name = state.name;
  summary.state = state.state;
  summary.metric_name = state.metric_name;
  summary.seconds = state.seconds;
  summary.counts = state.counts;
  summary.best = state.best;
  summary.resume = resume;
  const Json best = client.best_trial(state.experiment_id);
  if (const Json &trial = field(best, "trial"); !trial.is_null())
    summary.hparams = field(trial, "hparams");
  const Json &checkpoint = field(best, "checkpoint");
  if (checkpoint.is_null()) return summary;
  summary.checkpoint = text_of(field(checkpoint, "uuid"));
  summary.checkpoint_steps = field(checkpoint, "steps_completed").get<int64_t>();
  if (const Json &directory = field(checkpoint, "directory"); !directory.is_null())
    summary.checkpoint_path = text_of(directory);
  return summary;
}

namespace fs = std::filesystem;

constexpr const char *run_footer =
    R"(Reads the configuration of an experiment (YAML or JSON), makes its trials, and
runs each trial as a process on this machine. As many trials run at a time as
there are slots: GPUs if the machine has any, else processor cores.

The configuration names the command (entrypoint). A Python trial class is
written as model_def:MnistTrial. A command after '--' replaces it.

Ctrl-C pauses everything: each trial saves a checkpoint and stops. A second
Ctrl-C kills the trials. 'det run --resume ID' continues in both cases, and
after a crash of det or of the machine.

Examples:
  det run experiment.yaml --slots 4 -- ./train --fast
  det run --resume 3

Exit codes:
  9   The experiment ended in an error.
  10  The experiment was canceled.
  11  The experiment was paused. It can be resumed.)";

struct RunOptions {
  std::string file;
  std::vector<std::string> command;
  std::optional<int> slots;
  int64_t resume = 0;
  std::string rules = "0.33";
  bool profile = false;
};

// All problems of the file, each on a line of its own, then the failure.
void tell(const std::string &file, const std::vector<config::ConfigProblem> &problems) {
  for (const config::ConfigProblem &problem : problems)
    std::fprintf(stderr, "%s\n", printable(config::describe(file, problem)).c_str());
}

void require_usable_storage(const Json &config) {
  storage::require_usable(*storage::make_storage(config.at("checkpoint_storage"), std::nullopt,
                                                 std::make_shared<Logger>()));
}

int64_t make_experiment(const RunOptions &options, const fs::path &home,
                        const launcher::Launcher &launcher, engine::Experiments &experiments) {
  const config::ExperimentConfigSources sources =
      run_sources(options.file, options.rules, home, options.command.empty());
  const ReadConfig read = read_run_config(sources);
  tell(sources.file_name, read.warnings);
  tell(sources.file_name, read.problems);
  if (!read.problems.empty())
    throw Failure(ExitCode::usage, "nothing was started: " + std::to_string(read.problems.size()) +
                                       (read.problems.size() == 1 ? " problem" : " problems") +
                                       " in " + sources.file_name);
  Json config = read.config;
  if (options.profile) config["profiling"]["enabled"] = true;
  engine::LaunchPlan plan;
  plan.command = options.command.empty() ? launcher::entrypoint_command(config) : options.command;
  plan.directory = fs::current_path();
  plan.slots = options.slots;
  plan.by_metrics = options.rules == "0.38";
  if (plan.command.empty())
    throw Failure(ExitCode::usage,
                  "no command to run: give it after '--', or as 'entrypoint' in " + options.file);
  launcher::require_runnable(config, plan, launcher);
  require_usable_storage(config);
  return experiments.create(config, sources.text, plan);
}

// A display whose reader may go, or whose disk may be full: the experiment goes on.
class Display {
 public:
  explicit Display(const Terminal &terminal) : display_(terminal) {}
  void show(const RunState &state) {
    write([&] { display_.show(state); });
  }
  void say(const std::string &line) {
    write([&] { display_.say(line); });
  }
  void finish(const RunSummary &summary) {
    write([&] { display_.finish(summary); });
  }

 private:
  template <class Action>
  void write(Action &&action) {
    if (is_closed_) return;
    try {
      action();
    } catch (const OutputClosed &) {
      is_closed_ = true;
    } catch (const Failure &failure) {
      is_closed_ = true;
      std::fprintf(stderr, "det: %s; the experiment continues without a display\n", failure.what());
    }
  }

  RunDisplay display_;
  bool is_closed_ = false;
};

// Until the experiment has ended or rests. Gives how it then stands.
RunState supervise(launcher::Supervisor &supervisor, engine::Engine &engine, Display &display,
                   std::chrono::milliseconds interval) {
  const Interrupts interrupts;
  RunView view(supervisor, engine.experiments(), engine.trials());
  int times = 0;
  int64_t waits_for = 0;
  for (;;) {
    supervisor.step();
    const RunState state = view.now();
    display.show(state);
    if (state.waits_for != 0 && state.waits_for != waits_for)
      display.say("Nothing runs: trial " + std::to_string(state.waits_for) +
                  " is paused. 'det activate " + std::to_string(state.waits_for) +
                  "' continues it. Ctrl-C ends det run.");
    waits_for = state.waits_for;
    if (supervisor.ended() || supervisor.at_rest()) return state;
    supervisor.wait(interrupts.fd(), interval);
    for (int count = interrupts.take(); count > 0; --count) {
      if (++times == 1) {
        if (supervisor.experiment().state == engine::state::active)
          supervisor.change_state(engine::state::paused);
        display.say("Pausing: each trial saves a checkpoint and stops. Ctrl-C again kills them.");
      } else {
        supervisor.kill_processes();
      }
    }
  }
}

ExitCode exit_code_of_end(const std::string &state) {
  if (state == engine::state::completed) return ExitCode::ok;
  if (state == engine::state::error) return ExitCode::failed;
  return state == engine::state::canceled ? ExitCode::canceled : ExitCode::paused;
}

struct Finished {
  int64_t experiment_id = 0;
  RunState state;
};

std::string ended_text(const engine::ExperimentRecord &experiment) {
  const std::string id = std::to_string(experiment.id);
  return "experiment " + id + " is " + experiment.state +
         (experiment.state == engine::state::completed
              ? "; 'det best " + id + "' shows its result"
              : ", so it cannot be resumed; 'det trials " + id +
                    "' shows its trials, and 'det run FILE' starts a new experiment");
}

// Nothing of it holds the store open afterwards: where the library has an SQLite of its own, what
// one of the two closes would end the locks of the other.
Finished supervise_here(const Session &session, const RunOptions &options,
                        const config::MasterLocation &location, Display &display) {
  const fs::path home = fs::absolute(location.home);
  engine::Engine engine(location.store_directory(), options.resume == 0);
  std::optional<engine::ExperimentRecord> experiment;
  if (options.resume != 0) experiment = engine.experiments().read(options.resume);
  if (experiment && engine::is_terminal(experiment->state))
    throw Failure(ExitCode::state, ended_text(*experiment));
  if (experiment) require_usable_storage(experiment->config);
  launcher::LocalLauncher launcher(launcher::Slots::of_machine(
      options.slots || !experiment ? options.slots : experiment->launch.slots));
  const int64_t id =
      experiment ? experiment->id : make_experiment(options, home, launcher, engine.experiments());
  launcher::Supervisor::Options settings;
  settings.store_directory = location.store_directory();
  settings.experiment_id = id;
  settings.log = std::make_shared<Logger>(
      LogLevel::warning, [&display](LogLevel, const std::string &line) { display.say(line); });
  launcher::Supervisor supervisor(settings, launcher);
  if (supervisor.experiment().state == engine::state::paused)
    supervisor.change_state(engine::state::active);
  // A person looks at it, or a file does.
  const auto interval = std::chrono::milliseconds(session.terminal.interactive ? 250 : 1000);
  try {
    return {id, supervise(supervisor, engine, display, interval)};
  } catch (const Error &error) {
    throw Error(error.code, std::string(error.what()) + "; running trials continue, and '" +
                                engine::run_again_command(location.store_directory(), id) +
                                "' takes them over");
  }
}

void run_experiment_file(const Session &session, const RunOptions &options) {
  const config::MasterLocation location = config::locate_master(session.master);
  if (!location.embedded)
    throw Failure(ExitCode::unsupported,
                  "'det run' runs experiments on this machine, and " + location.url +
                      " is a master over HTTP; unset DET_MASTER, or give -m a directory");
  Display display(session.terminal);
  const auto [id, end] = supervise_here(session, options, location, display);
  Client client = session.connect();
  display.finish(summary_of(client, end,
                            engine::is_terminal(end.state)
                                ? ""
                                : engine::run_again_command(location.store_directory(), id)));
  const ExitCode code = exit_code_of_end(end.state);
  if (code != ExitCode::ok) throw Ended{code};
}

}  // namespace

void add_run_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run an experiment: a search over many trials.");
  command->footer(run_footer);
  command->add_option("FILE", options->file, "The configuration; - reads standard input.")
      ->type_name("");
  command->add_option("COMMAND", options->command, "The command that each trial runs.")
      ->type_name("")
      ->option_text("-- COMMAND...");
  command->add_option("--slots", options->slots, "Use this number of slots instead of all.")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 100'000).description(""));
  command->add_flag("--profile", options->profile,
                    "Measure the machine while trials run, as profiling.enabled does. 'det "
                    "metrics TRIAL -g cpu' shows the result.");
  command
      ->add_option_function<std::string>(
          "--resume",
          [options](const std::string &text) { options->resume = parse_id(text, "EXPERIMENT"); },
          "Continue this experiment.")
      ->type_name("EXPERIMENT");
  command
      ->add_option(
          "--rules", options->rules,
          "The release whose search rules apply. 0.33 hands out lengths. 0.38 stops trials "
          "by the metrics they report.")
      ->type_name("RULES")
      ->check(CLI::IsMember({"0.33", "0.38"}).description(""));
  command->callback([options, &session] {
    if (options->resume != 0 &&
        !(options->file.empty() && options->command.empty() && !options->profile))
      throw Failure(ExitCode::usage,
                    "--resume keeps the configuration and the command of the experiment: leave out "
                    "FILE, COMMAND and --profile");
    if (options->file.empty() && options->resume == 0)
      throw Failure(ExitCode::usage, "give a configuration FILE, or --resume EXPERIMENT");
    with_exit_code([&] { run_experiment_file(session, *options); });
  });
}

}  // namespace det::cli
