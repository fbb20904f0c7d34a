// The main program of `det`, which shows and steers training.
#include <det/base.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
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
#include "wrappers/cli/determined_commands.h"
#include "wrappers/cli/help.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *description =
    "det shows and steers training: experiments, trials, metrics, checkpoints, logs.";

constexpr const char *version_footer = R"(Example:
  det version)";

void add_version_command(CLI::App &app) {
  CLI::App *command = app.add_subcommand("version", "Print the version of the library.");
  command->footer(version_footer);
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object.");
  command->callback([json] {
    const std::string version = det_version_string();
    print(*json ? json_line({{"version", version}}) : "det " + version + "\n");
  });
}

// In the order in which the help lists them; see group_commands().
void add_commands(CLI::App &app, Session &session) {
  add_run_command(app, session);
  add_trial_command(app, session);
  add_script_commands(app);
  add_ls_commands(app, session);
  add_trials_command(app, session);
  add_metrics_command(app, session);
  add_compare_command(app, session);
  add_hparams_command(app, session);
  add_export_command(app, session);
  add_trace_command(app, session);
  add_tensorboard_command(app, session);
  add_checkpoint_file_commands(app, session);
  add_checkpoint_commands(app);
  add_gc_command(app, session);
  add_show_command(app, session);
  add_plot_command(app, session);
  add_logs_command(app, session);
  add_wait_command(app, session);
  add_best_command(app, session);
  add_resume_command(app, session);
  add_control_commands(app, session);
  add_note_commands(app, session);
  add_account_commands(app, session);
  add_config_commands(app, session);
  add_docs_command(app, session);
  add_completion_commands(app, session);
  add_help_command(app);
  add_version_command(app);
  group_commands(app);
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
  refuse_determined_command(arguments);
  Session session;
  session.terminal = detect_terminal();
  CLI::App app(description, "det");
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_help_ptr()->description("Print this help.");
  app.set_version_flag("--version", std::string("det ") + det_version_string(),
                       "Print the version.");
  app.add_option("-m,--master", session.master, "The store (a directory) or the master (a URL).")
      ->type_name("MASTER");
  app.add_flag("!--no-pager", session.pager, "Do not use a pager for long output.");
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
