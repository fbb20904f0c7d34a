// How far the delivery of a journal has come, kept in a file beside it: a process that takes over
// after a kill neither sends again what the master has, nor takes for new what it may have.
#pragma once

#include <cstdint>
#include <filesystem>

namespace det::master {

class Watermark {
 public:
  // Of the journal in this directory; makes the file where there is none.
  explicit Watermark(const std::filesystem::path &run_directory);
  ~Watermark();
  Watermark(const Watermark &) = delete;
  Watermark &operator=(const Watermark &) = delete;

  // Sequences up to these: with the master, and sent at least once. Plain stores into memory that
  // the kernel keeps when this process is killed.
  uint64_t delivered() const noexcept { return marks_->delivered; }
  uint64_t attempted() const noexcept { return marks_->attempted; }
  void set_delivered(uint64_t sequence) noexcept { marks_->delivered = sequence; }
  void set_attempted(uint64_t sequence) noexcept;

 private:
  struct Marks {
    uint64_t delivered;
    uint64_t attempted;
  };
  Marks *marks_;
};

}  // namespace det::master
