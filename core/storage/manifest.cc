#include "core/storage/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "core/base/json.h"
#include "core/base/text/utf8.h"

namespace det::storage {

namespace {

constexpr int version = 1;
constexpr int chunked_version = 2;  // of one that names files which are in chunks

// JSON is Unicode and paths are bytes: '%', and in a path that is not UTF-8 every byte beyond
// ASCII, become %XX.
std::string escaped(const std::string &path) {
  const bool text = is_utf8(path);
  std::string result;
  for (const char c : path) {
    if (c != '%' && (text || static_cast<unsigned char>(c) < 0x80)) {
      result += c;
      continue;
    }
    std::array<char, 4> code{};
    std::snprintf(code.data(), code.size(), "%%%02X", static_cast<unsigned char>(c));
    result += code.data();
  }
  return result;
}

uint64_t from_hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.begin(), text.end(), value, 16);
  if (failure != std::errc() || end != text.end() || text.empty())
    throw Error(Code::corrupt, "'" + std::string(text) + "' is no hexadecimal number");
  return value;
}

std::string unescaped(const std::string &text) {
  std::string path;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%') {
      if (at + 2 >= text.size()) throw Error(Code::corrupt, "a path ends within an escape");
      path += static_cast<char>(from_hex(std::string_view(text).substr(at + 1, 2)));
      at += 2;
    } else {
      path += text[at];
    }
  }
  return path;
}

std::string path_from(const Json &text) {
  std::string path = unescaped(text.get<std::string>());
  if (!is_plain_path(path)) throw Error(Code::corrupt, "a path leads out of the checkpoint");
  return path;
}

unsigned mode_from(const Json &json) {
  return static_cast<unsigned>(number_from<int>(json, 0, 0777));
}

// [path, size, checksum], and where the storage keeps them [mode, time in ns, whether sparse].
ManifestEntry entry_from(const Json &file) {
  ManifestEntry entry{static_cast<uint64_t>(number_from<int64_t>(file.at(1), 0, INT64_MAX)),
                      from_hex(file.at(2).get<std::string>())};
  if (file.size() > 3)
    entry.attributes = FileAttributes{mode_from(file.at(3)),
                                      number_from<int64_t>(file.at(4), INT64_MIN, INT64_MAX),
                                      file.size() > 5 && file.at(5).get<bool>()};
  return entry;
}

ManifestText from_text(const std::string &text, bool reads_chunks) {
  const Json json = parse_json_object(text, "the manifest");
  const Json &written = json.at("version");
  if (written != version && !(reads_chunks && written == chunked_version))
    throw Error(Code::unsupported,
                "its version is " + written.dump() + ", made by a newer release");
  ManifestText manifest;
  manifest.chunked = written == chunked_version;
  for (const Json &file : json.at("files"))
    manifest.files[path_from(file.at(0))] = entry_from(file);
  const auto directories = json.find("directories"), modes = json.find("directory_modes");
  if (directories == json.end()) return manifest;
  for (size_t i = 0; i < directories->size(); ++i) {
    std::optional<unsigned> &mode = manifest.directories[path_from(directories->at(i))];
    if (modes != json.end() && !modes->at(i).is_null()) mode = mode_from(modes->at(i));
  }
  return manifest;
}

// Null for what says nothing of the checkpoint itself.
const char *damage_of(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
      return "the file is missing";
    case EXDEV:
      return "a link leads out of the checkpoint";
    case ELOOP:
      return "the file cannot be reached";
    default:
      return nullptr;
  }
}

}  // namespace

std::string to_text(const ManifestText &manifest) {
  Json files = Json::array();
  for (const auto &[path, entry] : manifest.files) {
    std::array<char, 17> checksum{};
    std::snprintf(checksum.data(), checksum.size(), "%016llx",
                  static_cast<unsigned long long>(entry.checksum));
    Json file = Json::array({escaped(path), entry.size, checksum.data()});
    if (entry.attributes) {
      file.push_back(entry.attributes->mode);
      file.push_back(entry.attributes->mtime_ns);
      if (entry.attributes->is_sparse) file.push_back(true);
    }
    files.push_back(std::move(file));
  }
  Json json{{"version", manifest.chunked ? chunked_version : version}, {"files", std::move(files)}};
  for (const auto &[path, mode] : manifest.directories) {
    json["directories"].push_back(escaped(path));
    json["directory_modes"].push_back(mode ? Json(*mode) : Json());
  }
  return to_wire(json) + "\n";
}

ManifestText parse_manifest(const std::string &text, const std::string &described,
                            bool reads_chunks) {
  try {
    return from_text(text, reads_chunks);
  } catch (const Error &error) {
    if (error.code == Code::unsupported)
      throw Error(Code::unsupported,
                  "reading " + described + ": " + error.what() + "; update this library");
    throw_damaged(described, error.what());
  } catch (const Json::exception &error) {
    throw_damaged(described, error.what());
  }
}

void throw_damaged(const std::string &described, const std::string &how) {
  throw Error(Code::corrupt, "verifying " + described + ": " + how +
                                 "; the checkpoint is damaged, restore another one");
}

void write_manifest(const Tree &root, const Manifest &manifest, bool chunked) {
  const Fd file(openat(root.fd.get(), manifest_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       default_file_mode));
  if (!file && errno == EEXIST)
    throw Error(Code::invalid, "committing " + root.name_of(manifest_name) +
                                   ": this name is reserved; give your file another name");
  if (!file) OsFailure{errno}.raise("making " + root.name_of(manifest_name));
  write_all(file.get(), to_text({manifest, {}, chunked}), (root.name / manifest_name).string());
}

void replace_manifest(const Tree &root, const Manifest &manifest, bool chunked) {
  replace_file(root, manifest_name, to_text({manifest, {}, chunked}));
}

std::optional<Manifest> read_manifest(const Tree &root) {
  const Fd file(open_beneath(root.fd.get(), manifest_name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) OsFailure{errno}.raise("opening " + root.name_of(manifest_name));
  const std::string text = read_all(file.get(), (root.name / manifest_name).string());
  return parse_manifest(text, root.name_of(manifest_name), true).files;
}

void verify_sizes(const Tree &root, const Manifest &manifest, const Selector &wanted) {
  for (const auto &[path, expected] : manifest) {
    if (wanted && !wanted(path)) continue;
    struct stat about {};
    const Fd file(open_beneath(root.fd.get(), path, O_PATH));
    if (!file || fstat(file.get(), &about) != 0) {
      const int reason = errno;
      if (const char *how = damage_of(reason)) throw_damaged(root.name_of(path), how);
      OsFailure{reason}.raise("opening " + root.name_of(path));
    }
    if (!S_ISREG(about.st_mode)) throw_damaged(root.name_of(path), "it is not a file any more");
    if (static_cast<uint64_t>(about.st_size) != expected.size)
      throw_damaged(root.name_of(path), "it has " + std::to_string(about.st_size) +
                                            " bytes instead of " + std::to_string(expected.size));
  }
}

void verify(const Tree &root, const Manifest &manifest, Progress *progress) {
  verify_sizes(root, manifest, nullptr);
  std::vector<std::string> files;
  for (const auto &[path, expected] : manifest) files.push_back(path);
  for (const HashedFile &file : hash_files(root, files, progress))
    verify_checksum(root, manifest, file);
}

void verify_checksum(const Tree &root, const Manifest &manifest, const HashedFile &file) {
  const auto expected = manifest.find(file.path);
  if (expected == manifest.end()) return;
  if (file.checksum != expected->second.checksum)
    throw_damaged(root.name_of(file.path), "its checksum differs from the manifest's");
}

}  // namespace det::storage
