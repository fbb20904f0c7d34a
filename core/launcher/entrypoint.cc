#include "core/launcher/entrypoint.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/process/run_command.h"

namespace det::launcher {

namespace {

constexpr const char *python_module = "detcore.trial";
constexpr const char *stand_in = "detcore.compat";
constexpr std::string_view launchers = "determined.launch.";

bool is_letter(char c) {  // beyond ASCII Python is to tell
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// As "package.module".
bool is_dotted_name(const std::string &text) {
  bool begins = true;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (begins ? !is_letter(c) : !is_letter(c) && !is_digit && c != '.') return false;
    begins = c == '.';
  }
  return !begins;
}

bool is_trial_class(const std::string &text) {
  const size_t colon = text.find(':');
  return colon != std::string::npos && is_dotted_name(text.substr(0, colon)) &&
         is_dotted_name(text.substr(colon + 1));
}

// What no shell would find a command in, either.
bool is_almost_trial_class(const std::string &text) {
  const size_t colon = text.find(':');
  return colon != 0 && colon != std::string::npos && std::ranges::all_of(text, [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == ':' || c == '-';
         });
}

std::string python() {
  const std::string chosen = environment_variable("DETCORE_PYTHON");
  return chosen.empty() ? "python3" : chosen;
}

bool is_python(std::string_view program) {
  return program.substr(program.rfind('/') + 1).starts_with("python") &&
         program.find(' ') == program.npos;
}

// `python3 -m determined.launch.NAME ...`, a launcher, is one of the modules that the stand-in has.
std::string through_stand_in(std::string text) {
  const size_t option = text.find(" -m " + std::string(launchers));
  if (option != text.npos && is_python(text.substr(0, option)))
    text.insert(option, std::string(" -m ") + stand_in);
  return text;
}

std::vector<std::string> through_stand_in(std::vector<std::string> command) {
  if (command.size() > 2 && is_python(command[0]) && command[1] == "-m" &&
      command[2].starts_with(launchers))
    command.insert(command.begin() + 1, {"-m", stand_in});
  return command;
}

bool is_trial_in_python(const std::vector<std::string> &command) {
  return command.size() == 4 && command[1] == "-m" && command[2] == python_module;
}

bool may_run_python(const std::vector<std::string> &command) {
  constexpr std::string_view signs[] = {"python", ".py", ".sh", "torchrun", "deepspeed"};
  return std::ranges::any_of(command, [&](const std::string &word) {
    return std::ranges::any_of(signs,
                               [&](std::string_view sign) { return word.find(sign) != word.npos; });
  });
}

std::string quoted(const std::string &text) {
  std::string result = "'";
  for (const char c : text) c == '\'' ? result += R"('\'')" : result += c;
  return result + "'";
}

// The Python of the command, as a shell takes it.
std::string python_of(const std::vector<std::string> &command) {
  const bool is_of_shell = command.size() == 3 && command[1] == "-c";
  if (!is_of_shell) return quoted(is_python(command[0]) ? command[0] : python());
  const std::string first = command[2].substr(0, command[2].find(' '));
  const bool is_word = std::ranges::all_of(first, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("./-~${}").find(c) != std::string_view::npos;
  });
  return is_word && is_python(first) ? first : quoted(python());
}

// Empty where that Python has no detcore.
std::string stand_in_folder(const TrialLaunch &launch) {
  const std::string program =
      "import importlib.util, os; found = importlib.util.find_spec(\"detcore\"); "
      "print(os.path.join(os.path.dirname(found.origin), \"compat\", \"path\"))";
  const std::string place =
      launch.directory.empty() ? "" : "cd " + quoted(launch.directory.string()) + " && ";
  std::vector<std::string> variables;
  for (const auto &[name, value] : launch.environment) variables.push_back(name + "=" + value);
  try {
    const CommandResult said = run_command(
        place + "exec " + python_of(launch.command) + " -c " + quoted(program) + " 2>/dev/null",
        variables, std::chrono::minutes(1));
    return said.status == 0 ? said.output.substr(0, said.output.find('\n')) : "";
  } catch (const Error &) {
    return "";  // the command itself will tell
  }
}

}  // namespace

void StandIn::add_to(TrialLaunch &launch) {
  if (!may_run_python(launch.command) || is_trial_in_python(launch.command)) return;
  if (!folder_) folder_ = stand_in_folder(launch);
  if (folder_->empty()) return;
  const auto configured = launch.environment.find("PYTHONPATH");
  const std::string others = configured != launch.environment.end()
                                 ? configured->second
                                 : environment_variable("PYTHONPATH");
  launch.environment["PYTHONPATH"] = others.empty() ? *folder_ : *folder_ + ":" + others;
}

std::vector<std::string> entrypoint_command(const Json &config) {
  const Json entrypoint = config.value("entrypoint", Json());
  if (entrypoint.is_array()) return through_stand_in(entrypoint.get<std::vector<std::string>>());
  if (!entrypoint.is_string()) return {};
  const std::string text = entrypoint.get<std::string>();
  if (is_trial_class(text)) return {python(), "-m", python_module, text};
  if (is_almost_trial_class(text))
    throw Error(Code::invalid, "reading the entrypoint '" + text +
                                   "': it is not of the form module:Class, as "
                                   "model_def:MnistTrial; name a trial so, or give a command");
  return {"/bin/sh", "-c", through_stand_in(text)};
}

void require_python_trial(const TrialLaunch &launch, std::chrono::milliseconds limit) {
  const std::vector<std::string> &command = launch.command;
  if (!is_trial_in_python(command)) return;
  std::vector<std::string> variables;
  for (const auto &[name, value] : launch.environment) variables.push_back(name + "=" + value);
  const std::string check = " -m " + std::string(python_module) + " --check ";
  CommandResult checked;
  try {
    checked = run_command("exec " + quoted(command[0]) + check + quoted(command[3]) + " 2>&1",
                          variables, limit);
  } catch (const Error &error) {
    if (error.code != Code::timeout) throw;
    throw Error(Code::timeout,
                "starting the trial " + command[3] + ": '" + command[0] + check + command[3] +
                    "', which looks whether there is such a class, did not end within " +
                    std::to_string(std::chrono::round<std::chrono::seconds>(limit).count()) +
                    " s; run it by hand with 'python3 -X importtime', which shows what takes long");
  }
  if (checked.status == 0) return;
  std::string said = checked.output;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  said.erase(0, said.rfind('\n') + 1);
  if (checked.status == 2) throw Error(Code::invalid, said);
  throw Error(Code::unsupported,
              "starting the trial " + command[3] + " by '" + command[0] + " -m " + python_module +
                  "': " + (said.empty() ? "it ends with " + std::to_string(checked.status) : said) +
                  "; install detcore for the Python that runs the trials (docs/python.md), or "
                  "name that Python by the variable DETCORE_PYTHON");
}

}  // namespace det::launcher
