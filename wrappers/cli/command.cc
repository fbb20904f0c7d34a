#include "wrappers/cli/command.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "core/config/experiment/yaml.h"

namespace det::cli {

namespace {

std::optional<int64_t> whole_number(const std::string &text, int64_t least = 1) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_one = error == std::errc() && stop == end && number >= least;
  return is_one ? std::optional(number) : std::nullopt;
}

// One byte more than a configuration may have is enough to know.
constexpr size_t most_bytes = (1 << 20) + 1;

}  // namespace

int64_t parse_id(const std::string &text, const std::string &what) {
  if (const auto id = whole_number(text)) return *id;
  throw Failure(ExitCode::usage,
                what + " '" + text + "' is not an ID: IDs are whole numbers from 1; " +
                    (what == "EXPERIMENT" ? "'det experiments'" : "'det ls'") + " lists them");
}

std::string read_config_text(const std::string &file) {
  const auto fail = [&]() {
    throw Failure(errno == ENOENT ? ExitCode::not_found : ExitCode::io,
                  "reading '" + file + "': " + std::strerror(errno));
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> opened(nullptr, std::fclose);
  std::FILE *source = stdin;
  if (file != "-") {
    opened.reset(source = std::fopen(file.c_str(), "re"));
    if (!source) fail();
  }
  std::string text(most_bytes, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), source));
  if (std::ferror(source)) fail();
  // A C string would hide what stands behind its first zero.
  if (text.find('\0') != text.npos) {
    try {
      config::check_yaml_text(text);
    } catch (const config::YamlError &error) {
      throw Failure(ExitCode::usage, "reading '" + file + "': " + describe(error));
    }
  }
  return text;
}

int64_t parse_count(const std::string &text) {
  if (const auto count = whole_number(text)) return *count;
  throw Failure(ExitCode::usage, "'" + text + "' is not a count: give a whole number from 1");
}

int64_t parse_rank(const std::string &text) {
  if (const auto rank = whole_number(text, 0)) return *rank;
  throw Failure(ExitCode::usage, "'" + text + "' is not a rank: give a whole number from 0");
}

CLI::Option *add_steps(CLI::App *command, int64_t &steps) {
  const auto parse = [&steps](const std::string &text) {
    const auto number = whole_number(text, 0);
    if (!number)
      throw Failure(ExitCode::usage,
                    "'" + text + "' is not a number of steps: give a whole number from 0");
    steps = *number;
  };
  return command
      ->add_option_function<std::string>("-s,--step", parse, "The steps since the trial began.")
      ->type_name("STEPS")
      ->required();
}

CLI::Option *add_id(CLI::App *command, const std::string &kind, int64_t &id,
                    const std::string &description) {
  return command
      ->add_option_function<std::string>(
          kind, [&id, kind](const std::string &text) { id = parse_id(text, kind); }, description)
      ->type_name("");
}

void add_experiment_option(CLI::App *command, int64_t &experiment, const std::string &description) {
  command
      ->add_option_function<std::string>(
          "-e,--experiment",
          [&experiment](const std::string &text) { experiment = parse_id(text, "EXPERIMENT"); },
          description)
      ->type_name("EXPERIMENT");
}

}  // namespace det::cli
