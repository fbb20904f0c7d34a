// Bytes on their way into a store: of memory or of a file, read again for each attempt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/file.h"
#include "core/http/message.h"

namespace det::cloud {

class ByteRange : public http::BodySource {
 public:
  // `described` names it in errors.
  explicit ByteRange(std::string described) : described_(std::move(described)) {}
  const std::string &described() const { return described_; }

 private:
  const std::string described_;
};

class TextRange : public ByteRange {
 public:
  TextRange(std::string described, std::string text);
  uint64_t size() const override { return text_.size(); }
  size_t read(uint64_t offset, char *bytes, size_t room) override;

 private:
  const std::string text_;
};

// Of an open file, which others may share. A file that has become shorter is Code::conflict.
class FileRange : public ByteRange {
 public:
  FileRange(std::string described, std::shared_ptr<const Fd> file, uint64_t begin, uint64_t size);
  uint64_t size() const override { return size_; }
  size_t read(uint64_t offset, char *bytes, size_t room) override;

 private:
  const std::shared_ptr<const Fd> file_;
  const uint64_t begin_, size_;
};

}  // namespace det::cloud
