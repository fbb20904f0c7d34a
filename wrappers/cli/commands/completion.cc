// det completion, and det __complete, which the scripts of the shells ask what can follow.
#include <map>
#include <memory>
#include <set>

#include "completion_scripts.h"
#include "wrappers/cli/arguments.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/docs.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/metric_names.h"
#include "wrappers/cli/help.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *completion_footer =
    R"('meson install' puts the scripts where the shells look for them. By hand, write
the output to ~/.local/share/bash-completion/completions/det for bash, to _det
in a folder of $fpath for zsh, or to ~/.config/fish/completions/det.fish.

Example:
  det completion fish > ~/.config/fish/completions/det.fish)";

void offer(const std::string &typed, const std::string &candidate, const std::string &description) {
  if (candidate.compare(0, typed.size(), typed) != 0) return;
  print(printable(candidate) + "\t" + printable(description) + "\n");
}

// Where the cursor stands: what the words before it have settled.
struct Place {
  CLI::App *command = nullptr;        // `det` itself, or one of its commands
  const CLI::Option *open = nullptr;  // waits for its value
  size_t positionals = 0;             // of the command that are given
  std::string first;                  // of them
  bool experiment = false;
  std::string master;
};

// Of `det plot`, whose id is then that of an experiment.
bool is_of_search(const CLI::Option *option) {
  return option->check_name("--parallel") || option->check_name("--importance") ||
         option->check_name("--slices");
}

Place locate(CLI::App &app, std::vector<std::string> before) {
  before = with_command_first(app, std::move(before));
  Place place;
  place.command = &app;
  for (const std::string &word : before) {
    if (place.open) {
      if (place.open->check_name("--master")) place.master = word;
      place.open = nullptr;
    } else if (word.size() > 1 && word[0] == '-') {
      const CLI::Option *option = find_option(*place.command, word);
      if (option && takes_value(option)) place.open = option;
      if (option && (option->check_name("-e") || is_of_search(option))) place.experiment = true;
    } else if (CLI::App *command = command_named(*place.command, word)) {
      if (command->get_name() != "help") place.command = command;
    } else if (place.command != &app) {
      if (place.positionals++ == 0) place.first = word;
    }
  }
  return place;
}

void offer_options(const CLI::App &command, const std::string &typed) {
  for (const CLI::Option *option : command.get_options()) {
    if (!option->nonpositional()) continue;
    const auto &names = option->get_lnames();
    if (!names.empty()) offer(typed, "--" + names[0], option->get_description());
  }
}

// The newest ones, since a list of a million helps nobody.
void offer_entries(const std::string &typed, Client &client, const std::string &of) {
  const std::string kind = of == "CHECKPOINT" ? "UUID" : of;
  int left = 200;
  const auto visit = [&](const char *id, const char *description) {
    return [&left, &typed, id, description](const Json &entry) {
      offer(typed, text_of(field(entry, id)),
            text_of(field(entry, description)) + " " + text_of(field(entry, "state")));
      return --left > 0;
    };
  };
  if (kind == "EXPERIMENT") client.each_experiment(visit("id", "name"));
  if (kind == "TRIAL") client.each_trial(0, visit("id", "name"));
  left = 200;
  if (kind == "TRIAL" && !typed.empty()) client.each_trial(0, visit("external_id", "name"));
  if (kind == "UUID") client.each_checkpoint(0, visit("uuid", "steps_completed"));
}

void offer_metrics(const std::string &typed, Client &client, const std::string &kind,
                   const std::string &trial) {
  const Json known = client.trial(find_trial(client, trial));
  const MetricNames names = metric_names(field(known, "metric_names"));
  if (kind != "GROUP") {
    for (const std::string &name : names.of(std::nullopt)) offer(typed, name, "metric");
  } else {
    for (const auto &[group, metrics] : names.groups) offer(typed, group, joined(metrics));
  }
}

void offer_sort_keys(const std::string &typed, Client &client, const std::string &experiment) {
  for (const char *key : {"metric", "id", "state", "steps"}) offer(typed, key, "");
  if (experiment.empty()) return;
  client.each_trial(parse_id(experiment, "EXPERIMENT"), [&](const Json &trial) {
    for (const auto &[name, value] : flattened(field(trial, "hparams")))
      offer(typed, name, "hyperparameter");
    return false;  // one knows them
  });
}

