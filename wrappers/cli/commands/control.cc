// det pause, activate, cancel, kill, sync.
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

struct Verb {
  const char *name;
  det_client_action action;
  const char *description;
  const char *footer;
};

constexpr Verb verbs[] = {
    {"pause", DET_CLIENT_ACTION_PAUSE, "Ask a trial to save a checkpoint and stop.",
     R"(A running trial sees the request in det_preempt_should_preempt(). It stops once
it has saved a checkpoint. 'det resume' continues from there.

Examples:
  det pause 1
  det pause -e 3)"},
    {"activate", DET_CLIENT_ACTION_ACTIVATE, "Mark a paused trial as active again.",
     R"(Starts no process. It prints the command that starts one.

Examples:
  det activate 1
  det activate -e 3)"},
    {"cancel", DET_CLIENT_ACTION_CANCEL, "Ask a trial to save a checkpoint and end for good.",
     R"(Works as 'det pause', but the trial cannot be resumed.

Examples:
  det cancel 1
  det cancel -e 3)"},
    {"kill", DET_CLIENT_ACTION_KILL, "End a trial at once.",
     R"(Kills the running processes. Earlier reports and checkpoints are kept.

Examples:
  det kill 1
  det kill -e 3)"},
};

constexpr const char *sync_footer =
    R"(A process that was killed leaves undelivered reports in its journal. The next
run of the trial delivers them. This command delivers them now. It leaves the
journals of running processes alone, and delivers each report once.

Example:
  det sync)";

std::string counted(const Json &count, const char *noun, const char *plural) {
  return text_of(count) + " " + (count == 1 ? noun : plural);
}

void control(const Session &session, const Verb &verb, bool experiment, const int64_t &id,
             bool json) {
  const det_client_target target =
      experiment ? DET_CLIENT_TARGET_EXPERIMENT : DET_CLIENT_TARGET_TRIAL;
  Client client = session.connect();  // settles the id
  const Json answer = client.control(target, id, verb.action);
  if (json) return print(json_line(answer));
  const std::string name = (experiment ? "Experiment " : "Trial ") + std::to_string(id);
  const Json &told = field(answer, "signalled");  // null: a master tells them itself
  print(
      name + " is " + printable(text_of(field(answer, "state"))) +
      (told == 0 || told.is_null()
           ? ""
           : "; " + counted(told, "running process was", "running processes were") + " signalled") +
      ".\n");
  const Json &resume = field(answer, "resume");
  if (!resume.is_null()) print("Start it again with: " + printable(text_of(resume)) + "\n");
  const Json &note = field(answer, "resume_note");
  if (!note.is_null()) print("It is " + printable(text_of(note)) + "\n");
}

void sync(const Session &session, bool json) {
  const Json answer = session.connect().sync();
  if (json) return print(json_line(answer));
  for (const Json &journal : field(answer, "journals")) {
    const Json &lost = field(journal, "lost_bytes");
    const Json &refused = field(journal, "refused");
    print("Trial " + text_of(field(journal, "trial_id")) + ", run " +
          text_of(field(journal, "trial_run_id")) + ": " +
          counted(field(journal, "reports"), "report", "reports") + " delivered" +
          (lost == 0 ? "" : ", " + bytes_of(lost) + " could not be read and were skipped") +
          (refused == 0 ? "" : ", " + text_of(refused) + " rejected by the master and kept") +
          ".\n");
  }
  const Json &busy = field(answer, "busy");
  if (field(answer, "journals").empty()) print("No reports are waiting.\n");
  if (busy != 0) {
    print(counted(busy, "running process delivers its own reports.\n",
                  "running processes deliver their own reports.\n"));
  }
}

}  // namespace

void add_control_commands(CLI::App &app, Session &session) {
  struct Options {
    int64_t id = 0;
    bool experiment = false;
    bool json = false;
  };
  for (const Verb &verb : verbs) {
    const auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand(verb.name, verb.description);
    command->footer(verb.footer);
    add_trial(command, session, "ID", options->id, "The trial. With -e it is an experiment.",
              &options->experiment)
        ->required();
    command->add_flag("-e,--experiment", options->experiment, "ID is an experiment.");
    command->add_flag("--json", options->json, "Print one JSON object.");
    command->callback([options, &verb, &session] {
      control(session, verb, options->experiment, options->id, options->json);
    });
  }
  const auto json = std::make_shared<bool>(false);
  CLI::App *command =
      app.add_subcommand("sync", "Deliver the reports of processes that were killed.");
  command->footer(sync_footer);
  command->add_flag("--json", *json, "Print one JSON object.");
  command->callback([json, &session] { sync(session, *json); });
}

}  // namespace det::cli
