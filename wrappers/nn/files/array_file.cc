#include "wrappers/nn/files/array_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"
#include "core/tensors/file_writer.h"
#include "core/tensors/reader.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

namespace fs = std::filesystem;

tensors::Tensor as_tensor(const std::string &name, const Array &array) {
  const tensors::Shape shape(array.shape().begin(), array.shape().end());
  tensors::Tensor tensor;
  static_cast<tensors::TensorPart &>(tensor) = {name, array.dtype(), tensors::Region::whole(shape),
                                                shape};
  tensor.data = static_cast<char *>(array.raw());
  tensor.device = tensors::Device::host;
  return tensor;
}

// Real numbers, and the whole ones in which Keras counts.
bool is_read(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 ||
         dtype == Dtype::bf16 || dtype == Dtype::i64;
}

// Compares what is there with what is wanted, and says all that a person needs to see which of the
// two is the wrong one.
class Comparison {
 public:
  Comparison(const tensors::Reader &reader, const std::vector<NamedArray> &wanted,
             std::string tried)
      : reader_(reader), wanted_(wanted), tried_(std::move(tried)) {}

  void check() const {
    std::unordered_set<std::string> known;
    std::vector<std::string> missing, unknown;
    for (const NamedArray &one : wanted_) {
      known.insert(one.name);
      if (reader_.find(one.name) == nullptr) missing.push_back(one.name);
    }
    for (const auto &entry : reader_.entries())
      if (known.count(entry.name) == 0) unknown.push_back(entry.name);
    if (!unknown.empty())
      refuse("the file has " + some_of(unknown) + ", which is not in it" +
             (missing.empty() ? "" : suggestion(unknown[0], shortened(missing))));
    if (!missing.empty()) refuse("the file has no " + some_of(missing));
    for (const NamedArray &one : wanted_) check(one, *reader_.find(one.name));
  }

 private:
  [[noreturn]] void refuse(const std::string &problem) const {
    throw Error(Code::invalid, tried_ + ": " + problem);
  }

  static std::string some_of(const std::vector<std::string> &names) {
    const std::string first = tensors::quoted_name(names[0]);
    return names.size() == 1 ? first : first + " and " + std::to_string(names.size() - 1) + " more";
  }

  static std::vector<std::string> shortened(std::vector<std::string> names) {
    names.resize(std::min<size_t>(names.size(), 8));
    return names;
  }

  void check(const NamedArray &one, const tensors::Reader::Entry &entry) const {
    if (!is_read(entry.dtype))
      refuse(tensors::quoted_name(one.name) + " is of " + tensors::name_of(entry.dtype) +
             " in the file; F32, F64, F16, BF16 and I64 are read");
    const tensors::Shape shape(one.array.shape().begin(), one.array.shape().end());
    if (entry.shape != shape)
      refuse(tensors::quoted_name(one.name) + " is " + tensors::text_of(entry.shape) +
             " in the file, and " + tensors::text_of(shape) + " is needed");
  }

  const tensors::Reader &reader_;
  const std::vector<NamedArray> &wanted_;
  const std::string tried_;
};

}  // namespace

void write_array_file(const fs::path &path, const std::vector<NamedArray> &arrays,
                      const tensors::FileMetadata &metadata) {
  const fs::path whole = fs::absolute(path);
  const fs::path aside =
      whole.parent_path() / ("." + whole.filename().string() + "." + make_uuid());
  std::vector<tensors::Tensor> given;
  for (const NamedArray &one : arrays) given.push_back(as_tensor(one.name, one.array));
  tensors::check_names(given);
  try {
    tensors::write_file(storage::Tree(whole.parent_path()), aside.filename().string(), given,
                        metadata);
    if (fsync(open_file(aside, O_RDONLY).get()) != 0)
      OsFailure{errno}.raise("syncing '" + aside.string() + "'");
    if (rename(aside.c_str(), whole.c_str()) != 0)
      OsFailure{errno}.raise("renaming to '" + whole.string() + "'");
  } catch (...) {
    unlink(aside.c_str());
    throw;
  }
  sync_directory(whole.parent_path());
}

void ArrayFile::copy_to(const std::vector<NamedArray> &wanted) const {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].array.size() > 0)
      std::memcpy(wanted[i].array.raw(), values.at(i).raw(), wanted[i].array.bytes());
}

ArrayFile read_array_file(const fs::path &path, const std::vector<NamedArray> &wanted,
                          const std::string &whose) {
  const fs::path whole = fs::absolute(path);
  const std::string tried = "reading '" + whole.string() + "' for " + whose;
  const tensors::Reader reader(storage::Tree(whole.parent_path()), whole.filename().string(),
                               false);
  Comparison(reader, wanted, tried).check();
  ArrayFile file{reader.metadata(), {}};
  std::vector<Array> stored;
  std::vector<tensors::Tensor> places;
  for (const NamedArray &one : wanted) {
    stored.emplace_back(ArrayType{one.array.shape(), reader.find(one.name)->dtype});
    places.push_back(as_tensor(one.name, stored.back()));
  }
  reader.read(places);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (stored[i].dtype() == Dtype::f32) {
      file.values.push_back(stored[i]);
      continue;
    }
    file.values.emplace_back(wanted[i].array.type());
    copy_elements(stored[i], file.values.back(), tensors::quoted_name(wanted[i].name));
    stored[i] = {};
  }
  return file;
}

}  // namespace det::nn
