// det archive, unarchive, rename, tag, untag, note, rm.
#include <algorithm>
#include <memory>
#include <sstream>

#include "wrappers/cli/command.h"
#include "wrappers/cli/text/ask.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *archive_footer =
    R"(Archived experiments appear only in 'det ls --archived', and cannot be started
again. You can archive experiments that have ended.

Example:
  det archive 3 4)";

constexpr const char *unarchive_footer = R"(Example:
  det unarchive 3)";

constexpr const char *rename_footer =
    R"(Example:
  det rename 3 'digits, dropout')";

constexpr const char *tag_footer =
    R"('det ls -e --tag paper' lists the experiments with a tag.

Example:
  det tag 3 paper baseline)";

constexpr const char *untag_footer = R"(Example:
  det untag 3 baseline)";

constexpr const char *note_footer =
    R"(Without TEXT it prints the note. An empty text deletes the note.

Example:
  det note 3 'lr too high')";

constexpr const char *rm_footer =
    R"(Deletes the experiments for good: trials, metrics, logs, and the files of
checkpoints. It asks first. If standard input is not a terminal, it needs -y.
You can delete experiments that have ended: 'det kill -e' ends the others.

Example:
  det rm 3 4)";

struct NoteOptions {
  int64_t experiment = 0;
  std::vector<int64_t> experiments;
  std::vector<std::string> texts;
  bool yes = false;
  bool json = false;
};

std::string experiment_text(int64_t id) { return "Experiment " + std::to_string(id); }

void set_archived(const Session &session, const NoteOptions &options, bool archived) {
  Client client = session.connect();
  for (const int64_t id : options.experiments) {
    const Json entry = client.update_experiment(id, {{"archived", archived}});
    print(options.json
              ? json_line(entry)
              : experiment_text(id) + (archived ? " is archived.\n" : " is listed again.\n"));
  }
}

void rename(const Session &session, const NoteOptions &options) {
  const Json entry =
      session.connect().update_experiment(options.experiment, {{"name", options.texts.at(0)}});
  print(options.json ? json_line(entry)
                     : experiment_text(options.experiment) + " is called '" +
                           printable(text_of(field(entry, "name"))) + "'.\n");
}

