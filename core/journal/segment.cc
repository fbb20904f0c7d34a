#include "core/journal/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"

namespace det::journal {

namespace fs = std::filesystem;

namespace {

constexpr char magic[8] = {'D', 'E', 'T', 'S', 'P', 'O', 'O', 'L'};
constexpr uint32_t current_version = 1;
constexpr uint32_t native_order = 0x01020304;
constexpr uint32_t foreign_order = 0x04030201;

// Magic, size and checksum stay where they are in every version.
struct RawHeader {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint64_t number;
  uint64_t sequence;
  int64_t trial_id;
  int64_t run_id;
  int64_t rank;
  char journal_id[64];
  char zero[128];
  uint64_t checksum;  // of everything before
};
static_assert(sizeof(RawHeader) == segment_header_size);

constexpr size_t checked = offsetof(RawHeader, checksum);

RawHeader to_raw(const SegmentHeader &header) {
  RawHeader raw{};
  std::memcpy(raw.magic, magic, sizeof magic);
  raw.version = current_version;
  raw.byte_order = native_order;
  raw.number = header.number;
  raw.sequence = header.sequence;
  raw.trial_id = header.key.trial_id;
  raw.run_id = header.key.run_id;
  raw.rank = header.key.rank;
  if (header.key.journal_id.size() >= sizeof raw.journal_id)
    throw Error(Code::invalid,
                "making a journal: its id '" + header.key.journal_id + "' is too long; use a UUID");
  header.key.journal_id.copy(raw.journal_id, sizeof raw.journal_id - 1);
  raw.checksum = checksum64(&raw, checked);
  return raw;
}

Fd create_file(const fs::path &path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST)
    throw Error(Code::busy, "making the journal '" + path.string() +
                                "': it exists already; give each process its own directory");
  if (fd < 0) OsFailure{errno}.raise("making the journal '" + path.string() + "'");
  return Fd(fd);
}

// Written in full, not merely allocated: that takes the space just as well, and the pages are there
// when the file is mapped. It is also ten times quicker to remove again, as a rule before the
// kernel has put it on disk. In large writes from few pages: the kernel then makes large folios. A
// kill leaves an empty file, or one that says what it is.
void fill_file(const Fd &file, const RawHeader &header, uint64_t size, const std::string &name) {
  static constexpr std::array<char, 1U << 14U> zeros{};
  RawHeader start = header;
  std::array<iovec, 66> parts;  // a file of the usual size
  for (uint64_t done = 0; done < size;) {
    uint64_t planned = std::min<uint64_t>(done, sizeof start);
    parts[0] = {reinterpret_cast<char *>(&start) + planned, sizeof start - planned};
    planned = std::max<uint64_t>(done, sizeof start);
    size_t count = 1;
    for (; count < parts.size() && planned < size; ++count) {
      parts[count] = {const_cast<char *>(zeros.data()),
                      std::min<uint64_t>(size - planned, zeros.size())};
      planned += parts[count].iov_len;
    }
    const ssize_t put = writev(file.get(), parts.data(), static_cast<int>(count));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) OsFailure{errno}.raise("writing '" + name + "'");
    done += static_cast<uint64_t>(put);
  }
}

}  // namespace

SegmentHeader read_segment_header(const std::byte *data, size_t size, const std::string &name) {
  RawHeader raw;
  if (size >= sizeof raw) std::memcpy(&raw, data, sizeof raw);
  if (size < sizeof raw || std::memcmp(raw.magic, magic, sizeof magic) != 0)
    throw Error(Code::corrupt, "reading the journal '" + name + "': its header is damaged");
  if (raw.byte_order == foreign_order)
    throw Error(Code::unsupported,
                "reading the journal '" + name +
                    "': written by a machine of another byte order; ship it from "
                    "a machine of that kind");
  if (raw.checksum != checksum64(&raw, checked))
    throw Error(Code::corrupt, "reading the journal '" + name + "': its header is damaged");
  if (raw.version != current_version)
    throw Error(Code::unsupported, "reading the journal '" + name + "': it has version " +
                                       std::to_string(raw.version) +
                                       "; ship it with the release that wrote it");
  SegmentHeader header;
  header.key.trial_id = raw.trial_id;
  header.key.run_id = raw.run_id;
  header.key.rank = static_cast<int>(raw.rank);
  header.key.journal_id.assign(raw.journal_id, strnlen(raw.journal_id, sizeof raw.journal_id));
  header.number = raw.number;
  header.sequence = raw.sequence;
  return header;
}

std::string segment_file_name(uint64_t number) {
  return std::to_string(number).append(segment_extension);
}

Segment::Segment(const fs::path &directory, const SegmentHeader &header, uint64_t size,
                 bool durable)
    : path_(directory / segment_file_name(header.number)),
      size_(size),
      number_(header.number),
      sequence_(header.sequence) {
  const RawHeader raw = to_raw(header);
  const Fd file = create_file(path_);
  try {
    fill_file(file, raw, size, path_.string());
    void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED)
      OsFailure{errno}.raise("mapping the journal '" + path_.string() + "'");
    data_ = static_cast<std::byte *>(mapped);
    populate();
    if (durable) {
      if (fsync(file.get()) != 0)
        OsFailure{errno}.raise("syncing the journal '" + path_.string() + "'");
      sync_directory(directory);
    }
  } catch (...) {
    if (data_ != nullptr) munmap(data_, size_);
    remove_file();
    throw;
  }
}

void sync_mapped(const std::byte *at, uint64_t size, const fs::path &directory) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(at) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(at) + size;
  if (msync(reinterpret_cast<void *>(begin), end - begin, MS_SYNC) == 0 || errno == ENOMEM) return;
  // Not again: it is there.
  try {
    OsFailure{errno}.raise("syncing a report in the journal '" + directory.string() +
                           "', where it is recorded, but not yet safe from a power cut");
  } catch (const Error &error) {
    throw error.with_retry(false);
  }
}

Segment &Segment::operator=(Segment &&other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(number_, other.number_);
  std::swap(sequence_, other.sequence_);
  return *this;
}

Segment::~Segment() {
  if (data_ != nullptr) munmap(data_, size_);
}

void Segment::populate() const noexcept {
#ifdef MADV_POPULATE_WRITE
  if (madvise(data_, size_, MADV_POPULATE_WRITE) == 0 || errno != EINVAL) return;
#endif
  // Before Linux 5.14: write to each page, without changing it.
  for (uint64_t at = 0; at < size_; at += 4096)
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t *>(data_ + at))
        .fetch_add(0, std::memory_order_relaxed);
}

void Segment::remove_file() const noexcept { unlink(path_.c_str()); }

}  // namespace det::journal
