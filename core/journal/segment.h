// One file of the journal: a header that says whose it is, and records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/report.h"

namespace det::journal {

// What the header of a segment file says.
struct SegmentHeader {
  JournalKey key;
  uint64_t number = 0;    // 1, 2, ... in the order of writing
  uint64_t sequence = 0;  // of the file's first byte; that of a record is this plus its offset
};

// Bytes before the first record.
inline constexpr uint64_t segment_header_size = 256;

// Reads the header in the first bytes of a file. Throws Code::corrupt, or Code::unsupported for
// another version or byte order; `name` is for the message.
SegmentHeader read_segment_header(const std::byte *data, size_t size, const std::string &name);

inline constexpr std::string_view segment_extension = ".spool";
std::string segment_file_name(uint64_t number);

// A segment file that this process made, mapped for writing.
class Segment {
 public:
  Segment() = default;

  // Makes the file in `directory`, with space on disk and pages in memory for all of it: writing to
  // it neither fails nor faults. `durable`: a power cut does not take the file away. Throws
  // Code::busy when it is there.
  Segment(const std::filesystem::path &directory, const SegmentHeader &header, uint64_t size,
          bool durable = false);
  Segment(Segment &&other) noexcept { *this = std::move(other); }
  Segment &operator=(Segment &&other) noexcept;
  Segment(const Segment &) = delete;
  Segment &operator=(const Segment &) = delete;
  ~Segment();  // unmaps; the file stays

  std::byte *data() const noexcept { return data_; }
  uint64_t size() const noexcept { return size_; }
  uint64_t number() const noexcept { return number_; }
  uint64_t sequence() const noexcept { return sequence_; }

  void remove_file() const noexcept;

 private:
  void populate() const noexcept;

  std::filesystem::path path_;
  std::byte *data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t number_ = 0;
  uint64_t sequence_ = 0;
};

// After this a power cut does not take these bytes of a mapped segment. One that was unmapped
// meanwhile was delivered.
void sync_mapped(const std::byte *at, uint64_t size, const std::filesystem::path &directory);

}  // namespace det::journal
