#include "core/launcher/local/process_watch.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/launcher/launcher.h"

namespace det::launcher {

namespace {

constexpr int64_t no_owner = -1;

void add_to_epoll(int epoll, int fd, int64_t owner) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<uint64_t>(owner);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    OsFailure{errno}.raise(owner == no_owner ? "watching for announcements"
                                             : "watching a process of " + trial_name(owner));
}

}  // namespace

ProcessWatch::ProcessWatch() : news_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!news_) OsFailure{errno}.raise("making an epoll");
  add_to_epoll(news_.get(), announced_.fd(), no_owner);
}

void ProcessWatch::add(const Fd &process, int64_t owner) {
  add_to_epoll(news_.get(), process.get(), owner);
}

void ProcessWatch::remove(const Fd &process) {
  epoll_ctl(news_.get(), EPOLL_CTL_DEL, process.get(), nullptr);
}

void ProcessWatch::announce(int64_t owner) {
  owners_announced_.insert(owner);
  announced_.set();
}

std::set<int64_t> ProcessWatch::take() {
  std::set<int64_t> owners;
  epoll_event events[64];
  const int count = std::max(epoll_wait(news_.get(), events, 64, 0), 0);
  for (const epoll_event &event : std::span(events, static_cast<size_t>(count))) {
    const auto owner = static_cast<int64_t>(event.data.u64);
    if (owner != no_owner) {
      owners.insert(owner);
      continue;
    }
    announced_.clear();
    owners.merge(std::exchange(owners_announced_, {}));
  }
  return owners;
}

}  // namespace det::launcher
