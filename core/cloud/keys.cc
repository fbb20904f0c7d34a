#include "core/cloud/keys.h"

#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/storage/tree.h"

namespace det::cloud {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Without the '/' that a directory has at its end.
std::string bare(const std::string &path) {
  return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

}  // namespace

Keys::Keys(std::string prefix, size_t key_max)
    : prefix_(prefix.empty() ? std::move(prefix) : prefix + "/"), key_max_(key_max) {}

std::string Keys::checkpoint(const std::string &id) const { return prefix_ + id + "/"; }

std::string Keys::manifest(const std::string &id) const {
  return checkpoint(id) + storage::manifest_name;
}

std::string Keys::pending() const { return prefix_ + ".detcore/pending/"; }

std::string Keys::pending(const std::string &id) const { return pending() + id; }

std::string Keys::chunks() const { return prefix_ + ".detcore/chunks/"; }

std::string Keys::chunk_list(const std::string &id) const {
  return checkpoint(id) + storage::chunks_directory + "/list";
}

std::string Keys::of(const std::string &id, const std::string &path) const {
  const auto refuse = [&](const std::string &why) {
    throw Error(Code::invalid, "storing '" + printable(path) + "' in checkpoint '" + id +
                                   "': " + why + "; give the file another name");
  };
  if (!storage::is_plain_path(bare(path))) refuse("the path leads out of the checkpoint");
  if (!is_utf8(path)) refuse("names of objects are UTF-8, and this one is not");
  if (std::ranges::any_of(path, is_control)) refuse("the name has a control character");
  if (path == storage::manifest_name ||
      path.starts_with(storage::chunks_directory + std::string("/")))
    refuse("this name is reserved");
  std::string key = checkpoint(id) + path;
  if (key.size() > key_max_)
    refuse("the name of the object would have " + std::to_string(key.size()) +
           " bytes and may have " + std::to_string(key_max_));
  return key;
}

std::string Keys::path_of(const std::string &id, const std::string &key) const {
  const std::string root = checkpoint(id);
  std::string path = key.starts_with(root) ? key.substr(root.size()) : std::string();
  if (!storage::is_plain_path(bare(path)))
    throw Error(Code::corrupt, "reading checkpoint '" + id + "': the object '" + printable(key) +
                                   "' leads out of it; remove that object");
  return path;
}

}  // namespace det::cloud
