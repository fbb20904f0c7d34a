// Files that trials add to checkpoints.
#pragma once

#include <det/nlohmann_json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace det {
inline namespace v1 {
namespace trials {

inline void write_text(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text << '\n';
  file.close();
  if (!file)
    throw std::runtime_error("writing '" + path.string() + "': the file system refused it");
}

[[nodiscard]] inline nlohmann::ordered_json read_json(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw std::runtime_error("reading '" + path.string() + "': there is no such file");
  try {
    return Json(text).as<nlohmann::ordered_json>();
  } catch (const nlohmann::json::exception &) {
    throw std::runtime_error("reading '" + path.string() + "': it is no JSON");
  }
}

}  // namespace trials
}  // namespace v1
}  // namespace det
