// det ls, det experiments, det checkpoints.
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/list.h"
#include "wrappers/cli/commands/trial_state.h"
#include "wrappers/cli/interrupts.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

constexpr int between_draws_ms = 2000;

// The other screen of a terminal: what stood on it before is there again afterwards.
class OtherScreen {
 public:
  explicit OtherScreen(const Terminal &terminal) : wanted_(terminal.cursor) {
    if (wanted_) print("\x1b[?1049h\x1b[?25l");
  }
  OtherScreen(const OtherScreen &) = delete;
  OtherScreen &operator=(const OtherScreen &) = delete;
  ~OtherScreen() {
    if (!wanted_) return;
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }

 private:
  const bool wanted_;
};

// From its first line on, without wrapping, over what stands there.
std::string on_screen(std::string_view text, const Terminal &terminal) {
  std::string out = "\x1b[?7l\x1b[H";
  for (int line = 0; line < terminal.height && !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.append(line == 0 ? "" : "\n").append(text.substr(0, end)).append("\x1b[K");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\x1b[J\x1b[?7h";
}

// What `draw` prints, every other second: on a terminal in the place of what it printed before, as
// much as fits; elsewhere below it, with an empty line between.
void watch(Terminal terminal, const std::function<void(const Terminal &)> &draw) {
  const Interrupts interrupts;
  const Resizes resizes;
  std::string text;
  {
    const OtherScreen screen(terminal);
    std::array<pollfd, 2> waiting = {{{interrupts.fd(), POLLIN, 0}, {resizes.fd(), POLLIN, 0}}};
    while (interrupts.take() == 0) {
      measure(terminal);
      if (!text.empty() && !terminal.cursor) print("\n");
      text = captured([&] { draw(terminal); });
      print(terminal.cursor ? on_screen(text, terminal) : text);
      flush_output();
      poll(waiting.data(), waiting.size(), between_draws_ms);
      resizes.take();
    }
  }
  if (terminal.cursor) print(text);
}

constexpr const char *ls_footer =
    R"(KEY is id, experiment, name, state, progress, steps, metric, runs or start.

Examples:
  det ls 3 --sort metric -n 10
  det ls --json | jq -r .name)";

constexpr const char *experiments_footer =
    R"(KEY is id, name, state, progress, trials, metric or start.

Example:
  det experiments --state active --tag paper)";

constexpr const char *checkpoints_footer =
    R"(KEY is uuid, trial, steps, state, size or time.

Examples:
  det checkpoints 1
  det checkpoints get 8f14e45f model)";

constexpr const char *how_to_start =
    "Nothing here yet. A program that calls det_core_init(), or core.init() in Python, appears "
    "here as a trial. 'det run FILE' makes an experiment.\n";

// "7/16", or "16" where it is not known how many are done.
std::string done_of(const Json &experiment) {
  const Json &done = field(experiment, "trials_done");
  const std::string all = text_of(field(experiment, "trials"));
  return done.is_null() ? all : text_of(done) + "/" + all;
}

std::string took_of(const Json &entry) {
  return duration_of(field(entry, "start_time"), field(entry, "end_time"));
}

const ListKind experiment_list = {
    {{"EXP", "id", text_of, Align::right},
     {"NAME", "name", text_of, Align::left},
     {"STATE", nullptr, state_text, Align::left},
     {"PROGRESS", "progress", percent_of, Align::right},
     {"DONE", nullptr, done_of, Align::right},
     {"BEST", "best_metric", number_of, Align::right},
     {"METRIC", "searcher_metric", text_of, Align::left},
     {"SEARCHER", "searcher", text_of, Align::left},
     {"AGE", "start_time", age_of, Align::right},
     {"TOOK", nullptr, took_of, Align::right}},
    {"id", "name", "state", "progress", "trials", "trials_done", "best_metric", "searcher",
     "searcher_metric", "start_time", "end_time"},
    {{"id", "id"},
     {"name", "name"},
     {"state", "state"},
     {"progress", "progress"},
     {"trials", "trials"},
     {"metric", "best_metric"},
     {"start", "start_time"}},
    how_to_start};

const ListKind trial_list = {
    {{"TRIAL", "id", text_of, Align::right},
     {"EXP", "experiment_id", text_of, Align::right},
     {"NAME", "name", text_of, Align::left},
     {"STATE", nullptr, state_text, Align::left},
     {"PROGRESS", "progress", percent_of, Align::right},
     {"STEPS", "steps_completed", text_of, Align::right},
     {"BEST", "best_metric", number_of, Align::right},
     {"RUNS", "runs", text_of, Align::right},
     {"AGE", "start_time", age_of, Align::right}},
    {"id", "experiment_id", "name", "external_id", "state", "progress", "steps_completed",
     "best_metric", "best_steps", "runs", "restarts", "start_time", "end_time"},
    {{"id", "id"},
     {"experiment", "experiment_id"},
     {"name", "name"},
     {"state", "state"},
     {"progress", "progress"},
     {"steps", "steps_completed"},
     {"metric", "best_metric"},
     {"runs", "runs"},
     {"start", "start_time"}},
    how_to_start};

