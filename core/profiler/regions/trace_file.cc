#include "core/profiler/regions/trace_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"

namespace det::profiler {

namespace {
// Of addresses: the file has only what its lanes take.
constexpr uint64_t mapped_size = trace_header_size + max_lanes * sizeof(TraceLane);
}  // namespace

TraceFile::TraceFile(const std::filesystem::path &path, const JournalKey &rank,
                     const TickMark &first, int64_t first_time_us)
    : path_(path) {
  make_directories(path.parent_path());
  if (unlink(path.c_str()) != 0 && errno != ENOENT)
    OsFailure{errno}.raise("replacing '" + path.string() + "'");
  Fd file = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0664);
  fd_ = file.get();
  allocate(0, trace_header_size);
  void *mapped = mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) OsFailure{errno}.raise("mapping '" + path.string() + "'");
  mapped_ = mapped;
  auto *header = new (mapped_) TraceHeader{};
  header->version = trace_version;
  header->byte_order = trace_byte_order;
  header->trial_id = rank.trial_id;
  header->run_id = rank.run_id;
  header->rank = rank.rank;
  header->process_id = getpid();
  header->first = first;
  header->first_time_us = first_time_us;
  std::memcpy(header->magic, trace_magic, sizeof trace_magic);
  file.release();
}

TraceFile::~TraceFile() {
  // A forked child leaves the file to the parent, which goes on writing.
  const uint32_t lanes = header().process_id == getpid() ? header().lanes.load() : 0;
  for (uint32_t i = 0; i < lanes; ++i) {
    const auto *lane =
        reinterpret_cast<const TraceLane *>(static_cast<std::byte *>(mapped_) + lane_offset(i));
    const uint64_t ended = lane->ended.load();
    if (ended >= lane_events) continue;
    const uint64_t unused =
        lane_offset(i) + offsetof(TraceLane, events) + ended * sizeof(TraceEvent);
    // Where the file system cannot, it takes a little more.
    static_cast<void>(fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(unused),
                                static_cast<off_t>(lane_offset(i + 1) - unused)));
  }
  munmap(mapped_, mapped_size);
  ::close(fd_);
}

void TraceFile::add_name(std::string_view name) {
  const uint32_t number = header().names.load();
  name.copy(header().name[number], max_region_name);
  header().names.store(number + 1, std::memory_order_release);
}

void TraceFile::note_time(const TickMark &last) noexcept {
  if (header().process_id != getpid()) return;
  const uint64_t number = header().marks.load() + 1;
  auto &place = header().last[number % 2];
  place.ticks.store(last.ticks, std::memory_order_release);
  place.monotonic_ns.store(last.monotonic_ns, std::memory_order_release);
  header().marks.store(number, std::memory_order_release);
}

TraceLane &TraceFile::add_lane() {
  const uint32_t number = header().lanes.load();
  const uint64_t offset = lane_offset(number);
  allocate(offset, sizeof(TraceLane));
  std::byte *at = static_cast<std::byte *>(mapped_) + offset;
#ifdef MADV_POPULATE_WRITE
  // Else a region now and then waits for a page.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::byte *aligned = at - reinterpret_cast<uintptr_t>(at) % page;
  static_cast<void>(
      madvise(aligned, static_cast<size_t>(at + sizeof(TraceLane) - aligned), MADV_POPULATE_WRITE));
#endif
  auto *lane = std::launder(reinterpret_cast<TraceLane *>(at));  // all zeroes: an empty one
  header().lanes.store(number + 1, std::memory_order_release);
  return *lane;
}

// The space is taken now: a full disk is an error here, and never a signal later.
void TraceFile::allocate(uint64_t offset, uint64_t size) const {
  if (const int failed = posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(size));
      failed != 0)
    OsFailure{failed}.raise("making room in '" + path_.string() + "'");
}

}  // namespace det::profiler
