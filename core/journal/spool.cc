#include "core/journal/spool.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/journal/report_names.h"

namespace det::journal {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t page = 4096;
constexpr size_t most_ready = 8;

constexpr uint64_t whole_pages(uint64_t size) { return (size + page - 1) / page * page; }

// At least two segments fit the limit.
uint64_t fitting_segment(const SpoolOptions &options) {
  const uint64_t half = options.limit_bytes / 2 / page * page;
  return std::max(page, std::min(whole_pages(options.segment_bytes), half));
}

}  // namespace

Spool::Spool(fs::path directory, const JournalKey &key, const SpoolOptions &options)
    : directory_(std::move(directory)),
      key_(key),
      limit_bytes_(options.limit_bytes),
      segment_bytes_(fitting_segment(options)),
      wait_limit_(options.wait),
      durable_(options.durable),
      waiting_(std::make_unique<Waiting>()) {
  ready_.reserve(most_ready);
}

std::unique_ptr<Spool> Spool::create(const fs::path &directory, const JournalKey &key,
                                     const SpoolOptions &options) {
  std::unique_ptr<Spool> spool(new Spool(directory, key, options));
  {
    std::unique_lock lock(spool->waiting_->mutex);
    spool->open(spool->make_slot(lock, spool->segment_bytes_));
  }
  std::vector<Report> none;
  spool->read(none, 1, 1);  // puts the reader in its place
  spool->release();
  return spool;
}

Spool::~Spool() {
  if (in_child()) {
    static_cast<void>(waiting_.release());
    return;
  }
  close();
  try {
    std::vector<Report> batch;
    // Files without a report in them need no recovery.
    if (released_position_ == read_position_ && read(batch, 1, 1) == 0) release();
  } catch (const std::exception &) {
    // No memory; they stay.
  }
}

uint64_t Spool::append_metrics(std::string_view group, int64_t steps, const NamedValue *values,
                               size_t count, const Measured &measured) {
  if (count > max_record_size / sizeof(double)) [[unlikely]]
    throw Error(Code::invalid, "reporting " + std::to_string(count) +
                                   " metrics at once: too many; report in parts");
  std::array<uint8_t, 256> usual;
  std::vector<uint8_t> many;
  uint8_t *sizes = usual.data();
  if (count > usual.size()) [[unlikely]] {
    many.resize(count);
    sizes = many.data();
  }
  check_names(values, count, sizes);
  return append({.steps = steps,
                 .group = group,
                 .values = values,
                 .name_sizes = sizes,
                 .count = count,
                 .rank = static_cast<uint16_t>(measured.rank)},
                measured.time_us);
}

uint64_t Spool::append_metrics_json(std::string_view group, int64_t steps, std::string_view text,
                                    std::string_view batches, const Measured &measured) {
  return append({.kind = ReportKind::metrics_json,
                 .steps = steps,
                 .group = group,
                 .text = text,
                 .batches = batches,
                 .rank = static_cast<uint16_t>(measured.rank)},
                measured.time_us);
}

uint64_t Spool::append_status(std::string_view text) {
  return append({.kind = ReportKind::status, .text = text});
}

uint64_t Spool::append_progress(double fraction) {
  return append({.kind = ReportKind::progress, .number = fraction});
}

uint64_t Spool::append_log(int level, std::string_view text) {
  return append({.kind = ReportKind::log, .level = level, .text = text});
}

uint64_t Spool::append_checkpoint(std::string_view report) {
  return append({.kind = ReportKind::checkpoint, .text = report});
}

uint64_t Spool::append(const RecordContent &content, int64_t time_us) {
  if (in_child()) [[unlikely]]
    throw Error(
        Code::state,
        "reporting in a forked child: the journal belongs to the parent; report from there");
  const uint64_t size = record_size(content);
  if (size > segment_bytes_ - segment_header_size) [[unlikely]]
    return append_large(content, size, time_us);
  for (;;) {
    Slot *slot = current_.load(std::memory_order_acquire);
    // Sequentially consistent with the load of reader_sleeps_ below and with the reader's opposite
    // order in wait(): one of the two sees the other.
    const uint64_t at = slot->tail.fetch_add(size, std::memory_order_seq_cst);
    if (at + size <= segment_bytes_) [[likely]] {
      const uint64_t sequence = slot->segment.sequence() + at;
      std::byte *place = slot->segment.data() + at;
      write_record(place, content, sequence, time_us != 0 ? time_us : now_us());
      if (reader_sleeps_.load(std::memory_order_seq_cst)) [[unlikely]]
        ring();
      if (durable_) sync_mapped(place, size, directory_);
      return sequence;
    }
    // The one append that crosses the end tells the reader that nothing follows.
    if (at < segment_bytes_) write_seal(slot->segment.data() + at, slot->segment.sequence() + at);
    make_room(size);
  }
}

uint64_t Spool::append_large(const RecordContent &content, uint64_t size, int64_t time_us) {
  const uint64_t file_size = whole_pages(segment_header_size + size);
  if (file_size + segment_bytes_ > limit_bytes_)
    throw Error(Code::invalid, "recording a report of " + std::to_string(size) +
                                   " bytes: too large for a journal limited to " +
                                   std::to_string(limit_bytes_) + " bytes; raise its limit");
  std::unique_lock lock(waiting_->mutex);
  wait_for_room(lock, [&] {
    if (making_) return false;
    drop_ready();  // this report comes before them
    return bytes_ + file_size <= limit_bytes_;
  });
  Slot *slot = make_slot(lock, file_size);
  add_used(slot);
  seal_current();
  const uint64_t sequence = slot->segment.sequence() + segment_header_size;
  std::byte *at = slot->segment.data() + segment_header_size;
  write_record(at, content, sequence, time_us != 0 ? time_us : now_us());
  if (segment_header_size + size < file_size) write_seal(at + size, sequence + size);
  next_sequence_ += file_size;
  notify_reader();
  lock.unlock();
  if (durable_) sync_mapped(at, size, directory_);
  return sequence;
}

