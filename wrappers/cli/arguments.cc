#include "wrappers/cli/arguments.h"

#include <algorithm>
#include <optional>

#include "core/config/experiment/suggestion.h"

namespace det::cli {

namespace {

bool is_option(const std::string &word) {
  return word.size() > 1 && word[0] == '-' && word != "--";
}

// How many words the option that begins `words` takes, itself included; none where it is unknown.
std::optional<size_t> option_length(const CLI::App &command, const std::string &word) {
  if (!is_option(word)) return std::nullopt;
  if (word[1] == '-') {
    const size_t equals = word.find('=');
    const CLI::Option *option = find_option(command, word.substr(0, equals));
    if (!option) return std::nullopt;
    return takes_value(option) && equals == word.npos ? 2 : 1;
  }
  for (size_t i = 1; i < word.size(); ++i) {
    const CLI::Option *option = find_option(command, std::string("-") + word[i]);
    if (!option) return std::nullopt;
    if (takes_value(option)) return i + 1 == word.size() ? 2 : 1;
  }
  return 1;
}

// Whether the first `count` words are options, with their values, of `command` or one within it.
bool are_options(const CLI::App &command, const std::vector<std::string> &words, size_t count) {
  for (const CLI::App *inner : command.get_subcommands([](const CLI::App *) { return true; }))
    if (are_options(*inner, words, count)) return true;
  size_t at = 0;
  while (at < count) {
    const auto length = option_length(command, words[at]);
    if (!length) return false;
    at += *length;
  }
  return at == count;
}

std::vector<std::string> command_names(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App *command) {
  std::vector<std::string> names;
  for (; command; command = command->get_parent())
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string did_you_mean(const std::string &word, const std::vector<std::string> &candidates) {
  const std::string nearest = config::suggestion(word, candidates);
  return nearest.empty() ? "; " : "; did you mean '" + nearest + "'? ";
}

std::string what_it_takes(const CLI::App &command) {
  return "'" + full_name(command) + " --help' shows what it takes";
}

const CLI::App &chosen_command(const CLI::App &app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

}  // namespace

std::string full_name(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

CLI::App *command_named(CLI::App &app, const std::string &name) {
  const auto found = app.get_subcommands([&](CLI::App *it) { return it->check_name(name); });
  return found.empty() ? nullptr : found[0];
}

const CLI::Option *find_option(const CLI::App &command, const std::string &name) {
  const CLI::Option *option = command.get_option_no_throw(name);
  return option || !command.get_parent() ? option : find_option(*command.get_parent(), name);
}

bool takes_value(const CLI::Option *option) { return option->get_items_expected_max() > 0; }

std::vector<std::string> with_command_first(CLI::App &app, std::vector<std::string> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    CLI::App *command = command_named(app, words[i]);
    if (!command || !are_options(*command, words, i)) continue;
    const std::string name = words[i];
    words.erase(words.begin() + static_cast<ptrdiff_t>(i));
    words = with_command_first(*command, std::move(words));
    words.insert(words.begin(), name);
    return words;
  }
  return words;
}

Failure unknown_command(const CLI::App &app, const std::string &name) {
  return {ExitCode::usage, "unknown command '" + name + "'" +
                               did_you_mean(name, command_names(app)) + "'" + full_name(app) +
                               " --help' lists them"};
}

void refuse_unknown_words(const CLI::App &app) {
  const CLI::App &command = chosen_command(app);
  std::vector<std::string> words = app.remaining(true);
  words.erase(std::find(words.begin(), words.end(), "--"), words.end());  // another program's
  for (const std::string &word : words)
    if (!is_option(word) && !command_names(command).empty()) throw unknown_command(command, word);
  for (const std::string &word : words)
    if (is_option(word))
      throw Failure(ExitCode::usage, "unknown option '" + word + "'" +
                                         did_you_mean(word, option_names(&command)) +
                                         what_it_takes(command));
}

Failure wrong_arguments(const CLI::App &app, const CLI::ParseError &error) {
  refuse_unknown_words(app);
  std::vector<std::string> words = app.remaining(true);
  std::erase(words, "--");
  const bool is_too_many =
      dynamic_cast<const CLI::ExtrasError *>(&error) != nullptr && !words.empty();
  return {ExitCode::usage, (is_too_many ? "unexpected argument '" + words[0] + "'" : error.what()) +
                               "; " + what_it_takes(chosen_command(app))};
}

}  // namespace det::cli
