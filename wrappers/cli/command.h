// What the commands share: the session they run in, and how their arguments are declared.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

struct Session {
  std::string master;
  Terminal terminal;
  bool pager = true;  // for long output on a terminal

  // What the arguments leave to be asked: which trial an external id stands for.
  std::vector<std::function<void(Client &)>> unsettled = {};

  Client connect() const {
    Client client(master);
    for (const auto &settle : unsettled) settle(client);
    return client;
  }
};

// A whole number above 0. Throws Failure (usage) with `what` in its message.
int64_t parse_id(const std::string &text, const std::string &what);

// The configuration in `file`, or of standard input for -. Throws Failure for what is no text.
std::string read_config_text(const std::string &file);

// As parse_id(), for a number of things.
int64_t parse_count(const std::string &text);

// A rank: a whole number from 0.
int64_t parse_rank(const std::string &text);

// Declares -s, the steps of a trial.
CLI::Option *add_steps(CLI::App *command, int64_t &steps);

// Declares a positional id. `kind`, such as "TRIAL", names it in the help and to the completion.
CLI::Option *add_id(CLI::App *command, const std::string &kind, int64_t &id,
                    const std::string &description);

// Declares -e EXPERIMENT.
void add_experiment_option(CLI::App *command, int64_t &experiment, const std::string &description);

// Faults of the core end the command as those of the C API do.
template <class Action>
auto with_exit_code(Action &&action) {
  try {
    return action();
  } catch (const Error &error) {
    throw Failure(exit_code_of(static_cast<det_status>(error.code)), error.what());
  }
}

// One group of commands each, in the file of that name.
void add_run_command(CLI::App &app, Session &session);               // run
void add_trial_command(CLI::App &app, Session &session);             // trial
void add_script_commands(CLI::App &app);                             // next, report
void add_checkpoint_commands(CLI::App &app);                         // checkpoint save, restore
void add_ls_commands(CLI::App &app, Session &session);               // ls, experiments, checkpoints
void add_checkpoint_file_commands(CLI::App &app, Session &session);  // checkpoints get, put, ...
void add_trials_command(CLI::App &app, Session &session);            // trials
void add_best_command(CLI::App &app, Session &session);              // best
void add_hparams_command(CLI::App &app, Session &session);           // hparams
void add_note_commands(CLI::App &app, Session &session);    // archive, rename, tag, note, rm, ...
void add_gc_command(CLI::App &app, Session &session);       // gc
void add_show_command(CLI::App &app, Session &session);     // show
void add_metrics_command(CLI::App &app, Session &session);  // metrics
void add_compare_command(CLI::App &app, Session &session);  // compare
void add_plot_command(CLI::App &app, Session &session);     // plot
void add_export_command(CLI::App &app, Session &session);   // export
void add_tensorboard_command(CLI::App &app, Session &session);  // tensorboard
void add_trace_command(CLI::App &app, Session &session);        // trace
void add_wait_command(CLI::App &app, Session &session);         // wait
void add_resume_command(CLI::App &app, Session &session);       // resume
void add_logs_command(CLI::App &app, Session &session);         // logs
void add_control_commands(CLI::App &app, Session &session);  // pause, activate, cancel, kill, sync
void add_account_commands(CLI::App &app, Session &session);  // login, logout, whoami
void add_config_commands(CLI::App &app, Session &session);   // config check, config show
void add_docs_command(CLI::App &app, Session &session);      // docs
void add_completion_commands(CLI::App &app, Session &session);  // completion, __complete

}  // namespace det::cli
