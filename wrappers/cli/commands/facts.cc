#include "wrappers/cli/commands/facts.h"

#include <algorithm>

#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

constexpr size_t label_width = 18;

}  // namespace

void print_fact(const std::string &label, const std::string &value) {
  if (value.empty() || value == "-") return;
  std::string line = label;
  line.resize(std::max(label_width, label.size() + 1), ' ');
  print(line + printable(value) + "\n");
}

void print_section(const std::string &title, const Facts &facts) {
  if (facts.empty()) return;
  size_t width = 0;
  for (const auto &[name, value] : facts) width = std::max(width, display_width(printable(name)));
  print("\n" + title + "\n");
  for (const auto &[name, value] : facts) {
    const std::string label = printable(name);
    const std::string padding(width - display_width(label) + 2, ' ');
    print("  " + label + padding + printable(value) + "\n");
  }
}

void print_section(const std::string &title, const Json &value) {
  Facts facts;
  for (const auto &[name, inner] : flattened(value)) facts.emplace_back(name, brief_of(inner));
  print_section(title, facts);
}

}  // namespace det::cli
