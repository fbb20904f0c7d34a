// YAML 1.1 text as a JSON value, which remembers the lines it came from.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::config {

// Where a value stands, and what is inside of it: in the order of the value's own elements.
struct YamlPlace {
  int line = 1;
  std::vector<YamlPlace> children;
};

// What is read otherwise than whoever wrote it may have thought.
struct YamlWarning {
  std::string path;  // of the object with the key, or of the value: ".hyperparameters"
  std::string kind;  // "boolean_key", "boolean_value", "repeated_key", "another_document"
  std::string key;   // as it is read
  int line = 0;
  std::string message;
};

struct YamlDocument {
  Json value;
  YamlPlace place;
  std::vector<YamlWarning> warnings;
};

class YamlError : public Error {
 public:
  YamlError(int line, int column, const std::string &message)
      : Error(Code::invalid, message), line(line), column(column) {}

  int line;
  int column;  // from 1; 0 where the line as a whole is meant
};

// "line 3, column 5: MESSAGE".
std::string describe(const YamlError &error);

// Configurations are a few kilobytes. The values take up to 250 times the size of a text.
constexpr size_t yaml_max_size = 1 << 20;
constexpr size_t yaml_max_depth = 100;
constexpr size_t yaml_max_warnings = 100;
// What aliases may expand a text to: keys and values, where 32 bytes of a text count as one more.
constexpr size_t yaml_max_values = 200000;

// Throws YamlError for bytes that are no text: too many, not in UTF-8, or with control characters.
void check_yaml_text(const std::string &text);

// The first document of `text`, as it comes out when each value is stored as JSON: keys are texts,
// merge keys (<<) are resolved, of equal keys the last wins, and numbers are doubles, whole ones
// written without a fraction. Throws YamlError.
YamlDocument read_yaml(const std::string &text);

}  // namespace det::config
