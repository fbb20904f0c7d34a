// Tensors in a file, or in the files that an index lists.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/storage/file_transfer.h"
#include "core/storage/progress.h"
#include "core/tensors/header.h"
#include "core/tensors/tensor.h"

namespace det::tensors {

class Reader {
 public:
  // The file `name` below `root`, or what its index lists ("NAME.index.json"), which must then hold
  // each tensor whole. `confined`: `root` is a stored checkpoint, and no link may lead out of it.
  // Throws Code::not_found, Code::corrupt.
  Reader(storage::Tree root, const std::string &name, bool confined);

  struct Part {
    size_t file;
    Region region;
    uint64_t begin;  // of its bytes in the file
  };
  struct Entry {
    std::string name;
    Dtype dtype;
    Shape shape;
    std::vector<Part> parts;
  };

  const std::vector<Entry> &entries() const { return entries_; }  // in the order of their names
  const FileMetadata &metadata() const { return metadata_; }
  const Entry *find(const std::string &name) const;  // null: there is none

  // Fills the memory of the `wanted`, with as many threads as help. All of them are checked before:
  // Code::not_found, Code::invalid for another dtype or shape. May be called by several threads.
  void read(const std::vector<Tensor> &wanted, storage::Progress *progress = nullptr) const;

 private:
  struct File {
    std::string path;
    storage::FileStamp stamp;
  };
  friend class PieceReader;

  Fd open_file(const std::string &path) const;
  Fd reopen(const File &file) const;
  void add_file(const std::string &path, std::unordered_map<std::string, size_t> &places);
  void settle(Entry &entry) const;
  const Entry &expect(const Tensor &wanted) const;

  storage::Tree root_;
  std::string described_;
  bool confined_;
  std::vector<File> files_;
  std::vector<Entry> entries_;
  FileMetadata metadata_;
};

}  // namespace det::tensors