void offer_values(const std::string &typed, const std::string &kind, const Place &place) {
  if (kind == "FILE" || kind == "MASTER" || kind == "DIRECTORY" || kind == "COMMAND" ||
      kind == "STORAGE" || kind == "TO")
    return print(":files\n");
  // A master does not tell strangers who its users are; the others are for whoever types to know.
  static const std::set<std::string> open_kinds = {
      "USER", "COUNT", "NAME", "JSON", "STEPS", "NUMBER",   "NAME=NUMBER", "GLOB",
      "TAG",  "TEXT",  "RUN",  "RANK", "TIME",  "DURATION", "SIZE"};
  if (open_kinds.contains(kind)) return;
  static const std::map<std::string, std::vector<std::string>> words = {
      {"LEVEL", {"debug", "info", "warning", "error"}},
      {"RULES", {"0.33", "0.38"}},
      {"TABLE", {"metrics", "trials", "checkpoints"}},
      {"FORMAT", {"csv", "jsonl"}},
      {"PICTURE", {"svg", "pdf", "png"}},
      {"PROTOCOL", {"auto", "kitty", "iterm", "sixel", "none"}},
      {"ALONG", {"steps", "epochs", "time", "relative"}},
      {"STATE", {"active", "paused", "completed", "canceled", "error"}},
      {"SHELL", {"bash", "zsh", "fish"}},
      {"SIGNAL", {"HUP", "INT", "TERM", "USR1", "USR2"}},
  };
  if (const auto found = words.find(kind); found != words.end()) {
    for (const std::string &word : found->second) offer(typed, word, "");
    return;
  }
  if (kind == "PAGE") {
    for (const std::string &page : documentation_pages()) offer(typed, page, "");
    return;
  }
  Client client(place.master);
  if (kind == "UUID" || kind == "CHECKPOINT") return offer_entries(typed, client, kind);
  if (kind == "KEY") return offer_sort_keys(typed, client, place.first);
  if (kind == "METRIC" || kind == "GROUP" || kind == "TRIAL|METRIC")
    offer_metrics(typed, client, kind, place.first);
  if (kind == "METRIC" || kind == "GROUP") return;
  static const std::set<std::string> entries = {"EXPERIMENT", "TRIAL", "ID", "ID|UUID",
                                                "TRIAL|METRIC"};
  if (!entries.contains(kind)) return;  // nobody knows what to offer
  const bool experiments = kind == "EXPERIMENT" || place.experiment;
  offer_entries(typed, client, experiments ? "EXPERIMENT" : "TRIAL");
  if (kind == "ID|UUID" && !experiments) offer_entries(typed, client, "UUID");
}

void complete(CLI::App &app, std::vector<std::string> words) {
  const std::string typed = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  const Place place = locate(app, words);

  if (place.open) return offer_values(typed, place.open->get_type_name(), place);
  if (!typed.empty() && typed[0] == '-') {
    offer_options(*place.command, typed);
    if (place.command != &app)
      offer(typed, "--master", app.get_option("--master")->get_description());
    return;
  }
  for (const CLI::App *command : place.command->get_subcommands([](CLI::App *) { return true; })) {
    if (!command->get_group().empty())
      offer(typed, command->get_name(), command->get_description());
  }
  if (words == std::vector<std::string>{"help"})
    for (const std::string &topic : help_topics()) offer(typed, topic, "topic");
  size_t skip = place.positionals;
  for (const CLI::Option *option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    const bool many = option->get_items_expected_max() > 1;
    if (skip == 0 || many) return offer_values(typed, option->get_name(true), place);
    --skip;
  }
}

}  // namespace

void add_completion_commands(CLI::App &app, Session &) {
  const auto shell = std::make_shared<std::string>();
  CLI::App *command = app.add_subcommand("completion", "Print the completion script for a shell.");
  command->footer(completion_footer);
  command->add_option("SHELL", *shell, "bash, zsh or fish.")
      ->type_name("")
      ->required()
      ->check([](const std::string &name) {
        return name == "bash" || name == "zsh" || name == "fish"
                   ? std::string()
                   : "'" + name + "' is not a shell with a script: choose bash, zsh or fish";
      });
  command->callback([shell] {
    print(*shell == "bash" ? bash_completion : *shell == "zsh" ? zsh_completion : fish_completion);
  });

  const auto words = std::make_shared<std::vector<std::string>>();
  command = app.add_subcommand("__complete", "What may follow these words.")->group("");
  command->add_option("words", *words)->type_name("");
  command->callback([words, &app] {
    try {
      complete(app, *words);
    } catch (const Failure &) {
      // No store, or no such trial: there is nothing to offer, and no place for a message.
    }
  });
}

}  // namespace det::cli