std::string pinned_state(const Json &checkpoint) {
  return text_of(field(checkpoint, "state")) +
         (field(checkpoint, "pinned") == true ? ", pinned" : "");
}

const ListKind checkpoint_list = {
    {{"UUID", "uuid", text_of, Align::left},
     {"TRIAL", "trial_id", text_of, Align::right},
     {"STEPS", "steps_completed", text_of, Align::right},
     {"STATE", nullptr, pinned_state, Align::left},
     {"SIZE", "size", bytes_of, Align::right},
     {"AGE", "time", age_of, Align::right}},
    {"uuid", "trial_id", "trial_run_id", "steps_completed", "state", "size", "time"},
    {{"uuid", "uuid"},
     {"trial", "trial_id"},
     {"steps", "steps_completed"},
     {"state", "state"},
     {"size", "size"},
     {"time", "time"}},
    "No checkpoints yet.\n"};

struct LsOptions : ListOptions {
  int64_t id = 0;
  bool experiments = false;
  bool watch = false;
};

void list_experiments(const Session &session, const LsOptions &options) {
  if (options.id != 0) throw Failure(ExitCode::usage, "-e lists all experiments: leave out the ID");
  Client client = session.connect();
  print_list(session, experiment_list, options, [&](const Listing &listing, const Visit &visit) {
    client.each_experiment(visit, listing);
  });
}

// An experiment may have no trials yet; one that is not there is an error.
void require_experiment(Client &client, int64_t id) {
  bool any = false;
  client.each_trial(id, [&](const Json &) { return any = true; }, {Order::newest_first, 1});
  if (!any) client.experiment(id);
}

void list_trials(const Session &session, const LsOptions &options) {
  if (options.experiments) return list_experiments(session, options);
  Client client = session.connect();
  if (options.id != 0) require_experiment(client, options.id);
  print_list(session, trial_list, options, [&](const Listing &listing, const Visit &visit) {
    client.each_trial(options.id, visit, listing);
  });
}

void watch_list(const Session &session, const LsOptions &options) {
  watch(session.terminal, [&](const Terminal &terminal) {
    Session now = session;
    now.terminal = terminal;
    now.pager = false;
    LsOptions fitting = options;
    if (options.count == 0 && terminal.cursor) fitting.count = std::max(terminal.height - 1, 1);
    list_trials(now, fitting);
  });
}

void show_list(const Session &session, const LsOptions &options) {
  if (!options.watch) return list_trials(session, options);
  if (options.json || options.csv)
    throw Failure(ExitCode::usage,
                  "--watch draws a table again and again: leave out --json and --csv");
  watch_list(session, options);
}

void list_checkpoints(const Session &session, const LsOptions &options) {
  Client client = session.connect();
  if (options.id != 0) client.trial(options.id);  // an unknown one is an error
  print_list(session, checkpoint_list, options, [&](const Listing &listing, const Visit &visit) {
    client.each_checkpoint(options.id, visit, listing);
  });
}

}  // namespace

void add_ls_commands(CLI::App &app, Session &session) {
  const auto add = [&](const char *name, const char *description, const char *footer,
                       void (*list)(const Session &, const LsOptions &)) {
    const auto options = std::make_shared<LsOptions>();
    CLI::App *command = app.add_subcommand(name, description);
    command->footer(footer);
    command->callback([command, options, list, &session] {
      if (command->get_subcommands().empty()) list(session, *options);
    });
    return std::pair(command, options);
  };
  const auto [ls, of_ls] = add("ls", "List trials, newest first.", ls_footer, show_list);
  add_id(ls, "EXPERIMENT", of_ls->id, "List only the trials of this experiment.");
  ls->add_flag("-e,--experiments", of_ls->experiments, "List experiments instead.");
  ls->add_flag("-w,--watch", of_ls->watch, "Update the list until you press Ctrl-C.");
  add_list_options(ls, *of_ls);
  add_filter_options(ls, of_ls->filter);

  const auto [all, of_all] = add("experiments", "List experiments: progress, best metric, age.",
                                 experiments_footer, list_experiments);
  add_list_options(all, *of_all);
  add_filter_options(all, of_all->filter);

  const auto [saved, of_saved] = add("checkpoints", "List checkpoints, and handle their files.",
                                     checkpoints_footer, list_checkpoints);
  add_trial(saved, session, "TRIAL", of_saved->id, "List only the checkpoints of this trial.");
  add_list_options(saved, *of_saved);
}

}  // namespace det::cli
