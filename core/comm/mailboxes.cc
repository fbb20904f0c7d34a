#include "core/comm/mailboxes.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>

#include "core/comm/disagreement.h"

namespace det::comm {

namespace {

constexpr size_t channels = 2;
constexpr size_t text_size = 600;

}  // namespace

struct Mailboxes::Head {
  alignas(64) std::atomic<uint32_t> failed;  // a seat, counted from 1
  // Read at the end of every collective, and seldom written.
  alignas(64) std::atomic<uint32_t> quitters;
  Withdrawals withdrawals;
  // How many have come to meetings.
  struct Channels {
    Bell bell;
    alignas(64) std::atomic<uint64_t> come;
  };
  std::array<Channels, channels> of_channel;
};

// What a rank does in a channel. Only it writes here.
struct Mailboxes::Seat {
  alignas(64) std::atomic<uint64_t> ended;
  std::atomic<uint64_t> turn;  // that it began; 0 while the words below change
  std::array<std::atomic<uint64_t>, frame_head_size / 8> words;
  std::atomic<uint32_t> has_quit;
};

// What a rank has failed with.
struct Mailboxes::Failure {
  alignas(64) int32_t code;
  std::array<char, text_size> text;
};

struct Mailboxes::Mailbox {
  alignas(64) std::atomic<uint64_t> turn;  // written last
  std::array<char, frame_head_size> head;
  std::array<char, largest_payload> payload;
};

size_t Mailboxes::size_for(size_t seats) {
  static_assert(sizeof(Mailbox) == 2048 && sizeof(Seat) == 64);
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  return sizeof(Head) + channels * seats * (sizeof(Seat) + depth * sizeof(Mailbox)) +
         seats * sizeof(Failure);
}

Mailboxes::Mailboxes(SharedMemory memory, size_t seats, size_t seat)
    : memory_(std::move(memory)), seats_(seats), seat_(seat) {}

Mailboxes::Head &Mailboxes::head() const { return *reinterpret_cast<Head *>(memory_.data()); }

Mailboxes::Bell &Mailboxes::bell(Channel channel) const {
  return head().of_channel[static_cast<size_t>(channel)].bell;
}

Mailboxes::Withdrawals &Mailboxes::withdrawals() const { return head().withdrawals; }

Mailboxes::Seat &Mailboxes::seat_of(Channel channel, size_t seat) const {
  auto *first = reinterpret_cast<Seat *>(memory_.data() + sizeof(Head));
  return first[static_cast<size_t>(channel) * seats_ + seat];
}

Mailboxes::Mailbox &Mailboxes::mailbox_of(Channel channel, size_t seat, uint64_t turn) const {
  auto *first =
      reinterpret_cast<Mailbox *>(memory_.data() + sizeof(Head) + channels * seats_ * sizeof(Seat));
  return first[(static_cast<size_t>(channel) * seats_ + seat) * depth + turn % depth];
}

Mailboxes::Failure &Mailboxes::failure_of(size_t seat) const {
  auto *first = reinterpret_cast<Failure *>(memory_.data() + size_for(seats_));
  return *(first - seats_ + seat);
}

void Mailboxes::enter(Channel channel, const FrameHead &head) {
  Seat &mine = seat_of(channel, seat_);
  std::array<uint64_t, frame_head_size / 8> words;
  encode_head(head, reinterpret_cast<char *>(words.data()));
  mine.turn.store(0, std::memory_order_relaxed);
  for (size_t i = 0; i < words.size(); ++i)
    mine.words[i].store(words[i], std::memory_order_release);  // none before the zero
  mine.turn.store(head.sequence, std::memory_order_release);
}

std::optional<FrameHead> Mailboxes::entered(Channel channel, size_t seat) const {
  const Seat &theirs = seat_of(channel, seat);
  const uint64_t turn = theirs.turn.load(std::memory_order_acquire);
  std::array<uint64_t, frame_head_size / 8> words;
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = theirs.words[i].load(std::memory_order_acquire);  // all before the turn again
  if (turn == 0 || theirs.turn.load(std::memory_order_relaxed) != turn) return std::nullopt;
  return decode_head({reinterpret_cast<const char *>(words.data()), frame_head_size});
}

std::optional<FrameHead> Mailboxes::waits_in(Channel channel, size_t seat) const {
  const std::optional<FrameHead> head = entered(channel, seat);
  const bool waits =
      head && head->sequence > ended(channel, seat) && head->sequence > ended(channel, seat_);
  return waits ? head : std::nullopt;
}

void Mailboxes::leave_collective(Channel channel, uint64_t turn) {
  seat_of(channel, seat_).ended.store(turn);
  if (bell(channel).has_writers()) bell(channel).ring();
}

uint64_t Mailboxes::ended(Channel channel, size_t seat) const {
  return seat_of(channel, seat).ended.load(std::memory_order_acquire);
}

void Mailboxes::write(Channel channel, const FrameHead &head, std::string_view payload) {
  Mailbox &box = mailbox_of(channel, seat_, head.sequence);
  encode_head(head, box.head.data());
  if (head.is_bulk) {
    const Bulk bulk{getpid(), reinterpret_cast<uintptr_t>(payload.data())};
    std::memcpy(box.payload.data(), &bulk, sizeof bulk);
  } else {
    std::copy(payload.begin(), payload.end(), box.payload.begin());
  }
  box.turn.store(head.sequence);
}

bool Mailboxes::is_written(Channel channel, size_t seat, uint64_t turn) const {
  return mailbox_of(channel, seat, turn).turn.load(std::memory_order_acquire) == turn;
}

std::optional<Mailboxes::Said> Mailboxes::read(Channel channel, size_t seat, uint64_t turn) const {
  if (!is_written(channel, seat, turn)) return std::nullopt;
  const Mailbox &box = mailbox_of(channel, seat, turn);
  Said said;
  said.head = decode_head({box.head.data(), box.head.size()});
  if (said.head.is_bulk) std::memcpy(&said.bulk, box.payload.data(), sizeof said.bulk);
  else said.payload = {box.payload.data(), std::min<size_t>(said.head.size, largest_payload)};
  return said;
}

void Mailboxes::come(Channel channel, uint64_t meeting) {
  std::atomic<uint64_t> &come = head().of_channel[static_cast<size_t>(channel)].come;
  if (come.fetch_add(1) + 1 == meeting * seats_) bell(channel).ring();
}

bool Mailboxes::have_all_come(Channel channel, uint64_t meeting) const {
  const std::atomic<uint64_t> &come = head().of_channel[static_cast<size_t>(channel)].come;
  return come.load(std::memory_order_acquire) >= meeting * seats_;
}

void Mailboxes::Bell::wake() noexcept {
  rung_.fetch_add(1);
  syscall(SYS_futex, &rung_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Mailboxes::Bell::wait(uint32_t rung, std::chrono::milliseconds limit) {
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  syscall(SYS_futex, &rung_, FUTEX_WAIT, rung, &time, nullptr, 0);
}

void Mailboxes::fail(const Error &error) noexcept {
  if (!has_failed_.exchange(true)) {
    Failure &mine = failure_of(seat_);
    mine.code = static_cast<int32_t>(code_for_others(error.code));
    std::strncpy(mine.text.data(), error.what(), text_size - 1);
    uint32_t nobody = 0;
    head().failed.compare_exchange_strong(nobody, static_cast<uint32_t>(seat_) + 1);
  }
  for (auto &each : head().of_channel) each.bell.wake();
}

std::optional<Error> Mailboxes::failure() const {
  const size_t seat = head().failed.load(std::memory_order_acquire);
  if (seat == 0 || seat > seats_) return std::nullopt;
  const Failure &first = failure_of(seat - 1);
  return Error(code_from(first.code),
               std::string(first.text.data(), strnlen(first.text.data(), text_size)));
}

void Mailboxes::quit() noexcept {
  seat_of(Channel::global, seat_).has_quit.store(1);
  head().quitters.fetch_add(1);
  for (auto &each : head().of_channel) each.bell.wake();
}

bool Mailboxes::has_anybody_quit() const {
  return head().quitters.load(std::memory_order_relaxed) > 0;
}

bool Mailboxes::has_quit(size_t seat) const {
  return seat_of(Channel::global, seat).has_quit.load() != 0;
}

}  // namespace det::comm
