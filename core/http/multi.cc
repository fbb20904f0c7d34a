#include "core/http/multi.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string>
#include <thread>

#include "core/base/error.h"

namespace det::http {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Fd make_epoll() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) OsFailure{errno}.raise("making an epoll");
  return epoll;
}

int control(const Fd &epoll, int operation, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return epoll_ctl(epoll.get(), operation, fd, &event);
}

// A host that closes our descriptors keeps orders from waking the thread.
constexpr milliseconds look_interval{1000}, refused_pause{50};

// Whichever of the two the kernel wants: one that was refused before is not yet known to it.
bool watch_for(const Fd &epoll, int fd, uint32_t events, bool is_known) {
  if (control(epoll, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, events) == 0) return true;
  if (errno == EEXIST) return control(epoll, EPOLL_CTL_MOD, fd, events) == 0;
  return errno == ENOENT && control(epoll, EPOLL_CTL_ADD, fd, events) == 0;
}

CURLM *make_multi() {
  // Thread-safe since libcurl 7.84, and for the whole process.
  static const CURLcode ready = [] {
    const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();  // tried again the next time
    return code;
  }();
  if (ready != CURLE_OK)
    throw Error(Code::internal, std::string("starting libcurl: ") + curl_easy_strerror(ready));
  CURLM *multi = curl_multi_init();
  if (multi == nullptr) throw std::bad_alloc();
  return multi;
}

}  // namespace

Multi::Multi(size_t spare_connections) : epoll_(make_epoll()), multi_(make_multi()) {
  if (control(epoll_, EPOLL_CTL_ADD, wake_.fd(), EPOLLIN) != 0)
    OsFailure{errno}.raise("watching an eventfd");
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(spare_connections));
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, set_timer);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

void Multi::add(CURL *handle) {
  const CURLMcode code = curl_multi_add_handle(multi_.get(), handle);
  if (code == CURLM_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLM_OK)
    throw Error(Code::internal, std::string("starting a request: ") + curl_multi_strerror(code));
}

void Multi::remove(CURL *handle) noexcept { curl_multi_remove_handle(multi_.get(), handle); }

void Multi::step(milliseconds patience) {
  patience = std::min(patience, look_interval);
  if (!unwatched_.empty()) {
    std::erase_if(unwatched_, [&](const auto &socket) {
      return watch_for(epoll_, socket.first, socket.second, false);
    });
    patience = std::min(patience, milliseconds{50});
  }
  if (due_) {
    const auto until = std::chrono::ceil<milliseconds>(*due_ - steady_clock::now());
    patience = std::clamp(until, milliseconds{0}, patience);
  }
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(patience.count()));
  if (count < 0 && errno != EINTR) std::this_thread::sleep_for(std::min(patience, refused_pause));
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event &event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_.fd()) {
      wake_.clear();
      continue;
    }
    // Reading tells libcurl what an error is.
    const int ready = ((event.events & ~uint32_t{EPOLLOUT}) != 0 ? CURL_CSELECT_IN : 0) |
                      ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0);
    curl_multi_socket_action(multi_.get(), event.data.fd, ready, &running);
  }
  if (due_ && *due_ <= steady_clock::now()) {
    due_.reset();
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

// Where the kernel refuses, the next step tries again: a failure here would end all requests, also
// those to come.
int Multi::watch(CURL *, curl_socket_t socket, int events, void *self, void *known) {
  auto &multi = *static_cast<Multi *>(self);
  std::erase_if(multi.unwatched_, [&](const auto &other) { return other.first == socket; });
  if (events == CURL_POLL_REMOVE) {
    control(multi.epoll_, EPOLL_CTL_DEL, socket, 0);
    return 0;
  }
  const uint32_t wanted = ((events & CURL_POLL_IN) != 0 ? uint32_t{EPOLLIN} : 0) |
                          ((events & CURL_POLL_OUT) != 0 ? uint32_t{EPOLLOUT} : 0);
  curl_multi_assign(multi.multi_.get(), socket, self);
  if (watch_for(multi.epoll_, socket, wanted, known != nullptr)) return 0;
  try {
    multi.unwatched_.emplace_back(socket, wanted);
  } catch (const std::bad_alloc &) {
    // The request runs into its timeout.
  }
  return 0;
}

int Multi::set_timer(CURLM *, long patience, void *self) {
  auto &due = static_cast<Multi *>(self)->due_;
  if (patience < 0) due.reset();
  else due = steady_clock::now() + milliseconds{patience};
  return 0;
}

}  // namespace det::http
