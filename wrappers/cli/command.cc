#include "command.h"

#include <charconv>
#include <optional>

namespace det::cli {

namespace {

std::optional<int64_t> whole_number(const std::string &text) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_one = error == std::errc() && stop == end && number > 0;
  return is_one ? std::optional(number) : std::nullopt;
}

}  // namespace

int64_t parse_id(const std::string &text, const std::string &what) {
  if (const auto id = whole_number(text)) return *id;
  throw Failure(
      ExitCode::usage,
      what + " '" + text + "' is no id: ids are whole numbers from 1; 'det ls' lists them");
}

int64_t parse_count(const std::string &text) {
  if (const auto count = whole_number(text)) return *count;
  throw Failure(ExitCode::usage, "'" + text + "' is no count: give a whole number from 1");
}

CLI::Option *add_id(CLI::App *command, const std::string &kind, int64_t &id,
                    const std::string &description) {
  return command
      ->add_option_function<std::string>(
          kind, [&id, kind](const std::string &text) { id = parse_id(text, kind); }, description)
      ->type_name("");
}

}  // namespace det::cli
