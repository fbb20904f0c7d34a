// The names of a checkpoint's objects: "<prefix>/<id>/<path>". Both the paths of files and the keys
// of objects come from outside and are checked on their way.
#pragma once

#include <cstddef>
#include <string>

namespace det::cloud {

class Keys {
 public:
  // `prefix` as storage::normalized_prefix() gives it.
  Keys(std::string prefix, size_t key_max);

  const std::string &prefix() const { return prefix_; }  // empty, or with '/' at its end
  std::string checkpoint(const std::string &id) const;   // with '/' at its end
  std::string manifest(const std::string &id) const;
  std::string pending() const;  // of all, with '/' at its end
  std::string pending(const std::string &id) const;
  std::string chunks() const;  // of all that files are made of, and what belongs to them
  // The list of the chunks of a checkpoint, for who reads it.
  std::string chunk_list(const std::string &id) const;

  // Of a file, or of a directory with '/' at its end; Code::invalid where no object can have that
  // name.
  std::string of(const std::string &id, const std::string &path) const;

  // The path of an object of the checkpoint; Code::corrupt where it would lead out of it.
  std::string path_of(const std::string &id, const std::string &key) const;

 private:
  std::string prefix_;
  size_t key_max_;
};

}  // namespace det::cloud