void change_tags(const Session &session, const NoteOptions &options, bool add) {
  Client client = session.connect();
  const Json before = client.update_experiment(options.experiment, Json::object());
  auto tags = field(before, "tags").get<std::vector<std::string>>();
  for (const std::string &tag : options.texts) {
    if (!add) std::erase(tags, tag);
    else if (std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(tag);
  }
  const Json entry = client.update_experiment(options.experiment, {{"tags", tags}});
  print(options.json
            ? json_line(entry)
            : experiment_text(options.experiment) +
                  (tags.empty() ? " has no tags" : " has the tags " + printable(joined(tags))) +
                  ".\n");
}

void note(const Session &session, const NoteOptions &options) {
  Json changes = Json::object();
  if (!options.texts.empty())
    changes["notes"] = options.texts[0] == "-" ? read_config_text("-") : options.texts[0];
  const Json entry = session.connect().update_experiment(options.experiment, changes);
  if (options.json) return print(json_line(entry));
  const std::string notes = text_of(field(entry, "notes"));
  if (!options.texts.empty()) return print("Noted.\n");
  if (notes.empty()) return print(experiment_text(options.experiment) + " has no note.\n");
  std::istringstream lines(notes);
  for (std::string line; std::getline(lines, line);)
    print((session.terminal.interactive ? printable(line) : line) + "\n");
}

bool is_to_be_deleted(Client &client, int64_t id) {
  const Json entry = client.update_experiment(id, Json::object());
  const Json &trials = field(entry, "trials");
  const std::string answer =
      ask("Delete experiment " + std::to_string(id) + ", '" +
              printable(text_of(field(entry, "name"))) + "', with " + text_of(trials) +
              (trials == 1 ? " trial" : " trials") + " and their data? [y/N] ",
          Echo::shown);
  return answer == "y" || answer == "Y" || answer == "yes";
}

void remove(const Session &session, const NoteOptions &options) {
  if (!options.yes && !can_ask())
    throw Failure(ExitCode::usage,
                  "deleting asks first, and standard input is not a terminal; give -y");
  Client client = session.connect();
  for (const int64_t id : options.experiments) {
    if (!options.yes && !is_to_be_deleted(client, id)) {
      print(experiment_text(id) + " is kept.\n");
      continue;
    }
    const Json answer = client.delete_experiment(id);
    const Json &count = field(answer, "checkpoints");
    if (options.json) print(json_line(answer));
    else if (count.is_null()) print(experiment_text(id) + " is being deleted.\n");
    else
      print(experiment_text(id) + " is deleted, with " + text_of(count) +
            (count == 1 ? " checkpoint, " : " checkpoints, ") + bytes_of(field(answer, "size")) +
            ".\n");
  }
}

using NoteAction = std::function<void(const Session &, const NoteOptions &)>;

CLI::App *add_note_command(CLI::App &app, Session &session, const std::string &name,
                           const std::string &description, const char *footer,
                           const std::shared_ptr<NoteOptions> &options, const NoteAction &action) {
  CLI::App *command = app.add_subcommand(name, description);
  command->footer(footer);
  command->add_flag("--json", options->json, "Print one JSON object for each experiment.");
  command->callback([options, action, &session] { action(session, *options); });
  return command;
}

// Of one experiment, with texts that have a name in the help.
void add_text_command(CLI::App &app, Session &session, const std::string &name,
                      const std::string &description, const char *footer, const char *text,
                      const char *text_description, int least, int most, const NoteAction &action) {
  const auto options = std::make_shared<NoteOptions>();
  CLI::App *command = add_note_command(app, session, name, description, footer, options, action);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  command->add_option(text, options->texts, text_description)->type_name("")->expected(least, most);
  if (least > 0) command->get_option(text)->required();
}

CLI::App *add_several_command(CLI::App &app, Session &session, const std::string &name,
                              const std::string &description, const char *footer,
                              const std::shared_ptr<NoteOptions> &options,
                              const NoteAction &action) {
  CLI::App *command = add_note_command(app, session, name, description, footer, options, action);
  command
      ->add_option_function<std::vector<std::string>>(
          "EXPERIMENT",
          [options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              options->experiments.push_back(parse_id(text, "EXPERIMENT"));
          },
          "The experiments.")
      ->type_name("")
      ->required();
  return command;
}

}  // namespace

void add_note_commands(CLI::App &app, Session &session) {
  constexpr int any_number = 1000;
  add_text_command(app, session, "rename", "Rename an experiment.", rename_footer, "NAME",
                   "The new name.", 1, 1, rename);
  for (const bool add : {true, false})
    add_text_command(app, session, add ? "tag" : "untag",
                     add ? "Add tags to an experiment." : "Remove tags from an experiment.",
                     add ? tag_footer : untag_footer, "TAG", "The tags.", 1, any_number,
                     [add](const Session &session, const NoteOptions &options) {
                       change_tags(session, options, add);
                     });
  add_text_command(app, session, "note", "Write or show the note of an experiment.", note_footer,
                   "TEXT", "The note; - reads standard input.", 0, 1, note);
  for (const bool archived : {true, false})
    add_several_command(
        app, session, archived ? "archive" : "unarchive",
        archived ? "Hide experiments from lists." : "List archived experiments again.",
        archived ? archive_footer : unarchive_footer, std::make_shared<NoteOptions>(),
        [archived](const Session &session, const NoteOptions &options) {
          set_archived(session, options, archived);
        });
  const auto options = std::make_shared<NoteOptions>();
  add_several_command(app, session, "rm", "Delete experiments with their trials and checkpoints.",
                      rm_footer, options, remove)
      ->add_flag("-y,--yes", options->yes, "Delete without asking.");
}

}  // namespace det::cli
