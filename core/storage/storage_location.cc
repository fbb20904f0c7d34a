#include "core/storage/storage_location.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

std::string scheme_of(const std::string &uri) {
  const size_t colon = uri.find(':');
  if (colon == uri.npos || colon == 0 || !std::isalpha(static_cast<unsigned char>(uri[0])))
    return {};
  std::string scheme = uri.substr(0, colon);
  for (char &c : scheme) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') return {};
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return scheme;
}

[[noreturn]] void refuse(const std::string &uri, const std::string &why) {
  throw Error(Code::invalid, "opening storage '" + uri + "': " + why);
}

}  // namespace

bool says_where(const Json &section) {
  if (!section.is_object()) return !section.is_null();
  return !std::ranges::all_of(section.items(), [](const auto &entry) {
    return entry.key().starts_with("save_") || entry.key() == "gc_latest_per_trial";
  });
}

fs::path shared_directory(const std::string &host_path,
                          const std::optional<std::string> &storage_path,
                          const std::optional<std::string> &container_path) {
  if (!fs::path(host_path).is_absolute())
    throw Error(Code::invalid,
                "reading checkpoint_storage: `host_path` must be an absolute path, "
                "not '" +
                    host_path + "'");
  const fs::path root = container_path.value_or(host_path);
  if (!storage_path) return root;
  const fs::path host = normal_path(host_path);
  const fs::path absolute = normal_path(fs::path(host_path) / *storage_path);
  if (!is_below(absolute, host))
    throw Error(Code::invalid, "reading checkpoint_storage: `storage_path` '" + *storage_path +
                                   "' must be a subdirectory of `host_path` '" + host_path + "'");
  return normal_path(root / absolute.lexically_relative(host));
}

std::string normalized_prefix(const std::string &prefix) {
  std::string tidy;
  for (const fs::path &part : fs::path(prefix)) {
    if (part == "..")
      throw Error(Code::invalid,
                  "reading checkpoint_storage: prefix must not match '..' in any "
                  "component, as '" +
                      prefix + "' does");
    if (part.empty() || part == "." || part.has_root_path()) continue;
    tidy += (tidy.empty() ? "" : "/") + part.string();
  }
  return tidy;
}

StorageLocation parse_storage_uri(const std::string &uri) {
  if (uri.empty()) refuse(uri, "it must not be empty; give a path or a URI");
  if (uri.find_first_of(std::string("?#\0", 3)) != uri.npos)
    refuse(uri, "it must not have a query or fragment ('?', '#')");
  const std::string scheme = scheme_of(uri);
  std::string rest = scheme.empty() ? uri : uri.substr(scheme.size() + 1);
  std::string host;
  if (rest.starts_with("//")) {
    const size_t slash = std::min(rest.find('/', 2), rest.size());
    host = rest.substr(2, slash - 2);
    rest = rest.substr(slash);
  }
  if (scheme.empty() || scheme == "file") {
    if (!host.empty()) refuse(uri, "a path has no host; write file:///path or /path");
    if (scheme.empty() && rest.find(';', rest.rfind('/') + 1) != rest.npos)
      refuse(uri, "it must not have parameters (';')");
    if (rest.empty()) refuse(uri, "it names no path");
    return {"shared_fs", rest, {}, {}};
  }
  if (scheme != "s3" && scheme != "gs" && scheme != "azure")
    refuse(uri, "scheme '" + scheme +
                    "' is not known; use a path, file:///path, s3://bucket/prefix, "
                    "gs://bucket/prefix or azure://container/prefix");
  if (host.empty()) refuse(uri, "it names no bucket");
  return {scheme == "gs" ? "gcs" : scheme, {}, host, normalized_prefix(rest)};
}

}  // namespace det::storage
