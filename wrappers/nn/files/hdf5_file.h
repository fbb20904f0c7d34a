// Arrays and texts in an HDF5 file of anybody's, read by libhdf5.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wrappers/nn/arrays/array_shape.h"

namespace det::nn {

// What `read` gives, which opens the file of this name: called in a process of its own, since
// libhdf5 may crash, hang or go wrong at what is damaged. That is Code::corrupt then. At most so
// many bytes are taken.
std::string read_apart(const std::string &name, size_t most,
                       const std::function<std::string()> &read);

// For a process that does nothing else. Only what lies in the file itself is reached: links are
// followed where they are hard ones, and arrays whose bytes are elsewhere, or need a filter that
// libhdf5 does not bring along, are Code::unsupported. What is damaged is Code::corrupt.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path &path);
  // One whose bytes are in memory; `name` is for errors.
  Hdf5File(std::string_view bytes, const std::string &name);
  Hdf5File(const Hdf5File &) = delete;
  Hdf5File &operator=(const Hdf5File &) = delete;
  ~Hdf5File();

  const std::string &name() const { return name_; }
  // Whether there is a group or an array at this path from the root.
  bool has(const std::string &path) const;
  // The paths of all arrays in a group and those within it.
  std::vector<std::string> arrays(const std::string &group) const;
  // An attribute of a group.
  std::optional<std::string> text(const std::string &group, const char *attribute) const;
  // Of several texts, which Keras writes in parts where they are many: "names0", "names1".
  std::vector<std::string> texts(const std::string &group, const std::string &attribute) const;

  Shape shape(const std::string &array) const;
  // All elements, of any real or whole numbers: as many as the shape has.
  void read(const std::string &array, std::span<float> values) const;

 private:
  void open(const std::string &path, int64_t access);
  [[noreturn]] void refuse(const std::string &problem) const;
  [[noreturn]] void fail(const std::string &tried) const;
  int64_t object(const std::string &path) const;
  void gather_arrays(const std::string &path, int depth, std::vector<std::string> &found) const;
  std::optional<std::vector<std::string>> all_texts(const std::string &group,
                                                    const char *attribute) const;

  const std::string name_;
  int64_t file_ = -1;
};

}  // namespace det::nn
