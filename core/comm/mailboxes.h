// Where the ranks of one machine meet without messages: in memory that they share, each writes what
// it says in cells of its own, and the others read it there.
//
// A channel numbers its collectives. A rank's cell of a collective is used again `depth`
// collectives later, when all others are past it. Waiting is looking for a moment, then sleeping at
// a bell that the last one to come rings.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/comm/foreign_memory.h"
#include "core/comm/frame.h"
#include "core/comm/shared_memory.h"

namespace det::comm {

class Board {
 public:
  static size_t size_for(size_t seats);
  // `memory` has size_for(seats) bytes, zero at first. Every rank has one of the seats.
  Board(SharedMemory memory, size_t seats, size_t seat);

  static constexpr size_t largest_payload = 2048 - 8 - frame_head_size;
  static constexpr uint64_t depth = 16;

  size_t seats() const { return seats_; }
  size_t seat() const { return seat_; }

  // This rank begins a collective, and has ended it.
  void enter(Channel channel, const FrameHead &head);
  void leave_collective(Channel channel, uint64_t turn);
  uint64_t ended(Channel channel, size_t seat) const;
  // The collective that a rank began last; nothing when it is just beginning one, or never did.
  std::optional<FrameHead> entered(Channel channel, size_t seat) const;
  // The one that it is in, while neither it nor this rank has ended it.
  std::optional<FrameHead> waits_in(Channel channel, size_t seat) const;

  // This rank's cell of a collective. Of bulk it tells where it is.
  void write(Channel channel, const FrameHead &head, std::string_view payload);
  // Another rank's; nothing before it is written. The payload is read in place.
  struct Said {
    FrameHead head;
    std::string_view payload;
    Bulk bulk;
  };
  std::optional<Said> read(Channel channel, size_t seat, uint64_t turn) const;
  bool is_written(Channel channel, size_t seat, uint64_t turn) const;

  // Meetings are the collectives in which all wait for all; each rank counts its own.
  void come(Channel channel, uint64_t meeting);
  bool have_all_come(Channel channel, uint64_t meeting) const;

  // While one lives, whoever ends a collective rings.
  class Waiting {
   public:
    Waiting(Board &board, Channel channel) : writers_(board.bell_of(channel).writers) {
      writers_.fetch_add(1);
    }
    ~Waiting() { writers_.fetch_sub(1); }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

   private:
    std::atomic<uint32_t> &writers_;
  };

  // Rings where somebody sleeps.
  void ring(Channel channel);
  // Sleeps until `is_over`, the bell, or `limit`; true when it is over.
  template <class IsOver>
  bool sleep(Channel channel, const IsOver &is_over, std::chrono::milliseconds limit) {
    Bell &bell = bell_of(channel);
    bell.sleepers.fetch_add(1);
    const uint32_t rung = bell.rung.load();
    const bool over = is_over();
    if (!over) wait_at(bell, rung, limit);
    bell.sleepers.fetch_sub(1);
    return over || is_over();
  }

  // This rank, with an error, leaves a collective that no rank has come to the end of: then none
  // will. False where `is_over`: others may have its result, and so has this one.
  template <class IsOver>
  bool withdraw(Channel channel, uint64_t turn, const IsOver &is_over) {
    begin_to_withdraw();
    const bool withdrawn = !is_over();
    end_to_withdraw(channel, withdrawn ? turn : 0);
    return withdrawn;
  }
  // Whoever has come to the end of a collective asks: is somebody about to withdraw, or has it?
  bool is_in_doubt(Channel channel, uint64_t turn) const;

  // A failure is everybody's; the first one stays. It is told whole: who fails may be killed, or
  // interrupted for long, while it writes.
  void fail(const Error &error) noexcept;
  std::optional<Error> failure() const;

  void quit() noexcept;
  bool has_anybody_quit() const;
  bool has_quit(size_t seat) const;

 private:
  struct Bell {
    alignas(64) std::atomic<uint32_t> rung;
    alignas(64) std::atomic<uint32_t> sleepers;
    std::atomic<uint32_t> writers;  // that wait for others to end a collective
    alignas(64) std::atomic<uint64_t> come;
  };
  struct Head;
  struct Seat;
  struct Failure;
  struct Cell;

  void begin_to_withdraw();
  void end_to_withdraw(Channel channel, uint64_t turn);
  static void wait_at(Bell &bell, uint32_t rung, std::chrono::milliseconds limit);
  void wake(Bell &bell) noexcept;
  Head &head() const;
  Bell &bell_of(Channel channel) const;
  Failure &failure_of(size_t seat) const;
  Seat &seat_of(Channel channel, size_t seat) const;
  Cell &cell_of(Channel channel, size_t seat, uint64_t turn) const;

  SharedMemory memory_;
  const size_t seats_, seat_;
  std::atomic<bool> has_failed_ = false;  // this rank, in any of its threads
};

}  // namespace det::comm
