#include "command.h"

#include <charconv>

namespace det::cli {

int64_t parse_id(const std::string &text, const std::string &what) {
  int64_t id = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, id);
  if (error == std::errc() && stop == end && id > 0) return id;
  throw Failure(
      ExitCode::usage,
      what + " '" + text + "' is no id: ids are whole numbers from 1; 'det ls' lists them");
}

CLI::Option *add_id(CLI::App *command, const std::string &kind, int64_t &id,
                    const std::string &description) {
  return command
      ->add_option_function<std::string>(
          kind, [&id, kind](const std::string &text) { id = parse_id(text, kind); }, description)
      ->type_name("");
}

}  // namespace det::cli
