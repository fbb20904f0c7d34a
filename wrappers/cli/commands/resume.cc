// det resume.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/file.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/trial_state.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *resume_footer =
    R"(Starts the command of the last run of the trial again, in the same directory.
The new run continues from the latest checkpoint. For ranks it starts their
launcher (mpirun, torchrun, deepspeed, horovodrun), if that ran on this
machine. For a trial of 'det run' it resumes the whole experiment.

Examples:
  det resume 1
  det resume -e 3)";

std::string own_path() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return path;
}

// `words` take the place of this process.
[[noreturn]] void become(const std::string &program, std::vector<std::string> words) {
  flush_output();
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execv(program.c_str(), arguments.data());
  throw Failure(ExitCode::io, "starting '" + program + "': " + std::strerror(errno));
}

[[noreturn]] void resume_experiment(const Session &session, const int64_t &id) {
  std::vector<std::string> words = {"det", "run", "--resume", std::to_string(id)};
  print("det run --resume " + std::to_string(id) + "\n");
  if (!session.master.empty()) words.insert(words.end(), {"-m", session.master});
  become(own_path(), words);
}

void require_resumable(const Json &trial, const std::string &name) {
  const Json &state = field(trial, "state");
  if (state == "COMPLETED" || state == "CANCELED")
    throw Failure(ExitCode::state,
                  name + " is " + text_of(state) + ": it has ended and cannot be resumed");
  if (has_process(trial) && field(trial, "runs").is_array())
    throw Failure(ExitCode::state,
                  name + " is running; 'det pause' asks it to save a checkpoint and stop");
  if (const Json &note = field(trial, "resume_note"); !note.is_null())
    throw Failure(ExitCode::state,
                  name + " cannot be started from here: it is " + printable(text_of(note)));
  if (field(trial, "resume").is_null())
    throw Failure(ExitCode::state, name + " cannot be started from here: its command is unknown");
}

void resume_trial(const Session &session, Client &client, const int64_t &id) {
  const Json trial = client.trial(id);
  require_resumable(trial, "trial " + std::to_string(id));
  if (field(trial, "supervised") == true)
    resume_experiment(session, field(trial, "experiment_id").get<int64_t>());
  const std::string command = text_of(field(trial, "resume"));
  print(printable(command) + "\n");
  // The command names its store where that is not the default one.
  for (const char *variable : {"DET_MASTER", "DET_HOME", "DET_EXTERNAL_ID"}) unsetenv(variable);
  become("/bin/sh", {"sh", "-c", command});
}

}  // namespace

void add_resume_command(CLI::App &app, Session &session) {
  struct Options {
    int64_t id = 0;
    bool experiment = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("resume", "Resume a trial that was paused or died.");
  command->footer(resume_footer);
  add_trial(command, session, "ID", options->id, "The trial. With -e it is an experiment.",
            &options->experiment)
      ->required();
  command->add_flag("-e,--experiment", options->experiment, "ID is an experiment.");
  command->callback([options, &session] {
    Client client = session.connect();  // settles the id
    if (options->experiment) resume_experiment(session, options->id);
    resume_trial(session, client, options->id);
  });
}

}  // namespace det::cli
