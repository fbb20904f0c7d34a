// Bytes on their way into a store: of memory or of a file, read again for each attempt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/http/message.h"

namespace det::cloud {

class ByteRange : public http::BodySource {
 public:
  // `described` names it in errors.
  explicit ByteRange(std::string described) : described_(std::move(described)) {}
  const std::string &described() const { return described_; }
  // All of it, where it lies in memory: then nothing has to be copied to be summed up.
  virtual std::optional<std::string_view> in_memory() const { return std::nullopt; }

  // Who has read the bytes already may say it, and spares the first attempt to.
  std::optional<uint32_t> crc32c{};

 private:
  const std::string described_;
};

class TextRange : public ByteRange {
 public:
  TextRange(std::string described, std::string text);
  uint64_t size() const override { return text_.size(); }
  std::optional<std::string_view> in_memory() const override { return text_; }
  size_t read(uint64_t offset, char *bytes, size_t room) override;

 private:
  const std::string text_;
};

// Before bytes are sent again: throws Code::conflict where `is_same` says that they are others now,
// which no attempt would bring to an end.
void require_unchanged(const std::string &tried, const ByteRange &bytes, bool is_same);

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
