// `det`: shows and steers what trains. What it shows comes through det/client.h.
#include <det/base.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/launcher/cluster_task.h"
#include "wrappers/cli/arguments.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *description =
    "det shows and steers training: experiments, their trials, metrics, checkpoints and logs.";

constexpr const char *main_footer = R"(First steps:
  det run FILE               a search over many trials on this machine
  det trial -- ./train.sh    a shell script as a trial
  det ls                     the trials there are
  det show 1                 trial 1: state, hyperparameters, runs, how to resume it
  det plot 1 loss            the loss of trial 1, drawn in this terminal
  det trials 3               the trials of experiment 3, the best first
  det best 3                 its best trial, and where the checkpoint is
  det logs 1 -f              its log, and what is added to it
  det config check FILE      what is wrong with an experiment's configuration
  det pause 1                ask it to save a checkpoint and leave; it can be resumed
  det help COMMAND           what a command takes, with examples; also det COMMAND --help

Trials appear by themselves: each program that calls det_core_init() is one.

Environment:
  DET_MASTER   the store (a directory or file: URL) or master (http(s) URL), if -m is not given
  DET_HOME     the directory of the store, if neither is given; else the user data directory
  DET_USER     who to be on a master, with DET_PASS; else who has logged in with 'det login'
  PAGER        what shows long output on a terminal; empty for nothing, else less
  NO_COLOR     no colours, if set to anything
  COLUMNS      the width of plots

Exit codes:
  0 done              3 no such id or store        6 reading or writing failed, damaged, disk full
  1 defect of det     4 busy or locked, try again  7 not supported by this release
  2 wrong arguments   5 the state does not allow   8 the master does not answer)";

// Says of an option what it takes, and leaves out what the descriptions and errors tell.
class HelpFormatter : public CLI::Formatter {
  std::string make_option_opts(const CLI::Option *option) const override {
    const bool named = option->get_type_size() != 0 && !option->get_type_name().empty();
    return named ? " " + option->get_type_name() : "";
  }
};

constexpr const char *help_footer = R"(Examples:
  det help                          the commands there are
  det help plot                     what one takes, with examples
  det help config check             the same of one within another)";

void add_help_command(CLI::App &app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App *command = app.add_subcommand("help", "Show what a command does and takes.");
  command->footer(help_footer);
  command->add_option("COMMAND", *words, "The command.")->type_name("");
  command->callback([words, &app] {
    CLI::App *wanted = &app;
    for (const std::string &word : *words) {
      CLI::App *inner = command_named(*wanted, word);
      if (!inner) throw unknown_command(*wanted, word);
      wanted = inner;
    }
    print(
        wanted->get_formatter()->make_help(wanted, full_name(*wanted), CLI::AppFormatMode::Normal));
  });
}

void add_version_command(CLI::App &app) {
  CLI::App *command = app.add_subcommand("version", "Print the version of the library in use.");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object.");
  command->callback([json] {
    const std::string version = det_version_string();
    print(*json ? json_line({{"version", version}}) : "det " + version + "\n");
  });
}

void add_commands(CLI::App &app, Session &session) {
  add_run_command(app, session);
  add_trial_command(app, session);
  add_script_commands(app);
  add_checkpoint_commands(app);
  add_ls_commands(app, session);
  add_checkpoint_file_commands(app, session);
  add_trials_command(app, session);
  add_best_command(app, session);
  add_hparams_command(app, session);
  add_show_command(app, session);
  add_metrics_command(app, session);
  add_compare_command(app, session);
  add_plot_command(app, session);
  add_export_command(app, session);
  add_trace_command(app, session);
  add_tensorboard_command(app, session);
  add_logs_command(app, session);
  add_wait_command(app, session);
  add_resume_command(app, session);
  add_control_commands(app, session);
  add_config_commands(app, session);
  add_note_commands(app, session);
  add_gc_command(app, session);
  add_account_commands(app, session);
  add_completion_commands(app, session);
  add_help_command(app);
  add_version_command(app);
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; })) {
    if (!command->get_group().empty()) command->group("Commands");
  }
}

// In the container of a cluster, in the place of Python.
void run_task(const std::vector<std::string> &arguments) {
  const auto logger =
      std::make_shared<Logger>(LogLevel::info, [](LogLevel, const std::string &line) {
        std::fprintf(stderr, "det: %s\n", printable(line).c_str());
      });
  try {
    throw Ended{static_cast<ExitCode>(launcher::run_cluster_task(arguments, logger))};
  } catch (const Error &error) {
    throw Failure(exit_code_of(static_cast<det_status>(error.code)), error.what());
  }
}

void run_main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (launcher::is_cluster_task(arguments)) return run_task(arguments);
  Session session;
  session.terminal = detect_terminal();
  CLI::App app(description, "det");
  app.footer(main_footer);
  app.fallthrough();
  app.require_subcommand(0, 1);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(28);
  formatter->label("SUBCOMMAND", "COMMAND");
  app.formatter(formatter);
  app.get_help_ptr()->description("Print this help and leave.");
  app.set_version_flag("--version", std::string("det ") + det_version_string(),
                       "Print the version and leave.");
  app.add_option("-m,--master", session.master,
                 "The store or master to ask; also after the command.")
      ->type_name("MASTER");
  app.add_flag("!--no-pager", session.pager, "Long output goes straight to the terminal.");
  add_commands(app, session);
  try {
    arguments = with_command_first(app, std::move(arguments));
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(std::move(arguments));
    if (app.get_subcommands().empty()) print(app.help());
  } catch (const CLI::CallForHelp &) {
    print(app.help());
  } catch (const CLI::CallForVersion &version) {
    print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError &error) {
    throw wrong_arguments(app, error);
  } catch (const Failure &) {
    refuse_unknown_words(app);  // what such an option takes is no id
    throw;
  }
  flush_output();
}

int fail(ExitCode code, const std::string &message) {
  std::fprintf(stderr, "det: %s\n", printable(message).c_str());
  return static_cast<int>(code);
}

}  // namespace

}  // namespace det::cli

int main(int argc, char **argv) {
  using namespace det::cli;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is told by the write
  std::setlocale(LC_CTYPE, "");   // UTF-8 or not; numbers keep their points
  try {
    run_main(argc, argv);
    return 0;
  } catch (const OutputClosed &) {
    return 0;
  } catch (const Ended &ended) {
    return static_cast<int>(ended.code);
  } catch (const Failure &failure) {
    return fail(failure.code, failure.what());
  } catch (const std::exception &error) {
    return fail(ExitCode::internal,
                std::string("this is a defect, please report it: ") + error.what());
  }
}
