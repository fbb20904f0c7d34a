#include "core/config/experiment/problems.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace det::config {

namespace {

// ".searcher" of ".searcher.metric".
std::string section_of(const std::string &path) {
  return path.substr(0, path.find_first_of(".[", 1));
}

// The number of the element that one step of a path leads to; the size where there is none.
size_t position_of(const Json &value, const ConfigPath &step) {
  if (value.is_array() && step.is_index) return step.index;
  if (!value.is_object() || step.is_index) return value.size();
  const auto found = value.find(std::string(step.key));
  return static_cast<size_t>(std::distance(value.begin(), found));
}

std::string summary(const std::string &file_name, const std::vector<ConfigProblem> &problems) {
  const size_t more = problems.size() - 1;
  std::string text = "reading a configuration: " + describe(file_name, problems.front());
  if (more > 0)
    text += "; and " + std::to_string(more) + " more problem" + (more > 1 ? "s" : "") +
            ", which 'det config check' lists";
  return text;
}

}  // namespace

std::string describe(const std::string &file_name, const ConfigProblem &problem) {
  std::string place;
  for (const int number : {problem.line, problem.column})
    if (number > 0) place += ":" + std::to_string(number);
  return file_name + place + ": <config>" + problem.path + ": " +
         (problem.is_warning ? "warning: " : "") + problem.message;
}

Json to_json(const ConfigProblem &problem) {
  return {{"path", "<config>" + problem.path},
          {"kind", problem.kind},
          {"key", problem.key.empty() ? Json() : Json(problem.key)},
          {"line", problem.line},
          {"column", problem.column > 0 ? Json(problem.column) : Json()},
          {"message", problem.message},
          {"severity", problem.is_warning ? "warning" : "error"}};
}

ConfigError::ConfigError(const std::string &file_name, std::vector<ConfigProblem> found)
    : Error(Code::invalid, summary(file_name, found)), problems(std::move(found)) {}

ConfigChecker::Report ConfigProblems::reporter(ConfigStage stage) {
  return [this, stage](const ConfigPath &at, const std::string &kind, const std::string &message,
                       const std::string &key, const ConfigPath &place) {
    const Line line = line_of(place);
    ConfigProblem problem{at.text(), kind, key, line.number, message, stage};
    if (stage != ConfigStage::parse && kind != "missing_required" && !line.is_exact &&
        at.parent != nullptr)
      problem.message += "; it comes from the template, or from a default";
    if (!is_known(problem)) problems_.push_back(std::move(problem));
  };
}

bool ConfigProblems::has_any(const std::string &section) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const ConfigProblem &problem) {
    return section_of(problem.path) == "." + section;
  });
}

bool ConfigProblems::is_known(const ConfigProblem &problem) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const ConfigProblem &earlier) {
    if (std::tie(earlier.path, earlier.kind, earlier.key, earlier.message) ==
        std::tie(problem.path, problem.kind, problem.key, problem.message))
      return true;
    return earlier.stage < problem.stage && problem.kind != "missing_required" &&
           !problem.path.empty() && section_of(earlier.path) == section_of(problem.path);
  });
}

// That of the last step which the file itself has: others come from other sources, or are missing.
ConfigProblems::Line ConfigProblems::line_of(const ConfigPath &at) const {
  std::vector<const ConfigPath *> steps;
  for (const ConfigPath *step = &at; step->parent != nullptr; step = step->parent)
    steps.push_back(step);
  std::reverse(steps.begin(), steps.end());
  const Json *value = &document_.value;
  const YamlPlace *place = &document_.place;
  for (const ConfigPath *step : steps) {
    const size_t position = position_of(*value, *step);
    if (position >= place->children.size()) return {place->line, false};
    value = &*std::next(value->begin(), static_cast<std::ptrdiff_t>(position));
    place = &place->children[position];
  }
  return {place->line, true};
}

void ConfigProblems::throw_if_any() const {
  if (problems_.empty()) return;
  std::vector<ConfigProblem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::tie(a.stage, a.line) < std::tie(b.stage, b.line);
  });
  throw ConfigError(file_name_, std::move(sorted));
}

}  // namespace det::config
