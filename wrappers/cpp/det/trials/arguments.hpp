// What a program of a trial is told on its command line.
#pragma once

#include <det/config.hpp>
#include <det/core.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace det {
inline namespace v1 {
namespace trials {

struct Arguments {
  std::string config;  // a file; empty: as the program says
  std::string external_id;
  bool tests_one_batch = false;
};

// Of what is not said here the program may make what it likes. Throws std::invalid_argument for an
// option without its value.
[[nodiscard]] inline Arguments arguments_of(int argc, const char *const *argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const auto is = [&](const char *option) { return std::strcmp(argv[i], option) == 0; };
    if (is("--test")) arguments.tests_one_batch = true;
    if (!is("--config") && !is("--external-id")) continue;
    if (i + 1 == argc)
      throw std::invalid_argument(std::string("reading the command line: ") + argv[i] +
                                  " has a value after it, and there is none");
    (is("--config") ? arguments.config : arguments.external_id) = argv[i + 1];
    ++i;
  }
  return arguments;
}

// An experiment configuration, in YAML or JSON, with every default.
[[nodiscard]] inline Json read_config(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw std::runtime_error("reading the configuration '" + path + "': no such file");
  ConfigOptions options;
  options.file_name = path;
  options.unmanaged = true;  // may leave out the entrypoint
  return config_complete(text, options);
}

}  // namespace trials
}  // namespace v1
}  // namespace det
