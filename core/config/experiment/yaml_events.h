// The events of a YAML text, as libyaml reads it, and what is wrong with one that is none.
#pragma once

#include <yaml.h>

#include <string>

namespace det::config {

class YamlEvents {
 public:
  explicit YamlEvents(const std::string &text);
  YamlEvents(const YamlEvents &) = delete;
  YamlEvents &operator=(const YamlEvents &) = delete;
  ~YamlEvents();

  // Valid until the next call. Throws YamlError.
  const yaml_event_t &next();

 private:
  [[noreturn]] void refuse_text() const;
  [[noreturn]] void refuse_bytes() const;

  std::string text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

}  // namespace det::config
