// Pieces of a file, read into many places in memory with few calls.
#pragma once

#include <string>
#include <vector>

#include "core/storage/pool.h"
#include "core/storage/progress.h"

namespace det::tensors {

class ScatteredRead {
 public:
  // Through `buffer` go pieces that are too small for a call of their own.
  ScatteredRead(int fd, std::string described, storage::Buffer &buffer)
      : fd_(fd), described_(std::move(described)), buffer_(buffer) {}

  // In the order of the file.
  void add(uint64_t offset, char *to, uint64_t size);
  void flush();

 private:
  struct Piece {
    uint64_t offset;
    char *to;
    uint64_t size;
  };

  void read(uint64_t offset, char *to, uint64_t size) const;

  const int fd_;
  const std::string described_;
  storage::Buffer &buffer_;
  std::vector<Piece> pending_;
};

}  // namespace det::tensors
