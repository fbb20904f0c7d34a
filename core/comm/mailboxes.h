// How the ranks of one machine talk without messages: in memory that they share, each writes what
// it says into mailboxes of its own, and the others read it there.
//
// A channel numbers its collectives. A rank's mailbox of a collective is used again `depth`
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
#include "core/comm/frame.h"
#include "core/comm/shared_memory.h"

namespace det::comm {

class Mailboxes {
 public:
  static size_t size_for(size_t seats);
  // `memory` has size_for(seats) bytes, zero at first. Every rank has one of the seats.
  Mailboxes(SharedMemory memory, size_t seats, size_t seat);

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

  // This rank's mailbox of a collective. Of bulk it tells where it is.
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

  // Of the ranks that wait in a channel.
  class Bell {
   public:
    // Where somebody sleeps.
    void ring() {
      if (sleepers_.load() > 0) wake();
    }
    void wake() noexcept;
    // Until `is_over`, the bell, or `limit`; true when it is over.
    template <class IsOver>
    bool sleep(const IsOver &is_over, std::chrono::milliseconds limit) {
      sleepers_.fetch_add(1);
      const uint32_t rung = rung_.load();
      const bool over = is_over();
      if (!over) wait(rung, limit);
      sleepers_.fetch_sub(1);
      return over || is_over();
    }

    // While one lives, whoever ends a collective rings.
    class Waiting {
     public:
      explicit Waiting(Bell &bell) : writers_(bell.writers_) { writers_.fetch_add(1); }
      ~Waiting() { writers_.fetch_sub(1); }
      Waiting(const Waiting &) = delete;
      Waiting &operator=(const Waiting &) = delete;

     private:
      std::atomic<uint32_t> &writers_;
    };
    bool has_writers() const { return writers_.load() > 0; }

   private:
    void wait(uint32_t rung, std::chrono::milliseconds limit);

    alignas(64) std::atomic<uint32_t> rung_;
    alignas(64) std::atomic<uint32_t> sleepers_;
    std::atomic<uint32_t> writers_;  // that wait for others to end a collective
  };
  Bell &bell(Channel channel) const;

  // Of ranks that leave a collective with an error.
  class Withdrawals {
   public:
    // From one that no rank has come to the end of: then none will. False where `is_over`: others
    // may have its result, and so has this one. Whoever has written its mailbox before this saw
    // none of it missing; who writes it later sees this.
    template <class IsOver>
    bool withdraw(Channel channel, uint64_t turn, const IsOver &is_over) {
      under_way_.fetch_add(1);
      const bool withdrawn = !is_over();
      if (withdrawn) last_[static_cast<size_t>(channel)].store(turn);
      under_way_.fetch_sub(1);
      return withdrawn;
    }
    // Whoever has come to the end of a collective asks: is somebody about to withdraw, or has it?
    bool is_in_doubt(Channel channel, uint64_t turn) const {
      return under_way_.load() > 0 || last_[static_cast<size_t>(channel)].load() == turn;
    }

   private:
    std::atomic<uint32_t> under_way_;
    std::array<std::atomic<uint64_t>, 2> last_;  // the last collective that came to nothing
  };
  Withdrawals &withdrawals() const;

  // A failure is everybody's; the first one stays. It is told whole: who fails may be killed, or
  // interrupted for long, while it writes.
  void fail(const Error &error) noexcept;
  std::optional<Error> failure() const;

  void quit() noexcept;
  bool has_anybody_quit() const;
  bool has_quit(size_t seat) const;

 private:
  struct Head;
  struct Seat;
  struct Failure;
  struct Mailbox;

  Head &head() const;
  Failure &failure_of(size_t seat) const;
  Seat &seat_of(Channel channel, size_t seat) const;
  Mailbox &mailbox_of(Channel channel, size_t seat, uint64_t turn) const;

  SharedMemory memory_;
  const size_t seats_, seat_;
  std::atomic<bool> has_failed_ = false;  // this rank, in any of its threads
};

}  // namespace det::comm
