#include "core/comm/stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "core/base/error.h"

namespace det::comm {

namespace {

constexpr size_t at_once = size_t{16} << 20U;
// An answer that comes at once is there before a core that went to sleep would be awake again. The
// core is not offered to others meanwhile: on a busy machine it would come back much later.
constexpr int quick_looks = 10;

}  // namespace

short wait_for(int fd, short events, Patience &patience) {
  for (;;) {
    const auto left = patience.left().count();
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, 1'000'000)));
    if (ready > 0) return waiting.revents;
    if (ready < 0 && errno != EINTR) OsFailure{errno}.raise("waiting for another rank");
    if (ready == 0 && left <= 1'000'000) return 0;
  }
}

// What was sent last, such as the reason for leaving, reaches the other side only if nothing from
// there is left unread.
Stream::~Stream() {
  if (!fd_) return;
  std::array<char, 4096> unread;
  while (recv(fd_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
  }
}

void Stream::lose(int os_errno) const {
  throw Error(Code::unavailable,
              "talking to " + peer_ + ": it is gone (" +
                  (os_errno == 0 ? "it closed the connection" : errno_text(os_errno)) +
                  "); see its own output",
              os_errno);
}

void Stream::stall() const {
  throw Error(Code::timeout, "talking to " + peer_ + ": it takes no data; see what it is doing");
}

void Stream::check_peer() const {
  pollfd connection{fd_.get(), POLLRDHUP, 0};
  if (poll(&connection, 1, 0) > 0) lose(0);
}

// Whether the peer, instead of reading what is sent with `head`, says what it would not say in that
// collective: two that send each other more than the kernel holds would both wait for ever.
bool Stream::peer_interrupts(const FrameHead &head) {
  const std::lock_guard guard(reading_);
  while (read_some()) continue;
  return std::ranges::any_of(inbox(head.channel).frames, [&](const auto &frame) {
    const FrameHead &theirs = frame->head;
    return theirs.kind == FrameKind::abort || theirs.kind == FrameKind::leave ||
           (theirs.kind == FrameKind::call &&
            (theirs.sequence != head.sequence || theirs.collective != head.collective ||
             !is_in_step(theirs.api, head.api) || theirs.digest != head.digest));
  });
}

bool Stream::send(const FrameHead &head, std::string_view payload, Patience &patience) {
  std::array<char, frame_head_size> bytes;
  encode_head(head, bytes.data());
  std::array<iovec, 2> parts{iovec{bytes.data(), bytes.size()},
                             iovec{const_cast<char *>(payload.data()), payload.size()}};
  size_t left = bytes.size() + payload.size();
  std::unique_lock lock(writing_, std::try_to_lock);
  while (!lock && patience.left().count() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    static_cast<void>(lock.try_lock());
  }
  if (!lock) stall();
  for (;;) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = payload.empty() ? 1 : 2;
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) lose(errno);
      const short ready = wait_for(fd_.get(), POLLOUT | POLLIN, patience);
      if ((ready & POLLOUT) != 0) continue;
      const bool interrupted = (ready & POLLIN) != 0 && peer_interrupts(head);
      if (ready != 0 && !interrupted) continue;
      // What comes after a part of a frame would be taken for the rest of it.
      if (left < bytes.size() + payload.size()) shutdown(fd_.get(), SHUT_WR);
      if (interrupted) return false;
      stall();
    }
    left -= static_cast<size_t>(sent);
    if (left == 0) return true;
    size_t done = static_cast<size_t>(sent);
    for (iovec &part : parts) {
      const size_t taken = std::min(done, part.iov_len);
      part.iov_base = static_cast<char *>(part.iov_base) + taken;
      part.iov_len -= taken;
      done -= taken;
    }
  }
}

// Bytes read; 0 when there are none yet.
size_t Stream::read_into(char *to, size_t capacity) {
  for (;;) {
    const ssize_t got = recv(fd_.get(), to, capacity, MSG_DONTWAIT);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) lose(0);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) lose(errno);
  }
}

// Takes some of what is here to where it belongs; false when there is nothing.
bool Stream::read_some() {
  if (!growing_) {
    std::array<char, 4096> buffer;
    const size_t got = read_into(buffer.data(), buffer.size());
    ahead_.append(buffer.data(), got);
    sort_out();
    return got > 0;
  }
  Incoming &frame = *growing_;
  if (frame.done == frame.payload.size())  // memory follows what came
    frame.payload.resize(std::min<size_t>(frame.head.size, 2 * frame.done));
  const size_t got = read_into(&frame.payload[frame.done], frame.payload.size() - frame.done);
  frame.done += got;
  if (frame.is_whole()) growing_.reset();
  return got > 0;
}

void Stream::sort_out() {
  while (!growing_ && ahead_.size() >= frame_head_size) {
    auto frame = std::make_shared<Incoming>();
    FrameHead &head = frame->head;
    head = decode_head(ahead_);
    if (head.is_bulk)
      throw Error(Code::corrupt, "talking to " + peer_ + ": there is no bulk over sockets");
    // What was announced may never come.
    frame->payload = spare_->take(std::min<size_t>(head.size, at_once));
    frame->done = std::min<size_t>(head.size, ahead_.size() - frame_head_size);
    ahead_.copy(frame->payload.data(), frame->done, frame_head_size);
    ahead_.erase(0, frame_head_size + frame->done);
    if (!frame->is_whole()) growing_ = frame;
    inbox(head.channel).frames.push_back(std::move(frame));
  }
}

// What is here another thread may take, and with it what this one waits for.
bool Stream::wait_to_read(Patience &patience) {
  if (readers_ == 1) return wait_for(fd_.get(), POLLIN, patience) != 0;
  Patience moment(std::chrono::milliseconds(1));
  wait_for(fd_.get(), POLLIN, moment);
  return patience.left().count() > 0;
}

// Counts those who wait.
class Stream::Reader {
 public:
  explicit Reader(std::atomic<int> &readers) : readers_(readers) { ++readers_; }
  ~Reader() { --readers_; }
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

 private:
  std::atomic<int> &readers_;
};

bool Stream::receive_head(Channel channel, FrameHead &head, Patience &patience) {
  const Reader reader(readers_);
  int looks = quick_looks;
  do {
    const std::lock_guard guard(reading_);
    Inbox &mine = inbox(channel);
    while (mine.frames.empty() && read_some()) continue;
    if (mine.frames.empty()) continue;
    mine.taken = std::move(mine.frames.front());
    mine.frames.pop_front();
    head = mine.taken->head;
    return true;
  } while (looks-- > 0 || wait_to_read(patience));
  return false;
}

std::string Stream::receive_payload(Channel channel, Patience &patience) {
  const Reader reader(readers_);
  do {
    const std::lock_guard guard(reading_);
    Incoming &frame = *inbox(channel).taken;
    while (!frame.is_whole() && read_some()) continue;
    if (frame.is_whole()) return std::move(frame.payload);
  } while (wait_to_read(patience));
  stall();
}

}  // namespace det::comm
