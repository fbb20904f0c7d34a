// The journal of reports: memory-mapped files that outlive a kill of this process at any instant.
//
// An append reserves bytes by one atomic addition, fills them in and publishes the record by a
// store; the kernel owns the pages, so what was published is safe from the death of the process.
// Files have all their space before they are mapped: a full disk is an error when a file is made,
// never a SIGBUS. One reader, the shipper, follows behind and frees what it has delivered.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/process/fork_guard.h"
#include "core/base/report.h"
#include "core/journal/record.h"
#include "core/journal/segment.h"

namespace det::journal {

struct SpoolOptions {
  uint64_t limit_bytes = uint64_t{1} << 30U;    // all files together
  uint64_t segment_bytes = uint64_t{1} << 20U;  // of each file
  bool durable = false;                         // what was appended survives a power cut
  std::chrono::milliseconds wait{10'000};       // for room, while the sink keeps up
};

// More than 25 methods: appending threads and the reader share slots without a lock, so that no
// part of it holds without the others.
class Spool {
 public:
  // Makes the first file in `directory`, which exists and belongs to this process alone: throws
  // Code::busy when there is a journal in it.
  static std::unique_ptr<Spool> create(const std::filesystem::path &directory,
                                       const JournalKey &key, const SpoolOptions &options = {});

  // Keeps files with reports that were not released, for recover_spool(). In a forked child it
  // leaves everything to the parent.
  ~Spool();

  // Any thread. Each gives the sequence of its record, which is safe on return; where that could
  // not be made durable, it throws, and the record is there. Throws Code::invalid (names, a record
  // beyond max_record_size), Code::full (nothing was recorded), Code::state (closed, or a forked
  // child).
  uint64_t append_metrics(std::string_view group, int64_t steps, const NamedValue *values,
                          size_t count, const Measured &measured = {});
  uint64_t append_metrics_json(std::string_view group, int64_t steps, std::string_view text,
                               std::string_view batches, const Measured &measured = {});
  uint64_t append_status(std::string_view text);
  uint64_t append_progress(double fraction);
  uint64_t append_log(int level, std::string_view text);
  uint64_t append_checkpoint(std::string_view report);

  // Not below the sequence of any record appended before. Any thread.
  uint64_t last_sequence();

  // Appends fail with Code::state from now on.
  void close();

  const JournalKey &key() const { return key_; }
  bool in_child() const noexcept { return guard_.in_child(); }

  // The reader's side: one thread.

  // Reads published records behind those read before, in order, into the first elements of `batch`,
  // at most about `max_reports` and `max_bytes` of them. Gives their number. They stay valid until
  // release().
  size_t read(std::vector<Report> &batch, size_t max_reports, size_t max_bytes);

  // Everything read is delivered: frees the files behind it. Throws for lack of memory alone, and
  // then has done nothing.
  void release();

  // Everything below this sequence was read.
  uint64_t read_position() const noexcept { return read_position_; }

  // Closed, everything read, and every file removed.
  bool drained();

  // Bytes of published records that were overwritten by something in this process, and skipped.
  uint64_t damaged_bytes() const noexcept { return damaged_bytes_ + cursor_.skipped_bytes(); }

  // Makes the next file ready before an append needs it, or the next few where an append came too
  // early before. Never throws: on a full disk the append finds out itself.
  void prepare() noexcept;

  // Whether the last delivery succeeded. While it did not, a full journal refuses at once.
  void set_keeping_up(bool keeping_up);

  // Waits for ring(), at most `timeout`.
  void wait(std::chrono::milliseconds timeout);
  // Also for the next append, which rings: only then does an append make a system call.
  void sleep(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  // Ends the reader's wait, or the next one when it does not wait now. Any thread.
  void ring();

 private:
  // `tail` of a slot that takes no records: failed appends add to it without ever coming around.
  static constexpr uint64_t sealed = uint64_t{1} << 62U;

  // A place for a segment. Places are reused but live as long as the spool: an append may hold on
  // to one that has been sealed, shipped and filled again since, and `tail` tells it.
  struct Slot {
    std::atomic<uint64_t> tail{sealed};  // next free byte
    Segment segment;
  };

  // Condition variables must not be destroyed in a forked child: the parent's threads wait on them.
  struct Waiting {
    std::mutex mutex;
    std::condition_variable rung;
    std::condition_variable room;
  };

  Spool(std::filesystem::path directory, const JournalKey &key, const SpoolOptions &options);

  uint64_t append(const RecordContent &content, int64_t time_us = 0);
  uint64_t append_large(const RecordContent &content, uint64_t size, int64_t time_us);
  void make_room(uint64_t size);
  bool read_next_segment();

  // With the mutex held.
  void wait_for_room(std::unique_lock<std::mutex> &lock,
                     const std::function<bool()> &there_is_room);
  Slot *make_slot(std::unique_lock<std::mutex> &lock, uint64_t size);
  Segment free_slot(Slot *slot) noexcept;
  void remove(const Segment &segment) noexcept;
  void add_used(Slot *slot);
  void open(Slot *slot);
  void seal_current() noexcept;
  void drop_ready() noexcept;
  uint64_t end_position() const noexcept;
  void notify_reader() noexcept;

  const std::filesystem::path directory_;
  const JournalKey key_;
  const uint64_t limit_bytes_;
  const uint64_t segment_bytes_;
  const std::chrono::milliseconds wait_limit_;
  const bool durable_;
  const ForkGuard guard_;

  std::atomic<Slot *> current_{nullptr};
  std::atomic<bool> reader_sleeps_{false};

  std::unique_ptr<Waiting> waiting_;  // its mutex guards what follows
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot *> free_;
  std::deque<Slot *> used_;    // oldest first; the last one is the current one, or sealed
  std::vector<Slot *> ready_;  // the next ones
  size_t enough_ready_ = 1;
  bool making_ = false;  // another one, without the mutex: nobody else makes one
  uint64_t next_number_ = 1;
  uint64_t next_sequence_ = 0;  // where the next segment begins
  uint64_t bytes_ = 0;          // of all files
  bool keeping_up_ = true;
  bool closed_ = false;
  bool rung_ = false;

  // The reader's own.
  Slot *reading_ = nullptr;
  bool at_end_ = true;  // of reading_
  RecordCursor cursor_;
  uint64_t read_position_ = 0;
  uint64_t released_position_ = 0;
  uint64_t damaged_bytes_ = 0;
};

}  // namespace det::journal