void Spool::make_room(uint64_t size) {
  std::unique_lock lock(waiting_->mutex);
  const auto current_has_room = [&] {
    return current_.load(std::memory_order_relaxed)->tail.load(std::memory_order_relaxed) + size <=
           segment_bytes_;
  };
  if (ready_.empty() && !current_has_room())
    enough_ready_ = std::min(2 * enough_ready_, most_ready);
  const auto there_is_a_next = [&] {
    return !ready_.empty() || (!making_ && bytes_ + segment_bytes_ <= limit_bytes_);
  };
  do {
    wait_for_room(lock, [&] { return current_has_room() || there_is_a_next(); });
    if (current_has_room()) return;
  } while (!there_is_a_next());  // other appends have taken the room meanwhile
  Slot *next = nullptr;
  if (ready_.empty()) {
    next = make_slot(lock, segment_bytes_);
  } else {
    next = ready_.front();
    ready_.erase(ready_.begin());
  }
  // This append may have failed on an older slot, and then nobody has crossed the end of this one.
  seal_current();
  open(next);
  notify_reader();
}

void Spool::wait_for_room(std::unique_lock<std::mutex> &lock,
                          const std::function<bool()> &there_is_room) {
  const auto give_up = std::chrono::steady_clock::now() + wait_limit_;
  for (;;) {
    if (closed_) throw Error(Code::state, "reporting to a journal that was closed");
    if (there_is_room()) return;
    if (making_) {  // that may be what is missing
      waiting_->room.wait(lock);
      continue;
    }
    notify_reader();
    if (!keeping_up_ || std::chrono::steady_clock::now() >= give_up)
      throw Error(Code::full, "recording a report in the journal '" + directory_.string() +
                                  "': it has reached its limit of " + std::to_string(limit_bytes_) +
                                  " bytes, because the master does not " +
                                  (keeping_up_ ? "keep up" : "take reports") +
                                  "; nothing was recorded, report again later")
          .with_retry(true);
    waiting_->room.wait_until(lock, give_up);
  }
}

// Making a file may take as long as the disk likes, and whoever asks for the last sequence, reads
// or closes must not wait for that. Nobody else makes one meanwhile: its sequence is the next.
Spool::Slot *Spool::make_slot(std::unique_lock<std::mutex> &lock, uint64_t size) {
  if (free_.empty()) {
    slots_.push_back(std::make_unique<Slot>());
    free_.reserve(slots_.size());
    free_.push_back(slots_.back().get());
  }
  const SegmentHeader header{key_, next_number_, next_sequence_ + ready_.size() * segment_bytes_};
  Slot *slot = free_.back();
  free_.pop_back();
  bytes_ += size;
  making_ = true;
  std::exception_ptr failure;
  lock.unlock();
  try {
    slot->segment = Segment(directory_, header, size, durable_);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  making_ = false;
  waiting_->room.notify_all();
  if (failure) {
    free_slot(slot);
    bytes_ -= size;
    std::rethrow_exception(failure);
  }
  ++next_number_;
  if (!closed_) return slot;
  remove(free_slot(slot));
  throw Error(Code::state, "reporting to a journal that was closed");
}

Segment Spool::free_slot(Slot *slot) noexcept {
  free_.push_back(slot);
  return std::exchange(slot->segment, Segment());
}

void Spool::remove(const Segment &segment) noexcept {
  segment.remove_file();
  bytes_ -= segment.size();
}

void Spool::add_used(Slot *slot) {
  try {
    used_.push_back(slot);
  } catch (...) {
    remove(free_slot(slot));
    drop_ready();  // they would have followed it
    throw;
  }
}

void Spool::open(Slot *slot) {
  add_used(slot);
  next_sequence_ += slot->segment.size();
  slot->tail.store(segment_header_size, std::memory_order_seq_cst);
  current_.store(slot, std::memory_order_seq_cst);
}

void Spool::seal_current() noexcept {
  Slot *slot = current_.load(std::memory_order_relaxed);
  if (slot == nullptr) return;  // create() failed
  const uint64_t at = slot->tail.fetch_add(segment_bytes_, std::memory_order_seq_cst);
  if (at < segment_bytes_) write_seal(slot->segment.data() + at, slot->segment.sequence() + at);
}

void Spool::drop_ready() noexcept {
  for (Slot *slot : ready_) remove(free_slot(slot));
  ready_.clear();
}

void Spool::close() {
  if (in_child()) return;
  const std::lock_guard lock(waiting_->mutex);
  if (std::exchange(closed_, true)) return;
  seal_current();
  drop_ready();
  waiting_->room.notify_all();
  notify_reader();
}

uint64_t Spool::last_sequence() {
  if (in_child()) return 0;
  const std::lock_guard lock(waiting_->mutex);
  return end_position() - 1;
}

uint64_t Spool::end_position() const noexcept {
  const Slot *slot = current_.load(std::memory_order_relaxed);
  const uint64_t tail = slot->tail.load(std::memory_order_seq_cst);
  return tail < segment_bytes_ ? slot->segment.sequence() + tail : next_sequence_;
}

}  // namespace det::journal
