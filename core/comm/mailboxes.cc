#include "core/comm/board.h"

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

struct Board::Head {
  alignas(64) std::atomic<uint32_t> failed;  // a seat, counted from 1
  // Read at the end of every collective, and seldom written.
  alignas(64) std::atomic<uint32_t> quitters;
  std::atomic<uint32_t> withdrawing;
  std::array<std::atomic<uint64_t>, channels>
      withdrawn;  // the last collective that came to nothing
  std::array<Bell, channels> bells;
};

// What a rank does in a channel. Only it writes here.
struct Board::Seat {
  alignas(64) std::atomic<uint64_t> ended;
  std::atomic<uint64_t> turn;  // that it began; 0 while the words below change
  std::array<std::atomic<uint64_t>, frame_head_size / 8> words;
  std::atomic<uint32_t> has_quit;
};

// What a rank has failed with.
struct Board::Failure {
  alignas(64) int32_t code;
  std::array<char, text_size> text;
};

struct Board::Cell {
  alignas(64) std::atomic<uint64_t> turn;  // written last
  std::array<char, frame_head_size> head;
  std::array<char, largest_payload> payload;
};

size_t Board::size_for(size_t seats) {
  static_assert(sizeof(Cell) == 2048 && sizeof(Seat) == 64);
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  return sizeof(Head) + channels * seats * (sizeof(Seat) + depth * sizeof(Cell)) +
         seats * sizeof(Failure);
}

Board::Board(SharedMemory memory, size_t seats, size_t seat)
    : memory_(std::move(memory)), seats_(seats), seat_(seat) {}

Board::Head &Board::head() const { return *reinterpret_cast<Head *>(memory_.data()); }

Board::Bell &Board::bell_of(Channel channel) const {
  return head().bells[static_cast<size_t>(channel)];
}

Board::Seat &Board::seat_of(Channel channel, size_t seat) const {
  auto *first = reinterpret_cast<Seat *>(memory_.data() + sizeof(Head));
  return first[static_cast<size_t>(channel) * seats_ + seat];
}

Board::Cell &Board::cell_of(Channel channel, size_t seat, uint64_t turn) const {
  auto *first =
      reinterpret_cast<Cell *>(memory_.data() + sizeof(Head) + channels * seats_ * sizeof(Seat));
  return first[(static_cast<size_t>(channel) * seats_ + seat) * depth + turn % depth];
}

Board::Failure &Board::failure_of(size_t seat) const {
  auto *first = reinterpret_cast<Failure *>(memory_.data() + size_for(seats_));
  return *(first - seats_ + seat);
}

void Board::enter(Channel channel, const FrameHead &head) {
  Seat &mine = seat_of(channel, seat_);
  std::array<uint64_t, frame_head_size / 8> words;
  encode_head(head, reinterpret_cast<char *>(words.data()));
  mine.turn.store(0, std::memory_order_relaxed);
  for (size_t i = 0; i < words.size(); ++i)
    mine.words[i].store(words[i], std::memory_order_release);  // none before the zero
  mine.turn.store(head.sequence, std::memory_order_release);
}

std::optional<FrameHead> Board::entered(Channel channel, size_t seat) const {
  const Seat &theirs = seat_of(channel, seat);
  const uint64_t turn = theirs.turn.load(std::memory_order_acquire);
  std::array<uint64_t, frame_head_size / 8> words;
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = theirs.words[i].load(std::memory_order_acquire);  // all before the turn again
  if (turn == 0 || theirs.turn.load(std::memory_order_relaxed) != turn) return std::nullopt;
  return decode_head({reinterpret_cast<const char *>(words.data()), frame_head_size});
}

std::optional<FrameHead> Board::waits_in(Channel channel, size_t seat) const {
  const std::optional<FrameHead> head = entered(channel, seat);
  const bool waits =
      head && head->sequence > ended(channel, seat) && head->sequence > ended(channel, seat_);
  return waits ? head : std::nullopt;
}

void Board::leave_collective(Channel channel, uint64_t turn) {
  seat_of(channel, seat_).ended.store(turn);
  if (bell_of(channel).writers.load() > 0) ring(channel);
}

