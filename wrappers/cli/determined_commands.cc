#include "wrappers/cli/determined_commands.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

using Words = std::vector<std::string_view>;

struct Noun {
  Words names;
  bool is_command;  // here, too: then only the verbs below are Determined's
};

const std::vector<Noun> nouns = {
    {{"experiment", "e"}, false}, {{"trial", "t"}, true}, {{"checkpoint", "c"}, true},
    {{"tensorboard"}, true},      {{"user", "u"}, false},
};

struct Command {
  std::string_view noun;
  Words verbs;
  std::string_view here;  // its last word may be a name for what the person gave
};

// As in docs/tutorials/from-determined.md.
const std::vector<Command> commands = {
    {"experiment", {"create"}, "det run FILE"},
    {"experiment", {"list", "ls"}, "det experiments"},
    {"experiment", {"describe"}, "det show -e ID"},
    {"experiment", {"list-trials", "lt"}, "det trials ID"},
    {"experiment", {"list-checkpoints", "lc"}, "det export --table checkpoints -e ID"},
    {"experiment", {"wait"}, "det wait -e ID"},
    {"experiment", {"pause"}, "det pause -e ID"},
    {"experiment", {"activate"}, "det run --resume ID"},
    {"experiment", {"cancel"}, "det cancel -e ID"},
    {"experiment", {"kill"}, "det kill -e ID"},
    {"experiment", {"archive"}, "det archive ID"},
    {"experiment", {"unarchive"}, "det unarchive ID"},
    {"experiment", {"delete"}, "det rm ID"},
    {"experiment", {"label add"}, "det tag ID TAG"},
    {"experiment", {"label remove"}, "det untag ID TAG"},
    {"experiment", {"set name"}, "det rename ID NAME"},
    {"experiment", {"set description"}, "det note ID TEXT"},
    {"experiment", {"logs"}, "det logs TRIAL"},
    {"trial", {"describe"}, "det show ID"},
    {"trial", {"logs"}, "det logs ID"},
    {"trial", {"kill"}, "det kill ID"},
    {"trial", {"download"}, "det best EXPERIMENT"},
    {"checkpoint", {"download"}, "det checkpoints get UUID"},
    {"checkpoint", {"describe"}, "det show UUID"},
    {"checkpoint", {"list", "ls"}, "det checkpoints"},
    {"checkpoint", {"rm", "delete"}, "det checkpoints rm UUID"},
    {"tensorboard", {"start"}, "det tensorboard EXPERIMENT"},
    {"tensorboard", {"list", "ls", "logs", "open", "kill", "config", "set"}, ""},
    {"user", {"login"}, "det login"},
    {"user", {"logout"}, "det logout"},
    {"user", {"whoami"}, "det whoami"},
};

// Each with what Determined shortens it to.
const Words missing = {"notebook",
                       "shell",
                       "command",
                       "cmd",
                       "agent",
                       "a",
                       "slot",
                       "s",
                       "template",
                       "tpl",
                       "model",
                       "m",
                       "project",
                       "p",
                       "job",
                       "j",
                       "task",
                       "master",
                       "workspace",
                       "resources",
                       "res",
                       "w",
                       "d",
                       "dev",
                       "rp",
                       "resource-pool",
                       "deploy",
                       "oauth",
                       "rbac",
                       "sso",
                       "preview-search"};

bool has(const Words &words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// `-m MASTER` and `-u USER` stand before the noun.
size_t first_word(const std::vector<std::string> &words) {
  size_t at = 0;
  while (at < words.size() && words[at].starts_with("-"))
    at += has({"-m", "--master", "-u", "--user"}, words[at]) ? 2 : 1;
  return at;
}

bool is_name_of_argument(std::string_view word) {
  return std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
}

// "det show -e ID" with the id that was given, if it is the one word after the verb.
std::string with_argument(std::string_view here, const std::vector<std::string> &words,
                          size_t after) {
  std::string text(here);
  const size_t last = text.rfind(' ') + 1;
  if (!is_name_of_argument(std::string_view(text).substr(last))) return text;
  const bool is_one = text.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == last;
  const bool is_trial = text.ends_with("TRIAL") || text.ends_with("EXPERIMENT");
  if (is_one && !is_trial && after < words.size() && !words[after].starts_with("-"))
    text.replace(last, std::string::npos, words[after]);
  return text;
}

[[noreturn]] void refuse(const std::string &given, const std::string &here) {
  std::string message = "'det " + given + "' is a command of Determined; " +
                        (here.empty() ? "detcore has none that does this" : "use '" + here + "'");
  if (given.starts_with("trial "))
    message += "; a program of this name runs with 'det trial -- " + given.substr(6) + "'";
  throw Failure(ExitCode::usage, message + "; 'det --help' lists the commands");
}

}  // namespace

void refuse_determined_command(const std::vector<std::string> &words) {
  const size_t at = first_word(words);
  if (at >= words.size()) return;
  const std::string &word = words[at];
  if (has(missing, word)) refuse(word, "");
  const auto noun =
      std::ranges::find_if(nouns, [&](const Noun &it) { return has(it.names, word); });
  if (noun == nouns.end()) return;
  const std::string verb = at + 1 < words.size() ? words[at + 1] : "";
  const std::string verbs = at + 2 < words.size() ? verb + " " + words[at + 2] : "";
  for (const Command &command : commands) {
    if (command.noun != noun->names[0]) continue;
    if (has(command.verbs, verbs)) refuse(word + " " + verbs, std::string(command.here));
    if (has(command.verbs, verb))
      refuse(word + " " + verb, with_argument(command.here, words, at + 2));
  }
  if (!noun->is_command || word != noun->names[0])
    refuse(word + (verb.empty() || verb.starts_with("-") ? "" : " " + verb), "");
}

}  // namespace det::cli
