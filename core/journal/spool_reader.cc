// The reader's side of the spool.
#include <algorithm>
#include <new>

#include "core/journal/spool.h"

namespace det::journal {

namespace {

// How often to look for a record that another thread is writing at the moment.
constexpr std::chrono::milliseconds unpublished_interval{5};

}  // namespace

size_t Spool::read(std::vector<Report> &batch, size_t max_reports, size_t max_bytes) {
  const uint64_t enough = read_position_ + max_bytes;
  size_t count = 0;
  // What is unused at the end of a file counts for nothing.
  while (count < max_reports && (count == 0 || read_position_ < enough)) {
    if (at_end_ && !read_next_segment()) break;
    try {
      if (batch.size() == count) batch.emplace_back();
      const RecordCursor::Step step = cursor_.next(batch[count]);
      read_position_ = cursor_.position();
      at_end_ = step == RecordCursor::Step::end;
      if (step == RecordCursor::Step::record) ++count;
      if (step == RecordCursor::Step::unpublished) break;
    } catch (const std::bad_alloc &) {
      if (count == 0) throw;
      break;  // deliver those first
    }
  }
  return count;
}

bool Spool::read_next_segment() {
  const std::lock_guard lock(waiting_->mutex);
  auto next = used_.begin();
  if (reading_ != nullptr) next = std::find(used_.begin(), used_.end(), reading_) + 1;
  if (next == used_.end()) return false;
  reading_ = *next;
  at_end_ = false;
  damaged_bytes_ += cursor_.skipped_bytes();
  const Segment &segment = reading_->segment;
  cursor_ = RecordCursor(segment.data(), segment.size(), segment.sequence(), segment_header_size);
  read_position_ = cursor_.position();
  return true;
}

void Spool::release() {
  std::vector<Segment> freed;
  std::unique_lock lock(waiting_->mutex);
  freed.reserve(used_.size());
  released_position_ = read_position_;
  while (!used_.empty() && reading_ != nullptr && (used_.front() != reading_ || at_end_)) {
    if (used_.front() == reading_) reading_ = nullptr;
    freed.push_back(free_slot(used_.front()));
    used_.pop_front();
  }
  if (freed.empty()) return;
  // Removing a file may take milliseconds, and appends must not wait for that.
  lock.unlock();
  uint64_t bytes = 0;
  for (const Segment &segment : freed) {
    segment.remove_file();
    bytes += segment.size();
  }
  lock.lock();
  bytes_ -= bytes;
  waiting_->room.notify_all();
}

bool Spool::drained() {
  const std::lock_guard lock(waiting_->mutex);
  return closed_ && used_.empty();
}

void Spool::prepare() noexcept {
  std::unique_lock lock(waiting_->mutex);
  try {
    while (!closed_ && !making_ && ready_.size() < enough_ready_ &&
           bytes_ + segment_bytes_ <= limit_bytes_)
      ready_.push_back(make_slot(lock, segment_bytes_));  // there is memory for it
  } catch (const std::exception &) {
  }
}

void Spool::set_keeping_up(bool keeping_up) {
  const std::lock_guard lock(waiting_->mutex);
  keeping_up_ = keeping_up;
  if (!keeping_up) waiting_->room.notify_all();
}

void Spool::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(waiting_->mutex);
  waiting_->rung.wait_for(lock, timeout, [this] { return rung_; });
  rung_ = false;
}

void Spool::sleep(std::optional<std::chrono::milliseconds> timeout) {
  std::unique_lock lock(waiting_->mutex);
  reader_sleeps_.store(true, std::memory_order_seq_cst);
  if (end_position() != read_position_) timeout = unpublished_interval;
  const auto rung = [this] { return rung_; };
  if (timeout) waiting_->rung.wait_for(lock, *timeout, rung);
  else waiting_->rung.wait(lock, rung);
  reader_sleeps_.store(false, std::memory_order_relaxed);
  rung_ = false;
}

void Spool::ring() {
  if (in_child()) return;
  const std::lock_guard lock(waiting_->mutex);
  notify_reader();
}

void Spool::notify_reader() noexcept {
  rung_ = true;
  reader_sleeps_.store(false, std::memory_order_relaxed);
  waiting_->rung.notify_one();
}

}  // namespace det::journal
