#include <array>
#include <string_view>

#include "core/tensorboard/files.h"

namespace det::tensorboard {

namespace {

// Where "#rank" goes: before the extension of a profiler's file. npos: not such a file.
size_t end_of_stem(std::string_view path) {
  for (const std::string_view extension : {".pt.trace.json", ".pt.trace.json.gz"}) {
    if (!path.ends_with(extension)) continue;
    // worker.1234.pt.trace.json: the last number counts the traces of a worker.
    const size_t end = path.size() - extension.size();
    const size_t digits = path.find_last_not_of("0123456789", end == 0 ? 0 : end - 1);
    const bool numbered = digits != path.npos && digits + 1 < end && path[digits] == '.';
    return numbered ? digits : end;
  }
  static constexpr std::array<std::string_view, 8> extensions{
      ".input_pipeline.pb", ".memory_profile.json.gz", ".tensorflow_stats.pb", ".xplane.pb",
      ".kernel_stats.pb",   ".overview_page.pb",       ".trace.json.gz",       ".trace.json"};
  for (const std::string_view extension : extensions)
    if (path.ends_with(extension)) return path.size() - extension.size();
  return path.npos;
}

}  // namespace

std::string rank_aware_name(const std::string &path, int rank) {
  const size_t at = end_of_stem(path);
  if (at == path.npos) return path;
  return path.substr(0, at) + "#" + std::to_string(rank) + path.substr(at);
}

}  // namespace det::tensorboard
