#include "core/base/wake.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

#include "core/base/error.h"

namespace det {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Who waits looks this often whether the descriptor has missed something.
constexpr milliseconds look_interval{1000};

milliseconds left_until(Clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - Clock::now()));
}

// What the host has closed is not waited for.
bool is_ready(pollfd &watched) {
  if ((watched.revents & POLLNVAL) == 0) return watched.revents != 0;
  watched = {-1, 0, 0};
  return false;
}

}  // namespace

Wake::Wake() : fd_(Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  if (!fd_) OsFailure{errno}.raise("making an eventfd");
}

// `watched` is its descriptor; from here on none where the host has opened something else there.
bool Wake::is_set_by(pollfd &watched) const noexcept {
  if (is_set()) return true;
  if (!is_ready(watched)) return false;
  if (fd_.is_ours()) return true;
  watched = {-1, 0, 0};
  return false;
}

void Wake::set() const noexcept {
  is_set_.store(true);
  const uint64_t one = 1;
  // Fails only when the counter is full, and then it is set already.
  if (fd_.is_ours()) [[maybe_unused]]
    const ssize_t put = write(fd_.number(), &one, sizeof one);
}

void Wake::clear() const noexcept {
  uint64_t count = 0;
  if (fd_.is_ours()) [[maybe_unused]]
    const ssize_t got = read(fd_.number(), &count, sizeof count);
  is_set_.store(false);
}

bool Wake::poll(std::span<pollfd> others, milliseconds limit, const Wake *second) const {
  std::array<pollfd, 5> watched{pollfd{fd(), POLLIN, 0},
                                pollfd{second != nullptr ? second->fd() : -1, POLLIN, 0}};
  const auto rest = std::span(watched).subspan(2, others.size());
  std::ranges::copy(others, rest.begin());
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end = begin + std::min<milliseconds>(limit, std::chrono::hours(24));
  for (milliseconds left = limit;; left = left_until(end)) {
    if (is_set()) return true;
    if (second != nullptr && second->is_set()) return false;
    const int ready = ::poll(watched.data(), 2 + others.size(),
                             static_cast<int>(std::min(left, look_interval).count()));
    if (ready < 0 && errno != EINTR && errno != EAGAIN)
      OsFailure{errno}.raise("waiting for an event");
    if (is_set_by(watched[0])) return true;
    bool is_over = left.count() == 0 || (second != nullptr && second->is_set_by(watched[1]));
    for (size_t i = 0; ready > 0 && i < others.size(); ++i) is_over |= is_ready(rest[i]);
    if (!is_over) continue;
    std::ranges::copy(rest, others.begin());
    return false;
  }
}

void Flags::set(uint32_t flags) noexcept {
  flags_.fetch_or(flags);
  syscall(SYS_futex, &flags_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

uint32_t Flags::wait() const noexcept {
  while (flags_.load() == 0)
    syscall(SYS_futex, &flags_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  return flags_.load();
}

// Also of a handler of signals, so without the library's clocks.
uint32_t Flags::wait(milliseconds limit) const noexcept {
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += limit.count() / 1000;
  end.tv_nsec += limit.count() % 1000 * 1'000'000;
  if (end.tv_nsec >= 1'000'000'000) {
    ++end.tv_sec;
    end.tv_nsec -= 1'000'000'000;
  }
  while (flags_.load() == 0)
    if (syscall(SYS_futex, &flags_, FUTEX_WAIT_BITSET_PRIVATE, 0, &end, nullptr,
                FUTEX_BITSET_MATCH_ANY) != 0 &&
        errno == ETIMEDOUT)
      break;
  return flags_.load();
}

}  // namespace det
