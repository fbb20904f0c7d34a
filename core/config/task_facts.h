// What a cluster tells about a task, under the keys of its files, wherever it was found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace det::config {

// A key of a file, and the variable with the same value.
struct FactName {
  const char *key;
  const char *variable;
  bool is_json;    // in the variable; else a text
  bool is_needed;  // variables without it are incomplete
};

// The facts of one file, or those of the variables. Reading one throws Code::corrupt naming file
// and key, or Code::invalid naming the variable. Values are never quoted: some are tokens.
class TaskFacts {
 public:
  // None where there is no such file.
  static std::optional<TaskFacts> from_file(const std::filesystem::path &file);

  // The variables that are there. Adds those that are needed and not there to `missing`.
  template <class Names>
  static TaskFacts from_variables(const Names &names, std::vector<std::string> &missing) {
    TaskFacts facts;
    for (const FactName &name : names) facts.add_variable(name, missing);
    return facts;
  }

  // Null counts as absent.
  bool has(const std::string &key) const;

  std::string text(const std::string &key) const;
  std::string optional_text(const std::string &key) const;  // empty: none
  std::string name(const std::string &key) const;           // a text that must not be empty
  int64_t integer(const std::string &key, int64_t least) const;
  Json object(const std::string &key) const;
  std::vector<int64_t> integers(const std::string &key, int64_t least) const;
  std::vector<std::string> texts(const std::string &key) const;

  // Throws: the fact under `key` is not what it should be.
  [[noreturn]] void refuse(const std::string &key, const std::string &why) const;

 private:
  void add_variable(const FactName &name, std::vector<std::string> &missing);
  const Json &value(const std::string &key, bool (Json::*is_type)() const noexcept,
                    const char *type) const;

  std::string file_;  // empty: variables
  Json values_ = Json::object();
  std::vector<FactName> variables_;
};

}  // namespace det::config
