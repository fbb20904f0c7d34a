#include "core/config/task_facts.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/file.h"

namespace det::config {

namespace fs = std::filesystem;

std::optional<TaskFacts> TaskFacts::from_file(const fs::path &file) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const Error &error) {
    if (error.os_errno == ENOENT || error.os_errno == ENOTDIR) return std::nullopt;
    throw;
  }
  TaskFacts facts;
  facts.file_ = "'" + file.string() + "'";
  try {
    facts.values_ = parse_json_object(text, facts.file_);
  } catch (const Error &) {
    // Without the parser's words: they quote what they stumble over, which may be a token.
    throw Error(Code::corrupt, "reading " + facts.file_ + ": " +
                                   (text.empty() ? "it is empty" : "it is no whole JSON object") +
                                   "; a cluster writes this file before it starts the process");
  }
  return facts;
}

void TaskFacts::add_variable(const FactName &name, std::vector<std::string> &missing) {
  variables_.push_back(name);
  const char *text = std::getenv(name.variable);
  if (text == nullptr || (*text == '\0' && name.is_json)) {
    if (name.is_needed) missing.emplace_back(name.variable);
    return;
  }
  try {
    values_[name.key] = name.is_json ? parse_json(text, name.variable) : Json(text);
  } catch (const Error &) {
    refuse(name.key, "it is no JSON");
  }
}

bool TaskFacts::has(const std::string &key) const {
  const auto found = values_.find(key);
  return found != values_.end() && !found->is_null();
}

void TaskFacts::refuse(const std::string &key, const std::string &why) const {
  if (!file_.empty())
    throw Error(Code::corrupt, "reading '" + key + "' of " + file_ + ": " + why +
                                   "; a cluster writes this file before it starts the process");
  const auto name = std::find_if(variables_.begin(), variables_.end(),
                                 [&](const FactName &fact) { return fact.key == key; });
  throw Error(Code::invalid,
              std::string("reading the variable ") +
                  (name != variables_.end() ? name->variable : key) + ": " + why +
                  "; a cluster sets it, so leave it as it is, or unset DET_ALLOCATION_ID where no "
                  "cluster started this process");
}

const Json &TaskFacts::value(const std::string &key, bool (Json::*is_type)() const noexcept,
                             const char *type) const {
  if (!has(key)) refuse(key, "it is not there");
  const Json &found = values_[key];
  if (!(found.*is_type)())
    refuse(key, std::string("expected ") + type + ", got " + found.type_name());
  return found;
}

std::string TaskFacts::text(const std::string &key) const {
  return value(key, &Json::is_string, "a text").get<std::string>();
}

std::string TaskFacts::optional_text(const std::string &key) const {
  return has(key) ? text(key) : "";
}

std::string TaskFacts::name(const std::string &key) const {
  std::string name = text(key);
  if (name.empty()) refuse(key, "it is empty");
  return name;
}

int64_t TaskFacts::integer(const std::string &key, int64_t least) const {
  const Json &number = value(key, &Json::is_number_integer, "a whole number");
  if (number.get<int64_t>() < least)  // one that is too large wraps to below 0
    refuse(key, "expected a whole number from " + std::to_string(least));
  return number.get<int64_t>();
}

Json TaskFacts::object(const std::string &key) const {
  return value(key, &Json::is_object, "an object");
}

std::vector<int64_t> TaskFacts::integers(const std::string &key, int64_t least) const {
  std::vector<int64_t> integers;
  for (const Json &number : value(key, &Json::is_array, "a list of whole numbers")) {
    if (!number.is_number_integer() || number.get<int64_t>() < least)
      refuse(key, "expected a list of whole numbers from " + std::to_string(least));
    integers.push_back(number.get<int64_t>());
  }
  return integers;
}

std::vector<std::string> TaskFacts::texts(const std::string &key) const {
  std::vector<std::string> texts;
  for (const Json &text : value(key, &Json::is_array, "a list of texts")) {
    if (!text.is_string()) refuse(key, "expected a list of texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

}  // namespace det::config