uint64_t Board::ended(Channel channel, size_t seat) const {
  return seat_of(channel, seat).ended.load(std::memory_order_acquire);
}

void Board::write(Channel channel, const FrameHead &head, std::string_view payload) {
  Cell &cell = cell_of(channel, seat_, head.sequence);
  encode_head(head, cell.head.data());
  if (head.is_bulk) {
    const Bulk bulk{getpid(), reinterpret_cast<uintptr_t>(payload.data())};
    std::memcpy(cell.payload.data(), &bulk, sizeof bulk);
  } else {
    std::copy(payload.begin(), payload.end(), cell.payload.begin());
  }
  cell.turn.store(head.sequence);
}

bool Board::is_written(Channel channel, size_t seat, uint64_t turn) const {
  return cell_of(channel, seat, turn).turn.load(std::memory_order_acquire) == turn;
}

std::optional<Board::Said> Board::read(Channel channel, size_t seat, uint64_t turn) const {
  if (!is_written(channel, seat, turn)) return std::nullopt;
  const Cell &cell = cell_of(channel, seat, turn);
  Said said;
  said.head = decode_head({cell.head.data(), cell.head.size()});
  if (said.head.is_bulk) std::memcpy(&said.bulk, cell.payload.data(), sizeof said.bulk);
  else said.payload = {cell.payload.data(), std::min<size_t>(said.head.size, largest_payload)};
  return said;
}

void Board::come(Channel channel, uint64_t meeting) {
  if (bell_of(channel).come.fetch_add(1) + 1 == meeting * seats_) ring(channel);
}

bool Board::have_all_come(Channel channel, uint64_t meeting) const {
  return bell_of(channel).come.load(std::memory_order_acquire) >= meeting * seats_;
}

// Who has written its cell before this saw none of it missing; who writes it later sees this.
void Board::begin_to_withdraw() { head().withdrawing.fetch_add(1); }

void Board::end_to_withdraw(Channel channel, uint64_t turn) {
  if (turn != 0) head().withdrawn[static_cast<size_t>(channel)].store(turn);
  head().withdrawing.fetch_sub(1);
}

bool Board::is_in_doubt(Channel channel, uint64_t turn) const {
  return head().withdrawing.load() > 0 ||
         head().withdrawn[static_cast<size_t>(channel)].load() == turn;
}

void Board::wake(Bell &bell) noexcept {
  bell.rung.fetch_add(1);
  syscall(SYS_futex, &bell.rung, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Board::ring(Channel channel) {
  Bell &bell = bell_of(channel);
  if (bell.sleepers.load() > 0) wake(bell);
}

void Board::wait_at(Bell &bell, uint32_t rung, std::chrono::milliseconds limit) {
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  syscall(SYS_futex, &bell.rung, FUTEX_WAIT, rung, &time, nullptr, 0);
}

void Board::fail(const Error &error) noexcept {
  if (!has_failed_.exchange(true)) {
    Failure &mine = failure_of(seat_);
    mine.code = static_cast<int32_t>(code_for_others(error.code));
    std::strncpy(mine.text.data(), error.what(), text_size - 1);
    uint32_t nobody = 0;
    head().failed.compare_exchange_strong(nobody, static_cast<uint32_t>(seat_) + 1);
  }
  for (Bell &bell : head().bells) wake(bell);
}

std::optional<Error> Board::failure() const {
  const size_t seat = head().failed.load(std::memory_order_acquire);
  if (seat == 0 || seat > seats_) return std::nullopt;
  const Failure &first = failure_of(seat - 1);
  return Error(code_from(first.code),
               std::string(first.text.data(), strnlen(first.text.data(), text_size)));
}

void Board::quit() noexcept {
  seat_of(Channel::global, seat_).has_quit.store(1);
  head().quitters.fetch_add(1);
  for (Bell &bell : head().bells) wake(bell);
}

bool Board::has_anybody_quit() const { return head().quitters.load(std::memory_order_relaxed) > 0; }

bool Board::has_quit(size_t seat) const {
  return seat_of(Channel::global, seat).has_quit.load() != 0;
}

}  // namespace det::comm
