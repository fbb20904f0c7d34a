// Compares a configuration with the schema, and tells everything that does not fit.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/config/experiment/schema.h"

namespace det::config {

// Where a value is. Lives on the stack, each step below the one before.
struct ConfigPath {
  const ConfigPath *parent = nullptr;  // null: the whole configuration
  std::string_view key;
  size_t index = 0;
  bool is_index = false;

  ConfigPath operator/(std::string_view name) const { return {this, name, 0, false}; }
  ConfigPath operator[](size_t position) const { return {this, {}, position, true}; }
  std::string text() const;  // ".searcher.metric", ".bind_mounts[1]"
};

class ConfigChecker {
 public:
  // `place` is what to show the line of: `at`, or something inside of it.
  using Report =
      std::function<void(const ConfigPath &at, const std::string &kind, const std::string &message,
                         const std::string &key, const ConfigPath &place)>;

  // `complete`: nothing more will be filled in, so what is needed must be there.
  ConfigChecker(bool complete, Report report) : complete_(complete), report_(std::move(report)) {}

  bool complete() const { return complete_; }
  void check(const ConfigSchema &schema, const Json &value, const ConfigPath &at);
  // `key` is the one that is unknown or missing, if any; where the problem is in another, `in` is.
  void report(const ConfigPath &at, const std::string &kind, const std::string &message,
              const std::string &key = {}, const std::string &in = {});

 private:
  void report_choice(const ConfigSchema &schema, const Json &value, const ConfigPath &at);
  void check_number(const ConfigSchema &schema, const Json &value, const ConfigPath &at);
  void check_object(const ConfigSchema &schema, const Json &value, const ConfigPath &at);
  void check_unselected(const ConfigSchema &schema, const Json &value, const ConfigPath &at);
  void report_unknown(const ConfigSchema &schema, const Json &value, const std::string &key,
                      const ConfigPath &at);
  void report_missing(const std::string &key, const ConfigPath &at);

  bool complete_;
  size_t reported_ = 0;
  Report report_;
};

// A value as messages show it: "the text 'x'", "3.5", "a list".
std::string found_value(const Json &value);

// Whether it is a number without a fraction.
bool is_whole(const Json &value);

}  // namespace det::config
